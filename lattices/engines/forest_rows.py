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

from typing import NamedTuple

import numpy as np

from lattices import _native
from lattices.arrays import IntColumn, floats, ints, kernel
from lattices.engines.automata import Automaton
from lattices.engines.forest_ranked import Near, in_order, original_edges, widened
from lattices.engines.forest_ranked_search import Hypergraph, hypergraph
from lattices.engines.rows import MEMORY, RowMachine
from lattices.spaces.forest import Forest, rows_in_order

#: edges that the search for pairs may look at, for each pair of the budget, and at any rate
STEPS, LEAST_STEPS = 8, 2**16
#: cells of matrices, and words of representatives, that may be kept
MOST_CELLS = 2**25
#: a product of no more edges is ranked as a whole
_SMALL = 50_000


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


@kernel
def _losses(graph, sign, weight):  # type: ignore[no-untyped-def]
    """Return how much worse than the best the best derivation through each edge is."""
    nodes, edges = len(graph.in_offset) - 1, len(graph.head)
    inside, outside = np.full(nodes, -np.inf), np.full(nodes, -np.inf)
    through = np.empty(edges)
    for edge in range(edges):
        total = sign * (graph.gain[edge] / graph.denominator[edge] + weight * graph.score[edge])
        for place in range(graph.tail_offset[edge], graph.tail_offset[edge + 1]):
            total += inside[graph.tail[place]]
        through[edge] = total
        inside[graph.head[edge]] = max(inside[graph.head[edge]], total)
    outside[graph.root] = 0.0
    for edge in range(edges - 1, -1, -1):
        total = through[edge] + outside[graph.head[edge]]
        through[edge] = total
        for place in range(graph.tail_offset[edge], graph.tail_offset[edge + 1]):
            below = graph.tail[place]
            if inside[below] > -np.inf:
                outside[below] = max(outside[below], total - inside[below])
    return inside[graph.root] - through


def near_part(graph: Hypergraph, slack: float, *, sign: float, weight: float) -> Near:
    """Return the part of a hypergraph whose derivations lose no more than ``slack``, and more."""
    losses = _losses(graph, sign, weight)
    finite = losses[np.isfinite(losses)]
    scale = max(1.0, float(np.abs(finite).max(initial=0.0)))
    keep = losses <= slack + 1e-9 * scale
    if keep.all():
        return Near(graph, True)
    edges = ints(np.flatnonzero(keep))
    tail, tail_offset = rows_in_order(graph.tail, graph.tail_offset, edges)
    symbol, symbol_offset = rows_in_order(graph.symbol, graph.symbol_offset, edges)
    used = np.zeros(len(graph.in_offset) - 1, np.bool_)
    used[graph.head[edges]] = True
    number = np.cumsum(used) - 1
    head = number[graph.head[edges]]
    part = Hypergraph(
        ints(head),
        ints(number[tail]),
        tail_offset,
        symbol,
        symbol_offset,
        ints(np.searchsorted(head, np.arange(used.sum() + 1))),
        floats(graph.score[edges]),
        floats(graph.gain[edges]),
        floats(graph.denominator[edges]),
        ints(graph.origin[edges]),
        int(number[graph.root]),
    )
    return Near(part, False)


def ranked_forest_sentences(
    forest: Forest,
    automaton: Automaton,
    k: int,
    model_weight: float,
    budget: int,
    *,
    worst: bool,
    memory: int = MEMORY,
) -> list[IntColumn] | None:
    """Return the derivations of the ``k`` best or worst sentences, by rows; None beyond the budget.

    Sentences are ranked by the gain of the automaton plus the model score weighted in units of
    gain. Ties go to the higher model score, then to the smaller sentence, as in
    :func:`~.forest_ranked.best_forest_sentences`.

    Examples
    --------
    >>> from fstmetrics import WRR
    >>> forest = Forest.from_edges(
    ...     [(0, [], ["a"]), (0, [], ["x"]), (0, [], ["y"]), (1, [0, 0], [1, 0])]
    ... )
    >>> machine = WRR().against(["b a"]).machine(forest.vocabulary)
    >>> found = ranked_forest_sentences(forest, machine.automaton, 2, 0.0, 100, worst=True)
    >>> [forest.hypothesis(edges).text for edges in found]
    ['a x', 'a y']
    """
    product = forest_row_product(
        forest, automaton, budget, k=k, worst=worst, model_weight=model_weight, memory=memory
    )
    if product is None:
        return None
    sign = -1.0 if worst else 1.0

    def near(slack: float) -> Near:
        if len(product.graph.head) <= _SMALL and slack > 0.0:
            return Near(product.graph, True)
        return near_part(product.graph, slack, sign=sign, weight=model_weight)

    rank = forest.vocabulary.ranks()
    graph, ranked = widened(near, rank, k, 1.0, sign=sign, weight=model_weight)
    return in_order(forest, ranked, original_edges(graph, ranked, forest), k)
