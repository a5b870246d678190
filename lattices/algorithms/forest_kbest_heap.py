"""The heaps of derivations from which a node gives the next best, and the words it has given."""

from __future__ import annotations

import numpy as np

from lattices.algorithms.forest_best import (
    CHILD,
    EDGE,
    HASH,
    LENGTH,
    SIBLING,
    ahead,
    compared_words,
    precedes,
)
from lattices.arrays import kernel


@kernel
def melded(  # type: ignore[no-untyped-def]
    one, other, record, gain, value, below, head, tail_offset, symbol, symbol_offset,
    rank, left, right, merit,
):  # fmt: skip
    """Return the first record of the pairing heap that two heaps make, either of them empty or not.

    The heap lives in the records: the first that comes after each, and the next beside it.
    """
    if one < 0 or other < 0:
        return max(one, other)
    if merit is None:
        swapped = precedes(
            other, one, record, value, below, head, tail_offset, symbol, symbol_offset,
            rank, left, right,
        )  # fmt: skip
    else:
        swapped = ahead(
            other, one, record, gain, value, below, head, tail_offset, symbol, symbol_offset,
            rank, left, right, merit,
        )  # fmt: skip
    if swapped:
        one, other = other, one
    record[other, SIBLING] = record[one, CHILD]
    record[one, CHILD] = other
    return one


@kernel
def without_first(  # type: ignore[no-untyped-def]
    first, record, gain, value, below, head, tail_offset, symbol, symbol_offset,
    rank, left, right, merit,
):  # fmt: skip
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
            item, partner, record, gain, value, below, head, tail_offset, symbol, symbol_offset,
            rank, left, right, merit,
        )  # fmt: skip
        record[item, SIBLING] = pairs
        pairs, item = item, rest
    heap = -1
    while pairs >= 0:
        rest = record[pairs, SIBLING]
        record[pairs, SIBLING] = -1
        heap = melded(
            heap, pairs, record, gain, value, below, head, tail_offset, symbol, symbol_offset,
            rank, left, right, merit,
        )  # fmt: skip
        pairs = rest
    return heap


@kernel
def free_slot(  # type: ignore[no-untyped-def]
    item, table, record, below, head, symbol, symbol_offset, rank, left, right
):
    """Return where to note the words of a record among those its node gave, -1 if it gave them.

    There are a power of two of slots, at most half of them taken. Words of one hash are
    compared, so that no sentence is ever taken for another.
    """
    node = head[record[item, EDGE]]
    mixed = (record[item, HASH] + node) * 2862933555777941757
    slot = (mixed ^ (mixed >> 29)) & (len(table) - 1)
    while table[slot] >= 0:
        other = table[slot]
        if (
            record[other, HASH] == record[item, HASH]
            and record[other, LENGTH] == record[item, LENGTH]
            and head[record[other, EDGE]] == node
            and compared_words(
                item, other, record, below, head, symbol, symbol_offset, rank, left, right
            )
            == 0
        ):
            return -1
        slot = (slot + 1) & (len(table) - 1)
    return slot


@kernel
def doubled_table(table, record, below, head, symbol, symbol_offset, rank, left, right):  # type: ignore[no-untyped-def]
    """Return a table of twice the slots with the same records."""
    larger = np.full(2 * len(table), -1, np.int64)
    for item in table:
        if item >= 0:
            slot = free_slot(
                item, larger, record, below, head, symbol, symbol_offset, rank, left, right
            )
            larger[slot] = item
    return larger


@kernel
def longer(values, room):  # type: ignore[no-untyped-def]
    """Return a copy with ``room`` entries."""
    copy = np.empty((room, *values.shape[1:]), values.dtype)
    copy[: len(values)] = values
    return copy
