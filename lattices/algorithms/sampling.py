"""Random paths, exactly in proportion to their probability."""

from __future__ import annotations

from operator import index

import numpy as np

from lattices.algorithms.inside_outside import outside
from lattices.algorithms.paths import Paths, hypotheses, no_complete_path
from lattices.arrays import floats, ints, kernel
from lattices.errors import OptionError
from lattices.semirings import LOG
from lattices.spaces import Hypothesis, Lattice


@kernel
def _sampled(dst, out_offset, stop, step, start, n, rng):  # type: ignore[no-untyped-def]
    """Return the arcs of ``n`` random walks, and where each begins.

    ``stop[q]`` is the probability to end in ``q`` once there, ``step[a]`` that of taking
    ``a`` once at its source; at every state they sum to one.
    """
    offset = np.zeros(n + 1, np.int32)
    arcs = np.empty(16 * n + 16, np.int32)
    taken = 0
    for walk in range(n):
        state = start
        while True:
            left = rng.random() - stop[state]
            if left < 0.0:
                break
            # the last possible choice also takes what rounding leaves of the probability
            chosen = -1
            for arc in range(out_offset[state], out_offset[state + 1]):
                if step[arc] > 0.0:
                    chosen = arc
                    left -= step[arc]
                    if left < 0.0:
                        break
            if chosen < 0:
                break
            if taken == len(arcs):
                longer = np.empty(2 * taken, np.int32)
                longer[:taken] = arcs
                arcs = longer
            arcs[taken] = chosen
            taken += 1
            state = dst[chosen]
        offset[walk + 1] = taken
    return arcs[:taken].copy(), offset


def sample_paths(lattice: Lattice, n: int, rng: np.random.Generator, scale: float = 1.0) -> Paths:
    """Return the paths of :func:`sample`, in columns.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", 0.0), (0, 1, "b", -900.0)], finals=[1])
    >>> sample_paths(lattice, 3, np.random.default_rng(0)).arcs.tolist()
    [0, 0, 0]
    """
    if index(n) < 0:
        raise OptionError(f"n is {n}, expected 0 or more")
    if not isinstance(rng, np.random.Generator):
        raise OptionError(
            f"rng is a {type(rng).__name__}, expected a numpy.random.Generator: "
            "numpy.random.default_rng(seed) makes one"
        )
    backward = outside(lattice, LOG, scale)
    if backward[lattice.start] == -np.inf:
        raise no_complete_path(lattice)
    # from states without a way to the end no walk ever goes on; 0 stands for their -inf
    ahead = np.where(backward > -np.inf, backward, 0.0)
    step = np.exp(LOG.weights(lattice.score, scale) + backward[lattice.dst] - ahead[lattice.src])
    stop = np.exp(LOG.weights(lattice.final, scale) - ahead)
    arcs, offset = _sampled(
        lattice.dst,
        lattice.out_offset,
        floats(stop),
        floats(step),
        lattice.start,
        index(n),
        rng,
    )
    return Paths(ints(arcs), ints(offset))


def sample(
    lattice: Lattice, n: int, rng: np.random.Generator, scale: float = 1.0
) -> list[Hypothesis]:
    """Return ``n`` independent random paths, each drawn in proportion to ``exp(scale * score)``.

    One backward pass, then a walk from the start that leaves every state by an arc with the
    probability of all complete paths that do: no path is weighted or thrown away. The same
    seed gives the same paths. Cost: O(arcs) once, O(length * arcs out of a state) a path.

    Raises
    ------
    SpaceError
        If the lattice has no complete path.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", 0.0), (0, 1, "b", 0.0)], finals=[1])
    >>> texts = [found.text for found in sample(lattice, 1000, np.random.default_rng(7))]
    >>> 450 < texts.count("a") < 550
    True
    """
    return hypotheses(lattice, sample_paths(lattice, n, rng, scale))
