"""BLEU and chrF against the average of the evidence, in linear time."""

from __future__ import annotations

import numpy as np

from decoding.minimum_risk.evidence import Evidence
from decoding.minimum_risk.evidence_kernels import hash_place
from fstmetrics import Metric, scores_of
from fstmetrics._native import chrf_scores
from fstmetrics.bleu import BLEU
from fstmetrics.pairs import JointUnits, bleu_units, chrf_units
from fstmetrics.sacrebleu_metrics import ChrF
from lattices.arrays import Array, FloatColumn, floats, kernel
from lattices.errors import OptionError
from lattices.spaces import NBest


def aggregate_scores(candidates: NBest, evidence: Evidence, metric: Metric) -> FloatColumn:
    """Return the metric of each candidate against the average of the evidence.

    The average has every n-gram as often as it is expected, ``sum over e of weight(e) *
    count(n-gram, e)``, and the expected length. Matches are clipped by these fractions, and the
    rest is the metric's own formula. It is not the expected metric, which is an average of
    scores; but it needs O(candidates + evidence) n-grams instead of their product.

    Parameters
    ----------
    candidates : NBest
    evidence : Evidence
    metric : BLEU, BLEUSBP or ChrF

    Raises
    ------
    OptionError
        For another metric: it is not made of n-gram counts.

    References
    ----------
    DeNero, Chiang and Knight. Fast consensus decoding over translation forests. ACL 2009.

    Vamvas and Sennrich. Linear-time minimum Bayes risk decoding with reference aggregation.
    ACL 2024.

    Examples
    --------
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses([Hypothesis(("a", "cat")), Hypothesis(("a", "hat"))])
    >>> aggregate_scores(nbest, Evidence(nbest, [3, 1]), BLEU(order=1)).tolist()
    [0.875, 0.625]
    """
    if isinstance(metric, BLEU) and type(metric).against is BLEU.against:
        return _bleu(candidates, evidence, metric)
    if type(metric) is ChrF:
        return _chrf(candidates, evidence, metric)
    raise OptionError(
        f"{metric} is not made of n-gram counts: bleu, bleu-sbp and chrf can be aggregated"
    )


def _bleu(candidates: NBest, evidence: Evidence, metric: BLEU) -> FloatColumn:
    joint = JointUnits(candidates, evidence.nbest, bleu_units(metric))
    matches, _, length = _against_average(joint, evidence.weight, metric.order)
    own = joint.lengths[0].astype(np.float64)
    rows = np.concatenate(
        [
            matches,
            np.maximum(own[:, None] - np.arange(metric.order), 0.0),
            (np.minimum(own, length) if metric.strict else own)[:, None],
            np.full((len(own), 1), length),
        ],
        axis=1,
    )
    return scores_of(metric, floats(rows))


def _chrf(candidates: NBest, evidence: Evidence, metric: ChrF) -> FloatColumn:
    every: list[tuple[Array, Array, Array]] = []
    for units, order in chrf_units(metric):
        joint = JointUnits(candidates, evidence.nbest, units)
        matches, totals, _ = _against_average(joint, evidence.weight, order)
        own = np.maximum(joint.lengths[0] - np.arange(order)[:, None], 0)
        every.append((matches.T, own, totals))
    found, own, expected = (floats(np.concatenate(of_all)) for of_all in zip(*every, strict=True))
    return floats(chrf_scores(found, own, expected, metric.beta, metric.eps_smoothing))


def _against_average(
    joint: JointUnits, weight: FloatColumn, order: int
) -> tuple[Array, FloatColumn, float]:
    """Return the matches of candidates by order, the expected n-grams of each order, the length."""
    length = joint.lengths[1].astype(np.float64)
    totals = weight @ np.maximum(length[:, None] - np.arange(order), 0.0)
    matches = _averaged(
        *joint.candidates, *joint.evidence, floats(weight), len(joint.symbols), order
    )
    return matches, floats(totals), float(weight @ length)


@kernel
def _averaged(unit, offset, other, other_offset, weight, units, order):  # type: ignore[no-untyped-def]
    """Return the matches of each sentence, clipped by the expected counts of the others."""
    most = 1
    for sentence in range(len(other_offset) - 1):
        length = other_offset[sentence + 1] - other_offset[sentence]
        most += length * min(order, length)
    bits = 1
    while (1 << bits) < 2 * most:
        bits += 1
    shift = np.uint64(64 - bits)
    key = np.zeros(1 << bits, np.int64)
    node = np.zeros(1 << bits, np.int32)
    expected = np.zeros(most)
    nodes = 1
    for sentence in range(len(other_offset) - 1):
        end = other_offset[sentence + 1]
        for begin in range(other_offset[sentence], end):
            here = np.int64(0)
            for position in range(begin, min(begin + order, end)):
                wanted = here * (units + 1) + other[position]
                place = hash_place(key, wanted, shift)
                if key[place] == 0:
                    key[place], node[place] = wanted, nodes
                    nodes += 1
                here = np.int64(node[place])
                expected[here] += weight[sentence]
    matches = np.zeros((len(offset) - 1, order))
    count = np.zeros(nodes)
    seen = np.full(nodes, -1, np.int32)
    for sentence in range(len(offset) - 1):
        end = offset[sentence + 1]
        for begin in range(offset[sentence], end):
            here = np.int64(0)
            for position in range(begin, min(begin + order, end)):
                place = hash_place(key, here * (units + 1) + unit[position], shift)
                if key[place] == 0:
                    break
                here = np.int64(node[place])
                if seen[here] != sentence:
                    seen[here], count[here] = sentence, 0.0
                # what this occurrence adds to the smaller of the two counts
                left = expected[here] - count[here]
                count[here] += 1.0
                matches[sentence, position - begin] += min(max(left, 0.0), 1.0)
    return matches
