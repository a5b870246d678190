"""The way back of searches over rows: the best suffix of every node.

Suffixes are compared by their model score, then word by word in the order of the strings, then
by arc numbers: which of two sentences comes first is known at their first difference only if
both are known to the end.
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
