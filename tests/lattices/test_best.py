"""The best path against the best of all enumerated paths, ties included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.algorithms import best, best_path
from lattices.algorithms.best import arc_ranks, best_arcs
from lattices.arrays import floats, ints
from lattices.errors import SpaceError
from lattices.spaces import Hypothesis, Lattice
from tests.strategies import small_lattices


def in_order(path: Hypothesis) -> tuple[float, tuple[str, ...], tuple[int, ...]]:
    return -path.score, path.tokens, path.arcs


@given(small_lattices(exact=True))
def test_the_best_is_the_first_of_all_paths(lattice):
    assert best(lattice) == min(lattice.paths(), key=in_order)


@given(small_lattices(exact=False))
def test_the_score_is_the_highest_there_is(lattice):
    found = best(lattice)
    assert found.score == max(path.score for path in lattice.paths())
    assert found == lattice.hypothesis(best_path(lattice).tolist())


@given(small_lattices(exact=True), st.data())
def test_the_kernel_breaks_ties_by_words_then_by_ties(lattice, data):
    # few values, so that many arcs share one and many paths are the same to the caller
    numbers = st.integers(0, 2)
    arcs = lattice.num_arcs
    tie = data.draw(st.lists(numbers, min_size=arcs, max_size=arcs))
    rank = data.draw(st.lists(st.integers(-1, 1), min_size=arcs, max_size=arcs))
    forbidden = data.draw(st.lists(st.booleans(), min_size=arcs, max_size=arcs))
    score = np.where(np.array(forbidden, bool), -np.inf, lattice.score)

    def key(path: tuple[int, ...]) -> tuple[float, list[int], list[int]]:
        value = float(lattice.final[lattice.dst[path[-1]] if path else lattice.start])
        for arc in reversed(path):
            value = float(score[arc]) + value
        return -value, [rank[arc] for arc in path if rank[arc] >= 0], [tie[arc] for arc in path]

    value, found = best_arcs(
        lattice.src,
        lattice.dst,
        lattice.in_arc,
        lattice.in_offset,
        ints(rank),
        floats(score),
        lattice.final,
        lattice.start,
        ints(tie),
    )
    expected = min(key(path.arcs) for path in lattice.paths())
    assert value == -expected[0]
    if value > -np.inf:
        assert key(tuple(found.tolist())) == expected


def test_a_sentence_comes_before_its_extensions():
    arcs = [(0, 1, "a"), (1, 2, "b"), (1, 2, "")]
    assert best(Lattice.from_arcs(arcs, finals=[2])).tokens == ("a",)
    assert best(Lattice.from_arcs(arcs, finals=[1, 2])).arcs == (0,)


def test_words_are_compared_as_strings_whatever_their_numbers():
    arcs = [(0, 1, "z"), (0, 1, "é"), (0, 1, "a")]
    assert best(Lattice.from_arcs(arcs, finals=[1])).text == "a"
    assert best(Lattice.from_arcs(arcs[:2], finals=[1])).text == "z"


def test_long_ties_are_walked_without_recursion():
    length = 3000
    arcs = [(state, state + 1, "a") for state in range(length) for _ in range(2)]
    found = best(Lattice.from_arcs(arcs, finals=[length]))
    assert found.arcs == tuple(range(0, 2 * length, 2))


def test_epsilon_has_no_rank():
    lattice = Lattice.from_arcs([(0, 1, ""), (0, 1, "b"), (0, 1, "a")], finals=[1])
    epsilon, b, a = arc_ranks(lattice).tolist()
    assert (epsilon, sorted([b, a])) == (-1, [a, b])


def test_without_a_complete_path():
    with pytest.raises(SpaceError, match="has no complete path"):
        best(Lattice.from_arcs([(1, 2, "a")], finals=[2]))
