"""What is made of lattices and of forests alike: smaller ones, and unions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from lattices.algorithms.forest_joining import forest_union
from lattices.algorithms.forest_pruning import (
    forest_prune_beam,
    forest_prune_density,
    forest_prune_posterior,
)
from lattices.algorithms.forest_trimming import forest_trim
from lattices.algorithms.joining import union as lattice_union
from lattices.algorithms.pruning import prune as lattice_prune
from lattices.algorithms.pruning import prune_beam as lattice_prune_beam
from lattices.algorithms.pruning import prune_density as lattice_prune_density
from lattices.algorithms.pruning import prune_posterior as lattice_prune_posterior
from lattices.algorithms.trimming import trim as lattice_trim
from lattices.errors import OptionError
from lattices.spaces import Forest, Lattice

if TYPE_CHECKING:
    from lattices.algorithms.forest_trimming import TrimmedForest
    from lattices.algorithms.trimming import Trimmed


@overload
def prune_beam(space: Lattice, beam: float) -> Lattice: ...
@overload
def prune_beam(space: Forest, beam: float) -> Forest: ...
def prune_beam(space: Lattice | Forest, beam: float) -> Lattice | Forest:
    """Return the space without the arcs or edges that cost any path more than ``beam``."""
    if isinstance(space, Forest):
        return forest_prune_beam(space, beam)
    return lattice_prune_beam(space, beam)


@overload
def prune_posterior(space: Lattice, threshold: float, scale: float = 1.0) -> Lattice: ...
@overload
def prune_posterior(space: Forest, threshold: float, scale: float = 1.0) -> Forest: ...
def prune_posterior(
    space: Lattice | Forest, threshold: float, scale: float = 1.0
) -> Lattice | Forest:
    """Return the space without the arcs or edges of a posterior below ``threshold``.

    The best path survives whatever its posterior.
    """
    if isinstance(space, Forest):
        return forest_prune_posterior(space, threshold, scale)
    return lattice_prune_posterior(space, threshold, scale)


@overload
def prune_density(space: Lattice, density: float) -> Lattice: ...
@overload
def prune_density(space: Forest, density: float) -> Forest: ...
def prune_density(space: Lattice | Forest, density: float) -> Lattice | Forest:
    """Return the space with at most ``density`` arcs or edges for each word of the best path.

    Those that lose equally much are kept or dropped together, but the best path survives.
    """
    if isinstance(space, Forest):
        return forest_prune_density(space, density)
    return lattice_prune_density(space, density)


@overload
def prune(
    space: Lattice,
    *,
    beam: float | None = None,
    posterior: float | None = None,
    density: float | None = None,
    scale: float = 1.0,
) -> Lattice: ...
@overload
def prune(
    space: Forest,
    *,
    beam: float | None = None,
    posterior: float | None = None,
    density: float | None = None,
    scale: float = 1.0,
) -> Forest: ...
def prune(
    space: Lattice | Forest,
    *,
    beam: float | None = None,
    posterior: float | None = None,
    density: float | None = None,
    scale: float = 1.0,
) -> Lattice | Forest:
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
    if not isinstance(space, Forest):
        return lattice_prune(space, beam=beam, posterior=posterior, density=density, scale=scale)
    asked = sum(option is not None for option in (beam, posterior, density))
    if asked == 1:
        if beam is not None:
            return forest_prune_beam(space, beam)
        if posterior is not None:
            return forest_prune_posterior(space, posterior, scale)
        if density is not None:
            return forest_prune_density(space, density)
    raise OptionError(f"pruning in {asked} ways, expected one of beam, posterior, density")


@overload
def trim(space: Lattice) -> Trimmed: ...
@overload
def trim(space: Forest) -> TrimmedForest: ...
def trim(space: Lattice | Forest) -> Trimmed | TrimmedForest:
    """Return the space without all that no path or derivation uses, and how much that was.

    Raises
    ------
    SpaceError
        If the lattice has no complete path.

    Examples
    --------
    >>> trim(Lattice.from_arcs([(0, 1, "a"), (0, 2, "b"), (3, 1, "c")], finals=[1]))
    Trimmed(lattice=<Lattice '' of 2 states, 1 arcs>, states_removed=2, arcs_removed=2)
    """
    if isinstance(space, Forest):
        return forest_trim(space)
    return lattice_trim(space)


@overload
def union(spaces: Sequence[Lattice]) -> Lattice: ...
@overload
def union(spaces: Sequence[Forest]) -> Forest: ...
def union(spaces: Sequence[Lattice] | Sequence[Forest]) -> Lattice | Forest:
    """Return one lattice, or one forest, with all paths of several of one segment.

    No path changes its words, score or features; one that occurs twice stays twice. One space
    alone comes back as it is. The words are those of the first vocabulary, which grows. Feature
    names are merged, a feature that a space does not have being 0 there. ``id``, ``source``,
    ``references`` and ``metadata`` are those of the first space that has any; times, categories
    and spans are kept if all have them. Cost: O(arcs).

    Raises
    ------
    OptionError
        If there is no space at all, or lattices and forests are mixed.

    Examples
    --------
    >>> one = Lattice.from_arcs([(0, 1, "a", -1.0)], finals=[1])
    >>> other = Lattice.from_arcs([(0, 1, "b", -2.0)], finals=[1])
    >>> [(path.text, path.score) for path in union([one, other]).paths()]
    [('a', -1.0), ('b', -2.0)]
    """
    forests = [space for space in spaces if isinstance(space, Forest)]
    if not forests:
        return lattice_union([space for space in spaces if not isinstance(space, Forest)])
    if len(forests) < len(spaces):
        raise OptionError("the union of lattices with forests, expected either of them alone")
    return forest_union(forests)
