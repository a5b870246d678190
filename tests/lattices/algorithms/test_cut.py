"""Cuts of lattices against their paths."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.algorithms import concatenate, cut, trim
from lattices.algorithms.union import cut_states
from lattices.errors import OptionError, SpaceError
from lattices.spaces import Lattice
from tests.lattices.algorithms.test_union import contents
from tests.strategies import small_lattices


def rounded(lattice: Lattice) -> Counter[tuple[object, ...]]:
    """Return sentences, and scores as far as the order of sums leaves them alone."""
    return Counter((path.tokens, round(path.score, 9)) for path in lattice.paths())


@given(st.lists(small_lattices(max_arcs=8), min_size=1, max_size=3), st.integers(1, 4))
def test_the_stretches_of_a_lattice_make_it_up(parts: list[Lattice], words: int) -> None:
    lattice = concatenate(parts, id="talk")
    stretches = cut(lattice, words)
    assert rounded(concatenate(stretches)) == rounded(lattice)
    assert len({each.id for each in stretches}) == len(stretches)
    for each in stretches[:-1]:
        assert min(len(path.tokens) for path in each.paths()) >= words


def states_of_paths(lattice: Lattice, state: int, before: frozenset[int]) -> list[frozenset[int]]:
    """Return the states of each complete path that begins with some."""
    here = before | {state}
    found = [here] if lattice.final[state] > -float("inf") else []
    for arc in range(lattice.num_arcs):
        if lattice.src[arc] == state:
            found += states_of_paths(lattice, int(lattice.dst[arc]), here)
    return found


@given(small_lattices(max_arcs=8))
def test_cuts_are_the_states_that_all_paths_pass(lattice: Lattice) -> None:
    whole = trim(lattice).space
    paths = states_of_paths(whole, whole.start, frozenset())
    passed = frozenset.intersection(*paths)
    ends = {int(state) for state in whole.finals}
    # beyond an end there is none
    assert set(cut_states(whole).tolist()) == {each for each in passed if each <= min(ends)}


def test_features_and_times_stay() -> None:
    lattice = Lattice.from_arcs(
        [(0, 1, "a", -1.0, {"lm": 1.0}), (1, 2, "b", -2.0, {"tm": 2.0}), (1, 2, "c", 0.0)],
        {2: -0.5},
        final_features={2: {"wp": 4.0}},
        times=[0.0, 1.5, 3.0],
        id="x",
        references=("a b",),
    )
    one, other = cut(lattice)
    assert (one.id, other.id, one.references) == ("x-1", "x-2", ())
    assert [one.times.tolist(), other.times.tolist()] == [[0.0, 1.5], [1.5, 3.0]]
    joined = concatenate([one, other])
    assert contents(list(joined.paths())) == contents(list(lattice.paths()))
    assert joined.times.tolist() == [0.0, 1.5, 1.5, 3.0]


def test_what_has_no_cut_is_one_stretch() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a"), (1, 2, "b"), (0, 2, "c")], finals=[2], id="x")
    assert [each.id for each in cut(lattice)] == ["x-1"]
    # the second stretch has a sentence without words
    some = Lattice.from_arcs([(0, 1, "a"), (1, 2, "b"), (2, 3, "c")], finals=[1, 3])
    assert [sorted(path.text for path in each.paths()) for each in cut(some)] == [
        ["a"],
        ["", "b c"],
    ]
    with pytest.raises(OptionError, match="at least 1, not 0"):
        cut(lattice, 0)
    with pytest.raises(SpaceError):
        cut(Lattice.from_arcs([(0, 1, "a")], finals=[]))
