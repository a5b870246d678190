"""The product of a lattice with rows: every sentence once for each of its paths, with its value."""

from __future__ import annotations

from dataclasses import dataclass

from lattices import _native
from lattices.algorithms.paths import no_complete_path
from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.engines.rows import MEMORY, RowMachine
from lattices.errors import SpaceError
from lattices.spaces import Lattice


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


def row_product(
    lattice: Lattice, machine: RowMachine, budget: int, *, memory: int = MEMORY
) -> RowProduct | None:
    """Return the product of a lattice with rows, or None if it has more than ``budget`` pairs.

    None, too, if rows, pairs and arcs take more than ``memory`` bytes. Cost: O(pairs x arcs out
    of a lattice state), and a row's arcs for each new pair of a row and a word class.
    """
    try:
        found = _native.row_product(lattice.columns, machine.native, budget, memory)
    except SpaceError:
        raise no_complete_path(lattice) from None
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
