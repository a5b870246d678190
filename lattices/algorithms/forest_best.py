"""Records of derivations, for searches that break ties by the words and then by the edges.

A *record* is an edge with a derivation for each of its tails, which are records themselves:
a derivation of the edge's head whose words are never written down. Two of them are compared
by walking both at once and passing over the records that they share.
"""

from __future__ import annotations

import numpy as np

from lattices.algorithms.best import best_path as best_derivation
from lattices.algorithms.forest_derivations import MOST_EDGES
from lattices.arrays import kernel

__all__ = ["best_derivation"]

# The columns of the store of records: the edge, where its tails' records stand in `below`, the
# numbers of words and of edges, a hash of the words and what shifts it past them. The others
# are for the k best: the last tail that was changed, the record its node gave next, and the
# links of the heap. Records 0 up to the number of edges are the edges with their best tails.
EDGE, BELOW, LENGTH, SIZE, HASH, SHIFT, MOVED, NEXT, CHILD, SIBLING = range(10)
COLUMNS = 10
#: sizes beyond this are only known to be too large
HUGE = 2**60
_BASE = 6364136223846793005


@kernel
def complete(item, record, value, below, tail_offset, symbol, symbol_offset, score):  # type: ignore[no-untyped-def]
    """Fill in what a record's edge and the records of its tails make of it."""
    edge, at = record[item, EDGE], record[item, BELOW]
    words, size, hashed, shift = 0, 1, 0, 1
    total = score[edge]
    for tail in range(tail_offset[edge + 1] - tail_offset[edge]):
        total += value[below[at + tail]]
        size = min(size + record[below[at + tail], SIZE], HUGE)
    for place in range(symbol_offset[edge], symbol_offset[edge + 1]):
        if symbol[place] > 0:
            words += 1
            hashed = hashed * _BASE + symbol[place]
            shift *= _BASE
        else:
            part = below[at - 1 - symbol[place]]
            words += record[part, LENGTH]
            hashed = hashed * record[part, SHIFT] + record[part, HASH]
            shift *= record[part, SHIFT]
        words = min(words, HUGE)
    value[item] = total
    record[item, LENGTH], record[item, SIZE] = words, size
    record[item, HASH], record[item, SHIFT] = hashed, shift
    record[item, NEXT] = record[item, CHILD] = record[item, SIBLING] = -1


@kernel
def compared_words(one, other, record, below, head, symbol, symbol_offset, rank, left, right):  # type: ignore[no-untyped-def]
    """Return -1, 0 or 1: whether the words of one record come before, are or come after others.

    Both records have the same number of words. ``left`` and ``right`` are room for as many
    rows as there are nodes, and one more.
    """
    left[0, 0], left[0, 1] = one, symbol_offset[record[one, EDGE]]
    right[0, 0], right[0, 1] = other, symbol_offset[record[other, EDGE]]
    lefts = rights = 1
    while True:
        while (
            lefts > 0 and left[lefts - 1, 1] == symbol_offset[record[left[lefts - 1, 0], EDGE] + 1]
        ):
            lefts -= 1
        while (
            rights > 0
            and right[rights - 1, 1] == symbol_offset[record[right[rights - 1, 0], EDGE] + 1]
        ):
            rights -= 1
        if lefts == 0 or rights == 0:
            # both have as many words: if anything is left of one, it has none
            return 0
        mine, yours = symbol[left[lefts - 1, 1]], symbol[right[rights - 1, 1]]
        if mine > 0 and yours > 0:
            if mine != yours:
                return -1 if rank[mine] < rank[yours] else 1
            left[lefts - 1, 1] += 1
            right[rights - 1, 1] += 1
            continue
        inner = outer = -1
        if mine < 0:
            inner = below[record[left[lefts - 1, 0], BELOW] - 1 - mine]
        if yours < 0:
            outer = below[record[right[rights - 1, 0], BELOW] - 1 - yours]
        if inner == outer:
            left[lefts - 1, 1] += 1
            right[rights - 1, 1] += 1
        elif outer < 0 or (
            # the higher node may contain the lower one, and the record that both share
            inner >= 0 and head[record[inner, EDGE]] >= head[record[outer, EDGE]]
        ):
            left[lefts - 1, 1] += 1
            left[lefts, 0], left[lefts, 1] = inner, symbol_offset[record[inner, EDGE]]
            lefts += 1
        else:
            right[rights - 1, 1] += 1
            right[rights, 0], right[rights, 1] = outer, symbol_offset[record[outer, EDGE]]
            rights += 1


@kernel
def _compared_edges(one, other, record, below, tail_offset, left, right):  # type: ignore[no-untyped-def]
    """Return -1, 0 or 1 for the edges of two records of one node, from the top down."""
    left[0, 0], right[0, 0], left[0, 1] = one, other, -1
    depth = 1
    while depth > 0:
        mine, yours, tail = left[depth - 1, 0], right[depth - 1, 0], left[depth - 1, 1]
        edge = record[mine, EDGE]
        if edge != record[yours, EDGE]:
            return -1 if edge < record[yours, EDGE] else 1
        tail += 1
        if mine == yours or tail == tail_offset[edge + 1] - tail_offset[edge]:
            depth -= 1
            continue
        left[depth - 1, 1] = tail
        left[depth, 0] = below[record[mine, BELOW] + tail]
        right[depth, 0] = below[record[yours, BELOW] + tail]
        left[depth, 1] = -1
        depth += 1
    return 0


@kernel
def precedes(  # type: ignore[no-untyped-def]
    one, other, record, value, below, head, tail_offset, symbol, symbol_offset, rank, left, right
):
    """Tell whether one record of a node comes before another: by value, words, edges.

    Words of one hash are taken for the same: they nearly always are, and to walk them to the
    end would take as long as they are. Were they not, the edges would decide between them.
    """
    if value[one] != value[other]:
        return value[one] > value[other]
    if record[one, LENGTH] != record[other, LENGTH]:
        return record[one, LENGTH] < record[other, LENGTH]
    order = 0
    if record[one, HASH] != record[other, HASH]:
        order = compared_words(
            one, other, record, below, head, symbol, symbol_offset, rank, left, right
        )
    if order == 0:
        order = _compared_edges(one, other, record, below, tail_offset, left, right)
    return order < 0


@kernel
def worth_of(item, record, gain, value, merit):  # type: ignore[no-untyped-def]
    """Return what a record is ranked by if there is a merit; higher is better."""
    earned = gain[item] / merit.denominator[record[item, EDGE]]
    return merit.sign * (earned + merit.weight * value[item])


@kernel
def ahead(  # type: ignore[no-untyped-def]
    one, other, record, gain, value, below, head, tail_offset, symbol, symbol_offset,
    rank, left, right, merit,
):  # fmt: skip
    """Tell whether one record of a node comes before another: by merit, then as they precede."""
    mine = worth_of(one, record, gain, value, merit)
    yours = worth_of(other, record, gain, value, merit)
    if mine != yours:
        return mine > yours
    if (
        value[one] == value[other]
        and record[one, HASH] == record[other, HASH]
        and record[one, LENGTH] == record[other, LENGTH]
        and record[one, EDGE] != record[other, EDGE]
    ):
        # most often two alignments of one sentence, and nothing below needs to be walked
        return record[one, EDGE] < record[other, EDGE]
    return precedes(
        one, other, record, value, below, head, tail_offset, symbol, symbol_offset,
        rank, left, right,
    )  # fmt: skip


@kernel
def add_gain(item, record, gain, below, tail_offset, merit):  # type: ignore[no-untyped-def]
    """Fill in the gain that a record's edge and the records of its tails make."""
    edge, at = record[item, EDGE], record[item, BELOW]
    total = merit.gain[edge]
    for tail in range(tail_offset[edge + 1] - tail_offset[edge]):
        total += gain[below[at + tail]]
    gain[item] = total


@kernel
def best_records(  # type: ignore[no-untyped-def]
    head, tail, tail_offset, symbol, symbol_offset, in_offset, score, rank, room, merit
):
    """Return a record for every edge, of the best records of its tails, and each node's best.

    The store has room for ``room`` records. A node without a derivation has -1 for its best,
    and so has an edge that needs one, for its value ``-inf``.

    Returns
    -------
    record, gain, value, below, chosen : arrays
        Without a merit, ``gain`` is None.
    left, right : arrays
        Room to compare in, see :func:`compared_words`.
    """
    nodes, edges = len(in_offset) - 1, len(head)
    record = np.zeros((max(room, edges), COLUMNS), np.int64)
    value = np.full(len(record), -np.inf)
    gain = None if merit is None else np.zeros(len(record))
    below = np.full(max(2 * room, len(tail)), -1, np.int64)
    chosen = np.full(nodes, -1, np.int64)
    left, right = np.empty((nodes + 1, 2), np.int64), np.empty((nodes + 1, 2), np.int64)
    for edge in range(edges):
        record[edge, EDGE], record[edge, BELOW] = edge, tail_offset[edge]
        possible = True
        for place in range(tail_offset[edge], tail_offset[edge + 1]):
            below[place] = chosen[tail[place]]
            possible = possible and below[place] >= 0
        if possible:
            complete(edge, record, value, below, tail_offset, symbol, symbol_offset, score)
            node = head[edge]
            first = chosen[node] < 0
            # one more call, with all the columns, would cost as much as most comparisons
            if merit is None:
                first = first or precedes(
                    edge, chosen[node], record, value, below, head, tail_offset,
                    symbol, symbol_offset, rank, left, right,
                )  # fmt: skip
            else:
                add_gain(edge, record, gain, below, tail_offset, merit)
                first = first or ahead(
                    edge, chosen[node], record, gain, value, below, head, tail_offset,
                    symbol, symbol_offset, rank, left, right, merit,
                )  # fmt: skip
            if first:
                chosen[node] = edge
    return record, gain, value, below, chosen, left, right


@kernel
def unrolled(first, count, record, below, tail_offset, stack):  # type: ignore[no-untyped-def]
    """Return the edges of a record and of those its node gave next, and where each begins.

    There are no edges, and the last of the offsets is negative, if they are too many.
    """
    offset = np.zeros(count + 1, np.int32)
    total, item = 0, first
    for place in range(count):
        total = min(total + record[item, SIZE], HUGE)
        if total > MOST_EDGES:
            offset[count] = -1
            return np.empty(0, np.int32), offset
        offset[place + 1] = total
        item = record[item, NEXT]
    edges = np.empty(total, np.int32)
    filled, item = 0, first
    for _ in range(count):
        stack[0, 0], stack[0, 1] = item, -1
        depth = 1
        while depth > 0:
            top = stack[depth - 1, 0]
            edge = record[top, EDGE]
            if stack[depth - 1, 1] < 0:
                edges[filled] = edge
                filled += 1
            stack[depth - 1, 1] += 1
            if stack[depth - 1, 1] == tail_offset[edge + 1] - tail_offset[edge]:
                depth -= 1
                continue
            stack[depth, 0] = below[record[top, BELOW] + stack[depth - 1, 1]]
            stack[depth, 1] = -1
            depth += 1
        item = record[item, NEXT]
    return edges, offset
