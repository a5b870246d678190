"""The k best sentences of a forest under a machine of alignments, each once.

A maximum over sentences of a maximum over alignments is one maximum, so the product of the
forest with the machine serves (Bar-Hillel, Perles and Shamir 1961), and each sentence is taken
by its best derivation and alignment. The whole product would be large, and nearly all of it
is far from the best: only what comes near is built, by an exact bound, and the bound is
lowered until k sentences are found above it. Then there are none other above it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from lattices.algorithms.forest_derivations import too_many_edges
from lattices.arrays import Array, IntColumn, ints, kernel
from lattices.engines.automata import Alignment, SearchMachine
from lattices.engines.forest_kernel import ENGINE, Inside, fill_part, longest_sentence
from lattices.engines.forest_plan import table_stride
from lattices.engines.forest_ranked_near import find_near
from lattices.engines.forest_ranked_product import product_edges
from lattices.engines.forest_ranked_search import (
    Hypergraph,
    Ranked,
    hypergraph,
    ranked_derivations,
)
from lattices.errors import EngineError
from lattices.spaces.derivation import spelt
from lattices.spaces.forest import Forest

#: how many sentences that tie with the last one are looked at, to give the smallest of them
MOST_TIES = 10_000
#: the most links that a product may have
MOST_LINKS = 2**26
#: how far, in relation to the best, rounding may move a value
_ROUNDING = 1e-9


class Near(NamedTuple):
    """The part of a product that comes near to the best value.

    ``whole`` tells that nothing has been left out.
    """

    graph: Hypergraph
    whole: bool


def best_forest_sentences(
    forest: Forest, machine: SearchMachine, k: int, model_weight: float
) -> list[IntColumn]:
    """Return the derivations of the ``k`` sentences of the highest value, best first.

    The value is that of the machine plus the weighted model score; derivations are edges from
    the top down. Ties go to the higher model score, then to the smaller sentence, as in
    :mod:`.found`, and so the first is the answer of the forest kernel. Where more than
    ``MOST_TIES`` sentences tie with the last one, it is the shortest that are taken.

    Cost: that of the kernel for the tables, once more for each time that the bound is
    lowered, and O(links x log) of the product above it for the rest.

    Raises
    ------
    EngineError
        If the machine has other parts than alignments, or the product near the best value has
        more than ``MOST_LINKS`` links.
    """
    (first,) = ENGINE.best([forest], [machine], model_weight=model_weight)
    columns = (
        forest.in_offset,
        forest.tail,
        forest.tail_offset,
        forest.symbol,
        forest.symbol_offset,
    )
    longest = longest_sentence(*columns, forest.root)
    filled = [fill_part(forest, columns, part, longest, model_weight) for part in machine.parts]
    step = max(
        part.automaton.heaviest / part.denominator  # type: ignore[union-attr]
        for part in machine.parts
    )

    def near(slack: float) -> Near:
        return _near(forest, machine, filled, first.value - slack)

    graph, ranked = widened(
        near, forest.vocabulary.ranks(), k, max(step, 1e-6), sign=1.0, weight=model_weight
    )
    found = [
        ints(in_tail_order(edges, forest.tail_offset, forest.symbol, forest.symbol_offset, False))
        for edges in original_edges(graph, ranked, forest)
    ]
    return with_first(forest, first.arcs, in_order(forest, ranked, found, k), k)


def with_first(forest: Forest, first: IntColumn, found: list[IntColumn], k: int) -> list[IntColumn]:
    """Return the k best with the kernel's answer as the first.

    It is the first sentence anyway, but for rounding, and unless too many tie with it; between
    the derivations of the sentence the kernel decides.
    """
    sentence = _words(forest, first)
    others = [edges for edges in found if _words(forest, edges) != sentence]
    return [first, *others][:k]


def _near(forest: Forest, machine: SearchMachine, filled: Sequence[Inside], bound: float) -> Near:
    """Return what reaches the bound of the products with all parts, under one root."""
    nodes, whole = 0, True
    rows: list[Array] = []
    gains: list[Array] = []
    scores: list[Array] = []
    denominators: list[Array] = []
    tops: list[tuple[int, float, float]] = []
    for part, inside in zip(machine.parts, filled, strict=True):
        alignment = part.automaton
        assert isinstance(alignment, Alignment)
        # the last column carries a deletion for each word
        shift = part.bonus - alignment.length * alignment.deletion
        least = bound * part.denominator - shift
        least -= _ROUNDING * max(1.0, abs(float(inside.top)), abs(least))
        if inside.top < least:
            whole = False
            continue
        jobs, links, earned, items, cut = find_near(least, MOST_LINKS, forest.root, *inside.tables)
        if items < 0:
            raise EngineError(
                f"the product of forest {forest.id!r} with the machine has more than "
                f"{MOST_LINKS} links near the best value"
            )
        whole = whole and not cut
        stride = int(table_stride(alignment.length))
        nodes, top, edges, gain, model = product_edges(
            jobs, links, earned, items, forest.head, forest.score, forest.symbol,
            forest.symbol_offset, alignment.order * stride, stride, nodes,
        )  # fmt: skip
        rows.append(edges)
        gains.append(gain)
        scores.append(model)
        denominators.append(np.full(len(gain), part.denominator))
        tops.append((top, shift, part.denominator))
    rows.append(np.array([[nodes, top, -1, -1, -1] for top, *_ in tops], np.int32))
    gains.append(np.array([shift for _, shift, _ in tops]))
    scores.append(np.zeros(len(tops)))
    denominators.append(np.array([denominator for *_, denominator in tops]))
    edges = np.concatenate(rows)
    tails = edges[:, 1:3]
    symbols = np.stack(
        [
            np.where(edges[:, 1] >= 0, -1, 0),
            np.where(edges[:, 2] >= 0, -2, np.maximum(edges[:, 3], 0)),
        ],
        axis=1,
    )
    graph = hypergraph(
        nodes + 1,
        nodes,
        edges[:, 0],
        tails[tails >= 0],
        np.append(0, np.cumsum((tails >= 0).sum(axis=1))),
        symbols[symbols != 0],
        np.append(0, np.cumsum((symbols != 0).sum(axis=1))),
        np.concatenate(scores),
        np.concatenate(gains),
        np.concatenate(denominators),
        edges[:, 4],
    )
    return Near(graph, whole)


def widened(
    near: Callable[[float], Near],
    rank: IntColumn,
    k: int,
    step: float,
    *,
    sign: float,
    weight: float,
) -> tuple[Hypergraph, Ranked]:
    """Lower the bound until the k best sentences above it are the k best of all.

    If there are k sentences in the part of a product that reaches a bound, the last of them
    is a bound below which nothing has to be looked for.

    Parameters
    ----------
    near : function
        Returns the part of the product that loses no more than its argument.
    step : float
        How much is lost after the first try, and then twice as much each time.
    """
    slack = 0.0
    while True:
        graph, whole = near(slack)
        ranked = ranked_derivations(graph, rank, k, MOST_TIES, sign=sign, weight=weight)
        if whole:
            return graph, ranked
        if len(ranked.worth) < k:
            slack = max(1.5 * slack, slack + step)
            continue
        lost = float(ranked.worth[0] - ranked.worth[k - 1])
        if lost <= slack:
            return graph, ranked
        slack = lost


def original_edges(graph: Hypergraph, ranked: Ranked, forest: Forest) -> list[IntColumn]:
    """Return the edges of the forest behind the derivations of a product."""
    if ranked.offset[-1] < 0:
        raise too_many_edges(forest)
    origin = graph.origin[ranked.edges]
    return [
        ints(part[part >= 0])
        for part in (origin[begin:end] for begin, end in pairwise(ranked.offset.tolist()))
    ]


def in_order(forest: Forest, ranked: Ranked, found: list[IntColumn], k: int) -> list[IntColumn]:
    """Return the first k derivations, with those that tie in the order of their words."""
    rank = forest.vocabulary.ranks()
    result: list[IntColumn] = []
    places = range(len(found))
    for _, tied in groupby(places, key=lambda place: (ranked.worth[place], ranked.model[place])):
        group = [found[place] for place in tied]
        if len(group) > 1:
            group.sort(key=lambda edges: rank[_words(forest, edges)].tolist())
        result.extend(group)
        if len(result) >= k:
            break
    return result[:k]


def _words(forest: Forest, edges: IntColumn) -> list[int]:
    words, _, _ = spelt(
        edges,
        ints([0, len(edges)]),
        forest.tail_offset,
        forest.symbol,
        forest.symbol_offset,
        forest.score,
    )
    said: list[int] = words.tolist()
    return said


@kernel
def in_tail_order(edges, tail_offset, symbol, symbol_offset, mirrored):  # type: ignore[no-untyped-def]
    """Return a derivation whose tails stand in the order of the target sides in that of tails.

    With ``mirrored`` they stand in the order of the target sides from right to left.
    """
    count = len(edges)
    # the places of the edges that stand below each
    child = np.empty(count + 1, np.int64)
    child_offset = np.empty(count + 1, np.int64)
    stack = np.empty(count + 1, np.int64)
    depth, filled = 0, 0
    for place in range(count - 1, -1, -1):
        edge = edges[place]
        child_offset[place] = filled
        first, last = symbol_offset[edge], symbol_offset[edge + 1]
        for index in range(last - first):
            part = symbol[last - 1 - index] if mirrored else symbol[first + index]
            if part < 0:
                depth -= 1
                child[filled - 1 - part] = stack[depth]
        filled += tail_offset[edge + 1] - tail_offset[edge]
        stack[depth] = place
        depth += 1
    result = np.empty(count, np.int32)
    stack[0], depth = 0, 1
    for place in range(count):
        depth -= 1
        at = stack[depth]
        edge = edges[at]
        result[place] = edge
        for index in range(tail_offset[edge + 1] - tail_offset[edge] - 1, -1, -1):
            stack[depth] = child[child_offset[at] + index]
            depth += 1
    return result
