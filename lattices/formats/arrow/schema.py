"""Spaces as rows of Arrow tables: the schema, and the way from spaces to record batches.

One row a segment. Columns that a kind of space does not have are null in its rows.

==================== ================ =======================================================
column               type             content
==================== ================ =======================================================
id                   string           name of the segment
kind                 string           ``lattice``, ``nbest`` or ``forest``
source               string           the input
references           list<string>     null in the place of a reference that is a lattice
reference_lattices   list<string>     those lattices, as objects of the format ``jsonl``
metadata             string           a JSON object
label                list<word>       lattices: word of each arc, ``""`` for epsilon;
                                      n-best lists: the words of all entries; forests:
                                      those of all target sides, ``""`` for the slot of a tail
score                list<double>     log-score of each arc, of each entry, or of each edge
src, dst             list<int32>      lattices: states each arc leaves and enters
start                int32            lattices: the initial state, 0 if null
final                list<double>     lattices: log-score of ending in each state, or -inf
times                list<double>     lattices: seconds of each state
offset               list<int32>      n-best lists and forests: entry or edge ``i`` has the
                                      words from ``offset[i]`` up to ``offset[i + 1]``
nodes, root          int32            forests: how many nodes; the root, the last one if null
head                 list<int32>      forests: the node each edge makes
tail, tail_offset    list<int32>      forests: edge ``i`` has the tails ``tail[tail_offset[i]
                                      : tail_offset[i + 1]]``
slot                 list<int32>      forests: for each ``""`` of ``label`` in turn, which tail
                                      of its edge stands there, from 0
category             list<word>       forests: category of each node, or null
span                 list<int32>      forests: begin and end of each node in turn, or null
feature_names        list<word>       the columns of the features
feature_offset       list<int32>      features of arcs, entries or edges, a sparse matrix: row
feature_index        list<int32>      ``i`` has the columns ``feature_index[feature_offset[i]
feature_value        list<double>     : feature_offset[i + 1]]``, and values likewise
final_feature_offset list<int32>      lattices: features of ending in each state, likewise
final_feature_index  list<int32>
final_feature_value  list<double>
==================== ================ =======================================================

A ``word`` is ``dictionary<int32, string>``: a string to those who query the table, a number
to us. The metadata of the schema has ``fstmetrics.format``, the version of all this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from lattices._native import distinct_labels
from lattices.arrays import Array, ints
from lattices.errors import FormatError
from lattices.formats.base import Unsupported
from lattices.formats.json.fields import ENCODER
from lattices.formats.json.lines import json_line
from lattices.optional import require
from lattices.spaces import Forest, Lattice, NBest, Space
from lattices.spaces.features import FeatureRows, rows_of
from lattices.vocabulary import EPSILON, Vocabulary

VERSION_KEY = b"fstmetrics.format"
VERSION = b"1"
LATTICE, NBEST, FOREST = "lattice", "nbest", "forest"
#: the columns of words
WORD_COLUMNS = ("label", "feature_names", "category")
#: a batch is full at so many rows, or at so many bytes
BATCH_ROWS = 128
BATCH_BYTES = 16_000_000

#: ``pyarrow.RecordBatch`` and ``pyarrow.Schema``; pyarrow ships no types
RecordBatch: TypeAlias = Any
Schema: TypeAlias = Any
Row: TypeAlias = dict[str, Any]


def pyarrow() -> Any:
    """Return the module, or raise MissingDependencyError; importing it takes 0.2 s."""
    return require("pyarrow", "arrow")


@cache
def table_schema() -> Schema:
    """Return the schema of tables and files: see the module."""
    pa = pyarrow()
    word = pa.dictionary(pa.int32(), pa.string())
    types = {
        "id": pa.string(),
        "kind": pa.string(),
        "source": pa.string(),
        "references": pa.list_(pa.string()),
        "reference_lattices": pa.list_(pa.string()),
        "metadata": pa.string(),
        "label": pa.list_(word),
        "score": pa.list_(pa.float64()),
        "src": pa.list_(pa.int32()),
        "dst": pa.list_(pa.int32()),
        "start": pa.int32(),
        "final": pa.list_(pa.float64()),
        "times": pa.list_(pa.float64()),
        "offset": pa.list_(pa.int32()),
        "nodes": pa.int32(),
        "root": pa.int32(),
        "head": pa.list_(pa.int32()),
        "tail": pa.list_(pa.int32()),
        "tail_offset": pa.list_(pa.int32()),
        "slot": pa.list_(pa.int32()),
        "category": pa.list_(word),
        "span": pa.list_(pa.int32()),
        "feature_names": pa.list_(word),
        "feature_offset": pa.list_(pa.int32()),
        "feature_index": pa.list_(pa.int32()),
        "feature_value": pa.list_(pa.float64()),
        "final_feature_offset": pa.list_(pa.int32()),
        "final_feature_index": pa.list_(pa.int32()),
        "final_feature_value": pa.list_(pa.float64()),
    }
    return pa.schema(types.items(), metadata={VERSION_KEY: VERSION})


@cache
def numbered_schema() -> Schema:
    """Return the schema of batches whose words are still mere numbers."""
    pa = pyarrow()
    schema = table_schema()
    for name in WORD_COLUMNS:
        schema = schema.set(schema.get_field_index(name), pa.field(name, pa.list_(pa.int32())))
    return schema


class Numbering:
    """The words, the feature names and the categories of a table, numbered as they come."""

    def __init__(self) -> None:
        self.words, self.names, self.categories = Vocabulary(), Vocabulary(), Vocabulary()

    def named(self, batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
        """Iterate over batches of :func:`numbered_schema` with their words in the place of numbers.

        All share one dictionary, so the numbering has to be complete.
        """
        pa = pyarrow()
        known = dict(zip(WORD_COLUMNS, (self.words, self.names, self.categories), strict=True))
        dictionaries = {name: pa.array(["", *words], pa.string()) for name, words in known.items()}
        for batch in batches:
            columns = batch.columns
            for name, dictionary in dictionaries.items():
                place = batch.schema.get_field_index(name)
                columns[place] = pa.ListArray.from_arrays(
                    columns[place].offsets,
                    pa.DictionaryArray.from_arrays(columns[place].values, dictionary),
                    mask=columns[place].is_null(),
                )
            yield pa.record_batch(columns, schema=table_schema())


def in_batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Cut the rows into batches, holding one at a time."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        # what an arc takes, an entry or an edge; it may be a few times more
        size += 20 * len(row["label"]) + 12 * len(row.get("feature_value", ()))
        if len(batch) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def numbered_batch(rows: Iterable[Row], numbering: Numbering) -> RecordBatch:
    """Return rows as a batch of :func:`numbered_schema`; ``numbering`` grows by their words."""
    pa = pyarrow()
    schema = numbered_schema()
    numbered = [row | _numbers(row, numbering) for row in rows]
    columns = []
    for field in schema:
        entries = [row.get(field.name) for row in numbered]
        numeric = pa.types.is_list(field.type) and not pa.types.is_string(field.type.value_type)
        columns.append(
            _lists(entries, field.type.value_type) if numeric else pa.array(entries, field.type)
        )
    return pa.record_batch(columns, schema=schema)


def _numbers(row: Row, numbering: Numbering) -> Row:
    """Return the columns of words in the numbers of a table."""
    categories = row.get("category")
    return {
        "label": ints(numbering.words.add_all(row["words"]))[row["label"]],
        "feature_names": ints(numbering.names.add_all(row["feature_names"])),
        "category": None if categories is None else ints(numbering.categories.add_all(categories)),
    }


def _lists(entries: Sequence[Array | None], value_type: Any) -> Any:
    """Return a list array; None is null."""
    pa = pyarrow()
    filled = [entry for entry in entries if entry is not None]
    dtype = value_type.to_pandas_dtype()
    lengths = [0 if entry is None else len(entry) for entry in entries]
    return pa.ListArray.from_arrays(
        pa.array(np.cumsum([0, *lengths]), pa.int32()),
        pa.array(np.concatenate([np.empty(0, dtype), *filled]), value_type),
        mask=pa.array([entry is None for entry in entries]),
    )


def row_of(space: Space, losses: Unsupported) -> Row:
    """Return a segment by columns; ``label`` counts in ``words``, and other words are spelt.

    Raises
    ------
    FormatError
        For a text that is no Unicode, and what ``losses`` does not allow.
    """
    distinct, label = distinct_labels(_labels(space))
    row: Row = {
        "id": space.id,
        "source": space.source,
        "metadata": _metadata(space, losses),
        "label": label,
        # in the order of the space: that of its vocabulary depends on what was read before
        "words": [space.vocabulary.word(each) for each in distinct.tolist()],
        "score": space.score,
        "feature_names": space.feature_names,
        **_references(space, losses),
        **_matrix("feature", rows_of(space)),
    }
    _check_texts(row, getattr(space, "categories", ()))
    if isinstance(space, Lattice):
        return row | {
            "kind": LATTICE,
            "src": space.src,
            "dst": space.dst,
            "start": space.start,
            "final": space.final,
            "times": space.times,
            **_matrix("final_feature", rows_of(space, "final_features")),
        }
    if isinstance(space, NBest):
        return row | {"kind": NBEST, "offset": space.offset}
    return row | {
        "kind": FOREST,
        "offset": space.symbol_offset,
        "nodes": space.num_nodes,
        "root": space.root,
        "head": space.head,
        "tail": space.tail,
        "tail_offset": space.tail_offset,
        "slot": -1 - space.symbol[space.symbol < 0],
        "category": space.categories or None,
        "span": None if space.spans is None else space.spans.ravel(),
    }


def _labels(space: Space) -> Array:
    """Return the words of a segment, with epsilon for the slots of forests."""
    return np.maximum(space.symbol, EPSILON) if isinstance(space, Forest) else space.label


def _check_texts(row: Row, categories: Sequence[str]) -> None:
    for name in ("id", "source", "references"):
        texts = row[name] if name == "references" else [row[name]]
        try:
            for text in texts:
                # a text that was decoded has to be encoded to know
                if text is not None and not text.isascii():
                    text.encode()
        except UnicodeEncodeError as problem:
            raise FormatError(f"{name!r} is no Unicode text: {problem}") from problem
    # which refuses words that are none
    Vocabulary((*row["feature_names"], *categories))


def _matrix(name: str, matrix: FeatureRows | None) -> Row:
    if matrix is None:
        return {}
    matrix = matrix.canonical()
    return {
        f"{name}_offset": matrix.indptr.astype(np.int32, copy=False),
        f"{name}_index": matrix.indices.astype(np.int32, copy=False),
        f"{name}_value": matrix.data,
    }


def _references(space: Space, losses: Unsupported) -> Row:
    texts: list[str | None] = []
    lattices: list[str] = []
    for reference in space.references:
        if isinstance(reference, Lattice):
            texts.append(None)
            lattices.append(json_line(reference, losses).decode("utf-8").rstrip("\n"))
        elif isinstance(reference, str):
            texts.append(reference)
        else:
            losses.add(f"references of type {type(reference).__name__}", f"segment {space.id!r}")
    return {"references": texts, "reference_lattices": lattices or None}


def _metadata(space: Space, losses: Unsupported) -> str | None:
    kept: dict[str, Any] = {}
    for key, value in space.metadata.items():
        try:
            if not isinstance(key, str):
                raise TypeError("a key that is no string")
            ENCODER.encode(value)
        except (TypeError, ValueError):
            losses.add(f"metadata {key!r}", f"segment {space.id!r}")
        else:
            kept[key] = value
    return ENCODER.encode(kept) if kept else None
