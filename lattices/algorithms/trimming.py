"""Trimming of lattices and forests to complete paths and derivations, and other parts."""

from __future__ import annotations

from typing import NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lattices import _native
from lattices.arrays import floats, ints
from lattices.errors import OptionError
from lattices.spaces import Forest, Lattice
from lattices.spaces.features import FeatureMatrix, reordered_rows


def useful_states(lattice: Lattice) -> NDArray[np.bool_]:
    """Return, for every state, whether it lies on a complete path. Cost: O(arcs).

    Examples
    --------
    >>> useful_states(Lattice.from_arcs([(0, 1, "a"), (0, 2, "b")], finals=[1])).tolist()
    [True, True, False]
    """
    return _native.useful_states(lattice.columns).view(np.bool_)


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
    part = _native.lattice_part(
        lattice.columns,
        _mask(keep_arcs, lattice.num_arcs, "arcs"),
        _mask(keep_finals, lattice.num_states, "states"),
    )
    if not part:
        return lattice
    arcs, states = part.pop("arcs"), part.pop("states")
    features, last = lattice.features, lattice.final_features
    return Lattice.from_normal_form(
        vocabulary=lattice.vocabulary,
        **part,
        features=None if features is None else reordered_rows(features, arcs),
        final_features=None if last is None else _ending_rows(last, states, part["final"]),
        feature_names=lattice.feature_names,
        times=None if lattice.times is None else floats(lattice.times[states]),
        id=lattice.id,
        source=lattice.source,
        references=lattice.references,
        metadata=lattice.metadata,
    )


def _ending_rows(
    features: FeatureMatrix, states: NDArray[np.int32], final: NDArray[np.float64]
) -> FeatureMatrix:
    """Return the features of the ends that are left, none where a path can no longer end."""
    rows = reordered_rows(features, states)
    ending = final > -np.inf
    kept = np.repeat(ending, np.diff(rows.indptr))
    if kept.all():
        return rows
    kept_rows = rows.copy()
    kept_rows.data = np.where(kept, rows.data, 0.0)
    kept_rows.eliminate_zeros()
    return kept_rows


def forest_subset(forest: Forest, keep_edges: ArrayLike) -> Forest:
    """Return the forest of the derivations that use only these edges.

    What is left is renumbered without gaps, in the same order, and nothing else changes:
    scores, features, categories, spans, references and metadata stay as they are. Cost:
    O(edges, tails and symbols).

    Parameters
    ----------
    forest : Forest
    keep_edges : bool, one entry an edge

    Raises
    ------
    SpaceError
        If no derivation is left.

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"]), (0, [], ["b"]), (1, [0], [0, "c"])])
    >>> [found.text for found in forest_subset(forest, [False, True, True]).derivations()]
    ['b c']
    """
    part = _native.forest_part(forest.columns, _mask(keep_edges, forest.num_edges, "edges"))
    if not part:
        return forest
    edges, nodes = part.pop("edges"), part.pop("nodes")
    features, categories = forest.features, forest.categories
    return Forest.from_normal_form(
        vocabulary=forest.vocabulary,
        **part,
        num_nodes=len(nodes),
        features=None if features is None else reordered_rows(features, edges),
        feature_names=forest.feature_names,
        categories=tuple(categories[node] for node in nodes.tolist()) if categories else (),
        spans=None if forest.spans is None else ints(forest.spans[nodes]),
        id=forest.id,
        source=forest.source,
        references=forest.references,
        metadata=forest.metadata,
    )


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


class TrimmedForest(NamedTuple):
    """A forest in which a derivation uses everything, and how much was used by none."""

    forest: Forest
    nodes_removed: int
    edges_removed: int


@overload
def trim(space: Lattice) -> Trimmed: ...
@overload
def trim(space: Forest) -> TrimmedForest: ...
def trim(space: Lattice | Forest) -> Trimmed | TrimmedForest:
    """Return the space without all that no path or derivation uses, and how much that was.

    A space in which all is used comes back as it is. Cost: O(arcs), or O(edges, tails and
    symbols).

    Raises
    ------
    SpaceError
        If the lattice has no complete path.

    Examples
    --------
    >>> trim(Lattice.from_arcs([(0, 1, "a"), (0, 2, "b"), (3, 1, "c")], finals=[1]))
    Trimmed(lattice=<Lattice '' of 2 states, 1 arcs>, states_removed=2, arcs_removed=2)
    >>> trim(Forest.from_edges([(0, [], ["a"]), (1, [], ["b"]), (2, [0], [0])]))
    TrimmedForest(forest=<Forest '' of 2 nodes, 2 edges>, nodes_removed=1, edges_removed=1)
    """
    if isinstance(space, Forest):
        forest = forest_subset(space, np.ones(space.num_edges, np.bool_))
        return TrimmedForest(
            forest, space.num_nodes - forest.num_nodes, space.num_edges - forest.num_edges
        )
    lattice = subset(space, np.ones(space.num_arcs, np.bool_), np.ones(space.num_states, np.bool_))
    return Trimmed(
        lattice, space.num_states - lattice.num_states, space.num_arcs - lattice.num_arcs
    )
