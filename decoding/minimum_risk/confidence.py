"""Candidates that cannot win, or hardly can, are left out before all evidence was heard."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decoding.minimum_risk.evidence import Evidence
from decoding.minimum_risk.evidence_lists import rows
from decoding.minimum_risk.pairwise import checked_expectations, expected_scores, score_matrix
from fstmetrics import PER, AlignmentMetric, Bllip, Metric
from fstmetrics.bleu import BLEU
from fstmetrics.sacrebleu_metrics import SacreBLEUMetric
from lattices.arrays import Array, FloatColumn, IntColumn, ints
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
    """The candidates that are left, with their expectations over all of the evidence.

    Attributes
    ----------
    place : int32 column
        Where they stand among the candidates.
    expected : float64 column
        The expected metric of each.
    scored : int
        How many pairs of candidate and evidence were scored.
    """

    place: IntColumn
    expected: FloatColumn
    scored: int


def highest_quality(metric: Metric) -> float | None:
    """Return the best score that a metric can give, negated for an error rate; None if unknown.

    Examples
    --------
    >>> from fstmetrics import GRR, WER
    >>> highest_quality(WER()), highest_quality(GRR()), highest_quality(GRR(alpha=-0.9))
    (0.0, 1.0, None)
    """
    if isinstance(metric, AlignmentMetric):
        bounded = metric.insertion >= 0 and metric.deletion >= 0
        return (0.0 if metric.error_rate else 1.0) if bounded else None
    if isinstance(metric, BLEU | Bllip | PER | SacreBLEUMetric):
        return 1.0 if metric.higher_is_better else 0.0
    return None


def bounded_expectations(candidates: NBest, evidence: Evidence, metric: Metric) -> Survivors:
    """Return the candidates that may be the best, the best among them for certain.

    Evidence is heard in the order of its weights. The rest of the mass, times the best score that
    the metric can give, bounds what a candidate can still reach; one that stays below what
    another has reached over all of the evidence is left out. Where a metric has no known bound,
    or no sentence dominates the evidence, all pairs are scored.

    Examples
    --------
    >>> from fstmetrics import TBLEU
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses([Hypothesis((word,)) for word in "abcdefghijklmnop"])
    >>> evidence = Evidence(nbest, [2.0**-place for place in range(16)])
    >>> found = bounded_expectations(nbest, evidence, TBLEU(order=1))
    >>> found.place.tolist(), found.scored < 16 * 16
    ([0], True)
    """
    sign = 1.0 if metric.higher_is_better else -1.0
    bound = highest_quality(metric)
    if bound is None:
        every = ints(np.arange(len(candidates)))
        expected = expected_scores(candidates, evidence, metric)
        return Survivors(every, expected, len(candidates) * len(evidence.nbest))
    order = np.argsort(-evidence.weight, kind="stable")
    weight = evidence.weight[order]
    left = np.append(np.cumsum(weight[::-1])[::-1], 0.0)

    def shares(some: Array, first: int, last: int) -> Array:
        """Return what each sentence of evidence adds to the expectation of each candidate."""
        found = score_matrix(
            rows(candidates, some), rows(evidence.nbest, order[first:last]), metric
        )
        return sign * weight[first:last, None] * found

    alive = np.arange(len(candidates))
    reached = np.zeros(len(candidates))
    best, complete = -np.inf, dict[int, Array]()
    heard, scored = 0, 0
    while heard < len(order):
        end = min(len(order), 2 * heard or _FIRST)
        fresh = np.array([each for each in alive.tolist() if each not in complete], dtype=np.int64)
        reached[fresh] += shares(fresh, heard, end).sum(axis=0)
        scored += len(fresh) * (end - heard)
        for leader, known in complete.items():
            reached[leader] += known[heard:end].sum()
        heard = end
        checked_expectations(reached, metric)
        leader = int(alive[np.argmax(reached[alive])])
        if heard < len(order) and leader not in complete:
            complete[leader] = np.zeros(len(order))
            complete[leader][heard:] = shares(np.array([leader]), heard, len(order))[:, 0]
            scored += len(order) - heard
            best = max(best, reached[leader] + complete[leader].sum())
        alive = alive[reached[alive] + left[heard] * bound >= best - _ROUNDING]
    return Survivors(ints(alive), sign * reached[alive], scored)


def confident_expectations(
    candidates: NBest, evidence: Evidence, metric: Metric, confidence: float, seed: int = 0
) -> Survivors:
    """Return the candidates that a bootstrap does not rule out: probably with the best.

    Sentences are drawn from the evidence, 16 at first and twice as many from round to round, up
    to 256. In each round the means over the draws are resampled 500 times; a candidate that is
    at least as good as the best one in no more than ``1 - confidence`` of them is left out.
    Those that remain are scored against all of the evidence.

    Parameters
    ----------
    candidates : NBest
    evidence : Evidence
    metric : Metric
    confidence : float
        Above 0 and below 1.
    seed : int

    References
    ----------
    Cheng and Vlachos. Faster minimum Bayes risk decoding with confidence-based pruning. EMNLP
    2023.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses([Hypothesis((word,)) for word in "abcd"])
    >>> evidence = Evidence(nbest, [90, 5, 3, 2])
    >>> confident_expectations(nbest, evidence, WER(), 0.99).place.tolist()
    [0]
    """
    if not 0.0 < confidence < 1.0:
        raise OptionError(f"a confidence is above 0 and below 1, not {confidence}")
    sign = 1.0 if metric.higher_is_better else -1.0
    rng = np.random.default_rng(seed)
    drawn = rng.choice(len(evidence.weight), _MOST_DRAWS, p=evidence.weight)
    known = np.zeros((len(evidence.weight), len(candidates)))
    heard = np.zeros(len(evidence.weight), dtype=bool)
    alive = np.arange(len(candidates))
    count, scored = _FIRST_DRAWS, 0

    def hear(some: Array) -> int:
        fresh = some[~heard[some]]
        heard[fresh] = True
        if len(fresh):
            found = score_matrix(rows(candidates, alive), rows(evidence.nbest, fresh), metric)
            known[np.ix_(fresh, alive)] = sign * found
        return len(fresh) * len(alive)

    while count <= _MOST_DRAWS and len(alive) > 1:
        scored += hear(np.unique(drawn[:count]))
        worth = checked_expectations(known[drawn[:count]][:, alive], metric)
        times = rng.multinomial(count, np.full(count, 1.0 / count), size=_RESAMPLES)
        means = times @ worth
        leader = int(np.argmax(worth.sum(axis=0)))
        # equal candidates win against each other in all resamples, up to rounding
        wins = (means >= means[:, [leader]] - _ROUNDING).mean(axis=0)
        alive = alive[(wins > 1.0 - confidence) | (np.arange(len(alive)) == leader)]
        count *= 2
    scored += hear(np.arange(len(evidence.weight)))
    expected = checked_expectations(evidence.weight @ known[:, alive], metric)
    return Survivors(ints(alive), sign * expected, scored)
