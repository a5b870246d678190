"""The k best paths, or the k best sentences, found lazily from the end of the lattice.

Every state keeps the list of its best suffixes, best first, and makes the next one only
when it is asked for. A suffix is an arc followed by a suffix of the arc's target: as the
target's suffixes come in order, so do those that begin with one arc, and a heap with one
entry an arc gives the order at the state (algorithm 3 of Huang & Chiang, 2005). For
sentences instead of paths, a state passes over suffixes that spell words it has spelt.

Word sequences are interned: a number stands for a word and the number of the rest, so
that equal sentences are equal numbers, and two are compared only up to their common rest.
"""

from __future__ import annotations

from itertools import pairwise
from operator import index

import numpy as np

from lattices.algorithms.best import arc_ranks
from lattices.algorithms.paths import Paths, hypotheses, no_complete_path
from lattices.arrays import FloatColumn, IntColumn, floats, ints, kernel
from lattices.errors import OptionError
from lattices.spaces import Hypothesis, Lattice

# The store of word sequences has two columns, a word and the rest, and the empty sequence
# in row 0. That of suffixes begins with the state and the words, which are its keys as the
# two are above; then comes the candidate it was made of, the suffix after its arc, and the
# suffix its state gave next, -1 while nobody has asked. Each store is one array: counting
# the references to many would cost more than the search.
_WORD, _REST = 0, 1
_STATE, _WORDS, _CANDIDATE, _AFTER, _NEXT = 0, 1, 2, 3, 4


@kernel
def _slot(table, store, first, second):  # type: ignore[no-untyped-def]
    """Return where the table holds the row that begins with two keys, or the free slot for it.

    A slot holds the number of a row, or -1; there are a power of two of them, at most half
    of them taken.
    """
    # factors of 30 bits: the keys have no more than 32, so nothing overflows
    mixed = np.int64(first) * 1000000007 + np.int64(second) * 668265263
    slot = (mixed ^ (mixed >> 29)) & (len(table) - 1)
    while True:
        row = table[slot]
        if row < 0 or (store[row, 0] == first and store[row, 1] == second):
            return slot
        slot = (slot + 1) & (len(table) - 1)


@kernel
def _doubled(table, store):  # type: ignore[no-untyped-def]
    """Return a table of twice the slots with the same rows."""
    larger = np.full(2 * len(table), -1, np.int64)
    for row in table:
        if row >= 0:
            larger[_slot(larger, store, store[row, 0], store[row, 1])] = row
    return larger


@kernel
def _extended(store):  # type: ignore[no-untyped-def]
    """Return a copy with room for as many rows again."""
    longer = np.empty((2 * len(store), store.shape[1]), np.int64)
    longer[: len(store)] = store
    return longer


@kernel
def _before(one, other, arcs, value, words, sequence):  # type: ignore[no-untyped-def]
    """Tell whether candidate ``one`` of a state comes before ``other``, by values, words, arcs."""
    for rank in range(2):
        if value[one, rank] != value[other, rank]:
            return value[one, rank] > value[other, rank]
    left, right = words[one], words[other]
    while left != right:
        if left == 0 or right == 0:
            return left == 0
        if sequence[left, _WORD] != sequence[right, _WORD]:
            return sequence[left, _WORD] < sequence[right, _WORD]
        left, right = sequence[left, _REST], sequence[right, _REST]
    # to end here is the shortest sequence of arcs
    if one >= arcs or other >= arcs:
        return one >= arcs
    return one < other


@kernel
def _push(heap, base, size, new, arcs, value, words, sequence):  # type: ignore[no-untyped-def]
    """Put a candidate into the heap of ``size`` entries that begins at ``base``."""
    hole = size
    while hole > 0:
        parent = (hole - 1) // 2
        if not _before(new, heap[base + parent], arcs, value, words, sequence):
            break
        heap[base + hole] = heap[base + parent]
        hole = parent
    heap[base + hole] = new


@kernel
def _pop(heap, base, size, arcs, value, words, sequence):  # type: ignore[no-untyped-def]
    """Take the first candidate out of the heap of ``size`` entries that begins at ``base``."""
    first, moved = heap[base], heap[base + size - 1]
    hole, child = 0, 1
    while child < size - 1:
        if child + 1 < size - 1 and _before(
            heap[base + child + 1], heap[base + child], arcs, value, words, sequence
        ):
            child += 1
        if not _before(heap[base + child], moved, arcs, value, words, sequence):
            break
        heap[base + hole] = heap[base + child]
        hole, child = child, 2 * child + 1
    heap[base + hole] = moved
    return first


@kernel
def _spelt(rank, rest, sequence, interned, sequences):  # type: ignore[no-untyped-def]
    """Return the number of the sequence of an arc's word and the sequence ``rest``.

    A sequence not met before gets the number ``sequences``, the first that is free.
    """
    if rank < 0:
        return rest
    slot = _slot(interned, sequence, rank, rest)
    if interned[slot] < 0:
        sequence[sequences, _WORD] = rank
        sequence[sequences, _REST] = rest
        interned[slot] = sequences
    return interned[slot]


@kernel
def _unrolled(suffix, first, count, arcs):  # type: ignore[no-untyped-def]
    """Return the arcs of ``count`` suffixes of a state, and where each begins."""
    offset = np.zeros(count + 1, np.int32)
    path = first
    for place in range(count):
        length = 0
        step = path
        while suffix[step, _CANDIDATE] < arcs:
            length += 1
            step = suffix[step, _AFTER]
        offset[place + 1] = offset[place] + length
        path = suffix[path, _NEXT]
    steps = np.empty(offset[count], np.int32)
    path = first
    for place in range(count):
        step = path
        for entry in range(offset[place], offset[place + 1]):
            steps[entry] = suffix[step, _CANDIDATE]
            step = suffix[step, _AFTER]
        path = suffix[path, _NEXT]
    return steps, offset


@kernel
def _k_best(  # type: ignore[no-untyped-def]
    dst, out_offset, rank, score, final, second, second_final, start, k, distinct
):
    """Return the arcs of the best paths, one after the other, and where each begins.

    Paths are ranked by ``score`` and ``final``, and among equals by the ``second`` pair.
    """
    arcs, states = len(dst), len(final)
    # candidate c is arc c with the suffix after it, or, from `arcs` on, to end in c - arcs
    value = np.empty((arcs + states, 2), np.float64)
    words = np.zeros(arcs + states, np.int64)
    after = np.full(arcs + states, -1, np.int64)
    # the heap of a state begins at out_offset[state] + state: a place for each arc, one to end
    heap = np.empty(arcs + states, np.int64)
    size = np.zeros(states, np.int64)
    first, last = np.full(states, -1, np.int64), np.full(states, -1, np.int64)
    # the candidate a state took last: the next one through its arc is due before any other
    taken = np.full(states, -1, np.int64)
    exhausted = np.zeros(states, np.bool_)
    room = 256
    while room <= arcs + states:
        room *= 2
    sequence, sequences = np.full((room, 2), -1, np.int64), 1
    interned = np.full(2 * room, -1, np.int64)
    suffix, suffixes = np.full((room, 5), -1, np.int64), 0
    suffix_value = np.empty((room, 2), np.float64)
    given = np.full(2 * room, -1, np.int64)
    stack = np.empty(states + 1, np.int64)

    found = 0
    fresh = states
    while found < k and not exhausted[start]:
        # the best suffix of every state, from the last to the start; then one more of the start
        depth = 1
        if fresh > start:
            fresh -= 1
            for arc in range(out_offset[fresh], out_offset[fresh + 1]):
                follower = first[dst[arc]]
                if follower >= 0:
                    rest = suffix[follower, _WORDS]
                    words[arc] = _spelt(rank[arc], rest, sequence, interned, sequences)
                    sequences = max(sequences, words[arc] + 1)
                    value[arc, 0] = score[arc] + suffix_value[follower, 0]
                    value[arc, 1] = second[arc] + suffix_value[follower, 1]
                    after[arc] = follower
                    base = out_offset[fresh] + fresh
                    _push(heap, base, size[fresh], arc, arcs, value, words, sequence)
                    size[fresh] += 1
            if final[fresh] > -np.inf:
                value[arcs + fresh, 0] = final[fresh]
                value[arcs + fresh, 1] = second_final[fresh]
                base = out_offset[fresh] + fresh
                _push(heap, base, size[fresh], arcs + fresh, arcs, value, words, sequence)
                size[fresh] += 1
        stack[0] = fresh
        while depth > 0:
            state = stack[depth - 1]
            base = out_offset[state] + state
            arc = taken[state]
            if 0 <= arc < arcs:
                follower = suffix[after[arc], _NEXT]
                if follower < 0 and not exhausted[dst[arc]]:
                    stack[depth] = dst[arc]
                    depth += 1
                    continue
                if follower >= 0:
                    if sequences == len(sequence):
                        sequence = _extended(sequence)
                        interned = _doubled(interned, sequence)
                    rest = suffix[follower, _WORDS]
                    words[arc] = _spelt(rank[arc], rest, sequence, interned, sequences)
                    sequences = max(sequences, words[arc] + 1)
                    value[arc, 0] = score[arc] + suffix_value[follower, 0]
                    value[arc, 1] = second[arc] + suffix_value[follower, 1]
                    after[arc] = follower
                    _push(heap, base, size[state], arc, arcs, value, words, sequence)
                    size[state] += 1
            if size[state] == 0:
                taken[state] = -1
                exhausted[state] = True
                depth -= 1
                continue
            candidate = _pop(heap, base, size[state], arcs, value, words, sequence)
            size[state] -= 1
            taken[state] = candidate
            if distinct:
                slot = _slot(given, suffix, state, words[candidate])
                if given[slot] >= 0:
                    continue
                given[slot] = suffixes
            suffix[suffixes, _STATE] = state
            suffix[suffixes, _WORDS] = words[candidate]
            suffix[suffixes, _CANDIDATE] = candidate
            suffix[suffixes, _AFTER] = after[candidate]
            suffix[suffixes, _NEXT] = -1
            suffix_value[suffixes] = value[candidate]
            if last[state] >= 0:
                suffix[last[state], _NEXT] = suffixes
            else:
                first[state] = suffixes
            last[state] = suffixes
            suffixes += 1
            if suffixes == len(suffix):
                suffix = _extended(suffix)
                given = _doubled(given, suffix)
                suffix_value = np.concatenate((suffix_value, suffix_value))
            depth -= 1
            if state == start:
                found += 1

    return _unrolled(suffix, first[start], found, arcs)


def k_best_paths(lattice: Lattice, k: int, distinct: bool = False) -> Paths:
    """Return the paths of :func:`k_best`, in columns.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -2.0)], finals=[1])
    >>> k_best_paths(lattice, 5).arcs.tolist()
    [0, 1]
    """
    if index(k) < 1:
        raise OptionError(f"k is {k}, expected at least 1")
    nothing = np.zeros(max(lattice.num_arcs, lattice.num_states))
    return _found(lattice, lattice.score, lattice.final, nothing, nothing, index(k), bool(distinct))


def k_best_ranked(
    lattice: Lattice, value: FloatColumn, final_value: FloatColumn, k: int
) -> list[IntColumn]:
    """Return the arcs of the ``k`` best sentences under other values than the scores.

    Each sentence comes once, by its best path. Equal values go to the higher score, then as
    in :func:`k_best`; ``final_value`` is ``-inf`` where a path may not end.
    """
    paths = _found(lattice, value, final_value, lattice.score, lattice.final, k, True)
    return [ints(paths.arcs[begin:end]) for begin, end in pairwise(paths.offset.tolist())]


def _found(
    lattice: Lattice,
    value: FloatColumn,
    final_value: FloatColumn,
    second: FloatColumn,
    second_final: FloatColumn,
    k: int,
    distinct: bool,
) -> Paths:
    arcs, offset = _k_best(
        lattice.dst,
        lattice.out_offset,
        arc_ranks(lattice),
        floats(value),
        floats(final_value),
        floats(second),
        floats(second_final),
        lattice.start,
        k,
        distinct,
    )
    if len(offset) == 1:
        raise no_complete_path(lattice)
    return Paths(ints(arcs), ints(offset))


def k_best(lattice: Lattice, k: int, distinct: bool = False) -> list[Hypothesis]:
    """Return the ``k`` best paths, best first, or all if there are fewer.

    Ties: the first in the order of the words, compared as strings one by one; then the
    first in the order of the arcs. So the first of the list is :func:`best`'s answer.

    Exact for every lattice. No state ever gives more than ``k`` suffixes, however many
    paths spell one sentence, so the cost is at most O(k * arcs * log(arcs)), and far less
    in practice.

    Parameters
    ----------
    lattice : Lattice
    k : int
        At least 1.
    distinct : bool
        Whether to give each sentence once, by its best path, instead of every path.

    Raises
    ------
    SpaceError
        If the lattice has no complete path.

    References
    ----------
    L. Huang and D. Chiang, Better k-best Parsing, IWPT 2005.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -1.0), (0, 1, "a", -2.0), (0, 1, "b", -3.0)], finals=[1]
    ... )
    >>> [(found.text, found.score) for found in k_best(lattice, 2)]
    [('a', -1.0), ('a', -2.0)]
    >>> [(found.text, found.score) for found in k_best(lattice, 2, distinct=True)]
    [('a', -1.0), ('b', -3.0)]
    """
    return hypotheses(lattice, k_best_paths(lattice, k, distinct))
