"""Arrow IPC files (Feather version 2): segments as rows of a table that is mapped, not read.

The columns are those of :mod:`lattices.formats.space_fields`; any tool that knows Arrow can query
them. Columns of other names are not read, and those that are missing are null. A column may
have another type if Arrow can cast it, but only the types that are written are taken without
a copy.

The words of the whole file are one dictionary, written first and in full. Arrow would also
let it grow from batch to batch, but the readers in Rust (polars, arrow-rs before 2025) refuse
such files. As the words are known at the end only, the writer keeps the batches, in memory
up to ``MOST_HELD`` bytes, and in a temporary file in ``TMPDIR`` if they are more.

Plain files are mapped into memory and read from any row on; compressed ones and pipes are
read from beginning to end, one batch at a time.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, BinaryIO

from lattices.errors import FormatError
from lattices.formats.arrow.conforming import check_schema
from lattices.formats.arrow.files import BatchFile, ColumnarFormat, Sink, Source
from lattices.formats.arrow.schema import (
    Numbering,
    RecordBatch,
    Row,
    cut_into_batches,
    number_batch,
    numbered_schema,
    pyarrow,
    table_schema,
)
from lattices.optional import require

MAGIC = b"ARROW1"
#: bytes of a file that may stay in the memory of a process that has read them
MOST_MAPPED = 64_000_000
#: bytes of batches that the writer holds in memory
MOST_HELD = 64_000_000
#: the magic number and what fills it up to eight bytes; a stream of Arrow follows
_HEADER = MAGIC + b"\0\0"
#: the offset of the first table of a message
_TABLE = b"\x10\0\0\0"
#: what a stream by itself begins with, as datasets of Hugging Face are on disk
_STREAM = b"\xff\xff\xff\xff"


class _MappedFile(BatchFile):
    def __init__(self, source: Source) -> None:
        pa = pyarrow()
        with open(source, "rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._touched = 0
        buffer = pa.py_buffer(self._map)
        ipc = require("pyarrow.ipc", "arrow")
        self._streamed: list[RecordBatch] | None = None
        if self._map[: len(_STREAM)] == _STREAM:
            self._reader = ipc.open_stream(pa.BufferReader(buffer))
            self._streamed = [*self._reader]
        else:
            self._reader = ipc.open_file(pa.BufferReader(buffer))
        check_schema(self._reader.schema)
        self._count = (
            self._reader.num_record_batches if self._streamed is None else len(self._streamed)
        )
        rows = []
        for number in range(self._count):
            batch = self.batch(number)
            # so that there are no more rows than the buffers have room for
            batch.validate()
            rows.append(batch.num_rows)
        super().__init__(rows)
        if rows:
            self._take_words(self.batch(0))

    def _take_words(self, batch: RecordBatch) -> None:
        """Give the file's own vocabulary the numbers of the file."""
        words = getattr(batch.column("label"), "values", None)
        if isinstance(words, pyarrow().DictionaryArray):
            words.dictionary.validate(full=True)
            self.vocabulary.add_all(words.dictionary.drop_null().to_pylist())

    def batch(self, number: int) -> RecordBatch:
        # about as much as a batch has; what it says of itself is not to be trusted
        self._touched += len(self._map) // self._count
        if self._touched > MOST_MAPPED:
            self._touched = 0
            _release_pages(self._map)
        return self._streamed[number] if self._streamed else self._reader.get_batch(number)


def _release_pages(mapped: mmap.mmap) -> None:
    """Release the pages of a mapped file; they are read again when they are used again."""
    if hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


class ArrowIPC(ColumnarFormat):
    """See the module."""

    name = "arrow"
    description = "Arrow IPC file, all kinds of segments; exact, complete, read by position"
    suffixes = (".arrow", ".feather")

    def sniff(self, head: bytes) -> bool:
        """Tell whether it begins with Arrow's magic number."""
        # behind the mark of a stream, and four bytes of a size, is a table of flatbuffers
        return head.startswith(_HEADER) or (head.startswith(_STREAM) and head[8:12] == _TABLE)

    def open(self, source: Source) -> BatchFile:
        """Map a file into memory."""
        return _MappedFile(source)

    def batches(self, stream: BinaryIO) -> Iterator[RecordBatch]:
        """Iterate over the batches as they come: a file is a stream with something around it."""
        head = stream.read(len(_HEADER))
        alone = head.startswith(_STREAM)
        if head != _HEADER and not alone:
            raise FormatError(f"no {MAGIC.decode()!r} at the beginning")
        source: Any = _Prefixed(head, stream) if alone else stream
        with require("pyarrow.ipc", "arrow").open_stream(source) as reader:
            check_schema(reader.schema)
            yield from reader
            if alone:
                return
            tail = b""
            # a file that was cut between two batches looks like a stream that is complete
            while piece := stream.read(1 << 16):
                tail = (tail + piece)[-len(MAGIC) :]
        if tail != MAGIC:
            raise FormatError("the file is cut short")

    def assemble(self, stream: BinaryIO, parts: Iterable[Row], **options: Any) -> None:
        """Keep the batches until all words are known, and then write words and batches."""
        ipc = require("pyarrow.ipc", "arrow")
        numbering = Numbering()
        numbered = (number_batch(piece, numbering) for piece in cut_into_batches(parts))
        with tempfile.TemporaryFile() as spool:
            kept = _keep(numbered, spool)
            with ipc.new_file(Sink(stream), table_schema()) as writer:
                for batch in numbering.name_words(kept):
                    writer.write_batch(batch)


class _Prefixed:
    """A stream whose first bytes were read already."""

    closed = False

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = head, rest

    def read(self, size: int = -1) -> bytes:
        """Return these bytes, and then the rest."""
        if not self._head:
            return self._rest.read(size)
        found, self._head = (
            (self._head, b"") if size < 0 else (self._head[:size], self._head[size:])
        )
        more = self._rest.read(size - len(found) if size >= 0 else -1) if not self._head else b""
        return found + more

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def close(self) -> None:
        """Do nothing: who opened the stream closes it."""


def _keep(batches: Iterator[RecordBatch], spool: BinaryIO) -> Iterable[RecordBatch]:
    """Read all batches, and return them from memory or, if they are many, from a file."""
    held: list[RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size > MOST_HELD:
            break
    else:
        return held
    ipc = require("pyarrow.ipc", "arrow")
    with ipc.new_stream(spool, numbered_schema()) as writer:
        for batch in chain(held, batches):
            writer.write_batch(batch)
    spool.seek(0)
    reader: Iterable[RecordBatch] = ipc.open_stream(spool)
    return reader


FORMAT = ArrowIPC()
