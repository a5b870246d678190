"""The upper envelope of the paths of a lattice (Macherey et al. 2008), from the end to the start.

Each state has the envelope of its suffixes. A segment of it points to the arc that the suffix
begins with and to the segment of the next state that it goes on with, so that a path is known
by one number. Going backwards, equal lines can be told apart by the words of their suffixes: the
smaller suffix makes the smaller sentence, which is not so for prefixes.
"""

from __future__ import annotations

import numpy as np

from decoding.training.envelope_hull import (
    INTERCEPT,
    LEFT,
    SLOPE,
    pushed,
    quantum,
    rounded,
    with_room,
)
from lattices.arrays import kernel

#: the columns of ``refs``: the first arc, and the segment of the suffix after it; -1 ends
_ARC, _REST = range(2)


@kernel
def _suffix_comes_first(arc, rest, other_arc, other_rest, refs, rank):  # type: ignore[no-untyped-def]
    """Tell whether one suffix comes before another: by words, then by arcs."""
    left, left_rest, right, right_rest = arc, rest, other_arc, other_rest
    while True:
        while left >= 0 and rank[left] < 0:
            left, left_rest = refs[left_rest, _ARC], refs[left_rest, _REST]
        while right >= 0 and rank[right] < 0:
            right, right_rest = refs[right_rest, _ARC], refs[right_rest, _REST]
        if left < 0 or right < 0:
            if left >= 0 or right >= 0:
                return left < 0
            break
        if rank[left] != rank[right]:
            return rank[left] < rank[right]
        if left_rest == right_rest:
            break
        left, left_rest = refs[left_rest, _ARC], refs[left_rest, _REST]
        right, right_rest = refs[right_rest, _ARC], refs[right_rest, _REST]
    left, left_rest, right, right_rest = arc, rest, other_arc, other_rest
    while left == right and left >= 0:
        left, left_rest = refs[left_rest, _ARC], refs[left_rest, _REST]
        right, right_rest = refs[right_rest, _ARC], refs[right_rest, _REST]
    return left < right


@kernel
def _bounds(dst, out_offset, ends, arc_lines, final_lines, start):  # type: ignore[no-untyped-def]
    """Return the largest sums of absolute slopes and intercepts along any path."""
    states = len(ends)
    most = np.full((states, 2), -np.inf)
    for state in range(states - 1, start - 1, -1):
        if ends[state]:
            most[state, 0] = abs(final_lines[state, 0])
            most[state, 1] = abs(final_lines[state, 1])
        for arc in range(out_offset[state], out_offset[state + 1]):
            for kind in range(2):
                most[state, kind] = max(
                    most[state, kind], abs(arc_lines[arc, kind]) + most[dst[arc], kind]
                )
    return most[start, 0], most[start, 1]


@kernel
def lattice_envelope(  # type: ignore[no-untyped-def]
    dst, out_offset, label, rank, ends, arc_lines, final_lines, start
):
    """Return the envelope of the complete paths, with the arcs and the words of each.

    Parameters
    ----------
    dst, out_offset, label : int32 columns
    rank : int column, one entry an arc
        The place of its word among the words, negative for epsilon.
    ends : bool column, one entry a state
    arc_lines, final_lines : float64 columns of two columns
        Intercepts and slopes of arcs and of ends.
    start : int

    Returns
    -------
    lines : float64 array
        Without rows if no path is complete, and with a row of NaN if sums are not finite.
    arcs, arc_offset, words, word_offset : int32 arrays
    """
    states = len(ends)
    most_intercept, most_slope = _bounds(dst, out_offset, ends, arc_lines, final_lines, start)
    nothing, no_offset = np.empty(0, np.int32), np.zeros(1, np.int32)
    if most_slope == -np.inf:
        return np.empty((0, 3)), nothing, no_offset, nothing, no_offset
    if not (most_intercept < 1e300 and most_slope < 1e300):
        return np.full((1, 3), np.nan), nothing, no_offset, nothing, no_offset
    unit, unit_slope = quantum(most_intercept), quantum(most_slope)
    intercept, slope = rounded(arc_lines[:, 0], unit), rounded(arc_lines[:, 1], unit_slope)
    end_intercept = rounded(final_lines[:, 0], unit)
    end_slope = rounded(final_lines[:, 1], unit_slope)
    room = 4 * len(dst) + states
    pool, pool_refs = np.empty((room, 3)), np.empty((room, 2), np.int64)
    lines, refs = np.empty((64, 3)), np.empty((64, 2), np.int64)
    spare, spare_refs = np.empty((64, 3)), np.empty((64, 2), np.int64)
    begin, end = np.zeros(states, np.int64), np.zeros(states, np.int64)
    filled = 0
    for state in range(states - 1, start - 1, -1):
        size = 0
        if ends[state]:
            lines[0, SLOPE], lines[0, INTERCEPT] = end_slope[state], end_intercept[state]
            lines[0, LEFT] = -np.inf
            refs[0, _ARC], refs[0, _REST] = -1, -1
            size = 1
        for arc in range(out_offset[state], out_offset[state + 1]):
            here, last = begin[dst[arc]], end[dst[arc]]
            if here == last:
                continue
            spare, spare_refs = with_room(spare, spare_refs, 0, size + last - here)
            taken = count = 0
            up, turn = intercept[arc], slope[arc]
            if size == 0:
                # shifted lines meet where they met before
                for place in range(here, last):
                    spare[count, SLOPE] = pool[place, SLOPE] + turn
                    spare[count, INTERCEPT] = pool[place, INTERCEPT] + up
                    spare[count, LEFT] = pool[place, LEFT]
                    spare_refs[count, _ARC], spare_refs[count, _REST] = arc, place
                    count += 1
                here = last
            while taken < size or here < last:
                if here < last:
                    new_slope, new_intercept = pool[here, SLOPE] + turn, pool[here, INTERCEPT] + up
                else:
                    new_slope, new_intercept = np.inf, 0.0
                old = taken < size and lines[taken, SLOPE] <= new_slope
                if old and lines[taken, SLOPE] == new_slope:
                    height = lines[taken, INTERCEPT]
                    if height < new_intercept or (
                        height == new_intercept
                        and _suffix_comes_first(
                            arc, here, refs[taken, _ARC], refs[taken, _REST], pool_refs, rank
                        )
                    ):
                        old = False
                        taken += 1
                    else:
                        here += 1
                if old:
                    count = pushed(
                        lines[taken, SLOPE], lines[taken, INTERCEPT],
                        refs[taken, _ARC], refs[taken, _REST], spare, spare_refs, count,
                    )  # fmt: skip
                    taken += 1
                else:
                    count = pushed(new_slope, new_intercept, arc, here, spare, spare_refs, count)
                    here += 1
            lines, spare = spare, lines
            refs, spare_refs = spare_refs, refs
            size = count
        pool, pool_refs = with_room(pool, pool_refs, filled, filled + size)
        begin[state] = filled
        for place in range(size):
            pool[filled], pool_refs[filled] = lines[place], refs[place]
            filled += 1
        end[state] = filled
    first, last = begin[start], end[start]
    return (pool[first:last].copy(), *_traced(first, last, pool_refs, label))


@kernel
def _traced(first, last, refs, label):  # type: ignore[no-untyped-def]
    """Return the arcs and the words of the paths that segments begin."""
    count = last - first
    arc_offset, word_offset = np.zeros(count + 1, np.int32), np.zeros(count + 1, np.int32)
    for number in range(count):
        steps = spoken = 0
        at = first + number
        while refs[at, _ARC] >= 0:
            steps += 1
            spoken += label[refs[at, _ARC]] > 0
            at = refs[at, _REST]
        arc_offset[number + 1] = arc_offset[number] + steps
        word_offset[number + 1] = word_offset[number] + spoken
    arcs = np.empty(arc_offset[count], np.int32)
    words = np.empty(word_offset[count], np.int32)
    step = spoken = 0
    for number in range(count):
        at = first + number
        while refs[at, _ARC] >= 0:
            arc = refs[at, _ARC]
            arcs[step] = arc
            step += 1
            if label[arc] > 0:
                words[spoken] = label[arc]
                spoken += 1
            at = refs[at, _REST]
    return arcs, arc_offset, words, word_offset
