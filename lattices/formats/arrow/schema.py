"""Arrow tables of segments: the schema, and the way from segments to record batches.

One row a segment, one column for each of :data:`lattices.formats.space_fields.FIELDS`, null in the
rows of segments that do not have it. A word is ``dictionary<int32, string>``: a string to those
who query the table, a number to us. The metadata of the schema has ``fstmetrics.format``, the
version of all this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np

from lattices._native import distinct_labels, sound_matrices
from lattices.arrays import Array, IntColumn, ints
from lattices.errors import FormatError
from lattices.formats.base import Unsupported
from lattices.formats.json.fields import ENCODER
from lattices.formats.space_fields import (
    FIELDS,
    FLOATS,
    FOREST,
    HEIGHTS,
    INT,
    INTS,
    MATRICES,
    TEXT,
    TEXTS,
    VERSION,
    VERSION_KEY,
    WORDS,
    fields_of,
    labels_and_slots,
)
from lattices.optional import require
from lattices.spaces import Space
from lattices.spaces.features import FeatureRows
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
    """A segment on its way into a batch.

    Attributes
    ----------
    fields : dict
        Those of :mod:`lattices.formats.space_fields`, with ``label`` in the numbers of ``words``.
    words : Vocabulary
    size : int
        About how many bytes of a batch it takes.
    """

    __slots__ = ("fields", "size", "words")

    def __init__(self, fields: dict[str, Any], words: Vocabulary) -> None:
        self.fields, self.words = fields, words
        features = fields["features"]
        # what an arc takes, an entry or an edge; it may be a few times more
        self.size = 20 * len(fields["label"]) + 12 * (0 if features is None else features.nnz)

    def __reduce__(self) -> tuple[type[Row], tuple[dict[str, Any], Vocabulary]]:
        """Pickle it with no words but its own."""
        distinct, label = distinct_labels(self.fields["label"])
        words = [word for word in map(self.words.word, distinct.tolist()) if word]
        numbers = np.cumsum(distinct != 0) * (distinct != 0)
        return Row, (self.fields | {"label": ints(numbers[label])}, Vocabulary(words))


def row_of(space: Space, losses: Unsupported) -> Row:
    """Return a segment as it goes into a batch."""
    fields = fields_of(space, losses)
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

    def labels(self, rows: Sequence[Row]) -> Array:
        """Return the labels of rows in the numbers of the table, one row after the other.

        Words are numbered in the order of the labels: that of a vocabulary depends on what was read
        before.
        """
        found = [np.empty(0, np.int32)]
        for _, some in groupby(rows, lambda row: id(row.words)):
            alike = list(some)
            words = alike[0].words
            label = np.concatenate([row.fields["label"] for row in alike])
            # of the places that are put in one slot the last one stays, which is the first label
            first = np.full(len(words), -1)
            first[label[::-1]] = np.arange(len(label))[::-1]
            used = np.flatnonzero(first >= 0)
            used = used[np.argsort(first[used])]
            table = np.zeros(len(words), np.int32)
            table[used] = self.numbers("label", map(words.strings.__getitem__, used.tolist()))
            found.append(table[label])
        return np.concatenate(found)

    def name_words(self, batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
        """Iterate over batches of :func:`numbered_schema` with their words in the place of numbers.

        All share one dictionary, so the numbering has to be complete.
        """
        pa = pyarrow()
        dictionaries = {
            name: pa.array(words.strings, pa.string()) for name, words in self.vocabularies.items()
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


def numbered_batch(rows: Sequence[Row], numbering: Numbering) -> RecordBatch:
    """Return rows as a batch of :func:`numbered_schema`; ``numbering`` grows by their words.

    Each column is put together in one go.
    """
    pa = pyarrow()
    schema = numbered_schema()
    lists: dict[str, _Lists] = {}
    for name in ("feature_names", "category"):
        texts = [row.fields.get(name) for row in rows]
        # nearly all rows have the same
        distinct = [some for some in dict.fromkeys(texts) if some is not None]
        numbers = {some: numbering.numbers(name, some) for some in distinct}
        lists[name] = _Lists.joined([numbers.get(some) for some in texts], np.int32)
    for field in FIELDS:
        if field.type in (INTS, FLOATS) and field.name not in _PARTS:
            dtype = np.int32 if field.type == INTS else np.float64
            lists[field.name] = _Lists.joined([row.fields.get(field.name) for row in rows], dtype)
    label = _Lists.joined([row.fields["label"] for row in rows], None)
    lists["label"] = _Lists(label.at, label.present, numbering.labels(rows))
    for name, height in HEIGHTS.items():
        matrices = [row.fields.get(name) for row in rows]
        lists |= _matrix_lists(name, matrices, lists[height].at, lists["feature_names"].at)
    columns = [
        lists[field.name].array(field.type)
        if field.name in lists
        else pa.array([row.fields.get(field.name) for row in rows], field.type)
        for field in schema
    ]
    return pa.record_batch(columns, schema=schema)


_PARTS = frozenset(part for parts in MATRICES.values() for part in parts)


class _Lists:
    """One list column of a batch: ``values[at[row] : at[row + 1]]`` is the list of a row."""

    __slots__ = ("at", "present", "values")

    def __init__(self, at: IntColumn, present: Array, values: Array) -> None:
        self.at, self.present, self.values = at, present, values

    @classmethod
    def joined(cls, entries: Sequence[Array | None], dtype: Any) -> _Lists:
        """Return the lists, None being null; without a type, values are left to the caller."""
        filled = [entry for entry in entries if entry is not None]
        at = np.zeros(len(entries) + 1, np.int32)
        if not filled:
            return cls(at, np.zeros(len(entries), bool), np.empty(0, dtype))
        np.cumsum([0 if entry is None else len(entry) for entry in entries], out=at[1:])
        present = np.array([entry is not None for entry in entries], bool)
        values = np.concatenate(filled) if dtype else np.empty(0)
        return cls(at, present, values)

    def array(self, type: Any) -> Any:
        """Return the column, whose numbers are not copied."""
        pa = pyarrow()
        rows, missing = len(self.present), int((~self.present).sum())
        if missing == rows:
            return pa.nulls(rows, type)
        bits = np.packbits(self.present, bitorder="little") if missing else None
        values = pa.Array.from_buffers(
            type.value_type, len(self.values), [None, pa.py_buffer(self.values)]
        )
        validity = None if bits is None else pa.py_buffer(bits)
        buffers = [validity, pa.py_buffer(self.at)]
        return pa.Array.from_buffers(type, rows, buffers, missing, children=[values])


def _matrix_lists(
    name: str, matrices: Sequence[FeatureRows | None], height_at: IntColumn, width_at: IntColumn
) -> Mapping[str, _Lists]:
    """Return the three columns of matrices, whose rows are put in order where they are not."""
    made = _joined_matrices(matrices)
    present = made[0].present
    pairs = ((part.at, part.values) for part in made)
    odd = present & ~sound_matrices(present, height_at, width_at, *pairs).astype(bool)
    if odd.any():
        both = zip(matrices, odd.tolist(), strict=True)
        made = _joined_matrices(
            [each.canonicalize() if each and bad else each for each, bad in both]
        )
    return dict(zip(MATRICES[name], made, strict=True))


def _joined_matrices(matrices: Sequence[FeatureRows | None]) -> list[_Lists]:
    parts = [(each.indptr, each.indices, each.data) if each else (None,) * 3 for each in matrices]
    return [
        _Lists.joined([each[part] for each in parts], dtype)
        for part, dtype in enumerate((np.int32, np.int32, np.float64))
    ]
