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

import numpy as np

from lattices.arrays import inlined, kernel

NO_NODE = -1
NO_ARC = -1


# A node keeps its best suffix in one row of a pool (one array: counting the references to
# many would cost more than the search): the node after it, the arc to there (none for an
# epsilon arc of the machine), the number of the path it spells, its machine state, and the
# next node on the agenda of its lattice state. Only suffixes with the same arcs share a path
# number, so alignments of one lattice path are told to be no tie without walking it. The
# number of an arc's suffix follows from that of the rest, of which the memo of the arc holds
# the last one.
NEXT_NODE, NEXT_ARC, PATH, PLACE, BEHIND = range(5)
POOL_COLUMNS = 5
REST, WHOLE = 0, 1


#: Rows of an alignment are padded to whole vectors of this many gains. The compiler turns
#: an inner loop of a fixed length into one instruction, and leaves a short one of any other
#: length as it is.
LANES = 8


@inlined
def row_stride(length):  # type: ignore[no-untyped-def]
    """Return how far apart the layers of a row are, for a reference of ``length`` words."""
    return (length // LANES + 1) * LANES


@kernel
def forward_alignment(  # type: ignore[no-untyped-def]
    rows, src, label, bias, in_arc, in_offset, start, states,
    length, order, insertion, deletion, head, follow, position, weight,
):  # fmt: skip
    """Fill ``rows`` (states x order x stride) for the automaton of alignments.

    All words cost the same as substitutions and insertions, so these are applied once a
    state, to the maximum of the rows that come in; an arc costs one vector maximum, and
    its matches only where its word stands in the reference.

    Gains are kept with ``i * deletion`` added in column ``i``. That makes deletions free,
    and closing a row under them a running maximum; every other step to the next column
    earns ``deletion`` more.
    """
    stride = row_stride(length)
    size = order * stride
    number = rows.dtype.type
    worst = number(-np.inf)
    incoming = np.empty(stride, rows.dtype)
    rows[: states * size] = worst
    for state in range(states):
        base = state * size
        begin, end = in_offset[state], in_offset[state + 1]
        if state == start:
            rows[base] = number(0)
        elif begin == end:
            continue
        for place in range(stride):
            incoming[place] = worst
        for index in range(begin, end):
            arc = in_arc[index]
            source = src[arc] * size
            extra = bias[arc]
            if label[arc] == 0:
                for block in range(0, size, LANES):
                    for lane in range(LANES):
                        gain = rows[source + block + lane] + extra
                        other = rows[base + block + lane]
                        rows[base + block + lane] = gain if gain > other else other
                continue
            for block in range(0, stride, LANES):
                for lane in range(LANES):
                    gain = rows[source + block + lane] + extra
                    other = incoming[block + lane]
                    incoming[block + lane] = gain if gain > other else other
            entry = head[label[arc]]
            while entry >= 0:
                here = source + position[entry]
                there = base + position[entry] + 1
                forgotten = there
                for run in range(order):
                    gain = rows[here + run * stride] + extra
                    gain += number(run + 1) * weight[entry] + deletion
                    if run + 1 < order:
                        there += stride
                    if gain > rows[there]:
                        rows[there] = gain
                        # a run may be forgotten at once, at no cost
                        if gain > rows[forgotten]:
                            rows[forgotten] = gain
                entry = follow[entry]
        before = running = worst
        for place in range(length + 1):
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

    ``offset[2 * s]`` is where the epsilon arcs into state s begin, ``offset[2 * s + 1]``
    where those that read a word do.

    States are numbered as the cells of a row, and gains have ``deletion`` added on every
    step to the next column, as in :func:`forward_alignment`.
    """
    stride = row_stride(length)
    size = order * stride
    most = len(word) * order + (3 + order) * (length + 1)
    src = np.empty(most, np.int32)
    dst = np.empty(most, np.int32)
    label = np.empty(most, np.int32)
    gain = np.empty(most, np.float64)
    arcs = 0
    for entry in range(len(word)):
        for run in range(order):
            src[arcs] = run * stride + position[entry]
            dst[arcs] = min(run + 1, order - 1) * stride + position[entry] + 1
            label[arcs] = word[entry]
            gain[arcs] = (run + 1) * weight[entry] + deletion
            arcs += 1
    for place in range(length + 1):
        src[arcs], dst[arcs], label[arcs], gain[arcs] = place, place, -1, -insertion
        arcs += 1
        if place < length:
            src[arcs], dst[arcs], label[arcs], gain[arcs] = place, place + 1, -1, deletion
            arcs += 1
            src[arcs], dst[arcs], label[arcs], gain[arcs] = place, place + 1, 0, 0.0
            arcs += 1
        for run in range(1, order):
            src[arcs], dst[arcs], label[arcs], gain[arcs] = run * stride + place, place, 0, 0.0
            arcs += 1
    # epsilon arcs into a state before those that read a word
    offset = np.zeros(2 * size + 1, np.int32)
    for arc in range(arcs):
        dst[arc] = 2 * dst[arc] + (label[arc] != 0)
        offset[dst[arc] + 1] += 1
    for bucket in range(2 * size):
        offset[bucket + 1] += offset[bucket]
    place_of = offset[:-1].copy()
    by_src = np.empty(arcs, np.int32)
    by_label = np.empty(arcs, np.int32)
    by_gain = np.empty(arcs, np.float64)
    for arc in range(arcs):
        slot = place_of[dst[arc]]
        by_src[slot], by_label[slot], by_gain[slot] = src[arc], label[arc], gain[arc]
        place_of[dst[arc]] += 1
    states = np.empty(order * (length + 1), np.int32)
    filled = 0
    for place in range(length + 1):
        for run in range(order - 1, -1, -1):
            states[filled] = run * stride + place
            filled += 1
    return offset, by_src, by_label, by_gain, states


@inlined
def _next_word(node, pool, label):  # type: ignore[no-untyped-def]
    """Walk a chain to its next word; return the node after it and its arc, or -1 at the end."""
    arc = NO_ARC
    while node >= 0:
        arc = pool[node, NEXT_ARC]
        node = pool[node, NEXT_NODE]
        if arc >= 0 and label[arc] != 0:
            break
        arc = NO_ARC
    return node, arc


@kernel
def _comes_first(arc_a, node_a, arc_b, node_b, pool, label, rank):  # type: ignore[no-untyped-def]
    """Tell whether the suffix ``arc_a, node_a...`` stands before ``arc_b, node_b...``.

    First by words, then by arcs. A chain that has ended comes before one that goes on.
    """
    word_a, word_b = arc_a, arc_b
    at_a, at_b = node_a, node_b
    if word_a < 0 or label[word_a] == 0:
        at_a, word_a = _next_word(at_a, pool, label)
    if word_b < 0 or label[word_b] == 0:
        at_b, word_b = _next_word(at_b, pool, label)
    while word_a >= 0 and word_b >= 0:
        if label[word_a] != label[word_b]:
            return rank[label[word_a]] < rank[label[word_b]]
        if at_a == at_b:
            break
        at_a, word_a = _next_word(at_a, pool, label)
        at_b, word_b = _next_word(at_b, pool, label)
    if (word_a >= 0) != (word_b >= 0):
        return word_b >= 0
    while True:
        while arc_a < 0 and node_a >= 0:
            arc_a = pool[node_a, NEXT_ARC]
            node_a = pool[node_a, NEXT_NODE]
        while arc_b < 0 and node_b >= 0:
            arc_b = pool[node_b, NEXT_ARC]
            node_b = pool[node_b, NEXT_NODE]
        if arc_a != arc_b:
            return arc_a < arc_b
        if arc_a < 0 or node_a == node_b:
            return False
        arc_a = arc_b = NO_ARC


@inlined
def end_here(node, score, slot, pool, worth, used):  # type: ignore[no-untyped-def]
    """Give a node the empty suffix; return how many nodes are in use."""
    slot[node] = used
    worth[used] = score
    pool[used, NEXT_NODE] = NO_NODE
    pool[used, NEXT_ARC] = NO_ARC
    pool[used, PATH] = 0
    return used + 1


@inlined
def relax(  # type: ignore[no-untyped-def]
    before, here, arc, gained, slot, pool, worth, memo, used, paths, label, rank
):
    """Offer node ``before`` the suffix that begins with ``arc`` and goes on at ``here``.

    Returns how many nodes and path numbers are in use.
    """
    candidate = gained + worth[here]
    path = pool[here, PATH]
    if arc != NO_ARC:
        if memo[arc, REST] != path:
            paths += 1
            memo[arc, REST] = path
            memo[arc, WHOLE] = paths
        path = memo[arc, WHOLE]
    there = slot[before]
    better = True
    if there == NO_NODE:
        there = used
        used += 1
        slot[before] = there
    elif candidate < worth[there] or path == pool[there, PATH]:
        better = False
    elif candidate == worth[there]:
        better = _comes_first(
            arc, here, pool[there, NEXT_ARC], pool[there, NEXT_NODE], pool, label, rank
        )
    if better:
        worth[there] = candidate
        pool[there, NEXT_NODE] = here
        pool[there, NEXT_ARC] = arc
        pool[there, PATH] = path
    return used, paths


@kernel
def unroll(node, pool, path):  # type: ignore[no-untyped-def]
    """Write the arcs of a node's suffix into ``path``; return how many there are."""
    steps = 0
    while node != NO_NODE:
        if pool[node, NEXT_ARC] != NO_ARC:
            path[steps] = pool[node, NEXT_ARC]
            steps += 1
        node = pool[node, NEXT_NODE]
    return steps


@inlined
def _enlist(fresh, used, state, place, turn, first_of, pool):  # type: ignore[no-untyped-def]
    """Put a node on the agenda of its lattice state, behind those whose turn comes first.

    Nothing is done unless the node is new: ``used`` has grown past ``fresh``.
    """
    if used > fresh:
        pool[fresh, PLACE] = place
        node = first_of[state]
        if node == NO_NODE or turn[pool[node, PLACE]] < turn[place]:
            pool[fresh, BEHIND] = node
            first_of[state] = fresh
        else:
            behind = pool[node, BEHIND]
            while behind != NO_NODE and turn[pool[behind, PLACE]] > turn[place]:
                node = behind
                behind = pool[node, BEHIND]
            pool[fresh, BEHIND] = behind
            pool[node, BEHIND] = fresh


@kernel
def trace(  # type: ignore[no-untyped-def]
    rows, best, src, label, score, bias, in_arc, in_offset, start, states,
    final, final_bias, rank, machine_initial, machine_final,
    machine_offset, machine_src, machine_label, machine_gain, machine_order,
    slot, pool, worth, memo, path,
):  # fmt: skip
    """Write the chosen path into ``path``; return its length and its model score.

    ``rows`` are the forward gains and ``best`` the best total. Walking the lattice states
    backward, only nodes ``(lattice state, machine state)`` on a best path are touched; each
    keeps its best suffix by the tie rule, in ``pool`` and ``worth``, where ``slot`` tells
    its place. The nodes of one lattice state are a list, its agenda, in the order in which
    the machine's epsilon arcs are walked backward.
    """
    size = len(machine_final)
    exact = rows.dtype.type
    turn = np.empty(size, np.int32)
    for index in range(len(machine_order)):
        turn[machine_order[index]] = index
    first_of = np.full(states, NO_NODE, np.int32)
    for arc in range(len(label)):
        memo[arc, REST] = NO_NODE
    used = paths = 0
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
                fresh = used
                used = end_here(state * size + place, final[state], slot, pool, worth, used)
                _enlist(fresh, used, state, place, turn, first_of, pool)
    for state in range(states - 1, -1, -1):
        here = first_of[state]
        while here != NO_NODE:
            place = pool[here, PLACE]
            value = rows[state * size + place]
            for way in range(in_offset[state] - 1, in_offset[state + 1]):
                # before the arcs into the state, the machine moves by itself
                silent = way < in_offset[state]
                arc = NO_ARC if silent else in_arc[way]
                origin = state if silent else src[arc]
                word = 0 if silent else label[arc]
                extra = exact(0) if silent else bias[arc]
                gained = 0.0 if silent else score[arc]
                first = machine_offset[2 * place + (word != 0)]
                last = machine_offset[2 * place + 1 + (word != 0)]
                stays = word == 0 and not silent
                for entry in range(first, first + 1 if stays else last):
                    if stays:
                        target = place
                        reached = rows[origin * size + place] + extra
                    else:
                        if machine_label[entry] != word and machine_label[entry] != -1:
                            continue
                        target = machine_src[entry]
                        reached = rows[origin * size + target] + extra
                        reached += exact(machine_gain[entry])
                    if reached != value:
                        continue
                    before = origin * size
                    if first_of[origin] == NO_NODE and final[origin] == -np.inf:
                        for cell in range(before, before + size):
                            slot[cell] = NO_NODE
                    fresh = used
                    used, paths = relax(
                        before + target, here, arc, gained,
                        slot, pool, worth, memo, used, paths, label, rank,
                    )  # fmt: skip
                    _enlist(fresh, used, origin, target, turn, first_of, pool)
            here = pool[here, BEHIND]
    chosen = NO_NODE
    for place in range(size):
        here = slot[start * size + place]
        if here == NO_NODE or rows[start * size + place] != machine_initial[place]:
            continue
        if (
            chosen == NO_NODE
            or worth[here] > worth[chosen]
            or (
                worth[here] == worth[chosen]
                and _comes_first(NO_ARC, here, NO_ARC, chosen, pool, label, rank)
            )
        ):
            chosen = here
    return unroll(chosen, pool, path), worth[chosen]
