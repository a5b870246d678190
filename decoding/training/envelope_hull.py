"""Upper envelopes of straight lines: what all kinds of spaces share.

A line is the score of one hypothesis along ``weights + step * direction``: its intercept at
step 0, and its slope. The *envelope* of many lines is their maximum, made of segments from left
to right, by ascending slope; a row of ``lines`` has slope, intercept and the step where the
segment begins, a row of ``refs`` says whose line it is.

Sums are exact. Slopes and intercepts are rounded once, to multiples of a power of two that is
so coarse that no sum along a path needs more than the 53 bits of a double, and so fine that it
costs no more than the sums would have lost. Parallel lines are then parallel, equal lines are
equal, whatever the order of the arcs, and a step where two lines meet is the correctly rounded
quotient of two exact differences: steps that are equal before they are rounded are equal after.
"""

from __future__ import annotations

import math

import numpy as np

from lattices.arrays import inlined, kernel

#: the columns of ``lines``
SLOPE, INTERCEPT, LEFT = range(3)


@kernel
def quantum(bound):  # type: ignore[no-untyped-def]
    """Return the power of two of whose multiples sums up to ``bound`` are exact.

    Differences of two such sums are exact, too.
    """
    if bound == 0.0:
        return 1.0
    _, exponent = math.frexp(bound)
    return math.ldexp(1.0, max(exponent - 51, -1021))


@kernel
def rounded(values, unit):  # type: ignore[no-untyped-def]
    """Return the nearest multiples of a power of two."""
    return np.rint(values / unit) * unit


@inlined
def pushed(slope, intercept, one, other, lines, refs, size):  # type: ignore[no-untyped-def]
    """Put a line on the right end of an envelope of smaller slopes; return the new size.

    A line that is highest in one point only, where others cross, has no segment.
    """
    left = -np.inf
    while size > 0:
        top = size - 1
        left = (lines[top, INTERCEPT] - intercept) / (slope - lines[top, SLOPE])
        if left > lines[top, LEFT]:
            break
        size = top
        left = -np.inf
    if left < np.inf:
        lines[size, SLOPE], lines[size, INTERCEPT], lines[size, LEFT] = slope, intercept, left
        refs[size, 0], refs[size, 1] = one, other
        size += 1
    return size


@kernel
def with_room(lines, refs, size, room):  # type: ignore[no-untyped-def]
    """Return both arrays, or larger copies if they have no room for so many rows."""
    if room <= len(lines):
        return lines, refs
    more_lines = np.empty((2 * room, lines.shape[1]), lines.dtype)
    more_refs = np.empty((2 * room, refs.shape[1]), refs.dtype)
    more_lines[:size] = lines[:size]
    more_refs[:size] = refs[:size]
    return more_lines, more_refs


@kernel
def list_envelope(slope, intercept, label, offset, rank):  # type: ignore[no-untyped-def]
    """Return the envelope of the entries of a list, and the entry of each segment.

    Of equal lines the one whose words come first is taken, then the first.
    """
    count = len(slope)
    order = np.argsort(slope, kind="mergesort")
    lines = np.empty((count, 3), np.float64)
    refs = np.empty((count, 2), np.int64)
    size = place = 0
    while place < count:
        best = order[place]
        place += 1
        while place < count and slope[order[place]] == slope[best]:
            other = order[place]
            place += 1
            if intercept[other] > intercept[best] or (
                intercept[other] == intercept[best]
                and _comes_first(other, best, label, offset, rank)
            ):
                best = other
        size = pushed(slope[best], intercept[best], best, -1, lines, refs, size)
    return lines[:size].copy(), refs[:size, 0].copy()


@kernel
def _comes_first(one, other, label, offset, rank):  # type: ignore[no-untyped-def]
    """Tell whether the words of one entry come before those of another."""
    shorter = min(offset[one + 1] - offset[one], offset[other + 1] - offset[other])
    for place in range(shorter):
        mine, yours = label[offset[one] + place], label[offset[other] + place]
        if mine != yours:
            return rank[mine] < rank[yours]
    return offset[one + 1] - offset[one] < offset[other + 1] - offset[other]
