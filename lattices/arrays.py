"""The array types of the columnar spaces, and the one decorator every kernel wears.

Columns are read-only. Numba compiles one version of a kernel for each combination of
argument types, and a read-only array is a type of its own: kernels therefore take their
inputs through :func:`column`, so that each is compiled once and found in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numba
import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

IntColumn = NDArray[np.int32]
FloatColumn = NDArray[np.float64]
Array = NDArray[Any]


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function with numba: cached on disk, and free of the interpreter's lock."""
    return cast(Callable[..., Any], numba.njit(cache=True, nogil=True)(function))


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that is only called from other kernels, into its callers."""
    return cast(Callable[..., Any], numba.njit(cache=True, nogil=True, inline="always")(function))


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
