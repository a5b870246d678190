"""Candidates and evidence in the units of a metric, numbered together."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fstmetrics import AlignmentMetric
from fstmetrics.bleu import BLEU
from fstmetrics.list_units import ListUnits
from fstmetrics.tokenizers import NO_TOKENIZER
from lattices.arrays import IntColumn, ints
from lattices.spaces import NBest


class Sentences(NamedTuple):
    """Sentences in columns: number ``i`` is ``unit[offset[i]:offset[i + 1]]``."""

    unit: IntColumn
    offset: IntColumn

    @property
    def length(self) -> IntColumn:
        """How many units each has."""
        return np.diff(self.offset)

    def __len__(self) -> int:
        """Return how many sentences there are."""
        return len(self.offset) - 1

    def part(self, first: int, last: int) -> Sentences:
        """Return the sentences from one up to another."""
        begin, end = self.offset[first], self.offset[last]
        return Sentences(
            ints(self.unit[begin:end]), ints(self.offset[first : last + 1] - self.offset[first])
        )


class JointUnits(NamedTuple):
    """Two lists over one numbering of their units, from 1 on.

    Attributes
    ----------
    symbols : tuple of str
        Unit ``n`` is ``symbols[n - 1]``.
    candidates, evidence : Sentences
        The same object if the lists are.
    """

    symbols: tuple[str, ...]
    candidates: Sentences
    evidence: Sentences

    @classmethod
    def of(
        cls, candidates: NBest, evidence: NBest, units: Callable[[NBest], ListUnits]
    ) -> JointUnits:
        """Return two lists in their units; what is done in Python is done once a distinct unit.

        Examples
        --------
        >>> from lattices import Hypothesis
        >>> some = NBest.from_hypotheses([Hypothesis(("b", "a"))])
        >>> other = NBest.from_hypotheses([Hypothesis(("a", "c"))])
        >>> both = JointUnits.of(some, other, ListUnits.of_words)
        >>> both.symbols, both.candidates.unit.tolist(), both.evidence.unit.tolist()
        (('b', 'a', 'c'), [1, 2], [2, 3])
        """
        number: dict[str, int] = {}

        def numbered(one: ListUnits) -> Sentences:
            # units may have become equal, as those in lower case
            place = [number.setdefault(each, len(number) + 1) for each in one.symbols]
            return Sentences(ints(np.array(place, dtype=np.int32)[one.unit]), ints(one.offset))

        left = numbered(units(candidates))
        right = left if evidence is candidates else numbered(units(evidence))
        return cls(tuple(number), left, right)


def alignment_units(metric: AlignmentMetric) -> Callable[[NBest], ListUnits]:
    """Return what makes a list of words one of the metric's units."""
    if not metric.characters:
        return ListUnits.of_words
    return lambda nbest: ListUnits.of_words(nbest).characters(metric.spaces)


def bleu_units(metric: BLEU) -> Callable[[NBest], ListUnits]:
    """Return what makes a list of words one of the metric's units."""

    def units(nbest: NBest) -> ListUnits:
        if metric.tokenize != NO_TOKENIZER:
            sentences = [list(metric.units(nbest.tokens(entry))) for entry in range(len(nbest))]
            return ListUnits.of_sentences(sentences)
        found = ListUnits.of_words(nbest)
        if metric.lowercase:
            found = found.mapped(str.lower)
        return found.characters(metric.spaces) if metric.unit == "char" else found

    return units
