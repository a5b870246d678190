"""Inside and outside scores of lattices and forests, and the posteriors they give.

What is said of a path of a lattice holds of a derivation of a forest, and of its arcs what is said
of edges.
"""

from __future__ import annotations

from typing import NamedTuple

from lattices import _native
from lattices.algorithms.semirings import LOG, Semiring
from lattices.arrays import FloatColumn
from lattices.spaces import Forest, Lattice
from lattices.spaces.arguments import GRAPH, takes


@takes(space=GRAPH)
def inside(space: Lattice | Forest, semiring: Semiring = LOG, scale: float = 1.0) -> FloatColumn:
    """Return the sum over all paths from the start to each state, or over a node's derivations.

    In a lattice the start has the semiring's one, and final scores play no part. What cannot be
    reached or derived has the semiring's zero. Scores are multiplied by ``scale``. Cost: O(arcs),
    or O(edges and tails).

    Raises
    ------
    SpaceError
        If a sum overflows.

    Examples
    --------
    >>> from lattices.algorithms.semirings import COUNT, VITERBI
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -2.0)], finals=[1])
    >>> inside(lattice, VITERBI).tolist(), inside(lattice, COUNT).tolist()
    ([0.0, -1.0], [1.0, 2.0])
    >>> forest = Forest.from_edges(
    ...     [(0, [], ["a"], -1.0), (0, [], ["b"], -2.0), (1, [0, 0], [0, 1], -0.5)]
    ... )
    >>> inside(forest, VITERBI).tolist(), inside(forest, COUNT).tolist()
    ([-1.0, -2.5], [2.0, 4.0])
    """
    return _native.inside(space.columns, semiring.code, scale)


@takes(space=GRAPH)
def outside(space: Lattice | Forest, semiring: Semiring = LOG, scale: float = 1.0) -> FloatColumn:
    """Return the sum over all paths from each state to the end, or over all around a node.

    Final scores are included. What stands around a node is a derivation of the root with one use
    of the node, and all below it, left out: around the root there is nothing, the semiring's one.
    What leads to no end, or is used by no derivation, has the semiring's zero. Scores are
    multiplied by ``scale``. Cost: O(arcs), or O(edges and tails), the tails of an edge squared.

    Raises
    ------
    SpaceError
        If a sum overflows.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0)], finals={1: -0.5})
    >>> outside(lattice).tolist()
    [-1.5, -0.5]
    >>> forest = Forest.from_edges(
    ...     [(0, [], ["a"], -1.0), (1, [], ["b"], -2.0), (2, [0, 1], [0, 1], -0.5)]
    ... )
    >>> outside(forest).tolist()
    [-2.5, -1.5, 0.0]
    """
    return _native.outside(space.columns, semiring.code, scale)


@takes(space=GRAPH)
def total(space: Lattice | Forest, semiring: Semiring = LOG, scale: float = 1.0) -> float:
    """Return the sum over everything: the best score, the log partition function, a count.

    Cost: O(arcs), or O(edges and tails).

    Raises
    ------
    SpaceError
        If the lattice has no complete path, or if the sum overflows.

    Examples
    --------
    >>> from lattices.algorithms.semirings import COUNT, VITERBI
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -1.0)], finals=[1])
    >>> total(lattice, VITERBI), round(total(lattice, LOG), 4), total(lattice, COUNT)
    (-1.0, -0.3069, 2.0)
    """
    return _native.total(space.columns, semiring.code, scale)


class Posteriors(NamedTuple):
    """Probabilities of passing each arc, of passing each state, and of ending in each state.

    Of a forest, how often a derivation uses each edge and each node, on average, and nothing for
    ends. Where no derivation uses a node twice, as in the forest of a parser or of a decoder whose
    nodes cover spans, these are probabilities.
    """

    arcs: FloatColumn
    states: FloatColumn
    finals: FloatColumn

    @property
    def edges(self) -> FloatColumn:
        """What a forest has for arcs."""
        return self.arcs

    @property
    def nodes(self) -> FloatColumn:
        """What a forest has for states."""
        return self.states


@takes(space=GRAPH)
def posteriors(space: Lattice | Forest, scale: float = 1.0) -> Posteriors:
    """Return how probable it is to pass each arc and state, and to end in each state.

    A path has the probability ``exp(scale * score)`` divided by the sum of that over all
    complete paths. Of a forest the expected counts of edges and nodes are returned: how often a
    derivation uses each, on average; those of the root's edges sum to one, those of any node to
    the node's own, and expected features are ``counts.edges @ forest.features``. Whatever lies on
    no complete path has 0.

    Computed from the start or root on: an arc is passed as often as its source, times the share
    of the paths that begin with it among all from there. Cost: O(arcs), or O(edges and tails).

    Raises
    ------
    SpaceError
        If the lattice has no complete path, or if the sums overflow.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[0, 1])
    >>> found = posteriors(lattice)
    >>> found.arcs.round(4).tolist(), found.finals.round(4).tolist()
    ([0.3333, 0.3333], [0.3333, 0.6667])
    >>> forest = Forest.from_edges([(0, [], ["a"]), (0, [], ["b"]), (1, [0, 0], [1, 0])])
    >>> counts = posteriors(forest)
    >>> counts.edges.round(4).tolist(), counts.nodes.round(4).tolist()
    ([1.0, 1.0, 1.0], [2.0, 1.0])
    """
    return Posteriors(*_native.posteriors(space.columns, scale))


def edge_shares(forest: Forest, scale: float = 1.0) -> FloatColumn:
    """Return the probability of each edge where its head is derived: they sum to one at a node.

    Edges without a derivation have 0.

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"]), (0, [], ["b"]), (1, [0], [0])])
    >>> edge_shares(forest).round(4).tolist()
    [0.5, 0.5, 1.0]
    """
    return _native.edge_shares(forest.columns, scale)
