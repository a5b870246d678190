"""The product of a lattice with rows: every sentence once for each of its paths, with its value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lattices.algorithms.paths import no_complete_path
from lattices.algorithms.trimming import useful_states
from lattices.arrays import FloatColumn, IntColumn, floats, ints, kernel
from lattices.engines.rows import (
    RowMachine,
    absent_gain,
    ending_gain,
    first_row,
    grown,
    learn_step,
)
from lattices.spaces import Lattice


@kernel
def _build(tables, absent, start, alive, src, in_arc, in_offset, arc_class, classes, budget):  # type: ignore[no-untyped-def]
    """Return the pairs, the rows and the arcs of the product, or as far as the budget went.

    Pairs of one lattice state stand together, in the order of the states.
    """
    states = len(alive)
    opening, pool, target, gained, table = first_row(absent, tables, classes)
    rows = 1
    pair_of = np.full(len(pool), -1, np.int64)
    pair_state = np.empty(1024, np.int32)
    pair_row = np.empty(1024, np.int32)
    pair_start = np.zeros(states + 1, np.int64)
    pairs = 0
    arc_src = np.empty(4096, np.int32)
    arc_dst = np.empty(4096, np.int32)
    arc_of = np.empty(4096, np.int32)
    arc_gain = np.empty(4096, tables.initial.dtype)
    arcs = 0
    complete = True
    for state in range(states):
        pair_start[state + 1] = pairs
        if not alive[state]:
            continue
        if state == start:
            pair_state[0], pair_row[0], pair_of[0] = state, 0, 0
            pairs = 1
        for index in range(in_offset[state], in_offset[state + 1]):
            arc = in_arc[index]
            if not alive[src[arc]]:
                continue
            word_class = arc_class[arc]
            for pair in range(pair_start[src[arc]], pair_start[src[arc] + 1]):
                row = pair_row[pair]
                gain = tables.initial.dtype.type(0)
                if word_class >= 0:
                    if target[row, word_class] < 0:
                        pool, target, gained, table, rows = learn_step(
                            row, word_class, absent, tables, pool, target, gained, table, rows
                        )
                        if len(pool) > len(pair_of):
                            pair_of = grown(pair_of, -1)
                    gain = gained[row, word_class]
                    row = target[row, word_class]
                there = pair_of[row]
                if there < pair_start[state]:  # no pair of this state: theirs come last
                    if pairs == budget:
                        complete = False
                        break
                    if pairs == len(pair_state):
                        pair_state = grown(pair_state, 0)
                        pair_row = grown(pair_row, 0)
                    there = pairs
                    pair_state[pairs], pair_row[pairs], pair_of[row] = state, row, pairs
                    pairs += 1
                if arcs == len(arc_src):
                    arc_src = grown(arc_src, 0)
                    arc_dst = grown(arc_dst, 0)
                    arc_of = grown(arc_of, 0)
                    arc_gain = grown(arc_gain, 0)
                arc_src[arcs], arc_dst[arcs], arc_of[arcs], arc_gain[arcs] = pair, there, arc, gain
                arcs += 1
            if not complete:
                break
        if not complete:
            break
        pair_start[state + 1] = pairs
    ending = np.empty(pairs, tables.initial.dtype)
    for pair in range(pairs):
        ending[pair] = ending_gain(pool[pair_row[pair]], absent, tables)
    return (
        complete, opening, rows, pair_state[:pairs], ending,
        arc_src[:arcs], arc_dst[:arcs], arc_of[:arcs], arc_gain[:arcs],
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class RowProduct:
    """A lattice whose paths carry the one value of their sentence.

    Attributes
    ----------
    graph : Lattice
        States are pairs of a lattice state and a row; words and model scores are those of
        the lattice. All of its states lie on complete paths.
    gain : float64 column, one entry an arc of the graph
        Summed along a path, with :attr:`opening` and the final gain, the value of the
        sentence in units of the automaton that the machine was made of.
    final_gain : float64 column, one entry a state
    opening : float
        The gain before the first word.
    origin : int32 column
        The arc of the lattice behind each arc of the graph.
    rows : int
        How many different rows there are.
    """

    graph: Lattice
    gain: FloatColumn
    final_gain: FloatColumn
    opening: float
    origin: IntColumn
    rows: int

    @property
    def pairs(self) -> int:
        """How many pairs of a lattice state and a row there are."""
        return self.graph.num_states


def row_product(lattice: Lattice, machine: RowMachine, budget: int) -> RowProduct | None:
    """Return the product of a lattice with rows, or None if it has more than ``budget`` pairs.

    Cost: O(pairs x arcs out of a lattice state), and a row's arcs for each new pair of a row
    and a word class.
    """
    alive = useful_states(lattice)
    if not alive[lattice.start]:
        raise no_complete_path(lattice)
    classes = machine.classes(lattice.vocabulary)
    arc_class = ints(np.where(lattice.label == 0, -1, classes[lattice.label]))
    (complete, opening, rows, state, ending, src, dst, arc, gain) = _build(
        machine.tables, machine.dtype.type(absent_gain(machine.dtype)), lattice.start, alive,
        lattice.src, lattice.in_arc, lattice.in_offset, arc_class, len(machine.words) + 1, budget,
    )  # fmt: skip
    if not complete:
        return None
    order = np.lexsort((dst, src))
    arc = arc[order]
    graph = Lattice(
        vocabulary=lattice.vocabulary,
        src=ints(src[order]),
        dst=ints(dst[order]),
        label=ints(lattice.label[arc]),
        score=floats(lattice.score[arc]),
        final=floats(lattice.final[state]),
        id=lattice.id,
    )
    unit = machine.unit
    return RowProduct(
        graph, floats(gain[order] * unit), floats(ending * unit), float(opening) * unit,
        ints(arc), rows,
    )  # fmt: skip
