"""The forest kernel's way down, with slack: all that comes near to the best value.

Like :mod:`.forest_tight`, but an item is followed if some derivation through it reaches the
bound, not only if it reaches the best value. What the item itself earns at best stands in the
tables; what all around it earns at best is carried from the top down. The links found are the
edges of a hypergraph, the product of the forest and the machine, whose derivations are pairs
of a derivation of the forest and an alignment of its words. It has every pair that reaches
the bound, and some that do not.

The two ways down are written apart, though their loops are alike: the other compares for
equality, in the numbers of the tables, keeps a flag where this one keeps what is earned around
a state, and takes items for one that this one keeps apart.
"""

from __future__ import annotations

import numpy as np

from lattices.arrays import kernel
from lattices.engines.forest_inside import wordless_gain
from lattices.engines.forest_plan import ANCHORED, column_state, row_state, state_column
from lattices.engines.forest_reading import FRONT_FIELDS, RUN, START, read_edge
from lattices.engines.forest_tight import (
    DONE,
    JOB_FIELDS,
    LINK_FIELDS,
    NONE,
    WORD,
    chained_cells,
    put_link,
    room,
    with_job,
)


@kernel
def _ways_over_word(  # type: ignore[no-untyped-def]
    begin, state, order, stride, insertion, substitution, deletion, entry, follow, position, weight,
    sources, gains,
):  # fmt: skip
    """List the states from which a word leads to ``state``, and the gains; return how many."""
    layer, place = state // stride, state % stride
    count = 0
    substituted = NONE
    if layer == 0:
        sources[0], gains[0] = place, -insertion
        count = 1
        if place > begin:
            sources[1], gains[1] = place - 1, substitution
            substituted, count = 1, 2
    while entry >= 0:
        if position[entry] + 1 == place > begin:
            for run in range(order):
                if layer != 0 and min(run + 1, order - 1) != layer:
                    continue
                gain = np.float64(run + 1) * weight[entry] + deletion
                if run > 0:
                    sources[count], gains[count] = run * stride + place - 1, gain
                    count += 1
                    continue
                # deletions are made just before a match
                for source in range(begin, place):
                    if source == place - 1 and substituted != NONE:
                        gains[substituted] = max(gains[substituted], gain)
                    else:
                        sources[count], gains[count] = source, gain
                        count += 1
        entry = follow[entry]
    return count


@kernel
def _ways_over_node(  # type: ignore[no-untyped-def]
    begin, state, length, order, stride, quiet, base, columns, anchored,
    left_place, right_place, silent_cell, sources, cells,
):  # fmt: skip
    """List the states from which a node leads to ``state``, and its cells; return how many."""
    layer, place = state // stride, state % stride
    column = state_column(layer, place, order, stride, right_place)
    count = 0
    if column != NONE:
        for source in range(begin, 1 if anchored else place + 1):
            sources[count], cells[count] = source, base + source * columns + column
            count += 1
        for index in range(len(left_place)):
            source = left_place[index]
            if begin <= source <= place:
                for run in range(1, order):
                    row = length + index * (order - 1) + run
                    sources[count] = run * stride + source
                    cells[count] = base + row * columns + column
                    count += 1
    if quiet > -np.inf:
        sources[count], cells[count] = state, silent_cell
        count += 1
    return count


@kernel
def find_near(  # type: ignore[no-untyped-def]
    bound, most_links, root, table, silent, levels, gathered, bias,
    in_offset, tail, tail_offset, symbol, symbol_offset,
    length, order, stride, insertion, substitution, deletion, chain, follow, position, weight,
    use, base, width, left_offset, left_place, right_offset, right_place,
    row_offset, row_high, spans,
):  # fmt: skip
    """Return jobs, links, the gain of each link, the items, and whether anything was left out.

    Jobs, links and items are those of :func:`~.forest_tight.find_tight`. With more than
    ``most_links`` links, there are -1 items.
    """
    nodes = len(in_offset) - 1
    size = order * stride
    total = base[nodes]
    number_of = np.full(total + nodes, NONE, np.int32)
    cell_of = np.empty(256, np.int64)
    outer = np.empty(256, np.float64)
    behind = np.empty(256, np.int32)
    newest = np.full(nodes, NONE, np.int32)
    cell_of, outer = room(cell_of, length + 1), room(outer, length + 1)
    behind = room(behind, length + 1)
    # an entry for each cell that is followed; those of the root are one item, number 0
    known, items, cut = 0, 1, False
    entry_of = np.full(total + nodes, NONE, np.int32)
    for place in range(length + 1):
        if table[base[root] + place] == -np.inf:
            continue
        if table[base[root] + place] < bound:
            cut = True
            continue
        cell = base[root] + place
        number_of[cell], entry_of[cell] = 0, known
        cell_of[known], behind[known], outer[known] = cell, newest[root], 0.0
        newest[root] = known
        known += 1
    jobs = np.empty(JOB_FIELDS * 256, np.int64)
    links = np.empty(LINK_FIELDS * 1024, np.int32)
    earned = np.empty(1024, np.float64)
    done = linked = 0
    most = len(position) * order * (length + 1) + 3 * (size + 2)
    sources = np.empty(most, np.int32)
    cells = np.empty(most, np.int64)
    gains = np.empty(most, np.float64)
    around = np.full(len(levels), -np.inf)
    front = np.full((1, FRONT_FIELDS), length + 1, np.int32)
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
                levels_here = last - first + 1
                job_begin = linked
                needed = linked + LINK_FIELDS * (end - begin + last - first)
                if needed > len(links):
                    links = room(links, needed)
                    earned = room(earned, len(links) // LINK_FIELDS + 1)
                quiet = -np.inf
                if quietly:
                    quiet = wordless_gain(edge, silent, tail, tail_offset, symbol, symbol_offset)
                    if quiet == -np.inf:
                        continue
                    if quiet + bias[edge] + outer[entry_of[members[begin]]] < bound:
                        cut = True
                        continue
                    earned[linked // LINK_FIELDS] = 0.0
                    item = number_of[members[begin]]
                    linked = put_link(links, linked, levels_here, 0, item, DONE)
                else:
                    here = read_edge(
                        levels, True, edge, front, 1,
                        tail, tail_offset, symbol, symbol_offset,
                        length, order, stride, insertion, substitution, deletion,
                        chain, follow, position, weight, table, silent, base, width,
                        left_offset, left_place, right_offset, right_place, gathered,
                        row_offset, row_high,
                    )  # fmt: skip
                    around[: levels_here * size] = -np.inf
                    for index in range(begin, end):
                        column = (members[index] - base[node]) % columns
                        state = column_state(column, order, stride, right_offset[node], right_place)
                        if levels[here + state] == -np.inf:
                            continue
                        outside = bias[edge] + outer[entry_of[members[index]]]
                        if levels[here + state] + outside < bound:
                            cut = True
                            continue
                        around[here + state] = max(around[here + state], outside)
                        earned[linked // LINK_FIELDS] = 0.0
                        item = number_of[members[index]]
                        linked = put_link(links, linked, levels_here, state, item, DONE)
                if linked == job_begin:
                    continue
                for index in range(last - 1, first - 1, -1):
                    level = index - first + 1
                    after, before = level * size, (level - 1) * size
                    below = NONE
                    if symbol[index] < 0:
                        below = tail[tail_offset[edge] - 1 - symbol[index]]
                    for state in range(1 if quietly else size):
                        outside = 0.0
                        if quietly:
                            sources[0], cells[0] = 0, total + below
                            found = 1
                        elif around[after + state] == -np.inf:
                            continue
                        elif below == NONE:
                            outside = around[after + state]
                            found = _ways_over_word(
                                front[0, START], state, order, stride,
                                insertion, substitution, deletion, chain[symbol[index]],
                                follow, position, weight, sources, gains,
                            )  # fmt: skip
                        else:
                            outside = around[after + state]
                            found = _ways_over_node(
                                front[0, START], state, length, order, stride, silent[below],
                                base[below], width[below], use[below] == ANCHORED,
                                left_place[left_offset[below] : left_offset[below + 1]],
                                right_place[right_offset[below] : right_offset[below + 1]],
                                total + below, sources, cells,
                            )  # fmt: skip
                        if linked + LINK_FIELDS * found > len(links):
                            links = room(links, linked + LINK_FIELDS * found)
                            earned = room(earned, len(links) // LINK_FIELDS + 1)
                        for way in range(found):
                            source, what, gain = sources[way], WORD, 0.0
                            forward, inner = 0.0, 0.0
                            if not quietly:
                                forward = levels[before + source]
                            if below == NONE:
                                gain = gains[way]
                                inner = gain
                            else:
                                cell = cells[way]
                                inner = silent[below] if cell >= total else table[cell]
                                if quietly:
                                    # around the tail: all that the edge has but for it
                                    outside = quiet - inner + bias[edge]
                                    outside += outer[entry_of[members[begin]]]
                            if forward == -np.inf or inner == -np.inf:
                                continue
                            if forward + inner + outside < bound:
                                cut = True
                                continue
                            if below != NONE:
                                if number_of[cell] == NONE:
                                    if known == len(cell_of):
                                        cell_of = room(cell_of, known + 1)
                                        outer = room(outer, known + 1)
                                        behind = room(behind, known + 1)
                                    number_of[cell], entry_of[cell] = items, known
                                    items += 1
                                    cell_of[known], behind[known] = cell, newest[below]
                                    outer[known] = -np.inf
                                    newest[below] = known
                                    known += 1
                                what = number_of[cell]
                                place = entry_of[cell]
                                outer[place] = max(outer[place], forward + outside)
                            if not quietly:
                                around[before + source] = max(
                                    around[before + source], inner + outside
                                )
                            earned[linked // LINK_FIELDS] = gain
                            linked = put_link(links, linked, level, source, state, what)
                state = 0 if quietly else front[0, RUN] * stride + front[0, START]
                jobs = with_job(jobs, done, edge, state, job_begin, linked)
                done += 1
                if linked > LINK_FIELDS * most_links:
                    return jobs, links, earned, -1, True
    return jobs[: JOB_FIELDS * done], links, earned, items, cut
