"""The arcs of a lattice in JSON lines: as JSON's lists, or as columns read from the bytes.

There are two readers, which agree on every record. :func:`arcs_apart` reads the usual one from
its bytes and leaves the rest of the record, which is short, to JSON. What it cannot read, be it
only unusual or wrong, is decoded as a whole, and looked at by :class:`ArcLists`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from lattices._native import json_arcs
from lattices.arrays import FloatColumn, IntColumn, ints
from lattices.errors import SpaceError
from lattices.formats.base import Record
from lattices.formats.json.fields import decoded, feature_rows, number_column
from lattices.spaces.features import FeatureMatrix, sparse_rows
from lattices.vocabulary import Vocabulary

#: more than the columns of lattices can hold
_HUGE = 2**31


class ArcLists:
    """Arcs as lists of three to five entries.

    All work on single arcs is done by the interpreter's own loops: this is the time it
    takes to read a record.

    Raises
    ------
    SpaceError
        If an entry has the wrong type; scores and features are looked at when they are asked for.

    Examples
    --------
    >>> arcs = ArcLists([[0, 1, "a"], [0, 1, "b", -0.5, {"lm": -1.0}]])
    >>> arcs.labels(Vocabulary()).tolist(), arcs.scores().tolist(), arcs.highest
    ([1, 2], [0.0, -0.5], 1)
    """

    def __init__(self, arcs: list[Any]) -> None:
        self._src: Sequence[int]
        self._dst: Sequence[int]
        self._src, self._dst, self._words, self._scores, self._rows = _columns(arcs)
        self.count = len(arcs)
        self.highest = max(chain(self._src, self._dst), default=-1)

    def within(self) -> bool:
        """Tell whether all states are such that columns can hold them."""
        lowest = min(chain(self._src, self._dst), default=0)
        return lowest > -_HUGE and self.highest < _HUGE

    @property
    def src(self) -> IntColumn:
        """The sources."""
        return ints(self._src)

    @property
    def dst(self) -> IntColumn:
        """The targets."""
        return ints(self._dst)

    def labels(self, vocabulary: Vocabulary) -> IntColumn:
        """Return the numbers of the words, which are added."""
        return ints(vocabulary.add_all(self._words))

    def scores(self) -> FloatColumn:
        """Return the scores, 0 where there is none."""
        return number_column(self._scores, "scores of arcs")

    def features(self, names: list[str]) -> FeatureMatrix:
        """Return the features, one row an arc; new names are appended to ``names``."""
        return feature_rows(self._rows, names)


def _columns(arcs: list[Any]) -> tuple[Sequence[Any], ...]:
    """Return the five columns of rows of three to five entries."""
    if not arcs:
        return (), (), (), (), ()
    if set(map(type, arcs)) != {list}:
        raise SpaceError("an arc is not a list")
    lengths = set(map(len, arcs))
    if not lengths <= {3, 4, 5}:
        raise SpaceError(f"an arc has {min(lengths - {3, 4, 5})} entries, expected 3, 4 or 5")
    if lengths != {5}:
        arcs = [(*arc, 0.0, None)[:5] if len(arc) == 3 else (*arc, None)[:5] for arc in arcs]
    src, dst, words, score, rows = zip(*arcs, strict=True)
    for entries, kind, what in ((src, int, "state"), (dst, int, "state"), (words, str, "word")):
        if set(map(type, entries)) != {kind}:
            odd = next(entry for entry in entries if type(entry) is not kind)
            raise SpaceError(f"{odd!r} for the {what} of an arc, expected {kind.__name__}")
    return src, dst, words, score, rows


@dataclass(frozen=True, eq=False)
class ArcColumns:
    """Arcs as columns, with nothing wrong in them: the same as :class:`ArcLists` to the caller.

    Attributes
    ----------
    src, dst, word : int32 columns, one entry an arc
        ``word`` is an index into ``words``.
    score : float64 column, one entry an arc
    words, names : lists of str
        In the order of the file.
    offset, index, value : int32, int32 and float64 columns
        The features as a sparse matrix with a column for each of ``names``.
    """

    src: IntColumn
    dst: IntColumn
    word: IntColumn
    score: FloatColumn
    words: list[str]
    names: list[str]
    offset: IntColumn
    index: IntColumn
    value: FloatColumn

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.src)

    @property
    def highest(self) -> int:
        """The highest state, -1 if there is none."""
        return max(int(self.src.max(initial=-1)), int(self.dst.max(initial=-1)))

    def within(self) -> bool:
        """Tell that all states are such that columns can hold them."""
        return True

    def labels(self, vocabulary: Vocabulary) -> IntColumn:
        """Return the numbers of the words, which are added."""
        return ints(np.array(vocabulary.add_all(self.words), np.int32)[self.word])

    def scores(self) -> FloatColumn:
        """Return the scores, 0 where there is none."""
        return self.score

    def features(self, names: list[str]) -> FeatureMatrix:
        """Return the features, one row an arc; new names are appended to ``names``."""
        index = self.index
        if names:
            number = {name: place for place, name in enumerate(dict.fromkeys(names + self.names))}
            names[:] = number
            index = ints(np.array([number[name] for name in self.names], np.int32)[index])
        else:
            names[:] = self.names
        return sparse_rows(self.value, index, self.offset, len(names))


def arcs_apart(record: Record) -> tuple[dict[str, Any], ArcColumns] | None:
    r"""Return the fields of a record, ``arcs`` empty, and the arcs; or None if it is unusual.

    Linear in the length of the record. What is found is what :class:`ArcLists` would find, bit
    by bit.

    Examples
    --------
    >>> usual = rb'{"arcs": [[0, 1, "caf\u00e9", -5e-1]], "n": 1}'
    >>> fields, arcs = arcs_apart(Record(usual, "", 1, 0))
    >>> fields, arcs.words, arcs.score.tolist()
    ({'arcs': [], 'n': 1}, ['café'], [-0.5])
    >>> arcs_apart(Record(b'{"arcs": [[0, 1, "a", NaN]]}', "", 1, 0))
    """
    payload = record.payload
    found = json_arcs(payload)
    if found is None:
        return None
    begin, end, src, dst, word, score, offset, index, value, words, names, escaped = found
    try:
        if escaped:
            words, names = _unescaped(words), _unescaped(names)
        rest = payload[:begin] + b"[]" + payload[end:]
        fields = decoded(Record(rest, record.path, record.line, record.number))
    except (ValueError, RecursionError):
        return None
    if len(set(names)) < len(names):
        return None
    arcs = ArcColumns(
        src=src,
        dst=dst,
        word=word,
        score=score,
        words=words,
        names=names,
        offset=offset,
        index=index,
        value=value,
    )
    return fields, arcs


def _unescaped(texts: list[str]) -> list[str]:
    """Return what stands between quotes without JSON's escapes."""
    found = [json.loads(f'"{text}"') if "\\" in text else text for text in texts]
    # lone surrogates are no text
    "".join(found).encode("utf-8")
    return found
