"""BLEU and chrF against the average of the evidence, in linear time."""

from __future__ import annotations

import numpy as np

from decoding import _native
from decoding.minimum_risk.evidence import Evidence
from fstmetrics import Metric
from fstmetrics._native import chrf_scores
from fstmetrics.contract import scores_of
from fstmetrics.ngram.bleu import BLEU
from fstmetrics.ngram.chrf import CHRF
from fstmetrics.pairs import JointUnits, bleu_units, chrf_units
from lattices.arrays import Array, FloatColumn, floats
from lattices.errors import OptionError
from lattices.spaces import NBest


def aggregate_scores(candidates: NBest, evidence: Evidence, metric: Metric) -> FloatColumn:
    """Return the metric of each candidate against the average of the evidence.

    The average has every n-gram as often as it is expected, ``sum over e of weight(e) *
    count(n-gram, e)``, and the expected length.
    """
    if isinstance(metric, BLEU) and type(metric).against is BLEU.against:
        return _bleu(candidates, evidence, metric)
    if type(metric) is CHRF:
        return _chrf(candidates, evidence, metric)
    raise OptionError(
        f"{metric} is not made of n-gram counts: bleu, bleu-sbp and chrf can be aggregated"
    )


def _bleu(candidates: NBest, evidence: Evidence, metric: BLEU) -> FloatColumn:
    joint = JointUnits(candidates, evidence.nbest, bleu_units(metric))
    matches, _, length = _compare_with_average(joint, evidence.weight, metric.order)
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


def _chrf(candidates: NBest, evidence: Evidence, metric: CHRF) -> FloatColumn:
    every: list[tuple[Array, Array, Array]] = []
    for units, order in chrf_units(metric):
        joint = JointUnits(candidates, evidence.nbest, units)
        matches, totals, _ = _compare_with_average(joint, evidence.weight, order)
        own = np.maximum(joint.lengths[0] - np.arange(order)[:, None], 0)
        every.append((matches.T, own, totals))
    found, own, expected = (floats(np.concatenate(of_all)) for of_all in zip(*every, strict=True))
    return floats(chrf_scores(found, own, expected, metric.beta, metric.eps_smoothing))


def _compare_with_average(
    joint: JointUnits, weight: FloatColumn, order: int
) -> tuple[Array, FloatColumn, float]:
    """Return the matches of candidates by order, the expected n-grams of each order, the length."""
    length = joint.lengths[1].astype(np.float64)
    totals = weight @ np.maximum(length[:, None] - np.arange(order), 0.0)
    matches = _native.average_matches(*joint.candidates, *joint.evidence, floats(weight), order)
    return matches, floats(totals), float(weight @ length)
