"""The k best derivations, or the k best sentences, found lazily from the top of the forest.

Every node keeps the list of its best derivations, best first, and makes the next one only when
it is asked for. One that was given is followed by those that differ from it in one tail, whose
derivation is the next in that tail's list; they are what the node's heap is fed with
(algorithm 3 of Huang & Chiang, 2005). So that none comes twice, a tail is only moved if no
tail to its right has been: each choice of derivations then follows one other only, which has
its last moved tail one step back, and comes before it.
"""

from __future__ import annotations

from operator import index

import numpy as np

from lattices.algorithms.forest_best import (
    BELOW,
    CHILD,
    EDGE,
    HASH,
    LENGTH,
    MOVED,
    NEXT,
    SIBLING,
    best_records,
    compared_words,
    complete,
    derivations_found,
    precedes,
    search_columns,
    unrolled,
)
from lattices.algorithms.forest_derivations import forest_hypotheses
from lattices.algorithms.paths import Paths
from lattices.arrays import kernel
from lattices.errors import OptionError
from lattices.spaces import Forest, Hypothesis


@kernel
def _melded(  # type: ignore[no-untyped-def]
    one, other, record, value, below, head, tail_offset, symbol, symbol_offset, rank, left, right
):
    """Return the first record of the pairing heap that two heaps make, either of them empty or not.

    The heap lives in the records: the first that comes after each, and the next beside it.
    """
    if one < 0 or other < 0:
        return max(one, other)
    if precedes(
        other, one, record, value, below, head, tail_offset,
        symbol, symbol_offset, rank, left, right,
    ):  # fmt: skip
        one, other = other, one
    record[other, SIBLING] = record[one, CHILD]
    record[one, CHILD] = other
    return one


@kernel
def _without_first(  # type: ignore[no-untyped-def]
    first, record, value, below, head, tail_offset, symbol, symbol_offset, rank, left, right
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
        item = _melded(
            item, partner, record, value, below, head, tail_offset,
            symbol, symbol_offset, rank, left, right,
        )  # fmt: skip
        record[item, SIBLING] = pairs
        pairs, item = item, rest
    heap = -1
    while pairs >= 0:
        rest = record[pairs, SIBLING]
        record[pairs, SIBLING] = -1
        heap = _melded(
            heap, pairs, record, value, below, head, tail_offset,
            symbol, symbol_offset, rank, left, right,
        )  # fmt: skip
        pairs = rest
    return heap


@kernel
def _free_slot(  # type: ignore[no-untyped-def]
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
def _doubled(table, record, below, head, symbol, symbol_offset, rank, left, right):  # type: ignore[no-untyped-def]
    """Return a table of twice the slots with the same records."""
    larger = np.full(2 * len(table), -1, np.int64)
    for item in table:
        if item >= 0:
            slot = _free_slot(
                item, larger, record, below, head, symbol, symbol_offset, rank, left, right
            )
            larger[slot] = item
    return larger


@kernel
def _longer(values, room):  # type: ignore[no-untyped-def]
    """Return a copy with ``room`` entries."""
    copy = np.empty(room, values.dtype)
    copy[: len(values)] = values
    return copy


@kernel
def _k_best(  # type: ignore[no-untyped-def]
    head, tail, tail_offset, symbol, symbol_offset, in_offset, score, rank, root, k, distinct
):
    """Return the edges of the best derivations, one after the other, and where each begins."""
    nodes, edges = len(in_offset) - 1, len(head)
    record, value, below, chosen, left, right = best_records(
        head, tail, tail_offset, symbol, symbol_offset, in_offset, score, rank, 2 * edges + 64
    )
    records, filled = edges, len(tail)
    widest = 0
    for edge in range(edges):
        widest = max(widest, tail_offset[edge + 1] - tail_offset[edge])
    heap = np.full(nodes, -1, np.int64)
    filled_heap, exhausted = np.zeros(nodes, np.bool_), np.zeros(nodes, np.bool_)
    # the best of each node is given; what follows the record it took last is not in its heap yet
    last, taken = chosen.copy(), chosen.copy()
    for node in range(nodes):
        exhausted[node] = chosen[node] < 0
    table, noted = np.full(256, -1, np.int64), 0
    stack = np.empty(nodes + 1, np.int64)

    found = 1
    while found < k and not exhausted[root]:
        stack[0] = root
        depth = 1
        while depth > 0:
            node = stack[depth - 1]
            if noted + 2 >= len(table) // 2:
                table = _doubled(
                    table, record, below, head, symbol, symbol_offset, rank, left, right
                )
            if not filled_heap[node]:
                filled_heap[node] = True
                for edge in range(in_offset[node], in_offset[node + 1]):
                    if value[edge] > -np.inf and edge != chosen[node]:
                        heap[node] = _melded(
                            heap[node], edge, record, value, below, head, tail_offset,
                            symbol, symbol_offset, rank, left, right,
                        )  # fmt: skip
                if distinct:
                    slot = _free_slot(
                        chosen[node], table, record, below, head, symbol, symbol_offset,
                        rank, left, right,
                    )  # fmt: skip
                    table[slot] = chosen[node]
                    noted += 1
            if taken[node] >= 0:
                before = taken[node]
                edge, at = record[before, EDGE], record[before, BELOW]
                arity = tail_offset[edge + 1] - tail_offset[edge]
                asked = -1
                for moved in range(record[before, MOVED], arity):
                    part, below_node = below[at + moved], tail[tail_offset[edge] + moved]
                    if record[part, NEXT] < 0 and not exhausted[below_node]:
                        asked = below_node
                        break
                if asked >= 0:
                    stack[depth] = asked
                    depth += 1
                    continue
                if records + widest > len(value):
                    value = _longer(value, 2 * len(value) + widest)
                    larger = np.empty((len(value), record.shape[1]), np.int64)
                    larger[:records] = record[:records]
                    record = larger
                if filled + widest * widest > len(below):
                    below = _longer(below, 2 * len(below) + widest * widest)
                for moved in range(record[before, MOVED], arity):
                    following = record[below[at + moved], NEXT]
                    if following < 0:
                        continue
                    record[records, EDGE], record[records, BELOW] = edge, filled
                    record[records, MOVED] = moved
                    below[filled : filled + arity] = below[at : at + arity]
                    below[filled + moved] = following
                    complete(
                        records, record, value, below, tail_offset, symbol, symbol_offset, score
                    )
                    heap[node] = _melded(
                        heap[node], records, record, value, below, head, tail_offset,
                        symbol, symbol_offset, rank, left, right,
                    )  # fmt: skip
                    records += 1
                    filled += arity
                taken[node] = -1
            if heap[node] < 0:
                exhausted[node] = True
                depth -= 1
                continue
            item = heap[node]
            heap[node] = _without_first(
                item, record, value, below, head, tail_offset,
                symbol, symbol_offset, rank, left, right,
            )  # fmt: skip
            taken[node] = item
            if distinct:
                slot = _free_slot(
                    item, table, record, below, head, symbol, symbol_offset, rank, left, right
                )
                if slot < 0:
                    continue
                table[slot] = item
                noted += 1
            record[last[node], NEXT] = item
            last[node] = item
            depth -= 1
            if node == root:
                found += 1
    return unrolled(chosen[root], found, record, below, tail_offset, left)


def k_best_derivations(forest: Forest, k: int, distinct: bool = False) -> Paths:
    """Return the derivations of :func:`forest_k_best`, in columns.

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"], -1.0), (0, [], ["b"], -2.0), (1, [0], [0])])
    >>> k_best_derivations(forest, 5).arcs.tolist()
    [2, 0, 2, 1]
    """
    if index(k) < 1:
        raise OptionError(f"k is {k}, expected at least 1")
    found = _k_best(*search_columns(forest), forest.root, index(k), bool(distinct))
    return derivations_found(forest, *found)


def forest_k_best(forest: Forest, k: int, distinct: bool = False) -> list[Hypothesis]:
    """Return the ``k`` best derivations, best first, or all if there are fewer.

    Ties are broken as in :func:`forest_best`, whose answer is the first of the list.

    Exact for every forest, for sentences too: a node passes over derivations whose words it
    has given before. Take the first derivation of any sentence, and in it a part that a node
    would have passed over: the node has given the same words by a part that comes before it,
    and with that in its place the sentence would have a derivation that comes before its
    first. So the first derivation of every sentence is made of parts that are given.

    No node ever gives more than ``k`` derivations: those of an edge that differ in one tail
    only say different things, and come in the order of that tail's. The cost is O(edges) for
    the best, and O(number of tails * log) for each that a node takes from its heap: one for
    each that it gives, and more only where sentences are passed over.

    Parameters
    ----------
    forest : Forest
    k : int
        At least 1.
    distinct : bool
        Whether to give each sentence once, by its best derivation, instead of every derivation.

    References
    ----------
    L. Huang and D. Chiang, Better k-best Parsing, IWPT 2005.

    Examples
    --------
    >>> forest = Forest.from_edges(
    ...     [(0, [], ["a"], -1.0), (0, [], ["a"], -2.0), (0, [], ["b"], -3.0)]
    ... )
    >>> [(found.text, found.score) for found in forest_k_best(forest, 2)]
    [('a', -1.0), ('a', -2.0)]
    >>> [(found.text, found.score) for found in forest_k_best(forest, 2, distinct=True)]
    [('a', -1.0), ('b', -3.0)]
    """
    return forest_hypotheses(forest, k_best_derivations(forest, k, distinct))
