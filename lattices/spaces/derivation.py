"""Derivations of forests, as edges from the top down: what they say, and all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from lattices.arrays import ints, kernel
from lattices.errors import SpaceError

if TYPE_CHECKING:
    from lattices.spaces.forest import Forest


@kernel
def has_derivation(head, tail, tail_offset, root, nodes):  # type: ignore[no-untyped-def]
    """Tell whether the root can be made of edges whose tails can be made; tails come first."""
    made = np.zeros(nodes, np.bool_)
    for edge in range(len(head)):
        if not made[head[edge]]:
            complete = True
            for place in range(tail_offset[edge], tail_offset[edge + 1]):
                complete = complete and made[tail[place]]
            made[head[edge]] = complete
    return made[root]


@kernel
def _first_wrong(edges, head, tail, tail_offset, root):  # type: ignore[no-untyped-def]
    """Return the first place where a derivation goes wrong, and the node that is wanted there.

    The node is -1 where nothing is wanted any more, the place the number of edges where more
    of them are wanted, and both are so in a derivation that is right.
    """
    room = 1
    for edge in edges:
        if 0 <= edge < len(head):
            room += tail_offset[edge + 1] - tail_offset[edge]
    wanted = np.empty(room, np.int64)
    wanted[0] = root
    depth = 1
    for place in range(len(edges)):
        if depth == 0:
            return place, -1
        depth -= 1
        node, edge = wanted[depth], edges[place]
        if not 0 <= edge < len(head) or head[edge] != node:
            return place, node
        for index in range(tail_offset[edge + 1] - 1, tail_offset[edge] - 1, -1):
            wanted[depth] = tail[index]
            depth += 1
    return len(edges), wanted[depth - 1] if depth > 0 else -1


@kernel
def spelt(edges, offset, tail_offset, symbol, symbol_offset, score):  # type: ignore[no-untyped-def]
    """Return the words of many derivations, where each begins, and their scores.

    Derivation ``i`` is ``edges[offset[i]:offset[i + 1]]``. The score of an edge with what is
    below it is its own plus those of its tails, from the first to the last.
    """
    count = len(offset) - 1
    scores = np.empty(count, np.float64)
    word_offset = np.zeros(count + 1, np.int64)
    longest = 0
    for number in range(count):
        length = 0
        for place in range(offset[number], offset[number + 1]):
            edge = edges[place]
            # all that is no slot
            length += symbol_offset[edge + 1] - symbol_offset[edge]
            length -= tail_offset[edge + 1] - tail_offset[edge]
        word_offset[number + 1] = word_offset[number] + length
        longest = max(longest, offset[number + 1] - offset[number])
    words = np.empty(word_offset[count], np.int32)
    # the places of the edges below each edge of one derivation, and what these add up to
    child = np.empty(longest + 1, np.int64)
    child_offset = np.empty(longest + 1, np.int64)
    part = np.empty(longest + 1, np.float64)
    stack = np.empty((longest + 1, 2), np.int64)
    for number in range(count):
        begin, size = offset[number], offset[number + 1] - offset[number]
        depth, filled = 0, 0
        # the other way round, what is below an edge is on the stack when the edge comes
        for place in range(size - 1, -1, -1):
            edge = edges[begin + place]
            child_offset[place] = filled
            part[place] = score[edge]
            for _ in range(tail_offset[edge + 1] - tail_offset[edge]):
                depth -= 1
                child[filled] = stack[depth, 0]
                part[place] += part[child[filled]]
                filled += 1
            stack[depth, 0] = place
            depth += 1
        scores[number] = part[0]
        stack[0, 0], stack[0, 1] = 0, symbol_offset[edges[begin]]
        depth, filled = 1, word_offset[number]
        while depth > 0:
            place, at = stack[depth - 1, 0], stack[depth - 1, 1]
            if at == symbol_offset[edges[begin + place] + 1]:
                depth -= 1
                continue
            stack[depth - 1, 1] += 1
            if symbol[at] > 0:
                words[filled] = symbol[at]
                filled += 1
            else:
                below = child[child_offset[place] - 1 - symbol[at]]
                stack[depth, 0] = below
                stack[depth, 1] = symbol_offset[edges[begin + below]]
                depth += 1
    return words, word_offset, scores


def derivation_parts(forest: Forest, edges: Sequence[int]) -> tuple[list[int], float]:
    """Return the words and the score of a derivation. Cost: O(edges and words).

    Raises
    ------
    SpaceError
        If the edges are no derivation of the root.
    """
    rows = ints(edges)
    place, node = _first_wrong(rows, forest.head, forest.tail, forest.tail_offset, forest.root)
    if place < len(rows) and node < 0:
        raise SpaceError("more edges than a derivation of the root has")
    if place < len(rows):
        raise SpaceError(f"edge {rows[place]} where one with the head {node} is needed")
    if node >= 0:
        raise SpaceError("fewer edges than a derivation of the root has")
    words, _, scores = spelt(
        rows,
        ints([0, len(rows)]),
        forest.tail_offset,
        forest.symbol,
        forest.symbol_offset,
        forest.score,
    )
    return words.tolist(), float(scores[0])


def next_derivations(forest: Forest) -> Iterator[list[int]]:
    """Iterate over all derivations, in the order of the edges of each node."""
    stack: list[tuple[list[int], list[int]]] = [([], [forest.root])]
    while stack:
        edges, wanted = stack.pop()
        if not wanted:
            yield edges
            continue
        node, rest = wanted[-1], wanted[:-1]
        for edge in range(int(forest.in_offset[node + 1]) - 1, int(forest.in_offset[node]) - 1, -1):
            tails = forest.tail[forest.tail_offset[edge] : forest.tail_offset[edge + 1]]
            stack.append(([*edges, edge], [*rest, *tails[::-1].tolist()]))
