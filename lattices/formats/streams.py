"""Files as binary streams: decompressed by their first bytes, whole files or none out."""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

from lattices.errors import FormatError, MissingDependencyError, OptionError
from lattices.formats.base import BYTE_ORDER_MARK, decode_lines
from lattices.formats.compression import (
    Compression,
    Member,
    compress,
    find_compression,
    find_objection,
    strip_compression,
)
from lattices.optional import require

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

PathLike: TypeAlias = "str | os.PathLike[str]"

RawReader: TypeAlias = "io.RawIOBase | io.BufferedIOBase"

HEAD_SIZE = 4096
STANDARD = "-"
STANDARD_INPUT = "<stdin>"
STANDARD_OUTPUT = "<stdout>"
#: bytes that one record of a compressed file may unfold to; a lattice of 650 arcs in JSON has 60 KB
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


class _Decompressed(_Pieces):
    """The content of a compressed file, up to the very place where it is damaged.

    A record (a line, until :meth:`begin_record`) of over ``MOST_UNFOLDED`` bytes is damage.
    """

    def __init__(self, source: RawReader, name: str, compression: Compression) -> None:
        self._source, self._name, self._compression = source, name, compression
        self._problems = compression.problems()
        self._pending = b""
        self._member: Member | None = None
        self._by_line, self._size = True, 0

    def begin_record(self) -> None:
        self._by_line, self._size = False, 0

    def _count(self, piece: bytes) -> None:
        line_end = piece.rfind(b"\n") if self._by_line else -1
        self._size = len(piece) - 1 - line_end if line_end >= 0 else self._size + len(piece)
        if self._size > MOST_UNFOLDED:
            raise FormatError(
                f"one {'line' if self._by_line else 'segment'} of the {self._compression.name} "
                f"file has more than {MOST_UNFOLDED:,} bytes; decompress the file if that is right",
                self._name,
            )

    def _next(self, size: int) -> bytes:
        kind = self._compression.name
        while True:
            if not self._pending and (self._member is None or self._member.needs_input):
                self._pending = self._source.read(1 << 16) or b""
                if not self._pending:
                    if self._member is not None:
                        raise FormatError(f"the {kind} file is cut short", self._name)
                    return b""
            if self._member is None:
                # zeros may fill up the last block of the file
                self._pending = self._pending.lstrip(b"\0")
                if not self._pending:
                    continue
                self._member = self._compression.start()
            data, self._pending = self._pending, b""
            try:
                piece = self._member.decompress(data, size)
            except self._problems as problem:
                raise FormatError(f"the {kind} file is damaged: {problem}", self._name) from problem
            if self._member.eof:
                self._pending, self._member = self._member.unused_data, None
            if piece:
                self._count(piece)
                return piece


class Content(io.BufferedReader):
    """What a file holds, decompressed."""

    def __init__(self, raw: io.RawIOBase, decompressed: _Decompressed | None = None) -> None:
        super().__init__(raw, 1 << 18)
        self._decompressed = decompressed

    def begin_record(self) -> None:
        """Say that a record begins here; of a compressed file, it may not unfold to too much."""
        if self._decompressed is not None:
            self._decompressed.begin_record()

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
    decompressed = stream if isinstance(stream, _Decompressed) else None
    return head, Content(_Rejoined(head, stream, problem), decompressed)


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
    """Open a file, a URL, or standard input for ``-``, decompressed if it begins so."""
    name = display_name(path)
    with _open(name) as file:
        source = file if on_read is None else _Watched(file, on_read)
        with name_file_in_errors(name):
            head, stream = _peek(source, HEAD_SIZE)
        if problem := find_objection(head):
            raise FormatError(problem, name)
        if (compression := find_compression(head)) is not None:
            head, stream = _peek(_Decompressed(stream, name, compression), HEAD_SIZE)
        yield head.removeprefix(BYTE_ORDER_MARK), stream


def is_url(path: PathLike) -> bool:
    """Tell whether a path is a URL, ``s3://bucket/name``, of a file system that fsspec knows."""
    return re.match("[A-Za-z][A-Za-z0-9+.-]*://", os.fspath(path)) is not None


def _find_remote(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path there."""
    try:
        found = require("fsspec", "urls").core.url_to_fs(url)
    except ImportError as problem:
        # the package of one file system, which fsspec names
        raise MissingDependencyError(f"{url}: {problem}") from problem
    except ValueError as problem:
        raise OptionError(f"{url}: {problem}") from problem
    return cast("tuple[Any, str]", found)


def _open(name: str) -> AbstractContextManager[RawReader]:
    """Open a file, a URL or standard input to read its bytes."""
    if name == STANDARD_INPUT:
        return _standard_input()
    if not is_url(name):
        return open(name, "rb", buffering=0)
    system, path = _find_remote(name)
    try:
        with name_file_in_errors(name):
            return cast("AbstractContextManager[RawReader]", system.open(path, "rb"))
    except FileNotFoundError as problem:
        # not every file system says it in the words of the others
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name) from problem


@contextmanager
def _open_remote(url: str) -> Iterator[BinaryIO]:
    """Write to a temporary file, which is sent when it is complete."""
    import shutil
    import tempfile

    system, path = _find_remote(url)
    with tempfile.TemporaryFile() as file:
        with compress(cast(BinaryIO, file), url) as stream:
            yield stream
        file.seek(0)
        with name_file_in_errors(url), system.open(path, "wb") as remote:
            shutil.copyfileobj(file, remote, 1 << 20)


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
    """Open a file or URL for writing, or standard output for ``-``; compressed as its suffix says.

    The target takes its name when the block ends well; the same content gives the same bytes.
    """
    if os.fspath(path) == STANDARD:
        with _standard_output() as stream:
            yield stream
        return
    name = os.fspath(path)
    if is_url(name):
        with _open_remote(name) as stream:
            yield stream
        return
    target = os.path.realpath(path)
    with name_file_in_errors(name):
        replaceable = is_replaceable(target)
    if not replaceable:
        # a pipe or a device cannot be replaced, only written to
        with _open_for_writing(target, "w", name) as file, compress(file, target) as stream:
            yield stream
        return
    beside = make_hidden_path(target, f"{os.urandom(4).hex()}.part")
    try:
        with _open_for_writing(beside, "x", name) as file, compress(file, target) as stream:
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


def is_compressed(path: PathLike) -> bool:
    """Tell whether a file begins like a compressed one, whatever its name."""
    with open(path, "rb") as file:
        return find_compression(file.read(8)) is not None


def number_lines(path: str) -> Iterator[tuple[int, str]]:
    """Iterate over the lines of a UTF-8 file without their ends, numbered from 1, decompressed."""
    with open_input(path) as (_, stream):
        yield from decode_lines(stream, path)


def display_name(path: PathLike) -> str:
    """Return the path as it appears in messages."""
    text = os.fspath(path)
    return STANDARD_INPUT if text == STANDARD else text


def files_of(path: PathLike) -> list[str]:
    """Return the path itself, or the visible regular files of a directory in sorted order.

    Those of folders ``KEY=VALUE`` are among them: so datasets are partitioned. What the folders say
    are fields of the segments, see :func:`partition_fields`.
    """
    text = os.fspath(path)
    if text == STANDARD:
        return [text]
    if is_url(text):
        return _remote_files(text)
    if not os.path.isdir(text):
        os.stat(text)
        return [text]
    files = _folder_files(text)
    if not files:
        raise FormatError("the directory holds no files to read", text)
    return files


#: what a folder of a partitioned dataset is called, and what stands beside its files
_PARTITION = re.compile(r"([A-Za-z_]\w*)=(.*)")
#: the value of Hive for no value
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_BESIDE = ("_SUCCESS", "_metadata", "_common_metadata")
#: what a dataset of Hugging Face has on disk beside its rows
_SAVED = {"state.json", "dataset_info.json"}


@lru_cache(maxsize=64)
def partition_fields(path: str) -> Mapping[str, str]:
    """Return what the folders ``KEY=VALUE`` of a path say.

    Examples
    --------
    >>> dict(partition_fields("corpus/split=dev/genre=talks%20live/part-0.parquet"))
    {'split': 'dev', 'genre': 'talks live'}
    """
    if "=" not in path:
        return {}
    from urllib.parse import unquote

    found = map(_PARTITION.fullmatch, re.split(r"[/\\]", path)[:-1])
    pairs = [each.groups() for each in found if each is not None]
    return {key: unquote(value) for key, value in pairs if value != _NO_VALUE}


def _folder_files(folder: str) -> list[str]:
    names, found = set(os.listdir(folder)), []
    if names >= _SAVED:
        names -= _SAVED
    for name in sorted(names):
        full = os.path.join(folder, name)
        if name.startswith(".") or name in _BESIDE:
            continue
        if os.path.isfile(full):
            found.append(full)
        elif _PARTITION.match(name) and os.path.isdir(full):
            found += _folder_files(full)
    return found


def _remote_files(url: str) -> list[str]:
    system, path = _find_remote(url)
    if not system.isdir(path):
        return [url]
    files = _remote_folder(system, path, url.rstrip("/"))
    if not files:
        raise FormatError("the directory holds no files to read", url)
    return files


def _remote_folder(system: Any, path: str, url: str) -> list[str]:
    found = []
    for entry in sorted(system.ls(path, detail=True), key=lambda entry: entry["name"]):
        name = os.path.basename(entry["name"].rstrip("/"))
        if name.startswith(".") or name in _BESIDE:
            continue
        if entry["type"] == "file":
            found.append(f"{url}/{name}")
        elif _PARTITION.match(name):
            found += _remote_folder(system, entry["name"], f"{url}/{name}")
    return found


def stamp_remote(url: str) -> int:
    """Return a number that is another one when the file at a URL has changed."""
    system, path = _find_remote(url)
    with name_file_in_errors(url):
        return int(system.checksum(path))


def strip_suffix(name: str, suffixes: tuple[str, ...]) -> str:
    """Return a file name without directories, that of a compression and the longest it has."""
    base = strip_compression(os.path.basename(name))
    found = max((suffix for suffix in suffixes if base.endswith(suffix)), key=len, default="")
    return base.removesuffix(found) or base


def file_id(path: str, number: int, suffixes: tuple[str, ...]) -> str:
    """Return the id of a segment by its file: the stem, with the number of one after the first."""
    if path == STANDARD_INPUT:
        return str(number)
    stem = strip_suffix(path, suffixes)
    return f"{stem}-{number}" if number else stem
