"""Files as binary streams: gzip by its magic bytes on the way in, whole files or none out."""

from __future__ import annotations

import gzip
import io
import os
import secrets
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

from lattices.errors import FormatError
from lattices.formats.base import BYTE_ORDER_MARK

PathLike: TypeAlias = "str | os.PathLike[str]"

HEAD_SIZE = 4096
STANDARD = "-"
STANDARD_INPUT = "<stdin>"
_GZIP_MAGIC = b"\x1f\x8b"


class _Rejoined(io.RawIOBase):
    """A stream whose first bytes were read already: they come again, then the rest."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if self._head:
            piece, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        else:
            piece = self._rest.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


def _peeked(stream: BinaryIO, size: int) -> tuple[bytes, BinaryIO]:
    """Return the first ``size`` bytes, fewer only at the end, and a stream that has them still.

    Unlike ``peek`` this also works on pipes that deliver a few bytes at a time.
    """
    head = stream.read(size)
    return head, cast(BinaryIO, io.BufferedReader(_Rejoined(head, stream), 1 << 16))


@contextmanager
def opened(path: PathLike) -> Iterator[tuple[bytes, BinaryIO]]:
    """Open a file, or standard input for ``-``, decompressed if it begins like gzip.

    Yields
    ------
    head : bytes
        The first 4 KB of the content, without a byte order mark.
    stream : binary stream
        The whole content, from the beginning.

    Raises
    ------
    FormatError
        Now, or while the stream is read inside the ``with`` block: a gzip file that is cut
        short, damaged, or followed by something else.
    OSError
        If the file cannot be opened.
    """
    name = display_name(path)
    with _kept_open(sys.stdin.buffer) if name == STANDARD_INPUT else open(path, "rb") as file:
        magic, stream = _peeked(cast(BinaryIO, file), len(_GZIP_MAGIC))
        zipped = magic == _GZIP_MAGIC
        if zipped:
            stream = cast(BinaryIO, gzip.GzipFile(fileobj=stream))
        try:
            head, stream = _peeked(stream, HEAD_SIZE)
            yield head.removeprefix(BYTE_ORDER_MARK), stream
        except EOFError as problem:
            if not zipped:
                raise
            raise FormatError("the gzip file is cut short", name) from problem
        except (gzip.BadGzipFile, zlib.error) as problem:
            raise FormatError(f"the gzip file is damaged: {problem}", name) from problem


@contextmanager
def _kept_open(stream: BinaryIO) -> Iterator[BinaryIO]:
    """Lend a stream that is somebody else's to close."""
    yield stream
    if stream.writable():
        stream.flush()


@contextmanager
def created(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file for writing, or standard output for ``-``; compressed if named ``.gz``.

    The bytes go to a hidden file beside the target, which takes the target's name when the
    ``with`` block ends well and is removed when it does not. The same content always gives
    the same compressed bytes: no name and no time is stored.
    """
    if os.fspath(path) == STANDARD:
        with _kept_open(sys.stdout.buffer) as stream:
            yield stream
        return
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        # a pipe or a device cannot be replaced, only written to
        with open(target, "wb") as file, _compressed(file, target) as stream:
            yield stream
        return
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with open(beside, "xb") as file, _compressed(file, target) as stream:
            yield stream
        os.replace(beside, target)
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()


@contextmanager
def _compressed(file: BinaryIO, target: Path) -> Iterator[BinaryIO]:
    if target.suffix != ".gz":
        yield file
        return
    with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as stream:
        yield cast(BinaryIO, stream)


def display_name(path: PathLike) -> str:
    """Return the path as it appears in messages."""
    text = os.fspath(path)
    return STANDARD_INPUT if text == STANDARD else text


def files_of(path: PathLike) -> list[str]:
    """Return the path itself, or the visible regular files of a directory in sorted order.

    Raises
    ------
    FormatError
        If the directory holds no such file.
    OSError
        If there is nothing of that name.
    """
    text = os.fspath(path)
    if text == STANDARD:
        return [text]
    if not os.path.isdir(text):
        os.stat(text)
        return [text]
    names = sorted(name for name in os.listdir(text) if not name.startswith("."))
    files = [full for name in names if os.path.isfile(full := os.path.join(text, name))]
    if not files:
        raise FormatError("the directory holds no files to read", text)
    return files


def without_suffix(name: str, suffixes: tuple[str, ...]) -> str:
    """Return a file name without directories, ``.gz`` and the longest of the suffixes it has.

    Examples
    --------
    >>> without_suffix("data/s032.noisy.slf.gz", (".slf", ".lat"))
    's032.noisy'
    """
    base = os.path.basename(name).removesuffix(".gz")
    found = max((suffix for suffix in suffixes if base.endswith(suffix)), key=len, default="")
    return base.removesuffix(found) or base
