"""How well scores agree with what people say.

Two levels: systems, where a point is a system, and segments, where it is one output of one.
Everywhere the first argument is what people said and the second what a metric said, and both are
qualities, higher is better: negate error rates (:func:`fstmetrics.quality`), and a good metric has
a correlation near 1.

==========================  ======================================================================
:func:`correlate`           Pearson, Spearman or Kendall's tau-b, with a confidence interval
:func:`correlate_systems`   the same of a metric over systems, by resampling systems or segments
:func:`wmt_tau`             the taus of the WMT metrics tasks, over pairs of outputs of a segment
:func:`graded_kappa`        Cohen's :func:`kappa` over :func:`grades`, into which scores are cut
==========================  ======================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fstmetrics.correlation_grades import graded_kappa, grades, kappa
from fstmetrics.correlation_ranking import PairCounts, pair_counts, wmt_tau
from fstmetrics.correlation_results import Correlation
from fstmetrics.metric import Metric
from fstmetrics.significance_resampling import (
    checked_samples,
    checked_stats,
    draws,
    percentiles,
    qualities_of,
    resampled_sums,
)
from fstmetrics.significance_results import Interval
from lattices.arrays import Array, FloatColumn
from lattices.errors import OptionError

__all__ = [
    "METHODS",
    "Correlation",
    "PairCounts",
    "correlate",
    "correlate_systems",
    "graded_kappa",
    "grades",
    "kappa",
    "pair_counts",
    "wmt_tau",
]

FEWEST_POINTS = 3
# up to this many points, looking at all pairs of many rows at once is faster than scipy's tau
_ALL_PAIRS = 100


def correlate(
    human: ArrayLike,
    metric: ArrayLike,
    *,
    method: str = "pearson",
    groups: ArrayLike | None = None,
    samples: int = 0,
    level: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> Correlation:
    """Return the correlation between two columns of numbers.

    Parameters
    ----------
    human, metric
        Numbers, one a point; higher is better.
    method : {"pearson", "spearman", "kendall"}
        ``kendall`` is tau-b, (C - D) / sqrt((C + D + T_h) (C + D + T_m)), with T the pairs that are
        tied on one side only.
    groups
        Which points belong together, one name or number a point: they are drawn together, as
        outputs of several systems for one segment should be. By default each is on its own.
    samples
        Resamples of the points for the interval; none by default.
    level
        Of the interval.
    seed
        A whole number, or a numpy generator.

    Raises
    ------
    OptionError
        For columns of different lengths, fewer than three points, numbers that are not finite, or
        an unknown method.

    Examples
    --------
    >>> human, metric = [0.1, 0.5, 0.4, 0.9], [0.2, 0.3, 0.4, 0.6]
    >>> print(correlate(human, metric, method="kendall"))
    0.6667
    >>> print(correlate(human, metric, samples=1000))
    0.9304 [-1.0000, 1.0000]
    >>> print(correlate(human, [0.5, 0.5, 0.5, 0.5]))
    undefined (the metric says 0.5 for all)
    """
    measure = _method(method)
    one, other = _checked(human, metric)
    note = _constant(one, "people say") or _constant(other, "the metric says")
    if note:
        return Correlation(float("nan"), method, len(one), float("nan"), note=note)
    value, p_value = measure.with_p_value(one, other)
    if not samples:
        return Correlation(value, method, len(one), p_value)
    rng = np.random.default_rng(seed)
    checked_samples(samples)
    drawn = (
        draws(len(one), samples, rng)
        if groups is None
        else _group_draws(np.asarray(groups), len(one), samples, rng)
    )
    values = np.concatenate([measure.of_rows(one[rows], other[rows]) for rows in drawn])
    return Correlation(value, method, len(one), p_value, *_interval(values, level))


def correlate_systems(
    human: ArrayLike,
    metric: Metric,
    stats: Sequence[FloatColumn],
    *,
    method: str = "pearson",
    resample: str = "systems",
    samples: int = 1000,
    level: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> Correlation:
    """Return the correlation of corpus scores with what people say of systems.

    Parameters
    ----------
    human
        One number a system, higher is better.
    metric
        Its scores are turned so that higher is better.
    stats
        For each system its matrix of statistics, over the same segments.
    method : {"pearson", "spearman", "kendall"}
        See :func:`correlate`.
    resample : {"systems", "segments"}
        What the interval is about: other systems of the kind, which the few there are say little
        of, or the same systems on other segments, with what people say as it is.
    samples
        Resamples for the interval; none if 0.
    level
        Of the interval.
    seed
        A whole number, or a numpy generator.

    Raises
    ------
    OptionError
        For numbers of systems or segments that differ, fewer than three systems, or an unknown
        option.

    Examples
    --------
    >>> from fstmetrics import WER, corpus_stats
    >>> references = [["the cat"], ["sat down"]]
    >>> outputs = [["the cat", "sat down"], ["the hat", "sat down"], ["a hat", "sat"]]
    >>> stats = [corpus_stats(WER(), output, references) for output in outputs]
    >>> print(correlate_systems([0.9, 0.7, 0.2], WER(), stats, resample="segments"))
    0.9986 [0.9608, 0.9986]
    """
    if resample not in ("systems", "segments"):
        raise OptionError(f"resample={resample!r}, expected one of systems, segments")
    matrices = [checked_stats(metric, one) for one in stats]
    lengths = {len(matrix) for matrix in matrices}
    if len(lengths) > 1:
        raise OptionError(
            f"systems of {min(lengths)} to {max(lengths)} segments, expected the same"
        )
    columns = len(metric.stat_names)
    scores = qualities_of(metric, np.reshape([m.sum(axis=0) for m in matrices], (-1, columns)))
    of_systems = samples if resample == "systems" else 0
    found = correlate(human, scores, method=method, samples=of_systems, level=level, seed=seed)
    if found.note or of_systems or not samples:
        return found
    sums = resampled_sums(
        np.hstack(matrices), checked_samples(samples), np.random.default_rng(seed)
    )
    rows = sums.reshape(-1, columns)
    resampled = qualities_of(metric, rows).reshape(samples, len(matrices))
    fixed = np.broadcast_to(np.asarray(human, dtype=np.float64), resampled.shape)
    values = _method(method).of_rows(fixed, resampled)
    return Correlation(found.value, method, found.points, found.p_value, *_interval(values, level))


def _group_draws(
    groups: Array, points: int, samples: int, rng: np.random.Generator
) -> Iterator[Array]:
    """Iterate over resamples of whole groups, each a block of one row."""
    if groups.shape != (points,):
        raise OptionError(f"groups of shape {groups.shape} for {points} points")
    _, numbers = np.unique(groups, return_inverse=True)
    members = np.split(np.argsort(numbers, kind="stable"), np.cumsum(np.bincount(numbers))[:-1])
    for block in draws(len(members), samples, rng):
        for chosen in block:
            yield np.concatenate([members[group] for group in chosen])[np.newaxis]


@dataclass(frozen=True)
class _Method:
    """One coefficient: of two columns with its p-value, and of many pairs of rows at once."""

    with_p_value: Callable[[FloatColumn, FloatColumn], tuple[float, float]]
    of_rows: Callable[[FloatColumn, FloatColumn], FloatColumn]


def _pearson_of_rows(one: FloatColumn, other: FloatColumn) -> FloatColumn:
    """Return Pearson's coefficient of each pair of rows, NaN where a row is constant."""
    varies = (np.ptp(one, axis=1) > 0) & (np.ptp(other, axis=1) > 0)
    x = one - one.mean(axis=1, keepdims=True)
    y = other - other.mean(axis=1, keepdims=True)
    product = np.sqrt((x * x).sum(axis=1)) * np.sqrt((y * y).sum(axis=1))
    values = np.full(len(one), np.nan)
    # numbers that differ by less than their squares can say leave a product of zero
    np.divide((x * y).sum(axis=1), product, out=values, where=varies & (product > 0))
    clipped: FloatColumn = np.clip(values, -1.0, 1.0)
    return clipped


def _spearman_of_rows(one: FloatColumn, other: FloatColumn) -> FloatColumn:
    from scipy.stats import rankdata

    return _pearson_of_rows(rankdata(one, axis=1), rankdata(other, axis=1))


def _kendall_of_rows(one: FloatColumn, other: FloatColumn) -> FloatColumn:
    """Return tau-b of each pair of rows, NaN where a row is constant."""
    if one.shape[1] > _ALL_PAIRS:
        from scipy.stats import kendalltau

        # n log n for each row
        return np.array([kendalltau(x, y).statistic for x, y in zip(one, other, strict=True)])
    first, second = np.triu_indices(one.shape[1], 1)
    x = np.sign(one[:, first] - one[:, second])
    y = np.sign(other[:, first] - other[:, second])
    untied = np.sqrt(np.abs(x).sum(axis=1) * np.abs(y).sum(axis=1))
    values = np.full(len(one), np.nan)
    np.divide((x * y).sum(axis=1), untied, out=values, where=untied > 0)
    return values


def _of_scipy(
    name: str,
) -> Callable[[FloatColumn, FloatColumn], tuple[float, float]]:
    def measured(one: FloatColumn, other: FloatColumn) -> tuple[float, float]:
        # a second to import, which who computes no correlation should not wait for
        from scipy import stats

        found = getattr(stats, name)(one, other)
        return float(found.statistic), float(found.pvalue)

    return measured


METHODS = ("pearson", "spearman", "kendall")
_METHODS = {
    "pearson": _Method(_of_scipy("pearsonr"), _pearson_of_rows),
    "spearman": _Method(_of_scipy("spearmanr"), _spearman_of_rows),
    "kendall": _Method(_of_scipy("kendalltau"), _kendall_of_rows),
}


def _method(name: str) -> _Method:
    if name not in _METHODS:
        raise OptionError(f"method={name!r}, expected one of {', '.join(METHODS)}")
    return _METHODS[name]


def _checked(human: ArrayLike, metric: ArrayLike) -> tuple[FloatColumn, FloatColumn]:
    one, other = (np.asarray(side, dtype=np.float64) for side in (human, metric))
    if one.ndim != 1 or one.shape != other.shape:
        raise OptionError(
            f"columns of shapes {one.shape} and {other.shape}, expected two of the same length"
        )
    if len(one) < FEWEST_POINTS:
        raise OptionError(f"{len(one)} points, expected {FEWEST_POINTS} or more")
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        raise OptionError("numbers that are not finite have no correlation")
    return one, other


def _constant(column: FloatColumn, who: str) -> str:
    # adding zero takes the sign off a negative one
    return f"{who} {column[0] + 0.0:g} for all" if np.ptp(column) == 0 else ""


def _interval(values: FloatColumn, level: float) -> tuple[Interval | None, int]:
    """Return the interval of the values that are numbers, and how many they are."""
    known = values[~np.isnan(values)]
    return (percentiles(known, level) if len(known) else None), len(known)
