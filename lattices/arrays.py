"""The array types of the columnar spaces. Columns are contiguous and read-only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

IntColumn = NDArray[np.int32]
FloatColumn = NDArray[np.float64]
Array = NDArray[Any]


def column(values: ArrayLike, dtype: DTypeLike) -> Array:
    """Return ``values`` as a contiguous, read-only array of ``dtype``, copied only if needed.

    Examples
    --------
    >>> column([1, 2], np.int32).flags.writeable
    False
    """
    array = np.ascontiguousarray(values, dtype=dtype)
    if array.flags.writeable:
        # a caller's own array must stay writable in the caller's hands
        array = array.view()
        array.flags.writeable = False
    return array


def ints(values: ArrayLike) -> IntColumn:
    """Return ``values`` as a read-only ``int32`` column."""
    return column(values, np.int32)


def floats(values: ArrayLike) -> FloatColumn:
    """Return ``values`` as a read-only ``float64`` column."""
    return column(values, np.float64)


def isotonic(values: ArrayLike, weights: ArrayLike | None = None) -> FloatColumn:
    """Return the ascending numbers that are nearest to ``values``, by weighted least squares.

    Numbers that are out of order are replaced by their mean, as many as it takes: pooling of
    adjacent violators (Ayer et al. 1955). Cost: linear in their number.

    Examples
    --------
    >>> isotonic([1.0, 3.0, 2.0]).tolist(), isotonic([4.0, 1.0], [1.0, 2.0]).tolist()
    ([1.0, 2.5, 2.5], [2.0, 2.0])
    """
    given = np.asarray(values, dtype=np.float64)
    heavy = np.ones(len(given)) if weights is None else np.asarray(weights, dtype=np.float64)
    # sum of values and of weights, and how many they are
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(given.tolist(), heavy.tolist(), strict=True):
        total, share, count = value * weight, weight, 1
        while pools and pools[-1][0] * share > total * pools[-1][1]:
            more, other, others = pools.pop()
            total, share, count = total + more, share + other, count + others
        pools.append((total, share, count))
    means = [total / share for total, share, _ in pools]
    # two means that are equal may have been rounded apart
    return floats(np.maximum.accumulate(np.repeat(means, [count for *_, count in pools])))
