"""The kernel's way back: the one best path that the tie rule wants.

Transitions that can have made the best value are found by evaluating them again. Among all
the paths that attain it, the one with the highest model score is kept, then the smallest
sentence, word by word in the order of the strings, then the smallest arc numbers. Suffixes
are compared, not prefixes: which of two sentences comes first is known at their first
difference only if both are known to the end.
"""

from __future__ import annotations

import numpy as np

from lattices.arrays import inlined, kernel

NO_NODE = -1
NO_ARC = -1
# A node keeps its best suffix in one row of a pool (one array: counting the references to
# many would cost more than the search): the node after it, the arc to there (none for an
# epsilon arc of the machine), its machine state, and the next node on the agenda of its
# lattice state. Beside it stand the score of the suffix and a hash of its arcs, by which
# alignments of one lattice path are told to be no tie without walking it.
NEXT_NODE, NEXT_ARC, PLACE, BEHIND = range(4)
POOL_COLUMNS = 4


@inlined
def path_hash(arc, rest):  # type: ignore[no-untyped-def]
    """Return the hash of a path that begins with an arc."""
    mixed = (rest + np.uint64(arc + 1)) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(31))


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
def end_here(node, score, slot, pool, worth, spelled, used):  # type: ignore[no-untyped-def]
    """Give a node the empty suffix; return how many nodes are in use."""
    slot[node] = used
    worth[used] = score
    spelled[used] = np.uint64(0)
    pool[used, NEXT_NODE] = NO_NODE
    pool[used, NEXT_ARC] = NO_ARC
    return used + 1


@inlined
def relax(  # type: ignore[no-untyped-def]
    before, here, arc, gained, slot, pool, worth, spelled, used, label, rank
):
    """Offer node ``before`` the suffix that begins with ``arc`` and goes on at ``here``.

    Returns how many nodes are in use.
    """
    candidate = gained + worth[here]
    path = spelled[here]
    if arc != NO_ARC:
        path = path_hash(arc, path)
    there = slot[before]
    better = True
    if there == NO_NODE:
        there = used
        used += 1
        slot[before] = there
    elif candidate < worth[there] or path == spelled[there]:
        better = False
    elif candidate == worth[there]:
        better = _comes_first(
            arc, here, pool[there, NEXT_ARC], pool[there, NEXT_NODE], pool, label, rank
        )
    if better:
        worth[there] = candidate
        spelled[there] = path
        pool[there, NEXT_NODE] = here
        pool[there, NEXT_ARC] = arc
    return used


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
def _make_room(state, size, slot, first_of):  # type: ignore[no-untyped-def]
    """Clear the slots of a lattice state that is met for the first time."""
    if first_of[state] == NO_NODE:
        for cell in range(state * size, (state + 1) * size):
            slot[cell] = NO_NODE


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
    slot, pool, worth, spelled, path,
):  # fmt: skip
    """Write the chosen path into ``path``; return its length and its model score.

    ``rows`` are the forward gains and ``best`` the best total. Walking the lattice states
    backward, only nodes ``(lattice state, machine state)`` on a best path are touched; each
    keeps its best suffix by the tie rule, in ``pool``, ``worth`` and ``spelled``, where
    ``slot`` tells its place. The nodes of one lattice state are a list, its agenda, in the
    order in which the machine's epsilon arcs are walked backward.
    """
    size = len(machine_final)
    exact = rows.dtype.type
    turn = np.empty(size, np.int32)
    for index in range(len(machine_order)):
        turn[machine_order[index]] = index
    first_of = np.full(states, NO_NODE, np.int32)
    used = 0
    ends = np.flatnonzero(machine_final > -np.inf)
    for state in range(states):
        if final[state] == -np.inf:
            continue
        for end in ends:
            ending = rows[state * size + end] + exact(final_bias[state])
            if ending + exact(machine_final[end]) == best:
                _make_room(state, size, slot, first_of)
                fresh = used
                used = end_here(state * size + end, final[state], slot, pool, worth, spelled, used)
                _enlist(fresh, used, state, end, turn, first_of, pool)
    for state in range(states - 1, -1, -1):
        here = first_of[state]
        while here != NO_NODE:
            place = pool[here, PLACE]
            value = rows[state * size + place]
            first, middle = machine_offset[2 * place], machine_offset[2 * place + 1]
            last = machine_offset[2 * place + 2]
            for entry in range(first, middle):
                target = machine_src[entry]
                if rows[state * size + target] + exact(machine_gain[entry]) == value:
                    fresh = used
                    used = relax(
                        state * size + target, here, NO_ARC, 0.0,
                        slot, pool, worth, spelled, used, label, rank,
                    )  # fmt: skip
                    _enlist(fresh, used, state, target, turn, first_of, pool)
            for way in range(in_offset[state], in_offset[state + 1]):
                arc = in_arc[way]
                source = src[arc] * size
                word = label[arc]
                extra = bias[arc]
                # without a word the machine stays where it is, as if by one arc of its own
                for entry in range(middle, last if word != 0 else middle + 1):
                    target = place
                    reached = rows[source + place] + extra
                    if word != 0:
                        if machine_label[entry] != word and machine_label[entry] != -1:
                            continue
                        target = machine_src[entry]
                        reached = rows[source + target] + extra
                        reached += exact(machine_gain[entry])
                    if reached != value:
                        continue
                    _make_room(src[arc], size, slot, first_of)
                    fresh = used
                    used = relax(
                        source + target, here, arc, score[arc],
                        slot, pool, worth, spelled, used, label, rank,
                    )  # fmt: skip
                    _enlist(fresh, used, src[arc], target, turn, first_of, pool)
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
