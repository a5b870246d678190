"""The k best paths and sentences against sorted enumerations."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from lattices.algorithms import best, k_best, k_best_paths
from lattices.algorithms.kbest import k_best_lists, list_of_paths
from lattices.errors import OptionError, SpaceError
from lattices.spaces import Hypothesis, Lattice
from tests.strategies import small_forests, small_lattices


def by_score(paths: Iterable[Hypothesis]) -> list[Hypothesis]:
    return sorted(paths, key=lambda path: -path.score)


def by_sentence(lattice: Lattice) -> list[Hypothesis]:
    first: dict[tuple[str, ...], Hypothesis] = {}
    for path in by_score(lattice.paths()):
        first.setdefault(path.tokens, path)
    return list(first.values())


@given(small_lattices(exact=True, max_arcs=12), st.integers(1, 12))
def test_all_paths_in_order(lattice, k):
    every = {path.arcs: path for path in lattice.paths()}
    found = k_best(lattice, k)
    assert [path.score for path in found] == [path.score for path in by_score(every.values())[:k]]
    assert len({path.arcs for path in found}) == len(found)
    assert all(every[path.arcs] == path for path in found)
    assert k_best(lattice, k) == found


@given(small_lattices(exact=True, max_arcs=12, words="ab"), st.integers(1, 12))
def test_all_sentences_in_order(lattice, k):
    every = {path.arcs: path for path in lattice.paths()}
    best_of = {path.tokens: path.score for path in by_sentence(lattice)}
    found = k_best(lattice, k, distinct=True)
    assert [path.score for path in found] == sorted(best_of.values(), reverse=True)[:k]
    assert len({path.tokens for path in found}) == len(found)
    assert all(best_of[path.tokens] == path.score for path in found)
    assert all(every[path.arcs] == path for path in found)
    assert k_best(lattice, k, distinct=True) == found


@given(small_lattices(exact=False))
def test_scores_are_exact_whatever_the_rounding(lattice):
    everything = k_best(lattice, 10**6)
    assert [path.score for path in everything] == sorted(
        (path.score for path in lattice.paths()), reverse=True
    )
    assert len({path.arcs for path in everything}) == len(everything)
    sentences = k_best(lattice, 10**6, distinct=True)
    assert [path.score for path in sentences] == [path.score for path in by_sentence(lattice)]
    assert everything[0].score == sentences[0].score == best(lattice).score


def grid(length: int, words: str, copies: int = 1) -> Lattice:
    """Return a lattice of ``(len(words) * copies) ** length`` paths, all of score 0."""
    arcs = [
        (state, state + 1, word) for state in range(length) for word in words for _ in range(copies)
    ]
    return Lattice.from_arcs(arcs, finals=[length])


def test_ties_without_end():
    found = k_best(grid(60, "ba"), 4, distinct=True)
    assert len({path.tokens for path in found}) == 4
    assert [path.score for path in found] == [0.0] * 4
    assert k_best(grid(60, "ba"), 4, distinct=True) == found


def test_a_sentence_with_very_many_paths_comes_once():
    found = k_best(grid(40, "ab", copies=5), 50, distinct=True)
    assert len({path.tokens for path in found}) == 50


def test_one_sentence_on_very_many_paths():
    assert [path.text for path in k_best(grid(40, "a", copies=2), 2, distinct=True)] == [
        "a " * 39 + "a"
    ]


def test_stores_grow():
    lattice = grid(12, "ab", copies=2)
    everything = k_best(lattice, 5000, distinct=True)
    assert len({path.tokens for path in everything}) == len(everything) == 2**12
    paths = k_best_paths(lattice, 20_000)
    assert len({tuple(row) for row in paths.arcs.reshape(-1, 12).tolist()}) == 20_000


def test_k_is_at_least_one():
    lattice = grid(1, "a")
    with pytest.raises(OptionError, match="k is 0"):
        k_best(lattice, 0)
    with pytest.raises(TypeError):
        k_best(lattice, 1.5)


def test_without_a_complete_path():
    with pytest.raises(SpaceError, match="has no complete path"):
        k_best(Lattice.from_arcs([(1, 2, "a")], finals=[2]), 3)


def test_features_at_the_ends_alone() -> None:
    plain = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b", -1.0)], finals=[1])
    ends = csr_array(np.array([[0.0, 0.0], [0.0, 2.0]]))
    lattice = replace(plain, final_features=ends, feature_names=("x", "y"))
    assert [found.features for found in k_best(lattice, 2)] == [{"y": 2.0}, {"y": 2.0}]
    assert best(lattice).features == {"y": 2.0}


SPACES = st.one_of(small_lattices(features=True), small_lattices(), small_forests())


@given(st.lists(SPACES, max_size=5), st.integers(1, 9), st.booleans(), st.integers(1, 3))
def test_lists_of_a_batch_are_the_k_best_of_each(spaces, k, distinct, workers):
    found = k_best_lists(spaces, k, distinct, workers)
    for space, nbest in zip(spaces, found, strict=True):
        best_here = k_best(space, k, distinct)
        for one in (nbest, pickle.loads(pickle.dumps(nbest)), nbest.replaced(id="other")):
            assert [(each.tokens, each.score) for each in one] == [
                (each.tokens, each.score) for each in best_here
            ]
            assert [each.features for each in one] == [each.features for each in best_here]
            assert one.feature_names == space.feature_names
            assert (one.features is None) == (space.features is None)
        assert nbest.about == space.about
        # what a constructor would have checked
        assert [each.tokens for each in replace(nbest)] == [each.tokens for each in best_here]
        again = list_of_paths(space, k_best_paths(space, k, distinct))
        assert [list(again), again.about] == [list(nbest), nbest.about]


def test_lists_of_a_batch_share_the_columns_that_were_made():
    lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -2.0)], finals=[1])
    one, other = k_best_lists([lattice, lattice], 5)
    for name in ("label", "offset", "score"):
        assert getattr(one, name).base is getattr(other, name).base
        assert not getattr(one, name).flags.writeable


@pytest.mark.parametrize("place", [0, 1])
def test_a_list_that_cannot_be_made_is_named(place):
    good = Lattice.from_arcs([(0, 1, "a", -1.0, {"x": 1.0})], finals=[1], id="good")
    dead = Lattice.from_arcs([(0, 1, "a"), (2, 3, "b")], finals=[3], id="dead")
    spaces = [good, good]
    spaces[place] = dead
    with pytest.raises(SpaceError, match="lattice 'dead' has no complete path"):
        k_best_lists(spaces, 3)
    with pytest.raises(OptionError, match="k is 0, expected at least 1"):
        k_best_lists([good], 0)
    steep = {"x": 1e308}
    arcs = [(0, 1, "a", -1.0, steep), (1, 2, "a", -1.0, steep)]
    spaces[place] = Lattice.from_arcs(arcs, finals=[2], id="steep")
    with pytest.raises(SpaceError, match="features hold a value that is not finite"):
        k_best_lists(spaces, 3)
