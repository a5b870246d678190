"""Rows for forests: one value for every sentence, from the bottom up.

The worst sentence needs one value for each sentence, where an automaton has one for each
alignment (see :mod:`.rows`). A node of a forest may stand anywhere in a sentence, so what its
words are to the automaton is a matrix: for every state in which they may begin, the row of
best gains with which the states are reached after them. Two strings with equal matrices, up to
a constant, are alike in every sentence. So the pairs of a node and a matrix are the nodes of a
hypergraph, whose derivations carry the one value of their sentence.

Most nodes need less than a matrix: one that only begins sentences has the row of the initial
states alone, one that only ends them keeps what each row ends with, and the root has one number,
which goes into the constant. A lattice made into a forest has rows only, as the lattice has.

A pair is left out if ``k`` others of its node are at least as good in every sentence, and
strictly so or with the higher model score: then ``k`` sentences come before any of its own.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lattices import _native
from lattices.algorithms.kbest import too_many_edges
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.intersection.automata import Automaton
from lattices.intersection.rows import MEMORY, RowMachine
from lattices.spaces.forest import Forest, rows_in_order

#: edges that the search for pairs may look at, for each pair of the budget, and at any rate
STEPS, LEAST_STEPS = 8, 2**16
#: cells of matrices, and words of representatives, that may be kept
MOST_CELLS = 2**25


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


class ForestRowProduct(NamedTuple):
    """A hypergraph whose derivations carry the one value of their sentence.

    Attributes
    ----------
    graph : Hypergraph
        Nodes are pairs of a node of the forest and a matrix; the gains of a derivation add
        up to the value of the sentence, in units.
    pairs, rows : int
        How many pairs, and how many different rows in their matrices.
    """

    graph: Hypergraph
    pairs: int
    rows: int


def forest_row_product(
    forest: Forest,
    automaton: Automaton,
    budget: int,
    *,
    k: int = 0,
    worst: bool = False,
    model_weight: float = 0.0,
    memory: int = MEMORY,
) -> ForestRowProduct | None:
    """Return the product of a forest with rows, or None if it has more than ``budget`` pairs.

    With ``k``, pairs that cannot be among the ``k`` best (or worst) are left out. None, too, if
    more than ``STEPS * budget`` edges (and ``LEAST_STEPS``) have to be looked at, or if more
    than ``memory`` bytes have to be kept.
    Cost: a step of each row of a matrix for each word of all but the first tail of those edges.

    Examples
    --------
    >>> from fstmetrics import WRR
    >>> forest = Forest.from_edges(
    ...     [(0, [], ["a"]), (0, [], ["x"]), (0, [], ["y"]), (1, [0, 0], [0, 1])]
    ... )
    >>> machine = WRR().against(["b a"]).machine(forest.vocabulary)
    >>> product = forest_row_product(forest, machine.automaton, 100)
    >>> product.pairs, forest_row_product(forest, machine.automaton, 2)
    (3, None)
    """
    steps = int(min(_native.longest_sentence(forest.columns), 2.0**31))
    machine = RowMachine(automaton, steps)
    found = _native.forest_row_product(
        forest.columns,
        machine.native,
        _native.ForestRowAim(-1.0 if worst else 1.0, model_weight / machine.unit, k),
        budget,
        memory,
        max(STEPS * budget, LEAST_STEPS),
        MOST_CELLS,
    )
    if found is None:
        return None
    pairs, rows, head, origin, gain, tails, tails_offset = found
    symbol, symbol_offset = rows_in_order(forest.symbol, forest.symbol_offset, ints(origin))
    graph = hypergraph(
        pairs,
        pairs - 1,
        head,
        tails,
        tails_offset,
        symbol,
        symbol_offset,
        forest.score[origin],
        gain,
        np.full(len(gain), 1.0 / machine.unit),
        origin,
    )
    return ForestRowProduct(graph, pairs, rows)


def ranked_forest_sentences(
    forest: Forest,
    automaton: Automaton,
    k: int,
    model_weight: float,
    budget: int,
    *,
    worst: bool,
    words: IntColumn | None = None,
    memory: int = MEMORY,
) -> list[IntColumn] | None:
    """Return the derivations of the ``k`` best or worst sentences, by rows; None beyond the budget.

    Sentences are ranked by the gain of the automaton plus the model score weighted in units of
    gain. Ties go to the higher model score. The parameters are those of
    :func:`~.forest_ranked.best_forest_sentences`, and:

    Parameters
    ----------
    budget : int
        How many pairs of a node and a matrix may be kept.
    memory : int
        How many bytes may be kept.
    worst : bool
        Whether the lowest are looked for.

    Examples
    --------
    >>> from fstmetrics import WRR
    >>> forest = Forest.from_edges(
    ...     [(0, [], ["a"], 0.1), (0, [], ["x"]), (0, [], ["y"]), (1, [0, 0], [1, 0])]
    ... )
    >>> machine = WRR().against(["b a"]).machine(forest.vocabulary)
    >>> found = ranked_forest_sentences(forest, machine.automaton, 2, 0.0, 100, worst=True)
    >>> sorted(forest.hypothesis(edges).text for edges in found)
    ['a x', 'a y']
    """
    product = forest_row_product(
        forest, automaton, budget, k=k, worst=worst, model_weight=model_weight, memory=memory
    )
    if product is None:
        return None
    graph = product.graph
    said = forest.symbol if words is None else words
    found = _native.ranked_derivations(
        _native.ForestColumns(
            graph.head,
            graph.tail,
            graph.tail_offset,
            graph.symbol,
            graph.symbol_offset,
            graph.score,
            graph.in_offset,
            graph.root,
        ),
        rows_in_order(said, forest.symbol_offset, graph.origin)[0],
        graph.gain,
        graph.denominator,
        -1.0 if worst else 1.0,
        model_weight,
        k,
    )
    if found is None:
        raise too_many_edges(forest)
    edges, offset, _ = found
    origin = graph.origin[edges]
    return [ints(origin[begin:end]) for begin, end in pairwise(offset.tolist())]
