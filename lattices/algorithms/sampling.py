"""Random paths and derivations, exactly in proportion to their probability."""

from __future__ import annotations

import sys
from operator import index

import numpy as np

from lattices import _native
from lattices.algorithms.paths import Paths, hypotheses
from lattices.arrays import ints
from lattices.errors import OptionError, argument
from lattices.spaces import Forest, Hypothesis, Lattice
from lattices.spaces.arguments import GRAPH, takes


@takes(space=GRAPH)
def sample_paths(
    space: Lattice | Forest, n: int, rng: np.random.Generator, scale: float = 1.0
) -> Paths:
    """Return the paths or derivations of :func:`sample`, in columns.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", 0.0), (0, 1, "b", -900.0)], finals=[1])
    >>> sample_paths(lattice, 3, np.random.default_rng(0)).arcs.tolist()
    [0, 0, 0]
    """
    if not 0 <= index(n) <= sys.maxsize:
        raise OptionError(f"{argument('n')} is {n}, expected from 0 to {sys.maxsize}")
    if not isinstance(rng, np.random.Generator):
        raise OptionError(
            f"rng is a {type(rng).__name__}, expected a numpy.random.Generator: "
            "numpy.random.default_rng(seed) makes one"
        )
    bits = rng.bit_generator
    with bits.lock:
        arcs, offset = _native.sample_paths(space.columns, index(n), scale, bits.capsule)
    return Paths(ints(arcs), ints(offset))


@takes(space=GRAPH)
def sample(
    space: Lattice | Forest, n: int, rng: np.random.Generator, scale: float = 1.0
) -> list[Hypothesis]:
    """Return ``n`` independent random paths, each drawn in proportion to ``exp(scale * score)``.

    One pass from the end or the leaves, then a walk from the start that leaves every state by an
    arc with the probability of all complete paths that do; a derivation is drawn in the same way
    from the root down, left to right. No path is weighted or thrown away. The same seed gives the
    same paths. Cost: O(arcs) once, O(length * arcs out of a state) a path.

    Raises
    ------
    SpaceError
        If the lattice has no complete path, if sums of scores overflow, or if derivations are too
        large to be written out.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", 0.0), (0, 1, "b", 0.0)], finals=[1])
    >>> texts = [found.text for found in sample(lattice, 1000, np.random.default_rng(7))]
    >>> 450 < texts.count("a") < 550
    True
    """
    return hypotheses(space, sample_paths(space, n, rng, scale))
