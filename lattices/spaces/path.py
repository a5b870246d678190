"""The sentence of a path: its words, its score and its features, in one walk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lattices.arrays import floats, ints, kernel
from lattices.errors import SpaceError
from lattices.spaces.features import FeatureMatrix, as_mapping, matrix_columns, sparse_rows
from lattices.spaces.hypothesis import Hypothesis

if TYPE_CHECKING:
    from lattices.spaces.lattice import Lattice

NO_SUCH_ARC, BROKEN = -1, -2
_NOTHING = sparse_rows(floats([]), ints([]), ints([0]), 0)


def path_hypothesis(lattice: Lattice, arcs: Sequence[int]) -> Hypothesis:
    """Return the sentence of a complete path, given as indexes of arcs.

    Raises
    ------
    SpaceError
        If the arcs are not a path from the start to a final state.

    Examples
    --------
    >>> from lattices.spaces import Lattice
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (1, 2, "b", -0.5)], finals=[2])
    >>> path_hypothesis(lattice, [0, 1])
    Hypothesis(tokens=('a', 'b'), score=-1.5, features={}, arcs=(0, 1), index=-1)
    """
    try:
        path = ints(arcs)
    except OverflowError:
        raise _no_such_arc(lattice) from None
    sums = np.zeros(len(lattice.feature_names))
    words = np.empty(len(path), np.int32)
    state, score = _walk(
        path, lattice.start, lattice.src, lattice.dst, lattice.label, lattice.score, lattice.final,
        *_parts(lattice.features), *_parts(lattice.final_features), words, sums,
    )  # fmt: skip
    if state == NO_SUCH_ARC:
        raise _no_such_arc(lattice)
    if state == BROKEN:
        raise SpaceError("the arcs are not a path from the start state")
    if score == -np.inf:
        raise SpaceError(f"the path ends in state {state}, which is not final")
    return Hypothesis(
        lattice.vocabulary.decode(words.tolist()),
        score,
        as_mapping(sums, lattice.feature_names),
        tuple(path.tolist()),
    )


def _no_such_arc(lattice: Lattice) -> SpaceError:
    return SpaceError(f"a path names an arc that is not one of 0..{lattice.num_arcs - 1}")


def _parts(matrix: FeatureMatrix | None) -> tuple[object, ...]:
    return matrix_columns(_NOTHING if matrix is None else matrix)


@kernel
def _walk(  # type: ignore[no-untyped-def]
    path, start, src, dst, label, score, final,
    bounds, columns, values, final_bounds, final_columns, final_values, words, sums,
):  # fmt: skip
    """Fill in the words and the sums of the features; return the last state and the score.

    In place of the state stands what is wrong with the path, if something is.
    """
    state = start
    for step in range(len(path)):
        arc = path[step]
        if not 0 <= arc < len(src):
            return NO_SUCH_ARC, 0.0
        if src[arc] != state:
            return BROKEN, 0.0
        state = dst[arc]
        words[step] = label[arc]
        if len(bounds) > 1:
            for entry in range(bounds[arc], bounds[arc + 1]):
                sums[columns[entry]] += values[entry]
    if len(final_bounds) > 1:
        for entry in range(final_bounds[state], final_bounds[state + 1]):
            sums[final_columns[entry]] += final_values[entry]
    # folded from the end, as the searches do it: what they report is what they compared
    total = final[state]
    for step in range(len(path) - 1, -1, -1):
        total += score[path[step]]
    return state, total
