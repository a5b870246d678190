"""Smaller lattices: by beam, by posterior, by density."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lattices.algorithms.best import best_path
from lattices.algorithms.counting import words_of_best
from lattices.algorithms.inside_outside import outside, posteriors
from lattices.algorithms.paths import no_complete_path
from lattices.algorithms.trimming import subset
from lattices.arrays import FloatColumn, kernel
from lattices.errors import OptionError
from lattices.semirings import VITERBI
from lattices.spaces import Lattice

Mask = NDArray[np.bool_]


@kernel
def _losses(src, dst, score, final, start, backward):  # type: ignore[no-untyped-def]
    """Return what the best complete path through each arc and each end loses to the best."""
    lost = np.full(len(final), np.inf)
    lost[start] = 0.0
    arc_loss = np.full(len(src), np.inf)
    for arc in range(len(src)):
        ahead = score[arc] + backward[dst[arc]]
        if lost[src[arc]] < np.inf and ahead > -np.inf:
            # the very sum whose maximum is backward[src]: the loss is never below zero
            arc_loss[arc] = lost[src[arc]] + (backward[src[arc]] - ahead)
            lost[dst[arc]] = min(lost[dst[arc]], arc_loss[arc])
    final_loss = np.full(len(final), np.inf)
    for state in range(len(final)):
        if final[state] > -np.inf and lost[state] < np.inf:
            final_loss[state] = lost[state] + (backward[state] - final[state])
    return arc_loss, final_loss


class MaxMarginals(NamedTuple):
    """The best score, and what the best path through each arc or each end loses to it.

    Losses are 0 on the best path and ``inf`` where no complete path passes. Arcs and ends
    that lose at most any given amount always make up complete paths.
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


def max_marginals(lattice: Lattice) -> MaxMarginals:
    """Return the score of the best complete path through each arc, and through each end.

    Computed as losses: with ``b[q]`` the best score from ``q`` to the end, passing an arc
    loses ``b[src] - (score + b[dst])``, and the losses along a path add up to what it lacks
    to the best. All of them are at least 0 and exactly 0 along the best path, where sums of
    forward and backward scores would differ by their rounding. Cost: O(arcs).

    Raises
    ------
    SpaceError
        If the lattice has no complete path.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -1.0), (0, 1, "b", -3.0), (1, 2, "c", -1.0)], finals=[2]
    ... )
    >>> max_marginals(lattice).arcs.tolist()
    [-2.0, -4.0, -2.0]
    """
    backward = outside(lattice, VITERBI)
    if backward[lattice.start] == -np.inf:
        raise no_complete_path(lattice)
    arc_loss, final_loss = _losses(
        lattice.src, lattice.dst, lattice.score, lattice.final, lattice.start, backward
    )
    return MaxMarginals(float(backward[lattice.start]), arc_loss, final_loss)


def prune_beam(lattice: Lattice, beam: float) -> Lattice:
    """Return the lattice without the arcs and ends that cost any path more than ``beam``.

    Every path that loses at most ``beam`` to the best survives; scores do not change.
    Cost: O(arcs).

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -3.0)], finals=[1])
    >>> prune_beam(lattice, 1.5).num_arcs, prune_beam(lattice, 2.0).num_arcs
    (1, 2)
    """
    if not beam >= 0.0:
        raise OptionError(f"the beam is {beam}, expected 0 or more")
    losses = max_marginals(lattice)
    return subset(lattice, losses.arc_loss <= beam, losses.final_loss <= beam)


def prune_posterior(lattice: Lattice, threshold: float, scale: float = 1.0) -> Lattice:
    """Return the lattice without the arcs and ends of a posterior below ``threshold``.

    The best path survives whatever its posterior: arcs above a threshold need not make up
    a complete path. What is left on no complete path goes too; scores do not change.
    Cost: O(arcs).

    Parameters
    ----------
    lattice : Lattice
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
    found = posteriors(lattice, scale)
    keep_arcs, keep_finals = found.arcs >= threshold, found.finals >= threshold
    _add_best(lattice, keep_arcs, keep_finals)
    return subset(lattice, keep_arcs, keep_finals)


def _add_best(lattice: Lattice, keep_arcs: Mask, keep_finals: Mask) -> None:
    """Mark the best path in two masks."""
    path = best_path(lattice)
    keep_arcs[path] = True
    keep_finals[lattice.dst[path[-1]] if len(path) else lattice.start] = True


def density_masks(
    lattice: Lattice, density: float, losses: MaxMarginals | None = None
) -> tuple[Mask, Mask]:
    """Return the arcs and the ends that :func:`prune_density` keeps.

    ``losses`` saves the passes over the lattice, for many densities of one lattice.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -3.0)], finals=[1])
    >>> density_masks(lattice, 1.0, max_marginals(lattice))[0].tolist()
    [True, False]
    """
    if not density > 0.0:
        raise OptionError(f"the density is {density}, expected more than 0")
    if losses is None:
        losses = max_marginals(lattice)
    budget = density * words_of_best(lattice)
    rising = np.sort(losses.arc_loss)
    # the first arc that is too many goes, with all that lose as much, and all that lose more
    dropped = rising[math.floor(budget)] if budget < len(rising) else np.inf
    keep_arcs, keep_finals = losses.arc_loss < dropped, losses.final_loss < dropped
    if dropped == 0.0:
        _add_best(lattice, keep_arcs, keep_finals)
    return keep_arcs, keep_finals


def prune_density(lattice: Lattice, density: float) -> Lattice:
    """Return the lattice with at most ``density`` arcs for each word of the best path.

    Arcs are kept in the order of the best complete path through them, as many as the
    density allows. Arcs that lose equally much are kept or dropped together, so a few
    less may be left; but the best path always survives, even where alone it exceeds the
    density. Ends are kept that lose less than every arc that is dropped. Scores do not
    change. An empty best path counts as one word, see :func:`density`.
    Cost: O(arcs * log(arcs)).

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -1.0), (0, 1, "b", -3.0), (0, 1, "c", -2.0)], finals=[1]
    ... )
    >>> [found.text for found in prune_density(lattice, 2.0).paths()]
    ['a', 'c']
    """
    return subset(lattice, *density_masks(lattice, density))


def prune(
    lattice: Lattice,
    *,
    beam: float | None = None,
    posterior: float | None = None,
    density: float | None = None,
    scale: float = 1.0,
) -> Lattice:
    """Return a smaller lattice, pruned in the one way that is asked for.

    ``beam``: :func:`prune_beam`. ``posterior``: :func:`prune_posterior`, with ``scale``.
    ``density``: :func:`prune_density`.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -3.0)], finals=[1])
    >>> prune(lattice, beam=1.0)
    <Lattice '' of 2 states, 1 arcs>
    """
    asked = sum(option is not None for option in (beam, posterior, density))
    if asked == 1:
        if beam is not None:
            return prune_beam(lattice, beam)
        if posterior is not None:
            return prune_posterior(lattice, posterior, scale)
        if density is not None:
            return prune_density(lattice, density)
    raise OptionError(f"pruning in {asked} ways, expected one of beam, posterior, density")
