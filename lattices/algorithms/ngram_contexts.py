"""A lattice unfolded so that each state knows the last words that led to it.

A path then passes each of its n-grams on one arc, the arc of its last word, and whatever is
additive over the n-grams of a sentence is additive over arcs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lattices.algorithms.inside_outside import outside
from lattices.algorithms.ngram_trie import LENGTH, SUFFIX, Ngrams, extended, new_trie
from lattices.algorithms.paths import no_complete_path
from lattices.arrays import Array, FloatColumn, IntColumn, floats, inlined, ints, kernel
from lattices.errors import OptionError, SpaceError
from lattices.semirings import LOG
from lattices.spaces import Lattice

#: arcs that an unfolded lattice may have
MOST_ARCS = 2**22
#: the highest order of n-grams
MOST_ORDER = 16


@dataclass(frozen=True, eq=False)
class ContextLattice:
    """A lattice whose states are pairs of a state and the last ``order - 1`` words before it.

    Only what lies on a complete path is in it. States are in topological order, the first is
    the start; arcs are sorted by source.

    Attributes
    ----------
    lattice : Lattice
    order : int
    ngrams : Ngrams
        All n-grams of the lattice's sentences up to ``order``.
    src, dst : int32 columns, one entry an arc
    arc : int32 column
        The arc of the lattice that each stands for.
    gram : int32 column
        The longest n-gram that ends with the arc, 0 (the empty one) for epsilon. All others
        that end there are its suffixes.
    state : int32 column, one entry a state
        The state of the lattice.
    out_offset : int32 column
        Arcs out of state ``q`` are ``out_offset[q]`` up to ``out_offset[q + 1]``.
    """

    lattice: Lattice
    order: int
    ngrams: Ngrams
    src: IntColumn
    dst: IntColumn
    arc: IntColumn
    gram: IntColumn
    state: IntColumn
    out_offset: IntColumn

    @property
    def final(self) -> FloatColumn:
        """The log-score of ending in each state."""
        return floats(self.lattice.final[self.state])


def checked_order(order: int) -> int:
    """Return an order of n-grams, or raise OptionError if it is none."""
    if isinstance(order, bool) or not isinstance(order, int | np.integer):
        raise OptionError(f"the order of n-grams is a whole number, not {order!r}")
    if not 1 <= order <= MOST_ORDER:
        raise OptionError(f"the order of n-grams is from 1 to {MOST_ORDER}, not {order}")
    return int(order)


def context_lattice(lattice: Lattice, order: int = 4) -> ContextLattice:
    """Return the lattice unfolded to contexts of ``order - 1`` words.

    Cost: O(arcs) times the number of contexts in which a state can be reached. Where the
    decoder had a language model of that order there is only one; at worst there are as many as
    different n-grams end there.

    Raises
    ------
    SpaceError
        If the lattice has no complete path, or far too many contexts.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b"), (1, 2, "c")], finals=[2])
    >>> unfolded = context_lattice(lattice, 2)
    >>> len(unfolded.arc), unfolded.ngrams.length.tolist()
    (4, [0, 1, 1, 2, 1, 2])
    """
    order = checked_order(order)
    alive = outside(lattice, LOG, 0.0) > -np.inf
    if not alive[lattice.start]:
        raise no_complete_path(lattice)
    room = 4 * (lattice.num_arcs + order)
    most = max(room, MOST_ARCS)
    found = _unfolded_within(lattice, alive, order, room)
    while found is None and room < most:
        room = min(4 * room, most)
        found = _unfolded_within(lattice, alive, order, room)
    if found is None:
        raise SpaceError(
            f"lattice {lattice.id!r} has more than {most} arcs when each state knows its "
            f"last {order - 1} words; prune it, or take n-grams of a lower order"
        )
    ngrams, arcs, state, out_offset = found
    return ContextLattice(
        lattice,
        order,
        ngrams,
        src=ints(arcs[:, 0]),
        dst=ints(arcs[:, 1]),
        arc=ints(arcs[:, 2]),
        gram=ints(arcs[:, 3]),
        state=ints(state),
        out_offset=ints(out_offset),
    )


def _unfolded_within(
    lattice: Lattice, alive: Array, order: int, room: int
) -> tuple[Ngrams, IntColumn, IntColumn, IntColumn] | None:
    """Return the n-grams, the arcs, the states and the offsets, or None if there is no room."""
    row, table = new_trie(room)
    pair = np.empty((len(row), 4), np.int32)
    known = np.full(2 * len(row), -1, np.int32)
    arcs = np.empty((room, 4), np.int32)
    state = np.empty(len(row), np.int32)
    offset = np.zeros(len(row) + 1, np.int32)
    grams, filled, states = _unfolded(
        lattice.dst, lattice.out_offset, lattice.label, lattice.start, alive, order,
        row, table, pair, known, arcs, state, offset,
    )  # fmt: skip
    if grams == 0:
        return None
    ngrams = Ngrams.of(row[:grams].copy(), table)
    return ngrams, arcs[:filled], ints(state[:states].copy()), ints(offset[: states + 1].copy())


@inlined
def _pair_slot(table, pair, first, second):  # type: ignore[no-untyped-def]
    """Return where the table holds a pair, or the free slot for it."""
    mixed = np.int64(first) * 6364136223846793005 + np.int64(second) * 2862933555777941757
    slot = (mixed ^ (mixed >> 29)) & (len(table) - 1)
    while table[slot] >= 0 and not (
        pair[table[slot], 0] == first and pair[table[slot], 1] == second
    ):
        slot = (slot + 1) & (len(table) - 1)
    return slot


@kernel
def _unfolded(  # type: ignore[no-untyped-def]
    dst, out_offset, label, start, alive, order, row, table, pair, known, arcs, state_of, offset
):
    """Fill in the trie, the arcs (src, dst, arc, gram), the states and the offsets of the arcs.

    Returns how many n-grams, arcs and states there are, or zeros if they are too many. (Arrays
    that could grow here would cost more than all the rest: numba counts references to them.)
    """
    states = len(out_offset) - 1
    grams = 1
    # pairs of a state and a context, each with the next pair of its state, and its number
    first, last = np.full(states, -1, np.int32), np.full(states, -1, np.int32)
    pair[0, 0], pair[0, 1], pair[0, 2] = start, 0, -1
    known[_pair_slot(known, pair, start, 0)] = 0
    first[start] = last[start] = 0
    pairs, filled, numbered = 1, 0, 0
    for state in range(start, states):
        here = first[state]
        while here >= 0:
            pair[here, 3] = numbered
            state_of[numbered] = state
            context = pair[here, 1]
            for arc in range(out_offset[state], out_offset[state + 1]):
                target = dst[arc]
                if not alive[target]:
                    continue
                if filled == len(arcs) or pairs == len(pair) or grams + order >= len(row):
                    return 0, 0, 0
                gram, after = np.int32(0), context
                if label[arc] != 0:
                    gram, grams = extended(row, table, grams, context, label[arc])
                    after = row[gram, SUFFIX] if row[gram, LENGTH] == order else gram
                slot = _pair_slot(known, pair, target, after)
                there = known[slot]
                if there < 0:
                    there = np.int32(pairs)
                    known[slot] = there
                    pair[there, 0], pair[there, 1], pair[there, 2] = target, after, -1
                    if last[target] >= 0:
                        pair[last[target], 2] = there
                    else:
                        first[target] = there
                    last[target] = there
                    pairs += 1
                arcs[filled, 0], arcs[filled, 1] = numbered, there
                arcs[filled, 2], arcs[filled, 3] = arc, gram
                filled += 1
            numbered += 1
            offset[numbered] = filled
            here = pair[here, 2]
    for arc in range(filled):
        arcs[arc, 1] = pair[arcs[arc, 1], 3]
    return grams, filled, numbered
