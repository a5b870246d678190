"""The best path of a lattice, the best derivation of a forest."""

from __future__ import annotations

import numpy as np

from lattices import _native
from lattices.arrays import IntColumn, ints, kernel
from lattices.spaces import Forest, Hypothesis, Lattice


def best_path(space: Lattice | Forest) -> IntColumn:
    """Return the arcs, or from the top down the edges, of :func:`best`'s answer.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -2.0), (0, 1, "b", -1.0)], finals=[1])
    >>> best_path(lattice).tolist()
    [1]
    >>> forest = Forest.from_edges([(0, [], ["a"], -2.0), (0, [], ["b"], -1.0), (1, [0], [0])])
    >>> best_path(forest).tolist()
    [2, 1]
    """
    return _native.best_path(space.columns)


def best(space: Lattice | Forest) -> Hypothesis:
    """Return the sentence of the highest score.

    Which of several is returned whose score is the highest is not specified, but always the same
    one. Scores are compared at every state and node: two sums that differ before they are rounded
    together are no tie. Cost: O(arcs), or O(edges and tails).

    Raises
    ------
    SpaceError
        If the lattice has no complete path, or if the scores of paths overflow.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "the", -0.5), (0, 1, "a", -0.7), (1, 2, "cat", -1.0)], finals=[2]
    ... )
    >>> best(lattice).text, best(Forest.from_lattice(lattice)).score
    ('the cat', -1.5)
    """
    return space.hypothesis(best_path(space).tolist())


# What follows serves searches that still order by words.


@kernel
def _precedes(one, other, dst, rank, tie, follower):  # type: ignore[no-untyped-def]
    """Tell whether the suffix that begins with arc ``one`` comes before that of ``other``.

    ``follower[state]`` is the arc that the best suffix of the state begins with, -1 where
    it ends there; ``other`` may be -1, the empty suffix.
    """
    left, right = one, other
    while True:
        while left >= 0 and rank[left] < 0:
            left = follower[dst[left]]
        while right >= 0 and rank[right] < 0:
            right = follower[dst[right]]
        if left == right:
            break
        if left < 0 or right < 0:
            return left < 0
        if rank[left] != rank[right]:
            return rank[left] < rank[right]
        if dst[left] == dst[right]:
            break
        left, right = follower[dst[left]], follower[dst[right]]
    left, right = one, other
    while left != right:
        if left < 0 or right < 0:
            return left < 0
        if tie[left] != tie[right]:
            return tie[left] < tie[right]
        if dst[left] == dst[right]:
            return False
        left, right = follower[dst[left]], follower[dst[right]]
    return False


@kernel
def best_arcs(src, dst, in_arc, in_offset, rank, score, final, start, tie):  # type: ignore[no-untyped-def]
    """Return the value and the arcs of the best complete path of an acyclic graph.

    The value of a path is folded from its end: ``score[a1] + (score[a2] + ... + final)``.
    Among the paths of the highest value the first in the order of their words is taken, by
    ``rank`` (arcs of negative rank spell nothing; a sentence comes before its extensions),
    and among those the first in the order of the ``tie`` values of their arcs. Values are
    compared at every state, on suffixes: two sums that differ before they are rounded
    together are no tie.

    One backward pass, in which two suffixes of equal value are compared along their arcs
    until they meet: O(arcs) when values differ, O(arcs * length) if all are equal.

    Parameters
    ----------
    src, dst : int columns, one entry an arc
        States are in topological order: ``src < dst``.
    in_arc, in_offset : int columns
        Arcs into state ``q`` are ``in_arc[in_offset[q]:in_offset[q + 1]]``.
    rank : int column
        The place of each arc's word in the order of words, negative for epsilon.
    score, final : float columns
        One entry an arc, one entry a state; ``-inf`` forbids.
    start : int
    tie : int column
        One entry an arc; arcs that share a value are the same arc to the caller.

    Returns
    -------
    value : float
        ``-inf`` if no path is complete.
    arcs : int32 array
    """
    value = final.copy()
    follower = np.full(len(final), -1, np.int32)
    for state in range(len(final) - 1, start, -1):
        suffix = value[state]
        if suffix == -np.inf:
            continue
        for index in range(in_offset[state], in_offset[state + 1]):
            arc = in_arc[index]
            source = src[arc]
            extended = score[arc] + suffix
            if source < start or extended == -np.inf or extended < value[source]:
                continue
            if extended > value[source] or _precedes(
                arc, follower[source], dst, rank, tie, follower
            ):
                value[source] = extended
                follower[source] = arc
    length = 0
    arc = follower[start]
    while arc >= 0:
        length += 1
        arc = follower[dst[arc]]
    arcs = np.empty(length, np.int32)
    arc = follower[start]
    for place in range(length):
        arcs[place] = arc
        arc = follower[dst[arc]]
    return value[start], arcs


def arc_ranks(lattice: Lattice) -> IntColumn:
    """Return, for every arc, a key for its word, in the order of words; -1 for epsilon.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "b"), (0, 1, "a"), (0, 1, "")], finals=[1])
    >>> b, a, epsilon = arc_ranks(lattice).tolist()
    >>> epsilon < a < b, epsilon
    (True, -1)
    """
    # the empty word is the first of all strings, and its key is 0
    return ints(lattice.vocabulary.ranks()[lattice.label] - 1)
