"""The states and arcs of Kaldi's binary lattices, as columns and back.

The layout is that of :mod:`lattices.formats.kaldi_fst`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lattices.arrays import Array, FloatColumn, IntColumn, column, floats, ints, kernel
from lattices.errors import SpaceError
from lattices.formats.byte_kernels import byte_kernel, slots_for
from lattices.formats.kaldi_costs import Costs
from lattices.formats.kaldi_fst import FoundFst, Layout
from lattices.spaces import Lattice


@dataclass(frozen=True, eq=False)
class FstColumns:
    """The arcs and final states of an FST.

    Attributes
    ----------
    src, dst, label, frames : int32 columns, one entry an arc
        ``label`` is that of the output side, ``frames`` the number of transition-ids.
    costs : Costs
    sound : bool
        Whether all costs are finite, or infinite together where a state is not final, and all
        targets are states.
    """

    src: IntColumn
    dst: IntColumn
    label: IntColumn
    frames: IntColumn
    costs: Costs
    sound: bool


def fst_columns(found: FoundFst, data: bytes) -> FstColumns:
    """Return the columns of an FST within some bytes."""
    layout = found.layout
    # a copy, so that the numbers are aligned wherever the key ends
    words = np.frombuffer(data, "<i4", (found.end - found.body) // 4, found.body).copy()
    src, dst, label, frames, cost, final, sound = _columns(
        ints(words),
        column(words.view("<f4"), np.float32),
        found.states,
        found.arcs,
        layout.compact,
        layout.cost_words,
    )
    return FstColumns(
        src=ints(src),
        dst=ints(dst),
        label=ints(label),
        frames=ints(frames),
        costs=Costs(floats(cost[0]), floats(cost[1]), floats(final[0]), floats(final[1])),
        sound=sound,
    )


@byte_kernel
def _cost(words, reals, place, cost_words, bits):  # type: ignore[no-untyped-def]
    """Return the number of one word or two at a place."""
    if cost_words == 1:
        return np.float64(reals[place])
    low = np.uint64(words[place]) & np.uint64(0xFFFFFFFF)
    bits[0] = np.uint64(words[place + 1]) << np.uint64(32) | low
    return bits.view(np.float64)[0]


@kernel
def _columns(words, reals, states, arcs, compact, cost_words):  # type: ignore[no-untyped-def]
    """Return per arc source, target, label, frames and costs, per state costs, and soundness.

    The words, of which ``reals`` are the same bits, are those of :func:`_behind_states`, so that
    nothing about their number is checked here.
    """
    src, dst = np.empty(arcs, np.int32), np.empty(arcs, np.int32)
    label, frames = np.empty(arcs, np.int32), np.empty(arcs, np.int32)
    cost, final = np.empty((2, arcs)), np.empty((2, states))
    bits = np.zeros(1, np.uint64)
    place = 0
    filled = 0
    sound = True
    for state in range(states):
        final[0, state] = _cost(words, reals, place, cost_words, bits)
        final[1, state] = _cost(words, reals, place + cost_words, cost_words, bits)
        sound &= (np.isfinite(final[0, state]) and np.isfinite(final[1, state])) or (
            final[0, state] == np.inf and final[1, state] == np.inf
        )
        place += 2 * cost_words
        if compact:
            place += 1 + words[place]
        following = filled + words[place]
        place += 2
        while filled < following:
            src[filled] = state
            label[filled] = words[place + 1]
            # the input label of a Lattice is a transition-id
            frames[filled] = 1 if words[place] != 0 else 0
            place += 2
            cost[0, filled] = _cost(words, reals, place, cost_words, bits)
            cost[1, filled] = _cost(words, reals, place + cost_words, cost_words, bits)
            sound &= np.isfinite(cost[0, filled]) and np.isfinite(cost[1, filled])
            place += 2 * cost_words
            if compact:
                frames[filled] = words[place]
                place += 1 + words[place]
            dst[filled] = words[place]
            sound &= 0 <= dst[filled] < states
            place += 1
            filled += 1
    return src, dst, label, frames, cost, final, sound


@kernel
def distinct_labels(label):  # type: ignore[no-untyped-def]
    """Return the different labels, as they come, and the number of each among them.

    Examples
    --------
    >>> [found.tolist() for found in distinct_labels(ints([7, 0, 7]))]
    [[7, 0], [0, 1, 0]]
    """
    size = slots_for(len(label))
    slots = np.full(size, -1, np.int32)
    distinct, which = np.empty(len(label), np.int32), np.empty(len(label), np.int32)
    found = 0
    for index in range(len(label)):
        # a multiple of the golden ratio spreads numbers that follow one another
        slot = (np.int64(label[index]) * 2654435769 >> 16) & (size - 1)
        while slots[slot] >= 0 and distinct[slots[slot]] != label[index]:
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot] = found
            distinct[found] = label[index]
            found += 1
        which[index] = slots[slot]
    return distinct[:found].copy(), which


def fst_body(lattice: Lattice, label: IntColumn, costs: Costs, layout: Layout) -> Array:
    """Return the states and arcs as 4-byte words; there are no transition-ids."""
    states, arcs, ids = lattice.num_states, lattice.num_arcs, int(layout.compact)
    weight = 2 * layout.cost_words + ids
    per_state, per_arc = weight + 2, weight + 3
    words = np.zeros(per_state * states + per_arc * arcs, dtype="<i4")
    state_at = per_state * np.arange(states) + per_arc * lattice.out_offset[:-1].astype(np.int64)
    arc_at = per_state * (lattice.src.astype(np.int64) + 1) + per_arc * np.arange(arcs)
    two = np.arange(2 * layout.cost_words)
    words[np.add.outer(state_at, two)] = _bits(
        costs.final_graph, costs.final_acoustic, lattice, layout
    )
    words[state_at + weight] = np.diff(lattice.out_offset)
    if layout.compact:
        words[arc_at] = label
    words[arc_at + 1] = label
    words[np.add.outer(arc_at + 2, two)] = _bits(costs.graph, costs.acoustic, lattice, layout)
    words[arc_at + 2 + weight] = lattice.dst
    return words


def _bits(graph: FloatColumn, acoustic: FloatColumn, lattice: Lattice, layout: Layout) -> Array:
    """Return the bits of pairs of costs, one row a pair."""
    pairs = np.column_stack((graph, acoustic))
    with np.errstate(over="ignore"):
        stored = pairs.astype(layout.cost)
    if (np.isfinite(pairs) & ~np.isfinite(stored)).any():
        raise SpaceError(f"a cost of segment {lattice.id!r} is too large for single precision")
    return stored.view("<i4")
