"""The best path against the best of all enumerated paths."""

from __future__ import annotations

import pytest
from hypothesis import given

from lattices import Forest
from lattices.algorithms import best, best_path
from lattices.errors import SpaceError
from lattices.spaces import Lattice
from tests.strategies import small_lattices


@given(small_lattices(exact=True))
def test_the_best_is_a_path_of_the_highest_score(lattice):
    found, paths = best(lattice), list(lattice.paths())
    assert found in paths
    assert found.score == max(path.score for path in paths)
    # among ties always the same
    assert found == best(lattice) == best(lattice.replaced(id="again"))


@given(small_lattices(exact=False))
def test_the_score_is_the_highest_there_is(lattice):
    found = best(lattice)
    assert found.score == max(path.score for path in lattice.paths())
    assert found == lattice.hypothesis(best_path(lattice).tolist())


def test_long_ties_are_walked_without_recursion():
    length = 3000
    arcs = [(state, state + 1, "a") for state in range(length) for _ in range(2)]
    found = best(Lattice.from_arcs(arcs, finals=[length]))
    assert found.arcs == tuple(range(0, 2 * length, 2))


def test_ties_always_have_the_same_answer():
    arcs = [(0, 1, "a"), (0, 1, "b"), (1, 2, "b"), (1, 2, "")]
    lattice = Lattice.from_arcs(arcs, finals=[1, 2])
    for space in (lattice, Forest.from_lattice(lattice)):
        assert best(space).score == 0.0
        assert len({best(space).tokens for _ in range(5)}) == 1


def test_without_a_complete_path():
    with pytest.raises(SpaceError, match="has no complete path"):
        best(Lattice.from_arcs([(1, 2, "a")], finals=[2]))
