"""The forest kernel's way down: everything that can have made the best value.

An item is a cell of a node's table: the words of the node, from one machine state to another.
From the cells of the root that hold the best value downward, edges are read again, and those
that come to the value of an item are split, symbol by symbol, into the items of their tails.
Gains are added up in the order in which the tables were filled, so what was best there is
equal here to the last bit.
"""

from __future__ import annotations

import numpy as np

from lattices.arrays import inlined, kernel
from lattices.engines.forest_inside import wordless_gain
from lattices.engines.forest_plan import ANCHORED, column_state, first_rows, row_state, state_column
from lattices.engines.forest_reading import FRONT_FIELDS, RUN, START, read_edge

NONE = -1
# A link leads from a state to another over one symbol, at the level of that symbol (from 1);
# its last field is the item of the tail that is read, or one of these.
LEVEL, FROM, TO, WHAT = range(4)
LINK_FIELDS = 4
WORD = -1
#: such a link leads from the last level to the item in ``TO``
DONE = -2
# A job is the target side of one edge, read from one state: its links are ``links[begin:end]``.
EDGE, STATE, BEGIN, END = range(4)
JOB_FIELDS = 4


@kernel
def room(rows, needed):  # type: ignore[no-untyped-def]
    """Return the array, or a longer copy if it has fewer than ``needed`` entries."""
    if needed <= len(rows):
        return rows
    grown = np.empty(max(needed, 2 * len(rows)), rows.dtype)
    grown[: len(rows)] = rows
    return grown


@inlined
def put_link(links, linked, level, source, target, what):  # type: ignore[no-untyped-def]
    """Write a link and return where the next one goes."""
    links[linked + LEVEL], links[linked + FROM] = level, source
    links[linked + TO], links[linked + WHAT] = target, what
    return linked + LINK_FIELDS


@kernel
def with_job(jobs, done, edge, state, begin, end):  # type: ignore[no-untyped-def]
    """Return the jobs, of which there are ``done``, and one more."""
    jobs = room(jobs, JOB_FIELDS * (done + 1))
    job = JOB_FIELDS * done
    jobs[job + EDGE], jobs[job + STATE] = edge, state
    jobs[job + BEGIN], jobs[job + END] = begin, end
    return jobs


@kernel
def chained_cells(newest, behind, cell_of):  # type: ignore[no-untyped-def]
    """Return the cells of an entry and of all that stand behind it, in ascending order."""
    count, entry = 0, newest
    while entry != NONE:
        count += 1
        entry = behind[entry]
    cells = np.empty(count, np.int64)
    entry = newest
    for index in range(count):
        cells[index] = cell_of[entry]
        entry = behind[entry]
    cells.sort()
    return cells


@kernel
def _from_best(levels, before, begin, end, more, value, sources, count):  # type: ignore[no-untyped-def]
    """List the places up to ``end`` from which deletions and a gain of ``more`` give ``value``."""
    best = levels.dtype.type(-np.inf)
    for place in range(begin, end + 1):
        best = max(best, levels[before + place])
    if best + more == value:
        for place in range(begin, end + 1):
            if levels[before + place] == best:
                sources[count] = place
                count += 1
    return count


@kernel
def _before_word(  # type: ignore[no-untyped-def]
    levels, before, begin, state, value, order, stride, insertion, substitution, deletion,
    entry, follow, position, weight, sources,
):  # fmt: skip
    """List the states from which a word leads to ``state`` with ``value``; return how many."""
    number = levels.dtype.type
    layer, place = state // stride, state % stride
    count = 0
    if layer == 0:
        if levels[before + place] + -insertion == value:
            sources[count] = place
            count += 1
        if place > begin and levels[before + place - 1] + substitution == value:
            sources[count] = place - 1
            count += 1
    while entry >= 0:
        if position[entry] + 1 == place:
            for run in range(order):
                if layer != 0 and min(run + 1, order - 1) != layer:
                    continue
                more = number(run + 1) * weight[entry] + deletion
                if run == 0:
                    count = _from_best(
                        levels, before, begin, place - 1, more, value, sources, count
                    )
                elif levels[before + run * stride + place - 1] + more == value:
                    sources[count] = run * stride + place - 1
                    count += 1
        entry = follow[entry]
    return count


@kernel
def _before_node(  # type: ignore[no-untyped-def]
    levels, before, begin, state, value, length, order, stride,
    table, quiet, base, columns, anchored, left_place, right_place, silent_cell, sources, cells,
):  # fmt: skip
    """List the states from which a node leads to ``state`` with ``value``, and the cells."""
    worst = levels.dtype.type(-np.inf)
    layer, place = state // stride, state % stride
    column = state_column(layer, place, order, stride, right_place)
    count = 0
    if column != NONE:
        for source in range(begin, 1 if anchored else place + 1):
            cell = base + source * columns + column
            gain = levels[before + source]
            if gain > worst and gain + table[cell] == value:
                sources[count], cells[count] = source, cell
                count += 1
        for index in range(len(left_place)):
            source = left_place[index]
            if begin <= source <= place:
                for run in range(1, order):
                    cell = base + (length + index * (order - 1) + run) * columns + column
                    gain = levels[before + run * stride + source]
                    if gain > worst and gain + table[cell] == value:
                        sources[count], cells[count] = run * stride + source, cell
                        count += 1
    if quiet > worst and levels[before + state] + quiet == value:
        sources[count], cells[count] = state, silent_cell
        count += 1
    return count


@kernel
def find_tight(  # type: ignore[no-untyped-def]
    top, root, table, silent, levels, gathered, bias,
    in_offset, tail, tail_offset, symbol, symbol_offset,
    length, order, stride, insertion, substitution, deletion, chain, follow, position, weight,
    use, base, width, left_offset, left_place, right_offset, right_place,
    row_offset, row_high, spans,
):  # fmt: skip
    """Return the jobs, from the root down, their links, and the number of items.

    ``top`` is the best gain in the row of the root. All items of the root count as one, with
    the number 0. Links stand with the last level first. Where ``spans`` tell that nothing
    matches, items that differ in nothing but the place where they begin are one.
    """
    nodes = len(in_offset) - 1
    size = order * stride
    total = base[nodes]
    number_of = np.full(total + nodes, NONE, np.int32)
    cell_of = np.empty(256, np.int64)
    behind = np.empty(256, np.int32)
    newest = np.full(nodes, NONE, np.int32)
    known = 0
    cell_of = room(cell_of, length + 1)
    behind = room(behind, length + 1)
    for place in range(length + 1):
        if table[base[root] + place] == top:
            number_of[base[root] + place] = 0
            cell_of[known], behind[known] = base[root] + place, newest[root]
            newest[root] = known
            known += 1
    items = 1
    jobs = np.empty(JOB_FIELDS * 256, np.int64)
    links = np.empty(LINK_FIELDS * 1024, np.int32)
    done = linked = 0
    most = len(position) * order * (length + 1) + 3 * (size + 2)
    sources = np.empty(most, np.int32)
    cells = np.empty(most, np.int64)
    wanted = np.zeros(len(levels), np.bool_)
    front = np.full((1, FRONT_FIELDS), length + 1, np.int32)
    earliest = first_rows(spans)
    for node in range(nodes - 1, -1, -1):
        if newest[node] == NONE:
            continue
        members = chained_cells(newest[node], behind, cell_of)
        count = len(members)
        columns = width[node]
        end = 0
        while end < count:
            begin = end
            quietly = members[begin] >= total
            row = (members[begin] - base[node]) // columns
            while end < count and (members[end] - base[node]) // columns == row:
                end += 1
            if not quietly:
                start, run = row_state(row, length, order, left_offset[node], left_place)
                front[0, START], front[0, RUN] = start, run
            for edge in range(in_offset[node], in_offset[node + 1]):
                first, last = symbol_offset[edge], symbol_offset[edge + 1]
                job_begin = linked
                if linked + LINK_FIELDS * (end - begin + last - first) > len(links):
                    links = room(links, linked + LINK_FIELDS * (end - begin + last - first))
                if quietly:
                    quiet = wordless_gain(edge, silent, tail, tail_offset, symbol, symbol_offset)
                    if quiet + bias[edge] != silent[node]:
                        continue
                    item = number_of[members[begin]]
                    linked = put_link(links, linked, last - first + 1, 0, item, DONE)
                else:
                    here = read_edge(
                        levels, True, edge, front, 1,
                        tail, tail_offset, symbol, symbol_offset,
                        length, order, stride, insertion, substitution, deletion,
                        chain, follow, position, weight, table, silent, base, width,
                        left_offset, left_place, right_offset, right_place, gathered,
                        row_offset, row_high,
                    )  # fmt: skip
                    for index in range(begin, end):
                        column = (members[index] - base[node]) % columns
                        state = column_state(column, order, stride, right_offset[node], right_place)
                        if levels[here + state] + bias[edge] == table[members[index]]:
                            wanted[here + state] = True
                            item = number_of[members[index]]
                            linked = put_link(links, linked, last - first + 1, state, item, DONE)
                if linked == job_begin:
                    continue
                for index in range(last - 1, first - 1, -1):
                    level = index - first + 1
                    after, before = level * size, (level - 1) * size
                    below = NONE
                    if symbol[index] < 0:
                        below = tail[tail_offset[edge] - 1 - symbol[index]]
                    for state in range(1 if quietly else size):
                        if quietly:
                            sources[0], cells[0] = 0, total + below
                            found = 1
                        elif not wanted[after + state]:
                            continue
                        elif below == NONE:
                            wanted[after + state] = False
                            found = _before_word(
                                levels, before, front[0, START], state, levels[after + state],
                                order, stride, insertion, substitution, deletion,
                                chain[symbol[index]], follow, position, weight, sources,
                            )  # fmt: skip
                        else:
                            wanted[after + state] = False
                            found = _before_node(
                                levels, before, front[0, START], state, levels[after + state],
                                length, order, stride, table, silent[below], base[below],
                                width[below], use[below] == ANCHORED,
                                left_place[left_offset[below] : left_offset[below + 1]],
                                right_place[right_offset[below] : right_offset[below + 1]],
                                total + below, sources, cells,
                            )  # fmt: skip
                        if linked + LINK_FIELDS * found > len(links):
                            links = room(links, linked + LINK_FIELDS * found)
                        for way in range(found):
                            what = WORD
                            if below != NONE:
                                cell = cells[way]
                                source = sources[way]
                                covered = state - source
                                if (
                                    source < stride > state
                                    and cell < total
                                    and len(spans) > 0
                                    and spans[below, source] >= covered
                                ):
                                    # nothing matches: wherever it begins, it is the same
                                    origin = np.int64(earliest[below, covered])
                                    cell = base[below] + origin * (width[below] + 1) + covered
                                if number_of[cell] == NONE:
                                    if known == len(cell_of):
                                        cell_of = room(cell_of, known + 1)
                                        behind = room(behind, known + 1)
                                    number_of[cell] = items
                                    items += 1
                                    cell_of[known], behind[known] = cell, newest[below]
                                    newest[below] = known
                                    known += 1
                                what = number_of[cell]
                            linked = put_link(links, linked, level, sources[way], state, what)
                            if not quietly:
                                wanted[before + sources[way]] = True
                if not quietly:
                    wanted[:size] = False
                state = 0 if quietly else front[0, RUN] * stride + front[0, START]
                jobs = with_job(jobs, done, edge, state, job_begin, linked)
                done += 1
    return jobs[: JOB_FIELDS * done], links, items
