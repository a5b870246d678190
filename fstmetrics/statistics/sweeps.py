"""One metric under many values of an option."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from fstmetrics.contract import Metric
from fstmetrics.references import Reference, checked_references
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError


class SweepPoint(NamedTuple):
    """A corpus under one value.

    Attributes
    ----------
    value : float
    metric : Metric
    score : float
        Of the corpus.
    stats : float64 array
        One row a segment: enough for segment scores, intervals and tests.
    """

    value: float
    metric: Metric
    score: float
    stats: FloatColumn


def threshold_sweep(
    metric_factory: Callable[[float], Metric],
    values: Iterable[float],
    hypotheses: Sequence[str | Sequence[str]],
    references: Sequence[Iterable[Reference]],
) -> list[SweepPoint]:
    """Return the score of a corpus under each value of a threshold.

    Segments are taken one after the other and all values tried on each, so that what does
    not depend on the threshold is computed once: tBLEU's affix distances and matching, and
    the nearest n-grams of BLEU_modif.

    Parameters
    ----------
    metric_factory : callable
        Returns the metric for a value, such as ``lambda epsilon: TBLEU(epsilon=epsilon)``.
    values : iterable of float
    hypotheses, references
        As for :func:`fstmetrics.corpus_score`.

    Raises
    ------
    OptionError
        If there are no values, or not as many lists of references as hypotheses.

    Examples
    --------
    >>> from fstmetrics import TBLEU
    >>> points = threshold_sweep(
    ...     lambda epsilon: TBLEU(order=1, epsilon=epsilon), [0.0, 0.2, 0.5],
    ...     ["we walked"], [["we walks"]])
    >>> [(point.value, point.score) for point in points]
    [(0.0, 0.5), (0.2, 0.5), (0.5, 0.75)]
    """
    wanted = [float(value) for value in values]
    if not wanted:
        raise OptionError("a sweep needs at least one value")
    if len(hypotheses) != len(references):
        raise OptionError(
            f"{len(hypotheses)} hypotheses, but references for {len(references)} segments"
        )
    metrics = [metric_factory(value) for value in wanted]
    rows: list[list[FloatColumn]] = [[] for _ in metrics]
    for hypothesis, of_segment in zip(hypotheses, references, strict=True):
        shared = checked_references(of_segment)
        for metric, column in zip(metrics, rows, strict=True):
            column.append(metric.stats(hypothesis, shared))
    points = []
    for value, metric, column in zip(wanted, metrics, rows, strict=True):
        stats = floats(np.array(column).reshape(len(column), len(metric.stat_names)))
        points.append(SweepPoint(value, metric, metric.score(stats.sum(axis=0)), stats))
    return points
