"""The best path of a lattice, the best derivation of a forest."""

from __future__ import annotations

from lattices import _native
from lattices.arrays import IntColumn
from lattices.spaces import Forest, Hypothesis, Lattice
from lattices.spaces.arguments import GRAPH, takes


@takes(space=GRAPH)
def best_path(space: Lattice | Forest) -> IntColumn:
    """Return the arcs, or from the top down the edges, of :func:`best`'s answer.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -2.0), (0, 1, "b", -1.0)], finals=[1])
    >>> best_path(lattice).tolist()
    [1]
    >>> forest = Forest.from_edges([(0, [], ["a"], -2.0), (0, [], ["b"], -1.0), (1, [0], [0])])
    >>> best_path(forest).tolist()
    [2, 1]
    """
    return _native.best_path(space.columns)


@takes(space=GRAPH)
def best(space: Lattice | Forest) -> Hypothesis:
    """Return the sentence of the highest score.

    Which of several is returned whose score is the highest is not specified, but always the same
    one. Scores are compared at every state and node: two sums that differ before they are rounded
    together are no tie. Cost: O(arcs), or O(edges and tails).

    Raises
    ------
    SpaceError
        If the lattice has no complete path, or if the scores of paths overflow.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "the", -0.5), (0, 1, "a", -0.7), (1, 2, "cat", -1.0)], finals=[2]
    ... )
    >>> best(lattice).text, best(Forest.from_lattice(lattice)).score
    ('the cat', -1.5)
    """
    return space.hypothesis(best_path(space).tolist())
