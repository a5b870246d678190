"""Evidence: probabilities of sentences, by enumeration."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.minimum_risk.evidence import Evidence, equal_sentences, evidence_of, path_masses
from lattices import Hypothesis, NBest
from lattices.algorithms import k_best
from lattices.errors import OptionError, SpaceError
from lattices.spaces import Lattice
from tests.decoding.minimum_risk.lists import nbest_of, small_lists
from tests.strategies import small_forests, small_lattices

SCALES = st.sampled_from([0.0, 0.3, 1.0, 20.0])


def probabilities(evidence):
    found = {
        evidence.nbest.tokens(entry): weight
        for entry, weight in enumerate(evidence.weight.tolist())
    }
    assert len(found) == len(evidence.nbest)
    return found


def by_enumeration(paths, scale, merge="sum"):
    """Return the probability of each sentence of ``(words, score)`` pairs."""
    masses = defaultdict(list)
    for tokens, score in paths:
        masses[tuple(tokens)].append(math.exp(scale * score))
    merged = {
        tokens: math.fsum(some) if merge == "sum" else max(some) for tokens, some in masses.items()
    }
    total = math.fsum(merged.values())
    return {tokens: mass / total for tokens, mass in merged.items()}


def check(found, expected):
    assert found == pytest.approx(
        {key: value for key, value in expected.items() if value}, rel=1e-9
    )


@given(small_lists(), SCALES, st.sampled_from(["sum", "max"]))
def test_lists(nbest, scale, merge):
    expected = by_enumeration([(each.tokens, each.score) for each in nbest], scale, merge)
    check(probabilities(evidence_of(nbest, scale=scale, merge=merge)), expected)


@given(small_lattices(), SCALES)
def test_a_sentence_of_a_lattice_has_the_mass_of_all_its_paths(lattice, scale):
    expected = by_enumeration([(path.tokens, path.score) for path in lattice.paths()], scale)
    check(probabilities(evidence_of(lattice, scale=scale, k=1000)), expected)


@given(small_lattices(), SCALES, st.integers(1, 3))
def test_the_k_best_of_a_lattice(lattice, scale, k):
    few = k_best(lattice, k, distinct=True)
    whole = by_enumeration([(path.tokens, path.score) for path in lattice.paths()], scale)
    total = sum(whole[each.tokens] for each in few)
    expected = {each.tokens: whole[each.tokens] / total for each in few}
    check(probabilities(evidence_of(lattice, scale=scale, k=k)), expected)
    best = by_enumeration([(each.tokens, each.score) for each in few], scale, "max")
    check(probabilities(evidence_of(lattice, scale=scale, k=k, merge="max")), best)


@settings(max_examples=40)
@given(small_forests(), SCALES, st.sampled_from(["sum", "max"]))
def test_forests(forest, scale, merge):
    every = k_best(forest, 1000)
    expected = by_enumeration([(each.tokens, each.score) for each in every], scale, merge)
    check(probabilities(evidence_of(forest, scale=scale, k=1000, merge=merge)), expected)


@given(small_lattices(), st.integers(0, 3))
def test_a_path_may_be_cut_into_parts_of_its_mass(lattice, arc):
    """Duplicating an arc with split mass changes nothing."""
    if arc >= lattice.num_arcs:
        return
    arcs = [
        (int(src), int(dst), lattice.vocabulary.word(int(label)), float(score))
        for src, dst, label, score in zip(
            lattice.src, lattice.dst, lattice.label, lattice.score, strict=True
        )
    ]
    src, dst, word, score = arcs[arc]
    arcs[arc] = (src, dst, word, score + math.log(0.25))
    arcs.insert(0, (src, dst, word, score + math.log(0.75)))
    finals = {int(state): float(lattice.final[state]) for state in lattice.finals}
    split = Lattice.from_arcs(arcs, finals=finals, states=lattice.num_states, start=lattice.start)
    expected = probabilities(evidence_of(lattice, k=1000))
    assert probabilities(evidence_of(split, k=1000)) == pytest.approx(expected, rel=1e-9)


@given(small_lattices())
def test_sentences_that_a_lattice_has_not(lattice):
    lattice.vocabulary.add("nowhere")
    entries = [Hypothesis(("nowhere",)), Hypothesis(("a",) * 20)]
    nbest = NBest.from_hypotheses(entries, vocabulary=lattice.vocabulary)
    assert path_masses(lattice, nbest, 1.0).tolist() == [-np.inf, -np.inf]


@given(small_lists(max_size=4), small_lists(max_size=4), st.floats(0, 1), SCALES)
def test_systems_are_mixed(one, other, share, scale):
    weights = [share * 3, 3 - share * 3]
    found = probabilities(evidence_of([one, other], scale=scale, system_weights=weights))
    expected: dict[tuple[str, ...], float] = defaultdict(float)
    for nbest, weight_of_all in zip((one, other), weights, strict=True):
        part = weight_of_all / sum(weights)
        own = by_enumeration([(each.tokens, each.score) for each in nbest], scale)
        for tokens, weight in own.items():
            expected[tokens] += part * weight
    assert found == pytest.approx(
        {key: value for key, value in expected.items() if value}, rel=1e-9, abs=1e-300
    )


def test_given_weights_and_uniform_ones():
    nbest = nbest_of("a", "b", "a", "c", scores=[0, -9, -3, -4])
    assert probabilities(evidence_of(nbest, weights=[1, 4, 3, 0])) == {("a",): 0.5, ("b",): 0.5}
    assert evidence_of(nbest, uniform=True).weight.tolist() == [0.5, 0.25, 0.25]
    assert evidence_of(nbest, scale=0.0).weight.tolist() == [0.5, 0.25, 0.25]
    both = evidence_of([nbest, nbest_of("a")], weights=[[0, 1, 0, 0], [2]], system_weights=[3, 1])
    assert probabilities(both) == {("b",): 0.75, ("a",): 0.25}


def test_the_best_entries_of_a_list():
    nbest = nbest_of("a", "b", "c", scores=[-2, -1, -3])
    assert set(probabilities(evidence_of(nbest, k=2))) == {("a",), ("b",)}


def test_samples_have_their_frequencies():
    lattice = Lattice.from_arcs([(0, 1, "a", 0.0), (0, 1, "b", math.log(3.0))], finals=[1], id="x")
    nbest = nbest_of("a", "b", scores=[0.0, math.log(3.0)], id="x")
    for space in (lattice, nbest):
        found = probabilities(evidence_of(space, samples=4000, seed=1))
        assert found[("b",)] == pytest.approx(0.75, abs=0.03)
        assert found == probabilities(evidence_of(space, samples=4000, seed=1))
        assert found != probabilities(evidence_of(space, samples=4000, seed=2))


def test_scores_that_are_far_apart():
    found = evidence_of(nbest_of("a", "b", scores=[-1e6, -3e6]), scale=1e4)
    assert probabilities(found) == {("a",): 1.0}
    lattice = Lattice.from_arcs([(0, 1, "a", -1e6), (0, 1, "b", -3e6)], finals=[1])
    assert probabilities(evidence_of(lattice, scale=1e4)) == {("a",): 1.0}


def test_a_million_duplicates():
    count = 1_000_000
    label = np.resize([1, 2, 3, 1, 2, 4], 3 * count)
    words = nbest_of("a b c d").vocabulary
    nbest = NBest(words, label, np.arange(0, 3 * count + 1, 3), np.zeros(count))
    assert probabilities(evidence_of(nbest)) == pytest.approx(
        {("a", "b", "c"): 0.5, ("a", "b", "d"): 0.5}
    )


@given(st.lists(st.lists(st.integers(1, 3), max_size=4), max_size=12))
def test_equal_sentences(rows):
    offset = np.cumsum([0, *map(len, rows)])
    sentence, first = equal_sentences([each for row in rows for each in row], offset)
    known = list(dict.fromkeys(map(tuple, rows)))
    assert sentence.tolist() == [known.index(tuple(row)) for row in rows]
    assert first.tolist() == [list(map(tuple, rows)).index(row) for row in known]


TWO = nbest_of("a", "b", id="two")


@pytest.mark.parametrize(
    ("spaces", "options", "message"),
    [
        (TWO, {"weights": [1.0, math.nan]}, "not nan"),
        (TWO, {"weights": [1.0, -2.0]}, "not -2"),
        (TWO, {"weights": [0, 0]}, "all zero"),
        (TWO, {"weights": [1]}, "1 weights for 2"),
        (TWO, {"weights": ["x", "y"]}, "weights are numbers"),
        (TWO, {"weights": [1, 1], "uniform": True}, "given"),
        (TWO, {"weights": [1, 1], "scale": 2.0}, "given"),
        (TWO, {"scale": math.nan}, "scale"),
        (TWO, {"scale": math.inf}, "scale"),
        (TWO, {"scale": -1.0}, "scale"),
        (TWO, {"merge": "mean"}, "merge=mean"),
        (TWO, {"k": 0}, "at least 1"),
        (TWO, {"samples": 0}, "at least 1 sample"),
        (TWO, {"samples": 3, "k": 3}, "not both"),
        (TWO, {"samples": 3, "uniform": True}, "how often"),
        (TWO, {"samples": 3, "scale": -1.0}, "scale"),
        (TWO, {"system_weights": [1, 2]}, "2 weights of systems"),
        ([TWO, TWO], {"system_weights": [0, 0]}, "all zero"),
        ([TWO, TWO], {"system_weights": [1, math.nan]}, "finite"),
        ([TWO, TWO], {"weights": [[1, 1]]}, "1 systems, but there are 2"),
        ([], {}, "no space"),
        (NBest.from_hypotheses([], id="none"), {}, "no evidence in 'none'"),
        (NBest.from_hypotheses([], id="none"), {"samples": 3}, "empty"),
        (Lattice.from_arcs([(0, 1, "a", -5.0)], finals=[1]), {"scale": 1e308}, "too large"),
    ],
)
def test_what_is_refused(spaces, options, message):
    with pytest.raises(OptionError, match=message):
        evidence_of(spaces, **options)


def test_a_lattice_without_a_complete_path():
    dead = Lattice.from_arcs([(0, 1, "a")], finals=[2], states=3)
    for options in ({}, {"samples": 3}):
        with pytest.raises(SpaceError, match="no complete path"):
            evidence_of(dead, **options)


def test_huge_weights_are_normalised():
    assert Evidence(TWO, [1e308, 1e308]).weight.tolist() == [0.5, 0.5]
