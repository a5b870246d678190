"""The forest kernel's pass from the bottom up: what every node earns between machine states.

The machine is an :class:`~lattices.engines.automata.Alignment`, with states ``(i, m)``: ``i``
reference words are behind, the last ``m`` of them matched in a row. For each node there is a
table of the best gain with which its words lead from one state to another (Bar-Hillel,
Perles and Shamir 1961). Most of the ``(order x length)**2`` cells need no place in it:

- positions only grow, so a row ends where it begins or to the right of it;
- from ``(i, m)``, ``m > 0``, nothing is earned that ``(i, 0)`` would not, unless a first word
  of the node matches at ``i``: only then there are rows for ``m > 0``;
- in ``(j, m)``, ``m > 0``, no words end, unless a last word matches just before ``j``: only
  then there are columns for ``m > 0``;
- a node that only ever begins a sentence needs the one row of ``(0, 0)``. The forest of a
  lattice has no others, and costs what the lattice does.

Sentences without words would need rows and columns for all states. What they earn, nothing
or their weighted model score, stands apart.

As in :mod:`.forward` column ``j`` carries ``j * deletion`` more than its gain, which makes
deletions free. Here they are made just before a match, or at the end of the sentence, and
nowhere else: every alignment has one of that kind with the same operations, and ties are fewer.
"""

from __future__ import annotations

import numpy as np

from lattices.arrays import inlined, kernel
from lattices.engines.forest_vectors import copy_vector, fill_vector, raise_vector
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


@kernel
def _read_word(  # type: ignore[no-untyped-def]
    levels, before, after, begins, rows, length, order, stride, insertion, deletion,
    entry, follow, position, weight,
):  # fmt: skip
    """Read one word: from the gains at ``levels[before:]`` to those at ``levels[after:]``."""
    number = levels.dtype.type
    worst = number(-np.inf)
    size = order * stride
    for row in range(rows):
        begin = begins[row]
        for cell in range(0, size, LANES):
            fill_vector(levels, after + cell, worst)
        for place in range(begin // LANES * LANES, stride, LANES):
            raise_vector(levels, after + place, levels, before + place, -insertion)
            raise_vector(levels, after + place + 1, levels, before + place, deletion)
        # there is no word left to substitute after the last
        levels[after + length + 1] = worst
        match = entry
        while match >= 0:
            place = position[match]
            if place >= begin:
                there = forgotten = after + place + 1
                gain = worst
                for earlier in range(begin, place + 1):
                    other = levels[before + earlier]
                    gain = other if other > gain else gain
                for run in range(order):
                    if run > 0:
                        gain = levels[before + run * stride + place]
                    gain += number(run + 1) * weight[match] + deletion
                    if run + 1 < order:
                        there += stride
                    if gain > levels[there]:
                        levels[there] = gain
                        # a run may be forgotten at once, at no cost
                        if gain > levels[forgotten]:
                            levels[forgotten] = gain
            match = follow[match]
        before += size
        after += size


@kernel
def _read_node(  # type: ignore[no-untyped-def]
    levels, before, after, begins, runs, rows, at_start, length, order, stride,
    table, quiet, base, columns, left_place, right_place, gathered,
):  # fmt: skip
    """Read the words of a node: a maximum over the states in between.

    With ``at_start`` there is but one, that of the row which is made. Columns of ``(j, 0)``
    are made in place, the others in ``gathered``.
    """
    worst = levels.dtype.type(-np.inf)
    size = order * stride
    layers = order - 1
    for row in range(rows):
        begin, run = begins[row], runs[row]
        for cell in range(0, size, LANES):
            fill_vector(levels, after + cell, worst)
        for cell in range(0, columns - stride, LANES):
            fill_vector(gathered, cell, worst)
        if at_start:
            source = base + begin * columns
            if run > 0:
                for index in range(len(left_place)):
                    if left_place[index] == begin:
                        source = base + (length + index * layers + run) * columns
            for cell in range(0, stride, LANES):
                copy_vector(levels, after + cell, table, source + cell)
            for cell in range(0, columns - stride, LANES):
                copy_vector(gathered, cell, table, source + stride + cell)
        else:
            for place in range(begin, length + 1):
                gain = levels[before + place]
                if gain > worst:
                    source = base + place * columns
                    for cell in range(place // LANES * LANES, stride, LANES):
                        raise_vector(levels, after + cell, table, source + cell, gain)
                    for cell in range(0, columns - stride, LANES):
                        raise_vector(gathered, cell, table, source + stride + cell, gain)
            for index in range(len(left_place)):
                place = left_place[index]
                if place < begin:
                    continue
                for layer in range(1, order):
                    gain = levels[before + layer * stride + place]
                    if gain > worst:
                        source = base + (length + index * layers + layer) * columns
                        for cell in range(place // LANES * LANES, stride, LANES):
                            raise_vector(levels, after + cell, table, source + cell, gain)
                        for cell in range(0, columns - stride, LANES):
                            raise_vector(gathered, cell, table, source + stride + cell, gain)
        column = 0
        for index in range(len(right_place)):
            there = after + right_place[index]
            for _ in range(layers):
                there += stride
                levels[there] = gathered[column]
                column += 1
        if quiet > worst:
            for cell in range(0, size, LANES):
                raise_vector(levels, after + cell, levels, before + cell, quiet)
        before += size
        after += size


@kernel
def read_edge(  # type: ignore[no-untyped-def]
    levels, keep, edge, begins, runs, rows, tail, tail_offset, symbol, symbol_offset,
    length, order, stride, insertion, deletion, chain, follow, position, weight,
    table, silent, base, width, left_offset, left_place, right_offset, right_place, gathered,
):  # fmt: skip
    """Read the target side of an edge, from the state ``(begins[r], runs[r])`` for each row r.

    With ``keep``, ``levels[((k * rows + r) * order + m) * stride + j]`` becomes the best gain
    with which row ``r`` reaches state ``(j, m)`` after ``k`` symbols; without it only the last
    two levels are kept, in turns. Returns where the last one begins.
    """
    size = order * stride
    number = levels.dtype.type
    for row in range(rows):
        start = row * size
        for cell in range(start, start + size, LANES):
            fill_vector(levels, cell, number(-np.inf))
        levels[start + begins[row]] = number(0)
        levels[start + runs[row] * stride + begins[row]] = number(0)
    here = 0
    first = symbol_offset[edge]
    for index in range(first, symbol_offset[edge + 1]):
        there = here + rows * size if keep else rows * size - here
        if symbol[index] > 0:
            _read_word(
                levels, here, there, begins, rows, length, order, stride, insertion, deletion,
                chain[symbol[index]], follow, position, weight,
            )  # fmt: skip
        else:
            node = tail[tail_offset[edge] - 1 - symbol[index]]
            _read_node(
                levels, here, there, begins, runs, rows, index == first, length, order, stride,
                table, silent[node], base[node], width[node],
                left_place[left_offset[node] : left_offset[node + 1]],
                right_place[right_offset[node] : right_offset[node + 1]], gathered,
            )  # fmt: skip
        here = there
    return here


@kernel
def wordless_gain(edge, silent, tail, tail_offset, symbol, symbol_offset):  # type: ignore[no-untyped-def]
    """Return what an edge earns without any word, but for its own score; ``-inf`` if it has one."""
    gain = silent.dtype.type(0)
    for index in range(symbol_offset[edge], symbol_offset[edge + 1]):
        if symbol[index] > 0:
            return silent.dtype.type(-np.inf)
        gain += silent[tail[tail_offset[edge] - 1 - symbol[index]]]
    return gain


@kernel
def fill_tables(  # type: ignore[no-untyped-def]
    table, silent, levels, gathered, bias, in_offset, tail, tail_offset, symbol, symbol_offset,
    length, order, stride, insertion, deletion, chain, follow, position, weight,
    use, base, width, left_offset, left_place, right_offset, right_place,
):  # fmt: skip
    """Fill the table of every node, and ``silent`` with what its wordless sentences earn."""
    number = table.dtype.type
    worst = number(-np.inf)
    size = order * stride
    begins = np.empty(order * (length + 1), np.int32)
    runs = np.empty(order * (length + 1), np.int32)
    for node in range(len(in_offset) - 1):
        silent[node] = worst
        if use[node] == UNUSED:
            continue
        columns = width[node]
        for cell in range(base[node], base[node + 1], LANES):
            fill_vector(table, cell, worst)
        rows = (base[node + 1] - base[node]) // columns
        for row in range(rows):
            begins[row], runs[row] = row_state(row, length, order, left_offset[node], left_place)
        for edge in range(in_offset[node], in_offset[node + 1]):
            extra = bias[edge]
            quiet = wordless_gain(edge, silent, tail, tail_offset, symbol, symbol_offset)
            silent[node] = max(silent[node], quiet + extra)
            last = read_edge(
                levels, False, edge, begins, runs, rows, tail, tail_offset, symbol, symbol_offset,
                length, order, stride, insertion, deletion, chain, follow, position, weight,
                table, silent, base, width,
                left_offset, left_place, right_offset, right_place, gathered,
            )  # fmt: skip
            cell = base[node]
            for _ in range(rows):
                for place in range(0, stride, LANES):
                    raise_vector(table, cell + place, levels, last + place, extra)
                extra_cell = cell + stride
                for index in range(right_offset[node], right_offset[node + 1]):
                    here = last + right_place[index]
                    for _ in range(order - 1):
                        here += stride
                        gain = levels[here] + extra
                        if gain > table[extra_cell]:
                            table[extra_cell] = gain
                        extra_cell += 1
                cell += columns
                last += size
