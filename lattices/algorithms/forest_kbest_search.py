"""The k best derivations, or the k best sentences, found lazily from the top of the forest.

Every node keeps the list of its best derivations, best first, and makes the next one only when
it is asked for. One that was given is followed by those that differ from it in one tail, whose
derivation is the next in that tail's list; they are what the node's heap is fed with
(algorithm 3 of Huang & Chiang, 2005). So that none comes twice, a tail is only moved if no
tail to its right has been: each choice of derivations then follows one other only, which has
its last moved tail one step back, and comes before it.
"""

from __future__ import annotations

import numpy as np

from lattices.algorithms.forest_best import (
    BELOW,
    EDGE,
    MOVED,
    NEXT,
    add_gain,
    best_records,
    complete,
    worth_of,
)
from lattices.algorithms.forest_kbest_heap import (
    doubled_table,
    free_slot,
    longer,
    melded,
    without_first,
)
from lattices.arrays import kernel


@kernel
def _tied(one, other, record, gain, value, merit):  # type: ignore[no-untyped-def]
    """Tell whether two records are equal but for their words and edges."""
    if merit is not None:
        mine = worth_of(one, record, gain, value, merit)
        if mine != worth_of(other, record, gain, value, merit):
            return False
    return value[one] == value[other]


@kernel
def given_records(  # type: ignore[no-untyped-def]
    head, tail, tail_offset, symbol, symbol_offset, in_offset, score, rank, root,
    k, ties, distinct, merit,
):  # fmt: skip
    """Return the best records of the root, the first one and those that it gave next.

    The records are those of derivations or, with ``distinct``, of sentences. Beyond ``k``
    come up to ``ties`` more that tie with the last one.

    Parameters
    ----------
    head, tail, tail_offset, symbol, symbol_offset, in_offset, score, rank
        See :func:`~.forest_columns.search_columns`. They come one by one, since with one
        tuple of them the search was measured to take longer.
    root, k, ties : int
    distinct : bool
    merit : Merit or None

    Returns
    -------
    first, found : int
        The first record, and how many there are.
    all_ties : bool
        Whether there are no others that tie with the last one, as far as was looked.
    record, gain, value, below : arrays
        See :func:`~.forest_best.best_records`.
    stack : array
        Room for :func:`~.forest_best.unrolled`.
    """
    nodes, edges = len(in_offset) - 1, len(head)
    record, gain, value, below, chosen, left, right = best_records(
        head, tail, tail_offset, symbol, symbol_offset, in_offset, score, rank,
        2 * edges + 64, merit,
    )  # fmt: skip
    widest = 0
    for edge in range(edges):
        widest = max(widest, tail_offset[edge + 1] - tail_offset[edge])
    records, filled = edges, len(tail)
    heap = np.full(nodes, -1, np.int64)
    filled_heap, exhausted = np.zeros(nodes, np.bool_), np.zeros(nodes, np.bool_)
    # the best of each node is given; what follows the record it took last is not in its heap yet
    last, taken = chosen.copy(), chosen.copy()
    for node in range(nodes):
        exhausted[node] = chosen[node] < 0
    table, noted = np.full(256, -1, np.int64), 0
    stack = np.empty(nodes + 1, np.int64)

    found, all_ties, final = 1, True, -1
    while not exhausted[root]:
        if found == k:
            final = last[root]
        elif found > k and not _tied(last[root], final, record, gain, value, merit):
            found -= 1
            break
        if found == k + ties:
            all_ties = False
            break
        stack[0] = root
        depth = 1
        while depth > 0:
            node = stack[depth - 1]
            if noted + 2 >= len(table) // 2:
                table = doubled_table(
                    table, record, below, head, symbol, symbol_offset, rank, left, right
                )
            if not filled_heap[node]:
                filled_heap[node] = True
                for edge in range(in_offset[node], in_offset[node + 1]):
                    if value[edge] > -np.inf and edge != chosen[node]:
                        heap[node] = melded(
                            heap[node], edge, record, gain, value, below, head, tail_offset,
                            symbol, symbol_offset, rank, left, right, merit,
                        )  # fmt: skip
                if distinct:
                    slot = free_slot(
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
                    room = 2 * len(value) + widest
                    value, record = longer(value, room), longer(record, room)
                    if merit is not None:
                        gain = longer(gain, room)
                if filled + widest * widest > len(below):
                    below = longer(below, 2 * len(below) + widest * widest)
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
                    if merit is not None:
                        add_gain(records, record, gain, below, tail_offset, merit)
                    heap[node] = melded(
                        heap[node], records, record, gain, value, below, head, tail_offset,
                        symbol, symbol_offset, rank, left, right, merit,
                    )  # fmt: skip
                    records += 1
                    filled += arity
                taken[node] = -1
            if heap[node] < 0:
                exhausted[node] = True
                depth -= 1
                continue
            item = heap[node]
            heap[node] = without_first(
                item, record, gain, value, below, head, tail_offset, symbol, symbol_offset,
                rank, left, right, merit,
            )  # fmt: skip
            taken[node] = item
            if distinct:
                slot = free_slot(
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
    return chosen[root], found, all_ties, record, gain, value, below, left
