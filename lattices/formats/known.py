"""Which formats there are, and which of them a file has."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from lattices.errors import FormatError, OptionError
from lattices.formats.base import Format
from lattices.registry import Registry

FORMATS: Registry[Format] = Registry("lattices.formats", "format")


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
    for name in FORMATS.names():
        try:
            found = FORMATS.get(name)
        except ImportError as problem:
            listing.append(FormatInfo(name, "", "", (), f"not available: {problem}"))
        else:
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
    likely = [entry for entry in known if entry.sniff(head)]
    if len(likely) == 1:
        twins = by_suffix(path, (entry for entry in known if entry.name in likely[0].twins))
        return twins[0] if twins else likely[0]
    fitting = by_suffix(path, likely or known)
    if len(fitting) == 1:
        return fitting[0]
    if likely:
        raise FormatError(f"could be any of {listed(likely)}; say which by format=", path)
    raise FormatError(f"looks like none of the known formats ({listed(known)})", path)


def check_options(known: Iterable[str], options: Iterable[str], what: str) -> None:
    """Raise OptionError for an option that ``what`` does not know."""
    unknown = sorted(set(options).difference(known))
    if unknown:
        names = ", ".join(sorted(known)) or "none"
        raise OptionError(f"{what} has no option {', '.join(unknown)} (known: {names})")
