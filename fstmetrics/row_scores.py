"""Scores of many rows of statistics at once, whatever the metric."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol, cast, runtime_checkable

import numpy as np

from fstmetrics.metric import Metric
from lattices.arrays import FloatColumn


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
    if _scores_rows(type(metric)):
        return cast(RowScorer, metric).scores(rows)
    return np.array([metric.score(row) for row in rows], dtype=np.float64)


@lru_cache(maxsize=256)
def _scores_rows(kind: type) -> bool:
    """Tell whether ``scores`` is there, and not inherited past a ``score`` of the class's own."""
    definers = [part for part in kind.__mro__ if "scores" in vars(part) or "score" in vars(part)]
    return bool(definers) and "scores" in vars(definers[0])
