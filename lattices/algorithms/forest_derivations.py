"""Derivations of forests, under the names that searches for several of them know."""

from __future__ import annotations

from lattices.algorithms.paths import Paths
from lattices.algorithms.paths import hypotheses as forest_hypotheses
from lattices.arrays import Array, ints
from lattices.errors import SpaceError
from lattices.spaces import Forest

__all__ = ["MOST_EDGES", "derivations_found", "forest_hypotheses", "too_many_edges"]

#: a column of edges holds no more than this
MOST_EDGES = 2**31 - 1


def too_many_edges(forest: Forest) -> SpaceError:
    """Return the error that says that derivations are too large to be written out."""
    return SpaceError(
        f"the derivations of forest {forest.id!r} that were asked for have more than "
        f"{MOST_EDGES} edges: some node is used again and again by each of them"
    )


def derivations_found(forest: Forest, edges: Array, offset: Array) -> Paths:
    """Return the edges that were found in columns, or raise the error that they are too many.

    Too many are told by a negative last offset, see :func:`~.forest_best.unrolled`.
    """
    if offset[-1] < 0:
        raise too_many_edges(forest)
    return Paths(ints(edges), ints(offset))
