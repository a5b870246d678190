"""The k best paths or derivations, or the k best sentences, found lazily from the top.

Every state of a lattice keeps the list of its best suffixes, every node of a forest that of its
best derivations, best first, and makes the next one only when it is asked for (algorithm 3 of
Huang & Chiang, 2005; ``native/kbest.hpp``). For sentences instead of paths, a state or node
passes over words it has given before.
"""

from __future__ import annotations

from itertools import pairwise
from operator import index

from lattices import _native
from lattices.algorithms.paths import Paths, hypotheses, no_complete_path
from lattices.algorithms.paths import hypotheses as forest_hypotheses
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError, SpaceError
from lattices.spaces import Forest, Hypothesis, Lattice

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


#: no search gives more: there is no room for them
_MOST = 2**31 - 1


def k_best_paths(lattice: Lattice, k: int, distinct: bool = False) -> Paths:
    """Return the paths of :func:`k_best`, in columns.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -2.0)], finals=[1])
    >>> k_best_paths(lattice, 5).arcs.tolist()
    [0, 1]
    """
    found = _native.k_best_paths(lattice.columns, _checked(k), bool(distinct))
    return paths_found(lattice, found)


def k_best_ranked(
    lattice: Lattice,
    value: FloatColumn,
    final_value: FloatColumn,
    k: int,
    *,
    sign: float = 1.0,
    weight: float = 0.0,
    words: IntColumn | None = None,
) -> list[IntColumn]:
    """Return the arcs of the ``k`` sentences of the highest ``sign * (value + weight * score)``.

    Each sentence comes once, by its best path. Equal values go to the higher score.

    Parameters
    ----------
    value, final_value : float64 columns
        One entry an arc, and one a state. Paths end where the lattice's do.
    words : int32 column, optional
        What the arcs say, if not their labels; 0 for nothing. Sentences are different if
        their words are.
    """
    found = _native.ranked_paths(
        lattice.columns,
        lattice.label if words is None else words,
        floats(value),
        floats(final_value),
        sign,
        weight,
        min(k, _MOST),
    )
    return rows(paths_found(lattice, found))


def rows(paths: Paths) -> list[IntColumn]:
    """Return paths in columns one by one."""
    return [ints(paths.arcs[begin:end]) for begin, end in pairwise(paths.offset.tolist())]


def k_best(lattice: Lattice, k: int, distinct: bool = False) -> list[Hypothesis]:
    """Return the ``k`` best paths, best first, or all if there are fewer.

    The order of paths of equal scores is always the same, but not specified.

    Exact for every lattice. No state ever gives more than ``k`` suffixes, however many
    paths spell one sentence, so the cost is at most O(k * arcs * log(arcs)), and far less
    in practice.

    Parameters
    ----------
    lattice : Lattice
    k : int
        At least 1.
    distinct : bool
        Whether to give each sentence once, by its best path, instead of every path.

    Raises
    ------
    SpaceError
        If the lattice has no complete path.

    References
    ----------
    L. Huang and D. Chiang, Better k-best Parsing, IWPT 2005.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -1.0), (0, 1, "a", -2.0), (0, 1, "b", -3.0)], finals=[1]
    ... )
    >>> [(found.text, found.score) for found in k_best(lattice, 2)]
    [('a', -1.0), ('a', -2.0)]
    >>> [(found.text, found.score) for found in k_best(lattice, 2, distinct=True)]
    [('a', -1.0), ('b', -3.0)]
    """
    return hypotheses(lattice, k_best_paths(lattice, k, distinct))


def k_best_derivations(forest: Forest, k: int, distinct: bool = False) -> Paths:
    """Return the derivations of :func:`forest_k_best`, in columns.

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"], -1.0), (0, [], ["b"], -2.0), (1, [0], [0])])
    >>> k_best_derivations(forest, 5).arcs.tolist()
    [2, 0, 2, 1]
    """
    found = _native.k_best_derivations(forest.columns, _checked(k), bool(distinct))
    if found is None:
        raise too_many_edges(forest)
    return Paths(*map(ints, found))


def forest_k_best(forest: Forest, k: int, distinct: bool = False) -> list[Hypothesis]:
    """Return the ``k`` best derivations, best first, or all if there are fewer.

    The order of derivations of equal scores is always the same, but not specified.

    Exact for every forest, for sentences too: a node passes over derivations whose words it
    has given before. Take the first derivation of any sentence, and in it a part that a node
    would have passed over: the node has given the same words by a part that comes before it,
    and with that in its place the sentence would have a derivation that comes before its
    first. So the first derivation of every sentence is made of parts that are given.

    No node ever gives more than ``k`` derivations: those of an edge that differ in one tail
    only say different things, and come in the order of that tail's. The cost is O(edges) for
    the best, and O(number of tails * log) for each that a node takes from its heap: one for
    each that it gives, and more only where sentences are passed over.

    Parameters
    ----------
    forest : Forest
    k : int
        At least 1.
    distinct : bool
        Whether to give each sentence once, by its best derivation, instead of every derivation.

    References
    ----------
    L. Huang and D. Chiang, Better k-best Parsing, IWPT 2005.

    Examples
    --------
    >>> forest = Forest.from_edges(
    ...     [(0, [], ["a"], -1.0), (0, [], ["a"], -2.0), (0, [], ["b"], -3.0)]
    ... )
    >>> [(found.text, found.score) for found in forest_k_best(forest, 2)]
    [('a', -1.0), ('a', -2.0)]
    >>> [(found.text, found.score) for found in forest_k_best(forest, 2, distinct=True)]
    [('a', -1.0), ('b', -3.0)]
    """
    return forest_hypotheses(forest, k_best_derivations(forest, k, distinct))


def _checked(k: int) -> int:
    if index(k) < 1:
        raise OptionError(f"k is {k}, expected at least 1")
    return min(index(k), _MOST)


def paths_found(lattice: Lattice, found: tuple[IntColumn, IntColumn] | None) -> Paths:
    """Return the paths of a lattice that a search found, or raise the error that says why not."""
    if found is None:
        raise OptionError(f"the paths of lattice {lattice.id!r} that were asked for are too long")
    arcs, offset = found
    if len(offset) == 1:
        raise no_complete_path(lattice)
    return Paths(ints(arcs), ints(offset))
