"""Bottom-up and top-down passes over forests, and the expected counts they give."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lattices.arrays import FloatColumn, floats, kernel
from lattices.semirings import COUNT, LOG, Semiring
from lattices.spaces import Forest

_LOG, _COUNT = LOG.code, COUNT.code


@kernel
def _inside(code, in_offset, tail, tail_offset, weight, zero):  # type: ignore[no-untyped-def]
    """Return the sum over the derivations of each node, and over those that begin with each edge.

    The weight of a derivation is multiplied up from its edge, then its first tail, and so on.
    """
    nodes = len(in_offset) - 1
    value = np.full(nodes, zero)
    product = np.empty(len(weight), np.float64)
    for node in range(nodes):
        begin, end = in_offset[node], in_offset[node + 1]
        best = -np.inf
        for edge in range(begin, end):
            product[edge] = weight[edge]
            for place in range(tail_offset[edge], tail_offset[edge + 1]):
                if code != _COUNT:
                    product[edge] += value[tail[place]]
                elif product[edge] > 0.0 and value[tail[place]] > 0.0:
                    product[edge] *= value[tail[place]]
                else:
                    # infinitely many times nothing are none
                    product[edge] = 0.0
            best = max(best, product[edge])
        if code == _COUNT:
            for edge in range(begin, end):
                value[node] += product[edge]
        elif code == _LOG and best > -np.inf:
            total = 0.0
            for edge in range(begin, end):
                total += np.exp(product[edge] - best)
            value[node] = best + np.log(total)
        else:
            value[node] = best
    return value, product


@kernel
def _others(code, place, begin, end, tail, value, own):  # type: ignore[no-untyped-def]
    """Return ``own`` times the values of all tails of an edge but the one at ``place``."""
    product = own
    for other in range(begin, end):
        if other != place:
            if code != _COUNT:
                product += value[tail[other]]
            elif product > 0.0 and value[tail[other]] > 0.0:
                product *= value[tail[other]]
            else:
                product = 0.0
    return product


@kernel
def _outside(code, head, tail, tail_offset, weight, value, root, zero, one):  # type: ignore[no-untyped-def]
    """Return the sum over all that can stand around each node in a derivation of the root."""
    around = np.full(len(value), zero)
    # under LOG `around` is the highest term so far, and `terms` the sum of all over it
    terms = np.zeros(len(value), np.float64)
    around[root] = one
    terms[root] = 1.0
    last = len(value)
    for edge in range(len(head) - 1, -1, -1):
        node = head[edge]
        if code == _LOG and node < last:
            # no edge above is left that could add to the nodes from here to the last one
            for done in range(node, last):
                if around[done] > -np.inf:
                    around[done] += np.log(terms[done])
        last = min(last, node)
        begin, end = tail_offset[edge], tail_offset[edge + 1]
        if around[node] == zero or begin == end:
            continue
        own = around[node] * weight[edge] if code == _COUNT else around[node] + weight[edge]
        for place in range(begin, end):
            below = tail[place]
            term = _others(code, place, begin, end, tail, value, own)
            if code == _COUNT:
                around[below] += term
            elif term > around[below]:
                if around[below] > -np.inf:
                    terms[below] *= np.exp(around[below] - term)
                terms[below] += 1.0
                around[below] = term
            elif term > -np.inf:
                terms[below] += np.exp(term - around[below])
    if code == _LOG:
        for done in range(last):
            if around[done] > -np.inf:
                around[done] += np.log(terms[done])
    return around


@kernel
def _expected(head, tail, tail_offset, share, root, nodes):  # type: ignore[no-untyped-def]
    """Return how often each edge and each node is used, on average, from the root down.

    ``share[e]`` is the probability of edge ``e`` where its head is used.
    """
    edge_count = np.empty(len(head), np.float64)
    node_count = np.zeros(nodes, np.float64)
    node_count[root] = 1.0
    for edge in range(len(head) - 1, -1, -1):
        edge_count[edge] = node_count[head[edge]] * share[edge]
        for place in range(tail_offset[edge], tail_offset[edge + 1]):
            node_count[tail[place]] += edge_count[edge]
    return edge_count, node_count


def edge_products(
    forest: Forest, semiring: Semiring = LOG, scale: float = 1.0
) -> tuple[FloatColumn, FloatColumn]:
    """Return :func:`forest_inside`, and the same sums over the derivations of each edge alone.

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"], -1.0), (1, [0], [0], -2.0), (1, [], [], -4.0)])
    >>> edge_products(forest)[1].tolist()
    [-1.0, -3.0, -4.0]
    """
    found: tuple[FloatColumn, FloatColumn] = _inside(
        semiring.code,
        forest.in_offset,
        forest.tail,
        forest.tail_offset,
        floats(semiring.weights(forest.score, scale)),
        semiring.zero,
    )
    return found


def edge_shares(forest: Forest, scale: float = 1.0) -> FloatColumn:
    """Return the probability of each edge where its head is derived: they sum to one at a node.

    Edges without a derivation have 0.

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"]), (0, [], ["b"]), (1, [0], [0])])
    >>> edge_shares(forest).round(4).tolist()
    [0.5, 0.5, 1.0]
    """
    value, product = edge_products(forest, LOG, scale)
    # 0 stands for the -inf of nodes that have no derivation, nor have their edges
    whole = np.where(value > -np.inf, value, 0.0)
    return floats(np.exp(product - whole[forest.head]))


def forest_inside(forest: Forest, semiring: Semiring = LOG, scale: float = 1.0) -> FloatColumn:
    """Return, for every node, the sum over all its derivations.

    A node that has none gets the semiring's zero; the root's value is the total. Edge scores
    are multiplied by ``scale``. Cost: O(edges and tails).

    Examples
    --------
    >>> forest = Forest.from_edges(
    ...     [(0, [], ["a"], -1.0), (0, [], ["b"], -2.0), (1, [0, 0], [0, 1], -0.5)]
    ... )
    >>> from lattices.semirings import VITERBI
    >>> forest_inside(forest, VITERBI).tolist(), forest_inside(forest, COUNT).tolist()
    ([-1.0, -2.5], [2.0, 4.0])
    """
    return edge_products(forest, semiring, scale)[0]


def forest_outside(forest: Forest, semiring: Semiring = LOG, scale: float = 1.0) -> FloatColumn:
    """Return, for every node, the sum over all that can stand around it in a derivation.

    That is a derivation of the root with one use of the node, and all below it, left out:
    around the root there is nothing, the semiring's one, and a node that no derivation of
    the root uses gets its zero. Cost: O(edges and tails), with the tails of an edge squared.

    Examples
    --------
    >>> forest = Forest.from_edges(
    ...     [(0, [], ["a"], -1.0), (1, [], ["b"], -2.0), (2, [0, 1], [0, 1], -0.5)]
    ... )
    >>> forest_outside(forest).tolist()
    [-2.5, -1.5, 0.0]
    """
    found: FloatColumn = _outside(
        semiring.code,
        forest.head,
        forest.tail,
        forest.tail_offset,
        floats(semiring.weights(forest.score, scale)),
        forest_inside(forest, semiring, scale),
        forest.root,
        semiring.zero,
        semiring.one,
    )
    return found


def forest_total(forest: Forest, semiring: Semiring = LOG, scale: float = 1.0) -> float:
    """Return the sum over all derivations: the best score, the log partition function, a count.

    Cost: O(edges and tails).

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"], -1.0), (0, [], ["b"], -1.0)])
    >>> round(forest_total(forest, LOG), 4), forest_total(forest, COUNT)
    (-0.3069, 2.0)
    """
    return float(forest_inside(forest, semiring, scale)[forest.root])


class ForestPosteriors(NamedTuple):
    """How often a derivation uses each edge and each node, on average.

    Where no derivation uses a node twice, as in the forest of a parser or of a decoder whose
    nodes cover spans, these are probabilities.
    """

    edges: FloatColumn
    nodes: FloatColumn


def forest_posteriors(forest: Forest, scale: float = 1.0) -> ForestPosteriors:
    """Return the expected number of times that each edge and each node is used.

    A derivation has the probability ``exp(scale * score)`` divided by the sum of that over
    all derivations of the root. The edges of the root sum to one, those of any node to the
    node's own count; whatever no derivation uses has 0. Expected features are
    ``counts.edges @ forest.features``.

    Computed from the root down: an edge is used as often as its head, times the share of its
    derivations among the head's. No outside scores, whose sums with the inside scores would
    lose digits. Cost: O(edges and tails).

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"]), (0, [], ["b"]), (1, [0, 0], [1, 0])])
    >>> counts = forest_posteriors(forest)
    >>> counts.edges.round(4).tolist(), counts.nodes.round(4).tolist()
    ([1.0, 1.0, 1.0], [2.0, 1.0])
    """
    return ForestPosteriors(
        *_expected(
            forest.head,
            forest.tail,
            forest.tail_offset,
            edge_shares(forest, scale),
            forest.root,
            forest.num_nodes,
        )
    )
