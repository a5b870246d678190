"""Counts of paths, derivations and sentences; lengths; density."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import index
from typing import NamedTuple

import numpy as np

from lattices import _native
from lattices.algorithms.expansion import to_lattice
from lattices.algorithms.kbest import best_path
from lattices.algorithms.posteriors import inside, outside
from lattices.algorithms.semirings import COUNT, LOG
from lattices.algorithms.trimming import trim
from lattices.errors import OptionError, SpaceError
from lattices.spaces import Forest, Lattice
from lattices.spaces.arguments import GRAPH, takes
from lattices.vocabulary import EPSILON

#: up to here every whole number is a float
_EXACT = 2.0**53
#: numbers of more bits are not written out
_MOST_BITS = 2**26


@takes(space=GRAPH)
def path_count(space: Lattice | Forest) -> int:
    """Return the number of complete paths or of derivations, exactly, however large.

    Cost: O(arcs), in floats while they are exact and in whole numbers beyond.

    Raises
    ------
    SpaceError
        If the number has more than 2**26 bits, as it can where a forest's nodes are used many
        times over.

    Examples
    --------
    >>> doubled = [(state, state + 1, word) for state in range(100) for word in "ab"]
    >>> path_count(Lattice.from_arcs(doubled, finals=[100])) == 2**100
    True
    """
    # no state on a complete path has more ways to the end than the start has
    approximate = _approximate_count(space)
    if approximate < _EXACT:
        return int(approximate)
    if isinstance(space, Forest):
        return _derivation_count(space)
    ways = (space.final > -np.inf).astype(int).tolist()
    # arcs are sorted by source: backwards, the ways from the target are complete
    for src, dst in zip(space.src[::-1].tolist(), space.dst[::-1].tolist(), strict=True):
        ways[src] += ways[dst]
    return int(ways[space.start])


def _approximate_count(space: Lattice | Forest) -> float:
    """Return the number of paths as a float; ``inf`` beyond 1.8e308."""
    if isinstance(space, Forest):
        return float(inside(space, COUNT)[space.root])
    return float(outside(space, COUNT)[space.start])


def _derivation_count(forest: Forest) -> int:
    try:
        bits = log_path_count(forest) / math.log(2.0)
    except SpaceError:  # even its logarithm is no number
        bits = math.inf
    if bits > _MOST_BITS:
        raise SpaceError(
            f"forest {forest.id!r} has about 2**{bits:.3g} derivations, too many to count exactly"
        )
    forest = trim(forest).space
    return _fold(forest, [1] * forest.num_edges, int.__mul__, int.__add__)


def _fold(
    forest: Forest,
    edges: list[int],
    times: Callable[[int, int], int],
    plus: Callable[[int, int], int],
) -> int:
    """Return the value of the root in whole numbers; all nodes must have derivations."""
    value: list[int] = []
    tails, bounds = forest.tail.tolist(), forest.tail_offset.tolist()
    for edge, node in enumerate(forest.head.tolist()):
        product = edges[edge]
        for tail in tails[bounds[edge] : bounds[edge + 1]]:
            product = times(product, value[tail])
        if node == len(value):
            value.append(product)
        else:
            value[node] = plus(value[node], product)
    return value[forest.root]


@takes(space=GRAPH)
def log_path_count(space: Lattice | Forest) -> float:
    """Return the natural logarithm of the number of complete paths or of derivations.

    It is ``-inf`` if a lattice has none. Cost: O(arcs), or O(edges and tails).

    Examples
    --------
    >>> doubled = [(state, state + 1, word) for state in range(2000) for word in "ab"]
    >>> round(log_path_count(Lattice.from_arcs(doubled, finals=[2000])) / 0.6931471805599453, 6)
    2000.0
    """
    count = _approximate_count(space)
    if count < math.inf:
        return math.log(count) if count else -math.inf
    # under LOG a scale of 0 makes every path count one, at the price of more rounding
    return _native.total(space.columns, LOG.code, 0.0)


class PathLengths(NamedTuple):
    """The number of words of the shortest and of the longest complete path."""

    shortest: int
    longest: int


@takes(space=GRAPH)
def path_lengths(space: Lattice | Forest) -> PathLengths:
    """Return how many words the shortest and the longest path or derivation have.

    Cost: O(arcs), or O(edges and tails), in floats while they are exact and in whole numbers
    beyond.

    Raises
    ------
    SpaceError
        If the lattice has no complete path.

    Examples
    --------
    >>> path_lengths(Lattice.from_arcs([(0, 2, "ab"), (0, 1, "a"), (1, 2, "b")], finals=[2]))
    PathLengths(shortest=1, longest=2)
    >>> forest = Forest.from_edges([(0, [], ["a"]), (0, [], []), (1, [0, 0], [1, "b", 0])])
    >>> path_lengths(forest)
    PathLengths(shortest=1, longest=3)
    """
    shortest, longest = _native.path_lengths(space.columns)
    if longest < _EXACT or not isinstance(space, Forest):
        return PathLengths(int(shortest), int(longest))
    forest = trim(space).space
    words = (np.diff(forest.symbol_offset) - np.diff(forest.tail_offset)).tolist()
    return PathLengths(
        _fold(forest, words, int.__add__, min), _fold(forest, words, int.__add__, max)
    )


def words_of_best(space: Lattice | Forest) -> int:
    """Return the number of words of the best path, but 1 if it has none: the unit of density."""
    path = best_path(space)
    if isinstance(space, Forest):
        words = np.diff(space.symbol_offset) - np.diff(space.tail_offset)
        return max(1, int(words[path].sum()))
    return max(1, int(np.count_nonzero(space.label[path] != EPSILON)))


@takes(space=GRAPH)
def density(space: Lattice | Forest) -> float:
    """Return the number of arcs or edges for each word of the best path.

    All of them count, those without a word and those on no complete path too (see
    :func:`trim`). A best path without words counts as one word. Cost: O(arcs).

    Raises
    ------
    SpaceError
        If the lattice has no complete path.

    Examples
    --------
    >>> density(Lattice.from_arcs([(0, 1, "a"), (0, 1, "b"), (1, 2, "c")], finals=[2]))
    1.5
    """
    return len(space.score) / words_of_best(space)


@takes(space=GRAPH)
def sentence_count(space: Lattice | Forest, max_states: int = 1_000_000) -> int:
    """Return the number of different sentences of a lattice or a forest, exactly.

    The sentences of a deterministic automaton are its paths: sets of states that the same
    words lead to are the states of one (a forest is expanded to a lattice first, see
    :func:`to_lattice`). Cost: the arcs of all sets; there can be exponentially many.

    Parameters
    ----------
    space : Lattice or Forest
    max_states : int
        How many states the expansion may have, and how many sets.

    Raises
    ------
    SpaceError
        If that is not enough.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b"), (0, 2, "a"), (1, 2, "")], [2])
    >>> sentence_count(lattice)
    2
    """
    if index(max_states) < 1:
        raise OptionError(f"max_states is {max_states}, expected at least 1")
    lattice = to_lattice(space, max_states)
    targets, labels = lattice.dst.tolist(), lattice.label.tolist()
    bounds, ending = lattice.out_offset.tolist(), (lattice.final > -np.inf).tolist()
    alive = _ending(lattice)
    # how many prefixes lead to each set, by its lowest state: all that follow are higher
    waiting: list[dict[frozenset[int], int]] = [{} for _ in range(lattice.num_states)]
    found = sets = 0
    if alive[lattice.start]:
        waiting[lattice.start][frozenset([lattice.start])] = 1
    for lowest in range(lattice.start, lattice.num_states):
        for states, prefixes in waiting[lowest].items():
            sets += 1
            if sets > max_states:
                raise SpaceError(
                    f"counting the sentences of {space.id!r} takes more than {max_states} sets "
                    "of states: prune it, or raise max_states"
                )
            closed = list(states)
            seen = set(states)
            following: dict[int, set[int]] = {}
            for state in closed:
                for arc in range(bounds[state], bounds[state + 1]):
                    target = targets[arc]
                    if not alive[target]:
                        continue
                    if labels[arc] != EPSILON:
                        following.setdefault(labels[arc], set()).add(target)
                    elif target not in seen:
                        seen.add(target)
                        closed.append(target)
            found += prefixes if any(ending[state] for state in closed) else 0
            for reached in following.values():
                row = waiting[min(reached)]
                key = frozenset(reached)
                row[key] = row.get(key, 0) + prefixes
        waiting[lowest] = {}
    return found


def _ending(lattice: Lattice) -> list[bool]:
    """Return, for every state, whether a final state can be reached from it."""
    ending: list[bool] = (lattice.final > -np.inf).tolist()
    for src, dst in zip(lattice.src[::-1].tolist(), lattice.dst[::-1].tolist(), strict=True):
        ending[src] = ending[src] or ending[dst]
    return ending
