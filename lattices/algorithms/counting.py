"""How many paths there are, how long they are, and how many arcs a word has."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lattices.algorithms.best import best_path
from lattices.algorithms.inside_outside import outside, total
from lattices.semirings import COUNT, LOG, VITERBI
from lattices.spaces import Lattice
from lattices.vocabulary import EPSILON

#: up to here every whole number is a float
_EXACT = 2.0**53


def path_count(lattice: Lattice) -> int:
    """Return the number of complete paths, exactly, however large; 0 if there are none.

    Cost: O(arcs), in floats while they are exact and in whole numbers beyond.

    Examples
    --------
    >>> doubled = [(state, state + 1, word) for state in range(100) for word in "ab"]
    >>> path_count(Lattice.from_arcs(doubled, finals=[100])) == 2**100
    True
    """
    # no state on a complete path has more ways to the end than the start has
    approximate = outside(lattice, COUNT)[lattice.start]
    if approximate < _EXACT:
        return int(approximate)
    ways = (lattice.final > -np.inf).astype(int).tolist()
    # arcs are sorted by source: backwards, the ways from the target are complete
    for src, dst in zip(lattice.src[::-1].tolist(), lattice.dst[::-1].tolist(), strict=True):
        ways[src] += ways[dst]
    return int(ways[lattice.start])


def log_path_count(lattice: Lattice) -> float:
    """Return the natural logarithm of the number of complete paths, ``-inf`` if there are none.

    Cost: O(arcs).

    Examples
    --------
    >>> doubled = [(state, state + 1, word) for state in range(2000) for word in "ab"]
    >>> round(log_path_count(Lattice.from_arcs(doubled, finals=[2000])) / 0.6931471805599453, 6)
    2000.0
    """
    count = float(outside(lattice, COUNT)[lattice.start])
    if count < math.inf:
        return math.log(count) if count else -math.inf
    # under LOG a scale of 0 makes every path count one, at the price of more rounding
    return float(outside(lattice, LOG, scale=0.0)[lattice.start])


class PathLengths(NamedTuple):
    """The number of words of the shortest and of the longest complete path."""

    shortest: int
    longest: int


def path_lengths(lattice: Lattice) -> PathLengths:
    """Return how many words the shortest and the longest complete path have.

    Cost: O(arcs).

    Raises
    ------
    SpaceError
        If the lattice has no complete path.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 2, "ab"), (0, 1, "a"), (1, 2, "b")], finals=[2])
    >>> path_lengths(lattice)
    PathLengths(shortest=1, longest=2)
    """
    words = np.where(lattice.label == EPSILON, 0.0, 1.0)
    final = np.where(lattice.final > -np.inf, 0.0, -np.inf)
    longest = total(lattice.replaced(score=words, final=final), VITERBI)
    shortest = -total(lattice.replaced(score=-words, final=final), VITERBI)
    return PathLengths(int(shortest), int(longest))


def words_of_best(lattice: Lattice) -> int:
    """Return the number of words of the best path, but 1 if it has none: the unit of density."""
    return max(1, int(np.count_nonzero(lattice.label[best_path(lattice)] != EPSILON)))


def density(lattice: Lattice) -> float:
    """Return the number of arcs for each word of the best path.

    All arcs count, those without a word and those on no complete path too (see
    :func:`trim`). A best path without words counts as one word. Cost: O(arcs).

    Raises
    ------
    SpaceError
        If the lattice has no complete path.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b"), (1, 2, "c")], finals=[2])
    >>> density(lattice)
    1.5
    """
    return lattice.num_arcs / words_of_best(lattice)
