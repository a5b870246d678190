"""Checking a lattice and putting its arcs in order, in one pass over its columns."""

from __future__ import annotations

import numpy as np

from lattices.arrays import kernel

#: in normal form, or so but for the order of arcs; states are in no topological order; or
#: something is wrong, which it takes a second look to name
NORMAL, UNSORTED, UNORDERED, WRONG = 0, 1, 2, 3


@kernel
def normal_form(src, dst, label, score, final, words):  # type: ignore[no-untyped-def]
    """Tell what a lattice lacks to be in the normal form of :class:`lattices.Lattice`.

    Time is linear in the numbers of arcs and states.

    Parameters
    ----------
    src, dst, label : int32 columns
    score, final : float64 columns
        All but ``final`` have one entry an arc.
    words : int
        Labels are below it.

    Returns
    -------
    state : int
        One of :data:`NORMAL`, :data:`UNSORTED`, :data:`UNORDERED` and :data:`WRONG`; with the
        last two, the rest means nothing.
    order : int32 array
        The arcs by source, then by target, then as they came.
    in_arc, in_offset, out_offset : int32 arrays
        Of the lattice with its arcs in that order.
    """
    arcs, states = len(src), len(final)
    order, in_arc = np.empty(arcs, np.int32), np.empty(arcs, np.int32)
    in_offset, out_offset = np.zeros(states + 1, np.int32), np.zeros(states + 1, np.int32)
    ending = good = False
    for state in range(states):
        good = np.isfinite(final[state])
        ending |= good
        if not good and final[state] != -np.inf:
            return WRONG, order, in_arc, in_offset, out_offset
    if not ending:
        return WRONG, order, in_arc, in_offset, out_offset
    ordered = in_order = True
    for arc in range(arcs):
        good = 0 <= src[arc] < states and 0 <= dst[arc] < states and 0 <= label[arc] < words
        if not good or not np.isfinite(score[arc]):
            return WRONG, order, in_arc, in_offset, out_offset
        ordered &= src[arc] < dst[arc]
        if arc:
            same = src[arc - 1] == src[arc]
            in_order &= src[arc - 1] < src[arc] or (same and dst[arc - 1] <= dst[arc])
        out_offset[src[arc] + 1] += 1
        in_offset[dst[arc] + 1] += 1
    if not ordered:
        return UNORDERED, order, in_arc, in_offset, out_offset
    for state in range(states):
        out_offset[state + 1] += out_offset[state]
        in_offset[state + 1] += in_offset[state]
    place = in_offset[:-1].copy()
    for arc in range(arcs):
        in_arc[place[dst[arc]]] = arc
        place[dst[arc]] += 1
    if in_order:
        for arc in range(arcs):
            order[arc] = arc
        return NORMAL, order, in_arc, in_offset, out_offset
    place[:] = out_offset[:-1]
    for index in range(arcs):
        arc = in_arc[index]
        order[place[src[arc]]] = arc
        place[src[arc]] += 1
    place[:] = in_offset[:-1]
    for index in range(arcs):
        state = dst[order[index]]
        in_arc[place[state]] = index
        place[state] += 1
    return UNSORTED, order, in_arc, in_offset, out_offset
