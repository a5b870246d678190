"""The best paths of lattices and derivations of forests: one name, and the space decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lattices.algorithms.kbest import forest_k_best, k_best_derivations
from lattices.algorithms.kbest import k_best as lattice_k_best
from lattices.algorithms.kbest import k_best_paths as lattice_k_best_paths
from lattices.spaces import Forest, Hypothesis, Lattice

if TYPE_CHECKING:
    from lattices.algorithms.paths import Paths


def k_best(space: Lattice | Forest, k: int, distinct: bool = False) -> list[Hypothesis]:
    """Return the ``k`` best paths or derivations, best first, or all if there are fewer.

    The order of equal scores is always the same, but not specified. Exact and lazy: algorithm 3
    of Huang & Chiang (2005), for sentences too.

    Parameters
    ----------
    space : Lattice or Forest
    k : int
        At least 1.
    distinct : bool
        Whether to give each sentence once, by its best path, instead of every path.

    Raises
    ------
    SpaceError
        If the lattice has no complete path.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -1.0), (0, 1, "a", -2.0), (0, 1, "b", -3.0)], finals=[1]
    ... )
    >>> [(found.text, found.score) for found in k_best(lattice, 2)]
    [('a', -1.0), ('a', -2.0)]
    >>> [found.text for found in k_best(Forest.from_lattice(lattice), 2, distinct=True)]
    ['a', 'b']
    """
    if isinstance(space, Forest):
        return forest_k_best(space, k, distinct)
    return lattice_k_best(space, k, distinct)


def k_best_paths(space: Lattice | Forest, k: int, distinct: bool = False) -> Paths:
    """Return the paths or derivations of :func:`k_best`, in columns."""
    if isinstance(space, Forest):
        return k_best_derivations(space, k, distinct)
    return lattice_k_best_paths(space, k, distinct)
