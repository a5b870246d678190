"""The forest kernel's tables: which rows and columns a node has, and where they stand."""

from __future__ import annotations

import numpy as np

from lattices.arrays import inlined, kernel
from lattices.engines.forward import LANES

#: what is asked of a node: nothing, sentences from ``(0, 0)``, or from any state
UNUSED, ANCHORED, ANYWHERE = range(3)


@inlined
def table_stride(length):  # type: ignore[no-untyped-def]
    """Return how far apart the layers of a row are: whole vectors, and a place beyond the last."""
    return ((length + 1) // LANES + 1) * LANES


@kernel
def plan_tables(  # type: ignore[no-untyped-def]
    in_offset, tail, tail_offset, symbol, symbol_offset, root,
    length, order, stride, chain, follow, position,
):  # fmt: skip
    """Return where the table of each node stands, and which rows and columns it has.

    Returns
    -------
    use : int8 column
        ``UNUSED``, ``ANCHORED`` or ``ANYWHERE``.
    base, width : int64 and int32 columns
        Row ``r`` of node ``q`` begins at ``base[q] + r * width[q]``.
    left_offset, left_place
        Places where a first word of a node matches, in ascending order. The ``order - 1``
        rows of each follow the ``length + 1`` rows of ``(i, 0)``.
    right_offset, right_place
        The same for last words: places just after their match. The ``order - 1`` columns of
        each follow the ``stride`` columns of ``(j, 0)``.
    """
    nodes = len(in_offset) - 1
    use = np.zeros(nodes, np.int8)
    use[root] = ANCHORED
    for node in range(nodes - 1, -1, -1):
        if use[node] == UNUSED:
            continue
        for edge in range(in_offset[node], in_offset[node + 1]):
            for index in range(symbol_offset[edge], symbol_offset[edge + 1]):
                if symbol[index] > 0:
                    continue
                below = tail[tail_offset[edge] - 1 - symbol[index]]
                asked = use[node] if index == symbol_offset[edge] else ANYWHERE
                use[below] = max(use[below], asked)
    wordless = np.zeros(nodes, np.bool_)
    begins = np.zeros((nodes, length + 1), np.bool_)
    ends = np.zeros((nodes, length + 1), np.bool_)
    for node in range(nodes):
        if use[node] == UNUSED:
            continue
        for edge in range(in_offset[node], in_offset[node + 1]):
            first, last = symbol_offset[edge], symbol_offset[edge + 1]
            for side in range(2):
                index = first if side == 0 else last - 1
                while first <= index < last:
                    if symbol[index] > 0:
                        entry = chain[symbol[index]]
                        while entry >= 0:
                            if side == 0:
                                begins[node, position[entry]] = True
                            else:
                                ends[node, position[entry] + 1] = True
                            entry = follow[entry]
                        break
                    below = tail[tail_offset[edge] - 1 - symbol[index]]
                    for place in range(length + 1):
                        if side == 0:
                            begins[node, place] |= begins[below, place]
                        else:
                            ends[node, place] |= ends[below, place]
                    if not wordless[below]:
                        break
                    index += 1 if side == 0 else -1
                if index == last:
                    wordless[node] = True
    base = np.zeros(nodes + 1, np.int64)
    width = np.zeros(nodes, np.int32)
    left_offset = np.zeros(nodes + 1, np.int32)
    right_offset = np.zeros(nodes + 1, np.int32)
    left_place = np.empty(begins.sum(), np.int32)
    right_place = np.empty(ends.sum(), np.int32)
    for node in range(nodes):
        left, right = left_offset[node], right_offset[node]
        if order > 1 and use[node] != UNUSED:
            for place in range(length + 1):
                if begins[node, place] and use[node] == ANYWHERE:
                    left_place[left] = place
                    left += 1
                if ends[node, place]:
                    right_place[right] = place
                    right += 1
        rows = 1 if use[node] == ANCHORED else length + 1 + (left - left_offset[node]) * (order - 1)
        extra = (right - right_offset[node]) * (order - 1)
        if use[node] != UNUSED:
            width[node] = stride + (extra + LANES - 1) // LANES * LANES
        left_offset[node + 1], right_offset[node + 1] = left, right
        base[node + 1] = base[node] + np.int64(rows) * width[node]
    return use, base, width, left_offset, left_place, right_offset, right_place


@inlined
def row_state(row, length, order, lefts, left_place):  # type: ignore[no-untyped-def]
    """Return the machine state of a row: its place and its run of matches."""
    begin, run = row, 0
    if row > length:
        index = row - length - 1
        begin, run = left_place[lefts + index // (order - 1)], index % (order - 1) + 1
    return begin, run


@inlined
def column_state(column, order, stride, rights, right_place):  # type: ignore[no-untyped-def]
    """Return the machine state of a column: ``run * stride + place``."""
    state = column
    if column >= stride:
        index = column - stride
        state = right_place[rights + index // (order - 1)] + (index % (order - 1) + 1) * stride
    return state


@kernel
def state_column(layer, place, order, stride, right_place):  # type: ignore[no-untyped-def]
    """Return the column of a machine state in a node with these places, or -1."""
    column = place if layer == 0 else -1
    if layer > 0:
        for index in range(len(right_place)):
            if right_place[index] == place:
                column = stride + index * (order - 1) + layer - 1
    return column


@kernel
def matchless_spans(  # type: ignore[no-untyped-def]
    in_offset, tail, tail_offset, symbol, symbol_offset, length, chain, follow, position
):
    """Return for each node and place how many places from there on no word of the node matches.

    Over such places the words of a node do the same wherever they begin.
    """
    nodes = len(in_offset) - 1
    spans = np.zeros((nodes, length + 1), np.int32)
    touched = np.zeros(nodes * length, np.bool_)
    for node in range(nodes):
        own = node * length
        for edge in range(in_offset[node], in_offset[node + 1]):
            for index in range(symbol_offset[edge], symbol_offset[edge + 1]):
                if symbol[index] > 0:
                    entry = chain[symbol[index]]
                    while entry >= 0:
                        touched[own + position[entry]] = True
                        entry = follow[entry]
                else:
                    below = tail[tail_offset[edge] - 1 - symbol[index]] * length
                    for place in range(length):
                        touched[own + place] |= touched[below + place]
        span = 0
        for place in range(length - 1, -1, -1):
            span = 0 if touched[own + place] else span + 1
            spans[node, place] = span
    return spans
