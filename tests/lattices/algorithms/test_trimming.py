"""Subsets and trimming against filters over enumerated paths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from lattices.algorithms import (
    Trimmed,
    subset,
    trim,
)
from lattices.algorithms.trimming import find_useful_states
from lattices.errors import OptionError, SpaceError
from lattices.spaces import Lattice
from tests.lattices.algorithms.test_pruning import assert_trimmed, contents, masks, paths_within
from tests.strategies import small_lattices


@given(small_lattices(max_arcs=10), masks, masks)
def test_a_subset_has_the_paths_that_use_nothing_else(lattice, arcs, finals):
    expected = paths_within(lattice, arcs.__getitem__, finals.__getitem__)
    keep = np.array(arcs[: lattice.num_arcs], bool), np.array(finals[: lattice.num_states], bool)
    if expected:
        found = subset(lattice, *keep)
        assert contents(list(found.paths())) == contents(expected)
        assert_trimmed(found)
        assert found.vocabulary is lattice.vocabulary
        assert found.id == lattice.id
    else:
        with pytest.raises(SpaceError, match="has no complete path"):
            subset(lattice, *keep)


def test_a_subset_keeps_what_is_said_of_the_segment():
    lattice = Lattice.from_arcs(
        [(0, 1, "a"), (0, 2, "b"), (2, 3, "c")],
        finals=[1, 3],
        times=[0.0, 1.0, 2.0, 3.0],
        id="one",
        source="x",
        references=["a"],
        metadata={"key": 1},
    )
    found = subset(lattice, [False, True, True], [True] * 4)
    assert (found.id, found.source, found.references, found.metadata) == (
        "one",
        "x",
        ("a",),
        {"key": 1},
    )
    assert found.times is not None
    assert found.times.tolist() == [0.0, 2.0, 3.0]


def test_an_end_that_goes_takes_its_features_along():
    lattice = Lattice.from_arcs(
        [(0, 1, "a", 0.0, {"lm": 1.0}), (1, 2, "b")],
        finals=[1, 2],
        final_features={1: {"lm": 2.0}, 2: {"lm": 3.0}},
    )
    found = subset(lattice, [True, True], [False, False, True])
    assert found.final_features.toarray().tolist() == [[0.0], [0.0], [3.0]]
    assert lattice.final_features.toarray().tolist() == [[0.0], [2.0], [3.0]]


def test_masks_of_nothing():
    lattice = Lattice.from_arcs([], finals=[0])
    assert subset(lattice, [], [True]) is lattice


@pytest.mark.parametrize("mask", [[True], [True, True, True], [1, 0]])
def test_masks_are_checked(mask):
    lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1])
    with pytest.raises(OptionError, match="one bool for each of 2 arcs"):
        subset(lattice, mask, [True, True])


@given(small_lattices())
def test_trimming_removes_all_that_lies_on_no_path(lattice):
    trimmed = trim(lattice)
    found, states, arcs = trimmed.space, trimmed.states_removed, trimmed.arcs_removed
    assert_trimmed(found)
    assert find_useful_states(lattice).sum() == found.num_states
    assert found.num_states + states == lattice.num_states
    assert found.num_arcs + arcs == lattice.num_arcs
    assert contents(list(found.paths())) == contents(list(lattice.paths()))
    assert trim(found) == Trimmed(found, 0, 0)


def test_nothing_to_trim_to():
    with pytest.raises(SpaceError, match="has no complete path"):
        trim(Lattice.from_arcs([(1, 2, "a")], finals=[2]))
