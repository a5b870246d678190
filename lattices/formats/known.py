"""Which formats there are, and which of them a file has."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lattices.errors import FormatError, OptionError, argument
from lattices.formats.base import Format
from lattices.registry import Registry, lacking

_KINDS = ("lattice", "nbest", "forest", "any")
_PARTS = (*Format.__annotations__, "sniff", "records", "parse", "write")


def _check(plugin: Any) -> str:
    """Return what a format lacks or has wrong; empty if it is one."""
    reason = lacking(plugin, _PARTS)
    if reason:
        return f"{reason} (a subclass of lattices.formats.Format has defaults)"
    if plugin.kind not in _KINDS:
        return f"its kind is {plugin.kind!r}, expected one of {', '.join(_KINDS)}"
    # a text would be taken for as many suffixes as it has letters
    if not isinstance(plugin.suffixes, tuple) or not all(
        isinstance(suffix, str) and suffix for suffix in plugin.suffixes
    ):
        return f"its suffixes are {plugin.suffixes!r}, expected a tuple of texts"
    return ""


FORMATS: Registry[Format] = Registry(
    "lattices.formats",
    "format",
    check=_check,
    aliases={
        "slf": "htk",
        "htk-slf": "htk",
        "jsonlines": "jsonl",
        "json-lines": "jsonl",
        "ndjson": "jsonl",
        "fst": "openfst",
        "openfst-binary": "openfst",
        "fst-text": "openfst-text",
        "att": "openfst-text",
        "kaldi-text": "kaldi",
        "kaldi-ark": "kaldi-binary",
        "scp": "kaldi-scp",
        "pocketsphinx": "sphinx",
        "sausage": "sausages",
        "kaldi-sausages": "sausages",
        "srilm-mesh": "mesh",
        "wordmesh": "mesh",
        "osg": "moses-graph",
        "search-graph": "moses-graph",
        "moses-search-graph": "moses-graph",
        "feather": "arrow",
        "ipc": "arrow",
        "cdec": "cdec-forest",
        "joshua": "joshua-forest",
        "tsv": "nbest-tsv",
        "nemo": "json-rows",
        "manifest": "json-rows",
        "vosk": "asr-json",
        "whisper": "asr-json",
        "whisper.cpp": "asr-json",
        "marian": "moses-nbest",
    },
)


@dataclass(frozen=True)
class FormatInfo:
    """One line of the listing of formats."""

    name: str
    kind: str
    access: str
    suffixes: tuple[str, ...]
    description: str


def formats() -> tuple[FormatInfo, ...]:
    """Return what is known of every format, by name.

    A plug-in that cannot be imported is listed with the reason in its description, and
    with ``access`` empty.

    Examples
    --------
    >>> [info.suffixes for info in formats() if info.name == "jsonl"]
    [('.jsonl', '.ndjson')]
    """
    listing = []
    broken = FORMATS.problems()
    for name in FORMATS.names():
        if name in broken:
            listing.append(FormatInfo(name, "", "", (), f"not available: {broken[name]}"))
            continue
        found = FORMATS.get(name)
        access = "read, write" if found.writable else "read"
        listing.append(FormatInfo(name, found.kind, access, found.suffixes, found.description))
    return tuple(listing)


def available() -> list[Format]:
    """Return the formats that can be imported: a broken plug-in must not stop the others."""
    return [FORMATS.get(info.name) for info in formats() if info.access]


def named(format: str | Format) -> Format:
    """Return the format of that name, or the format itself."""
    return FORMATS.get(format) if isinstance(format, str) else format


def by_suffix(path: str, among: Iterable[Format]) -> list[Format]:
    """Return the formats whose suffix the file name has, the longest suffix only."""
    name = os.path.basename(path).removesuffix(".gz")
    fits = [
        (len(suffix), entry)
        for entry in among
        for suffix in entry.suffixes
        if name.endswith(suffix)
    ]
    longest = max((length for length, _ in fits), default=0)
    return [entry for length, entry in fits if length == longest]


def listed(some: Iterable[Format]) -> str:
    """Return their names, for a message."""
    return ", ".join(entry.name for entry in some)


def sniffed(head: bytes, path: str) -> Format:
    """Return the one format the content looks like; the suffix decides where that does not."""
    known = available()
    likely = [entry for entry in known if sniffs(entry, head)]
    if len(likely) == 1:
        twins = by_suffix(path, (entry for entry in known if entry.name in likely[0].twins))
        return twins[0] if twins else likely[0]
    fitting = by_suffix(path, likely or known)
    if len(fitting) == 1:
        return fitting[0]
    if likely:
        raise FormatError(
            f"could be any of {listed(likely)}; say which by {argument('read.format', 'NAME')}",
            path,
        )
    broken = [f"; {reason}" for reason in FORMATS.problems().values()]
    raise FormatError(
        f"looks like none of the known formats ({listed(known)}){''.join(broken)}", path
    )


def sniffs(entry: Format, head: bytes) -> bool:
    """Tell whether a file looks like the format; one whose sniffing fails knows no file."""
    try:
        return bool(entry.sniff(head))
    except Exception as problem:
        warnings.warn(
            f"format {entry.name} cannot look at files: {type(problem).__name__}: {problem}",
            stacklevel=2,
        )
        return False


def check_options(known: Iterable[str], options: Iterable[str], what: str) -> None:
    """Raise OptionError for an option that ``what`` does not know."""
    unknown = sorted(set(options).difference(known))
    if unknown:
        names = ", ".join(sorted(known)) or "none"
        raise OptionError(f"{what} has no option {', '.join(unknown)} (known: {names})")
