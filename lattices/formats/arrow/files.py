"""Arrow and Parquet files: rows of segments that are read by number.

Open files are kept, a few in each process, so that whoever reads a file piece by piece opens
it once; a file that has changed since is opened again.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from lattices.errors import FormatError
from lattices.formats.arrow.schema import WORD_COLUMNS, RecordBatch, Row, pyarrow, row_of
from lattices.formats.arrow.table_rows import DAMAGE, TableRows
from lattices.formats.base import AssembledFormat, IndexedFormat, Record, Unsupported
from lattices.optional import require
from lattices.spaces import Space
from lattices.vocabulary import Vocabulary

#: how many files a process keeps open
OPEN_FILES = 4

#: a seekable file of pyarrow or of Python, or its path
Source: TypeAlias = Any


@contextmanager
def report_damage(path: str) -> Iterator[None]:
    """Turn errors of pyarrow for a damaged file into FormatError."""
    try:
        yield
    except FormatError as problem:
        if problem.path:
            raise
        raise FormatError(problem.problem, path) from problem
    except (pyarrow().ArrowException, *DAMAGE) as problem:
        raise FormatError(f"the file is damaged: {problem}", path) from problem


def id_column(table: Any) -> Any:
    """Return the ids of a batch or table as Arrow has them, None if there is no such column."""
    place = table.schema.get_field_index("id")
    return None if place < 0 else table.column(place)


class BatchFile(ABC):
    """An open file: its batches by number, and where each of them begins."""

    def __init__(self, rows: list[int]) -> None:
        self.starts = np.cumsum([0, *rows])
        self.vocabulary = Vocabulary()

    @abstractmethod
    def batch(self, number: int) -> RecordBatch:
        """Return one batch; nothing inside it is checked."""

    def ids(self, number: int) -> Any:
        """Return the column of ids of one batch, or None."""
        return id_column(self.batch(number))

    def __len__(self) -> int:
        """Return how many segments there are."""
        return int(self.starts[-1])

    def parse(self, start: int, stop: int, vocabulary: Vocabulary) -> Iterator[Space | str]:
        """Iterate over segments, or what is wrong with them."""
        while start < stop:
            number = int(np.searchsorted(self.starts, start, side="right")) - 1
            end = min(stop, int(self.starts[number + 1]))
            try:
                piece = self.batch(number).slice(start - int(self.starts[number]), end - start)
                rows = TableRows(piece, vocabulary)
            except FormatError as problem:
                yield from [problem.problem] * (end - start)
            except (pyarrow().ArrowException, *DAMAGE) as problem:
                yield from [f"the batch is damaged: {problem}"] * (end - start)
            else:
                yield from (str(each) if isinstance(each, Exception) else each for each in rows)
            start = end


_OPENED: OrderedDict[tuple[str, str, int, int], BatchFile] = OrderedDict()
_LOCK = Lock()


class ColumnarFormat(IndexedFormat, AssembledFormat):
    """Segments as rows, in batches; a subclass says how to open a file of them."""

    kind = "any"
    exact = True

    def require(self) -> None:
        """Import pyarrow, or raise MissingDependencyError."""
        pyarrow()

    @abstractmethod
    def open(self, source: Source) -> BatchFile:
        """Return a file that is read by position; whatever is raised means that it is damaged."""

    @abstractmethod
    def batches(self, stream: BinaryIO) -> Iterator[RecordBatch]:
        """Iterate over the batches of a stream; whatever is raised means that it is damaged."""

    def encode(self, space: Space, losses: Unsupported, **options: Any) -> Row:
        """Return the row of a segment."""
        return row_of(space, losses)

    def count(self, path: str) -> int:
        """Return how many segments a plain file holds."""
        return len(self._open(path))

    def ids(self, path: str) -> Iterator[tuple[int, str]]:
        """Iterate over rows and their ids, empty where there is none; nothing else is read."""
        file = self._open(path)
        with report_damage(path):
            for number, start in enumerate(file.starts[:-1].tolist()):
                size, column = int(file.starts[number + 1]) - start, file.ids(number)
                names = [""] * size if column is None else column.to_pylist()
                yield from enumerate((name or "" for name in names), start)

    def parse_range(
        self, path: str, start: int, stop: int, vocabulary: Vocabulary | None = None, **options: Any
    ) -> list[Space | FormatError]:
        """Return the segments from number ``start`` up to ``stop``, or why there is none."""
        file = self._open(path)
        if not 0 <= start <= stop <= len(file):
            raise IndexError(f"segments {start} to {stop} of {len(file)}")
        words = file.vocabulary if vocabulary is None else vocabulary
        return [
            FormatError(f"row {number}: {each}", path) if isinstance(each, str) else each
            for number, each in enumerate(file.parse(start, stop, words), start)
        ]

    def _open(self, path: str) -> BatchFile:
        status = os.stat(path)
        key = (self.name, os.path.abspath(path), status.st_mtime_ns, status.st_size)
        with _LOCK:
            if key in _OPENED:
                _OPENED.move_to_end(key)
                return _OPENED[key]
        with report_damage(path):
            fresh = self.open(path)
        with _LOCK:
            # another thread may have been faster; all have to share one vocabulary
            file = _OPENED.setdefault(key, fresh)
            while len(_OPENED) > OPEN_FILES:
                _OPENED.popitem(last=False)
        return file

    def records(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Cut into rows, each a stream of Arrow's own with the words that it uses."""
        number = 0
        with report_damage(path):
            for batch in self.batches(stream):
                # before anything is done with as many rows as the file says it has
                batch.validate()
                try:
                    batch.validate(full=True)
                    whole = True
                except pyarrow().ArrowException:
                    whole = False
                for row in range(batch.num_rows):
                    yield Record(_pack(batch.slice(row, 1)) if whole else b"", path, 0, number)
                    number += 1

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Space:
        """Return the segment of one row."""
        if not record.payload:
            raise record.error(f"row {record.number}: the batch is damaged")
        ipc = require("pyarrow.ipc", "arrow")
        with report_damage(record.path):
            batch = ipc.open_stream(record.payload).read_next_batch()
        try:
            (found,) = TableRows(batch, vocabulary)
        except FormatError as problem:
            raise record.error(f"row {record.number}: {problem.problem}") from problem
        if isinstance(found, Exception):
            raise record.error(f"row {record.number}: {found}") from found
        return found


def _pack(row: RecordBatch) -> bytes:
    """Return one row as a stream, with no words but its own."""
    pa, ipc = pyarrow(), require("pyarrow.ipc", "arrow")
    columns = row.columns
    for name in WORD_COLUMNS:
        place = row.schema.get_field_index(name)
        column = columns[place] if place >= 0 else None
        if column is None or not pa.types.is_dictionary(column.type.value_type):
            continue
        words = column.flatten().dictionary_decode().dictionary_encode()
        columns[place] = pa.ListArray.from_arrays(
            pa.array([0, len(words)], pa.int32()), words, mask=column.is_null()
        )
    fields = [
        field.with_type(column.type) for field, column in zip(row.schema, columns, strict=True)
    ]
    packed = pa.record_batch(columns, schema=pa.schema(fields, metadata=row.schema.metadata))
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, packed.schema) as writer:
        writer.write_batch(packed)
    return bytes(sink.getvalue())


class Sink:
    """A binary stream that can say how much was written, also where that is a pipe."""

    closed = False

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._written = stream, 0

    def write(self, data: Any) -> int:
        """Write all of ``data``."""
        self._stream.write(data)
        self._written += len(data)
        return len(data)

    def tell(self) -> int:
        """Return how much was written."""
        return self._written

    def flush(self) -> None:
        """Do nothing: the caller flushes the stream."""

    def close(self) -> None:
        """Do nothing: the caller closes the stream."""
