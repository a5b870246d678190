"""Epsilon removal against sums over the enumerated paths of each sentence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.algorithms import remove_epsilon
from lattices.algorithms.semirings import COUNT, LOG, VITERBI
from lattices.errors import OptionError, SpaceError
from lattices.spaces import Lattice
from lattices.vocabulary import EPSILON
from tests.strategies import FEATURE_NAMES, small_lattices

# few words, so that many arcs have none
lattices = small_lattices(words="a", max_arcs=12)


def by_sentence(
    lattice: Lattice, plus: Callable[[float, float], float]
) -> dict[tuple[str, ...], float]:
    scores: dict[tuple[str, ...], float] = {}
    for path in lattice.paths():
        scores[path.tokens] = plus(scores.get(path.tokens, -np.inf), path.score)
    return scores


@given(lattices, st.sampled_from([VITERBI, LOG]))
def test_every_sentence_keeps_its_sum(lattice, semiring):
    found = remove_epsilon(lattice, semiring)
    assert (found.label != EPSILON).all()
    expected = by_sentence(lattice, semiring.plus)
    assert by_sentence(found, semiring.plus) == pytest.approx(expected, abs=1e-12)


@given(
    small_lattices(words="a", max_arcs=12, exact=True, features=True),
    st.lists(st.sampled_from([-1.0, 0.5, 2.0]), min_size=3, max_size=3),
)
def test_features_follow_the_best_epsilon_path(lattice, weights):
    lattice = lattice.reweighted(dict(zip(FEATURE_NAMES, weights, strict=True)))
    found = remove_epsilon(lattice)
    alternatives = {
        (path.tokens, path.score, *sorted(path.features.items())) for path in lattice.paths()
    }
    for path in found.paths():
        # a path that is really there, its features included
        assert (path.tokens, path.score, *sorted(path.features.items())) in alternatives


def test_under_log_one_arc_stands_for_many():
    lattice = Lattice.from_arcs(
        [(0, 1, "", -1.0, {"lm": 1.0}), (0, 1, "", -1.0), (1, 2, "a", 0.0)], finals=[2], id="one"
    )
    found = remove_epsilon(lattice, LOG)
    assert found.num_arcs == 1
    assert found.score[0] == pytest.approx(np.log(2) - 1)
    assert (found.features, found.feature_names, found.id) == (None, (), "one")


def test_long_chains_outgrow_the_first_store():
    length = 60
    arcs = [(state, state + 1, word) for state in range(length) for word in ("", "a")]
    found = remove_epsilon(Lattice.from_arcs(arcs, finals=[length]))
    # from every state the word can come from any later arc
    assert found.num_arcs == length * (length + 1) // 2
    assert len(found.finals) == length + 1


def test_times_stay_with_their_states():
    lattice = Lattice.from_arcs(
        [(0, 1, ""), (1, 2, "a"), (2, 3, "")], finals=[3], times=[0.0, 1.0, 2.0, 3.0]
    )
    found = remove_epsilon(lattice)
    assert found.times is not None
    assert found.times.tolist() == [0.0, 2.0]


def test_a_lattice_without_epsilons_is_not_touched():
    lattice = Lattice.from_arcs([(0, 1, "a")], finals=[1])
    assert remove_epsilon(lattice) is lattice


def test_counts_have_no_epsilon_removal():
    with pytest.raises(OptionError, match="COUNT"):
        remove_epsilon(Lattice.from_arcs([(0, 1, "")], finals=[1]), COUNT)


def test_without_a_complete_path():
    with pytest.raises(SpaceError, match="has no complete path"):
        remove_epsilon(Lattice.from_arcs([(0, 1, ""), (2, 3, "a")], finals=[3]))
