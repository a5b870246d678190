"""Recordings of segments: where a page finds them, and what its policy has to allow."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from lattices.errors import OptionError

#: what browsers play
SUFFIXES = (".wav", ".flac", ".mp3", ".ogg", ".opus", ".m4a", ".webm")
ID = "{id}"


@dataclass(frozen=True)
class Audio:
    """Addresses of recordings, each of one segment."""

    #: has the id of a segment in the place of ``{id}``; relative ones begin at the page
    template: str
    #: what stands in that place for segments whose file is in a folder or has another suffix; of
    #: a folder, segments that are not here have no recording
    names: dict[str, str] | None = None
    #: sources that the page may load, as of the directive ``media-src`` of its policy
    sources: str = field(default="'self' file:")


def find_audio(where: str, ids: Sequence[str], page: str) -> Audio:
    """Return where the recordings of segments are: in a folder, or by a template of addresses.

    A folder is searched, with those in it, for files that are named as segments are; addresses are
    relative to ``page``, so that both can be moved together.

    Examples
    --------
    >>> find_audio("https://host.example/audio/{id}.wav", ["s1"], "report.html").sources
    'https://host.example/audio/'
    """
    check_audio(where)
    if ID in where:
        return _use_template(where)
    wanted, found = set(ids), dict[str, str]()
    for folder, _, files in os.walk(where):
        for file in sorted(files):
            name, suffix = os.path.splitext(file)
            if suffix.lower() in SUFFIXES and name in wanted:
                path = os.path.relpath(os.path.join(folder, file), where)
                found.setdefault(name, quote(path.replace(os.sep, "/")))
    if not found:
        raise OptionError(
            f"--audio {where}: no file is named as a segment is, such as {ids[0]}{SUFFIXES[0]}"
        )
    start = "" if page == "-" else os.path.dirname(os.path.abspath(page))
    folder = quote(os.path.relpath(where, start or os.curdir).replace(os.sep, "/"))
    return Audio(f"{folder}/{ID}", found)


def check_audio(where: str) -> None:
    """Refuse what is neither a folder nor a template, before anything else is done."""
    if ID in where:
        _use_template(where)
    elif not os.path.isdir(where):
        raise OptionError(
            f"--audio {where}: expected a folder, or a template of addresses with {ID}, such as "
            f"https://host/{ID}.wav"
        )


def _use_template(template: str) -> Audio:
    """Return a template that is given; the policy then allows the folder in front of the id."""
    parts = urlsplit(template)
    if not parts.scheme and not parts.netloc:
        return Audio(template)
    before = template.partition(ID)[0]
    if parts.scheme not in ("http", "https") or ID in parts.netloc or set(before) & set(" ;,'\""):
        raise OptionError(
            f"--audio {template}: expected a folder, or an address of http or https with {ID} "
            "behind the host"
        )
    # a source may have neither a query nor a fragment; a path that ends in a slash is all below it
    path = parts.path.partition(ID)[0]
    return Audio(template, None, f"{parts.scheme}://{parts.netloc}{path[: path.rindex('/') + 1]}")
