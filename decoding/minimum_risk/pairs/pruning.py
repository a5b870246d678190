"""Candidates that are left out before all of their pairs are scored.

References
----------
J. Cheng, A. Vlachos. 2023. Faster minimum Bayes risk decoding with confidence-based pruning. EMNLP.
Y. Jinnai, K. Ariu. 2024. Hyperparameter-free approach for faster minimum Bayes risk decoding.
Findings of ACL.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from decoding.minimum_risk.evidence import Evidence, rows
from decoding.minimum_risk.pairs.scores import Pairs, Search, check_expectations, expect_scores
from fstmetrics import Metric
from fstmetrics.alignment.metric import AlignmentMetric
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError
from lattices.spaces import NBest

#: what sums of scores in another order may differ by, with a wide margin
_ROUNDING = 1e-9
#: sentences of evidence before candidates are first compared
_FIRST = 8
#: draws of evidence for the bootstrap: at first, and at most
_FIRST_DRAWS, _MOST_DRAWS = 16, 256
_RESAMPLES = 500


class Survivors(NamedTuple):
    """The candidates that are left, with their expectations over all of the evidence."""

    #: where they stand among the candidates
    place: IntColumn
    #: the expected metric of each
    expected: FloatColumn
    #: how many pairs of candidate and evidence were scored
    scored: int
    #: whether the best of all candidates is among them for certain
    exact: bool = True


def highest_quality(metric: Metric) -> float | None:
    """Return the best score that a metric can give, negated for an error rate; None if unknown."""
    if isinstance(metric, AlignmentMetric):
        bounded = metric.insertion >= 0 and metric.deletion >= 0
        return (0.0 if metric.error_rate else 1.0) if bounded else None
    from fstmetrics import BLEU, CHRF, PER, TER, Bllip

    if isinstance(metric, BLEU | Bllip | CHRF | PER | TER):
        return 1.0 if metric.higher_is_better else 0.0
    return None


def bound_expectations(candidates: NBest, evidence: Evidence, metric: Metric) -> Search[Survivors]:
    """Search for the candidates that may be the best, the best among them for certain.

    Evidence is taken in the order of its weights, the heaviest first.
    """
    sign = 1.0 if metric.higher_is_better else -1.0
    bound = highest_quality(metric)
    if bound is None:
        every = ints(np.arange(len(candidates)))
        expected = yield from expect_scores(candidates, evidence, metric)
        return Survivors(every, expected, len(candidates) * len(evidence.nbest))
    order = np.argsort(-evidence.weight, kind="stable")
    weight = evidence.weight[order]
    left = np.append(np.cumsum(weight[::-1])[::-1], 0.0)

    def shares(some: Array, first: int, last: int) -> Search[Array]:
        """Search for what each sentence of evidence adds to the expectation of each candidate."""
        judges = rows(evidence.nbest, order[first:last])
        found = yield Pairs(metric, rows(candidates, some), judges)
        return sign * weight[first:last, None] * found

    alive = np.arange(len(candidates))
    reached = np.zeros(len(candidates))
    best, complete = -np.inf, dict[int, Array]()
    heard, scored = 0, 0
    while heard < len(order):
        end = min(len(order), 2 * heard or _FIRST)
        fresh = np.array([each for each in alive.tolist() if each not in complete], dtype=np.int64)
        reached[fresh] += (yield from shares(fresh, heard, end)).sum(axis=0)
        scored += len(fresh) * (end - heard)
        for leader, known in complete.items():
            reached[leader] += known[heard:end].sum()
        heard = end
        check_expectations(reached, metric)
        leader = int(alive[np.argmax(reached[alive])])
        if heard < len(order) and leader not in complete:
            complete[leader] = np.zeros(len(order))
            rest = yield from shares(np.array([leader]), heard, len(order))
            complete[leader][heard:] = rest[:, 0]
            scored += len(order) - heard
            best = max(best, reached[leader] + complete[leader].sum())
        alive = alive[reached[alive] + left[heard] * bound >= best - _ROUNDING]
    return Survivors(ints(alive), sign * reached[alive], scored)


def confident_expectations(
    candidates: NBest, evidence: Evidence, metric: Metric, confidence: float, seed: int = 0
) -> Search[Survivors]:
    """Search for the candidates that a bootstrap does not rule out: probably with the best.

    Sentences are drawn from the evidence, 16 at first and twice as many from round to round, up to
    256; rounds that would ask a utility for less than its batch are left out.
    """
    if not 0.0 < confidence < 1.0:
        raise OptionError(f"a confidence is above 0 and below 1, not {confidence}")
    sign = 1.0 if metric.higher_is_better else -1.0
    batch = getattr(metric, "batch", None) or 1
    rng = np.random.default_rng(seed)
    drawn = rng.choice(len(evidence.weight), _MOST_DRAWS, p=evidence.weight)
    known = np.zeros((len(evidence.weight), len(candidates)))
    heard = np.zeros(len(evidence.weight), dtype=bool)
    alive = np.arange(len(candidates))
    count, scored = _FIRST_DRAWS, 0

    def hear(fresh: Array) -> Search[int]:
        heard[fresh] = True
        if len(fresh):
            judges = rows(evidence.nbest, fresh)
            found = yield Pairs(metric, rows(candidates, alive), judges)
            known[np.ix_(fresh, alive)] = sign * found
        return len(fresh) * len(alive)

    while count <= _MOST_DRAWS and len(alive) > 1:
        fresh = np.unique(drawn[:count])
        fresh = fresh[~heard[fresh]]
        if not 0 < len(fresh) * len(alive) < batch:
            scored += yield from hear(fresh)
            objective = check_expectations(known[drawn[:count]][:, alive], metric)
            times = rng.multinomial(count, np.full(count, 1.0 / count), size=_RESAMPLES)
            means = times @ objective
            leader = int(np.argmax(objective.sum(axis=0)))
            # equal candidates win against each other in all resamples, up to rounding
            wins = (means >= means[:, [leader]] - _ROUNDING).mean(axis=0)
            alive = alive[(wins > 1.0 - confidence) | (np.arange(len(alive)) == leader)]
        count *= 2
    scored += yield from hear(np.flatnonzero(~heard))
    expected = check_expectations(evidence.weight @ known[:, alive], metric)
    return Survivors(ints(alive), sign * expected, scored, len(alive) == len(candidates))


def _share_round(pairs: int, alive: int, k: int, most: int) -> int:
    """Return the pairs for the next round, as many as for each later one that can take so many.

    Examples
    --------
    >>> _share_round(700, 8, 1, 1000), _share_round(700, 8, 1, 50)
    (233, 400)
    """
    sizes = [alive]
    while sizes[-1] > 2 * k:
        sizes.append(max(k, math.ceil(sizes[-1] / 2)))
    while len(sizes) > 1 and sizes[-1] * most * len(sizes) < pairs:
        pairs -= sizes.pop() * most
    return pairs // len(sizes)


def halved_expectations(
    candidates: NBest, evidence: Evidence, metric: Metric, calls: float, k: int, seed: int = 0
) -> Search[Survivors]:
    """Search for the ``k`` best by a share of the pairs: correlated sequential halving.

    In each of about ``log2`` candidates rounds the same new evidence, drawn by weight, is compared
    with all candidates that are left, and the better half of them stays.
    """
    sign = 1.0 if metric.higher_is_better else -1.0
    rng = np.random.default_rng(seed)
    # the largest of log weight plus Gumbel noise are a draw by weight without replacement
    noise = np.log(np.maximum(evidence.weight, 1e-300)) + rng.gumbel(size=len(evidence.weight))
    order = np.argsort(-noise, kind="stable")
    weight = evidence.weight[order]
    most = int(calls * len(candidates) * len(order))
    alive = np.arange(len(candidates))
    total = np.zeros(len(candidates))
    heard = scored = 0
    while True:
        share = _share_round(most - scored, len(alive), k, len(order)) // len(alive)
        end = min(len(order), heard + max(share, 0 if heard else 1))
        if end > heard:
            judges = rows(evidence.nbest, order[heard:end])
            found = yield Pairs(metric, rows(candidates, alive), judges)
            total[alive] += weight[heard:end] @ (sign * found)
            scored += len(alive) * (end - heard)
            heard = end
        if heard == len(order) or len(alive) <= k:
            break
        left = max(k, math.ceil(len(alive) / 2))
        alive = np.sort(alive[np.argsort(-total[alive], kind="stable")[:left]])
        if left == k:
            break
    expected = check_expectations(floats(sign * total[alive] / weight[:heard].sum()), metric)
    exact = len(alive) == len(candidates) and heard == len(order)
    return Survivors(ints(alive), expected, scored, exact)
