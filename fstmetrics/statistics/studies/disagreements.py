"""Disagreements: segments that one metric puts above its mean and another one below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lattices.arrays import Array, FloatColumn
from lattices.errors import OptionError
from lattices.records import PlainRecord


@dataclass(frozen=True)
class Disagreement(PlainRecord):
    """A segment on which two metrics disagree."""

    #: its place in the columns
    point: int
    #: of both metrics; z is ``(score - mean) / deviation``, turned so that higher is better
    scores: tuple[float, float]
    z: tuple[float, float]
    #: the z of people, NaN if they did not judge it
    human: float
    #: which metric stands on the side of people, 0 or 1; None if that is not known
    right: int | None


@dataclass(frozen=True)
class Disagreements(PlainRecord):
    """Where two metrics disagree, and how they are distributed."""

    #: all that were compared
    points: int
    #: of the scores of both metrics
    means: tuple[float, float]
    deviations: tuple[float, float]
    #: those farthest apart first
    found: Sequence[Disagreement]

    @property
    def right(self) -> tuple[int, int]:
        """How often each metric stands on the side of people."""
        return sum(one.right == 0 for one in self.found), sum(one.right == 1 for one in self.found)


def disagreements(
    one: ArrayLike,
    other: ArrayLike,
    *,
    human: ArrayLike | None = None,
    threshold: float = 0.5,
    higher_is_better: tuple[bool, bool] = (True, True),
) -> Disagreements:
    """Return the points on which two metrics disagree, by their z scores.

    One of the two is at least ``threshold`` standard deviations away from its mean, and the other
    one on the other side of its own (Pozar and Charniak 2006, section 3). The deviation is that of
    the points.

    Parameters
    ----------
    one, other
        Scores, one a point.
    human
        What people say of each point, higher is better, NaN where nothing.
    threshold
    higher_is_better
        Of each metric.

    Raises
    ------
    OptionError
        For columns of different lengths, scores that do not vary, or a threshold below 0.

    Examples
    --------
    >>> found = disagreements([0.9, 0.5, 0.1, 0.5], [0.2, 0.6, 0.8, 0.4], human=[3, 2, 1, 2])
    >>> [(each.point, each.right) for each in found.found], found.right
    ([(0, 0), (2, 0)], (2, 0))
    """
    columns = [np.asarray(column, dtype=np.float64) for column in (one, other)]
    if columns[0].ndim != 1 or columns[0].shape != columns[1].shape:
        raise OptionError(
            f"columns of shapes {columns[0].shape} and {columns[1].shape}, expected two of the same"
        )
    if not threshold >= 0:
        raise OptionError(f"threshold={threshold}, expected 0 or more")
    z = [
        _standardise(column) * (1 if up else -1)
        for column, up in zip(columns, higher_is_better, strict=True)
    ]
    said = np.full(len(columns[0]), math.nan)
    if human is not None:
        given = np.asarray(human, dtype=np.float64)
        if given.shape != said.shape:
            raise OptionError(f"human scores of shape {given.shape}, expected {said.shape}")
        known = ~np.isnan(given)
        said[known] = _standardise(given[known])
    apart: Array = (z[0] * z[1] < 0) & (np.maximum(*np.abs(z)) >= threshold)
    places = np.flatnonzero(apart)
    order = places[np.argsort(-np.abs(z[0] - z[1])[places], kind="stable")]
    found = [
        Disagreement(
            int(at),
            (float(columns[0][at]), float(columns[1][at])),
            (float(z[0][at]), float(z[1][at])),
            float(said[at]),
            None if not said[at] or math.isnan(said[at]) else int(z[1][at] * said[at] > 0),
        )
        for at in order
    ]
    means, deviations = zip(*((float(c.mean()), float(c.std())) for c in columns), strict=True)
    return Disagreements(len(columns[0]), means, deviations, found)


def _standardise(column: FloatColumn) -> FloatColumn:
    if not len(column) or not np.isfinite(column).all() or not np.ptp(column) > 0:
        raise OptionError("scores that do not vary, or are no numbers, have no standard deviation")
    standard: FloatColumn = (column - column.mean()) / column.std()
    return standard
