"""Parts of a forest, without what no derivation of the root uses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lattices.arrays import floats, ints, kernel
from lattices.errors import OptionError, SpaceError
from lattices.spaces import Forest
from lattices.spaces.forest import rows_in_order


@kernel
def _useful(head, tail, tail_offset, root, nodes, keep):  # type: ignore[no-untyped-def]
    """Tell which edges are used by derivations of the root that are made of kept edges."""
    useful = keep.copy()
    made = np.zeros(nodes, np.bool_)
    for edge in range(len(head)):
        for place in range(tail_offset[edge], tail_offset[edge + 1]):
            useful[edge] = useful[edge] and made[tail[place]]
        if useful[edge]:
            made[head[edge]] = True
    needed = np.zeros(nodes, np.bool_)
    needed[root] = made[root]
    for edge in range(len(head) - 1, -1, -1):
        useful[edge] = useful[edge] and needed[head[edge]]
        if useful[edge]:
            for place in range(tail_offset[edge], tail_offset[edge + 1]):
                needed[tail[place]] = True
    return useful, needed


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
    mask = np.ascontiguousarray(keep_edges)
    if mask.shape != (forest.num_edges,) or mask.dtype != np.bool_:
        raise OptionError(
            f"a mask of type {mask.dtype} and shape {mask.shape}, "
            f"expected one bool for each of {forest.num_edges} edges"
        )
    useful, needed = _useful(
        forest.head, forest.tail, forest.tail_offset, forest.root, forest.num_nodes, mask
    )
    if not needed[forest.root]:
        raise SpaceError(f"forest {forest.id!r} has no derivation left")
    if useful.all() and needed.all():
        return forest
    return _part(forest, useful, needed)


def _part(forest: Forest, useful: NDArray[np.bool_], needed: NDArray[np.bool_]) -> Forest:
    number = np.cumsum(needed) - 1
    edges, nodes = ints(np.flatnonzero(useful)), np.flatnonzero(needed)
    tail, tail_offset = rows_in_order(forest.tail, forest.tail_offset, edges)
    symbol, symbol_offset = rows_in_order(forest.symbol, forest.symbol_offset, edges)
    return Forest(
        vocabulary=forest.vocabulary,
        head=ints(number[forest.head[edges]]),
        tail=ints(number[tail]),
        tail_offset=tail_offset,
        symbol=symbol,
        symbol_offset=symbol_offset,
        score=floats(forest.score[edges]),
        num_nodes=len(nodes),
        root=int(number[forest.root]),
        features=None if forest.features is None else forest.features[edges],
        feature_names=forest.feature_names,
        categories=tuple(forest.categories[node] for node in nodes) if forest.categories else (),
        spans=None if forest.spans is None else ints(forest.spans[nodes]),
        id=forest.id,
        source=forest.source,
        references=forest.references,
        metadata=forest.metadata,
    )


class TrimmedForest(NamedTuple):
    """A forest in which a derivation uses everything, and how much was used by none."""

    forest: Forest
    nodes_removed: int
    edges_removed: int


def forest_trim(forest: Forest) -> TrimmedForest:
    """Return the forest without the nodes and edges that no derivation of the root uses.

    A forest that has none of them comes back as it is. Cost: O(edges, tails and symbols).

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"]), (1, [], ["b"]), (2, [0], [0])])
    >>> forest_trim(forest)
    TrimmedForest(forest=<Forest '' of 2 nodes, 2 edges>, nodes_removed=1, edges_removed=1)
    """
    trimmed = forest_subset(forest, np.ones(forest.num_edges, np.bool_))
    return TrimmedForest(
        trimmed,
        forest.num_nodes - trimmed.num_nodes,
        forest.num_edges - trimmed.num_edges,
    )
