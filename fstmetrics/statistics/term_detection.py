"""Term-weighted values: how good a search for terms is, as NIST measures spoken term detection."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lattices.arrays import Array
from lattices.errors import OptionError
from lattices.records import PlainRecord

#: NIST's weight of a false alarm: cost over value, 0.1, times (1 / prior probability of a term - 1)
BETA = 0.1 * (1e4 - 1)
#: seconds by which the middle of a detection may be off
TOLERANCE = 0.5


class TermSpan(NamedTuple):
    """A term said, or found, in a segment from one time to another; ``score`` is of those found."""

    term: str
    segment: str
    begin: float
    end: float
    score: float = 1.0


@dataclass(frozen=True)
class TermValue(PlainRecord):
    """What was found of one term at a threshold.

    Attributes
    ----------
    term : str
    said, correct, false : int
        How often it was said, found, and found where it was not said.
    value : float
        ``1 - P(miss) - beta P(false alarm)``.
    """

    term: str
    said: int
    correct: int
    false: int
    value: float


@dataclass(frozen=True)
class TermWeightedValue(PlainRecord):
    """Values of a search for terms; 1 is perfect, 0 that of finding nothing.

    Attributes
    ----------
    atwv, threshold : float
        The actual value, of what scores at least the threshold.
    mtwv, best_threshold : float
        The maximum over all thresholds, and where it is; infinite where it is best to find nothing.
    otwv : float
        The value if each term had its own best threshold.
    stwv : float
        The share of what was said that is found at all, the mean over terms.
    terms : tuple of TermValue
        Those that were said, at the threshold.
    beta, duration : float
    """

    atwv: float
    threshold: float
    mtwv: float
    best_threshold: float
    otwv: float
    stwv: float
    terms: tuple[TermValue, ...]
    beta: float
    duration: float


def term_weighted_value(
    detections: Iterable[TermSpan],
    references: Iterable[TermSpan],
    duration: float,
    *,
    threshold: float = 0.5,
    beta: float = BETA,
    tolerance: float = TOLERANCE,
) -> TermWeightedValue:
    r"""Return the term-weighted value of detections: ATWV, MTWV, and bounds of both.

    .. math:: \mathrm{TWV}(\theta) = 1 - \frac{1}{|K|} \sum_{k \in K} \left(
        1 - \frac{N_\text{correct}(k, \theta)}{N_\text{true}(k)}
        + \beta \frac{N_\text{false}(k, \theta)}{T - N_\text{true}(k)} \right)

    over the terms that were said, with ``T`` the seconds of speech, one trial each. A detection is
    correct if it is matched to an occurrence of its term whose middle is at most ``tolerance``
    away, each to one at most: as many as possible are matched, and of those the ones that overlap
    most, whatever they score. Cost: O(n log n), and the cube of what is said of a term in one
    segment.

    Parameters
    ----------
    detections, references : iterable of TermSpan
    duration : float
        Seconds of speech.
    threshold : float
        What scores as much counts for the actual value.
    beta, tolerance : float
        NIST's by default: 999.9, and half a second.

    Raises
    ------
    OptionError
        If no term was said, or the duration has no more seconds than a term has occurrences.

    References
    ----------
    J. Fiscus, J. Ajot, J. Garofolo and G. Doddington. Results of the 2006 spoken term detection
    evaluation. SIGIR workshop on searching spontaneous conversational speech, 2007. (Middles are
    compared as Kaldi's ``compute-atwv`` does, which follows NIST's F4DE.)

    Examples
    --------
    >>> said = [TermSpan("seven", "u1", 1.0, 1.4), TermSpan("seven", "u2", 0.0, 0.4)]
    >>> found = [TermSpan("seven", "u1", 1.1, 1.5, 0.9), TermSpan("seven", "u1", 3.0, 3.4, 0.6)]
    >>> value = term_weighted_value(found, said, duration=10_001.9)
    >>> round(value.atwv, 3), round(value.mtwv, 3), value.best_threshold, value.stwv
    (0.4, 0.5, 0.9, 0.5)
    """
    said: dict[str, dict[str, list[TermSpan]]] = defaultdict(lambda: defaultdict(list))
    for span in references:
        said[span.term][span.segment].append(span)
    found: dict[str, dict[str, list[TermSpan]]] = defaultdict(lambda: defaultdict(list))
    for span in detections:
        if span.term in said:
            found[span.term][span.segment].append(span)
    if not said:
        raise OptionError("none of the terms occurs in the references: there is nothing to find")
    curves: list[_Curve] = []
    for term, segments in said.items():
        count = sum(map(len, segments.values()))
        if duration <= count:
            raise OptionError(f"{duration:g} seconds of speech, and {term!r} is said {count} times")
        marked = [
            pair
            for segment, spans in found[term].items()
            for pair in _mark(spans, segments.get(segment, []), tolerance)
        ]
        curves.append(_Curve(term, count, marked, beta / (duration - count)))
    levels = sorted({score for curve in curves for score in curve.scores}, reverse=True)
    # at infinity nothing is found
    thresholds = [np.inf, *levels]
    values = np.mean([curve.values(thresholds) for curve in curves], axis=0)
    best = int(np.argmax(values))
    terms = tuple(curve.at(threshold) for curve in curves)
    return TermWeightedValue(
        atwv=float(np.mean([term.value for term in terms])),
        threshold=threshold,
        mtwv=float(values[best]),
        best_threshold=float(thresholds[best]),
        otwv=float(np.mean([curve.values(thresholds).max() for curve in curves])),
        stwv=float(np.mean([curve.at(-np.inf).correct / curve.said for curve in curves])),
        terms=tuple(sorted(terms, key=lambda term: term.term)),
        beta=beta,
        duration=duration,
    )


def _mark(
    found: Sequence[TermSpan], said: Sequence[TermSpan], tolerance: float
) -> list[tuple[float, bool]]:
    """Return the score of each detection of a term in a segment, and whether it is correct."""
    marked = [(span.score, False) for span in found]
    if not said:
        return marked
    one, other = (np.array([(span.begin, span.end) for span in side]) for side in (found, said))
    begins, ends = ((one[:, None, at], other[None, :, at]) for at in (0, 1))
    shared = np.minimum(*ends) - np.maximum(*begins)
    overlap = shared / np.maximum(np.maximum(*ends) - np.minimum(*begins), 1e-9)
    near = np.abs(one.sum(axis=1)[:, None] - other.sum(axis=1)) / 2 <= tolerance
    from scipy.optimize import linear_sum_assignment

    # a match is worth more than any overlap of others
    worth = np.where(near, 1e3 + overlap, 0.0)
    for place, match in zip(*linear_sum_assignment(worth, maximize=True), strict=True):
        if near[place, match]:
            marked[place] = (found[place].score, True)
    return marked


class _Curve:
    """What is found of a term, by score."""

    def __init__(
        self, term: str, said: int, marked: Sequence[tuple[float, bool]], cost: float
    ) -> None:
        self.term, self.said, self._cost = term, said, cost
        ordered = sorted(marked, reverse=True)
        self.scores = [score for score, _ in ordered]
        right = np.array([good for _, good in ordered], np.int64)
        self._correct = np.concatenate(([0], np.cumsum(right)))
        self._false = np.arange(len(ordered) + 1) - self._correct
        self._descending = -np.array(self.scores)

    def _counts(self, thresholds: Sequence[float]) -> tuple[Array, Array]:
        place = np.searchsorted(self._descending, -np.array(thresholds), "right")
        return self._correct[place], self._false[place]

    def values(self, thresholds: Sequence[float]) -> Array:
        """Return the value at each threshold."""
        correct, false = self._counts(thresholds)
        return correct / self.said - self._cost * false

    def at(self, threshold: float) -> TermValue:
        """Return what was found at a threshold."""
        (correct,), (false,) = self._counts([threshold])
        (value,) = self.values([threshold])
        return TermValue(self.term, self.said, int(correct), int(false), float(value))
