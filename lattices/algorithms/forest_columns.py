"""What the searches for the best derivations of a forest, or of its like, begin with."""

from __future__ import annotations

from typing import NamedTuple

from lattices.arrays import Array, FloatColumn
from lattices.spaces import Forest


class Merit(NamedTuple):
    """What derivations are ranked by before their score alone.

    It is ``sign * (gain / denominator + weight * score)``: gains add up over the edges as scores
    do, but apart from them, and all edges below one have its denominator. Kernels that take a
    merit take None where the score alone ranks; numba compiles them for either.
    """

    gain: FloatColumn
    denominator: FloatColumn
    sign: float
    weight: float


def search_columns(forest: Forest) -> tuple[Array, ...]:
    """Return the columns that the searches begin with, and the order of the words."""
    return (
        forest.head,
        forest.tail,
        forest.tail_offset,
        forest.symbol,
        forest.symbol_offset,
        forest.in_offset,
        forest.score,
        forest.vocabulary.ranks(),
    )
