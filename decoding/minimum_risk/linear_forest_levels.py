"""The derivations of an unfolded forest that gain enough, apart by what they gain.

All numbers here are multiples of one unit (:class:`~decoding.minimum_risk.linear_gains.Factors`),
so that sums are exact and may be compared for equality.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lattices.algorithms.forest_ngram_contexts import ContextForest
from lattices.arrays import FloatColumn, IntColumn, floats, ints, kernel


class Parts(NamedTuple):
    """Unfolded edges, each with the nodes it joins: tails before heads, sorted by head.

    Attributes
    ----------
    edge : int32 column
        The number of the unfolded edge.
    left, right : int32 columns
        Its tails; -1 for none.
    head : int32 column
    nodes : int
        How many nodes there are.
    """

    edge: IntColumn
    left: IntColumn
    right: IntColumn
    head: IntColumn
    nodes: int

    @classmethod
    def of(cls, unfolded: ContextForest, edges: IntColumn) -> Parts:
        """Return some edges as they are."""
        left, right, head = unfolded.left[edges], unfolded.right[edges], unfolded.head[edges]
        return cls(edges, ints(left), ints(right), ints(head), unfolded.items)

    def below(self, root: int) -> tuple[Parts, int]:
        """Return what the derivations of a node are made of, and the node's new number."""
        chosen = _below(self.left, self.right, self.head, self.nodes, root)
        used = np.zeros(self.nodes, np.bool_)
        used[self.head[chosen]] = True
        number = np.cumsum(used) - 1
        left, right = self.left[chosen], self.right[chosen]
        part = Parts(
            ints(self.edge[chosen]),
            ints(np.where(left < 0, -1, number[left])),
            ints(np.where(right < 0, -1, number[right])),
            ints(number[self.head[chosen]]),
            int(used.sum()),
        )
        return part, int(number[root])


class Levels(NamedTuple):
    """What an unfolded forest's derivations are made of, with a node for each item and gain.

    Attributes
    ----------
    parts : Parts
    root : dict from float to int
        The node of all derivations of the root that gain as much as the key.
    """

    parts: Parts
    root: dict[float, int]


def edge_gains(unfolded: ContextForest, gain: FloatColumn, word: float) -> FloatColumn:
    """Return what each unfolded edge gains by its own words and n-grams."""
    return floats(
        _edge_gains(unfolded.symbol, unfolded.end, unfolded.gram, unfolded.gram_offset, gain, word)
    )


def best_edges(unfolded: ContextForest, own: FloatColumn) -> tuple[float, IntColumn]:
    """Return the highest gain of a derivation, and the edges of all that have it."""
    inside = _inside(unfolded.left, unfolded.right, unfolded.head, own, unfolded.items)
    highest = float(inside[unfolded.root])
    return highest, _enough(unfolded, own, inside, highest)[0]


def levels(unfolded: ContextForest, own: FloatColumn, least: float) -> Levels:
    """Return the derivations that gain at least so much, with those of one gain together.

    An item becomes a node for each gain of its derivations that some such derivation of the
    root needs. Cost: O(edges) and O(edges of the result * log). No item has more gains than
    there are different ones at the root: with the best that can stand around it, each makes
    another of the root's.

    Examples
    --------
    Two of three words gain the same:

    >>> from lattices.algorithms.forest_ngram_contexts import context_forest
    >>> from lattices.spaces import Forest
    >>> forest = Forest.from_edges([(0, [], [word]) for word in "abc"])
    >>> found = levels(context_forest(forest, 1), floats([1.0, 0.5, 1.0]), 0.5)
    >>> found.root, found.parts.edge.tolist(), found.parts.head.tolist()
    ({1.0: 0, 0.5: 1}, [0, 2, 1], [0, 0, 1])
    """
    inside = _inside(unfolded.left, unfolded.right, unfolded.head, own, unfolded.items)
    edges, outside = _enough(unfolded, own, inside, least)
    some = Parts.of(unfolded, edges)
    left, right, head, edge, value, first = _apart(
        some.left, some.right, some.head, floats(own[edges]), outside, least
    )
    root = {
        float(value[node]): node for node in range(first[unfolded.root], first[unfolded.root + 1])
    }
    parts = Parts(ints(edges[edge]), ints(left), ints(right), ints(head), len(value))
    return Levels(parts, root)


def _enough(
    unfolded: ContextForest, own: FloatColumn, inside: FloatColumn, least: float
) -> tuple[IntColumn, FloatColumn]:
    """Return the edges of derivations that gain enough, and the most around each item."""
    kept, outside = _gaining(
        unfolded.left, unfolded.right, unfolded.head, own, inside, unfolded.root, least
    )
    return ints(np.flatnonzero(kept)), floats(outside)


@kernel
def _edge_gains(symbol, end, gram, gram_offset, gain, word):  # type: ignore[no-untyped-def]
    own = np.empty(len(symbol))
    for edge in range(len(symbol)):
        own[edge] = word * (end[edge] - symbol[edge])
        for place in range(gram_offset[edge], gram_offset[edge + 1]):
            own[edge] += gain[gram[place]]
    return own


@kernel
def _inside(left, right, head, own, items):  # type: ignore[no-untyped-def]
    """Return the highest gain of a derivation of each item."""
    inside = np.full(items, -np.inf)
    for edge in range(len(head)):
        total = own[edge]
        if right[edge] >= 0:
            total += inside[left[edge]] + inside[right[edge]]
        inside[head[edge]] = max(inside[head[edge]], total)
    return inside


@kernel
def _gaining(left, right, head, own, inside, root, least):  # type: ignore[no-untyped-def]
    """Return which edges are in derivations that gain enough, and the most around each item."""
    kept = np.zeros(len(head), np.bool_)
    outside = np.full(len(inside), -np.inf)
    outside[root] = 0.0
    for edge in range(len(head) - 1, -1, -1):
        around = outside[head[edge]] + own[edge]
        if right[edge] < 0:
            kept[edge] = around >= least
            continue
        one, other = left[edge], right[edge]
        kept[edge] = around + inside[one] + inside[other] >= least
        if kept[edge]:
            outside[one] = max(outside[one], around + inside[other])
            outside[other] = max(outside[other], around + inside[one])
    return kept, outside


@kernel
def _apart(left, right, head, own, outside, least):  # type: ignore[no-untyped-def]
    """Return edges between nodes that are an item and a gain, and the nodes of each item.

    Those of one item come from the highest gain to the lowest, and so do pairs of them: the
    first pair that does not gain enough ends its row.

    Returns
    -------
    left, right, head, edge : int32 arrays
        Of the new edges: nodes, and the place of the old edge.
    value : float64 array
        The gain of each node.
    first : int32 array
        Where the nodes of each item begin, and where those of the last one end.
    """
    room, made, nodes, done = 2 * len(head) + 64, 0, 0, 0
    row = np.empty((room, 3), np.int32)
    total = np.empty(room)
    node_of, value = np.empty(room, np.int32), np.empty(room)
    first = np.zeros(len(outside) + 1, np.int32)
    at = 0
    while at < len(head):
        item, begin = head[at], made
        while done < item:
            done += 1
            first[done] = nodes
        while at < len(head) and head[at] == item:
            pair = right[at] >= 0
            one = first[left[at]] if pair else np.int32(-1)
            one_end = first[left[at] + 1] if pair else np.int32(0)
            while one < one_end:
                other = first[right[at]] if pair else np.int32(-1)
                other_end = first[right[at] + 1] if pair else np.int32(0)
                while other < other_end:
                    gained = own[at]
                    if pair:
                        gained += value[one] + value[other]
                    if gained + outside[item] < least:
                        break
                    if made == room:
                        room *= 2
                        row = np.concatenate((row, np.empty_like(row)))
                        total = np.concatenate((total, np.empty_like(total)))
                        value = np.concatenate((value, np.empty_like(value)))
                        node_of = np.concatenate((node_of, np.empty_like(node_of)))
                    row[made, 0], row[made, 1], row[made, 2] = one, other, at
                    total[made] = gained
                    made += 1
                    other += 1
                one += 1
            at += 1
        order = np.argsort(-total[begin:made], kind="mergesort")
        row[begin:made] = row[begin:made][order]
        total[begin:made] = total[begin:made][order]
        for place in range(begin, made):
            if place == begin or total[place] != total[place - 1]:
                value[nodes] = total[place]
                nodes += 1
            node_of[place] = nodes - 1
    while done < len(outside):
        done += 1
        first[done] = nodes
    return row[:made, 0], row[:made, 1], node_of[:made], row[:made, 2], value[:nodes], first


@kernel
def _below(left, right, head, nodes, root):  # type: ignore[no-untyped-def]
    """Return the edges that derivations of a node can have."""
    needed = np.zeros(nodes, np.bool_)
    needed[root] = True
    chosen = np.zeros(len(head), np.bool_)
    for edge in range(len(head) - 1, -1, -1):
        if needed[head[edge]]:
            chosen[edge] = True
            if right[edge] >= 0:
                needed[left[edge]] = needed[right[edge]] = True
    return np.flatnonzero(chosen)
