"""Forward and backward passes, and the posteriors they give."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lattices._native import inside_scores, outside_scores
from lattices.algorithms.paths import no_complete_path
from lattices.arrays import FloatColumn
from lattices.semirings import LOG, Semiring
from lattices.spaces import Lattice


def inside(lattice: Lattice, semiring: Semiring = LOG, scale: float = 1.0) -> FloatColumn:
    """Return, for every state, the sum over all paths from the start to it.

    ``inside[start]`` is the semiring's one; a state that cannot be reached has its zero.
    Final scores play no part. Arc scores are multiplied by ``scale``. Cost: O(arcs).

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -2.0)], finals=[1])
    >>> inside(lattice, VITERBI).tolist()
    [0.0, -1.0]
    >>> inside(lattice, COUNT).tolist()
    [1.0, 2.0]
    """
    weight = semiring.weights(lattice.score, scale)
    return inside_scores(lattice.columns, semiring.code, weight)


def outside(lattice: Lattice, semiring: Semiring = LOG, scale: float = 1.0) -> FloatColumn:
    """Return, for every state, the sum over all paths from it to the end, final scores included.

    A state from which no final state can be reached has the semiring's zero. All scores are
    multiplied by ``scale``. Cost: O(arcs).

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -2.0)], finals={1: -0.5})
    >>> outside(lattice, VITERBI).tolist()
    [-1.5, -0.5]
    """
    weight, end = (semiring.weights(each, scale) for each in (lattice.score, lattice.final))
    return outside_scores(lattice.columns, semiring.code, weight, end, end)


def total(lattice: Lattice, semiring: Semiring = LOG, scale: float = 1.0) -> float:
    """Return the sum over all complete paths: the best score, the log partition function, a count.

    Cost: O(arcs).

    Raises
    ------
    SpaceError
        If the lattice has no complete path.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -1.0)], finals=[1])
    >>> total(lattice, VITERBI), round(total(lattice, LOG), 4), total(lattice, COUNT)
    (-1.0, -0.3069, 2.0)
    """
    found = float(outside(lattice, semiring, scale)[lattice.start])
    if found == semiring.zero:
        raise no_complete_path(lattice)
    return found


class Posteriors(NamedTuple):
    """Probabilities of passing each arc, of passing each state, and of ending in each state."""

    arcs: FloatColumn
    states: FloatColumn
    finals: FloatColumn


def posteriors(lattice: Lattice, scale: float = 1.0) -> Posteriors:
    """Return how probable it is to pass each arc and state, and to end in each state.

    A path has the probability ``exp(scale * score)`` divided by the sum of that over all
    complete paths. Whatever lies on no complete path has probability 0. Cost: O(arcs).

    Raises
    ------
    SpaceError
        If the lattice has no complete path.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", 0.0), (0, 1, "b", 0.0)], finals=[0, 1])
    >>> found = posteriors(lattice)
    >>> found.arcs.round(4).tolist(), found.finals.round(4).tolist()
    ([0.3333, 0.3333], [0.3333, 0.6667])
    """
    forward, backward = inside(lattice, LOG, scale), outside(lattice, LOG, scale)
    whole = backward[lattice.start]
    if whole == -np.inf:
        raise no_complete_path(lattice)
    step = forward[lattice.src] + LOG.weights(lattice.score, scale)
    # rounding may carry a certainty just above one
    return Posteriors(
        np.minimum(np.exp(step + backward[lattice.dst] - whole), 1.0),
        np.minimum(np.exp(forward + backward - whole), 1.0),
        np.minimum(np.exp(forward + LOG.weights(lattice.final, scale) - whole), 1.0),
    )
