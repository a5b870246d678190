"""Parts of a lattice, without what lies on no complete path."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lattices.algorithms.paths import no_complete_path
from lattices.arrays import floats, ints, kernel
from lattices.errors import OptionError
from lattices.spaces import Lattice
from lattices.spaces.features import FeatureMatrix


@kernel
def _useful(src, dst, start, keep_arcs, keep_finals):  # type: ignore[no-untyped-def]
    """Tell which states lie on a complete path of kept arcs that ends in a kept final."""
    reached = np.zeros(len(keep_finals), np.bool_)
    reached[start] = True
    # arcs are sorted by source, so the one order serves both directions
    for arc in range(len(src)):
        if keep_arcs[arc] and reached[src[arc]]:
            reached[dst[arc]] = True
    ending = keep_finals.copy()
    for arc in range(len(src) - 1, -1, -1):
        if keep_arcs[arc] and ending[dst[arc]]:
            ending[src[arc]] = True
    return reached & ending


def useful_states(lattice: Lattice) -> NDArray[np.bool_]:
    """Return, for every state, whether it lies on a complete path. Cost: O(arcs).

    Examples
    --------
    >>> useful_states(Lattice.from_arcs([(0, 1, "a"), (0, 2, "b")], finals=[1])).tolist()
    [True, True, False]
    """
    everything = np.ones(lattice.num_arcs, np.bool_)
    useful: NDArray[np.bool_] = _useful(
        lattice.src, lattice.dst, lattice.start, everything, lattice.final > -np.inf
    )
    return useful


def subset(lattice: Lattice, keep_arcs: ArrayLike, keep_finals: ArrayLike) -> Lattice:
    """Return the lattice of the complete paths that use only these arcs and these ends.

    What is left is renumbered without gaps, in the same order, and nothing else changes:
    scores, features, times, references and metadata stay as they are. Cost: O(arcs).

    Parameters
    ----------
    lattice : Lattice
    keep_arcs : bool, one entry an arc
    keep_finals : bool, one entry a state
        True where a path may end, as far as it could before.

    Raises
    ------
    SpaceError
        If no complete path is left.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 2, "b"), (1, 2, "c")], finals=[1, 2])
    >>> [found.text for found in subset(lattice, [True, False, True], [True, True, True]).paths()]
    ['a', 'a c']
    """
    arcs = _mask(keep_arcs, lattice.num_arcs, "arcs")
    ending = _mask(keep_finals, lattice.num_states, "states") & (lattice.final > -np.inf)
    states = _useful(lattice.src, lattice.dst, lattice.start, arcs, ending)
    if not states[lattice.start]:
        raise no_complete_path(lattice)
    arcs = arcs & states[lattice.src] & states[lattice.dst]
    ending = ending & states
    if arcs.all() and states.all() and ending.sum() == len(lattice.finals):
        return lattice
    number = np.cumsum(states) - 1
    features, last = lattice.features, lattice.final_features
    return Lattice(
        vocabulary=lattice.vocabulary,
        src=ints(number[lattice.src[arcs]]),
        dst=ints(number[lattice.dst[arcs]]),
        label=lattice.label[arcs],
        score=lattice.score[arcs],
        final=floats(np.where(ending, lattice.final, -np.inf)[states]),
        start=int(number[lattice.start]),
        features=None if features is None else features[np.flatnonzero(arcs)],
        final_features=None if last is None else _ending_rows(last, ending)[np.flatnonzero(states)],
        feature_names=lattice.feature_names,
        times=None if lattice.times is None else lattice.times[states],
        id=lattice.id,
        source=lattice.source,
        references=lattice.references,
        metadata=lattice.metadata,
    )


def _ending_rows(features: FeatureMatrix, ending: NDArray[np.bool_]) -> FeatureMatrix:
    """Return the features of ends, none where a path can no longer end."""
    kept = features.copy()
    kept.data[~np.repeat(ending, np.diff(kept.indptr))] = 0.0
    kept.eliminate_zeros()
    return kept


def _mask(values: ArrayLike, count: int, what: str) -> NDArray[np.bool_]:
    mask = np.ascontiguousarray(values)
    if mask.shape != (count,) or (count and mask.dtype != np.bool_):
        raise OptionError(
            f"a mask of type {mask.dtype} and shape {mask.shape}, "
            f"expected one bool for each of {count} {what}"
        )
    # an empty list has no bools to tell its type
    return mask.astype(np.bool_, copy=False)


class Trimmed(NamedTuple):
    """A lattice in which everything lies on a complete path, and how much did not."""

    lattice: Lattice
    states_removed: int
    arcs_removed: int


def trim(lattice: Lattice) -> Trimmed:
    """Return the lattice without the states and arcs that lie on no complete path.

    A lattice that has none of them comes back as it is. Cost: O(arcs).

    Raises
    ------
    SpaceError
        If the lattice has no complete path.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 2, "b"), (3, 1, "c")], finals=[1])
    >>> trim(lattice)
    Trimmed(lattice=<Lattice '' of 2 states, 1 arcs>, states_removed=2, arcs_removed=2)
    """
    trimmed = subset(
        lattice, np.ones(lattice.num_arcs, np.bool_), np.ones(lattice.num_states, np.bool_)
    )
    return Trimmed(
        trimmed,
        lattice.num_states - trimmed.num_states,
        lattice.num_arcs - trimmed.num_arcs,
    )
