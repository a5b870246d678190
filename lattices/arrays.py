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
