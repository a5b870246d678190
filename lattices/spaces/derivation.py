"""Derivations of forests, as edges from the top down: what they say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lattices._native import spell_derivations
from lattices.arrays import ints, kernel

if TYPE_CHECKING:
    from lattices.spaces.forest import Forest


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
    words, _, scores = spell_derivations(forest.columns, ints(edges), ints([0, len(edges)]))
    return words.tolist(), float(scores[0])
