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
# epsilon arc of the machine), the number of the path it spells, its machine state, and the
# next node on the agenda of its lattice state. Only suffixes with the same arcs share a path
# number, so alignments of one lattice path are told to be no tie without walking it. The
# number of an arc's suffix follows from that of the rest, of which the memo of the arc holds
# the last one.
NEXT_NODE, NEXT_ARC, PATH, PLACE, BEHIND = range(5)
POOL_COLUMNS = 5
REST, WHOLE = 0, 1


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
