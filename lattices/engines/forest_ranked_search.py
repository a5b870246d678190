"""The k best sentences of a weighted hypergraph, ranked by a gain and a model score.

This is the lazy search of :mod:`lattices.algorithms.forest_kbest` (algorithm 3 of Huang &
Chiang, 2005) with two numbers for every derivation. They add up apart, so that gains, which
are whole numbers, tie exactly; derivations are ranked by

    sign * (gain / denominator + weight * model score),

then by the model score, then by the words, the shorter first, then by the edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lattices.algorithms.forest_best import BELOW, COLUMNS, EDGE, MOVED, NEXT, unrolled
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints, kernel
from lattices.engines.forest_ranked_heap import (
    ahead,
    doubled_table,
    finish,
    free_slot,
    longer,
    melded,
    without_first,
    worth_of,
)
from lattices.spaces.forest import rows_in_order


class Hypergraph(NamedTuple):
    """The product of a forest with a machine: columns as those of a forest, and its gains.

    Nodes are numbered bottom-up, and the edges of one head stand together.

    Attributes
    ----------
    head, tail, tail_offset, symbol, symbol_offset, in_offset
        As in :class:`lattices.Forest`.
    score : float64 column, one entry an edge
        What the edge adds to the model score.
    gain, denominator : float64 columns, one entry an edge
        What the edge adds to the gain, and what turns gains into values: the same for all
        edges below one.
    origin : int32 column
        The edge of the forest that stands behind each edge, or -1.
    root : int
    """

    head: IntColumn
    tail: IntColumn
    tail_offset: IntColumn
    symbol: IntColumn
    symbol_offset: IntColumn
    in_offset: IntColumn
    score: FloatColumn
    gain: FloatColumn
    denominator: FloatColumn
    origin: IntColumn
    root: int


def hypergraph(
    nodes: int,
    root: int,
    head: Array,
    tail: Array,
    tail_offset: Array,
    symbol: Array,
    symbol_offset: Array,
    score: Array,
    gain: Array,
    denominator: Array,
    origin: Array,
) -> Hypergraph:
    """Return the columns with the edges sorted by their heads, otherwise in the order given."""
    order = ints(np.argsort(head, kind="stable"))
    tails = rows_in_order(ints(tail), ints(tail_offset), order)
    symbols = rows_in_order(ints(symbol), ints(symbol_offset), order)
    in_offset = np.searchsorted(head[order], np.arange(nodes + 1))
    return Hypergraph(
        ints(head[order]),
        *tails,
        *symbols,
        ints(in_offset),
        floats(score[order]),
        floats(gain[order]),
        floats(denominator[order]),
        ints(origin[order]),
        root,
    )


class Ranked(NamedTuple):
    """The derivations found, in columns, with what they were ranked by.

    ``all_ties`` tells whether every sentence that ties with the last one is among them.
    """

    edges: IntColumn
    offset: IntColumn
    worth: FloatColumn
    model: FloatColumn
    all_ties: bool


@kernel
def _rank(graph, rank, k, ties, sign, weight):  # type: ignore[no-untyped-def]
    """Return the edges of the best sentences, where each begins, and what they are ranked by.

    Beyond ``k`` come up to ``ties`` more that tie with the last one; the last value tells
    whether these were all.
    """
    nodes, edges = len(graph.in_offset) - 1, len(graph.head)
    widest = 0
    for edge in range(edges):
        widest = max(widest, graph.tail_offset[edge + 1] - graph.tail_offset[edge])
    # records 0 up to the number of edges are the edges with the best records of their tails
    record = np.zeros((2 * edges + 64, COLUMNS), np.int64)
    value, gain = np.full(len(record), -np.inf), np.zeros(len(record))
    below = np.full(2 * len(graph.tail) + 64 * widest * widest, -1, np.int64)
    best = np.full(nodes, -1, np.int64)
    left, right = np.empty((nodes + 1, 2), np.int64), np.empty((nodes + 1, 2), np.int64)
    for edge in range(edges):
        record[edge, EDGE], record[edge, BELOW] = edge, graph.tail_offset[edge]
        possible = True
        for place in range(graph.tail_offset[edge], graph.tail_offset[edge + 1]):
            below[place] = best[graph.tail[place]]
            possible = possible and below[place] >= 0
        if possible:
            finish(edge, record, gain, value, below, graph)
            node = graph.head[edge]
            if best[node] < 0 or ahead(
                edge, best[node], record, gain, value, below, graph, rank, left, right,
                sign, weight,
            ):  # fmt: skip
                best[node] = edge
    records, filled = edges, len(graph.tail)
    heap = np.full(nodes, -1, np.int64)
    filled_heap, exhausted = np.zeros(nodes, np.bool_), np.zeros(nodes, np.bool_)
    # the best of each node is given; what follows the record it took last is not in its heap yet
    last, taken = best.copy(), best.copy()
    for node in range(nodes):
        exhausted[node] = best[node] < 0
    table, noted = np.full(256, -1, np.int64), 0
    stack = np.empty(nodes + 1, np.int64)

    root = graph.root
    found, all_ties = 1, True
    bar, bar_model = -np.inf, -np.inf
    while not exhausted[root]:
        if found == k:
            bar = worth_of(last[root], record, gain, value, graph, sign, weight)
            bar_model = value[last[root]]
        elif found > k:
            if (
                worth_of(last[root], record, gain, value, graph, sign, weight) != bar
                or value[last[root]] != bar_model
            ):
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
                table = doubled_table(table, record, below, graph, rank, left, right)
            if not filled_heap[node]:
                filled_heap[node] = True
                for edge in range(graph.in_offset[node], graph.in_offset[node + 1]):
                    if value[edge] > -np.inf and edge != best[node]:
                        heap[node] = melded(
                            heap[node], edge, record, gain, value, below, graph,
                            rank, left, right, sign, weight,
                        )  # fmt: skip
                table[free_slot(best[node], table, record, below, graph, rank, left, right)] = best[
                    node
                ]
                noted += 1
            if taken[node] >= 0:
                before = taken[node]
                edge, at = record[before, EDGE], record[before, BELOW]
                arity = graph.tail_offset[edge + 1] - graph.tail_offset[edge]
                asked = -1
                for moved in range(record[before, MOVED], arity):
                    part, below_node = (
                        below[at + moved],
                        graph.tail[graph.tail_offset[edge] + moved],
                    )
                    if record[part, NEXT] < 0 and not exhausted[below_node]:
                        asked = below_node
                        break
                if asked >= 0:
                    stack[depth] = asked
                    depth += 1
                    continue
                if records + widest > len(value):
                    room = 2 * len(value) + widest
                    value, gain, record = (
                        longer(value, room), longer(gain, room), longer(record, room),
                    )  # fmt: skip
                if filled + widest * widest > len(below):
                    below = longer(below, 2 * len(below) + widest * widest)
                # a tail is only moved if none to its right has been, so that no choice comes twice
                for moved in range(record[before, MOVED], arity):
                    following = record[below[at + moved], NEXT]
                    if following < 0:
                        continue
                    record[records, EDGE], record[records, BELOW] = edge, filled
                    record[records, MOVED] = moved
                    below[filled : filled + arity] = below[at : at + arity]
                    below[filled + moved] = following
                    finish(records, record, gain, value, below, graph)
                    heap[node] = melded(
                        heap[node], records, record, gain, value, below, graph,
                        rank, left, right, sign, weight,
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
                item, record, gain, value, below, graph, rank, left, right, sign, weight
            )
            taken[node] = item
            slot = free_slot(item, table, record, below, graph, rank, left, right)
            if slot < 0:
                continue
            table[slot] = item
            noted += 1
            record[last[node], NEXT] = item
            last[node] = item
            depth -= 1
            if node == root:
                found += 1
    worth, model = np.empty(found), np.empty(found)
    item = best[root]
    for place in range(found):
        worth[place] = worth_of(item, record, gain, value, graph, sign, weight)
        model[place] = value[item]
        item = record[item, NEXT]
    steps, offset = unrolled(best[root], found, record, below, graph.tail_offset, left)
    return steps, offset, worth, model, all_ties


def ranked_derivations(
    graph: Hypergraph, rank: IntColumn, k: int, ties: int, *, sign: float, weight: float
) -> Ranked:
    """Return the ``k`` best sentences of a hypergraph, each by its best derivation.

    Up to ``ties`` more come after them that tie with the last one in value and model score.
    Every node passes over words that it has given before, which loses no sentence: see
    :func:`lattices.algorithms.forest_k_best`.

    Parameters
    ----------
    graph : Hypergraph
    rank : int32 column
        The words in the order of their strings.
    k, ties : int
    sign, weight : float
        See the formula in this module.
    """
    steps, offset, worth, model, all_ties = _rank(graph, rank, k, ties, sign, weight)
    return Ranked(ints(steps), ints(offset), floats(worth), floats(model), all_ties)
