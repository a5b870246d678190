"""Unions against the paths of their parts."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.algorithms import union
from lattices.errors import OptionError
from lattices.spaces import Hypothesis, Lattice
from lattices.vocabulary import Vocabulary
from tests.strategies import small_lattices


def contents(paths: list[Hypothesis]) -> Counter[tuple[object, ...]]:
    return Counter((p.tokens, p.score, tuple(sorted(p.features.items()))) for p in paths)


@given(st.lists(small_lattices(), min_size=1, max_size=3))
def test_a_union_has_the_paths_of_all(parts):
    expected = contents([path for part in parts for path in part.paths()])
    assert contents(list(union(parts).paths())) == expected


def test_one_lattice_is_its_own_union():
    lattice = Lattice.from_arcs([(0, 1, "a")], finals=[1])
    assert union([lattice]) is lattice


def test_words_are_numbered_by_the_first_vocabulary():
    one = Lattice.from_arcs([(0, 1, "a")], finals=[1], vocabulary=Vocabulary(["a"]))
    other = Lattice.from_arcs([(0, 1, "a"), (1, 2, "b")], finals=[2], vocabulary=Vocabulary("ba"))
    found = union([one, other])
    assert found.vocabulary is one.vocabulary
    assert list(one.vocabulary) == ["a", "b"]
    assert sorted(path.text for path in found.paths()) == ["a", "a b"]


def test_features_are_merged_by_name():
    one = Lattice.from_arcs([(0, 1, "a", 0.0, {"lm": 1.0, "tm": 2.0})], finals=[1])
    other = Lattice.from_arcs(
        [(0, 1, "b", 0.0, {"tm": 3.0})], finals=[1], final_features={1: {"wp": 4.0}}
    )
    plain = Lattice.from_arcs([(0, 1, "c")], finals=[1])
    found = union([one, other, plain])
    assert found.feature_names == ("lm", "tm", "wp")
    assert {path.text: path.features for path in found.paths()} == {
        "a": {"lm": 1.0, "tm": 2.0},
        "b": {"tm": 3.0, "wp": 4.0},
        "c": {},
    }


def test_what_is_said_of_the_segment_comes_from_the_first_who_says_it():
    plain = Lattice.from_arcs([(0, 1, "a")], finals=[1], times=[0.5, 1.0])
    told = Lattice.from_arcs(
        [(0, 1, "b")],
        finals=[1],
        id="one",
        source="x",
        references=["b"],
        metadata={"key": 1},
        times=[0.25, 2.0],
    )
    found = union([plain, told])
    assert (found.id, found.source, found.references, found.metadata) == (
        "one",
        "x",
        ("b",),
        {"key": 1},
    )
    assert found.times is not None
    assert found.times.tolist() == [0.25, 0.5, 1.0, 0.25, 2.0]
    assert union([found, Lattice.from_arcs([(0, 1, "c")], finals=[1])]).times is None


def test_nothing_has_no_union():
    with pytest.raises(OptionError, match="no lattices"):
        union([])
