"""Every candidate against every sentence of evidence, under any metric."""

from __future__ import annotations

from typing import cast

import numpy as np

from decoding.minimum_risk.evidence import Evidence
from decoding.minimum_risk.evidence_lists import rows
from decoding.ranked import ranking
from fstmetrics import Metric, nbest_stats, scores_of
from fstmetrics.metric import ROUNDING
from fstmetrics.pairs import PairScorer, scores_pairs
from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError
from lattices.spaces import NBest

#: scores of pairs that are in memory at once
_PAIRS = 1 << 22


def score_matrix(candidates: NBest, evidence: NBest, metric: Metric) -> FloatColumn:
    """Return the metric of each candidate against each sentence of evidence as its reference.

    Entry ``[e, c]`` is ``metric.against([evidence e]).score(candidate c)``. WER, WRR, CER, GRR,
    PER, BLEU, BLEU-SBP and chrF score all pairs at once (``metric.pair_scores``); any other
    metric prepares each sentence of evidence as a reference and scores the list of candidates.

    Parameters
    ----------
    candidates, evidence : NBest
        With the same vocabulary or not; faster if they are the same object.
    metric : Metric

    Returns
    -------
    float64 array
        One row a sentence of evidence, one column a candidate.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses([Hypothesis(("a", "cat")), Hypothesis(("cat",))])
    >>> score_matrix(nbest, nbest, WER()).tolist()
    [[0.0, 0.5], [1.0, 0.0]]
    """
    if not (len(candidates) and len(evidence)):
        return np.empty((len(evidence), len(candidates)))
    if has_kernel(metric):
        return cast(PairScorer, metric).pair_scores(candidates, evidence)
    return np.array(
        [
            scores_of(metric, nbest_stats(metric.against([evidence.tokens(entry)]), candidates))
            for entry in range(len(evidence))
        ]
    )


def has_kernel(metric: Metric) -> bool:
    """Tell whether whole matrices of the metric's scores are computed at once.

    Examples
    --------
    >>> from fstmetrics import TBLEU, WER
    >>> has_kernel(WER()), has_kernel(TBLEU())
    (True, False)
    """
    return scores_pairs(metric)


def expected_scores(candidates: NBest, evidence: Evidence, metric: Metric) -> FloatColumn:
    """Return the expected metric of each candidate.

    ``sum over e of weight(e) * metric(candidate, e)``: the average of sentence scores in the
    metric's own definition, each normalised by its own sentence of evidence. For BLEU that is
    sentence BLEU with the smoothing that the metric has.

    Cost: one score a pair, see :func:`score_matrix`; memory is bounded however many there are.

    Raises
    ------
    OptionError
        If the metric gives a score that is no number.

    References
    ----------
    Kumar and Byrne. Minimum Bayes-risk decoding for statistical machine translation. NAACL
    2004.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses([Hypothesis(("a", "cat")), Hypothesis(("cat",))])
    >>> expected_scores(nbest, Evidence(nbest, [3, 1]), WER()).tolist()
    [0.25, 0.375]
    """
    step = max(1, _PAIRS // max(1, len(candidates)))
    if len(evidence.nbest) <= step:
        total = evidence.weight @ score_matrix(candidates, evidence.nbest, metric)
    else:
        total = np.zeros(len(candidates))
        for first in range(0, len(evidence.nbest), step):
            last = min(first + step, len(evidence.nbest))
            some = rows(evidence.nbest, ints(np.arange(first, last)))
            total += evidence.weight[first:last] @ score_matrix(candidates, some, metric)
    return checked_expectations(total, metric)


def checked_expectations(expected: FloatColumn, metric: Metric) -> FloatColumn:
    """Return expectations that can be compared, or raise OptionError."""
    if np.isnan(expected).any():
        raise OptionError(f"{metric} gives a sentence of evidence no score: its mean is no number")
    return floats(expected)


def ranked(nbest: NBest, expected: FloatColumn, metric: Metric, k: int = 1) -> IntColumn:
    """Return the places of the ``k`` candidates with the best expectations, best first.

    Expectations that differ by no more than 1e-12 are equal. Ties go to the higher model score,
    then to the first in the list.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis
    >>> some = [Hypothesis(("b",), -1.0), Hypothesis(("a",), -1.0), Hypothesis(("c",), -3.0)]
    >>> ranked(NBest.from_hypotheses(some), np.array([0.5, 0.5 + 1e-15, 0.5]), WER(), 2).tolist()
    [0, 1]
    """
    worth = expected if metric.higher_is_better else -expected
    return ints(ranking(worth, nbest.score, ROUNDING)[:k])
