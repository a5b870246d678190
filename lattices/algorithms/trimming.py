"""Trimming of lattices and forests to complete paths and derivations, and other parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lattices import _native
from lattices.arrays import floats, ints
from lattices.errors import OptionError
from lattices.spaces import Forest, Lattice
from lattices.spaces.arguments import GRAPH, Graph, takes
from lattices.spaces.features import FeatureRows, make_rows, reorder_rows


def find_useful_states(lattice: Lattice) -> NDArray[np.bool_]:
    """Return, for every state, whether it lies on a complete path. Cost: O(arcs)."""
    return _native.useful_states(lattice.columns).view(np.bool_)


@takes(space=GRAPH)
def subset(space: Graph, keep_arcs: ArrayLike, keep_finals: ArrayLike | None = None) -> Graph:
    """Return the space of the complete paths, or derivations, that use only these arcs and ends.

    What is left is renumbered without gaps, in the same order, and nothing else changes: scores,
    features, times, categories, spans, references and metadata stay as they are. Cost: O(arcs), or
    O(edges, tails and symbols).

    Parameters
    ----------
    space : Lattice or Forest
    keep_arcs : bool, one entry an arc or an edge
    keep_finals : bool, one entry a state
        Of a lattice, True where a path may end, as far as it could before; by default everywhere.

    Raises
    ------
    SpaceError
        If no complete path, or no derivation, is left.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 2, "b"), (1, 2, "c")], finals=[1, 2])
    >>> [found.text for found in subset(lattice, [True, False, True]).paths()]
    ['a', 'a c']
    >>> forest = Forest.from_edges([(0, [], ["a"]), (0, [], ["b"]), (1, [0], [0, "c"])])
    >>> [found.text for found in subset(forest, [False, True, True]).derivations()]
    ['b c']
    """
    part: Lattice | Forest
    if isinstance(space, Forest):
        part = _forest_part(space, keep_arcs)
    else:
        ends = np.ones(space.num_states, np.bool_) if keep_finals is None else keep_finals
        part = _lattice_part(space, keep_arcs, ends)
    return cast(Graph, part)


def _lattice_part(lattice: Lattice, keep_arcs: ArrayLike, keep_finals: ArrayLike) -> Lattice:
    part = _native.lattice_part(
        lattice.columns,
        _mask(keep_arcs, lattice.num_arcs, "arcs"),
        _mask(keep_finals, lattice.num_states, "states"),
    )
    if not part:
        return lattice
    arcs, states = part.pop("arcs"), part.pop("states")
    features, last = make_rows(lattice), make_rows(lattice, "final_features")
    return Lattice.from_normal_form(
        vocabulary=lattice.vocabulary,
        **part,
        features=None if features is None else reorder_rows(features, arcs),
        final_features=None if last is None else _ending_rows(last, states, part["final"]),
        feature_names=lattice.feature_names,
        times=None if lattice.times is None else floats(lattice.times[states]),
        **lattice.about,
    )


def _ending_rows(
    features: FeatureRows, states: NDArray[np.int32], final: NDArray[np.float64]
) -> FeatureRows:
    """Return the features of the ends that are left, none where a path can no longer end."""
    rows = reorder_rows(features, states)
    ending = final > -np.inf
    kept = np.repeat(ending, np.diff(rows.indptr))
    if kept.all():
        return rows
    return rows.keep(kept & (rows.data != 0.0))


def _forest_part(forest: Forest, keep_edges: ArrayLike) -> Forest:
    part = _native.forest_part(forest.columns, _mask(keep_edges, forest.num_edges, "edges"))
    if not part:
        return forest
    edges, nodes = part.pop("edges"), part.pop("nodes")
    features, categories = make_rows(forest), forest.categories
    return Forest.from_normal_form(
        vocabulary=forest.vocabulary,
        **part,
        num_nodes=len(nodes),
        features=None if features is None else reorder_rows(features, edges),
        feature_names=forest.feature_names,
        categories=tuple(categories[node] for node in nodes.tolist()) if categories else (),
        spans=None if forest.spans is None else ints(forest.spans[nodes]),
        **forest.about,
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


@dataclass(frozen=True)
class Trimmed(Generic[Graph]):
    """A space in which everything lies on a complete path or derivation, and how much did not.

    ``states_removed`` and ``arcs_removed`` of a forest count nodes and edges.
    """

    space: Graph
    states_removed: int
    arcs_removed: int


@takes(space=GRAPH)
def trim(space: Graph) -> Trimmed[Graph]:
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
    Trimmed(space=<Lattice '' of 2 states, 1 arcs>, states_removed=2, arcs_removed=2)
    >>> trim(Forest.from_edges([(0, [], ["a"]), (1, [], ["b"]), (2, [0], [0])]))
    Trimmed(space=<Forest '' of 2 nodes, 2 edges>, states_removed=1, arcs_removed=1)
    """
    part = subset(space, np.ones(len(space.score), np.bool_))
    states, left = (
        each.num_nodes if isinstance(each, Forest) else each.num_states for each in (space, part)
    )
    return Trimmed(part, states - left, len(space.score) - len(part.score))
