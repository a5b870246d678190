"""Rows: an automaton made deterministic as it is read.

An automaton of a metric is nondeterministic: a sentence has many alignments, and its value
is the best of them. That is harmless while sentences are maximised over, too. The worst
sentence, the k best sentences and expectations need one value for each sentence. The row of
a prefix, the best gain with which each state is reached, settles that: it is a function of
the prefix, and the value of the whole sentence a function of its last row.

Rows are kept in a normal form: the largest gain is taken out and added to the arc, and
states that no suffix can bring back to the lead are dropped (``Automaton.dominated``). Equal
rows are then one row, transitions are looked up, and the pairs of a lattice state and a row
are the states of a lattice again, on which a path is a sentence with its one value.

Gains are whole numbers, so rows can be compared for equality. Sums of gains are kept in double
precision, which is exact as long as no total reaches 2**52; where one might, gains are rounded to a
coarser unit.

The worst sentence, and fear, are one search over rows in which prefixes that cannot win are
dropped. At one lattice state, a prefix beats another if it stands no higher in any state of the
row: whatever follows, it ends no higher. It is dropped for one that ends lower, or that has no
lower model score.

Rows of forests are made from the bottom up. A node of a forest may stand anywhere in a sentence,
so what its words are to the automaton is a matrix: for every state in which they may begin, the
row of best gains with which the states are reached after them. Two strings with equal matrices, up
to a constant, are alike in every sentence. So the pairs of a node and a matrix are the nodes of a
hypergraph, whose derivations carry the one value of their sentence.

Most nodes need less than a matrix: one that only begins sentences has the row of the initial
states alone, one that only ends them keeps what each row ends with, and the root has one number,
which goes into the constant. A lattice made into a forest has rows only, as the lattice has.

A pair is left out if ``k`` others of its node are at least as good in every sentence, and
strictly so or with the higher model score: then ``k`` sentences come before any of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lattices import _native
from lattices.algorithms.paths import explain_no_path
from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError, SpaceError
from lattices.intersection.automata import Automaton
from lattices.limits import MEMORY, Limits
from lattices.spaces import Forest, Lattice
from lattices.spaces.forest import order_rows

#: totals stay below this: whole numbers in double precision, and far from the end of 64 bits
WIDEST = 2.0**52


def largest_total(automaton: Automaton, steps: int) -> float:
    """Return a bound of what any alignment of a sentence of up to ``steps`` words gains or loses.

    Epsilon arcs on cycles count before each word, others once.
    """
    return automaton.row_columns.largest_total(steps)


def fitting(automaton: Automaton, steps: int) -> tuple[Automaton, float]:
    """Return the automaton in a unit in which every total is below 2**52, and that unit.

    It is 1 where the gains fit as they are, else the least power of two that does.
    """
    total = largest_total(automaton, steps)
    if total < WIDEST:
        return automaton, 1.0
    # one bit more: rounding up must not reach the bound
    unit = 2.0 ** (math.floor(math.log2(total / WIDEST)) + 1)
    gain, initial, final = (
        floats(np.rint(each / unit))
        for each in (automaton.gain, automaton.initial, automaton.final)
    )
    forgotten, kept, lead = automaton.dominated
    # rounding may not make a state look more useless than it is
    rules = (forgotten, kept, floats(np.ceil(lead / unit)))
    coarse = Automaton(automaton.src, automaton.dst, automaton.label, gain, initial, final, rules)
    return coarse, unit


#: gains whose sums stay below this are kept in 32 bits
_SMALL = 2.0**26


class RowMachine:
    """The deterministic reading of an automaton.

    Attributes
    ----------
    automaton : Automaton
        The one that is read: the given one, or that in a coarser unit.
    unit : float
        What one unit of gain of the rows is in units of the given automaton: 1 but where totals
        would grow too large, a power of two there.
    native : RowTables
        The handle that native searches take.
    """

    def __init__(self, automaton: Automaton, steps: int) -> None:
        if not automaton.row_columns.has_whole_gains():
            raise OptionError("rows need gains that are whole numbers")
        self.automaton, self.unit = fitting(automaton, steps)
        small = largest_total(self.automaton, steps) < _SMALL
        self.native = _native.RowTables(self.automaton.row_columns, small)


@dataclass(frozen=True, eq=False)
class RowProduct:
    """A lattice whose paths carry the one value of their sentence."""

    # states are pairs of a lattice state and a row; words and model scores are those of the lattice
    graph: Lattice
    # one entry an arc of the graph; summed along a path, with :attr:`opening` and the final gain,
    # the value of the sentence in units of the automaton that the machine was made of
    gain: FloatColumn
    final_gain: FloatColumn  # one entry a state
    opening: float  # the gain before the first word
    origin: IntColumn  # the arc of the lattice behind each arc of the graph
    rows: int  # how many different rows there are

    @property
    def pairs(self) -> int:
        """How many pairs of a lattice state and a row there are."""
        return self.graph.num_states


def row_product(lattice: Lattice, machine: RowMachine, limits: Limits) -> RowProduct | None:
    """Return the product of a lattice with rows, or None if it takes more than ``limits``.

    Cost: O(pairs x arcs out of a state), and a row's arcs for each new pair of row and class.
    """
    try:
        found = _native.row_product(lattice.columns, machine.native, *limits)
    except SpaceError:
        raise explain_no_path(lattice) from None
    if found is None:
        return None
    opening, rows, state, ending, src, dst, arc, gain = found
    graph = Lattice(
        vocabulary=lattice.vocabulary,
        src=ints(src),
        dst=ints(dst),
        label=ints(lattice.label[arc]),
        score=floats(lattice.score[arc]),
        final=floats(lattice.final[state]),
        id=lattice.id,
    )
    unit = machine.unit
    return RowProduct(
        graph, floats(gain * unit), floats(ending * unit), opening * unit, ints(arc), rows
    )


#: as many pairs as there may be
_ANY_NUMBER = 2**31 - 1


def lowest_path(
    lattice: Lattice, machine: RowMachine, limits: Limits, *, model_weight: float
) -> tuple[float, IntColumn] | None:
    """Return the lowest gain plus weighted model score of a sentence, and the arcs of its path.

    None if more prefixes than ``limits.budget`` have to be kept, or more bytes.
    """
    return _search(lattice, machine, model_weight, limits, 0)


def cut_lowest_path(
    lattice: Lattice,
    machine: RowMachine,
    *,
    model_weight: float,
    widest: int,
    memory: int = MEMORY,
) -> tuple[float, IntColumn]:
    """Return the lowest value found with at most ``widest`` prefixes kept at a lattice state.

    With fewer, if ``memory`` does not suffice for so many.
    """
    # a prefix that is kept goes on along each arc, at most, and has a row there
    most = memory // (machine.native.row_bytes * max(1, lattice.num_arcs))
    widest = min(widest, max(1, most))
    while widest > 0:
        found = _search(lattice, machine, model_weight, Limits(_ANY_NUMBER, memory), widest)
        if found is not None:
            return found
        widest //= 2
    raise OptionError(
        f"lattice {lattice.id!r} with {machine.automaton.num_states} states of references needs "
        f"more than {memory:,} bytes of memory; allow more, or give fewer references"
    )


def _search(
    lattice: Lattice, machine: RowMachine, model_weight: float, limits: Limits, widest: int
) -> tuple[float, IntColumn] | None:
    weight = float(model_weight) / machine.unit
    try:
        found = _native.lowest_path(lattice.columns, machine.native, weight, *limits, widest)
    except SpaceError:
        raise explain_no_path(lattice) from None
    return None if found is None else (found[0] * machine.unit, ints(found[1]))


#: edges that the search for pairs may look at, for each pair of the budget, and at any rate
STEPS, LEAST_STEPS = 8, 2**16
#: cells of matrices, and words of representatives, that may be kept
MOST_CELLS = 2**25


class Hypergraph(NamedTuple):
    """The product of a forest with a machine: columns as those of a forest, and its gains.

    Nodes are numbered bottom-up, and the edges of one head stand together.
    """

    # as in :class:`lattices.Forest`
    head: IntColumn
    tail: IntColumn
    tail_offset: IntColumn
    symbol: IntColumn
    symbol_offset: IntColumn
    in_offset: IntColumn
    score: FloatColumn  # one entry an edge; what the edge adds to the model score
    # one entry an edge; what the edge adds to the gain, in units of the automaton
    gain: FloatColumn
    origin: IntColumn  # the edge of the forest that stands behind each edge, or -1
    root: int


class ForestRowProduct(NamedTuple):
    """A hypergraph whose derivations carry the one value of their sentence."""

    # nodes are pairs of a node of the forest and a matrix; the gains of a derivation add up to the
    # value of the sentence, in units
    graph: Hypergraph
    # how many pairs, and how many different rows in their matrices
    pairs: int
    rows: int


def forest_row_product(
    forest: Forest,
    automaton: Automaton,
    limits: Limits,
    *,
    k: int = 0,
    worst: bool = False,
    model_weight: float = 0.0,
) -> ForestRowProduct | None:
    """Return the product of a forest with rows, or None if it takes more than ``limits``.

    None, too, if more edges than ``STEPS`` for each pair of the budget (and ``LEAST_STEPS``) have
    to be looked at.
    """
    steps = int(min(_native.longest_sentence(forest.columns), 2.0**31))
    machine = RowMachine(automaton, steps)
    found = _native.forest_row_product(
        forest.columns,
        machine.native,
        _native.ForestRowAim(-1.0 if worst else 1.0, model_weight / machine.unit, k),
        *limits,
        max(STEPS * limits.budget, LEAST_STEPS),
        MOST_CELLS,
    )
    if found is None:
        return None
    pairs, rows, head, origin, gain, tails, tails_offset = found
    # sorted by their heads, otherwise as they were found
    order = ints(np.argsort(head, kind="stable"))
    origin = ints(origin[order])
    graph = Hypergraph(
        ints(head[order]),
        *order_rows(ints(tails), ints(tails_offset), order),
        *order_rows(forest.symbol, forest.symbol_offset, origin),
        ints(np.searchsorted(head[order], np.arange(pairs + 1))),
        floats(forest.score[origin]),
        floats(gain[order] * machine.unit),
        origin,
        pairs - 1,
    )
    return ForestRowProduct(graph, pairs, rows)
