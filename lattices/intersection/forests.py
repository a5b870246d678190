"""The fast engine for forests: the best derivation under a machine made of alignments.

The k best sentences of a forest under a machine of alignments, each once.

A maximum over sentences of a maximum over alignments is one maximum, so the product of the
forest with the machine serves (Bar-Hillel, Perles and Shamir 1961), and each sentence is taken
by its best derivation and alignment. The whole product would be large, and nearly all of it
is far from the best: only what comes near is built, by an exact bound, and the bound is
lowered until k sentences are found above it. Then there are none other above it
(``native/forest_ranked.hpp``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from lattices import _native
from lattices._native import AlignmentColumns, search_forests
from lattices.algorithms.kbest import too_many_edges
from lattices.arrays import IntColumn, ints
from lattices.errors import EngineError
from lattices.intersection.automata import Alignment, Machines, SearchMachine
from lattices.intersection.engine import Found
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
            If a machine has other parts than alignments, the tables would take more than
            ``MOST_CELLS`` cells, or no derivation has a finite value.
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
            MOST_CELLS,
            workers,
        )
        found: list[Found] = []
        for forest, (problem, value, edges, part) in zip(forests, answers, strict=True):
            if problem:
                raise EngineError(f"forest {forest.id!r}: {problem}")
            found.append(Found(value, edges, part))
        return found


ENGINE = ForestKernel()


#: the most links that a product may have, 56 bytes each
MOST_LINKS = 2**25
#: what the native search says instead of an answer
_TOO_LARGE, _TOO_MANY_LINKS, _TOO_LONG = 1, 2, 3


class RankedForest(NamedTuple):
    """The derivations of the best sentences, and how they were found.

    ``tries`` has, for each bound, how much less than the best value was looked for, and whether
    that was all of the product.
    """

    derivations: list[IntColumn]
    tries: list[tuple[float, bool]]


def best_forest_sentences(
    forest: Forest,
    machine: SearchMachine,
    k: int,
    model_weight: float,
    words: IntColumn | None = None,
) -> list[IntColumn]:
    """Return the derivations of the ``k`` sentences of the highest value, best first.

    The value is that of the machine plus the weighted model score; derivations are edges from
    the top down. Ties go to the higher model score.

    Cost: that of the kernel for the tables, once more for each time that the bound is
    lowered, and O(links x log) of the product above it for the rest.

    Parameters
    ----------
    words : int32 column, optional
        What the symbols of the target sides say, where the machine reads something else, as
        characters: slots as they are, and 0 for nothing. Sentences are different if their words
        are.

    Raises
    ------
    EngineError
        If the machine has other parts than alignments, the tables are too large, or the product
        near the best value has more than ``MOST_LINKS`` links.
    """
    return rank_forest(forest, machine, k, model_weight, words).derivations


def rank_forest(
    forest: Forest,
    machine: SearchMachine,
    k: int,
    model_weight: float,
    words: IntColumn | None = None,
) -> RankedForest:
    """Return what :func:`best_forest_sentences` does, and how far it looked."""
    reason = ENGINE.can_run(forest, machine)
    if reason is not True:
        raise EngineError(f"forest {forest.id!r}: {reason}")
    parts = [
        (part.automaton.columns, part.denominator, part.bonus)
        for part in machine.parts
        if isinstance(part.automaton, Alignment)
    ]
    status, derivations, tries, number, cells = _native.rank_forest(
        forest.columns,
        forest.symbol if words is None else words,
        parts,
        model_weight,
        k,
        MOST_CELLS,
        MOST_LINKS,
    )
    if status == _TOO_LARGE:
        length = machine.parts[number].automaton.length  # type: ignore[union-attr]
        raise EngineError(
            f"forest {forest.id!r} and a reference of {length} words take tables of {cells} "
            f"cells, more than {MOST_CELLS}"
        )
    if status == _TOO_MANY_LINKS:
        raise EngineError(
            f"the product of forest {forest.id!r} with the machine has more than "
            f"{MOST_LINKS} links near the best value"
        )
    if status == _TOO_LONG:
        raise too_many_edges(forest)
    return RankedForest([ints(edges) for edges in derivations], tries)
