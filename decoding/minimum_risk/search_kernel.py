"""The search for the best path under a weighted sum of alignments: prefixes with many rows."""

from __future__ import annotations

import numpy as np

from lattices.arrays import kernel
from lattices.engines.row_alignments import (
    absent_of,
    ending_of,
    intern_opening,
    learn_alignment_step,
    new_store,
    with_room,
)
from lattices.engines.row_outside import best_completion
from lattices.engines.rows import grown
from lattices.engines.tracing import NO_NODE, POOL_COLUMNS, end_here, relax, unroll

#: why a search ended: it is complete, a beam left prefixes out, there were too many, or room
#: is needed for more rows, nodes, links, or slots of the table of a state's nodes
COMPLETE, CUT, TOO_MANY, MORE_ROWS, MORE_NODES, MORE_LINKS, MORE_SLOTS = range(7)


@kernel
def _tuple_hash(rows):  # type: ignore[no-untyped-def]
    value = np.uint64(1469598103934665603)
    for place in range(len(rows)):
        value = (value ^ np.uint64(rows[place])) * np.uint64(1099511628211)
        value ^= value >> np.uint64(29)
    return value


@kernel
def _kept(first, nodes, bound, model, node_rows, base, tight, beam):  # type: ignore[no-untyped-def]
    """Keep the ``beam`` best prefixes of a state by bound, then by model score; return the end.

    Those that tie with the last one are kept as well: which of them came first must not matter.
    """
    count = nodes - first
    order = np.argsort(-bound[first:nodes])
    edge = bound[first + order[beam - 1]]
    above = 0
    while bound[first + order[above]] > edge:
        above += 1
    level = above
    while level < count and bound[first + order[level]] == edge:
        level += 1
    at_edge = np.sort(-model[first + order[above:level]])
    least = -at_edge[beam - 1 - above]
    place = first
    for node in range(first, nodes):
        if bound[node] > edge or (bound[node] == edge and model[node] >= least):
            node_rows[place] = node_rows[node]
            base[place], bound[place] = base[node], bound[node]
            model[place], tight[place] = model[node], tight[node]
            place += 1
    return place


@kernel
def _advance(  # type: ignore[no-untyped-def]
    state, nodes, links, rows, alignments, store, share, onward, start, alive, src, score,
    in_arc, in_offset, arc_word, floor, equal, beam, budget,
    node_start, node_rows, base, bound, model, tight, link_node, link_arc, link_next, table, cut,
):  # fmt: skip
    """Go on from a state as far as there is room; return why it ended, where, and how full.

    The state that is returned has to be gone through again. Nothing grows here: loops that
    give their arrays new names spend most of their time counting references.
    """
    absent = absent_of(alignments)
    pool, target, gained = store.pool, store.target, store.gained
    classes = alignments.word_class
    count = len(share)
    reached = np.empty(count, np.int32)
    mask = np.uint64(len(table) - 1)
    for here in range(state, len(alive)):
        first, linked = nodes, links
        if here == start:
            node_start[here], node_start[here + 1] = 0, nodes
            continue
        node_start[here], node_start[here + 1] = nodes, nodes
        if not alive[here]:
            continue
        table[:] = -1
        for index in range(in_offset[here], in_offset[here + 1]):
            arc = in_arc[index]
            if not alive[src[arc]]:
                continue
            word = arc_word[arc]
            for node in range(node_start[src[arc]], node_start[src[arc] + 1]):
                total = base[node]
                if word < 0:
                    reached[:] = node_rows[node]
                else:
                    if rows + count > len(pool):
                        return MORE_ROWS, here, first, linked, rows
                    step = 0.0
                    for number in range(count):
                        row, word_class = node_rows[node, number], classes[number, word]
                        if target[row, word_class] < 0:
                            rows = learn_alignment_step(
                                row, word_class, alignments, absent, store, rows
                            )
                        step += share[number] * gained[row, word_class]
                        reached[number] = target[row, word_class]
                    total += step
                slot = _tuple_hash(reached) & mask
                while table[slot] >= 0:
                    same = True
                    for number in range(count):
                        if node_rows[table[slot], number] != reached[number]:
                            same = False
                            break
                    if same:
                        break
                    slot = (slot + np.uint64(1)) & mask
                there = table[slot]
                if there < 0:
                    highest = total
                    for number in range(count):
                        highest += share[number] * best_completion(
                            pool[reached[number]], onward[here, number], absent
                        )
                    if highest < floor:
                        continue
                    if beam == 0 and (nodes == budget or rows > 8 * budget + 16 * count):
                        return TOO_MANY, here, first, linked, rows
                    if nodes == len(base):
                        return MORE_NODES, here, first, linked, rows
                    if 2 * (nodes - first) >= len(table):
                        return MORE_SLOTS, here, first, linked, rows
                    there = nodes
                    nodes += 1
                    table[slot] = there
                    node_rows[there] = reached
                    base[there], bound[there] = total, highest
                    model[there], tight[there] = -np.inf, -1
                elif total > base[there] + equal:
                    bound[there] += total - base[there]
                    base[there], model[there], tight[there] = total, -np.inf, -1
                elif total < base[there] - equal:
                    continue
                if links == len(link_node):
                    return MORE_LINKS, here, first, linked, rows
                model[there] = max(model[there], model[node] + score[arc])
                link_node[links], link_arc[links], link_next[links] = node, arc, tight[there]
                tight[there] = links
                links += 1
        if beam > 0 and nodes - first > beam:
            every = nodes
            nodes = _kept(first, nodes, bound, model, node_rows, base, tight, beam)
            cut[0] |= nodes < every
        node_start[here + 1] = nodes
    return COMPLETE, len(alive), nodes, links, rows


@kernel
def search_paths(  # type: ignore[no-untyped-def]
    alignments, share, onward, start, alive, src, label, score, final, in_arc, in_offset,
    arc_word, rank, floor, equal, beam, budget, path,
):  # fmt: skip
    """Write the path with the highest weighted gain; return how it ended, gain and length.

    The gain of a sentence is the sum over alignments of ``share`` times its gain. Prefixes of
    one state with equal rows are one node, at the highest gain of them. A node is dropped if
    even its bound is below ``floor``. ``beam`` is the most nodes of a state, 0 for all, and
    ``budget`` the most nodes of all states. Gains that differ by no more than ``equal`` are
    equal.
    """
    absent = absent_of(alignments)
    states, count = len(alive), len(share)
    room = 256
    while room < 16 * count:
        room *= 2
    store = new_store(alignments, room)
    node_rows = np.empty((1024, count), np.int32)
    base = np.empty(1024, np.float64)
    bound = np.empty(1024, np.float64)
    model = np.empty(1024, np.float64)
    # the ways into a node that attain its gain are a chain of links
    tight = np.empty(1024, np.int32)
    link_node = np.empty(4096, np.int32)
    link_arc = np.empty(4096, np.int32)
    link_next = np.empty(4096, np.int32)
    node_start = np.zeros(states + 1, np.int64)
    table = np.full(64, -1, np.int32)
    cut = np.zeros(1, np.bool_)
    rows = 0
    base[0], bound[0], model[0], tight[0] = 0.0, np.inf, 0.0, -1
    for number in range(count):
        row, gain, rows = intern_opening(number, alignments, absent, store, rows)
        node_rows[0, number] = row
        base[0] += share[number] * gain
    state, nodes, links = 0, 1, 0
    while state < states:
        ended, state, nodes, links, rows = _advance(
            state, nodes, links, rows, alignments, store, share, onward, start, alive, src,
            score, in_arc, in_offset, arc_word, floor, equal, beam, budget,
            node_start, node_rows, base, bound, model, tight, link_node, link_arc, link_next,
            table, cut,
        )  # fmt: skip
        if ended == TOO_MANY:
            return TOO_MANY, -np.inf, 0
        if ended == MORE_ROWS:
            store = with_room(store, rows)
        elif ended == MORE_NODES:
            node_rows = grown(node_rows, 0)
            base, bound = grown(base, 0.0), grown(bound, 0.0)
            model, tight = grown(model, 0.0), grown(tight, 0)
        elif ended == MORE_LINKS:
            link_node, link_arc = grown(link_node, 0), grown(link_arc, 0)
            link_next = grown(link_next, 0)
        elif ended == MORE_SLOTS:
            table = grown(table, -1)
    pool = store.pool
    value = np.full(nodes, -np.inf)
    best = -np.inf
    for state in range(states):
        if alive[state] and final[state] > -np.inf:
            for node in range(node_start[state], node_start[state + 1]):
                value[node] = base[node]
                for number in range(count):
                    row = node_rows[node, number]
                    value[node] += share[number] * ending_of(pool[row], number, alignments)
                best = max(best, value[node])
    slot = np.full(nodes, NO_NODE, np.int32)
    suffixes = np.empty((nodes, POOL_COLUMNS), np.int32)
    worth = np.empty(nodes, np.float64)
    spelled = np.empty(nodes, np.uint64)
    used = 0
    for state in range(states):
        for node in range(node_start[state], node_start[state + 1]):
            if value[node] >= best - equal and value[node] > -np.inf:
                used = end_here(node, final[state], slot, suffixes, worth, spelled, used)
    for node in range(nodes - 1, -1, -1):
        here = slot[node]
        link = tight[node] if here != NO_NODE else -1
        while link >= 0:
            arc = link_arc[link]
            used = relax(
                link_node[link], here, arc, score[arc],
                slot, suffixes, worth, spelled, used, label, rank,
            )  # fmt: skip
            link = link_next[link]
    return (CUT if cut[0] else COMPLETE), best, unroll(slot[0], suffixes, path)
