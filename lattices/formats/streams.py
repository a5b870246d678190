"""Files as binary streams: gzip by its magic bytes on the way in, whole files or none out."""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import sys
import zlib
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

from lattices.errors import FormatError
from lattices.formats.base import BYTE_ORDER_MARK, decode_lines

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

PathLike: TypeAlias = "str | os.PathLike[str]"

RawReader: TypeAlias = "io.RawIOBase | io.BufferedIOBase"

HEAD_SIZE = 4096
STANDARD = "-"
STANDARD_INPUT = "<stdin>"
STANDARD_OUTPUT = "<stdout>"
_GZIP_MAGIC = b"\x1f\x8b"
#: bytes that one record of a gzip file may unfold to; a lattice of 650 arcs in JSON has 60 KB
MOST_UNFOLDED = 1 << 28


class _Pieces(io.RawIOBase):
    """A stream of bytes that come in pieces."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        piece = self._next(len(view))
        view[: len(piece)] = piece
        return len(piece)

    @abstractmethod
    def _next(self, size: int) -> bytes:
        """Return at most so many bytes, none only at the end."""


class _Rejoined(_Pieces):
    """A stream whose first bytes were read already: they come again, then the rest.

    If reading them ended in an error, it comes again too, in its place.
    """

    def __init__(self, head: bytes, rest: RawReader, problem: FormatError | None) -> None:
        self._head, self._rest, self._problem = head, rest, problem

    def readinto(self, buffer: WriteableBuffer) -> int:
        if self._head or self._problem is not None:
            return super().readinto(buffer)
        # without a copy in between
        return self._rest.readinto(buffer) or 0

    def _next(self, size: int) -> bytes:
        if self._head:
            piece, self._head = self._head[:size], self._head[size:]
            return piece
        if self._problem is not None:
            raise self._problem
        return self._rest.read(size) or b""


class _Unzipped(_Pieces):
    """The content of a gzip file, up to the very place where it is damaged.

    ``gzip.GzipFile`` would also withhold what stands shortly before that place. A record that
    unfolds to more than ``MOST_UNFOLDED`` bytes counts as damage, before it takes the memory.
    Records are lines until :meth:`begin_record` is called, at the beginning of each.
    """

    def __init__(self, source: RawReader, name: str) -> None:
        self._source, self._name = source, name
        self._pending = b""
        self._member: Any = None
        self._by_line, self._size = True, 0

    def begin_record(self) -> None:
        self._by_line, self._size = False, 0

    def _count(self, piece: bytes) -> None:
        line_end = piece.rfind(b"\n") if self._by_line else -1
        self._size = len(piece) - 1 - line_end if line_end >= 0 else self._size + len(piece)
        if self._size > MOST_UNFOLDED:
            raise FormatError(
                f"one {'line' if self._by_line else 'segment'} of the gzip file has more than "
                f"{MOST_UNFOLDED:,} bytes; gunzip the file if that is right",
                self._name,
            )

    def _next(self, size: int) -> bytes:
        while True:
            if not self._pending:
                self._pending = self._source.read(1 << 16) or b""
                if not self._pending:
                    if self._member is not None:
                        raise FormatError("the gzip file is cut short", self._name)
                    return b""
            if self._member is None:
                # zeros may fill up the last block of the file
                self._pending = self._pending.lstrip(b"\0")
                if not self._pending:
                    continue
                self._member = zlib.decompressobj(16 + zlib.MAX_WBITS)
            try:
                piece: bytes = self._member.decompress(self._pending, size)
            except zlib.error as problem:
                raise FormatError(f"the gzip file is damaged: {problem}", self._name) from problem
            if self._member.eof:
                self._pending, self._member = self._member.unused_data, None
            else:
                self._pending = self._member.unconsumed_tail
            if piece:
                self._count(piece)
                return piece


class Content(io.BufferedReader):
    """What a file holds, decompressed."""

    def __init__(self, raw: io.RawIOBase, unzipped: _Unzipped | None = None) -> None:
        super().__init__(raw, 1 << 18)
        self._unzipped = unzipped

    def begin_record(self) -> None:
        """Say that a record begins here; of a gzip file, it may not unfold to too much."""
        if self._unzipped is not None:
            self._unzipped.begin_record()

    def read(self, size: int | None = -1, /) -> bytes:
        """Return so many bytes, or all that are left: these are one record then."""
        if size is None or size < 0:
            self.begin_record()
        return super().read(size)


def _peek(stream: RawReader, size: int) -> tuple[bytes, Content]:
    """Return the first ``size`` bytes, fewer only at the end, and a stream that has them still.

    Unlike ``peek`` this also works on pipes that deliver a few bytes at a time.
    """
    head, problem = b"", None
    try:
        while len(head) < size and (piece := stream.read(size - len(head))):
            head += piece
    except FormatError as found:
        problem = found
    unzipped = stream if isinstance(stream, _Unzipped) else None
    return head, Content(_Rejoined(head, stream, problem), unzipped)


class _Watched(io.RawIOBase):
    """A file that says how much of it was read."""

    def __init__(self, file: RawReader, on_read: Callable[[int], None]) -> None:
        self._file, self._on_read = file, on_read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        count = self._file.readinto(buffer) or 0
        self._on_read(count)
        return count


@contextmanager
def open_input(
    path: PathLike, on_read: Callable[[int], None] | None = None
) -> Iterator[tuple[bytes, Content]]:
    """Open a file, or standard input for ``-``, decompressed if it begins like gzip."""
    name = display_name(path)
    with _standard_input() if name == STANDARD_INPUT else open(path, "rb", buffering=0) as file:
        source = file if on_read is None else _Watched(file, on_read)
        with name_file_in_errors(name):
            head, stream = _peek(source, HEAD_SIZE)
        if head.startswith(_GZIP_MAGIC):
            head, stream = _peek(_Unzipped(stream, name), HEAD_SIZE)
        yield head.removeprefix(BYTE_ORDER_MARK), stream


@contextmanager
def _standard_input() -> Iterator[io.BufferedIOBase]:
    """Yield standard input, which is not closed here."""
    if sys.stdin is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), STANDARD_INPUT)
    yield cast(io.BufferedIOBase, sys.stdin.buffer)


@contextmanager
def _standard_output() -> Iterator[BinaryIO]:
    """Lend standard output; errors name it, and what cannot be written is not tried again."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), STANDARD_OUTPUT)
    sys.stdout.flush()
    try:
        descriptor = sys.stdout.fileno()
    except OSError:
        # a stream in memory that somebody has put in its place
        yield sys.stdout.buffer
        return
    with io.BufferedWriter(NamedFile(descriptor, "w", STANDARD_OUTPUT, closefd=False)) as stream:
        yield cast(BinaryIO, stream)


@contextmanager
def open_output(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file for writing, or standard output for ``-``; compressed if named ``.gz``.

    The bytes go to a hidden file beside the target, which takes the target's name when the
    ``with`` block ends well and is removed when it does not. The same content always gives
    the same compressed bytes: no name and no time is stored.
    """
    if os.fspath(path) == STANDARD:
        with _standard_output() as stream:
            yield stream
        return
    name = os.fspath(path)
    target = os.path.realpath(path)
    with name_file_in_errors(name):
        replaceable = is_replaceable(target)
    if not replaceable:
        # a pipe or a device cannot be replaced, only written to
        with _open_for_writing(target, "w", name) as file, _compress(file, target) as stream:
            yield stream
        return
    beside = make_hidden_path(target, f"{os.urandom(4).hex()}.part")
    try:
        with _open_for_writing(beside, "x", name) as file, _compress(file, target) as stream:
            yield stream
        with name_file_in_errors(name):
            os.replace(beside, target)
    finally:
        with suppress(OSError):
            os.unlink(beside)


def is_replaceable(path: str) -> bool:
    """Tell whether there is a regular file or nothing; a pipe or a device cannot be replaced."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True


def make_hidden_path(path: str, end: str) -> str:
    """Return the path of a hidden file beside another."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{end}")


@contextmanager
def name_file_in_errors(name: str) -> Iterator[None]:
    """Let system errors name the user's file, not a temporary one."""
    try:
        yield
    except OSError as problem:
        problem.filename = name
        # what would be shown as the file that the first is renamed to
        del problem.filename2
        raise


class NamedFile(io.FileIO):
    """A file whose errors name it, as those of opening do: a full disk says which file it was."""

    def __init__(self, file: PathLike | int, mode: str, shown: str, closefd: bool = True) -> None:
        self._shown = shown
        with name_file_in_errors(shown):
            super().__init__(file if isinstance(file, int) else os.fspath(file), mode, closefd)

    def write(self, data: ReadableBuffer, /) -> int:
        """Write bytes."""
        with name_file_in_errors(self._shown):
            return super().write(data)


def _open_for_writing(path: str, mode: str, name: str) -> BinaryIO:
    return cast(BinaryIO, io.BufferedWriter(NamedFile(path, mode, name)))


@contextmanager
def _compress(file: BinaryIO, target: str) -> Iterator[BinaryIO]:
    if os.path.splitext(target)[1] != ".gz":
        yield file
        return
    with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as stream:
        yield cast(BinaryIO, stream)


def is_gzip(path: PathLike) -> bool:
    """Tell whether a file begins like gzip, whatever its name."""
    with open(path, "rb") as file:
        return file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC


def number_lines(path: str) -> Iterator[tuple[int, str]]:
    """Iterate over the lines of a UTF-8 file without their ends, numbered from 1; gzip is fine."""
    with open_input(path) as (_, stream):
        yield from decode_lines(stream, path)


def display_name(path: PathLike) -> str:
    """Return the path as it appears in messages."""
    text = os.fspath(path)
    return STANDARD_INPUT if text == STANDARD else text


def files_of(path: PathLike) -> list[str]:
    """Return the path itself, or the visible regular files of a directory in sorted order."""
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


def strip_suffix(name: str, suffixes: tuple[str, ...]) -> str:
    """Return a file name without directories, ``.gz`` and the longest of the suffixes it has."""
    base = os.path.basename(name).removesuffix(".gz")
    found = max((suffix for suffix in suffixes if base.endswith(suffix)), key=len, default="")
    return base.removesuffix(found) or base


def file_id(path: str, number: int, suffixes: tuple[str, ...]) -> str:
    """Return the id of a segment by its file: the stem, with the number of one after the first.

    Examples
    --------
    >>> file_id("talks/a.json", 0, (".json",)), file_id("talks/a.json", 2, (".json",))
    ('a', 'a-2')
    """
    if path == STANDARD_INPUT:
        return str(number)
    stem = strip_suffix(path, suffixes)
    return f"{stem}-{number}" if number else stem
