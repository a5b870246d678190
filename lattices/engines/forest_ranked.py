"""The k best sentences of a forest under a machine of alignments, each once.

A maximum over sentences of a maximum over alignments is one maximum, so the product of the
forest with the machine serves (Bar-Hillel, Perles and Shamir 1961), and each sentence is taken
by its best derivation and alignment. The whole product would be large, and nearly all of it
is far from the best: only what comes near is built, by an exact bound, and the bound is
lowered until k sentences are found above it. Then there are none other above it
(``native/forest_ranked.hpp``).
"""

from __future__ import annotations

from typing import NamedTuple

from lattices import _native
from lattices.algorithms.forest_derivations import too_many_edges
from lattices.arrays import IntColumn, ints
from lattices.engines.automata import Alignment, SearchMachine
from lattices.engines.forest_kernel import ENGINE, MOST_CELLS
from lattices.errors import EngineError
from lattices.spaces.forest import Forest

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
