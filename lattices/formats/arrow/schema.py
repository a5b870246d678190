"""Arrow tables of segments: the schema, and the way from segments to record batches.

One row a segment, one column for each of :data:`lattices.formats.space_fields.FIELDS`, null in the
rows of segments that do not have it. A word is ``dictionary<int32, string>``: a string to those
who query the table, a number to us. The metadata of the schema has ``fstmetrics.format``, the
version of all this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, groupby
from typing import Any, TypeAlias

import numpy as np

from lattices._native import FeatureColumns, LatticeColumns, distinct_labels, joined_lattices
from lattices.arrays import Array, IntColumn, ints
from lattices.errors import FormatError
from lattices.formats.base import Unsupported
from lattices.formats.json.fields import ENCODER
from lattices.formats.space_fields import (
    FIELDS,
    FLOATS,
    FOREST,
    INT,
    INTS,
    MATRICES,
    TEXT,
    TEXTS,
    VERSION,
    VERSION_KEY,
    WORDS,
    collect_fields,
    column_fields,
    labels_and_slots,
)
from lattices.optional import require
from lattices.spaces import Lattice, Space
from lattices.vocabulary import Vocabulary

#: the columns of words
WORD_COLUMNS = tuple(field.name for field in FIELDS if field.type == WORDS)
#: the columns of lists that are taken as they are
LIST_COLUMNS = tuple(field.name for field in FIELDS if field.type in (INTS, FLOATS, WORDS))
#: a batch is full at so many rows, or at so many bytes
BATCH_ROWS = 128
BATCH_BYTES = 16_000_000

#: ``pyarrow.RecordBatch`` and ``pyarrow.Schema``; pyarrow ships no types
RecordBatch: TypeAlias = Any
Schema: TypeAlias = Any


def pyarrow() -> Any:
    """Return the module, or raise MissingDependencyError; importing it takes 0.2 s."""
    return require("pyarrow", "arrow")


@cache
def table_schema() -> Schema:
    """Return the schema of tables and files: see the module."""
    pa = pyarrow()
    types = {
        TEXT: pa.string(),
        TEXTS: pa.list_(pa.string()),
        WORDS: pa.list_(pa.dictionary(pa.int32(), pa.string())),
        INT: pa.int32(),
        INTS: pa.list_(pa.int32()),
        FLOATS: pa.list_(pa.float64()),
    }
    columns = [(field.name, types[field.type]) for field in FIELDS]
    return pa.schema(columns, metadata={VERSION_KEY: VERSION})


@cache
def numbered_schema() -> Schema:
    """Return the schema of batches whose words are still mere numbers."""
    pa = pyarrow()
    schema = table_schema()
    for name in WORD_COLUMNS:
        schema = schema.set(schema.get_field_index(name), pa.field(name, pa.list_(pa.int32())))
    return schema


class Row:
    """A segment on its way into a batch; columns that native code owns are no fields."""

    __slots__ = ("fields", "handles", "size", "words")

    def __init__(
        self,
        fields: dict[str, Any],
        words: Vocabulary,
        handles: tuple[LatticeColumns, FeatureColumns | None] | None = None,
    ) -> None:
        self.fields, self.words, self.handles = fields, words, handles
        if handles is None:
            features = fields["features"]
            arcs, values = len(fields["label"]), 0 if features is None else features.nnz
        else:
            arcs, values = handles[0].size, 0 if handles[1] is None else handles[1].size
        # what an arc takes, an entry or an edge; it may be a few times more
        self.size = 20 * arcs + 12 * values

    def with_columns(self) -> Row:
        """Return the row with all columns among its fields."""
        if self.handles is None:
            return self
        names = self.fields["feature_names"]
        lattice = Lattice.from_columns(*self.handles, self.words, feature_names=names)
        return Row(self.fields | column_fields(lattice), self.words)

    def __reduce__(self) -> tuple[type[Row], tuple[dict[str, Any], Vocabulary]]:
        """Pickle it with no words but its own."""
        fields = self.with_columns().fields
        distinct, label = distinct_labels(fields["label"])
        words = [word for word in map(self.words.word, distinct.tolist()) if word]
        numbers = np.cumsum(distinct != 0) * (distinct != 0)
        return Row, (fields | {"label": ints(numbers[label])}, Vocabulary(words))


def row_of(space: Space, losses: Unsupported) -> Row:
    """Return a segment as it goes into a batch."""
    fields = collect_fields(space, losses)
    texts: list[str | None] = []
    lattices: list[str] = []
    for reference in fields["references"]:
        if isinstance(reference, str):
            texts.append(reference)
        else:
            from lattices.formats.json.lines import json_line

            texts.append(None)
            lattices.append(json_line(reference, losses).decode("utf-8").rstrip("\n"))
    fields["references"], fields["reference_lattices"] = texts, lattices or None
    fields["metadata"] = ENCODER.encode(fields["metadata"]) if fields["metadata"] else None
    for name, some in (("id", [space.id]), ("source", [space.source]), ("references", texts)):
        try:
            for text in some:
                # a text that was decoded has to be encoded to know
                if text is not None and not text.isascii():
                    text.encode()
        except UnicodeEncodeError as problem:
            raise FormatError(f"{name!r} is no Unicode text: {problem}") from problem
    _check_words(fields["feature_names"])
    if isinstance(space, Lattice) and (handles := space.native_columns) is not None:
        return Row(fields, space.vocabulary, handles)
    fields |= column_fields(space)
    if space.kind == FOREST:
        fields["label"], fields["slot"] = labels_and_slots(fields.pop("symbol"))
        _check_words(fields["category"] or ())
        if fields["span"] is not None:
            fields["span"] = fields["span"].ravel()
    return Row(fields, space.vocabulary)


@lru_cache
def _check_words(words: tuple[str, ...]) -> None:
    """Raise SpaceError for what is no word."""
    Vocabulary(words)


class Numbering:
    """The words, the feature names and the categories of a table, numbered as they come."""

    def __init__(self) -> None:
        self.vocabularies = {name: Vocabulary() for name in WORD_COLUMNS}

    def numbers(self, name: str, words: Iterable[str]) -> IntColumn:
        """Return the numbers of words in a column, which are added."""
        return ints(self.vocabularies[name].add_all(words))

    def labels(self, rows: Sequence[Row], label: Array, at: IntColumn) -> Array:
        """Return the labels of rows in the numbers of the table, in which words come as they occur.

        ``label`` has them row by row in the numbers of the rows' vocabularies.
        """
        found = []
        place = 0
        for _, some in groupby(rows, lambda row: id(row.words)):
            first, place = place, place + len(alike := list(some))
            distinct, which = distinct_labels(ints(label[at[first] : at[place]]))
            words = alike[0].words.strings
            found.append(self.numbers("label", map(words.__getitem__, distinct.tolist()))[which])
        return found[0] if len(found) == 1 else np.concatenate(found)

    def name_words(self, batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
        """Iterate over batches of :func:`numbered_schema` with their words in the place of numbers.

        All share one dictionary, so the numbering has to be complete.
        """
        pa = pyarrow()
        dictionaries = {
            name: text_array(words.strings) for name, words in self.vocabularies.items()
        }
        for batch in batches:
            columns = batch.columns
            for name, dictionary in dictionaries.items():
                place = batch.schema.get_field_index(name)
                column = columns[place]
                words = pa.DictionaryArray.from_arrays(column.values, dictionary, safe=False)
                columns[place] = pa.Array.from_buffers(
                    table_schema().field(place).type,
                    len(column),
                    column.buffers()[:2],
                    column.null_count,
                    column.offset,
                    [words],
                )
            yield pa.record_batch(columns, schema=table_schema())


def cut_into_batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Cut the rows into batches, holding one at a time."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += row.size
        if len(batch) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def number_batch(rows: Sequence[Row], numbering: Numbering) -> RecordBatch:
    """Return rows as a batch of :func:`numbered_schema`; ``numbering`` grows by their words.

    Each column is put together in one go, those that native code owns by native code.
    """
    handles = [row.handles for row in rows if row.handles is not None]
    if len(handles) == len(rows):
        lists = _join_natively(handles)
    else:
        rows = [row.with_columns() for row in rows]
        lists = _join_fields(rows)
    label = lists["label"]
    label.values = numbering.labels(rows, label.values, label.at)
    for name in ("feature_names", "category"):
        texts = [row.fields.get(name) for row in rows]
        # nearly all rows have the same
        distinct = [some for some in dict.fromkeys(texts) if some is not None]
        numbers = {some: numbering.numbers(name, some) for some in distinct}
        lists[name] = _Lists.join([numbers.get(some) for some in texts], np.int32)
    columns = []
    for field, type in zip(FIELDS, numbered_schema().types, strict=True):
        if field.name not in lists:
            entries = [row.fields.get(field.name) for row in rows]
            if field.type not in _ENTRIES:
                columns.append(_plain_array(entries, type))
                continue
            lists[field.name] = _Lists.join(entries, _ENTRIES[field.type])
        columns.append(lists[field.name].array(type))
    return pyarrow().record_batch(columns, schema=numbered_schema())


#: what lists have, as numpy calls it; texts are kept in a list of Python
_ENTRIES: Mapping[str, Any] = {INTS: np.int32, WORDS: np.int32, FLOATS: np.float64, TEXTS: None}


class _Lists:
    """One list column of a batch: ``values[at[row] : at[row + 1]]`` is the list of a row."""

    __slots__ = ("at", "present", "values")

    def __init__(self, at: IntColumn, present: Array, values: Any) -> None:
        self.at, self.present, self.values = at, present, values

    @classmethod
    def join(cls, entries: Sequence[Any], dtype: Any) -> _Lists:
        """Return the lists, None being null."""
        at = np.zeros(len(entries) + 1, np.int32)
        np.cumsum([0 if entry is None else len(entry) for entry in entries], out=at[1:])
        present = np.array([entry is not None for entry in entries], bool)
        filled = [entry for entry in entries if entry is not None]
        if dtype is None:
            return cls(at, present, list(chain.from_iterable(filled)))
        return cls(at, present, np.concatenate([np.empty(0, dtype), *filled]))

    def array(self, type: Any) -> Any:
        """Return the column, whose numbers are not copied."""
        pa = pyarrow()
        if isinstance(self.values, list):
            values = text_array(self.values)
        else:
            buffers = [None, pa.py_buffer(self.values)]
            values = pa.Array.from_buffers(type.value_type, len(self.values), buffers)
        return _array(type, self.present, [self.at], [values])


def _array(type: Any, present: Array, buffers: Sequence[Any], children: Sequence[Any] = ()) -> Any:
    """Return a column of buffers: ``pa.array`` would import pandas, wherever it is installed."""
    pa = pyarrow()
    missing = int(np.count_nonzero(~present))
    bits = pa.py_buffer(np.packbits(present, bitorder="little")) if missing else None
    everything = [bits, *map(pa.py_buffer, buffers)]
    return pa.Array.from_buffers(type, len(present), everything, missing, children=children or None)


def text_array(texts: Sequence[str | None]) -> Any:
    """Return texts as an array of strings."""
    encoded = [b"" if text is None else text.encode() for text in texts]
    at = np.zeros(len(texts) + 1, np.int32)
    np.cumsum([*map(len, encoded)], out=at[1:])
    present = np.array([text is not None for text in texts], bool)
    return _array(pyarrow().string(), present, [at, b"".join(encoded)])


def _plain_array(entries: Sequence[Any], type: Any) -> Any:
    """Return a column of texts or of whole numbers."""
    if type == pyarrow().string():
        return text_array(entries)
    present = np.array([entry is not None for entry in entries], bool)
    return _array(type, present, [np.array([entry or 0 for entry in entries], np.int32)])


def _join_natively(
    handles: Sequence[tuple[LatticeColumns, FeatureColumns | None]],
) -> dict[str, _Lists]:
    """Return the columns of lattices that native code owns."""
    graph, arc_features, end_features = joined_lattices(
        [each for each, _ in handles], [each for _, each in handles]
    )
    arcs, states, src, dst, label, score, final = graph
    everywhere = np.ones(len(handles), bool)
    of_arcs = {"src": src, "dst": dst, "label": label, "score": score}
    lists = {name: _Lists(arcs, everywhere, values) for name, values in of_arcs.items()}
    lists["final"] = _Lists(states, everywhere, final)
    for names, found in zip(MATRICES.values(), (arc_features, end_features), strict=True):
        there, bounds_at, bounds, at, columns, values = found
        present = there.astype(bool)
        parts = _Lists(bounds_at, present, bounds), _Lists(at, present, columns)
        lists |= zip(names, (*parts, _Lists(at, present, values)), strict=True)
    return lists


def _join_fields(rows: Sequence[Row]) -> dict[str, _Lists]:
    """Return the label and the matrices of rows that have them among their fields."""
    lists = {"label": _Lists.join([row.fields["label"] for row in rows], np.int32)}
    for name, parts in MATRICES.items():
        some = [row.fields.get(name) for row in rows]
        matrices = [None if each is None else each.canonicalize() for each in some]
        for part, held in zip(parts, ("indptr", "indices", "data"), strict=True):
            entries = [None if each is None else getattr(each, held) for each in matrices]
            lists[part] = _Lists.join(entries, np.float64 if held == "data" else np.int32)
    return lists
