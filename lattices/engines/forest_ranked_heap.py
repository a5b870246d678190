"""The order of derivations that have a gain and a model score, and the heaps that keep it.

Records are those of :mod:`lattices.algorithms.forest_best`, with the model score for their
value, and a column of gains beside them.
"""

from __future__ import annotations

import numpy as np

from lattices.algorithms.forest_best import (
    BELOW,
    CHILD,
    EDGE,
    HASH,
    LENGTH,
    SIBLING,
    compared_words,
    complete,
    precedes,
)
from lattices.arrays import kernel


@kernel
def worth_of(item, record, gain, value, graph, sign, weight):  # type: ignore[no-untyped-def]
    """Return what a record is ranked by; higher is better."""
    return sign * (gain[item] / graph.denominator[record[item, EDGE]] + weight * value[item])


@kernel
def ahead(one, other, record, gain, value, below, graph, rank, left, right, sign, weight):  # type: ignore[no-untyped-def]
    """Tell whether one record of a node comes before another."""
    mine = worth_of(one, record, gain, value, graph, sign, weight)
    yours = worth_of(other, record, gain, value, graph, sign, weight)
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
        one, other, record, value, below, graph.head, graph.tail_offset,
        graph.symbol, graph.symbol_offset, rank, left, right,
    )  # fmt: skip


@kernel
def finish(item, record, gain, value, below, graph):  # type: ignore[no-untyped-def]
    """Fill in what a record's edge and the records of its tails make of it."""
    complete(
        item, record, value, below, graph.tail_offset,
        graph.symbol, graph.symbol_offset, graph.score,
    )  # fmt: skip
    edge, at = record[item, EDGE], record[item, BELOW]
    total = graph.gain[edge]
    for index in range(graph.tail_offset[edge + 1] - graph.tail_offset[edge]):
        total += gain[below[at + index]]
    gain[item] = total


@kernel
def melded(one, other, record, gain, value, below, graph, rank, left, right, sign, weight):  # type: ignore[no-untyped-def]
    """Return the first record of the pairing heap that two heaps make, either of them empty or not.

    The heap lives in the records: the first that comes after each, and the next beside it.
    """
    if one < 0 or other < 0:
        return max(one, other)
    if ahead(other, one, record, gain, value, below, graph, rank, left, right, sign, weight):
        one, other = other, one
    record[other, SIBLING] = record[one, CHILD]
    record[one, CHILD] = other
    return one


@kernel
def without_first(  # type: ignore[no-untyped-def]
    first, record, gain, value, below, graph, rank, left, right, sign, weight
):
    """Return the heap that is left when its first record is taken: by pairs, then one by one."""
    pairs = -1
    item = record[first, CHILD]
    record[first, CHILD] = -1
    while item >= 0:
        partner, rest = record[item, SIBLING], -1
        record[item, SIBLING] = -1
        if partner >= 0:
            rest = record[partner, SIBLING]
            record[partner, SIBLING] = -1
        item = melded(
            item, partner, record, gain, value, below, graph, rank, left, right, sign, weight
        )
        record[item, SIBLING] = pairs
        pairs, item = item, rest
    heap = -1
    while pairs >= 0:
        rest = record[pairs, SIBLING]
        record[pairs, SIBLING] = -1
        heap = melded(
            heap, pairs, record, gain, value, below, graph, rank, left, right, sign, weight
        )
        pairs = rest
    return heap


@kernel
def free_slot(item, table, record, below, graph, rank, left, right):  # type: ignore[no-untyped-def]
    """Return where to note the words of a record among those its node gave, -1 if it gave them.

    There are a power of two of slots, at most half of them taken. Words of one hash are
    compared, so that no sentence is ever taken for another.
    """
    node = graph.head[record[item, EDGE]]
    mixed = (record[item, HASH] + node) * 2862933555777941757
    slot = (mixed ^ (mixed >> 29)) & (len(table) - 1)
    while table[slot] >= 0:
        other = table[slot]
        if (
            record[other, HASH] == record[item, HASH]
            and record[other, LENGTH] == record[item, LENGTH]
            and graph.head[record[other, EDGE]] == node
            and compared_words(
                item, other, record, below, graph.head,
                graph.symbol, graph.symbol_offset, rank, left, right,
            )
            == 0
        ):  # fmt: skip
            return -1
        slot = (slot + 1) & (len(table) - 1)
    return slot


@kernel
def doubled_table(table, record, below, graph, rank, left, right):  # type: ignore[no-untyped-def]
    """Return a table of twice the slots with the same records."""
    larger = np.full(2 * len(table), -1, np.int64)
    for item in table:
        if item >= 0:
            larger[free_slot(item, larger, record, below, graph, rank, left, right)] = item
    return larger


@kernel
def longer(values, room):  # type: ignore[no-untyped-def]
    """Return a copy with ``room`` entries."""
    copy = np.empty((room, *values.shape[1:]), values.dtype)
    copy[: len(values)] = values
    return copy
