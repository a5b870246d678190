"""The kernel's passes over one lattice: best gains forward, then the best path back.

Forward, every lattice state gets a row: the best gain with which each state of the
automaton is reached there. Nothing else is stored. Backward, the transitions that can
have made the best value are found by evaluating them again, and among all the paths that
attain it the tie rule picks one: highest model score, then the smallest sentence, word by
word in the order of the strings, then the smallest arc numbers.

Both passes add up in the same order, so a transition that was best forward is equal to the
last bit backward.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lattices.arrays import Array, inlined, kernel

NO_NODE = -1
NO_ARC = -1


class Suffixes(NamedTuple):
    """The best suffix of every node that has one, in pools.

    A suffix is an arc (or none, for an epsilon arc of the machine) and the node after it.
    Its ``path`` is a number that only suffixes with the same arcs share: alignments of one
    lattice path are told to be no tie without walking it. The number of an arc's suffix
    follows from that of the rest, of which the last one is remembered with each arc.

    Attributes
    ----------
    used : int64 array
        How many nodes, and how many path numbers, are in use.
    score : float64 pool
    next_node, next_arc, path : int32 pools
    rest_of_arc, path_of_arc : int32 columns, one entry an arc
    """

    used: Array
    score: Array
    next_node: Array
    next_arc: Array
    path: Array
    rest_of_arc: Array
    path_of_arc: Array


@kernel
def forward_alignment(  # type: ignore[no-untyped-def]
    rows, src, label, bias, in_arc, in_offset, start, states,
    length, order, insertion, deletion, head, follow, position, weight,
):  # fmt: skip
    """Fill ``rows`` (states x order x (length + 1)) for the automaton of alignments.

    All words cost the same as substitutions and insertions, so these are applied once a
    state, to the maximum of the rows that come in; an arc costs one vector maximum, and
    its matches only where its word stands in the reference.

    Gains are kept with ``i * deletion`` added in column ``i``. That makes deletions free,
    and closing a row under them a running maximum; every other step to the next column
    earns ``deletion`` more.
    """
    width = length + 1
    size = order * width
    number = rows.dtype.type
    worst = number(-np.inf)
    incoming = np.empty(width, rows.dtype)
    rows[: states * size] = worst
    for state in range(states):
        base = state * size
        begin, end = in_offset[state], in_offset[state + 1]
        incoming[:] = worst
        if state == start:
            rows[base] = number(0)
        elif begin == end:
            continue
        for index in range(begin, end):
            arc = in_arc[index]
            source = src[arc] * size
            extra = bias[arc]
            if label[arc] == 0:
                for place in range(size):
                    gain = rows[source + place] + extra
                    other = rows[base + place]
                    rows[base + place] = gain if gain > other else other
                continue
            for place in range(width):
                gain = rows[source + place] + extra
                other = incoming[place]
                incoming[place] = gain if gain > other else other
            entry = head[label[arc]]
            while entry >= 0:
                here = source + position[entry]
                there = base + position[entry] + 1
                forgotten = there
                for run in range(order):
                    gain = rows[here + run * width] + extra
                    gain += number(run + 1) * weight[entry] + deletion
                    if run + 1 < order:
                        there += width
                    if gain > rows[there]:
                        rows[there] = gain
                        # a run may be forgotten at once, at no cost
                        if gain > rows[forgotten]:
                            rows[forgotten] = gain
                entry = follow[entry]
        before = running = worst
        for place in range(width):
            inserted = incoming[place] - insertion
            gain = before + deletion
            gain = gain if gain > inserted else inserted
            other = rows[base + place]
            gain = gain if gain > other else other
            running = running if running > gain else gain
            rows[base + place] = running
            before = incoming[place]


@kernel
def forward_automaton(  # type: ignore[no-untyped-def]
    rows, src, label, bias, in_arc, in_offset, start, states,
    initial, order, out_offset, machine_src, machine_dst, machine_label, machine_gain, any_arc,
    head, follow,
):  # fmt: skip
    """Fill ``rows`` (states x machine states) for any automaton.

    ``out_offset`` cuts the machine's arcs by source, ``any_arc`` lists its ANY arcs, and
    ``head``/``follow`` chain the arcs that read a word.
    """
    size = len(initial)
    worst = rows.dtype.type(-np.inf)
    incoming = np.empty(size, rows.dtype)
    for state in range(states):
        base = state * size
        row = rows[base : base + size]
        row[:] = worst
        begin, end = in_offset[state], in_offset[state + 1]
        if state == start:
            row[:] = initial
        elif begin == end:
            continue
        incoming[:] = worst
        for index in range(begin, end):
            arc = in_arc[index]
            extra = bias[arc]
            word = label[arc]
            other = rows[src[arc] * size : (src[arc] + 1) * size]
            if word == 0:
                for place in range(size):
                    row[place] = max(row[place], other[place] + extra)
                continue
            for place in range(size):
                incoming[place] = max(incoming[place], other[place] + extra)
            entry = head[word]
            while entry >= 0:
                gain = (other[machine_src[entry]] + extra) + machine_gain[entry]
                row[machine_dst[entry]] = max(row[machine_dst[entry]], gain)
                entry = follow[entry]
        for index in range(len(any_arc)):
            entry = any_arc[index]
            gain = incoming[machine_src[entry]] + machine_gain[entry]
            row[machine_dst[entry]] = max(row[machine_dst[entry]], gain)
        for index in range(size):
            place = order[index]
            for entry in range(out_offset[place], out_offset[place + 1]):
                if machine_label[entry] == 0:
                    gain = row[place] + machine_gain[entry]
                    row[machine_dst[entry]] = max(row[machine_dst[entry]], gain)


@kernel
def expand_alignment(length, order, insertion, deletion, word, position, weight):  # type: ignore[no-untyped-def]
    """Return the arcs of an alignment by target, and the states in the order of epsilon arcs.

    Gains have ``deletion`` added on every step to the next column, as in
    :func:`forward_alignment`.
    """
    width = length + 1
    size = order * width
    most = len(word) * order + 3 * width + order * width
    src = np.empty(most, np.int32)
    dst = np.empty(most, np.int32)
    label = np.empty(most, np.int32)
    gain = np.empty(most, np.float64)
    arcs = 0
    for entry in range(len(word)):
        for run in range(order):
            src[arcs] = run * width + position[entry]
            dst[arcs] = min(run + 1, order - 1) * width + position[entry] + 1
            label[arcs] = word[entry]
            gain[arcs] = (run + 1) * weight[entry] + deletion
            arcs += 1
    for place in range(width):
        src[arcs], dst[arcs], label[arcs], gain[arcs] = place, place, -1, -insertion
        arcs += 1
        if place < length:
            src[arcs], dst[arcs], label[arcs], gain[arcs] = place, place + 1, -1, deletion
            arcs += 1
            src[arcs], dst[arcs], label[arcs], gain[arcs] = place, place + 1, 0, 0.0
            arcs += 1
        for run in range(1, order):
            src[arcs], dst[arcs], label[arcs], gain[arcs] = run * width + place, place, 0, 0.0
            arcs += 1
    offset = np.zeros(size + 1, np.int32)
    for arc in range(arcs):
        offset[dst[arc] + 1] += 1
    for state in range(size):
        offset[state + 1] += offset[state]
    place_of = offset[:-1].copy()
    by_src = np.empty(arcs, np.int32)
    by_label = np.empty(arcs, np.int32)
    by_gain = np.empty(arcs, np.float64)
    for arc in range(arcs):
        slot = place_of[dst[arc]]
        by_src[slot], by_label[slot], by_gain[slot] = src[arc], label[arc], gain[arc]
        place_of[dst[arc]] += 1
    states = np.empty(size, np.int32)
    filled = 0
    for place in range(width):
        for run in range(order - 1, -1, -1):
            states[filled] = run * width + place
            filled += 1
    return offset, by_src, by_label, by_gain, states


@inlined
def _next_word(node, next_node, next_arc, label):  # type: ignore[no-untyped-def]
    """Walk a chain to its next word; return the node after it and its arc, or -1 at the end."""
    arc = NO_ARC
    while node >= 0:
        arc = next_arc[node]
        node = next_node[node]
        if arc >= 0 and label[arc] != 0:
            break
        arc = NO_ARC
    return node, arc


@kernel
def _comes_first(  # type: ignore[no-untyped-def]
    arc_a, node_a, arc_b, node_b, next_node, next_arc, label, rank
):
    """Tell whether the suffix ``arc_a, node_a...`` stands before ``arc_b, node_b...``.

    First by words, then by arcs. A chain that has ended comes before one that goes on.
    """
    word_a, word_b = arc_a, arc_b
    at_a, at_b = node_a, node_b
    if word_a < 0 or label[word_a] == 0:
        at_a, word_a = _next_word(at_a, next_node, next_arc, label)
    if word_b < 0 or label[word_b] == 0:
        at_b, word_b = _next_word(at_b, next_node, next_arc, label)
    while word_a >= 0 and word_b >= 0:
        if label[word_a] != label[word_b]:
            return rank[label[word_a]] < rank[label[word_b]]
        if at_a == at_b:
            break
        at_a, word_a = _next_word(at_a, next_node, next_arc, label)
        at_b, word_b = _next_word(at_b, next_node, next_arc, label)
    if (word_a >= 0) != (word_b >= 0):
        return word_b >= 0
    while True:
        while arc_a < 0 and node_a >= 0:
            arc_a = next_arc[node_a]
            node_a = next_node[node_a]
        while arc_b < 0 and node_b >= 0:
            arc_b = next_arc[node_b]
            node_b = next_node[node_b]
        if arc_a != arc_b:
            return arc_a < arc_b
        if arc_a < 0 or node_a == node_b:
            return False
        arc_a = arc_b = NO_ARC


@kernel
def new_suffixes(nodes, arcs):  # type: ignore[no-untyped-def]
    """Return pools for the best suffixes of up to ``nodes`` nodes; see :class:`Suffixes`."""
    return Suffixes(
        np.zeros(2, np.int64),
        np.empty(nodes, np.float64),
        np.empty(nodes, np.int32),
        np.empty(nodes, np.int32),
        np.empty(nodes, np.int32),
        np.empty(arcs, np.int32),
        np.empty(arcs, np.int32),
    )


@kernel
def clear_suffixes(suffixes, arcs):  # type: ignore[no-untyped-def]
    """Empty the pools for a lattice of ``arcs`` arcs."""
    suffixes.used[0] = 0
    suffixes.used[1] = 0
    for arc in range(arcs):
        suffixes.rest_of_arc[arc] = NO_NODE


@kernel
def end_here(node, score, slot, suffixes):  # type: ignore[no-untyped-def]
    """Give a node the empty suffix; return its place in the pools."""
    there = suffixes.used[0]
    suffixes.used[0] += 1
    slot[node] = there
    suffixes.score[there] = score
    suffixes.next_node[there] = NO_NODE
    suffixes.next_arc[there] = NO_ARC
    suffixes.path[there] = 0
    return there


@kernel
def relax(before, here, arc, gained, slot, suffixes, label, rank):  # type: ignore[no-untyped-def]
    """Offer node ``before`` the suffix that begins with ``arc`` and goes on at ``here``.

    Returns its place in the pools if this is the node's first suffix, else -1.
    """
    candidate = gained + suffixes.score[here]
    path = suffixes.path[here]
    if arc != NO_ARC:
        if suffixes.rest_of_arc[arc] != path:
            suffixes.rest_of_arc[arc] = path
            suffixes.used[1] += 1
            suffixes.path_of_arc[arc] = suffixes.used[1]
        path = suffixes.path_of_arc[arc]
    there = slot[before]
    fresh = NO_NODE
    if there == NO_NODE:
        there = fresh = suffixes.used[0]
        suffixes.used[0] += 1
        slot[before] = there
    elif (
        candidate < suffixes.score[there]
        or path == suffixes.path[there]
        or (
            candidate == suffixes.score[there]
            and not _comes_first(
                arc, here, suffixes.next_arc[there], suffixes.next_node[there],
                suffixes.next_node, suffixes.next_arc, label, rank,
            )
        )
    ):  # fmt: skip
        return fresh
    suffixes.score[there] = candidate
    suffixes.next_node[there] = here
    suffixes.next_arc[there] = arc
    suffixes.path[there] = path
    return fresh


@kernel
def unroll(node, suffixes, path):  # type: ignore[no-untyped-def]
    """Write the arcs of a node's suffix into ``path``; return how many there are."""
    steps = 0
    while node != NO_NODE:
        if suffixes.next_arc[node] != NO_ARC:
            path[steps] = suffixes.next_arc[node]
            steps += 1
        node = suffixes.next_node[node]
    return steps


@kernel
def _enlist(fresh, state, place, turn, first_of, agenda):  # type: ignore[no-untyped-def]
    """Put a new node on the agenda of its lattice state, behind those whose turn comes first."""
    if fresh == NO_NODE:
        return
    agenda[fresh, 0] = place
    node = first_of[state]
    if node == NO_NODE or turn[agenda[node, 0]] < turn[place]:
        agenda[fresh, 1] = node
        first_of[state] = fresh
        return
    while agenda[node, 1] != NO_NODE and turn[agenda[agenda[node, 1], 0]] > turn[place]:
        node = agenda[node, 1]
    agenda[fresh, 1] = agenda[node, 1]
    agenda[node, 1] = fresh


@kernel
def trace(  # type: ignore[no-untyped-def]
    rows, best, src, label, score, bias, in_arc, in_offset, start, states,
    final, final_bias, rank, machine_initial, machine_final,
    machine_offset, machine_src, machine_label, machine_gain, machine_order,
    slot, suffixes, agenda, path,
):  # fmt: skip
    """Write the chosen path into ``path``; return its length and its model score.

    ``rows`` are the forward gains and ``best`` the best total. Walking the lattice states
    backward, only nodes ``(lattice state, machine state)`` on a best path are touched; each
    keeps its best suffix by the tie rule, in the pools ``suffixes``, where ``slot`` tells
    its place. The nodes of one lattice state are a list in ``agenda``, in the order in which
    the machine's epsilon arcs are walked backward.
    """
    size = len(machine_order)
    exact = rows.dtype.type
    turn = np.empty(size, np.int32)
    for index in range(size):
        turn[machine_order[index]] = index
    first_of = np.full(states, NO_NODE, np.int32)
    clear_suffixes(suffixes, len(label))
    for state in range(states):
        if final[state] == -np.inf:
            continue
        for cell in range(state * size, (state + 1) * size):
            slot[cell] = NO_NODE
        for place in range(size):
            if machine_final[place] == -np.inf:
                continue
            ending = rows[state * size + place] + exact(final_bias[state])
            if ending + exact(machine_final[place]) == best:
                fresh = end_here(state * size + place, final[state], slot, suffixes)
                _enlist(fresh, state, place, turn, first_of, agenda)
    for state in range(states - 1, -1, -1):
        here = first_of[state]
        while here != NO_NODE:
            place = agenda[here, 0]
            value = rows[state * size + place]
            for entry in range(machine_offset[place], machine_offset[place + 1]):
                if machine_label[entry] != 0:
                    continue
                before = state * size + machine_src[entry]
                if rows[before] + exact(machine_gain[entry]) == value:
                    fresh = relax(before, here, NO_ARC, 0.0, slot, suffixes, label, rank)
                    _enlist(fresh, state, machine_src[entry], turn, first_of, agenda)
            for way in range(in_offset[state], in_offset[state + 1]):
                arc = in_arc[way]
                source = src[arc] * size
                word = label[arc]
                if first_of[src[arc]] == NO_NODE and final[src[arc]] == -np.inf:
                    for cell in range(source, source + size):
                        slot[cell] = NO_NODE
                if word == 0:
                    if rows[source + place] + bias[arc] == value:
                        fresh = relax(
                            source + place, here, arc, score[arc], slot, suffixes, label, rank
                        )
                        _enlist(fresh, src[arc], place, turn, first_of, agenda)
                    continue
                for entry in range(machine_offset[place], machine_offset[place + 1]):
                    if machine_label[entry] != word and machine_label[entry] != -1:
                        continue
                    before = source + machine_src[entry]
                    if (rows[before] + bias[arc]) + exact(machine_gain[entry]) == value:
                        fresh = relax(before, here, arc, score[arc], slot, suffixes, label, rank)
                        _enlist(fresh, src[arc], machine_src[entry], turn, first_of, agenda)
            here = agenda[here, 1]
    chosen = NO_NODE
    for place in range(size):
        here = slot[start * size + place]
        if here == NO_NODE or rows[start * size + place] != machine_initial[place]:
            continue
        if (
            chosen == NO_NODE
            or suffixes.score[here] > suffixes.score[chosen]
            or (
                suffixes.score[here] == suffixes.score[chosen]
                and _comes_first(
                    NO_ARC, here, NO_ARC, chosen,
                    suffixes.next_node, suffixes.next_arc, label, rank,
                )
            )
        ):  # fmt: skip
            chosen = here
    return unroll(chosen, suffixes, path), suffixes.score[chosen]
