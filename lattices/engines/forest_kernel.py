"""The fast engine for forests: the best derivation under a machine made of alignments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from lattices._native import AlignmentColumns, search_forests
from lattices.engines.automata import Alignment, Machines, SearchMachine
from lattices.engines.found import Found
from lattices.errors import EngineError
from lattices.spaces.forest import Forest

#: the most cells that the tables of one search may ask memory for
MOST_CELLS = 2**29


class ForestKernel:
    """Items from the bottom up, the derivation by evaluating again from the top down.

    Of several derivations with the highest value, one with the highest model score is returned
    (that of an edge plus what is below it, in the order of its target side).

    Cost: O(edges x length**2) for words and O(length**3) for each tail that no edge begins
    with, in vectors of single precision wherever totals allow. A forest made of a lattice
    takes O(edges x length), as the lattice does.
    """

    name = "kernel"

    def can_run(self, forest: Forest, machine: SearchMachine) -> Literal[True] | str:
        """Return True, or the reason why this engine cannot search the forest."""
        if all(isinstance(part.automaton, Alignment) for part in machine.parts):
            return True
        return "forests are searched with alignments to sentences, not to reference lattices"

    def best(
        self,
        forests: Sequence[Forest],
        machines: Machines,
        *,
        model_weight: float = 0.0,
        workers: int = 1,
    ) -> list[Found]:
        """Return the best derivation of each forest; ``arcs`` are its edges, from the top down.

        Raises
        ------
        EngineError
            If a machine has other parts than alignments, or the tables would take more than
            ``MOST_CELLS`` cells.
        """
        found = self.search(forests, machines, model_weight=model_weight, workers=workers)
        return [each for each, _ in found]

    def search(
        self,
        forests: Sequence[Forest],
        machines: Machines,
        *,
        model_weight: float = 0.0,
        workers: int = 1,
        beam: float | None = None,
        band: int | None = None,
    ) -> list[tuple[Found, bool]]:
        """Return a derivation of each forest, and whether its value is proven to be the best.

        Without a beam and a band it is, and has the highest model score of all of that value;
        with them, of those that were not left out. See docs/engines.md.

        Parameters
        ----------
        beam : float, optional
            In units of the value: how much less than the best of its node an item may promise.
        band : int, optional
            How many reference words an item may be outside of the range of its node.

        Raises
        ------
        EngineError
            As :meth:`best`, or if beam and band leave nothing.
        """
        parts: list[list[tuple[AlignmentColumns, float, float]]] = []
        for forest, machine in zip(forests, machines, strict=True):
            reason = self.can_run(forest, machine)
            if reason is not True:
                raise EngineError(f"forest {forest.id!r}: {reason}")
            parts.append(
                [
                    (part.automaton.columns, part.denominator, part.bonus)
                    for part in machine.parts
                    if isinstance(part.automaton, Alignment)
                ]
            )
        answers = search_forests(
            [forest.columns for forest in forests],
            parts,
            model_weight,
            np.inf if beam is None else beam,
            -1.0 if band is None else band,
            MOST_CELLS,
            workers,
        )
        found: list[tuple[Found, bool]] = []
        for forest, (problem, value, edges, part, proven) in zip(forests, answers, strict=True):
            if not problem and part < 0:
                problem = f"a beam of {beam} and a band of {band} leave no derivation"
            if problem:
                raise EngineError(f"forest {forest.id!r}: {problem}")
            found.append((Found(value, edges, part), proven))
        return found


ENGINE = ForestKernel()
