"""What an engine finds, and how it chooses among equals.

Every engine returns a path of the highest value and, among those, of the highest model score
(summed from the end of the path). Beyond that the path is the same for the same input, whatever
the number of threads, but it is not said which one it is, and engines may differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from lattices.arrays import IntColumn
from lattices.intersection.automata import Machines, SearchMachine
from lattices.spaces import Lattice


class Found(NamedTuple):
    """A best path.

    Attributes
    ----------
    value : float
        What was maximised: the machine's value plus the weighted model score.
    arcs : int32 column
        The path, as indexes of the lattice's arcs.
    part : int
        Which part of the machine the value comes from.
    """

    value: float
    arcs: IntColumn
    part: int


class Engine(Protocol):
    """A way to intersect lattices with machines."""

    @property
    def name(self) -> str:
        """The name in the registry."""

    def can_run(self, lattice: Lattice, machine: SearchMachine) -> Literal[True] | str:
        """Return True, or the reason why this engine cannot search the lattice."""

    def best(
        self,
        lattices: Sequence[Lattice],
        machines: Machines,
        *,
        model_weight: float = 0.0,
        workers: int = 1,
    ) -> list[Found | None]:
        """Return the best path of each lattice, or None where no path is complete.

        The value of a path is the machine's value of its words plus ``model_weight``
        times its model score.
        """
