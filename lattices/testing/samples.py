"""Samples that formats are tried on: small segments that any format of their kind can hold."""

from __future__ import annotations

from lattices.spaces import Forest, Hypothesis, Lattice, NBest
from lattices.vocabulary import Vocabulary


def sample_lattices() -> list[Lattice]:
    """Return small lattices that any lattice format can hold: words and scores, no more.

    Among them are epsilons, parallel arcs, several final states with scores, a final state
    with arcs out of it, and a lattice of the empty sentence alone.
    """
    words = Vocabulary()
    arcs = [
        (0, 1, "the", -0.5),
        (0, 1, "the", -0.75),
        (0, 2, "a", -1.25),
        (1, 2, "", -0.1),
        (1, 3, "naïve", 0.3),
        (2, 3, "cat's", -1e-3),
        (3, 4, "日本語", -2.0),
    ]
    return [
        Lattice.from_arcs(arcs, {3: -0.25, 4: 0.0}, vocabulary=words, id="first"),
        Lattice.from_arcs([(0, 1, "yes")], [1], vocabulary=words, id="second-1.2"),
        Lattice.from_arcs([], [0], vocabulary=words, id="nothing"),
    ]


def sample_nbests() -> list[NBest]:
    """Return small n-best lists that any n-best format can hold, an empty hypothesis among them."""
    words = Vocabulary()
    lists = {
        "first": [("the cat's naïve", -0.5), ("日本語", -0.75), ("the cat's naïve", -1.0)],
        "second-1.2": [("yes", 0.0), ("", -1e-3)],
    }
    return [
        NBest.from_hypotheses(
            [Hypothesis(tuple(text.split()), score) for text, score in entries],
            vocabulary=words,
            id=name,
        )
        for name, entries in lists.items()
    ]


def sample_forests() -> list[Forest]:
    """Return small forests that any forest format can hold: target sides and scores, no more.

    Among them are several edges for a node, tails that change places, a node that is used
    twice by one edge, empty target sides, a node that no derivation uses, a dead end, and a
    forest of the empty sentence alone.
    """
    words = Vocabulary()
    edges = [
        (0, [], ["cat's"], -0.5),
        (0, [], ["naïve", "日本語"], -1e-3),
        (1, [], [], -0.75),
        (1, [], ["the"], -1.25),
        (2, [], ["unused"], -3.0),
        (4, [1, 0], [0, 1], 0.3),
        (4, [1, 0], [1, "of", 0], -0.1),
        (4, [3], [0], -0.2),
        (5, [4, 0, 0], ["so", 2, 0, 1], -2.0),
        (5, [4], [0], 0.0),
    ]
    return [
        Forest.from_edges(edges, vocabulary=words, id="first"),
        Forest.from_edges([(0, [], ["yes"])], vocabulary=words, id="second-1.2"),
        Forest.from_edges([(0, [], [], -0.5)], vocabulary=words, id="nothing"),
    ]
