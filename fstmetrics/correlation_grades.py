"""Agreement of two judges who give grades: Cohen's kappa, plain or weighted."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from fstmetrics.correlation_results import Correlation
from fstmetrics.significance_resampling import checked_samples, percentiles
from lattices.arrays import Array, FloatColumn
from lattices.errors import OptionError

WEIGHTS = ("none", "linear", "quadratic")


def grades(scores: ArrayLike, *, k: int = 10, low: float = 0.0, high: float = 1.0) -> Array:
    """Return scores as grades 0 .. k - 1, which cut [low, high] into k equal intervals.

    An interval has its lower end and not its upper one, except the last, which has both: with ten
    grades of [0, 1], 0.435 has grade 4 and 1.0 has grade 9 (Denoual and Lepage 2005).

    Raises
    ------
    OptionError
        For fewer than two grades, an empty interval, or a score outside of it.

    Examples
    --------
    >>> grades([0.0, 0.0999, 0.1, 0.435, 0.9, 1.0]).tolist()
    [0, 0, 1, 4, 9, 9]
    """
    if k < 2:
        raise OptionError(f"k={k}, expected 2 grades or more")
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise OptionError(f"grades of [{low}, {high}], expected two numbers, the lower one first")
    values = np.asarray(scores, dtype=np.float64)
    # written so that it is true of NaN
    outside = ~((values >= low) & (values <= high))
    if outside.any():
        raise OptionError(f"a score of {values[outside][0]:g}, expected [{low:g}, {high:g}]")
    # the same ends that a person would write down: 0.3 is the lower end of grade 3, though
    # 0.3 * 10 and 0.1 * 3 may fall on either side of it
    ends = np.array([low + (high - low) * grade / k for grade in range(1, k)])
    return np.searchsorted(ends, values, side="right")


def kappa(one: ArrayLike, other: ArrayLike, *, weights: str = "none") -> float:
    """Return Cohen's kappa of two columns of grades.

    With disagreement w(i, j), observed shares p and the product q of the shares of each judge,

        kappa = 1 - (sum over i, j of w p) / (sum over i, j of w q)

    where w is 1 unless i = j (``none``), abs(i - j) (``linear``) or (i - j)^2 (``quadratic``). It
    is NaN if both judges give the same one grade only: chance alone would agree as well.

    Parameters
    ----------
    one, other
        Whole numbers from 0 on, one a point; see :func:`grades`.
    weights : {"none", "linear", "quadratic"}
        How bad it is to be some grades apart.

    Raises
    ------
    OptionError
        For columns of different lengths or without points, for what is not a grade, or unknown
        weights.

    References
    ----------
    Cohen. A coefficient of agreement for nominal scales. Educational and Psychological
    Measurement 20, 1960; weighted: Psychological Bulletin 70, 1968.

    Examples
    --------
    >>> kappa([0, 0, 1, 1], [0, 0, 1, 0])
    0.5
    >>> kappa([0, 0, 1, 2], [0, 1, 1, 2], weights="quadratic")
    0.8
    """
    if weights not in WEIGHTS:
        raise OptionError(f"weights={weights!r}, expected one of {', '.join(WEIGHTS)}")
    a, b = np.asarray(one), np.asarray(other)
    if a.ndim != 1 or a.shape != b.shape or not len(a):
        raise OptionError(
            f"columns of shapes {a.shape} and {b.shape}, expected two of the same length, not empty"
        )
    both = np.stack((a, b))
    if not np.issubdtype(both.dtype, np.integer) or both.min() < 0:
        raise OptionError("grades that are not whole numbers from 0 on")
    size = int(both.max()) + 1
    table = np.bincount(a * size + b, minlength=size * size)
    return float(_kappas(table.reshape(1, size, size), weights)[0])


def _kappas(tables: Array, weights: str) -> FloatColumn:
    """Return the kappa of each table of counts, NaN where chance agrees always."""
    points = tables.sum(axis=(1, 2), keepdims=True)
    observed = tables / points
    expected = observed.sum(axis=2, keepdims=True) * observed.sum(axis=1, keepdims=True)
    steps = np.arange(tables.shape[1])
    distance = np.abs(np.subtract.outer(steps, steps)).astype(np.float64)
    power = {"none": 0, "linear": 1, "quadratic": 2}[weights]
    disagreement = np.where(distance == 0, 0.0, distance**power)
    by_chance = (disagreement * expected).sum(axis=(1, 2))
    ratio = np.full(len(tables), np.nan)
    np.divide((disagreement * observed).sum(axis=(1, 2)), by_chance, out=ratio, where=by_chance > 0)
    return 1.0 - ratio


def graded_kappa(
    one: ArrayLike,
    other: ArrayLike,
    *,
    k: int = 10,
    low: float | None = 0.0,
    high: float | None = 1.0,
    weights: str = "none",
    samples: int = 0,
    level: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> Correlation:
    """Return Cohen's kappa of two columns of scores, after cutting them into k grades.

    Parameters
    ----------
    one, other
        Scores, one a point.
    k
        The number of grades.
    low, high
        The ends of the scale, by default [0, 1]; None for the lowest or highest score of each
        column, where the two have scales of their own.
    weights : {"none", "linear", "quadratic"}
        See :func:`kappa`.
    samples
        Resamples of the points for the interval; none by default. They keep their grades, so
        that a resample is one draw of a k by k table.
    level
        Of the interval.
    seed
        A whole number, or a numpy generator.

    Raises
    ------
    OptionError
        As :func:`grades` and :func:`kappa` do.

    References
    ----------
    Denoual and Lepage. BLEU in characters: towards automatic MT evaluation in languages without
    word delimiters. IJCNLP 2005.

    Examples
    --------
    >>> words, characters = [0.12, 0.33, 0.51, 0.58], [0.18, 0.36, 0.49, 0.55]
    >>> print(graded_kappa(words, characters))
    0.6667
    """
    columns = [_graded(np.asarray(column, np.float64), k, low, high) for column in (one, other)]
    value = kappa(*columns, weights=weights)
    points = len(columns[0])
    if math.isnan(value):
        note = "both give one grade only, and the same"
        return Correlation(value, "kappa", points, float("nan"), note=note)
    interval, known = None, 0
    if samples:
        shares = np.bincount(columns[0] * k + columns[1], minlength=k * k) / points
        rng = np.random.default_rng(seed)
        tables = rng.multinomial(points, shares, size=checked_samples(samples))
        values = _kappas(tables.reshape(-1, k, k), weights)
        values = values[~np.isnan(values)]
        known = len(values)
        interval = percentiles(values, level) if known else None
    return Correlation(value, "kappa", points, float("nan"), interval, known)


def _graded(values: FloatColumn, k: int, low: float | None, high: float | None) -> Array:
    """Return the grades of one column, on its own scale where an end is not given."""
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise OptionError("expected a column of finite scores, not empty")
    bottom = float(values.min()) if low is None else low
    top = float(values.max()) if high is None else high
    if bottom == top and None in (low, high):
        # one value, and no scale that says where it stands
        return np.zeros(len(values), dtype=np.int64)
    return grades(values, k=k, low=bottom, high=top)
