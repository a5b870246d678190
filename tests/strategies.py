"""Hypothesis strategies shared by all tests: small random lattices and forests, and sentences."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import pairwise
from math import prod
from typing import Any

from hypothesis import strategies as st

from lattices.spaces import Forest, Lattice
from lattices.vocabulary import Vocabulary

#: sums of these are exact in binary, so equal totals are equal floats whatever the order
GRID = st.integers(-8, 4).map(lambda quarters: quarters / 4)
GENERAL = st.floats(-4.0, 2.0, allow_nan=False, allow_subnormal=False)
FEATURE_NAMES = ("lm", "tm", "wp")

#: examples of a law that needs many, outside the nightly profile
_MOST_BY_DAY = 100


def examples(nightly: int, by_day: int = _MOST_BY_DAY) -> int:
    """Return how many examples a law is tried on; ``FSTMETRICS_PROFILE=nightly`` has them all."""
    return nightly if os.environ.get("FSTMETRICS_PROFILE") == "nightly" else by_day


@st.composite
def small_lattices(
    draw: st.DrawFn,
    *,
    max_states: int = 6,
    max_arcs: int = 10,
    words: Iterable[str] = "abcd",
    epsilon: bool = True,
    exact: bool | None = None,
    features: bool | None = None,
) -> Lattice:
    """Draw a lattice with at least one complete path.

    It may have epsilon arcs, parallel arcs (equal ones too), several final states, a
    final start, states that lead nowhere or come from nowhere, and only one state.

    Parameters
    ----------
    max_states, max_arcs
        Bounds of the size.
    words
        The words of the arcs; the vocabulary numbers them in a drawn order.
    epsilon
        Whether arcs without a word may occur.
    exact
        True draws all scores from a coarse grid: many ties, and sums without rounding.
        False draws arbitrary floats; None draws which of the two.
    features
        Whether arcs and finals carry features; None draws it.
    """
    vocabulary = Vocabulary(draw(st.permutations(list(words))))
    labels = st.sampled_from([*sorted(vocabulary), *([""] if epsilon else [])])
    if exact is None:
        exact = draw(st.booleans())
    if features is None:
        features = draw(st.booleans())
    scores = GRID if exact else GENERAL
    states = 1
    if max_states > 1 and draw(st.integers(0, 15)):
        states = draw(st.integers(2, max_states))
    # the complete path that every lattice has; its last state is final
    left_out = draw(st.sets(st.integers(0, states - 1), max_size=min(2, states - 1)))
    spine = [state for state in range(states) if state not in left_out][: max_arcs + 1]
    ends = list(pairwise(spine))
    if states > 1:
        free = draw(st.integers(0, max_arcs - len(ends)))
        sources = st.integers(0, states - 2)
        pairs = sources.flatmap(
            lambda source: st.tuples(st.just(source), st.integers(source + 1, states - 1))
        )
        ends += draw(st.lists(pairs, min_size=free, max_size=free))
    arcs = [[src, dst, draw(labels), draw(scores)] for src, dst in ends]
    if arcs and len(arcs) < max_arcs and draw(st.booleans()):
        arcs.append(list(draw(st.sampled_from(arcs))))
    finals = {
        state: draw(scores) for state in draw(st.sets(st.integers(0, states - 1), max_size=2))
    }
    finals[spine[-1]] = draw(scores)
    final_features = None
    if features:
        row = st.dictionaries(st.sampled_from(FEATURE_NAMES), scores, max_size=2)
        for arc in arcs:
            arc.append(draw(row))
        final_features = {state: draw(row) for state in finals}
    number = list(range(states))
    if draw(st.booleans()):
        # states out of order, to be renumbered when the lattice is built
        number = draw(st.permutations(number))
    return Lattice.from_arcs(
        [(number[src], number[dst], *rest) for src, dst, *rest in draw(st.permutations(arcs))],
        finals={number[state]: score for state, score in finals.items()},
        states=states,
        start=number[spine[0]],
        vocabulary=vocabulary,
        final_features=features_of(final_features, number),
        feature_names=FEATURE_NAMES if features else (),
        id=draw(st.sampled_from(["", "seg-1"])),
    )


def features_of(
    by_state: dict[int, dict[str, float]] | None, number: list[int]
) -> dict[int, dict[str, float]] | None:
    """Return the features of the finals under the states' new numbers."""
    return by_state and {number[state]: row for state, row in by_state.items()}


def sentences(
    words: Iterable[str] = "abcd", *, unknown: Iterable[str] = ("x", "<s>"), max_size: int = 6
) -> st.SearchStrategy[list[str]]:
    """Draw lists of tokens, possibly empty, possibly with words no lattice has."""
    return st.lists(st.sampled_from([*words, *unknown]), max_size=max_size)


@st.composite
def small_forests(
    draw: st.DrawFn,
    *,
    max_nodes: int = 5,
    max_edges: int = 9,
    max_derivations: int = 60,
    words: Iterable[str] = "abc",
    exact: bool | None = None,
    features: bool | None = None,
) -> Forest:
    """Draw a forest with at least one derivation.

    It may have unary chains, target sides without words or without anything, up to three
    tails in any order, a node that one edge uses twice, equal edges, several derivations of
    one sentence, nodes without a derivation and nodes that the root does not need.

    Parameters
    ----------
    max_nodes, max_edges
        Bounds of the size.
    max_derivations
        A bound on the derivations of each node, those included that some other node ends.
    words
        The words of the target sides; the vocabulary numbers them in a drawn order.
    exact, features
        As of :func:`small_lattices`.
    """
    vocabulary = Vocabulary(draw(st.permutations(list(words))))
    if exact is None:
        exact = draw(st.booleans())
    if features is None:
        features = draw(st.booleans())
    scores = GRID if exact else GENERAL
    nodes = draw(st.integers(1, max_nodes))
    rows: list[list[Any]] = []
    made: set[int] = set()
    possible = [0] * nodes

    def add(head: int, tails: list[int], side: list[str | int]) -> None:
        count = prod(max(1, possible[tail]) for tail in tails)
        if len(rows) < max_edges and possible[head] + count <= max_derivations:
            possible[head] += count
            rows.append([head, tails, side, draw(scores)])
            if made.issuperset(tails):
                made.add(head)

    spoken = st.lists(st.sampled_from(sorted(vocabulary)), max_size=2)
    for head in range(nodes):
        for _ in range(draw(st.integers(0, 3))):
            below = st.integers(0, head - 1) if head else st.nothing()
            tails = draw(st.lists(below, max_size=3)) if head else []
            add(head, tails, draw(st.permutations([*range(len(tails)), *draw(spoken)])))
            if rows and rows[-1][0] == head and draw(st.integers(0, 4)) == 0:
                add(head, rows[-1][1], rows[-1][2])
    if not made:
        rows.append([0, [], draw(spoken), draw(scores)])
        made.add(0)
    root = max(made) if draw(st.booleans()) else draw(st.sampled_from(sorted(made)))
    if features:
        for row in rows:
            row.append(draw(st.dictionaries(st.sampled_from(FEATURE_NAMES), scores, max_size=2)))
    number = list(range(nodes))
    if draw(st.booleans()):
        # nodes out of order, to be renumbered when the forest is built
        number = draw(st.permutations(number))
    return Forest.from_edges(
        [
            (number[head], [number[tail] for tail in tails], *rest)
            for head, tails, *rest in draw(st.permutations(rows))
        ],
        root=number[root],
        nodes=nodes,
        vocabulary=vocabulary,
        feature_names=FEATURE_NAMES if features else (),
        id=draw(st.sampled_from(["", "seg-1"])),
    )
