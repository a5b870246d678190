"""Scores of many rows of statistics at once, whatever the metric."""

from __future__ import annotations

from typing import Protocol, cast, runtime_checkable

import numpy as np

from fstmetrics.metric import Metric, offers
from lattices.arrays import FloatColumn

_SCORE = frozenset(["score"])


@runtime_checkable
class RowScorer(Protocol):
    """A metric that scores many rows in one pass."""

    def scores(self, rows: FloatColumn) -> FloatColumn:
        """Return the score of each row of statistics, the same as ``score`` gives."""


def scores_of(metric: Metric, rows: FloatColumn) -> FloatColumn:
    """Return the score of each row; in one pass if the metric can, row by row if not.

    A subclass that has changed ``score`` alone is scored row by row.

    Examples
    --------
    >>> from fstmetrics import BLEU
    >>> evaluator = BLEU(order=1).against(["the cat"])
    >>> rows = np.array([evaluator.stats("the cat"), evaluator.stats("the hat")])
    >>> scores_of(BLEU(order=1), rows).tolist()
    [1.0, 0.5]
    """
    if offers(type(metric), "scores", _SCORE):
        return cast(RowScorer, metric).scores(rows)
    return np.array([metric.score(row) for row in rows], dtype=np.float64)
