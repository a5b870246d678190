"""Smaller forests: by beam, by posterior, by density."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lattices.algorithms.forest_best import best_derivation
from lattices.algorithms.forest_counting import words_of_best_derivation
from lattices.algorithms.forest_inside_outside import edge_products, forest_posteriors
from lattices.algorithms.forest_trimming import forest_subset
from lattices.arrays import FloatColumn, kernel
from lattices.errors import OptionError
from lattices.semirings import VITERBI
from lattices.spaces import Forest


@kernel
def _losses(head, tail, tail_offset, value, product, root):  # type: ignore[no-untyped-def]
    """Return what the best derivation that uses each edge loses to the best."""
    lost = np.full(len(value), np.inf)
    lost[root] = 0.0
    edge_loss = np.full(len(head), np.inf)
    for edge in range(len(head) - 1, -1, -1):
        if lost[head[edge]] < np.inf and product[edge] > -np.inf:
            # the very sum whose maximum is the head's value: the loss is never below zero
            edge_loss[edge] = lost[head[edge]] + (value[head[edge]] - product[edge])
            for place in range(tail_offset[edge], tail_offset[edge + 1]):
                lost[tail[place]] = min(lost[tail[place]], edge_loss[edge])
    return edge_loss


class ForestMaxMarginals(NamedTuple):
    """The best score, and what the best derivation that uses each edge loses to it.

    Losses are 0 on the best derivation and ``inf`` where no derivation passes. Edges that
    lose at most any given amount always make up derivations.
    """

    best: float
    edge_loss: FloatColumn

    @property
    def edges(self) -> FloatColumn:
        """The score of the best derivation that uses each edge."""
        return self.best - self.edge_loss


def forest_max_marginals(forest: Forest) -> ForestMaxMarginals:
    """Return the score of the best derivation that uses each edge.

    Computed as losses, as for lattices: with ``b[q]`` the best score of a derivation of ``q``,
    using an edge loses ``b[head] - (score + sum of b[tails])`` and what its head has lost
    before. All losses are at least 0 and exactly 0 along the best derivation. Cost: O(edges
    and tails).

    Examples
    --------
    >>> forest = Forest.from_edges(
    ...     [(0, [], ["a"], -1.0), (0, [], ["b"], -3.0), (1, [0], [0, "c"], -1.0)]
    ... )
    >>> forest_max_marginals(forest).edges.tolist()
    [-2.0, -4.0, -2.0]
    """
    value, product = edge_products(forest, VITERBI)
    losses = _losses(forest.head, forest.tail, forest.tail_offset, value, product, forest.root)
    return ForestMaxMarginals(float(value[forest.root]), losses)


def forest_prune_beam(forest: Forest, beam: float) -> Forest:
    """Return the forest without the edges that cost any derivation more than ``beam``.

    Every derivation that loses at most ``beam`` to the best survives; scores do not change.
    Cost: O(edges, tails and symbols).

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"], -1.0), (0, [], ["b"], -3.0)])
    >>> forest_prune_beam(forest, 1.5).num_edges, forest_prune_beam(forest, 2.0).num_edges
    (1, 2)
    """
    if not beam >= 0.0:
        raise OptionError(f"the beam is {beam}, expected 0 or more")
    loss = forest_max_marginals(forest).edge_loss
    return forest_subset(forest, (loss <= beam) & (loss < np.inf))


def forest_prune_posterior(forest: Forest, threshold: float, scale: float = 1.0) -> Forest:
    """Return the forest without the edges that are used less than ``threshold`` times on average.

    The best derivation survives whatever its posterior. What no derivation uses any more goes
    too; scores do not change. Cost: as :func:`forest_posteriors`.

    Parameters
    ----------
    forest : Forest
    threshold : float
        Between 0 and 1.
    scale : float
        See :func:`forest_posteriors`.

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"], -1.0), (0, [], ["b"], -3.0)])
    >>> [forest_prune_posterior(forest, least).num_edges for least in (0.1, 0.2)]
    [2, 1]
    """
    if not 0.0 <= threshold <= 1.0:
        raise OptionError(f"the threshold is {threshold}, expected a probability")
    keep = forest_posteriors(forest, scale).edges >= threshold
    keep[best_derivation(forest)] = True
    return forest_subset(forest, keep)


def forest_density_mask(
    forest: Forest, density: float, losses: ForestMaxMarginals | None = None
) -> NDArray[np.bool_]:
    """Return the edges that :func:`forest_prune_density` keeps.

    ``losses`` saves the passes over the forest, for many densities of one forest.

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"], -1.0), (0, [], ["b"], -3.0)])
    >>> forest_density_mask(forest, 1.0).tolist()
    [True, False]
    """
    if not density > 0.0:
        raise OptionError(f"the density is {density}, expected more than 0")
    if losses is None:
        losses = forest_max_marginals(forest)
    budget = density * words_of_best_derivation(forest)
    rising = np.sort(losses.edge_loss)
    # the first edge that is too many goes, with all that lose as much, and all that lose more
    dropped = rising[math.floor(budget)] if budget < len(rising) else np.inf
    keep: NDArray[np.bool_] = losses.edge_loss < dropped
    if dropped == 0.0:
        keep[best_derivation(forest)] = True
    return keep


def forest_prune_density(forest: Forest, density: float) -> Forest:
    """Return the forest with at most ``density`` edges for each word of the best derivation.

    Edges are kept in the order of the best derivation that uses them, as many as the density
    allows. Edges that lose equally much are kept or dropped together, so a few less may be
    left; but the best derivation always survives, even where alone it exceeds the density.
    Scores do not change. A best derivation without words counts as one word.
    Cost: O(edges * log(edges)).

    Examples
    --------
    >>> forest = Forest.from_edges(
    ...     [(0, [], ["a"], -1.0), (0, [], ["b"], -3.0), (0, [], ["c"], -2.0)]
    ... )
    >>> [found.text for found in forest_prune_density(forest, 2.0).derivations()]
    ['a', 'c']
    """
    return forest_subset(forest, forest_density_mask(forest, density))
