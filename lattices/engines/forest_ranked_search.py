"""The k best sentences of a weighted hypergraph, ranked by a gain and a model score.

This is the lazy search of :mod:`lattices.algorithms.forest_kbest_search` (algorithm 3 of Huang
& Chiang, 2005) with two numbers for every derivation. They add up apart, so that gains, which
are whole numbers, tie exactly; derivations are ranked by

    sign * (gain / denominator + weight * model score),

then by the model score, then by the words, the shorter first, then by the edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lattices.algorithms.forest_best import NEXT, unrolled, worth_of
from lattices.algorithms.forest_columns import Merit
from lattices.algorithms.forest_kbest_search import given_records
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints, kernel
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
    merit = Merit(graph.gain, graph.denominator, sign, weight)
    item, found, all_ties, record, gain, value, below, stack = given_records(
        graph.head, graph.tail, graph.tail_offset, graph.symbol, graph.symbol_offset,
        graph.in_offset, graph.score, rank, graph.root, k, ties, True, merit,
    )  # fmt: skip
    steps, offset = unrolled(item, found, record, below, graph.tail_offset, stack)
    worth, model = np.empty(found), np.empty(found)
    for place in range(found):
        worth[place] = worth_of(item, record, gain, value, merit)
        model[place] = value[item]
        item = record[item, NEXT]
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
