"""Best of n: the oracle, or the MBR decision, that is to be expected among k samples of a list."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple, cast

import numpy as np

from decoding.extraction.oracle_search import check_sizes
from decoding.extraction.ranking import ranking
from fstmetrics import Evaluator, Metric
from fstmetrics.contract import (
    EVALUATOR,
    metric_abilities_of,
    nbest_stats,
    nbest_values,
    scores_of,
)
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError
from lattices.spaces import NBest, Space
from lattices.spaces.arguments import SPACE, check_filled, takes

#: of samples, that are drawn when there are more
SUBSETS = 200


class SubsetPoint(NamedTuple):
    """What to expect of the best of k samples."""

    k: int
    #: how many were drawn from: a point beyond that is that of all
    samples: int
    #: the expected statistics of the best
    stats: FloatColumn
    #: mean and standard deviation of its score
    score: float
    deviation: float


def subset_weights(samples: int, sizes: Iterable[int]) -> FloatColumn:
    """Return how probable it is that the best of k samples is the i-th best of all (columns).

    Of the C(n, k) subsets, C(n - i, k - 1) have the i-th best and none of those before it. The
    ratio of one of these numbers to the next is (n - i) / (n - i - k + 1).

    Examples
    --------
    >>> subset_weights(4, [1, 2, 4]).round(3).tolist()
    [[0.25, 0.25, 0.25, 0.25], [0.5, 0.333, 0.167, 0.0], [1.0, 0.0, 0.0, 0.0]]
    """
    rows = []
    for size in sizes:
        k = min(size, samples)
        left = np.arange(samples - 1, 0, -1, dtype=np.float64)
        ratio = np.maximum(left - k + 1, 0.0) / left
        rows.append(k / samples * np.concatenate([[1.0], np.cumprod(ratio)]))
    return floats(np.array(rows).reshape(len(rows), samples))


def decision_weights(
    samples: NBest, metric: Metric, sizes: Iterable[int], *, subsets: int = SUBSETS, seed: int = 0
) -> FloatColumn:
    """Return how probable each sample is to be the MBR decision among k of them, a row for each k.

    Over all subsets of k samples, or as many as ``subsets`` that are drawn if there are more. All
    of a subset are evidence, of the same weight. Ties go to the first.
    """
    among, score_pairs = len(samples), metric_abilities_of(metric).pair_scores
    if score_pairs is not None:
        utility = score_pairs(metric, samples, samples)
    else:
        evaluators = (metric.against([samples.tokens(entry)]) for entry in range(among))
        utility = np.array([scores_of(metric, nbest_stats(each, samples)) for each in evaluators])
    if np.isnan(utility).any():
        raise OptionError(f"{metric} gives a sample no score against another: no mean of them")
    # by evidence, then by candidate; higher is better
    utility = utility if metric.higher_is_better else -utility
    drawn = np.random.default_rng(seed).permuted(np.tile(np.arange(among), (subsets, 1)), axis=1)
    rows = []
    for size in sizes:
        k = min(size, among)
        chosen = drawn[:, :k]
        if math.comb(among, k) <= subsets:
            chosen = np.array(list(combinations(range(among), k)))
        inside = np.zeros((len(chosen), among))
        np.put_along_axis(inside, chosen, 1.0, axis=1)
        # equal, but for rounding, are equal
        means = np.round(inside @ utility / k, 12)
        decided = np.where(inside > 0, means, -np.inf).argmax(axis=1)
        rows.append(np.bincount(decided, minlength=among) / len(chosen))
    return floats(np.array(rows).reshape(len(rows), among))


@takes(space=SPACE, evaluator=EVALUATOR)
def best_of(
    space: Space, evaluator: Evaluator, sizes: Iterable[int], utility: Metric | None = None
) -> list[SubsetPoint]:
    """Return what to expect of the oracle among k samples, for each k, over all subsets of a list.

    The mean over all subsets of k different entries, which is an unbiased estimate of what k new
    samples would have; under :class:`fstmetrics.Exact` it is pass@k. Scores and order of the list
    have no influence. Every entry is scored once, so that any metric will do. Cost: O(n) a size
    besides.

    With ``utility`` it is the MBR decision among k samples that is scored, instead of their oracle:
    the one of the highest mean utility, all k being its evidence (Eikema and Aziz 2020). Up to
    200 subsets are all tried, of more 200 are drawn (always the same). Cost: O(n^2) utilities, and
    O(n^2) for each subset.

    Parameters
    ----------
    space : NBest
        Samples, the same sentence as often as it was drawn.
    evaluator : Evaluator
    sizes : iterable of int
        Each at least 1; a point beyond the number of samples is that of all.
    utility : Metric, optional
        What MBR decides by.

    References
    ----------
    Eikema and Aziz. Is MAP decoding all you need? COLING 2020.
    Chen et al. Evaluating large language models trained on code. 2021. (pass@k)

    Examples
    --------
    >>> import lattices
    >>> from fstmetrics import WER
    >>> samples = lattices.from_hypotheses(["a", "cat", "the cat", "cat"])
    >>> found = best_of(samples, WER().against(["the cat"]), [1, 2, 4])
    >>> [(point.k, round(point.score, 4)) for point in found]
    [(1, 0.5), (2, 0.25), (4, 0.0)]
    >>> found = best_of(samples, WER().against(["the cat"]), [1, 4], utility=WER())
    >>> [(point.k, round(point.score, 4)) for point in found]
    [(1, 0.5), (4, 0.5)]
    """
    asked = check_sizes(sizes)
    order, stats = _rank(space, evaluator)
    scores = scores_of(evaluator.metric, stats)
    points = []
    for k, weights in zip(asked, _weigh(space, order, asked, utility), strict=True):
        mean = float(weights @ scores)
        deviation = float(np.sqrt(max(0.0, weights @ (scores - mean) ** 2)))
        points.append(SubsetPoint(k, len(order), floats(weights @ stats), mean, deviation))
    return points


def expected_stats(
    space: Space,
    evaluators: Sequence[Evaluator],
    sizes: Sequence[int],
    utility: Metric | None = None,
) -> list[FloatColumn]:
    """Return for each metric the expected statistics at each size; the first one ranks.

    Of the oracle, or of the MBR decision under ``utility``.
    """
    order, first = _rank(space, evaluators[0])
    weights = _weigh(space, order, sizes, utility)
    rest = [nbest_stats(each, cast(NBest, space))[order] for each in evaluators[1:]]
    return [floats(weights @ stats) for stats in (first, *rest)]


def _weigh(
    space: Space, order: Sequence[int], sizes: Sequence[int], utility: Metric | None
) -> FloatColumn:
    """Return how probable each entry is to be chosen at each size, in the order that is given."""
    if utility is None:
        return subset_weights(len(order), sizes)
    return floats(decision_weights(cast(NBest, space), utility, sizes)[:, order])


def _rank(space: Space, evaluator: Evaluator) -> tuple[Sequence[int], FloatColumn]:
    """Return the entries, the best under the metric first, and their statistics."""
    if not isinstance(space, NBest):
        raise OptionError(
            f"subsets are of samples, and {space.kind} {space.id!r} has none: draw some first "
            "(lattices.sample, fstmetrics sample)"
        )
    check_filled([space])
    objective, rounding = nbest_values(evaluator, space)
    order = ranking(objective, space.score, rounding)
    return order, nbest_stats(evaluator, space)[order]
