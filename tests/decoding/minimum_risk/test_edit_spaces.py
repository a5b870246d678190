"""Expected edits over lists, forests and several systems, and what cannot be asked for."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.minimum_risk.edit import edit
from lattices import Forest, Hypothesis, Lattice, NBest, Vocabulary, to_lattice
from lattices.errors import OptionError, SpaceError
from lattices.spaces import Space
from tests.decoding.minimum_risk.test_edit import (
    ENTRIES,
    SCALES,
    Sentence,
    assert_same,
    assert_same_bins,
    nbest_of,
    network_of,
    risk,
)
from tests.strategies import sentences, small_forests, small_lattices


@settings(max_examples=100)
@given(ENTRIES, SCALES)
def test_on_lists_the_objective_is_the_risk(
    rows: list[tuple[list[str], float]], scale: float
) -> None:
    best = min((-score, words) for words, score in rows)[1]
    found = edit(nbest_of(rows), scale=scale, start=best)
    masses: dict[Sentence, float] = defaultdict(float)
    for words, score in rows:
        masses[tuple(words)] += math.exp(scale * score)
    total = sum(masses.values())
    masses = {sentence: mass / total for sentence, mass in masses.items()}
    assert found.objectives[0] == pytest.approx(risk(best, masses), abs=1e-9)
    assert found.expected == pytest.approx(risk(found.tokens, masses), abs=1e-9)
    assert found.evidence == len(rows)
    scores = [score for words, score in rows if tuple(words) == found.tokens]
    assert found.hypothesis.score == max(scores, default=-math.inf)
    if scores:
        assert rows[found.hypothesis.index] == (list(found.tokens), max(scores))


@settings(max_examples=60)
@given(ENTRIES, SCALES.filter(bool), st.data())
def test_equal_entries_share_a_mass(
    rows: list[tuple[list[str], float]], scale: float, data: st.DataObject
) -> None:
    halves = [(words, score - math.log(2) / scale) for words, score in rows for _ in range(2)]
    start = data.draw(sentences(max_size=3))
    nbest = nbest_of(rows)
    one = edit(nbest, scale=scale, start=start)
    # of words that are equally probable the first of the vocabulary is taken: it is the same
    other = NBest.from_hypotheses(
        [Hypothesis(tuple(words), score) for words, score in data.draw(st.permutations(halves))],
        vocabulary=nbest.vocabulary,
    )
    assert_same(one, edit(other, scale=scale, start=start))


def test_a_list_has_its_minimum_where_words_vote() -> None:
    """Three sentences with two words in common each: the fourth is nobody's, and the best."""
    rows = [(list("abx"), 0.0), (list("ayc"), 0.0), (list("zbc"), 0.0)]
    found = edit(nbest_of(rows))
    assert found.text == "a b c"
    assert found.expected == pytest.approx(1.0)
    assert found.hypothesis.score == -math.inf
    assert found.hypothesis.index == -1
    assert [each.confidence for each in found.network.words] == pytest.approx([2 / 3] * 3)


@settings(max_examples=60)
@given(small_forests(), SCALES)
def test_forests(forest: Forest, scale: float) -> None:
    found, judge = edit(forest, scale=scale), edit(to_lattice(forest), scale=scale)
    assert_same(found, judge)
    assert found.hypothesis.score == judge.hypothesis.score
    assert found.hypothesis.arcs == ()


def test_a_forest_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoding.minimum_risk.edit.FOREST_STATES", 3)
    forest = Forest.from_edges(
        [(0, [], ["a"], -1.0), (0, [], ["b"], -2.0), (1, [0, 0], [1, "or", 0], -0.5)]
    )
    with pytest.raises(SpaceError, match=r"more than 3 states as a lattice.*k best sentences"):
        edit(forest)


@settings(max_examples=60)
@given(
    st.lists(small_lattices(max_states=5, max_arcs=7), min_size=1, max_size=3),
    SCALES,
    st.data(),
)
def test_systems_count_by_their_weights(
    lattices: list[Lattice], scale: float, data: st.DataObject
) -> None:
    weights = data.draw(
        st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=len(lattices), max_size=len(lattices))
    )
    start = data.draw(sentences(max_size=3))
    found = edit(lattices, scale=scale, start=start, system_weights=weights, decode=False)
    alone = [edit(lattice, scale=scale, start=start, decode=False) for lattice in lattices]
    total = sum(weights)
    objective = sum(
        weight / total * one.expected for weight, one in zip(weights, alone, strict=True)
    )
    assert found.expected == pytest.approx(objective, abs=1e-9)
    mixed: list[dict[str, float]] = [defaultdict(float) for _ in found.network.bins]
    for weight, one in zip(weights, alone, strict=True):
        for row, part in zip(mixed, network_of(one), strict=True):
            for word, posterior in part.items():
                row[word] += weight / total * posterior
    assert_same_bins(network_of(found), mixed)


def test_a_list_a_lattice_and_nothing_of_a_third() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a", -700.0)], [1])
    systems: list[Space] = [nbest_of([(["b"], 800.0)]), lattice, nbest_of([(["c"], 0.0)])]
    found = edit(systems, system_weights=[1.0, 3.0, 0.0])
    assert network_of(found)[1] == pytest.approx({"a": 0.75, "b": 0.25})
    assert (found.evidence, found.hypothesis.arcs) == (-1, ())
    assert found.hypothesis.score == pytest.approx(math.log(0.75))


@pytest.mark.parametrize(
    ("weights", "problem"),
    [
        ([1.0], "1 weights of systems, but there are 2"),
        ([1.0, -1.0], "not negative and not all zero, not \\[1.0, -1.0\\]"),
        ([1.0, math.nan], "are finite, .*, not \\[1.0, nan\\]"),
        ([0.0, 0.0], "all zero"),
    ],
)
def test_system_weights_that_are_wrong(weights: list[float], problem: str) -> None:
    lattice = Lattice.from_arcs([(0, 1, "a")], [1])
    with pytest.raises(OptionError, match=problem):
        edit([lattice, lattice], system_weights=weights)


def test_what_cannot_be() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a")], [1])
    with pytest.raises(OptionError, match="a scale is a finite number from 0 on"):
        edit(lattice, scale=math.inf)
    with pytest.raises(OptionError, match="a scale is a finite number from 0 on"):
        edit(nbest_of([([], 0.0)]), scale=math.nan)
    with pytest.raises(OptionError, match="2 weights of systems, but there are 1"):
        edit(lattice, system_weights=[1.0, 1.0])
    with pytest.raises(OptionError, match="no space"):
        edit([])
    with pytest.raises(OptionError, match="is empty"):
        edit(NBest.from_hypotheses([]))
    for wrong in ({"starts": 0}, {"starts": 2, "start": ["a"]}, {"starts": 2, "decode": False}):
        with pytest.raises(OptionError, match="starts is"):
            edit(lattice, **wrong)
    with pytest.raises(OptionError, match="iterations is -1"):
        edit(lattice, iterations=-1)
    with pytest.raises(OptionError, match="swaps is -1, expected 0 or more"):
        edit(lattice, swaps=-1)
    with pytest.raises(OptionError, match="expected a list of words"):
        edit(lattice, start="a b")
    with pytest.raises(SpaceError, match="no complete path"):
        edit(Lattice.from_arcs([(0, 1, "a")], [2], states=3))
    with pytest.raises(SpaceError, match="no complete path"):
        edit(Lattice.from_arcs([(1, 2, "a")], [2], start=0))
    for score in (1e308, -1e308):
        with pytest.raises(SpaceError, match=r"too large for scale 1\.0"):
            edit(Lattice.from_arcs([(0, 1, "a", score), (1, 2, "a", score)], [2]))


def test_only_the_empty_sentence() -> None:
    found = edit(Lattice.from_arcs([], [0]))
    assert (found.tokens, found.expected, network_of(found)) == ((), 0.0, [{"": 1.0}])
    assert edit(nbest_of([([], -1.0)])).expected == 0.0


def test_scores_far_apart() -> None:
    """Masses that a float cannot hold are zeros, and no path of them is lost for that."""
    lattice = Lattice.from_arcs([(0, 1, "a", -5e3), (0, 1, "b", 0.0), (1, 2, "c", -9e5)], [2])
    found = edit(lattice)
    assert (found.text, found.expected, found.hypothesis.score) == ("b c", 0.0, -9e5)


def test_a_sentence_that_no_path_has() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (1, 2, "b", -1.0)], [2])
    found = edit(lattice, start=["q", "b", "r"], decode=False)
    assert [(each.word, each.confidence) for each in found.network.words] == [
        ("q", 0.0),
        ("b", 1.0),
        ("r", 0.0),
    ]
    assert (found.expected, found.hypothesis.score) == (2.0, -math.inf)
    assert edit(lattice, start=["q", "b", "r"]).text == "a b"


def test_many_equal_entries() -> None:
    count = 200_000
    words = Vocabulary(["a", "b"])
    nbest = NBest(
        words,
        np.tile(np.array([1, 2], np.int32), count),
        np.arange(0, 2 * count + 1, 2, dtype=np.int32),
        np.zeros(count),
    )
    found = edit(nbest)
    assert (found.text, found.expected, found.evidence) == ("a b", 0.0, count)


def test_what_the_hypothesis_says_of_itself() -> None:
    lattice = Lattice.from_arcs(
        [
            (0, 1, "a", -1.0, {"lm": 1.0}),
            (0, 1, "a", -0.5, {"lm": 2.0}),
            (1, 2, "", -0.25, {"lm": 0.5}),
            (0, 2, "b", -0.5),
        ],
        [2],
    )
    found = edit(lattice)
    assert found.hypothesis == Hypothesis(("a",), -0.75, {"lm": 2.5}, found.hypothesis.arcs)
    assert lattice.hypothesis(found.hypothesis.arcs) == found.hypothesis
