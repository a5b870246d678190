"""The fast engine: rows over whole batches of acyclic lattices, in native code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from lattices._native import search_lattices
from lattices.intersection.automata import Machines, SearchMachine
from lattices.intersection.engine import Found
from lattices.spaces import Lattice

#: the most cells (lattice states x machine states) one search may ask memory for
MOST_CELLS = 2**28


class KernelEngine:
    """Rows in topological order, the path by evaluating again along the best.

    Cost: O(arcs x reference length) for alignments, O(arcs x machine arcs) for other
    automata, and memory of one row a lattice state. The lattices of a batch are searched in
    threads, without the interpreter's lock.
    """

    name = "kernel"

    def can_run(self, lattice: Lattice, machine: SearchMachine) -> Literal[True] | str:
        """Return True, or the reason why this engine cannot search the lattice."""
        widest = max(part.automaton.num_states for part in machine.parts)
        if lattice.num_states * widest > MOST_CELLS:
            return (
                f"{lattice.num_states} lattice states x {widest} machine states "
                f"are more than {MOST_CELLS} cells"
            )
        return True

    def best(
        self,
        lattices: Sequence[Lattice],
        machines: Machines,
        *,
        model_weight: float = 0.0,
        workers: int = 1,
    ) -> list[Found | None]:
        """Return the best path of each lattice, or None where no path is complete."""
        values, parts, offset, arcs = search_lattices(
            [lattice.columns for lattice in lattices],
            [
                [(part.automaton.columns, part.denominator, part.bonus) for part in machine.parts]
                for machine in machines
            ],
            model_weight,
            MOST_CELLS,
            workers,
        )
        bounds: list[int] = offset.tolist()
        return [
            None if part < 0 else Found(value, arcs[begin:end], part)
            for value, part, begin, end in zip(
                values.tolist(), parts.tolist(), bounds[:-1], bounds[1:], strict=True
            )
        ]


ENGINE = KernelEngine()
