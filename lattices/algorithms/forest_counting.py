"""How many derivations and sentences a forest has, how long they are, and its density."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import index

import numpy as np

from lattices.algorithms.counting import PathLengths
from lattices.algorithms.forest_best import best_derivation
from lattices.algorithms.forest_inside_outside import forest_total
from lattices.algorithms.forest_to_lattice import forest_to_lattice
from lattices.algorithms.forest_trimming import forest_trim
from lattices.errors import OptionError, SpaceError
from lattices.semirings import COUNT, LOG, VITERBI
from lattices.spaces import Forest, Lattice
from lattices.vocabulary import EPSILON

#: up to here every whole number is a float
_EXACT = 2.0**53
#: numbers of more bits are not written out
_MOST_BITS = 2**26


def derivation_count(forest: Forest) -> int:
    """Return the number of derivations of the root, exactly.

    Cost: O(edges and tails), in floats while they are exact and in whole numbers beyond.

    Raises
    ------
    SpaceError
        If the number has more than 2**26 bits, as it can where nodes are used many times over.

    Examples
    --------
    >>> doubled = [(0, [], ["a"]), (0, [], ["b"])]
    >>> doubled += [(node + 1, [node, node], [0, 1]) for node in range(8)]
    >>> derivation_count(Forest.from_edges(doubled)) == 2**256
    True
    """
    approximate = forest_total(forest, COUNT)
    if approximate < _EXACT:
        return int(approximate)
    bits = log_derivation_count(forest) / math.log(2.0)
    if bits > _MOST_BITS:
        raise SpaceError(
            f"forest {forest.id!r} has about 2**{bits:.3g} derivations, too many to count exactly"
        )
    forest = forest_trim(forest).forest
    return _folded(forest, [1] * forest.num_edges, int.__mul__, int.__add__)


def _folded(
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


def log_derivation_count(forest: Forest) -> float:
    """Return the natural logarithm of the number of derivations. Cost: O(edges and tails).

    Examples
    --------
    >>> doubled = [(0, [], ["a"]), (0, [], ["b"])]
    >>> doubled += [(node + 1, [node, node], [0, 1]) for node in range(20)]
    >>> round(log_derivation_count(Forest.from_edges(doubled)) / 0.6931471805599453, 3)
    1048576.0
    """
    count = forest_total(forest, COUNT)
    # under LOG a scale of 0 makes every derivation count one, at the price of more rounding
    return math.log(count) if count < math.inf else forest_total(forest, LOG, scale=0.0)


def derivation_lengths(forest: Forest) -> PathLengths:
    """Return how many words the shortest and the longest derivation have.

    Cost: O(edges and tails), in floats while they are exact and in whole numbers beyond.

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"]), (0, [], []), (1, [0, 0], [1, "b", 0])])
    >>> derivation_lengths(forest)
    PathLengths(shortest=1, longest=3)
    """
    words = np.diff(forest.symbol_offset) - np.diff(forest.tail_offset)
    longest = forest_total(forest.replaced(score=words), VITERBI)
    if longest < _EXACT:
        return PathLengths(-int(forest_total(forest.replaced(score=-words), VITERBI)), int(longest))
    trimmed = forest_trim(forest).forest
    words = np.diff(trimmed.symbol_offset) - np.diff(trimmed.tail_offset)
    counts = words.tolist()
    return PathLengths(
        _folded(trimmed, counts, int.__add__, min), _folded(trimmed, counts, int.__add__, max)
    )


def words_of_best_derivation(forest: Forest) -> int:
    """Return how many words the best derivation has, but 1 if it has none: the unit of density."""
    edges = best_derivation(forest)
    words = np.diff(forest.symbol_offset) - np.diff(forest.tail_offset)
    return max(1, int(words[edges].sum()))


def forest_density(forest: Forest) -> float:
    """Return the number of edges for each word of the best derivation.

    All edges count, also those that no derivation uses (see :func:`forest_trim`). A best
    derivation without words counts as one word. Cost: O(edges and symbols).

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"]), (0, [], ["b"]), (1, [0], [0, "c"])])
    >>> forest_density(forest)
    1.5
    """
    return forest.num_edges / words_of_best_derivation(forest)


def sentence_count(space: Lattice | Forest, max_states: int = 1_000_000) -> int:
    """Return the number of different sentences of a lattice or a forest, exactly.

    The sentences of a deterministic automaton are its paths: sets of states that the same
    words lead to are the states of one (a forest is expanded to a lattice first, see
    :func:`forest_to_lattice`). Cost: the arcs of all sets; there can be exponentially many.

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
    lattice = forest_to_lattice(space, max_states) if isinstance(space, Forest) else space
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
