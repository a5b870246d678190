"""The lattice of a forest's sentences.

Read a derivation from left to right, and at any point there is a list of what is still to come:
words, and nodes that are still to be derived. These lists are the states. A word at the head of
a list is an arc to the rest of it; a node is replaced by the target side of each of its edges
in turn, by an arc with the edge's score and features. Lists are interned, a number standing
for a symbol and the number of the rest, so that whatever has the same future shares it.

Read from right to left the same lists are what has been, and share their past. Which of the
two is smaller depends on the side to which the forest branches: a lattice made into a forest
branches to the left, and forwards every path of it would become a branch of a tree.
"""

from __future__ import annotations

from operator import index

import numpy as np

from lattices.algorithms.forest_trimming import forest_trim
from lattices.arrays import Array, IntColumn, floats, ints, kernel
from lattices.errors import OptionError, SpaceError
from lattices.spaces import Forest, Lattice
from lattices.vocabulary import EPSILON

# the columns of an arc
_SRC, _DST, _LABEL, _EDGE = 0, 1, 2, 3


@kernel
def _slot(table, cell, symbol, rest):  # type: ignore[no-untyped-def]
    """Return where the table holds the list of a symbol and a rest, or the free slot for it."""
    # factors of 30 bits: the keys have no more than 32, so nothing overflows
    mixed = np.int64(symbol) * 1000000007 + np.int64(rest) * 668265263
    slot = (mixed ^ (mixed >> 29)) & (len(table) - 1)
    while table[slot] >= 0:
        found = table[slot]
        if cell[found, 0] == symbol and cell[found, 1] == rest:
            break
        slot = (slot + 1) & (len(table) - 1)
    return slot


@kernel
def _doubled(table, cell):  # type: ignore[no-untyped-def]
    """Return a table of twice the slots with the same lists."""
    larger = np.full(2 * len(table), -1, np.int64)
    for found in table:
        if found >= 0:
            larger[_slot(larger, cell, cell[found, 0], cell[found, 1])] = found
    return larger


@kernel
def _grown(rows, needed):  # type: ignore[no-untyped-def]
    """Return the rows with room for ``needed`` of them."""
    if needed <= len(rows):
        return rows
    longer = np.empty((2 * needed, rows.shape[1]), np.int64)
    longer[: len(rows)] = rows
    return longer


@kernel
def _expanded(item, item_offset, in_offset, root, max_states):  # type: ignore[no-untyped-def]
    """Return how many states there are, and the arcs in four columns.

    ``item[item_offset[e]:item_offset[e + 1]]`` is the target side of edge ``e``: numbers of
    words, and ``-1 - q`` for node ``q``. State 0 is the end, state 1 the start. More states
    than ``max_states`` are returned if there are more than that.
    """
    cell = np.zeros((1024, 2), np.int64)
    table = np.full(2048, -1, np.int64)
    arcs = np.empty((1024, 4), np.int64)
    filled = 0
    cell[1, 0], cell[1, 1] = -1 - root, 0
    table[_slot(table, cell, cell[1, 0], 0)] = 1
    states = 2
    state = 1
    while state < states and states <= max_states:
        symbol, rest = cell[state, 0], cell[state, 1]
        if symbol > 0:
            arcs = _grown(arcs, filled + 1)
            arcs[filled, _SRC], arcs[filled, _DST] = state, rest
            arcs[filled, _LABEL], arcs[filled, _EDGE] = symbol, -1
            filled += 1
        else:
            begin, end = in_offset[-1 - symbol], in_offset[-symbol]
            arcs = _grown(arcs, filled + end - begin)
            for edge in range(begin, end):
                first, last = item_offset[edge], item_offset[edge + 1]
                label = EPSILON
                if first < last and item[first] > 0:
                    label = item[first]
                    first += 1
                target = rest
                for place in range(last - 1, first - 1, -1):
                    slot = _slot(table, cell, item[place], target)
                    if table[slot] < 0:
                        cell = _grown(cell, states + 1)
                        cell[states, 0], cell[states, 1] = item[place], target
                        table[slot] = states
                        states += 1
                        if 2 * states > len(table):
                            table = _doubled(table, cell)
                        target = states - 1
                    else:
                        target = table[slot]
                arcs[filled, _SRC], arcs[filled, _DST] = state, target
                arcs[filled, _LABEL], arcs[filled, _EDGE] = label, edge
                filled += 1
                if states > max_states:
                    break
        state += 1
    return states, arcs[:filled].copy()


def forest_to_lattice(forest: Forest, max_states: int = 1_000_000) -> Lattice:
    """Return a lattice with one path for each derivation, and its words, score and features.

    The scores and features of an edge are those of one arc, the words of its target side are
    others without a score; the sums along a path are those of the derivation, up to the order
    of adding. The forest is expanded from both ends, see this module, and the smaller lattice
    is returned. The cost is its number of arcs. A forest can have exponentially many states
    even where it is small: prune it, or work on the forest.

    Parameters
    ----------
    forest : Forest
    max_states : int
        The most states that the lattice may have.

    Raises
    ------
    SpaceError
        If it would have more.

    Examples
    --------
    >>> forest = Forest.from_edges(
    ...     [(0, [], ["a"], -1.0), (0, [], ["b"], -2.0), (1, [0, 0], [1, "or", 0], -0.5)]
    ... )
    >>> lattice = forest_to_lattice(forest)
    >>> sorted((path.text, path.score) for path in lattice.paths())[:2]
    [('a or a', -2.5), ('a or b', -3.5)]
    >>> forest_to_lattice(forest, max_states=3)
    Traceback (most recent call last):
        ...
    lattices.errors.SpaceError: forest '' takes more than 3 states as a lattice: ...
    """
    if index(max_states) < 1:
        raise OptionError(f"max_states is {max_states}, expected at least 1")
    trimmed = forest_trim(forest).forest
    item = _items(trimmed)
    best: tuple[int, Array] | None = None
    backwards = False
    limit = min(index(max_states), 2**31 - 1)
    for mirrored in (False, True):
        states, arcs = _expanded(
            _mirrored(item, trimmed.symbol_offset) if mirrored else item,
            trimmed.symbol_offset,
            trimmed.in_offset,
            trimmed.root,
            limit,
        )
        if states <= limit and (best is None or states < best[0]):
            best, backwards, limit = (states, arcs), mirrored, states
    if best is None:
        raise SpaceError(
            f"forest {forest.id!r} takes more than {max_states} states as a lattice: "
            "prune it, or raise max_states"
        )
    return _lattice(trimmed, *best, backwards)


def _items(forest: Forest) -> IntColumn:
    """Return the target sides with nodes in the places of slots: ``-1 - q`` for node ``q``."""
    edge = np.repeat(np.arange(forest.num_edges), np.diff(forest.symbol_offset))
    item = forest.symbol.copy()
    slots = np.flatnonzero(item < 0)
    item[slots] = -1 - forest.tail[forest.tail_offset[edge[slots]] - 1 - item[slots]]
    return ints(item)


def _mirrored(item: IntColumn, offset: IntColumn) -> IntColumn:
    """Return every row the other way round."""
    places = np.arange(len(item))
    ends = np.repeat(offset[:-1] + offset[1:], np.diff(offset))
    return ints(item[ends - 1 - places])


def _lattice(forest: Forest, states: int, arcs: Array, backwards: bool) -> Lattice:
    edge = arcs[:, _EDGE]
    chosen = edge >= 0
    score = np.zeros(len(arcs))
    score[chosen] = forest.score[edge[chosen]]
    first, last = (0, 1) if backwards else (1, 0)
    final = np.full(states, -np.inf)
    final[last] = 0.0
    features = None
    if forest.features is not None:
        from scipy.sparse import csr_array

        places = np.flatnonzero(chosen)
        pick = csr_array(
            (np.ones(len(places)), (places, edge[places])), shape=(len(arcs), forest.num_edges)
        )
        features = csr_array(pick @ forest.features)
    return Lattice(
        vocabulary=forest.vocabulary,
        src=ints(arcs[:, _DST if backwards else _SRC]),
        dst=ints(arcs[:, _SRC if backwards else _DST]),
        label=ints(arcs[:, _LABEL]),
        score=floats(score),
        final=floats(final),
        start=first,
        features=features,
        feature_names=forest.feature_names,
        id=forest.id,
        source=forest.source,
        references=forest.references,
        metadata=forest.metadata,
    )
