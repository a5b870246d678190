"""tBLEU: BLEU that forgives a wrong ending, and charges for it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import accumulate, chain
from typing import ClassVar

import numpy as np

from fstmetrics._native import tolerant_matches
from fstmetrics.ngram.bleu import BLEU, BLEUEvaluator
from fstmetrics.pairs import bleu_units
from fstmetrics.references import Reference, Tokens, check_references
from fstmetrics.signature import option
from fstmetrics.similarity.affix import affix_distances
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError
from lattices.spaces import Lattice, NBest


@dataclass(frozen=True, kw_only=True)
class TBLEU(BLEU):
    """Tolerant BLEU: words that are nearly those of the reference count as nearly matched.

    Hypothesis and reference words are matched one to one, as many as there are in the
    shorter sentence, so that the sum of their affix distances AD
    (:func:`~fstmetrics.similarity.affix.affix_distance`) is smallest. A word whose partner is at
    most ``epsilon`` away is replaced by it and weighs ``1 - AD``; every other word stays and
    weighs 1. An n-gram of the corrected sentence that the reference has counts by the mean
    weight of its words in the precision; everything else is BLEU's. With ``epsilon=0`` it is
    BLEU, to the last digit.

    The paper leaves two things open. Where a corrected n-gram comes more often than in
    the reference, its heaviest occurrences count, the first of equals. With several
    references the sentence is matched to each of them, and the n-gram at each position
    counts by the reference that gives it most. Between matchings of the same total distance,
    the first that ``scipy.optimize.linear_sum_assignment`` finds is taken.

    The paper's Figure 1 prints the unigram precision of its example as 11/6 / 5; the weights
    that it lists, 1, 2/3, 5/6 and 1/3, sum to 17/6. The bigrams are right.

    Costs O(J x L) affix distances for J and L words, and O(max(J, L)^3) for the matching. No
    machine: neither BLEU nor a matching decomposes over a path.

    Other options are those of :class:`fstmetrics.BLEU`.

    Parameters
    ----------
    epsilon : float
        The largest affix distance that is forgiven, in [0, 1]; 0.05 was best on average in
        the paper. By the formula it prints, two words are within 0.05 only if they share a
        substring of twenty letters for each that differs: with the default, tBLEU is BLEU in
        practice (no system of WMT15 scores otherwise by more than 0.02 per cent), although the
        paper reports small differences there. What is meant to be tolerant needs 0.2 or more; see
        :func:`fstmetrics.statistics.threshold_sweep`.
    position : float
        How much the place of a word counts in the matching, at least 0: added to a distance is
        ``position * abs(i / J - j / L)`` for word i of J and reference word j of L. What is
        forgiven, and what it costs, are still affix distances. The paper has 0, and names this as
        future work: without it a repeated word, or one unlike all, is matched anywhere.

    References
    ----------
    Libovický and Pecina. Tolerant BLEU: a submission to the WMT14 metrics task. WMT 2014.

    Examples
    --------
    >>> evaluator = TBLEU(order=2, epsilon=0.2).against(["we walked home"])
    >>> evaluator.stats("we talked home").tolist()
    [2.8, 1.8, 3.0, 2.0, 3.0, 3.0]
    >>> from fstmetrics.similarity.affix import affix_distance
    >>> from fstmetrics.statistics import threshold_sweep
    >>> affix_distance("internationalisierung", "internationalisierungs") == 1 / 21
    True
    >>> affix_distance("walked", "walks")
    0.5
    >>> points = threshold_sweep(
    ...     lambda epsilon: TBLEU(order=1, epsilon=epsilon), [0, 0.05, 0.1, 0.5],
    ...     ["my translations on walks"], [["my translation on walked"]])
    >>> [(point.value, round(point.score, 3)) for point in points]
    [(0.0, 0.5), (0.05, 0.5), (0.1, 0.727), (0.5, 0.852)]
    >>> str(TBLEU())
    'tbleu:order=4,length=closest,smooth=none,tokenize=none,epsilon=0.05'
    """

    name: ClassVar[str] = "tbleu"
    heading: ClassVar[str] = "tBLEU"
    epsilon: float = option(0.05, always=True)
    position: float = option(0.0)

    def __post_init__(self) -> None:
        """Refuse a threshold that is no distance, and letters, which have no endings."""
        super().__post_init__()
        if not 0 <= self.position < math.inf:
            raise OptionError(f"position is a number of at least 0, not {self.position}")
        if not 0 <= self.epsilon <= 1:
            raise OptionError(f"epsilon is in [0, 1], not {self.epsilon}")
        if self.unit != "word":
            raise OptionError(f"{self.name} compares words: unit={self.unit} is BLEU's")

    def against(self, references: Iterable[Reference]) -> TBLEUEvaluator:
        """Return an evaluator for the references of one segment."""
        return TBLEUEvaluator(self, check_references(references))

    def plain_over(self, candidates: NBest, evidence: NBest) -> BLEU:
        """Return BLEU, where no word of the candidates is nearly one of the evidence."""
        words, others = (bleu_units(self)(one).symbols for one in (candidates, evidence))
        if self.epsilon and _near(words, others, self.epsilon).any():
            return self
        options = {each.name: getattr(self, each.name) for each in fields(BLEU) if each.init}
        return BLEU(**options)


class TBLEUEvaluator(BLEUEvaluator):
    """Tolerant BLEU made ready for the references of one segment."""

    def __init__(self, metric: TBLEU, references: tuple[Reference, ...]) -> None:
        super().__init__(metric, references)
        self.epsilon, self.position = metric.epsilon, metric.position
        self._sentences = [
            metric.units(each) for each in references if not isinstance(each, Lattice)
        ]
        number: dict[str, int] = {}
        word = [number.setdefault(each, len(number) + 1) for each in chain(*self._sentences)]
        self._word_number = number
        self._word = ints(word)
        self._offset = ints(list(accumulate(map(len, self._sentences), initial=0)))
        #: what :meth:`_are_near` said of words
        self._near: dict[str, bool] = {}

    def stats(self, hypothesis: str | Sequence[str]) -> FloatColumn:
        """Return the statistics of one hypothesis."""
        row = super().stats(hypothesis)
        words = self.metric.units(hypothesis)
        # without such words nothing is corrected
        if self.epsilon and any(self._are_near(words)):
            row = floats([*self._matches(words), *row[self.metric.order :]])
        return row

    def list_stats(self, nbest: NBest) -> FloatColumn:
        """Return one row of statistics for each entry of a list."""
        rows = super().list_stats(nbest)
        if not self.epsilon:
            return rows
        units = bleu_units(self.metric)(nbest)
        near = np.flatnonzero(np.array(self._are_near(units.symbols), dtype=bool)[units.unit])
        inexact = np.unique(np.searchsorted(units.offset, near, side="right") - 1)
        if not len(inexact):
            return rows
        rows = rows.copy()
        for place in inexact.tolist():
            words = self.metric.units(nbest.tokens(place))
            rows[place, : self.metric.order] = self._matches(words)
        return floats(rows)

    def _are_near(self, words: Sequence[str]) -> list[bool]:
        """Tell which words are near a word of the references, but not that word."""
        new = [*({*words} - self._near.keys())]
        if new and self._word_number:
            near = _near(new, [*self._word_number], self.epsilon)
            self._near.update(zip(new, near.tolist(), strict=True))
        else:
            self._near.update(dict.fromkeys(new, False))
        return [self._near[word] for word in words]

    def _matches(self, words: Tokens) -> FloatColumn:
        """Return the tolerant matches of each order."""
        number = self._word_number
        own = np.array([number.get(word, 0) for word in words], dtype=np.int32)
        corrected = np.tile(own, (len(self._sentences), 1))
        weight = np.ones(corrected.shape)
        for index, reference in enumerate(self._sentences):
            place, partner, distance = matching(words, reference, self.position)
            near = np.flatnonzero(distance <= self.epsilon)
            begin = self._offset[index]
            corrected[index, place[near]] = self._word[begin + partner[near]]
            weight[index, place[near]] = 1.0 - distance[near]
        return tolerant_matches(corrected, weight, self._word, self._offset, self.metric.order)


def _near(words: Sequence[str], others: Sequence[str], epsilon: float) -> Array:
    """Tell of each word whether it is nearly one of the others, and not that one."""
    distance = affix_distances(words, others, limit=epsilon)
    near: Array = np.any((distance > 0.0) & (distance <= epsilon), axis=1)
    return near


# room for the references of one segment: a sweep asks for them again for each threshold
@lru_cache(maxsize=64)
def matching(
    words: Tokens, reference: Tokens, position: float = 0.0
) -> tuple[IntColumn, IntColumn, FloatColumn]:
    """Return the matching of least affix distance: places, partners in the reference, distances.

    It does not depend on any threshold. Distances of relative positions are added to what is
    minimised, times ``position``.
    """
    # scipy.optimize takes longer to import than all the rest of the library
    from scipy.optimize import linear_sum_assignment

    distance = affix_distances(words, reference)
    cost = distance
    if position and distance.size:
        places = [np.arange(len(side)) / len(side) for side in (words, reference)]
        cost = distance + position * np.abs(np.subtract.outer(*places))
    place, partner = linear_sum_assignment(cost)
    return ints(place), ints(partner), floats(distance[place, partner])
