"""Moving the scores of a lattice towards its start or its end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lattices.algorithms.inside_outside import inside, outside
from lattices.algorithms.paths import no_complete_path
from lattices.arrays import FloatColumn
from lattices.errors import SpaceError
from lattices.semirings import VITERBI
from lattices.spaces import Lattice


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
    ahead = outside(lattice, VITERBI)
    total = float(ahead[lattice.start])
    if total == -np.inf:
        raise no_complete_path(lattice)
    source = np.where(ahead == -np.inf, 0.0, ahead)
    with _any_size():
        # summed in the order of the backward pass, so that the best way on loses exactly nothing
        arcs = (lattice.score + ahead[lattice.dst]) - source[lattice.src]
        final = lattice.final - source
    _check_overflow(lattice, arcs[ahead[lattice.dst] > -np.inf], final[lattice.finals])
    return PushedScores(arcs, final, total)


def _any_size() -> np.errstate:
    """Return a context in which sums may overflow without a warning: they are checked after."""
    return np.errstate(over="ignore", invalid="ignore")


def _check_overflow(lattice: Lattice, *scores: FloatColumn) -> None:
    if not all(np.isfinite(column).all() for column in scores):
        raise SpaceError(
            f"the scores of lattice {lattice.id!r} overflow: moving them makes some infinite; "
            "make them smaller"
        )


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
    if to_final:
        reached = inside(lattice, VITERBI)
        if not (reached[lattice.finals] > -np.inf).any():
            raise no_complete_path(lattice)
        potential = np.where(reached == -np.inf, 0.0, reached)
        with _any_size():
            score = (potential[lattice.src] + lattice.score) - potential[lattice.dst]
            final = lattice.final + potential
        alive = reached[lattice.src] > -np.inf
        _check_overflow(lattice, score[alive], final[lattice.finals])
        return lattice.replaced(score=np.where(alive, score, lattice.score), final=final)
    pushed = pushed_scores(lattice)
    first = lattice.src == lattice.start
    final = pushed.final.copy()
    with _any_size():
        score = pushed.arcs + np.where(first, pushed.total, 0.0)
        final[lattice.start] += pushed.total
    _check_overflow(lattice, score[pushed.arcs > -np.inf], final[lattice.finals])
    return lattice.replaced(score=np.where(score > -np.inf, score, lattice.score), final=final)
