"""Lattices of characters against the words of every path."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.algorithms import best, to_characters
from lattices.spaces import Lattice
from lattices.vocabulary import EPSILON, Vocabulary
from tests.strategies import small_lattices

WORDS = ("a", "ab", "bca", "é", "c-d")


@given(small_lattices(words=WORDS), st.booleans())
def test_paths_correspond_one_to_one(lattice, spaces):
    found, origin = to_characters(lattice, spaces=spaces)
    between = " " if spaces else ""
    expected = {path.arcs: path for path in lattice.paths()}
    seen = Counter()
    for path in found.paths():
        arcs = tuple(int(origin[arc]) for arc in path.arcs if origin[arc] >= 0)
        words = expected[arcs]
        assert "".join(path.tokens) == between.join(words.tokens)
        assert all(len(token) == 1 for token in path.tokens)
        assert path.score == pytest.approx(words.score, abs=1e-12)
        assert path.features == pytest.approx(words.features)
        seen[arcs] += 1
    assert seen == Counter(expected.keys())


@given(small_lattices(words=WORDS), st.booleans())
def test_scores_stand_at_the_first_character(lattice, spaces):
    found, origin = to_characters(lattice, spaces=spaces)
    begins = origin >= 0
    assert origin.shape == (found.num_arcs,)
    assert (found.score[begins] == lattice.score[origin[begins]]).all()
    assert (found.score[~begins] == 0.0).all()
    silent = np.isin(origin, np.flatnonzero(lattice.label == EPSILON))
    assert np.array_equal(found.label == EPSILON, silent)


def test_no_blank_at_the_start_or_the_end():
    lattice = Lattice.from_arcs([(0, 1, ""), (0, 1, "ab"), (1, 2, "c"), (1, 2, "")], finals=[2])
    texts = sorted("".join(path.tokens) for path in to_characters(lattice).lattice.paths())
    assert texts == ["", "ab", "ab c", "c"]


def test_what_is_said_of_the_segment_is_kept():
    lattice = Lattice.from_arcs(
        [(0, 1, "ab")], finals=[1], id="one", source="x", references=["ab"], metadata={"key": 1}
    )
    found = to_characters(lattice).lattice
    assert (found.id, found.source, found.references, found.metadata) == (
        "one",
        "x",
        ("ab",),
        {"key": 1},
    )


def test_characters_can_share_a_vocabulary():
    shared = Vocabulary("xy")
    one = to_characters(Lattice.from_arcs([(0, 1, "xz")], finals=[1]), vocabulary=shared).lattice
    other = to_characters(Lattice.from_arcs([(0, 1, "zy")], finals=[1]), vocabulary=shared).lattice
    assert one.vocabulary is other.vocabulary is shared
    assert best(other).tokens == ("z", "y")
    assert sorted(shared) == [" ", "x", "y", "z"]


def test_states_that_cannot_be_reached_are_left_out():
    lattice = Lattice.from_arcs([(0, 1, "a"), (2, 1, "bcd")], finals=[1])
    found = to_characters(lattice)
    assert found.lattice.num_states == 2
    assert np.array_equal(found.origin, [0])
