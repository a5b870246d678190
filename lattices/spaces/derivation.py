"""Derivations of forests, as edges from the top down: what they say, and all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lattices.errors import SpaceError

if TYPE_CHECKING:
    from lattices.spaces.forest import Forest


def derivation_parts(forest: Forest, edges: Sequence[int]) -> tuple[list[int], float]:
    """Return the words and the score of a derivation; deep ones overflow no stack.

    The score of an edge with what is below it is its own plus those of its tails, from the
    first to the last.

    Raises
    ------
    SpaceError
        If the edges are no derivation of the root.
    """
    rest = list(edges)
    wanted = [forest.root]
    for edge in rest:
        if not wanted:
            raise SpaceError("more edges than a derivation of the root has")
        node = wanted.pop()
        if not 0 <= edge < forest.num_edges or forest.head[edge] != node:
            raise SpaceError(f"edge {edge} where one with the head {node} is needed")
        tails = forest.tail[forest.tail_offset[edge] : forest.tail_offset[edge + 1]]
        wanted.extend(tails[::-1].tolist())
    if wanted:
        raise SpaceError("fewer edges than a derivation of the root has")
    # the other way round, what is below an edge is on the stack when the edge comes
    done: list[tuple[list[int], float]] = []
    for edge in reversed(rest):
        arity = int(forest.tail_offset[edge + 1] - forest.tail_offset[edge])
        below = [done.pop() for _ in range(arity)]
        score = float(forest.score[edge])
        for _, part in below:
            score += part
        words: list[int] = []
        side = forest.symbol[forest.symbol_offset[edge] : forest.symbol_offset[edge + 1]]
        for symbol in side.tolist():
            if symbol > 0:
                words.append(symbol)
            else:
                words.extend(below[-1 - symbol][0])
        done.append((words, score))
    return done[0]


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
