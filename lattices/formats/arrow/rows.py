"""Spaces from rows of Arrow tables; see :mod:`lattices.formats.arrow.schema` for the schema.

Whoever made the table, nothing in it is trusted. Arrow checks that the lists are within
their buffers, one pass over the batch checks that lattices are in normal form and features
are sparse matrices, and then the columns are taken as they are, without a copy. A lattice in
another order is built the long way, which sorts it or says what is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from lattices._native import normal_lattices, sound_matrices
from lattices.arrays import Array, IntColumn, ints
from lattices.caching import cached_property
from lattices.errors import FormatError, SpaceError
from lattices.formats.arrow.conforming import ListColumn, conformed, list_column
from lattices.formats.arrow.schema import (
    FOREST,
    LATTICE,
    NBEST,
    WORD_COLUMNS,
    RecordBatch,
    pyarrow,
)
from lattices.formats.base import Record
from lattices.formats.json.fields import ENCODER
from lattices.formats.json.lines import FORMAT as JSON_LINES
from lattices.spaces import Forest, Lattice, NBest, Space
from lattices.spaces.base import check_count
from lattices.spaces.features import FeatureRows
from lattices.vocabulary import EPSILON, Vocabulary

#: what damaged bytes and foreign types make pyarrow, numpy and json raise
DAMAGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
)


def _no_constant(name: str) -> NoReturn:
    raise SpaceError(f"{name} is no JSON number")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
#: the lists that forests alone have, but for words
FOREST_LISTS = ("head", "tail", "tail_offset", "slot", "span")
#: the lists that a forest may not lack
FOREST_NEEDED = ("label", "score", "offset", "head", "tail", "tail_offset", "slot")
#: what the rows of each kind may not lack
_NEEDED = {
    LATTICE: "label, score, src, dst and final",
    NBEST: "label, score and offset",
    FOREST: f"{', '.join(FOREST_NEEDED)} and nodes",
}


class Rows:
    """The rows of one record batch, on their way to being spaces.

    Parameters
    ----------
    batch
        Of any schema that :func:`conformed` accepts.
    vocabulary
        Grows by the words of the batch.

    Raises
    ------
    FormatError
        If the batch as a whole is damaged.
    """

    def __init__(self, batch: RecordBatch, vocabulary: Vocabulary) -> None:
        try:
            batch.validate(full=True)
            self._batch = conformed(batch)
            self._take_columns(vocabulary)
        except FormatError:
            raise
        except (pyarrow().ArrowException, *DAMAGE) as problem:
            raise FormatError(f"the batch is damaged: {problem}") from problem

    def _take_columns(self, vocabulary: Vocabulary) -> None:
        batch = self._batch
        self._vocabulary = vocabulary
        lists = ("src", "dst", "score", "final", "times", "offset", *FOREST_LISTS, *WORD_COLUMNS)
        matrices = [
            f"{which}_{part}"
            for which in ("feature", "final_feature")
            for part in ("offset", "index", "value")
        ]
        self._lists = {name: list_column(batch, name) for name in (*lists, *matrices)}
        label = self._lists["label"]
        self._lists["label"] = replace(label, values=_translated(label, vocabulary))
        self._plain = {
            name: batch.column(name).to_pylist()
            for name in ("id", "kind", "source", "references", "reference_lattices", "metadata")
        }
        self._nodes, self._root = (batch.column(name).to_pylist() for name in ("nodes", "root"))
        self._start = ints(batch.column("start").fill_null(0).to_numpy())
        self._names: dict[bytes, tuple[str, ...]] = {}
        present = {name: column.present for name, column in self._lists.items()}
        in_columns = present["label"] & present["score"]
        self._complete = {
            LATTICE: in_columns & present["src"] & present["dst"] & present["final"],
            NBEST: in_columns & present["offset"],
            FOREST: np.logical_and.reduce([present[name] for name in FOREST_NEEDED])
            & batch.column("nodes").is_valid().to_numpy(zero_copy_only=False),
        }
        self._normal, self._in_arc, self._in_offset, self._out_offset = normal_lattices(
            self._complete[LATTICE],
            self._both("src"),
            self._both("dst"),
            self._both("label"),
            self._both("score"),
            self._both("final"),
            self._start,
            len(vocabulary),
        )

    def _both(self, name: str) -> tuple[IntColumn, Array]:
        column = self._lists[name]
        return column.at, column.values

    @cached_property
    def _sound(self) -> dict[str, Array]:
        """Which rows have features, and features of ending, that are matrices."""
        found = {}
        for which, height in (("feature", "score"), ("final_feature", "final")):
            found[which] = sound_matrices(
                self._lists[f"{which}_offset"].present
                & self._lists[f"{which}_index"].present
                & self._lists[f"{which}_value"].present,
                self._lists[height].at,
                self._lists["feature_names"].at,
                self._both(f"{which}_offset"),
                self._both(f"{which}_index"),
                self._both(f"{which}_value"),
            )
        return found

    def __len__(self) -> int:
        """Return how many there are."""
        return int(self._batch.num_rows)

    def __iter__(self) -> Iterator[Space | SpaceError]:
        """Iterate over the spaces, or what is wrong with them."""
        for row in range(len(self)):
            try:
                yield self._space(row)
            except SpaceError as problem:
                yield problem
            except DAMAGE as problem:
                yield SpaceError(str(problem) or type(problem).__name__)

    def _space(self, row: int) -> Space:
        plain = {name: values[row] for name, values in self._plain.items()}
        kind = plain["kind"]
        if kind is None:
            kind = self._kind(row)
        if kind not in _NEEDED:
            raise SpaceError(f"kind {kind!r:.40}, expected {' or '.join(map(repr, _NEEDED))}")
        if not self._complete[kind][row]:
            raise SpaceError(f"a null where a row of kind {kind!r} needs {_NEEDED[kind]}")
        fields: dict[str, Any] = {
            "vocabulary": self._vocabulary,
            "score": self._lists["score"].of(row),
            "features": self._matrix("feature", "score", row),
            "feature_names": self._feature_names(row),
            "id": plain["id"] or "",
            "source": plain["source"] or "",
            "references": self._references(
                plain["references"] or (), plain["reference_lattices"] or ()
            ),
            "metadata": _metadata(plain["metadata"]),
        }
        if kind == FOREST:
            return forest_of(self._lists, row, self._nodes[row], self._root[row], fields)
        fields["label"] = self._lists["label"].of(row)
        if kind == NBEST:
            return NBest(offset=self._lists["offset"].of(row), **fields)
        return self._lattice(row, fields)

    def _kind(self, row: int) -> str:
        """Return what a row must be that does not say it."""
        if self._lists["head"].present[row]:
            return FOREST
        return NBEST if self._lists["offset"].present[row] else LATTICE

    def _lattice(self, row: int, fields: dict[str, Any]) -> Lattice:
        final = self._lists["final"]
        times = self._lists["times"]
        fields |= {
            "src": self._lists["src"].of(row),
            "dst": self._lists["dst"].of(row),
            "final": final.of(row),
            "start": int(self._start[row]),
            "times": times.of(row) if times.present[row] else None,
            "final_features": self._matrix("final_feature", "final", row),
        }
        if fields["times"] is not None:
            if not np.isfinite(fields["times"]).all():
                raise SpaceError("a time is not finite")
            if len(fields["times"]) != len(fields["final"]):
                raise SpaceError(f"{len(fields['times'])} times for {len(fields['final'])} states")
        if not self._normal[row]:
            return Lattice(**fields)
        arcs = self._lists["src"].bounds
        states = slice(final.bounds[row] + row, final.bounds[row + 1] + row + 1)
        return Lattice.from_normal_form(
            in_arc=self._in_arc[arcs[row] : arcs[row + 1]],
            in_offset=self._in_offset[states],
            out_offset=self._out_offset[states],
            **fields,
        )

    def _matrix(self, which: str, height: str, row: int) -> FeatureRows | None:
        offset, index, value = (
            self._lists[f"{which}_{part}"] for part in ("offset", "index", "value")
        )
        present = offset.present[row], index.present[row], value.present[row]
        if not any(present):
            return None
        parts = f"{which}_offset, {which}_index and {which}_value"
        if not all(present):
            raise SpaceError(f"one of {parts} is null, and another is not")
        shape = self._lists[height].size(row), self._lists["feature_names"].size(row)
        if not self._sound[which][row]:
            raise SpaceError(
                f"{parts} are no matrix of {shape[0]} rows and {shape[1]} columns "
                "with finite values, in the order of the columns"
            )
        return FeatureRows(value.of(row), index.of(row), offset.of(row), shape[1])

    def _feature_names(self, row: int) -> tuple[str, ...]:
        """Return the names; nearly all rows have the same, so these are looked up once."""
        column = self._lists["feature_names"]
        key = column.of(row).tobytes()
        if key not in self._names:
            names = column.texts(row)
            if len(set(names)) < len(names):
                raise SpaceError("'feature_names' are not different strings")
            self._names[key] = names
        return self._names[key]

    def _references(self, texts: Iterable[str | None], lattices: Iterable[str]) -> tuple[Any, ...]:
        rest = iter(lattices)
        found: list[str | Lattice] = []
        for text in texts:
            if text is not None:
                found.append(text)
                continue
            line = next(rest, None)
            if line is None:
                raise SpaceError("more nulls among 'references' than 'reference_lattices'")
            lattice = JSON_LINES.parse(Record(line.encode("utf-8"), "", 0, 0), self._vocabulary)
            if not isinstance(lattice, Lattice):
                other = "an n-best list" if isinstance(lattice, NBest) else "a forest"
                raise SpaceError(f"a reference is {other}")
            found.append(lattice)
        if next(rest, None) is not None:
            raise SpaceError("fewer nulls among 'references' than 'reference_lattices'")
        return tuple(found)


def forest_of(
    lists: Mapping[str, ListColumn],
    row: int,
    nodes: int,
    root: int | None,
    fields: Mapping[str, Any],
) -> Forest:
    """Return the forest of a row, checked; ``fields`` is what all kinds of segments have.

    Raises
    ------
    SpaceError
        If the columns are no forest.
    """
    head = lists["head"].of(row)
    check_count(nodes, "nodes", len(head), "edges")
    spans = None
    if lists["span"].present[row]:
        flat = lists["span"].of(row)
        if len(flat) != 2 * nodes:
            raise SpaceError(f"{len(flat)} numbers in 'span', expected two for each node")
        spans = flat.reshape(nodes, 2)
    return Forest(
        symbol=_symbols(lists["label"].of(row), lists["slot"].of(row)),
        symbol_offset=lists["offset"].of(row),
        head=head,
        tail=lists["tail"].of(row),
        tail_offset=lists["tail_offset"].of(row),
        num_nodes=nodes,
        root=nodes - 1 if root is None else root,
        categories=lists["category"].texts(row) if lists["category"].present[row] else (),
        spans=spans,
        **fields,
    )


def _symbols(label: IntColumn, slot: IntColumn) -> IntColumn:
    """Return words and slots in one column, as :class:`lattices.Forest` has them."""
    places = np.flatnonzero(label == EPSILON)
    if len(places) != len(slot):
        raise SpaceError(f"{len(slot)} in 'slot', but {len(places)} empty words in 'label'")
    if len(slot) and slot.min() < 0:
        raise SpaceError(f"{slot.min()} in 'slot', expected the index of a tail")
    symbol = label.copy()
    symbol[places] = -1 - slot
    return ints(symbol)


def _translated(column: ListColumn, vocabulary: Vocabulary) -> IntColumn:
    """Return the labels in the numbers of ``vocabulary``, which grows by the words in use."""
    count = len(column.dictionary)
    used = np.flatnonzero(np.bincount(column.values, minlength=count))
    words = column.dictionary.take(pyarrow().array(used)).to_pylist()
    numbers = np.array(vocabulary.add_all(words), np.int32)
    if (numbers == used).all():
        return column.values
    table = np.zeros(count, np.int32)
    table[used] = numbers
    return ints(table[column.values])


def _metadata(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        found = _DECODER.decode(text)
    except json.JSONDecodeError as problem:
        raise SpaceError(f"metadata is not JSON: {problem.msg}") from problem
    if not isinstance(found, dict):
        raise SpaceError(f"metadata {text!r:.40}, expected a JSON object")
    if "\\ud" in text or "\\uD" in text:
        # lone surrogates can be spelled in JSON, but are no text and could not be written
        ENCODER.encode(found).encode("utf-8")
    return found
