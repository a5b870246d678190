"""The array types of the columnar spaces. Columns are contiguous and read-only."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from lattices.errors import SpaceError

IntColumn = NDArray[np.int32]
FloatColumn = NDArray[np.float64]
Array = NDArray[Any]


def column(values: ArrayLike, dtype: DTypeLike, what: str = "a column") -> Array:
    """Return ``values`` as a contiguous array of ``dtype``, read-only.

    They are copied unless the memory behind them is read-only by itself: bytes, a file mapped for
    reading, a column. An array that is marked read-only is not: its owner can take that back.
    """
    ready = type(values) is np.ndarray and values.dtype == dtype
    array = cast(Array, values) if ready else _convert(values, np.dtype(dtype), what)
    if array.flags.c_contiguous and array.ndim and _is_immutable(array.base):
        return array
    # bytes cannot be made writable again, and cost less than an array with memory of its own
    copied: Array = np.ndarray(array.shape or (1,), array.dtype, array.tobytes())
    return copied


def _is_immutable(owner: Any) -> bool:
    """Tell whether the memory of what an array is based on can only be read."""
    if type(owner) is bytes:
        return True
    while isinstance(owner, np.ndarray | memoryview):
        owner = owner.base if isinstance(owner, np.ndarray) else owner.obj
    try:
        return memoryview(owner).readonly
    except TypeError:
        # an owner that does not say
        return False


def _convert(values: ArrayLike, dtype: np.dtype[Any], what: str) -> Array:
    """Return numbers in another type, if all of them are numbers of that type."""
    expected = f"whole numbers of {8 * dtype.itemsize} bits" if dtype.kind == "i" else "numbers"
    try:
        array = np.asarray(values)
        if array.dtype == dtype:
            return array
        if array.dtype.kind not in "biufO":
            raise TypeError(f"values of type {array.dtype}")
        with np.errstate(invalid="ignore", over="ignore"):
            converted = array.astype(dtype)
    except (TypeError, ValueError, OverflowError) as problem:
        raise SpaceError(f"{what}: {problem}; expected {expected}") from problem
    if dtype.kind == "i" and not (same := converted == array).all():
        odd = array.ravel()[int(np.argmin(same.ravel()))]
        raise SpaceError(f"{what} holds {odd}, expected {expected}")
    return converted


def ints(values: ArrayLike, what: str = "a column") -> IntColumn:
    """Return ``values`` as a read-only ``int32`` column."""
    return column(values, np.int32, what)


def floats(values: ArrayLike, what: str = "a column") -> FloatColumn:
    """Return ``values`` as a read-only ``float64`` column."""
    return column(values, np.float64, what)


def isotonic(values: ArrayLike, weights: ArrayLike | None = None) -> FloatColumn:
    """Return the ascending numbers that are nearest to ``values``, by weighted least squares.

    Numbers that are out of order are replaced by their mean, as many as it takes: pooling of
    adjacent violators (Ayer et al. 1955). Cost: linear in their number.
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


def chain_arcs(
    src: Array, dst: Array, length: Array, states: int
) -> tuple[IntColumn, IntColumn, Array]:
    """Return sources and targets of arcs made chains of so many arcs, and which are the first ones.

    The states within chains have the numbers from ``states`` on.
    """
    begin = np.cumsum(length) - length
    first = np.zeros(length.sum(), bool)
    first[begin] = True
    source = np.where(first, np.repeat(src, length), states - 1 + np.cumsum(~first))
    target = np.roll(source, -1)
    target[begin + length - 1] = dst
    return ints(source), ints(target), first
