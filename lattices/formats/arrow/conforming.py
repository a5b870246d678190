"""Arrow tables as they come: whether they hold segments, and their columns in our types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lattices.arrays import Array, IntColumn, floats, ints
from lattices.caching import cached_property
from lattices.errors import FormatError, SpaceError
from lattices.formats.arrow.schema import (
    WORD_COLUMNS,
    RecordBatch,
    Schema,
    pyarrow,
    table_schema,
)
from lattices.formats.space_fields import KINDS, NEEDED, OTHER_REFERENCES, VERSION, VERSION_KEY

#: what every table of segments has
REQUIRED = tuple(name for name in NEEDED[KINDS[0]] if all(name in NEEDED[kind] for kind in KINDS))


def check_schema(schema: Schema) -> None:
    """Raise FormatError if these are no segments, or of a version that is not known.

    A table that says no version has lost its metadata on the way through other tools.
    """
    found = (schema.metadata or {}).get(VERSION_KEY.encode(), VERSION.encode())
    version = found.decode("utf-8", "replace")
    if version != VERSION:
        raise FormatError(f"version {version!r} of the columns, expected {VERSION!r}")
    for name in REQUIRED:
        if schema.names.count(name) != 1:
            raise FormatError(
                f"{schema.names.count(name)} columns {name!r}, expected one: "
                "is this a table of lattices or n-best lists?"
            )


def conform(batch: RecordBatch) -> RecordBatch:
    """Return the batch in the types of :func:`table_schema`, without other columns."""
    schema = table_schema()
    if batch.schema.equals(schema):
        return batch
    pa = pyarrow()
    check_schema(batch.schema)
    columns = []
    for field in schema:
        found = batch.schema.get_all_field_indices(field.name)
        if field.name == OTHER_REFERENCES and not found:
            # as JSON lines call them
            found = batch.schema.get_all_field_indices("refs")
        if len(found) > 1:
            raise FormatError(f"{len(found)} columns {field.name!r}, expected one")
        if not found:
            columns.append(pa.nulls(batch.num_rows, field.type))
            continue
        try:
            columns.append(_convert(batch.column(found[0]), field.type))
        except (pa.ArrowException, ValueError, TypeError) as problem:
            raise FormatError(
                f"column {field.name!r}: {problem}, expected {field.type}"
            ) from problem
    return pa.record_batch(columns, schema=schema)


def _convert(column: Any, wanted: Any) -> Any:
    pa = pyarrow()
    if column.type == wanted:
        return column
    if not (pa.types.is_list(wanted) and pa.types.is_dictionary(wanted.value_type)):
        return column.cast(wanted)
    inner = getattr(column.type, "value_type", column.type)
    if pa.types.is_dictionary(inner):
        inner = inner.value_type
    if not str(inner).endswith(("string", "string_view")):
        # numbers could be cast, but would not be the words that they stand for
        raise TypeError(f"it is {column.type}")
    texts = column.cast(pa.list_(pa.string()))
    at = texts.offsets.to_numpy()
    # a slice has to be copied before it can have nulls
    words = texts.values.slice(at[0], at[-1] - at[0]).dictionary_encode()
    return pa.ListArray.from_arrays(pa.array(at - at[0]), words, mask=texts.is_null())


@dataclass(frozen=True)
class ListColumn:
    """One list column: ``values[at[row] : at[row + 1]]`` is the list of a row."""

    values: Array
    at: IntColumn
    present: Array
    dictionary: Any = None

    @cached_property
    def bounds(self) -> list[int]:
        """``at`` as a list."""
        # slicing by Python's own numbers takes half the time
        return list(self.at.tolist())

    def size(self, row: int) -> int:
        """Return how long the list of a row is."""
        return self.bounds[row + 1] - self.bounds[row]

    def of(self, row: int) -> Array:
        """Return the list of a row."""
        return self.values[self.bounds[row] : self.bounds[row + 1]]

    def texts(self, row: int) -> tuple[str, ...]:
        """Return the words of a row."""
        found = tuple(self.dictionary.take(pyarrow().array(self.of(row))).to_pylist())
        if None in found:
            raise SpaceError("a null among words")
        return found


def list_column(batch: RecordBatch, name: str) -> ListColumn:
    """Return a column of a batch that is conformed; its values are copied if they can be changed.

    Those of a file that is mapped cannot, but Arrow also takes arrays of numpy without a copy.
    """
    column = batch.column(name)
    at = column.offsets.to_numpy()
    inner = column.values.slice(at[0], at[-1] - at[0])
    if inner.null_count:
        raise FormatError(f"a list in the column {name!r} holds a null")
    dictionary = None
    if name in WORD_COLUMNS:
        inner, dictionary = inner.indices, inner.dictionary
    # to_numpy() would not say whose memory it is
    values = np.empty(0, dtype := np.dtype(inner.type.to_pandas_dtype()))
    if len(inner):
        place = inner.offset * dtype.itemsize
        values = np.frombuffer(inner.buffers()[1], dtype, len(inner), place)
    if not values.flags.aligned:
        values = values.copy()
    as_column: Callable[[Array], Array] = floats if values.dtype == np.float64 else ints
    present = column.is_valid().to_numpy(zero_copy_only=False)
    return ListColumn(as_column(values), ints(at - at[0]), present, dictionary)
