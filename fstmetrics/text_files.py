"""Lines of text files, with their numbers for those who find something wrong in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lattices.errors import FormatError
from lattices.formats.base import BYTE_ORDER_MARK
from lattices.formats.streams import opened


def numbered_lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a UTF-8 file without their ends, numbered from 1; gzip is fine.

    Raises
    ------
    FormatError
        If a line is not UTF-8, or the gzip file is damaged.
    """
    with opened(path) as (_, stream):
        yield from decoded_lines(path, stream)


def decoded_lines(path: str, lines: Iterable[bytes]) -> Iterator[tuple[int, str]]:
    """Yield lines as text without their ends, numbered from 1."""
    for number, line in enumerate(lines, start=1):
        try:
            text = line.removeprefix(BYTE_ORDER_MARK if number == 1 else b"").decode("utf-8")
        except UnicodeDecodeError as problem:
            raise FormatError(f"invalid UTF-8: {problem.reason}", path, number) from None
        yield number, text.rstrip("\r\n")
