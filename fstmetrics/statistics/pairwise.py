"""Pairwise accuracy: how often a metric and people prefer the same of two.

How the metrics tasks of WMT judge metrics since 2021, beside the coefficients of
:mod:`fstmetrics.statistics.correlation`. Everywhere the first argument is what people said, and
higher is better on both sides.

===============================  =================================================================
:func:`pairwise_accuracy`        pairs of systems in the same order (Kocmi et al. 2021)
:func:`soft_pairwise_accuracy`   how near the p-values of both are (Thompson et al. 2024)
:func:`calibrated_accuracy`      pairs of outputs of one segment, with ties (Deutsch et al. 2023)
===============================  =================================================================

References
----------
Kocmi, Federmann, Grundkiewicz, Junczys-Dowmunt, Matsushita and Menezes. To ship or not to ship: an
extensive evaluation of automatic metrics for machine translation. WMT 2021.

Deutsch, Foster and Freitag. Ties matter: meta-evaluating modern metrics with pairwise accuracy and
tie calibration. EMNLP 2023.

Thompson, Mathur, Deutsch and Khayrallah. Improving statistical significance in human evaluation of
automatic metrics via soft pairwise accuracy. WMT 2024.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fstmetrics.contract import ROUNDING, Metric
from fstmetrics.statistics.correlation import Correlation
from fstmetrics.statistics.resampling import (
    Interval,
    Resampling,
    ResamplingOptions,
    check_samples,
    make_generator,
    shuffle_sums,
)
from fstmetrics.statistics.significance import check_stats, qualities_of
from lattices.arrays import Array, FloatColumn
from lattices.errors import OptionError

if TYPE_CHECKING:
    from typing_extensions import Unpack

RESAMPLED = ("systems", "segments")


def pairwise_accuracy(
    human: ArrayLike,
    metric: Metric,
    stats: Sequence[FloatColumn],
    *,
    resample: str = "systems",
    **resampling: Unpack[ResamplingOptions],
) -> Correlation:
    """Return the share of pairs of systems that people and the metric see in the same order.

    A pair counts if the signs of both differences are the same; two ties are.

    Parameters
    ----------
    human, metric, stats, resample, **resampling
        As of :func:`fstmetrics.statistics.correlate_systems`. Pairs of a system with itself are
        left out of resamples of systems.

    Examples
    --------
    >>> from fstmetrics import WER, corpus_stats
    >>> references = [["the cat"], ["sat down"]]
    >>> outputs = [["the cat", "sat down"], ["the hat", "sat down"], ["a hat", "sat"]]
    >>> stats = [corpus_stats(WER(), output, references) for output in outputs]
    >>> print(pairwise_accuracy([0.7, 0.9, 0.2], WER(), stats, samples=0))
    0.6667
    """
    if resample not in RESAMPLED:
        raise OptionError(f"resample={resample!r}, expected one of {', '.join(RESAMPLED)}")
    said = np.asarray(human, dtype=np.float64)
    matrices = _matrices(metric, stats, said.shape[:1])
    if said.ndim != 1 or not np.isfinite(said).all():
        raise OptionError("expected one finite human score for each system")
    systems, columns = len(matrices), len(metric.stat_names)
    scores = qualities_of(metric, np.array([matrix.sum(axis=0) for matrix in matrices]))
    first, second = np.triu_indices(systems, 1)
    order = np.sign(said[first] - said[second])
    agree = np.zeros((systems, systems))
    agree[first, second] = order == np.sign(scores[first] - scores[second])
    how = Resampling.of("pairwise_accuracy", resampling)
    if how.samples and resample == "segments":
        sums = how.sums(np.hstack(matrices)).reshape(-1, columns)
        drawn = qualities_of(metric, sums).reshape(how.samples, systems)
        same = np.sign(drawn[:, first] - drawn[:, second]) == order
        interval = how.interval(same.mean(axis=1))
    else:
        interval = _system_interval(agree, how)
    value = float(agree[first, second].mean())
    return Correlation(value, "pa", systems, math.nan, *interval)


def soft_pairwise_accuracy(
    human: ArrayLike,
    metric: Metric,
    stats: Sequence[FloatColumn],
    *,
    permutations: int = 1000,
    **resampling: Unpack[ResamplingOptions],
) -> Correlation:
    """Return how near the confidence of a metric is to that of people, over pairs of systems.

    One minus the mean over pairs of ``abs(p_h - p_m)``, where ``p`` is the p-value of the one-sided
    paired permutation test that the first of two systems is better: the share of random
    exchanges of the outputs of segments after which its lead is at least as large. Unlike
    :func:`pairwise_accuracy`, it does not ask a metric to rank systems that people cannot tell
    apart, nor do chance orders of such systems count as errors.

    The score of a system is that of the corpus for the metric, which is the mean of segments where
    the metric is one, as in the paper; for people it is the mean. Both sides have the same
    exchanges. Cost: systems x segments x permutations, and a score for each pair and permutation.

    Parameters
    ----------
    human
        Matrix of qualities, one row a system and one column a segment, without gaps.
    metric, stats
        As in :func:`pairwise_accuracy`.
    permutations
        Exchanges for the p-values.
    **resampling
        As of :func:`pairwise_accuracy`, of the systems.

    Raises
    ------
    OptionError
        For shapes that do not fit, judgements that are missing, or fewer than two systems.

    Examples
    --------
    >>> from fstmetrics import WER, corpus_stats
    >>> references = [["the cat"], ["sat down"]]
    >>> outputs = [["the cat", "sat down"], ["the hat", "sat down"], ["a hat", "sat"]]
    >>> stats = [corpus_stats(WER(), output, references) for output in outputs]
    >>> people = [[90, 80], [70, 80], [10, 20]]
    >>> print(soft_pairwise_accuracy(people, WER(), stats, samples=0))
    1.0000
    """
    said = np.asarray(human, dtype=np.float64)
    matrices = _matrices(metric, stats, said.shape[:1])
    if said.shape != (len(matrices), len(matrices[0])) or not np.isfinite(said).all():
        raise OptionError(
            f"human scores of shape {said.shape}, expected a finite one for each of "
            f"{len(matrices)} systems and {len(matrices[0])} segments"
        )
    how = Resampling.of("soft_pairwise_accuracy", resampling)
    rng = make_generator(how.seed)
    shuffles = int(rng.integers(2**63))
    check_samples(permutations)

    def p_values(sides: Sequence[FloatColumn], of_rows: Callable[[Array], Array]) -> Array:
        columns = sides[0].shape[1]
        joined = np.hstack(sides)
        shuffled = shuffle_sums(joined, permutations, np.random.default_rng(shuffles))
        kept = shuffled.reshape(permutations, len(sides), columns)
        total = joined.sum(axis=0).reshape(len(sides), columns)
        scores = of_rows(total)
        found = np.zeros((len(sides), len(sides)))
        for one, other in combinations(range(len(sides)), 2):
            first = kept[:, one] + (total[other] - kept[:, other])
            second = kept[:, other] + (total[one] - kept[:, one])
            null = of_rows(first) - of_rows(second)
            effect = scores[one] - scores[other]
            rounding = ROUNDING * max(1.0, float(np.abs(scores).max()))
            found[one, other] = np.mean(null >= effect - rounding)
        return found

    by_people = p_values([row[:, np.newaxis] for row in said], lambda rows: rows[:, 0])
    by_metric = p_values(matrices, lambda rows: qualities_of(metric, rows))
    near = 1.0 - np.abs(by_people - by_metric)
    value = float(near[np.triu_indices(len(near), 1)].mean())
    interval = _system_interval(near, replace(how, seed=rng))
    return Correlation(value, "spa", len(near), math.nan, *interval)


def _matrices(
    metric: Metric, stats: Sequence[FloatColumn], systems: tuple[int, ...]
) -> list[FloatColumn]:
    """Return the statistics of all systems, if they fit each other and what people said."""
    matrices = [check_stats(metric, one) for one in stats]
    if systems != (len(matrices),):
        raise OptionError(f"human scores of {systems} systems, and statistics of {len(matrices)}")
    if len(matrices) < 2:
        raise OptionError(f"{len(matrices)} systems, expected 2 or more")
    lengths = {len(matrix) for matrix in matrices}
    if len(lengths) > 1:
        raise OptionError(
            f"systems of {min(lengths)} to {max(lengths)} segments, expected the same"
        )
    return matrices


def _system_interval(values: Array, how: Resampling) -> tuple[Interval | None, int]:
    """Return the interval of a mean over pairs, whose values stand above the diagonal.

    Of resamples of systems; those that drew one system only have no pairs, and are left out.
    """
    if not how.samples:
        return None, 0
    systems = len(values)
    both = np.triu(values, 1)
    both += both.T
    means = []
    for block in how.draws(systems):
        offsets = systems * np.arange(len(block))[:, np.newaxis]
        drawn = np.bincount((block + offsets).ravel(), minlength=systems * len(block))
        counts = drawn.reshape(len(block), systems).astype(np.float64)
        pairs = counts.sum(axis=1) ** 2 - (counts**2).sum(axis=1)
        known = pairs > 0
        means.append(((counts @ both) * counts).sum(axis=1)[known] / pairs[known])
    return how.interval(np.concatenate(means))


@dataclass(frozen=True)
class CalibratedAccuracy(Correlation):
    """A pairwise accuracy over outputs of segments, and what counts as a tie of the metric.

    Attributes
    ----------
    epsilon : float
        The largest difference of scores that is a tie.
    """

    epsilon: float = math.nan


def calibrated_accuracy(
    human: ArrayLike,
    metric: ArrayLike,
    *,
    epsilon: float | None = None,
    **resampling: Unpack[ResamplingOptions],
) -> CalibratedAccuracy:
    """Return the pairwise accuracy of a metric over outputs of a segment, ties counting, acc_eq.

    The mean over segments of the share of pairs of systems on which people and the metric agree:
    one is better, or they are tied. Scores of metrics are hardly ever equal; differences of up to
    epsilon are ties. Tie calibration takes the epsilon that gives the highest accuracy, the
    smallest of equals, among 0 and all differences; where metrics are compared, each has its own.
    Segments with fewer than two judged outputs are left out.

    Cost: O(pairs x log(pairs)), and O(pairs) for each resample.

    Parameters
    ----------
    human, metric
        Matrices of qualities, one row a system and one column a segment, NaN where there is no
        judgement.
    epsilon
        What is a tie of the metric; by default it is calibrated, on these data. One that was
        calibrated on other data makes an accuracy without optimism.
    **resampling
        As of :func:`pairwise_accuracy`, of the segments, each with an epsilon of its own unless it
        is given; no ``samples`` by default.

    Raises
    ------
    OptionError
        For matrices of different shapes, or an epsilon below 0.

    Examples
    --------
    The metric tells apart what people do not, until differences of up to 4 are ties:

    >>> found = calibrated_accuracy([[1], [1], [1], [4]], [[0], [2], [6], [8]])
    >>> round(found.value, 4), found.epsilon
    (0.6667, 4.0)
    >>> calibrated_accuracy([[1], [1], [1], [4]], [[0], [2], [6], [8]], epsilon=0).value
    0.5
    """
    said = np.asarray(human, dtype=np.float64)
    scored = np.asarray(metric, dtype=np.float64)
    if said.ndim != 2 or said.shape != scored.shape:
        raise OptionError(
            f"matrices of shapes {said.shape} and {scored.shape}, expected two of the same"
        )
    if epsilon is not None and not epsilon >= 0:
        raise OptionError(f"epsilon={epsilon}, expected 0 or more")
    pairs = _TiedPairs.of(said, scored)
    if not len(pairs.distance):
        note = "no segment has two judged outputs"
        return CalibratedAccuracy(math.nan, "acc_eq", 0, math.nan, note=note)
    ones = np.ones(said.shape[1])
    value, found = pairs.best(ones, epsilon)
    interval, known = None, 0
    how = Resampling.of("calibrated_accuracy", resampling, 0)
    if how.samples:
        values = []
        for block in how.draws(said.shape[1]):
            for drawn in block:
                counts = np.bincount(drawn, minlength=said.shape[1]).astype(np.float64)
                if counts[pairs.segment].any():
                    values.append(pairs.best(counts, epsilon)[0])
        interval, known = how.interval(np.array(values))
    return CalibratedAccuracy(
        value, "acc_eq", len(pairs.distance), math.nan, interval, known, epsilon=found
    )


@dataclass(frozen=True, eq=False)
class _TiedPairs:
    """All pairs of outputs of a segment, by the difference of their scores."""

    #: how far the scores are apart, ascending
    distance: FloatColumn
    segment: Array
    #: whether people agree with the metric if it tells them apart, and if it does not; as shares of
    #: the pairs of the segment
    apart: FloatColumn
    tied: FloatColumn

    @classmethod
    def of(cls, said: FloatColumn, scored: FloatColumn) -> _TiedPairs:
        """Return the pairs of two matrices."""
        columns: list[tuple[Array, ...]] = []
        segments = np.arange(said.shape[1])
        for one, other in combinations(range(len(said)), 2):
            order, gap = said[one] - said[other], scored[one] - scored[other]
            known = ~np.isnan(order + gap)
            agree = np.sign(order[known]) == np.sign(gap[known])
            columns.append((np.abs(gap[known]), segments[known], agree, order[known] == 0))
        empty = (np.empty(0), np.empty(0, np.int64), np.empty(0, bool), np.empty(0, bool))
        distance, segment, agree, equal = map(np.concatenate, zip(empty, *columns, strict=True))
        share = 1.0 / np.maximum(1, np.bincount(segment, minlength=said.shape[1]))[segment]
        sorted_by = np.argsort(distance, kind="stable")
        return cls(*(each[sorted_by] for each in (distance, segment, agree * share, equal * share)))

    def best(self, counts: FloatColumn, epsilon: float | None) -> tuple[float, float]:
        """Return accuracy and epsilon where each segment counts so often."""
        times = counts[self.segment]
        segments = float(counts[np.unique(self.segment)].sum())
        # when the pairs so far have become ties: after the last of equal distances
        gains = np.concatenate([[0.0], np.cumsum(times * (self.tied - self.apart))])
        if epsilon is None:
            ends = np.flatnonzero(np.diff(self.distance, append=np.inf)) + 1
            if self.distance[0] > 0:
                ends = np.concatenate([[0], ends])
            # the first of equals, whatever the order of adding
            at = int(ends[np.argmax(gains[ends] >= gains[ends].max() - ROUNDING * segments)])
            epsilon = float(self.distance[at - 1]) if at else 0.0
        else:
            at = int(np.searchsorted(self.distance, epsilon, side="right"))
        return float((times @ self.apart + gains[at]) / segments), epsilon
