"""The kernels that unfold a forest: see :mod:`lattices.algorithms.forest_ngram_contexts`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lattices.algorithms.ngram_trie import (
    LENGTH,
    PREFIX,
    SUFFIX,
    WORD,
    Ngrams,
    extended,
    new_trie,
)
from lattices.arrays import IntColumn, inlined, ints, kernel
from lattices.spaces import Forest

# the columns of an item
_PLACE, _FIRST, _LAST, _NEXT, _RANK = 0, 1, 2, 3, 4
# the columns of an unfolded edge
LEFT, RIGHT, HEAD, EDGE, SYMBOL, END, WHOLE = 0, 1, 2, 3, 4, 5, 6


class UnfoldedColumns(NamedTuple):
    """Items and edges in the order in which they were made.

    Attributes
    ----------
    ngrams : Ngrams
    edges : int32 array
        A row each: left, right, head, edge, symbol, end, whole.
    gram, gram_offset : int32 columns
        The n-grams of each edge.
    rank : int32 column, one entry an item
        Items of a higher rank are made of those of lower ones, and of earlier ones of their own.
    root : int
        The item of the root.
    """

    ngrams: Ngrams
    edges: IntColumn
    gram: IntColumn
    gram_offset: IntColumn
    rank: IntColumn
    root: int


def unfolded_within(forest: Forest, order: int, room: int) -> UnfoldedColumns | None:
    """Return the forest unfolded, or None if ``room`` edges, items or n-grams are too few."""
    columns = (forest.head, forest.tail, forest.tail_offset, forest.symbol, forest.symbol_offset)
    bounds = _bounds(*columns, forest.num_nodes, forest.root)
    row, table = new_trie(room)
    item = np.empty((len(row), 5), np.int32)
    known = np.full(2 * len(row), -1, np.int32)
    edges = np.empty((room, 7), np.int32)
    gram = np.empty(8 * room, np.int32)
    gram_offset = np.zeros(room + 1, np.int32)
    grams, items, filled, listed, root = _unfolded(
        *columns, forest.num_nodes, forest.root, *bounds, order,
        row, table, item, known, edges, gram, gram_offset,
    )  # fmt: skip
    if grams == 0:
        return None
    return UnfoldedColumns(
        Ngrams.of(row[:grams].copy(), table),
        edges[:filled],
        ints(gram[:listed].copy()),
        ints(gram_offset[: filled + 1].copy()),
        ints(item[:items, _RANK]),
        int(root),
    )


@kernel
def _bounds(head, tail, tail_offset, symbol, symbol_offset, nodes, root):  # type: ignore[no-untyped-def]
    """Return which nodes the root needs, and whether anything may stand left or right of each."""
    used = np.zeros(nodes, np.bool_)
    keep_left, keep_right = np.zeros(nodes, np.bool_), np.zeros(nodes, np.bool_)
    used[root] = True
    for edge in range(len(head) - 1, -1, -1):
        node = head[edge]
        if not used[node]:
            continue
        begin, end = symbol_offset[edge], symbol_offset[edge + 1]
        for place in range(begin, end):
            if symbol[place] < 0:
                below = tail[tail_offset[edge] - 1 - symbol[place]]
                used[below] = True
                keep_left[below] |= keep_left[node] or place > begin
                keep_right[below] |= keep_right[node] or place + 1 < end
    return used, keep_left, keep_right


@inlined
def _item_slot(known, item, place, first, last):  # type: ignore[no-untyped-def]
    """Return where the table holds an item, or the free slot for it."""
    mixed = (
        np.int64(place) * 6364136223846793005
        + np.int64(first) * 2862933555777941757
        + np.int64(last) * 3202034522624059733
    )
    slot = (mixed ^ (mixed >> 29)) & (len(known) - 1)
    while known[slot] >= 0 and not (
        item[known[slot], _PLACE] == place
        and item[known[slot], _FIRST] == first
        and item[known[slot], _LAST] == last
    ):
        slot = (slot + 1) & (len(known) - 1)
    return slot


@kernel
def _spelt_backwards(row, gram, spelt):  # type: ignore[no-untyped-def]
    """Fill in the words of an n-gram, the last one first, and return how many they are."""
    size = row[gram, LENGTH]
    for place in range(size):
        spelt[place] = row[gram, WORD]
        gram = row[gram, PREFIX]
    return size


@kernel
def _followed(row, table, grams, gram, listed, context, first, word, within, keep_first, order):  # type: ignore[no-untyped-def]
    """Return all that changes when a word follows: how many n-grams there are, and the contexts.

    The n-grams that end with it are listed, but for those of its last ``within`` words: they
    lie within the part it comes from, and were listed there.
    """
    longest, grams = extended(row, table, grams, context, word)
    context = row[longest, SUFFIX] if row[longest, LENGTH] == order else longest
    while row[longest, LENGTH] > within:
        gram[listed] = longest
        listed += 1
        longest = row[longest, SUFFIX]
    if keep_first and row[first, LENGTH] < order - 1:
        first, grams = extended(row, table, grams, first, word)
    return grams, listed, context, first


@kernel
def _unfolded(  # type: ignore[no-untyped-def]
    head, tail, tail_offset, symbol, symbol_offset, nodes, root, used, keep_left, keep_right,
    order, row, table, item, known, found, gram, gram_offset,
):  # fmt: skip
    """Fill in n-grams, items and edges; return how many there are, and the root's item.

    All are zeros if there is no room. (Arrays that could grow here would cost more than all
    the rest: numba counts references to them.)
    """
    grams, items, edges, listed = 1, 0, 0, 0
    # items stand in a list for each place: nodes, then the slots of all edges
    places = nodes + len(tail)
    first_item, last_item = np.full(places, -1, np.int32), np.full(places, -1, np.int32)
    spelt = np.empty(order + 1, np.int32)
    for edge in range(len(head)):
        node = head[edge]
        if not used[node]:
            continue
        at, end = symbol_offset[edge], symbol_offset[edge + 1]
        slots = tail_offset[edge + 1] - tail_offset[edge]
        for step in range(slots + 1):
            # the words before the first slot, or a slot and the words after it
            below = before = np.int32(-1)
            if step > 0:
                below = tail[tail_offset[edge] - 1 - symbol[at]]
                before = first_item[nodes + tail_offset[edge] + step - 1]
                at += 1
            until = at
            while until < end and symbol[until] > 0:
                until += 1
            here = node if step == slots else nodes + tail_offset[edge] + step
            most = (until - at + order) * order
            while step == 0 or before >= 0:
                inner = first_item[below] if step > 0 else np.int32(-1)
                while step == 0 or inner >= 0:
                    if (
                        edges == len(found)
                        or items == len(item)
                        or grams + 2 * most >= len(row)
                        or listed + most >= len(gram)
                    ):
                        return 0, 0, 0, 0, 0
                    context = first = np.int32(0)
                    if step > 0:
                        context, first = item[before, _LAST], item[before, _FIRST]
                        size = np.int32(0)
                        if keep_left[below]:
                            size = _spelt_backwards(row, item[inner, _FIRST], spelt)
                        for place in range(size):
                            grams, listed, context, first = _followed(
                                row, table, grams, gram, listed, context, first,
                                spelt[size - 1 - place], place + 1, keep_left[node], order,
                            )  # fmt: skip
                        if not keep_left[below] or size == order - 1:
                            context = item[inner, _LAST]
                    for place in range(at, until):
                        grams, listed, context, first = _followed(
                            row, table, grams, gram, listed, context, first,
                            symbol[place], 0, keep_left[node], order,
                        )  # fmt: skip
                    if step == slots and not keep_right[node]:
                        context = np.int32(0)
                    slot = _item_slot(known, item, here, first, context)
                    made = known[slot]
                    if made < 0:
                        made = np.int32(items)
                        known[slot] = made
                        item[made, _PLACE], item[made, _FIRST] = here, first
                        item[made, _LAST], item[made, _NEXT] = context, -1
                        item[made, _RANK] = 2 * node + (step == slots)
                        if last_item[here] >= 0:
                            item[last_item[here], _NEXT] = made
                        else:
                            first_item[here] = made
                        last_item[here] = made
                        items += 1
                    found[edges, LEFT], found[edges, RIGHT] = before, inner
                    found[edges, HEAD], found[edges, EDGE] = made, edge
                    found[edges, SYMBOL], found[edges, END] = at, until
                    found[edges, WHOLE] = step == slots
                    edges += 1
                    gram_offset[edges] = listed
                    if step == 0:
                        break
                    inner = item[inner, _NEXT]
                if step == 0:
                    break
                before = item[before, _NEXT]
            at = until
    return grams, items, edges, listed, first_item[root]
