"""Moving the scores of a lattice towards its start or its end."""

from __future__ import annotations

from typing import NamedTuple

from lattices import _native
from lattices.arrays import FloatColumn
from lattices.spaces import Lattice
from lattices.spaces.arguments import LATTICE, takes


class PushedScores(NamedTuple):
    """The scores of arcs and of ends with what lies ahead taken out, and what was taken out."""

    arcs: FloatColumn
    final: FloatColumn
    total: float


def pushed_scores(lattice: Lattice) -> PushedScores:
    """Return each arc's and each end's loss against the best that can be done from its source.

    With ``b[q]`` the best score from ``q`` to the end, an arc gets ``score + b[dst] -
    b[src]`` and an end ``final - b[q]``: zero on the best way on, negative elsewhere, and
    ``-inf`` on arcs that lie on no way to the end. The best score of the lattice,
    ``b[start]``, is what every complete path has lost. Cost: O(arcs).

    Raises
    ------
    SpaceError
        If the lattice has no complete path, or if scores overflow.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -1.0), (1, 2, "b", -2.0), (1, 2, "c", -3.0)], finals={2: -4.0}
    ... )
    >>> pushed = pushed_scores(lattice)
    >>> pushed.arcs.tolist(), pushed.total
    ([0.0, 0.0, -1.0], -7.0)
    """
    return PushedScores(*_native.push(lattice.columns, "ahead"))


@takes(lattice=LATTICE)
def push(lattice: Lattice, to_final: bool = False) -> Lattice:
    """Return the lattice with its scores moved as near to the start, or to the end, as they go.

    Every complete path keeps its score, up to rounding; states, arcs, words, features and
    times stay what they are. Pushed to the start, the best way on from any later state adds
    0 to the score; pushed to the end, the best way to any state has score 0. This is weight
    pushing in the tropical semiring (Mohri 2009, "Weighted automata algorithms"), in double
    precision. Cost: O(arcs).

    Parameters
    ----------
    lattice
        The lattice. Arcs that lead to no final state keep their scores, and so do, pushed
        to the end, arcs that no path from the start comes to.
    to_final
        Whether to push to the final states instead of the start.

    Raises
    ------
    SpaceError
        If the lattice has no complete path, or if scores overflow.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -1.0), (1, 2, "b", -2.0), (1, 2, "c", -3.0)], finals={2: -4.0}
    ... )
    >>> push(lattice).score.tolist(), push(lattice).final.tolist()
    ([-7.0, 0.0, -1.0], [-inf, -inf, 0.0])
    >>> push(lattice, to_final=True).score.tolist(), push(lattice, to_final=True).final.tolist()
    ([0.0, 0.0, -1.0], [-inf, -inf, -7.0])
    """
    score, final, _ = _native.push(lattice.columns, "final" if to_final else "start")
    return lattice.replaced(score=score, final=final)
