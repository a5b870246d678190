"""Sums of statistics over many resamples at once, and the scores of them.

A resample is a vector that says how often each segment was drawn. With additive statistics,
all that a test needs is the product of these vectors and the matrix of statistics.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fstmetrics.metric import Metric
from fstmetrics.row_scores import scores_of
from fstmetrics.significance_results import Interval
from lattices.arrays import Array, FloatColumn
from lattices.errors import OptionError

#: differences this much smaller than the scores come from rounding
ROUNDING = 1e-10
ALTERNATIVES = ("two-sided", "better", "worse")
# numbers in one block of resamples: fits in a cache, and products stay too small for threads, which
# would wait for each other longer than they work
_BLOCK = 1 << 15


def checked_scores(metric: Metric, rows: FloatColumn) -> FloatColumn:
    """Return the score of each row of statistics, or raise OptionError if one is no number."""
    scores = scores_of(metric, rows)
    if np.isnan(scores).any():
        raise OptionError(f"{metric} gives no number for some of the resamples")
    return scores


def qualities_of(metric: Metric, rows: FloatColumn) -> FloatColumn:
    """Return the scores of rows, turned so that higher is better."""
    scores = checked_scores(metric, rows)
    return scores if metric.higher_is_better else -scores


def checked_stats(metric: Metric, stats: FloatColumn) -> FloatColumn:
    """Return statistics of two segments or more as a matrix, or raise OptionError."""
    matrix = np.asarray(stats, dtype=np.float64)
    columns = len(metric.stat_names)
    if matrix.ndim != 2 or matrix.shape[1] != columns:
        raise OptionError(
            f"statistics of shape {matrix.shape}, expected one row a segment of {columns} columns"
        )
    if len(matrix) < 2:
        raise OptionError(f"{len(matrix)} segments, expected 2 or more: one has nothing to vary")
    if not np.isfinite(matrix).all():
        raise OptionError("statistics that are not finite")
    return matrix


def checked_pair(
    metric: Metric, stats_a: FloatColumn, stats_b: FloatColumn
) -> tuple[FloatColumn, FloatColumn]:
    """Return the statistics of two systems over the same segments, or raise OptionError."""
    one, other = checked_stats(metric, stats_a), checked_stats(metric, stats_b)
    if len(one) != len(other):
        raise OptionError(
            f"{len(one)} segments of one system, but {len(other)} of the other: "
            "a paired test needs the same segments in the same order"
        )
    return one, other


def checked_samples(samples: int) -> int:
    """Return a number of samples, or raise OptionError if there are none."""
    if samples < 1:
        raise OptionError(f"samples={samples}, expected 1 or more")
    return samples


def checked_alternative(alternative: str) -> str:
    """Return what is tested for, or raise OptionError if it is unknown."""
    if alternative not in ALTERNATIVES:
        raise OptionError(f"alternative={alternative!r}, expected one of {', '.join(ALTERNATIVES)}")
    return alternative


def percentiles(values: FloatColumn, level: float) -> Interval:
    """Return the interval that leaves out equal shares of the values at both ends."""
    if not 0 < level < 1:
        raise OptionError(f"level={level}, expected a number between 0 and 1")
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return Interval(low, high, level)


def draws(points: int, samples: int, rng: np.random.Generator) -> Iterator[Array]:
    """Iterate over blocks of resamples with replacement, each a row of ``points`` numbers."""
    at_once = max(1, _BLOCK // points)
    for begin in range(0, samples, at_once):
        yield rng.integers(points, size=(min(at_once, samples - begin), points))


def resampled_sums(stats: FloatColumn, samples: int, rng: np.random.Generator) -> FloatColumn:
    """Return the sums of statistics over resamples of the segments, with replacement.

    The counts of a resample are multinomial; they are had by counting what was drawn, which is
    faster than drawing them.

    Cost: ``samples * segments`` draws, and a matrix product.
    """
    segments = len(stats)
    sums = []
    for drawn in draws(segments, samples, rng):
        size = len(drawn)
        drawn += segments * np.arange(size)[:, np.newaxis]
        counts = np.bincount(drawn.ravel(), minlength=size * segments)
        sums.append(counts.astype(np.float64).reshape(size, segments) @ stats)
    return np.concatenate(sums)


def shuffled_sums(stats: FloatColumn, samples: int, rng: np.random.Generator) -> FloatColumn:
    """Return the sums of statistics over random halves: each segment is in or out by a coin.

    Cost: ``samples * segments`` bits, and a matrix product.
    """
    segments = len(stats)
    # whole words of the generator for each row, so that blocks of any size are the same
    width = 8 * -(-segments // 64)
    at_once = max(1, _BLOCK // segments)
    sums = []
    for begin in range(0, samples, at_once):
        size = min(at_once, samples - begin)
        coins = np.frombuffer(rng.bytes(size * width), np.uint8).reshape(size, width)
        sums.append(np.unpackbits(coins, axis=1, count=segments).astype(np.float64) @ stats)
    return np.concatenate(sums)


def exceedance(null: FloatColumn, effect: float, alternative: str, rounding: float) -> float:
    """Return the p-value of an effect, (c + 1) / (n + 1), c of n null effects being as large.

    ``null`` and ``effect`` are in quality, higher is better. Effects that differ by
    ``rounding`` at most are equal.
    """
    if alternative == "two-sided":
        null, effect = np.abs(null), abs(effect)
    elif alternative == "worse":
        null, effect = -null, -effect
    as_large = int(np.count_nonzero(null >= effect - rounding))
    return (as_large + 1) / (len(null) + 1)
