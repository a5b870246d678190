"""A forest unfolded so that each node knows the first and the last words of what it derives.

The n-grams of a sentence then belong to edges: an edge has those that begin in one of its parts
and end in another, and which these are the contexts of the parts tell. Edges are unfolded part
by part, from left to right along the target side, so that no edge of the result has more
than two tails.

What stands at the very left of every sentence it occurs in needs no first words, as nothing
will ever come before it, and likewise at the right. So a forest made of a lattice unfolds as
the lattice does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lattices.algorithms.forest_ngram_unfolding import (
    EDGE,
    END,
    HEAD,
    LEFT,
    RIGHT,
    SYMBOL,
    WHOLE,
    unfolded_within,
)
from lattices.algorithms.ngram_contexts import checked_order
from lattices.algorithms.ngram_trie import Ngrams
from lattices.arrays import IntColumn, ints
from lattices.errors import SpaceError
from lattices.spaces import Forest
from lattices.spaces.forest import rows_in_order

#: edges that an unfolded forest may have
MOST_EDGES = 2**22


@dataclass(frozen=True, eq=False)
class ContextForest:
    """A forest whose nodes are items: a node, and the words at both ends of what it derives.

    Besides these there are items for the part of an edge's target side up to one of its slots.
    Items are numbered bottom-up, tails before heads, and edges are sorted by head, as the nodes
    and edges of a forest are.

    Attributes
    ----------
    forest : Forest
    order : int
    ngrams : Ngrams
        All n-grams of the forest's sentences up to ``order``, and perhaps others.
    items : int
        How many items there are.
    root : int
        The item of the root.
    left, right : int32 columns, one entry an unfolded edge
        The part of the target side so far, and what fills the next slot; -1 for none.
    head : int32 column
        The item that is made.
    edge : int32 column
        The edge of the forest.
    symbol, end : int32 columns
        The words that follow the slot: ``forest.symbol[symbol:end]``.
    whole : int32 column
        1 for the last part of an edge, which makes an item of its head; else 0.
    gram, gram_offset : int32 columns
        The n-grams that end in this part and did not lie within ``left`` or ``right`` alone.
    """

    forest: Forest
    order: int
    ngrams: Ngrams
    items: int
    root: int
    left: IntColumn
    right: IntColumn
    head: IntColumn
    edge: IntColumn
    symbol: IntColumn
    end: IntColumn
    whole: IntColumn
    gram: IntColumn
    gram_offset: IntColumn


def context_forest(forest: Forest, order: int = 4) -> ContextForest:
    """Return the forest unfolded to the first and last ``order - 1`` words of each node.

    Cost: O(edges) times the number of pairs of contexts in which their parts can stand: few
    where the decoder had a language model of that order, and very many where it had none.

    Raises
    ------
    SpaceError
        If there are far too many contexts.

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"]), (0, [], ["b"]), (1, [0, 0], [0, "c", 1])])
    >>> unfolded = context_forest(forest, 2)
    >>> unfolded.items, len(unfolded.edge)
    (5, 7)
    """
    order = checked_order(order)
    room = 2 * (forest.num_edges + len(forest.tail) + len(forest.symbol)) + 4 * order**2
    most = max(room, MOST_EDGES)
    found = unfolded_within(forest, order, room)
    while found is None and room < most:
        room = min(4 * room, most)
        found = unfolded_within(forest, order, room)
    if found is None:
        raise SpaceError(
            f"forest {forest.id!r} has more than {most} edges when each node knows its "
            f"first and last {order - 1} words; prune it, or take n-grams of a lower order"
        )
    edges, rank = found.edges, found.rank
    # parts of edges before what they are parts of; each in the order in which they were made
    number = np.empty(len(rank), np.int32)
    number[np.argsort(rank, kind="stable")] = np.arange(len(rank))
    edges[:, HEAD] = number[edges[:, HEAD]]
    for tail in (LEFT, RIGHT):
        edges[:, tail] = np.where(edges[:, tail] < 0, -1, number[edges[:, tail]])
    by_head = np.argsort(edges[:, HEAD], kind="stable")
    edges = edges[by_head]
    gram, gram_offset = rows_in_order(found.gram, found.gram_offset, ints(by_head))
    return ContextForest(
        forest,
        order,
        found.ngrams,
        len(rank),
        int(number[found.root]),
        left=ints(edges[:, LEFT]),
        right=ints(edges[:, RIGHT]),
        head=ints(edges[:, HEAD]),
        edge=ints(edges[:, EDGE]),
        symbol=ints(edges[:, SYMBOL]),
        end=ints(edges[:, END]),
        whole=ints(edges[:, WHOLE]),
        gram=gram,
        gram_offset=gram_offset,
    )
