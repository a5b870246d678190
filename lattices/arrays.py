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
from numba.core import types
from numpy.typing import ArrayLike, DTypeLike, NDArray

IntColumn = NDArray[np.int32]
FloatColumn = NDArray[np.float64]
Array = NDArray[Any]


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function with numba: cached on disk, and free of the interpreter's lock."""
    return compiled(function)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that is only called from other kernels, into its callers."""
    return compiled(function, inline="always")


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile a function with more of numba's options, once for all integers.

    Another kernel may call it with 0, with an item of a column and with an ``int64``. For numba
    these are three types, and each would have a version of its own; a variable that begins
    with 0 alone makes two.
    """
    dispatcher = numba.njit(cache=True, nogil=True, **options)(function)
    template = getattr(dispatcher, "get_call_template", None)
    # there is none where compiling is disabled
    if template is not None:

        def widened(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
            return template(tuple(map(_wide, args)), {name: _wide(kws[name]) for name in kws})

        dispatcher.get_call_template = widened
    return cast(Callable[..., Any], dispatcher)


def _wide(type: Any) -> Any:
    plain = getattr(type, "literal_type", type)
    return types.int64 if plain in types.signed_domain else plain


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
