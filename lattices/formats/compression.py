"""Compressions of files: known by the first bytes on the way in, by the suffix on the way out."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, BinaryIO, NamedTuple, Protocol

from lattices.errors import OptionError
from lattices.optional import require

#: bytes that a decompressor may take for itself
_MOST_MEMORY = 1 << 28


class Member(Protocol):
    """One of the streams that a compressed file consists of, as :mod:`bz2` decompresses it."""

    @property
    def eof(self) -> bool:
        """Whether the end was reached."""

    @property
    def needs_input(self) -> bool:
        """Whether nothing more can be had from what was given."""

    @property
    def unused_data(self) -> bytes:
        """What was given behind the end."""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return at most so many bytes of what was given so far."""


class _GzipMember:
    """A member of a gzip file, with the interface of the others."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(16 + zlib.MAX_WBITS)
        self._rest = b""

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._rest

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        piece = self._inner.decompress(self._rest + data, max_length)
        self._rest = self._inner.unconsumed_tail
        return piece


class Compression(NamedTuple):
    """How files of one kind are compressed, and their suffix and first bytes."""

    name: str
    suffix: str
    magic: bytes
    start: Callable[[], Member]
    write: Callable[[BinaryIO], Any]
    problems: Callable[[], type[Exception]]


def _start_bz2() -> Member:
    import bz2

    return bz2.BZ2Decompressor()


def _start_xz() -> Member:
    import lzma

    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_MEMORY)


def _zstd() -> Any:
    """Return Python's own module, or the same for a Python without it."""
    own = sys.version_info >= (3, 14)
    return require("compression.zstd" if own else "backports.zstd", "zstd")


def _write_gzip(file: BinaryIO) -> Any:
    import gzip

    # no name and no time is stored: the same content is always the same bytes
    return gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0)


def _write_bz2(file: BinaryIO) -> Any:
    import bz2

    return bz2.BZ2File(file, "wb")


def _write_xz(file: BinaryIO) -> Any:
    import lzma

    return lzma.LZMAFile(file, "wb")


def _xz_error() -> type[Exception]:
    import lzma

    return lzma.LZMAError


COMPRESSIONS = (
    Compression("gzip", ".gz", b"\x1f\x8b", _GzipMember, _write_gzip, lambda: zlib.error),
    Compression("bz2", ".bz2", b"BZh", _start_bz2, _write_bz2, lambda: OSError),
    Compression("xz", ".xz", b"\xfd7zXZ\0", _start_xz, _write_xz, _xz_error),
    Compression(
        "zstd",
        ".zst",
        b"\x28\xb5\x2f\xfd",
        lambda: _zstd().ZstdDecompressor(),
        lambda file: _zstd().ZstdFile(file, "wb"),
        lambda: _zstd().ZstdError,
    ),
)
_KNOWN = "gzip, bz2, xz and zstd are"

#: what is not read: its first bytes
_FOREIGN = {
    "lz4": b"\x04\x22\x4d\x18",
    "lzip": b"LZIP\x01",
    "compress (.Z)": b"\x1f\x9d",
    "7-Zip": b"7z\xbc\xaf\x27\x1c",
    "snappy": b"\xff\x06\0\0sNaPpY",
}
_FOREIGN_SUFFIXES = (".lz4", ".lz", ".Z", ".7z", ".sz", ".br", ".lzma")


def find_compression(head: bytes) -> Compression | None:
    """Return the compression of a file that begins so, None for a plain one."""
    return next((each for each in COMPRESSIONS if head.startswith(each.magic)), None)


def find_objection(head: bytes) -> str:
    """Return why a file that begins so is not read; empty if it is not compressed, or known."""
    for name, magic in _FOREIGN.items():
        if head.startswith(magic):
            return f"compressed by {name}, which is not read; {_KNOWN}"
    return ""


def compression_of(name: str) -> Compression | None:
    """Return the compression that the suffix of a file to write asks for, None for a plain one."""
    suffix = os.path.splitext(name)[1]
    if suffix in _FOREIGN_SUFFIXES:
        raise OptionError(f"{name}: files compressed as {suffix} are not written; {_KNOWN}")
    found = next((each for each in COMPRESSIONS if suffix == each.suffix), None)
    if found is not None:
        # a module that is missing is an error before anything is written
        found.problems()
    return found


def compress(file: BinaryIO, name: str) -> AbstractContextManager[BinaryIO]:
    """Return a stream into a file, compressed as its name says."""
    found = compression_of(name)
    return nullcontext(file) if found is None else found.write(file)


def strip_compression(name: str) -> str:
    """Return a file name without the suffix of a compression.

    Examples
    --------
    >>> strip_compression("a.jsonl.zst"), strip_compression("a.jsonl")
    ('a.jsonl', 'a.jsonl')
    """
    base, suffix = os.path.splitext(name)
    return base if any(suffix == each.suffix for each in COMPRESSIONS) else name
