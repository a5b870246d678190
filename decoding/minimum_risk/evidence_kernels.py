"""Equal sentences found, and the mass of a sentence in a lattice summed over its paths."""

from __future__ import annotations

import math

import numpy as np

from fstmetrics.ngram_counts import GOLDEN
from lattices.arrays import FloatColumn, IntColumn, floats, inlined, ints, kernel
from lattices.semirings import LOG
from lattices.spaces import Lattice, NBest
from lattices.spaces.order import counting_sort
from lattices.vocabulary import EPSILON


def equal_sentences(label: IntColumn, offset: IntColumn) -> tuple[IntColumn, IntColumn]:
    """Return which sentence each entry is, and the first entry of each sentence.

    Entry ``i`` is ``label[offset[i]:offset[i + 1]]``; sentences are numbered as they come. Rows
    are hashed, and compared where hashes agree. Cost: O(words).

    Examples
    --------
    >>> sentence, first = equal_sentences(ints([1, 2, 1, 2, 1]), ints([0, 2, 4, 5]))
    >>> sentence.tolist(), first.tolist()
    ([0, 0, 1], [0, 2])
    """
    sentence, first = _equal(ints(label), ints(offset))
    return ints(sentence), ints(first)


def path_masses(lattice: Lattice, nbest: NBest, scale: float) -> FloatColumn:
    """Return the log of the sum of ``exp(scale * score)`` over all paths of each sentence.

    The sentences stand in a trie, and one pass over the lattice carries, at each state, the
    mass of every prefix that leads there: O(sum over arcs of the prefixes at their source). A
    sentence that the lattice does not have gets ``-inf``.

    Parameters
    ----------
    lattice : Lattice
    nbest : NBest
        Over the vocabulary of the lattice; no sentence twice.
    scale : float

    Examples
    --------
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "a"), (0, 1, "b")], finals=[1])
    >>> nbest = NBest(lattice.vocabulary, [1, 2], [0, 1, 2], [0.0, 0.0])
    >>> np.exp(path_masses(lattice, nbest, 1.0)).round(9).tolist()
    [2.0, 1.0]
    """
    order, in_offset = counting_sort(
        lattice.dst, ints(np.arange(lattice.num_arcs)), lattice.num_states
    )
    return floats(
        _masses(
            lattice.src, lattice.label, floats(LOG.weights(lattice.score, scale)),
            floats(LOG.weights(lattice.final, scale)), ints(order), ints(in_offset),
            lattice.start, nbest.label, nbest.offset, len(lattice.vocabulary),
        )
    )  # fmt: skip


@kernel
def _equal(label, offset):  # type: ignore[no-untyped-def]
    rows = len(offset) - 1
    bits = 1
    while (1 << bits) < 2 * rows:
        bits += 1
    shift = np.uint64(64 - bits)
    table = np.full(1 << bits, -1, np.int32)
    code = np.empty(rows, np.uint64)
    first = np.empty(rows, np.int32)
    sentence = np.empty(rows, np.int32)
    count = 0
    for row in range(rows):
        begin, length = offset[row], offset[row + 1] - offset[row]
        hashed = np.uint64(length)
        for index in range(length):
            hashed = (hashed ^ np.uint64(label[begin + index])) * GOLDEN
            hashed ^= hashed >> np.uint64(29)
        hashed *= GOLDEN
        place = np.int64(hashed >> shift)
        found = -1
        while table[place] >= 0:
            other = table[place]
            start = offset[first[other]]
            same = code[other] == hashed and offset[first[other] + 1] - start == length
            if same:
                for index in range(length):
                    if label[start + index] != label[begin + index]:
                        same = False
                        break
            if same:
                found = other
                break
            place = (place + 1) & (len(table) - 1)
        if found < 0:
            found = count
            table[place], code[count], first[count] = count, hashed, row
            count += 1
        sentence[row] = found
    return sentence, first[:count].copy()


@inlined
def hash_place(key, wanted, shift):  # type: ignore[no-untyped-def]
    """Return where ``wanted`` stands in a hash table of ``2 ** (64 - shift)``, or where it would.

    0 is an empty place; the table has one, always.
    """
    place = np.int64((np.uint64(wanted) * GOLDEN) >> shift)
    while key[place] != 0 and key[place] != wanted:
        place = (place + 1) & (len(key) - 1)
    return place


@inlined
def _log_sum(one, other):  # type: ignore[no-untyped-def]
    high, low = max(one, other), min(one, other)
    return high if low == -np.inf else high + math.log1p(math.exp(low - high))


@kernel
def _masses(src, arc_label, score, final, order, in_offset, start, label, offset, words):  # type: ignore[no-untyped-def]
    bits = 1
    while (1 << bits) < 2 * (len(label) + 1):
        bits += 1
    shift = np.uint64(64 - bits)
    key = np.zeros(1 << bits, np.int64)
    child = np.zeros(1 << bits, np.int32)
    end = np.zeros(len(offset) - 1, np.int32)
    nodes = 1
    for sentence in range(len(end)):
        here = np.int64(0)
        for index in range(offset[sentence], offset[sentence + 1]):
            wanted = here * words + label[index]
            place = hash_place(key, wanted, shift)
            if key[place] == 0:
                key[place], child[place] = wanted, nodes
                nodes += 1
            here = np.int64(child[place])
        end[sentence] = here
    total = np.full(nodes, -np.inf)
    mass = np.full(nodes, -np.inf)
    touched = np.empty(nodes, np.int32)
    # the prefixes at each state, one state after the other
    prefix = np.empty(1024, np.int32)
    weight = np.empty(1024)
    begin = np.zeros(len(in_offset), np.int64)
    filled = 0
    for state in range(len(in_offset) - 1):
        touches = 0
        if state == start:
            touched[0], mass[0], touches = 0, 0.0, 1
        for index in range(in_offset[state], in_offset[state + 1]):
            arc = order[index]
            if score[arc] == -np.inf:
                continue
            for pair in range(begin[src[arc]], begin[src[arc] + 1]):
                node = np.int64(prefix[pair])
                if arc_label[arc] != EPSILON:
                    wanted = node * words + arc_label[arc]
                    place = hash_place(key, wanted, shift)
                    if key[place] == 0:
                        continue
                    node = np.int64(child[place])
                if mass[node] == -np.inf:
                    touched[touches] = node
                    touches += 1
                mass[node] = _log_sum(mass[node], weight[pair] + score[arc])
        if filled + touches > len(prefix):
            more = max(2 * len(prefix), filled + touches)
            longer, heavier = np.empty(more, np.int32), np.empty(more)
            longer[:filled], heavier[:filled] = prefix[:filled], weight[:filled]
            prefix, weight = longer, heavier
        for touch in range(touches):
            node = touched[touch]
            prefix[filled], weight[filled] = node, mass[node]
            filled += 1
            if final[state] > -np.inf:
                total[node] = _log_sum(total[node], mass[node] + final[state])
            mass[node] = -np.inf
        begin[state + 1] = filled
    result = np.empty(len(end))
    for sentence in range(len(end)):
        result[sentence] = total[end[sentence]]
    return result
