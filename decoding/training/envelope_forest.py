"""The upper envelope of the derivations of a forest (Kumar et al. 2009), bottom up.

The envelope of an edge is the sum of those of its tails, and has a segment wherever one of them
turns; the envelope of a node is the maximum over its edges. A segment is a *record*, as of
:mod:`lattices.algorithms.forest_best`: an edge with a record for each of its tails, so that a
derivation is known by one number and equal lines can be told apart by their words.
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
from lattices.algorithms.forest_best import (
    BELOW,
    COLUMNS,
    EDGE,
    NEXT,
    complete,
    precedes,
    unrolled,
)
from lattices.arrays import kernel
from lattices.spaces.derivation import spelt


@kernel
def _bounds(head, tail, tail_offset, edge_lines, root, nodes):  # type: ignore[no-untyped-def]
    """Return the largest sums of absolute intercepts and slopes over any derivation."""
    most = np.full((nodes, 2), -np.inf)
    for edge in range(len(head)):
        for kind in range(2):
            total = abs(edge_lines[edge, kind])
            for place in range(tail_offset[edge], tail_offset[edge + 1]):
                total += most[tail[place], kind]
            most[head[edge], kind] = max(most[head[edge], kind], total)
    return most[root, 0], most[root, 1]


@kernel
def _grown(column, size, room):  # type: ignore[no-untyped-def]
    """Return a column, or a longer copy if it has no room for so many entries."""
    if room <= len(column):
        return column
    more = np.empty(2 * room, column.dtype)
    more[:size] = column[:size]
    return more


@kernel
def _grown_rows(rows, size, room):  # type: ignore[no-untyped-def]
    """Return rows, or a larger copy if they have no room for so many."""
    if room <= len(rows):
        return rows
    more = np.empty((2 * room, rows.shape[1]), rows.dtype)
    more[:size] = rows[:size]
    return more


@kernel
def forest_envelope(  # type: ignore[no-untyped-def]
    head, tail, tail_offset, symbol, symbol_offset, in_offset, rank, edge_lines, root
):
    """Return the envelope of the derivations of the root, with the edges and the words of each.

    Parameters
    ----------
    head, tail, tail_offset, symbol, symbol_offset, in_offset : int32 columns
    rank : int column
        The place of every word in the order of words.
    edge_lines : float64 column of two columns
        Intercepts and slopes.
    root : int

    Returns
    -------
    lines : float64 array
        With a row of NaN if sums are not finite.
    edges, edge_offset, words, word_offset : int arrays
        The last offset of the edges is negative if they are too many to be written out.
    """
    nodes = len(in_offset) - 1
    most_intercept, most_slope = _bounds(head, tail, tail_offset, edge_lines, root, nodes)
    if not (most_intercept < 1e300 and most_slope < 1e300):
        nothing, from_0 = np.empty(0, np.int32), np.zeros(1, np.int32)
        return np.full((1, 3), np.nan), nothing, from_0, nothing, np.zeros(1, np.int64)
    intercept = rounded(edge_lines[:, 0], quantum(most_intercept))
    slope = rounded(edge_lines[:, 1], quantum(most_slope))
    room = 4 * len(head)
    record = np.empty((room, COLUMNS), np.int64)
    value, turn, left = np.empty(room), np.empty(room), np.empty(room)
    below = np.empty(2 * room, np.int64)
    begin, end = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    lines, refs = np.empty((64, 3)), np.empty((64, 2), np.int64)
    spare, spare_refs = np.empty((64, 3)), np.empty((64, 2), np.int64)
    one_way, other_way = np.empty((nodes + 1, 2), np.int64), np.empty((nodes + 1, 2), np.int64)
    widest = 0
    for edge in range(len(head)):
        widest = max(widest, tail_offset[edge + 1] - tail_offset[edge])
    at = np.empty(widest, np.int64)
    base = lower = 0
    for node in range(nodes):
        size, filled, under = 0, base, lower
        for edge in range(in_offset[node], in_offset[node + 1]):
            arity = tail_offset[edge + 1] - tail_offset[edge]
            tails = tail[tail_offset[edge] : tail_offset[edge + 1]]
            possible, segments = True, 1
            for place in range(arity):
                at[place] = begin[tails[place]]
                segments += end[tails[place]] - at[place]
                possible = possible and at[place] < end[tails[place]]
            if not possible:
                continue
            record = _grown_rows(record, filled, filled + segments)
            value = _grown(value, filled, filled + segments)
            turn = _grown(turn, filled, filled + segments)
            below = _grown(below, under, under + segments * arity)
            here = filled
            while True:
                record[filled, EDGE], record[filled, BELOW] = edge, under
                turned = slope[edge]
                for place in range(arity):
                    below[under] = at[place]
                    turned += turn[at[place]]
                    under += 1
                turn[filled] = turned
                complete(
                    filled, record, value, below, tail_offset, symbol, symbol_offset, intercept
                )
                filled += 1
                # where the next of the tails turns, with all that turn there
                step = np.inf
                for place in range(arity):
                    if at[place] + 1 < end[tails[place]]:
                        step = min(step, left[at[place] + 1])
                if step == np.inf:
                    break
                for place in range(arity):
                    if at[place] + 1 < end[tails[place]] and left[at[place] + 1] == step:
                        at[place] += 1
            spare, spare_refs = with_room(spare, spare_refs, 0, size + filled - here)
            taken = count = 0
            while taken < size or here < filled:
                new_slope = turn[here] if here < filled else np.inf
                old = taken < size and lines[taken, SLOPE] <= new_slope
                if old and lines[taken, SLOPE] == new_slope:
                    if precedes(
                        here, refs[taken, 0], record, value, below, head, tail_offset,
                        symbol, symbol_offset, rank, one_way, other_way,
                    ):  # fmt: skip
                        old = False
                        taken += 1
                    else:
                        here += 1
                if old:
                    item = refs[taken, 0]
                    taken += 1
                else:
                    item = here
                    here += 1
                count = pushed(turn[item], value[item], item, -1, spare, spare_refs, count)
            lines, spare = spare, lines
            refs, spare_refs = spare_refs, refs
            size = count
        # what the node keeps takes the place of all that was tried
        kept, kept_below = np.empty((size, COLUMNS), np.int64), np.empty(under - lower, np.int64)
        kept_value, kept_turn = np.empty(size), np.empty(size)
        moved = 0
        for place in range(size):
            item = refs[place, 0]
            kept[place], kept_value[place], kept_turn[place] = record[item], value[item], turn[item]
            edge = record[item, EDGE]
            kept[place, BELOW] = lower + moved
            for index in range(tail_offset[edge + 1] - tail_offset[edge]):
                kept_below[moved] = below[record[item, BELOW] + index]
                moved += 1
        left = _grown(left, base, base + size)
        begin[node], end[node] = base, base + size
        for place in range(size):
            record[base], value[base], turn[base] = kept[place], kept_value[place], kept_turn[place]
            left[base] = lines[place, LEFT]
            base += 1
        below[lower : lower + moved] = kept_below[:moved]
        lower += moved
    first, last = begin[root], end[root]
    found = np.empty((last - first, 3))
    for item in range(first, last):
        row = found[item - first]
        row[SLOPE], row[INTERCEPT], row[LEFT] = turn[item], value[item], left[item]
        record[item, NEXT] = item + 1
    edges, offset = unrolled(first, last - first, record, below, tail_offset, one_way)
    words, word_offset = np.empty(0, np.int32), np.zeros(1, np.int64)
    if offset[-1] >= 0:
        words, word_offset, _ = spelt(edges, offset, tail_offset, symbol, symbol_offset, intercept)
    return found, edges, offset, words, word_offset
