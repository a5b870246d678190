"""Graphs for risk: every derivation carries the one value of its sentence.

An expected metric needs one value for each sentence, where a machine has one for each alignment.
So a lattice is multiplied with rows (:mod:`lattices.intersection.rows`), a forest with matrices of
rows (:mod:`lattices.intersection.forest_rows`); a list has its values from the scorer. What comes
of all three is a hypergraph whose edges add up to values. The scores of a space stay outside, in
*slots*, since the graph does not depend on them: it is made once, and asked again under other
weights as often as training needs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from decoding._native import DerivationColumns, lattice_derivations, row_derivations, word_states
from decoding.extraction.forests import prepare_forest
from decoding.extraction.ranked import compiled
from fstmetrics import CompiledEvaluator, Evaluator, Machine, nbest_stats, scores_of
from lattices.algorithms import forest_to_lattice
from lattices.algorithms.paths import no_complete_path
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.errors import SpaceError
from lattices.intersection.forest_rows import forest_row_product
from lattices.intersection.rows import MEMORY, RowMachine
from lattices.spaces import Forest, Lattice, NBest

#: states that a forest may take as a lattice, where its matrices are too many
MOST_STATES = 100_000


@dataclass(frozen=True, eq=False)
class DerivationGraph:
    """A hypergraph whose derivations are those of a space, with their values.

    Nodes are numbered bottom-up, tails before heads; the edges of node ``q`` are ``in_offset[q]``
    up to ``in_offset[q + 1]``.

    Attributes
    ----------
    in_offset, tail, tail_offset : int32 columns
        As in :class:`lattices.Forest`.
    slot : int32 column, one entry an edge
        Where the score of the edge stands: the arc of a lattice, or the number of arcs plus the
        state for ending there; the edge of a forest; the entry of a list; :attr:`slots` for none.
    gain : float64 column, one entry an edge
        What the edge adds to the value of a derivation, which begins with :attr:`base`.
    base : float
    root : int
    slots : int
        How many there are.
    """

    in_offset: IntColumn
    tail: IntColumn
    tail_offset: IntColumn
    slot: IntColumn
    gain: FloatColumn
    base: float
    root: int
    slots: int

    @cached_property
    def columns(self) -> DerivationColumns:
        """The columns as native code takes them."""
        return DerivationColumns(
            self.in_offset, self.tail, self.tail_offset, self.slot, self.gain, self.root
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: all but what is made again when it is needed."""
        return {name: value for name, value in self.__dict__.items() if name != "columns"}

    @property
    def num_nodes(self) -> int:
        """How many nodes there are: pairs, if the graph is a product."""
        return len(self.in_offset) - 1


def plain_graph(space: Lattice | Forest | NBest) -> DerivationGraph:
    """Return a space as it is, all values 0.

    Examples
    --------
    >>> graph = plain_graph(Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1]))
    >>> graph.num_nodes, graph.slot.tolist(), graph.slots
    (2, [3, 0, 1], 4)
    """
    if isinstance(space, NBest):
        return list_graph(np.zeros(len(space)))
    if isinstance(space, Forest):
        edges = space.num_edges
        return DerivationGraph(
            space.in_offset, space.tail, space.tail_offset, ints(np.arange(edges)),
            floats(np.zeros(edges)), 0.0, space.root, edges,
        )  # fmt: skip
    in_offset, tail, tail_offset, slot, gain = lattice_derivations(space.columns)
    return DerivationGraph(
        ints(in_offset), ints(tail), ints(tail_offset), ints(slot), floats(gain),
        0.0, space.num_states - 1 - space.start,
        space.num_arcs + space.num_states,
    )  # fmt: skip


def list_graph(values: FloatColumn) -> DerivationGraph:
    """Return the graph of a list of sentences with these values: one node."""
    count = len(values)
    return DerivationGraph(
        ints([0, count]), ints([]), ints(np.zeros(count + 1)), ints(np.arange(count)),
        floats(values), 0.0, 0, count,
    )  # fmt: skip


def nbest_graph(nbest: NBest, evaluator: Evaluator) -> DerivationGraph:
    """Return the graph of an n-best list with the metric of each entry, whatever the metric."""
    return list_graph(scores_of(evaluator.metric, nbest_stats(evaluator, nbest)))


def value_line(machine: Machine, evaluator: Evaluator) -> tuple[float, float]:
    """Return ``a`` and ``b``: a sentence of gain ``g`` has the metric ``a + b * g``."""
    if evaluator.metric.higher_is_better:
        return 0.0, machine.unit
    return 1.0, -machine.unit


def lattice_graph(
    lattice: Lattice, evaluator: CompiledEvaluator, budget: int
) -> DerivationGraph | None:
    """Return the product of a lattice with rows.

    None if it has more than ``budget`` pairs, or if the machine is not the metric itself but a
    bound of it or like it. Cost: that of the product.

    Raises
    ------
    SpaceError
        If the lattice has no complete path.
    """
    prepared, machine = compiled(lattice, evaluator)
    if machine.relation != "exact":
        return None
    units = prepared.lattice
    arcs, states = lattice.num_arcs, lattice.num_states
    arc_slot: Array = np.arange(arcs)
    final_slot: Array = arcs + np.arange(states)
    if prepared.origin is not None:
        arc_slot = np.where(prepared.origin < 0, arcs + states, prepared.origin)
        final_slot = arcs + word_states(units.columns, prepared.origin, lattice.columns)
    return _lattice_product(
        units, machine, value_line(machine, evaluator), budget, arc_slot, final_slot,
        arcs + states,
    )  # fmt: skip


def _lattice_product(
    lattice: Lattice,
    machine: Machine,
    line: tuple[float, float],
    budget: int,
    arc_slot: Array,
    final_slot: Array,
    slots: int,
) -> DerivationGraph | None:
    rows = RowMachine(machine.automaton, lattice.num_states)
    constant, factor = line
    try:
        found = row_derivations(
            lattice.columns, rows.native, budget, MEMORY, factor * rows.unit, ints(arc_slot),
            ints(final_slot),
        )  # fmt: skip
    except SpaceError:
        raise no_complete_path(lattice) from None
    if found is None:
        return None
    columns, opening = found
    # the start, with the one row before the first word, is the first pair and so the last node
    root = len(columns[0]) - 2
    in_offset, tail, tail_offset, slot, gain = columns
    return DerivationGraph(
        ints(in_offset),
        ints(tail),
        ints(tail_offset),
        ints(slot),
        floats(gain),
        constant + opening,
        root,
        slots,
    )


def forest_graph(
    forest: Forest, evaluator: CompiledEvaluator, budget: int
) -> DerivationGraph | None:
    """Return the product of a forest with matrices of rows, or of its lattice with rows.

    None if both have more than ``budget`` pairs (the lattice more than ``MOST_STATES`` states),
    or if the machine is not the metric itself. Cost: that of the product.
    """
    units = prepare_forest(forest, evaluator)
    symbol = units.forest.symbol
    words = ints(np.unique(symbol[symbol > 0]))
    machine = evaluator.machine(units.forest.vocabulary, words)
    if machine.relation != "exact":
        return None
    line = value_line(machine, evaluator)
    origin = np.arange(forest.num_edges) if units.origin is None else units.origin
    product = forest_row_product(units.forest, machine.automaton, budget)
    if product is None:
        return _expanded(units.forest, machine, line, budget, origin, forest.num_edges)
    graph, (constant, factor) = product.graph, line
    return DerivationGraph(
        graph.in_offset, graph.tail, graph.tail_offset, ints(origin[graph.origin]),
        floats(factor * graph.gain / graph.denominator), constant, graph.root, forest.num_edges,
    )  # fmt: skip


def _expanded(
    forest: Forest,
    machine: Machine,
    line: tuple[float, float],
    budget: int,
    origin: Array,
    slots: int,
) -> DerivationGraph | None:
    """Return the product of a forest's lattice with rows."""
    from scipy.sparse import eye_array

    marked = Forest(
        forest.vocabulary, forest.head, forest.tail, forest.tail_offset, forest.symbol,
        forest.symbol_offset, forest.score, forest.num_nodes, forest.root,
        features=eye_array(forest.num_edges, format="csr"),
        feature_names=tuple(map(str, range(forest.num_edges))),
    )  # fmt: skip
    try:
        lattice = forest_to_lattice(marked, min(budget, MOST_STATES))
    except SpaceError:
        return None
    marks = lattice.features
    assert marks is not None
    arc_slot = np.full(lattice.num_arcs, slots)
    arc_slot[np.diff(marks.indptr) > 0] = origin[marks.indices]
    final_slot = np.full(lattice.num_states, slots)
    return _lattice_product(lattice, machine, line, budget, arc_slot, final_slot, slots)
