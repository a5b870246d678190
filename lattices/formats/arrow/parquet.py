"""Parquet files: segments as rows of a table, five times smaller than Arrow's own files.

The columns are those of :mod:`lattices.formats.space_fields`, with words as dictionary-encoded
strings; any tool that knows Parquet can query them. Columns of other names are not read, and
those that are missing are null. A table without labels may have rows as
:mod:`lattices.formats.lists.table` knows them, such as the results of commands.

Row groups are what is read at a time. As the end of such a file must be read first, files
that are compressed once more, and pipes, go through a temporary file in ``TMPDIR``.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from threading import Lock
from typing import Any, BinaryIO

import numpy as np

from lattices.errors import FormatError
from lattices.formats.arrow.conforming import check_schema
from lattices.formats.arrow.files import BatchFile, ColumnarFormat, Sink, Source, id_column
from lattices.formats.arrow.schema import (
    Numbering,
    RecordBatch,
    Row,
    cut_into_batches,
    number_batch,
    row_of,
    table_schema,
)
from lattices.formats.base import Unsupported
from lattices.formats.lists.table import from_rows, has_usual_names
from lattices.optional import require
from lattices.options import Option

MAGIC = b"PAR1"
CODECS = ("zstd", "snappy", "lz4", "none")


class _RowGroups(BatchFile):
    def __init__(self, source: Source) -> None:
        self._reader = require("pyarrow.parquet", "arrow").ParquetFile(
            source, memory_map=isinstance(source, str)
        )
        check_schema(self._reader.schema_arrow)
        about = self._reader.metadata
        rows = [about.row_group(group).num_rows for group in range(about.num_row_groups)]
        if min(rows, default=0) < 0 or sum(rows) != about.num_rows:
            raise FormatError(f"{about.num_rows} rows, but {sum(rows)} in the row groups")
        super().__init__(rows)
        self._last: tuple[int, RecordBatch] | None = None
        self._lock = Lock()

    def batch(self, number: int) -> RecordBatch:
        # a row group is decoded as a whole, and often read piece by piece
        with self._lock:
            if self._last is None or self._last[0] != number:
                self._last = number, self._decode(number)
            return self._last[1]

    def ids(self, number: int) -> Any:
        """Read the column of ids of a row group."""
        return id_column(self._reader.read_row_group(number, columns=["id"], use_threads=False))

    def _decode(self, number: int) -> RecordBatch:
        table = self._reader.read_row_group(number, use_threads=False)
        expected = int(self.starts[number + 1] - self.starts[number])
        if table.num_rows != expected:
            raise FormatError(f"{table.num_rows} rows in row group {number}, expected {expected}")
        (batch,) = table.combine_chunks().to_batches()
        return batch


class _TextRows(BatchFile):
    """A table of rows of named columns, whose lists are held as a whole."""

    def __init__(self, table: Any) -> None:
        numbering = Numbering()
        rows = (row_of(each, Unsupported("parquet")) for each in from_rows(table.to_pylist()))
        batches = [number_batch(piece, numbering) for piece in cut_into_batches(rows)]
        self._batches = list(numbering.name_words(batches))
        super().__init__([batch.num_rows for batch in self._batches])

    def batch(self, number: int) -> RecordBatch:
        return self._batches[number]


class Parquet(ColumnarFormat):
    """See the module."""

    name = "parquet"
    description = "Parquet, all kinds of segments; exact, complete, small, read by position"
    suffixes = (".parquet",)
    write_options: Mapping[str, str] = {"compression": Option("the codec of columns", CODECS)}

    def sniff(self, head: bytes) -> bool:
        """Tell whether it begins with Parquet's magic number."""
        return head.startswith(MAGIC)

    def open(self, source: Source) -> BatchFile:
        """Read the end of a file, where its row groups are listed."""
        parquet = require("pyarrow.parquet", "arrow")
        names = parquet.read_schema(source).names
        if "label" not in names and has_usual_names(names):
            return _TextRows(parquet.read_table(source))
        return _RowGroups(source)

    def batches(self, stream: BinaryIO) -> Iterator[RecordBatch]:
        """Iterate over the row groups of a stream, from a copy."""
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(stream, copy, 1 << 20)
            file = self.open(copy)
            for group in np.flatnonzero(np.diff(file.starts)).tolist():
                yield file.batch(group)

    def assemble(self, stream: BinaryIO, parts: Iterable[Row], **options: Any) -> None:
        """Write a row group for each batch, with the words of its own."""
        compression = options.get("compression", CODECS[0])
        parquet = require("pyarrow.parquet", "arrow")
        with parquet.ParquetWriter(Sink(stream), table_schema(), compression=compression) as writer:
            for piece in cut_into_batches(parts):
                numbering = Numbering()
                (batch,) = numbering.name_words([number_batch(piece, numbering)])
                writer.write_batch(batch)


FORMAT = Parquet()
