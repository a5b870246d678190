"""Numbers and lengths of paths against enumerations."""

from __future__ import annotations

import math

import pytest
from hypothesis import given

from lattices.algorithms import best, density, log_path_count, path_count, path_lengths
from lattices.errors import SpaceError
from lattices.spaces import Lattice
from tests.strategies import small_lattices

STUCK = Lattice.from_arcs([(1, 2, "a")], finals=[2])


@given(small_lattices())
def test_paths_are_counted(lattice):
    count = sum(1 for _ in lattice.paths())
    assert path_count(lattice) == count
    assert log_path_count(lattice) == pytest.approx(math.log(count), abs=1e-12)


@given(small_lattices())
def test_lengths_are_those_of_paths(lattice):
    lengths = [len(path.tokens) for path in lattice.paths()]
    assert path_lengths(lattice) == (min(lengths), max(lengths))


@given(small_lattices())
def test_density_is_arcs_per_word_of_the_best(lattice):
    assert density(lattice) == lattice.num_arcs / max(1, len(best(lattice).tokens))


@pytest.mark.parametrize("length", [33, 34, 700])
def test_counts_beyond_floats_are_exact(length):
    arcs = [(state, state + 1, word) for state in range(length) for word in "abc"]
    # the unreachable state before the start must not count, nor break the sum
    arcs += [(length + 1, 0, "a"), (length + 1, 0, "b")]
    lattice = Lattice.from_arcs(arcs, finals=[length])
    assert path_count(lattice) == 3**length
    assert log_path_count(lattice) == pytest.approx(length * math.log(3), rel=1e-12)


def test_no_complete_path_is_no_path():
    assert path_count(STUCK) == 0
    assert log_path_count(STUCK) == -math.inf
    for ask in (density, path_lengths):
        with pytest.raises(SpaceError, match="has no complete path"):
            ask(STUCK)


def test_an_empty_best_path_counts_as_one_word():
    assert density(Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "")], finals=[1])) == 2.0
