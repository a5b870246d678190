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
Where a substitution gains no more than an insertion there are none: an insertion in its place
leaves more of the reference to the words that follow.
"""

from __future__ import annotations

import numpy as np

from lattices.arrays import kernel
from lattices.engines.forest_plan import ANCHORED, UNUSED, row_state, table_stride
from lattices.engines.forest_reading import (
    FRONT_FIELDS,
    HIGH,
    RUN,
    START,
    read_edge,
)
from lattices.engines.forest_vectors import fill_vector, raise_vector
from lattices.engines.forward import LANES

__all__ = ["ANCHORED", "fill_tables", "read_edge", "row_state", "table_stride", "wordless_gain"]


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
def _shift_row(table, row, columns, begin, length, high):  # type: ignore[no-untyped-def]
    """Set the row of a place to the one before it, moved on by one place; return its end."""
    if high < begin:
        # the row before has no items, and its vector need not have been written
        return 0
    there = min(high + 1, length + 1)
    for place in range(begin, there):
        table[row + place] = table[row - columns + place - 1]
    return there


@kernel
def fill_tables(  # type: ignore[no-untyped-def]
    table, silent, levels, gathered, bias, in_offset, tail, tail_offset, symbol, symbol_offset,
    length, order, stride, insertion, substitution, deletion, chain, follow, position, weight,
    use, base, width, left_offset, left_place, right_offset, right_place,
    row_offset, row_high, spans,
):  # fmt: skip
    """Fill the table of every node, and ``silent`` with what its wordless sentences earn.

    With the ``spans`` of :func:`~.forest_plan.matchless_spans`, rows from which on nothing matches
    are made of the first such row.
    """
    number = table.dtype.type
    worst = number(-np.inf)
    size = order * stride
    fronts = np.full((order * (length + 1), FRONT_FIELDS), length + 1, np.int32)
    numbers = np.empty(order * (length + 1), np.int32)
    for node in range(len(in_offset) - 1):
        silent[node] = worst
        if use[node] == UNUSED:
            continue
        columns = width[node]
        for cell in range(base[node], base[node + 1], LANES):
            fill_vector(table, cell, worst)
        rows = 0
        alike = length + 1
        for row in range((base[node + 1] - base[node]) // columns):
            begin, run = row_state(row, length, order, left_offset[node], left_place)
            row_high[row_offset[node] + row] = 0
            if len(spans) > 0 and 0 < row <= length and spans[node, row - 1] == length + 1 - row:
                alike = min(alike, row)
                continue
            fronts[rows, START], fronts[rows, RUN], numbers[rows] = begin, run, row
            rows += 1
        for edge in range(in_offset[node], in_offset[node + 1]):
            extra = bias[edge]
            quiet = wordless_gain(edge, silent, tail, tail_offset, symbol, symbol_offset)
            silent[node] = max(silent[node], quiet + extra)
            last = read_edge(
                levels, False, edge, fronts, rows,
                tail, tail_offset, symbol, symbol_offset,
                length, order, stride, insertion, substitution, deletion,
                chain, follow, position, weight, table, silent, base, width,
                left_offset, left_place, right_offset, right_place, gathered,
                row_offset, row_high,
            )  # fmt: skip
            for row in range(rows):
                begin, high = np.int64(fronts[row, START]), np.int64(fronts[row, HIGH])
                if high <= begin:
                    # nothing was reached; the vector where it would stand may be an old one
                    last += size
                    continue
                cell = base[node] + numbers[row] * columns
                reached = row_offset[node] + numbers[row]
                row_high[reached] = max(row_high[reached], fronts[row, HIGH])
                for place in range(begin // LANES * LANES, high, LANES):
                    raise_vector(table, cell + place, levels, last + place, extra)
                extra_cell = cell + stride
                for index in range(right_offset[node], right_offset[node + 1]):
                    if not begin < right_place[index] < high:
                        extra_cell += order - 1
                        continue
                    run_cell = last + right_place[index]
                    for _ in range(order - 1):
                        run_cell += stride
                        gain = levels[run_cell] + extra
                        if gain > table[extra_cell]:
                            table[extra_cell] = gain
                        extra_cell += 1
                last += size
        if use[node] != ANCHORED:
            for row in range(alike, length + 1):
                reached = row_offset[node] + row
                row_high[reached] = _shift_row(
                    table, base[node] + row * columns, columns, row, length, row_high[reached - 1]
                )
