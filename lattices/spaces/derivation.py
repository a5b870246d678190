"""Derivations of forests, as edges from the top down: what they say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lattices._native import spell_derivations
from lattices.arrays import ints

if TYPE_CHECKING:
    from lattices.spaces.forest import Forest


def derivation_parts(forest: Forest, edges: Sequence[int]) -> tuple[list[int], float]:
    """Return the words and the score of a derivation. Cost: O(edges and words).

    Raises
    ------
    SpaceError
        If the edges are no derivation of the root.
    """
    words, _, scores = spell_derivations(forest.columns, ints(edges), ints([0, len(edges)]))
    return words.tolist(), float(scores[0])
