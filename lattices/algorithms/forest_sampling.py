"""Random derivations, exactly in proportion to their probability."""

from __future__ import annotations

from operator import index

import numpy as np

from lattices.algorithms.forest_derivations import MOST_EDGES, forest_hypotheses, too_many_edges
from lattices.algorithms.forest_inside_outside import edge_shares, forest_posteriors
from lattices.algorithms.paths import Paths
from lattices.arrays import ints, kernel
from lattices.errors import OptionError
from lattices.spaces import Forest, Hypothesis


@kernel
def _sampled(in_offset, tail, tail_offset, step, root, n, rng):  # type: ignore[no-untyped-def]
    """Return the edges of ``n`` random derivations, from the top down, and where each begins.

    ``step[e]`` is the probability to choose ``e`` once its head is needed. Of derivations too
    large to be written out nothing is returned, and the last offset is negative.
    """
    offset = np.zeros(n + 1, np.int32)
    edges = np.empty(16 * n + 16, np.int32)
    wanted = np.empty(64, np.int64)
    taken = 0
    for number in range(n):
        wanted[0] = root
        depth = 1
        while depth > 0:
            depth -= 1
            node = wanted[depth]
            left = rng.random()
            # the last possible choice also takes what rounding leaves of the probability
            chosen = -1
            for edge in range(in_offset[node], in_offset[node + 1]):
                if step[edge] > 0.0:
                    chosen = edge
                    left -= step[edge]
                    if left < 0.0:
                        break
            if taken == len(edges):
                if 2 * taken > MOST_EDGES:
                    offset[n] = -1
                    return edges[:0].copy(), offset
                longer = np.empty(2 * taken, np.int32)
                longer[:taken] = edges
                edges = longer
            edges[taken] = chosen
            taken += 1
            begin, end = tail_offset[chosen], tail_offset[chosen + 1]
            if depth + end - begin > len(wanted):
                deeper = np.empty(2 * len(wanted) + end - begin, np.int64)
                deeper[:depth] = wanted[:depth]
                wanted = deeper
            for place in range(end - 1, begin - 1, -1):
                wanted[depth] = tail[place]
                depth += 1
        offset[number + 1] = taken
    return edges[:taken].copy(), offset


def sample_derivations(
    forest: Forest, n: int, rng: np.random.Generator, scale: float = 1.0
) -> Paths:
    """Return the derivations of :func:`forest_sample`, in columns.

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"], 0.0), (0, [], ["b"], -900.0)])
    >>> sample_derivations(forest, 3, np.random.default_rng(0)).arcs.tolist()
    [0, 0, 0]
    """
    if index(n) < 0:
        raise OptionError(f"n is {n}, expected 0 or more")
    if not isinstance(rng, np.random.Generator):
        raise OptionError(
            f"rng is a {type(rng).__name__}, expected a numpy.random.Generator: "
            "numpy.random.default_rng(seed) makes one"
        )
    # known before anything is drawn, up to chance: what would not fit is not begun
    if index(n) * forest_posteriors(forest, scale).edges.sum() > MOST_EDGES:
        raise too_many_edges(forest)
    edges, offset = _sampled(
        forest.in_offset,
        forest.tail,
        forest.tail_offset,
        edge_shares(forest, scale),
        forest.root,
        index(n),
        rng,
    )
    if offset[-1] < 0:
        raise too_many_edges(forest)
    return Paths(ints(edges), ints(offset))


def forest_sample(
    forest: Forest, n: int, rng: np.random.Generator, scale: float = 1.0
) -> list[Hypothesis]:
    """Return ``n`` independent random derivations, drawn in proportion to ``exp(scale * score)``.

    One bottom-up pass, then each derivation is drawn from the root down, left to right: the
    edge of a node with the probability of all derivations of the node that begin with it. The
    same seed gives the same derivations. Cost: O(edges) once, O(its edges * edges of a node)
    a derivation.

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"]), (0, [], ["b"]), (1, [0], ["the", 0])])
    >>> texts = [found.text for found in forest_sample(forest, 1000, np.random.default_rng(7))]
    >>> 450 < texts.count("the a") < 550
    True
    """
    return forest_hypotheses(forest, sample_derivations(forest, n, rng, scale))
