"""Spaces from rows of Arrow tables; see :mod:`lattices.formats.space_fields` for the columns.

Whoever made the table, nothing in it is trusted. Arrow checks that the lists are within
their buffers, one pass over the batch checks that lattices are in normal form and features
are sparse matrices, and then the columns are taken as they are, without a copy. A lattice in
another order is built the long way, which sorts it or says what is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from lattices._native import normal_lattices, sound_matrices
from lattices.arrays import Array, IntColumn, ints
from lattices.caching import cached_property
from lattices.errors import FormatError, SpaceError
from lattices.formats.arrow.conforming import ListColumn, conform, list_column
from lattices.formats.arrow.schema import LIST_COLUMNS, RecordBatch, pyarrow
from lattices.formats.base import Record
from lattices.formats.json.fields import ENCODER
from lattices.formats.space_fields import (
    FIELDS,
    FOREST,
    HEIGHTS,
    INT,
    LATTICE,
    MATRICES,
    NBEST,
    NEEDED,
    TEXT,
    TEXTS,
    space_of,
    symbols_of,
)
from lattices.spaces import Lattice, NBest, Space
from lattices.spaces.features import FeatureRows
from lattices.vocabulary import Vocabulary

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


class TableRows:
    """The rows of one record batch, on their way to being spaces."""

    def __init__(self, batch: RecordBatch, vocabulary: Vocabulary) -> None:
        try:
            batch.validate(full=True)
            self._batch = conform(batch)
            self._take_columns(vocabulary)
        except FormatError:
            raise
        except (pyarrow().ArrowException, *DAMAGE) as problem:
            raise FormatError(f"the batch is damaged: {problem}") from problem

    def _take_columns(self, vocabulary: Vocabulary) -> None:
        batch = self._batch
        self._vocabulary = vocabulary
        self._lists = {name: list_column(batch, name) for name in LIST_COLUMNS}
        label = self._lists["label"]
        self._lists["label"] = replace(label, values=_translate(label, vocabulary))
        self._plain = {
            field.name: batch.column(field.name).to_pylist()
            for field in FIELDS
            if field.type in (TEXT, TEXTS, INT)
        }
        self._start = ints([start or 0 for start in self._plain["start"]])
        self._names: dict[bytes, tuple[str, ...]] = {}
        self._complete = {
            kind: np.logical_and.reduce([self._present(name) for name in names])
            for kind, names in NEEDED.items()
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

    def _present(self, name: str) -> Array:
        """Return which rows have a field."""
        if name in self._lists:
            return self._lists[name].present
        return np.array([value is not None for value in self._plain[name]])

    def _both(self, name: str) -> tuple[IntColumn, Array]:
        column = self._lists[name]
        return column.at, column.values

    @cached_property
    def _sound(self) -> dict[str, Array]:
        """Which rows have features, and features of ending, that are matrices."""
        found = {}
        for name, parts in MATRICES.items():
            found[name] = sound_matrices(
                np.logical_and.reduce([self._present(part) for part in parts]),
                self._lists[HEIGHTS[name]].at,
                self._lists["feature_names"].at,
                *map(self._both, parts),
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
        fields: dict[str, Any] = {name: values[row] for name, values in self._plain.items()}
        kind = fields["kind"]
        if kind is None:
            kind = self._kind(row)
        if kind not in NEEDED:
            raise SpaceError(f"kind {kind!r:.40}, expected {' or '.join(map(repr, NEEDED))}")
        if not self._complete[kind][row]:
            *most, last = NEEDED[kind]
            raise SpaceError(
                f"a null where a row of kind {kind!r} needs {', '.join(most)} and {last}"
            )
        for name in ("label", "score"):
            fields[name] = self._lists[name].of(row)
        fields["id"] = fields["id"] or ""
        fields["source"] = fields["source"] or ""
        fields["references"] = self._references(
            fields["references"] or (), fields["reference_lattices"] or ()
        )
        fields["metadata"] = _metadata(fields["metadata"])
        fields["feature_names"] = self._feature_names(row)
        fields["features"] = self._matrix("features", row)
        if kind == NBEST:
            fields["offset"] = self._lists["offset"].of(row)
        elif kind == FOREST:
            self._add_forest(row, fields)
        else:
            return self._lattice(row, fields)
        return space_of(kind, fields, self._vocabulary)

    def _kind(self, row: int) -> str:
        """Return what a row must be that does not say it."""
        if self._lists["head"].present[row]:
            return FOREST
        return NBEST if self._lists["offset"].present[row] else LATTICE

    def _lattice(self, row: int, fields: dict[str, Any]) -> Space:
        final, times = self._lists["final"], self._lists["times"]
        for name in ("src", "dst", "final"):
            fields[name] = self._lists[name].of(row)
        fields["start"] = fields["start"] or 0
        fields["times"] = times.of(row) if times.present[row] else None
        fields["final_features"] = self._matrix("final_features", row)
        form = None
        if self._normal[row]:
            arcs = self._lists["src"].bounds
            states = slice(final.bounds[row] + row, final.bounds[row + 1] + row + 1)
            form = {
                "in_arc": self._in_arc[arcs[row] : arcs[row + 1]],
                "in_offset": self._in_offset[states],
                "out_offset": self._out_offset[states],
            }
        return space_of(LATTICE, fields, self._vocabulary, form)

    def _add_forest(self, row: int, fields: dict[str, Any]) -> None:
        for name in ("offset", "head", "tail", "tail_offset"):
            fields[name] = self._lists[name].of(row)
        fields["symbol"] = symbols_of(fields["label"], self._lists["slot"].of(row))
        category, span = self._lists["category"], self._lists["span"]
        fields["category"] = category.texts(row) if category.present[row] else None
        fields["span"] = None
        if span.present[row]:
            flat = span.of(row)
            if len(flat) != 2 * fields["nodes"]:
                raise SpaceError(f"{len(flat)} numbers in 'span', expected two for each node")
            fields["span"] = flat.reshape(-1, 2)

    def _matrix(self, name: str, row: int) -> FeatureRows | None:
        offset, index, value = (self._lists[part] for part in MATRICES[name])
        present = offset.present[row], index.present[row], value.present[row]
        if not any(present):
            return None
        first, second, third = MATRICES[name]
        parts = f"{first}, {second} and {third}"
        if not all(present):
            raise SpaceError(f"one of {parts} is null, and another is not")
        shape = self._lists[HEIGHTS[name]].size(row), self._lists["feature_names"].size(row)
        if not self._sound[name][row]:
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
            from lattices.formats.json.lines import FORMAT as JSON_LINES

            lattice = JSON_LINES.parse(Record(line.encode("utf-8"), "", 0, 0), self._vocabulary)
            if not isinstance(lattice, Lattice):
                other = "an n-best list" if isinstance(lattice, NBest) else "a forest"
                raise SpaceError(f"a reference is {other}")
            found.append(lattice)
        if next(rest, None) is not None:
            raise SpaceError("fewer nulls among 'references' than 'reference_lattices'")
        return tuple(found)


def _translate(column: ListColumn, vocabulary: Vocabulary) -> IntColumn:
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
