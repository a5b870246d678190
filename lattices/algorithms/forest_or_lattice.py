"""The questions that lattices and forests share: one name each, and the space decides.

What is said of a path of a lattice holds of a derivation of a forest, and of its arcs what is
said of edges. The modules behind say how, with costs and citations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from lattices.algorithms.best import best as lattice_best
from lattices.algorithms.best import best_path as lattice_best_path
from lattices.algorithms.counting import density as lattice_density
from lattices.algorithms.counting import log_path_count as lattice_log_path_count
from lattices.algorithms.counting import path_count as lattice_path_count
from lattices.algorithms.counting import path_lengths as lattice_path_lengths
from lattices.algorithms.forest_best import best_derivation, forest_best
from lattices.algorithms.forest_counting import (
    derivation_count,
    derivation_lengths,
    forest_density,
    log_derivation_count,
)
from lattices.algorithms.forest_derivations import forest_hypotheses
from lattices.algorithms.forest_inside_outside import (
    forest_inside,
    forest_outside,
    forest_posteriors,
    forest_total,
)
from lattices.algorithms.forest_sampling import forest_sample, sample_derivations
from lattices.algorithms.inside_outside import inside as lattice_inside
from lattices.algorithms.inside_outside import outside as lattice_outside
from lattices.algorithms.inside_outside import posteriors as lattice_posteriors
from lattices.algorithms.inside_outside import total as lattice_total
from lattices.algorithms.kbest import forest_k_best, k_best_derivations
from lattices.algorithms.kbest import k_best as lattice_k_best
from lattices.algorithms.kbest import k_best_paths as lattice_k_best_paths
from lattices.algorithms.paths import hypotheses as lattice_hypotheses
from lattices.algorithms.sampling import sample as lattice_sample
from lattices.algorithms.sampling import sample_paths as lattice_sample_paths
from lattices.semirings import LOG, Semiring
from lattices.spaces import Forest, Hypothesis, Lattice

if TYPE_CHECKING:
    import numpy as np

    from lattices.algorithms.counting import PathLengths
    from lattices.algorithms.forest_inside_outside import ForestPosteriors
    from lattices.algorithms.inside_outside import Posteriors
    from lattices.algorithms.paths import Paths
    from lattices.arrays import FloatColumn, IntColumn


def best(space: Lattice | Forest) -> Hypothesis:
    """Return the sentence of the highest score.

    Ties in a lattice: the first in the order of the words, compared as strings one by one; then
    the first in the order of the arcs. In a forest the fewest words come first, then the same
    (:func:`lattices.algorithms.forest_best.forest_best` says why). Cost: O(arcs) when scores
    differ.

    Raises
    ------
    SpaceError
        If the lattice has no complete path.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "the", -0.5), (0, 1, "a", -0.5), (1, 2, "cat", -1.0)], finals=[2]
    ... )
    >>> best(lattice).text, best(Forest.from_lattice(lattice)).score
    ('a cat', -1.5)
    """
    if isinstance(space, Forest):
        return forest_best(space)
    return lattice_best(space)


def best_path(space: Lattice | Forest) -> IntColumn:
    """Return the arcs, or from the top down the edges, of :func:`best`'s answer."""
    if isinstance(space, Forest):
        return best_derivation(space)
    return lattice_best_path(space)


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


def inside(space: Lattice | Forest, semiring: Semiring = LOG, scale: float = 1.0) -> FloatColumn:
    """Return the sum over all paths from the start to each state, or over a node's derivations.

    Scores are multiplied by ``scale``. Cost: O(arcs).

    Examples
    --------
    >>> from lattices.semirings import COUNT
    >>> inside(Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1]), COUNT).tolist()
    [1.0, 2.0]
    """
    if isinstance(space, Forest):
        return forest_inside(space, semiring, scale)
    return lattice_inside(space, semiring, scale)


def outside(space: Lattice | Forest, semiring: Semiring = LOG, scale: float = 1.0) -> FloatColumn:
    """Return the sum over all paths from each state to the end, or over all around a node.

    Scores are multiplied by ``scale``. Cost: O(arcs).

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0)], finals={1: -0.5})
    >>> outside(lattice).tolist()
    [-1.5, -0.5]
    """
    if isinstance(space, Forest):
        return forest_outside(space, semiring, scale)
    return lattice_outside(space, semiring, scale)


def total(space: Lattice | Forest, semiring: Semiring = LOG, scale: float = 1.0) -> float:
    """Return the sum over everything: the best score, the log partition function, a count.

    Raises
    ------
    SpaceError
        If the lattice has no complete path.
    """
    if isinstance(space, Forest):
        return forest_total(space, semiring, scale)
    return lattice_total(space, semiring, scale)


@overload
def posteriors(space: Lattice, scale: float = 1.0) -> Posteriors: ...
@overload
def posteriors(space: Forest, scale: float = 1.0) -> ForestPosteriors: ...
def posteriors(space: Lattice | Forest, scale: float = 1.0) -> Posteriors | ForestPosteriors:
    """Return how probable it is to pass each arc and state, and to end in each state.

    A path has the probability ``exp(scale * score)`` divided by the sum of that over all
    complete paths. Of a forest the expected counts of edges and nodes are returned: how often
    a derivation uses each, on average. Cost: O(arcs).

    Raises
    ------
    SpaceError
        If the lattice has no complete path.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[0, 1])
    >>> posteriors(lattice).arcs.round(4).tolist()
    [0.3333, 0.3333]
    >>> posteriors(Forest.from_edges([(0, [], ["a"]), (0, [], ["b"])])).edges.round(4).tolist()
    [0.5, 0.5]
    """
    if isinstance(space, Forest):
        return forest_posteriors(space, scale)
    return lattice_posteriors(space, scale)


def sample(
    space: Lattice | Forest, n: int, rng: np.random.Generator, scale: float = 1.0
) -> list[Hypothesis]:
    """Return ``n`` independent random paths, each drawn in proportion to ``exp(scale * score)``.

    No path or derivation is weighted or thrown away; the same seed gives the same ones.

    Raises
    ------
    SpaceError
        If the lattice has no complete path.

    Examples
    --------
    >>> import numpy as np
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1])
    >>> texts = [found.text for found in sample(lattice, 1000, np.random.default_rng(7))]
    >>> 450 < texts.count("a") < 550
    True
    """
    if isinstance(space, Forest):
        return forest_sample(space, n, rng, scale)
    return lattice_sample(space, n, rng, scale)


def sample_paths(
    space: Lattice | Forest, n: int, rng: np.random.Generator, scale: float = 1.0
) -> Paths:
    """Return the paths or derivations of :func:`sample`, in columns."""
    if isinstance(space, Forest):
        return sample_derivations(space, n, rng, scale)
    return lattice_sample_paths(space, n, rng, scale)


def path_count(space: Lattice | Forest) -> int:
    """Return the number of complete paths or of derivations, exactly, however large.

    Cost: O(arcs), in floats while they are exact and in whole numbers beyond.

    Examples
    --------
    >>> doubled = [(state, state + 1, word) for state in range(100) for word in "ab"]
    >>> path_count(Lattice.from_arcs(doubled, finals=[100])) == 2**100
    True
    """
    if isinstance(space, Forest):
        return derivation_count(space)
    return lattice_path_count(space)


def log_path_count(space: Lattice | Forest) -> float:
    """Return the natural logarithm of the number of complete paths or of derivations."""
    if isinstance(space, Forest):
        return log_derivation_count(space)
    return lattice_log_path_count(space)


def path_lengths(space: Lattice | Forest) -> PathLengths:
    """Return how many words the shortest and the longest path or derivation have.

    Raises
    ------
    SpaceError
        If the lattice has no complete path.

    Examples
    --------
    >>> path_lengths(Lattice.from_arcs([(0, 2, "ab"), (0, 1, "a"), (1, 2, "b")], finals=[2]))
    PathLengths(shortest=1, longest=2)
    """
    if isinstance(space, Forest):
        return derivation_lengths(space)
    return lattice_path_lengths(space)


def density(space: Lattice | Forest) -> float:
    """Return the number of arcs or edges for each word of the best path.

    All of them count, those without a word and those on no complete path too (see
    :func:`trim`). A best path without words counts as one word.

    Raises
    ------
    SpaceError
        If the lattice has no complete path.

    Examples
    --------
    >>> density(Lattice.from_arcs([(0, 1, "a"), (0, 1, "b"), (1, 2, "c")], finals=[2]))
    1.5
    """
    if isinstance(space, Forest):
        return forest_density(space)
    return lattice_density(space)


def hypotheses(space: Lattice | Forest, paths: Paths) -> list[Hypothesis]:
    """Return the sentences of many paths or derivations in columns, which are trusted.

    All features come from one sparse product. Cost: O(total length of the paths).

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"], -1.0), (0, [], ["b"], -2.0)])
    >>> [found.text for found in hypotheses(forest, k_best_paths(forest, 2))]
    ['a', 'b']
    """
    if isinstance(space, Forest):
        return forest_hypotheses(space, paths)
    return lattice_hypotheses(space, paths)
