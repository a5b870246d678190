"""Pruning of lattices and forests: by beam, by posterior, by density."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lattices import _native
from lattices.algorithms.counting import words_of_best
from lattices.algorithms.kbest import best_path
from lattices.algorithms.posteriors import posteriors
from lattices.algorithms.trimming import subset
from lattices.arrays import FloatColumn
from lattices.errors import OptionError, argument
from lattices.spaces import Forest, Lattice
from lattices.spaces.arguments import GRAPH, Graph, takes

Mask = NDArray[np.bool_]


class MaxMarginals(NamedTuple):
    """The best score, and what the best path through each arc or each end loses to it.

    Unsupported are 0 on the best path and ``inf`` where no complete path passes. Arcs and ends
    that lose at most any given amount always make up complete paths. Of a forest the arcs are
    its edges, and there is nothing for ends.
    """

    best: float
    arc_loss: FloatColumn
    final_loss: FloatColumn

    @property
    def arcs(self) -> FloatColumn:
        """The score of the best complete path through each arc."""
        return self.best - self.arc_loss

    @property
    def finals(self) -> FloatColumn:
        """The score of the best complete path that ends in each state."""
        return self.best - self.final_loss


@takes(space=GRAPH)
def max_marginals(space: Lattice | Forest) -> MaxMarginals:
    """Return the score of the best complete path or derivation through each arc and each end.

    Computed as losses: with ``b[q]`` the best score from ``q`` to the end, passing an arc
    loses ``b[src] - (score + b[dst])``, and the losses along a path add up to what it lacks
    to the best; in a forest, with ``b[q]`` the best score of a derivation of ``q``, using an edge
    loses ``b[head] - (score + sum of b[tails])`` and what its head has lost before. All of them are
    at least 0 and exactly 0 along the best path, where sums of forward and backward scores would
    differ by their rounding. Cost: O(arcs), or O(edges and tails).

    Raises
    ------
    SpaceError
        If the lattice has no complete path, or if a sum or a loss overflows.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -1.0), (0, 1, "b", -3.0), (1, 2, "c", -1.0)], finals=[2]
    ... )
    >>> max_marginals(lattice).arcs.tolist()
    [-2.0, -4.0, -2.0]
    >>> forest = Forest.from_edges(
    ...     [(0, [], ["a"], -1.0), (0, [], ["b"], -3.0), (1, [0], [0, "c"], -1.0)]
    ... )
    >>> max_marginals(forest).arcs.tolist()
    [-2.0, -4.0, -2.0]
    """
    return MaxMarginals(*_native.max_marginals(space.columns))


@takes(space=GRAPH)
def prune_beam(space: Graph, beam: float) -> Graph:
    """Return the space without the arcs or edges that cost any path more than ``beam``.

    Every path that loses at most ``beam`` to the best survives; scores do not change.
    Cost: O(arcs), or O(edges, tails and symbols).

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -3.0)], finals=[1])
    >>> prune_beam(lattice, 1.5).num_arcs, prune_beam(lattice, 2.0).num_arcs
    (1, 2)
    """
    if not beam >= 0.0:
        raise OptionError(f"the beam is {beam}, expected 0 or more")
    losses = max_marginals(space)
    return subset(space, losses.arc_loss <= beam, losses.final_loss <= beam)


@takes(space=GRAPH)
def prune_posterior(space: Graph, threshold: float, scale: float = 1.0) -> Graph:
    """Return the space without the arcs, ends or edges of a posterior below ``threshold``.

    The best path survives whatever its posterior: arcs above a threshold need not make up
    a complete path. What is left on no complete path goes too; scores do not change.
    Cost: O(arcs), or O(edges, tails and symbols).

    Parameters
    ----------
    space : Lattice or Forest
    threshold : float
        Between 0 and 1.
    scale : float
        See :func:`posteriors`.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -3.0)], finals=[1])
    >>> prune_posterior(lattice, 0.1).num_arcs, prune_posterior(lattice, 0.2).num_arcs
    (2, 1)
    """
    if not 0.0 <= threshold <= 1.0:
        raise OptionError(f"the threshold is {threshold}, expected a probability")
    found = posteriors(space, scale)
    keep_arcs, keep_finals = found.arcs >= threshold, found.finals >= threshold
    _add_best(space, keep_arcs, keep_finals)
    return subset(space, keep_arcs, keep_finals)


def _add_best(space: Lattice | Forest, keep_arcs: Mask, keep_finals: Mask) -> None:
    """Mark the best path in two masks."""
    path = best_path(space)
    keep_arcs[path] = True
    if isinstance(space, Lattice):
        keep_finals[space.dst[path[-1]] if len(path) else space.start] = True


def density_masks(
    space: Lattice | Forest, density: float, losses: MaxMarginals | None = None
) -> tuple[Mask, Mask]:
    """Return the arcs and the ends that :func:`prune_density` keeps.

    ``losses`` saves the passes over the space, for many densities of one space.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -3.0)], finals=[1])
    >>> density_masks(lattice, 1.0, max_marginals(lattice))[0].tolist()
    [True, False]
    """
    if not density > 0.0:
        raise OptionError(f"the density is {density}, expected more than 0")
    if losses is None:
        losses = max_marginals(space)
    dropped = _find_dropped_loss(losses.arc_loss, density * words_of_best(space))
    keep_arcs, keep_finals = losses.arc_loss < dropped, losses.final_loss < dropped
    if dropped == 0.0:
        _add_best(space, keep_arcs, keep_finals)
    return keep_arcs, keep_finals


def _find_dropped_loss(losses: FloatColumn, budget: float) -> float:
    """Return the lowest loss that does not fit: all that lose as much go together."""
    return float(np.sort(losses)[math.floor(budget)]) if budget < len(losses) else math.inf


@takes(space=GRAPH)
def prune_density(space: Graph, density: float) -> Graph:
    """Return the space with at most ``density`` arcs or edges for each word of the best path.

    Arcs are kept in the order of the best complete path through them, as many as the
    density allows. Arcs that lose equally much are kept or dropped together, so a few
    less may be left; but the best path always survives, even where alone it exceeds the
    density. Ends are kept that lose less than every arc that is dropped; where the best path
    alone exceeds the density, its own end only. Scores do not change. An empty best path counts
    as one word, see :func:`density`.
    Cost: O(arcs * log(arcs)).

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -1.0), (0, 1, "b", -3.0), (0, 1, "c", -2.0)], finals=[1]
    ... )
    >>> [found.text for found in prune_density(lattice, 2.0).paths()]
    ['a', 'c']
    """
    return subset(space, *density_masks(space, density))


@takes(space=GRAPH)
def prune(
    space: Graph,
    *,
    beam: float | None = None,
    posterior: float | None = None,
    density: float | None = None,
    scale: float = 1.0,
) -> Graph:
    """Return a smaller space, pruned in the one way that is asked for; scores do not change.

    Parameters
    ----------
    space : Lattice or Forest
    beam : float
        Keep what lies on a path that loses at most so much to the best.
    posterior : float
        Keep what has at least this posterior, at ``scale``, and the best path.
    density : float
        Keep at most so many arcs or edges for each word of the best path: those whose best
        path is best.
    scale : float
        See :func:`posteriors`.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -3.0)], finals=[1])
    >>> prune(lattice, beam=1.0)
    <Lattice '' of 2 states, 1 arcs>
    >>> prune(Forest.from_edges([(0, [], ["a"], -1.0), (0, [], ["b"], -3.0)]), density=1.0)
    <Forest '' of 1 nodes, 1 edges>
    """
    asked = sum(option is not None for option in (beam, posterior, density))
    if scale != 1.0 and posterior is None:
        raise OptionError(f"{argument('scale')} is of posteriors: give it with a posterior")
    if asked == 1:
        if beam is not None:
            return prune_beam(space, beam)
        if posterior is not None:
            return prune_posterior(space, posterior, scale)
        if density is not None:
            return prune_density(space, density)
    raise OptionError(f"pruning in {asked} ways, expected one of beam, posterior, density")
