"""Graphs for risk: every derivation carries the one value of its sentence.

An expected metric needs one value for each sentence, where a machine has one for each alignment.
So a lattice is multiplied with rows, a forest with matrices of rows
(:mod:`lattices.intersection.rows`); a list has its values from the scorer. What comes
of all three is a hypergraph whose edges add up to values. The scores of a space stay outside, in
*slots*, since the graph does not depend on them: it is made once, and asked again under other
weights as often as training needs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from decoding._native import DerivationColumns, lattice_derivations, row_derivations, word_states
from fstmetrics import Evaluator
from fstmetrics.contract import CompiledEvaluator, Machine, compile_for, nbest_stats, scores_of
from lattices.algorithms.paths import explain_no_path
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.caching import cached_property
from lattices.errors import SpaceError
from lattices.intersection.rows import RowMachine, forest_row_product
from lattices.limits import Limits
from lattices.spaces import Forest, Lattice, NBest


@dataclass(frozen=True, eq=False)
class DerivationGraph:
    """A hypergraph whose derivations are those of a space, with their values.

    Nodes are numbered bottom-up, tails before heads; the edges of node ``q`` are ``in_offset[q]``
    up to ``in_offset[q + 1]``.
    """

    #: as in :class:`lattices.Forest`
    in_offset: IntColumn
    tail: IntColumn
    tail_offset: IntColumn
    #: where the score of the edge stands: the arc of a lattice, or the number of arcs plus the
    #: state for ending there; the edge of a forest; the entry of a list
    slot: IntColumn
    #: what the edge adds to the value of a derivation, which begins with :attr:`base`
    gain: FloatColumn
    base: float
    root: int
    #: how many there are
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
    lattice: Lattice, evaluator: CompiledEvaluator, limits: Limits
) -> DerivationGraph | None:
    """Return the product of a lattice with rows.

    None if it takes more than ``limits``, or if the machine is not the metric itself but a
    bound of it or like it. Cost: that of the product.
    """
    prepared, machine = compile_for(lattice, evaluator)
    if machine.relation != "exact":
        return None
    units = prepared.space
    arcs, states = lattice.num_arcs, lattice.num_states
    arc_slot: Array = np.arange(arcs)
    final_slot: Array = arcs + np.arange(states)
    if prepared.origin is not None:
        arc_slot = np.where(prepared.origin < 0, arcs + states, prepared.origin)
        final_slot = arcs + word_states(units.columns, prepared.origin, lattice.columns)
    rows = RowMachine(machine.automaton, units.num_states)
    constant, factor = value_line(machine, evaluator)
    try:
        found = row_derivations(
            units.columns, rows.native, *limits, factor * rows.unit, ints(arc_slot),
            ints(final_slot),
        )  # fmt: skip
    except SpaceError:
        raise explain_no_path(lattice) from None
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
        arcs + states,
    )


def forest_graph(
    forest: Forest, evaluator: CompiledEvaluator, limits: Limits
) -> DerivationGraph | None:
    """Return the product of a forest with matrices of rows.

    None if it takes more than ``limits``, or if the machine is not the metric itself. Cost:
    that of the product.
    """
    prepared, machine = compile_for(forest, evaluator)
    if machine.relation != "exact":
        return None
    product = forest_row_product(prepared.space, machine.automaton, limits)
    if product is None:
        return None
    constant, factor = value_line(machine, evaluator)
    graph, origin = product.graph, prepared.origin
    return DerivationGraph(
        graph.in_offset, graph.tail, graph.tail_offset,
        graph.origin if origin is None else ints(origin[graph.origin]),
        floats(factor * graph.gain), constant, graph.root, forest.num_edges,
    )  # fmt: skip
