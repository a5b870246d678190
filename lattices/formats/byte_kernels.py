"""What the kernels that read bytes share: their decorator, and numbering strings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core.options import DefaultOptions

from lattices.arrays import compiled

_OPTIONS: dict[str, Any] = {"error_model": "numpy"}
if hasattr(DefaultOptions, "_nrt"):
    # an option that numba does not write about; without it these kernels are only slower
    _OPTIONS["_nrt"] = False


def byte_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that makes no arrays, and is called once for every few bytes.

    It does not count references to its arguments, which numba's runtime does by atomic
    operations at every call, and divides without looking for zeros: to read a number takes a
    quarter of the time.
    """
    return compiled(function, **_OPTIONS)


@byte_kernel
def numbered(data, begin, end, slots, bounds, found):  # type: ignore[no-untyped-def]
    """Return the number of a string among those known, and how many are known then.

    Parameters
    ----------
    data : uint8 column
    begin, end : int
        Where the string is.
    slots : int32 array
        A hash table with open addresses: numbers of strings, -1 where free. It has a power of
        two of entries, and is to stay half empty.
    bounds : int64 array of (begin, end)
        Where the strings are that are known.
    found : int
        How many of them there are.
    """
    code = np.uint64(14695981039346656037)
    for place in range(begin, end):
        code = (code ^ np.uint64(data[place])) * np.uint64(1099511628211)
    last = np.uint64(len(slots) - 1)
    slot = (code ^ (code >> np.uint64(32))) & last
    while slots[slot] >= 0:
        number = np.int64(slots[slot])
        other = bounds[number, 0]
        if bounds[number, 1] - other == end - begin and same(data, begin, other, end - begin):
            return number, found
        slot = (slot + np.uint64(1)) & last
    slots[slot] = found
    bounds[found, 0] = begin
    bounds[found, 1] = end
    return found, found + 1


@byte_kernel
def same(data, one, other, size):  # type: ignore[no-untyped-def]
    """Tell whether the same bytes stand at two places."""
    offset = 0
    while offset < size and data[one + offset] == data[other + offset]:
        offset += 1
    return offset == size


@byte_kernel
def slots_for(strings):  # type: ignore[no-untyped-def]
    """Return how large a table :func:`numbered` needs for that many strings.

    Examples
    --------
    >>> slots_for(3), slots_for(100)
    (16, 256)
    """
    size = 16
    while size < 2 * strings:
        size *= 2
    return size
