"""Soft matches to references of different lengths: what rows find equals enumeration.

Such machines have many units: a fine grid of similarities, and a denominator for each length.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decoding
from decoding import oracle_kbest, worst
from fstmetrics import GRR, WER, AffixSimilarity
from fstmetrics.contract import Machine
from lattices import Lattice, Vocabulary
from lattices.arrays import floats, ints
from lattices.intersection import Alignment, Automaton, Part
from lattices.intersection.product_kbest import (
    best_sentences,
    rank_forest_sentences,
    worst_sentences,
)
from lattices.intersection.rows import (
    WIDEST,
    RowMachine,
    fitting,
    largest_total,
    lowest_path,
    row_product,
)
from lattices.limits import Limits
from lattices.spaces import Forest
from tests.strategies import sentences, small_forests, small_lattices

WORDS = ("ab", "abc", "bcd", "xabc")


class Thirds:
    """Similarities that no binary grid has."""

    def matrix(self, words, others):
        value = [[1.0 if one == other else _third(one, other) for other in others] for one in words]
        return floats(np.array(value, dtype=np.float64).reshape(len(words), len(others)))


def _third(one, other):
    return len(set(one) & set(other)) / (3.0 * max(len(one), len(other)))


METRICS = st.builds(
    GRR,
    n=st.sampled_from([1, 2, 4, 9, 40]),
    alpha=st.sampled_from([1.0, 1 / 3, -0.9]),
    beta=st.sampled_from([0.0, 0.25]),
    similarity=st.sampled_from([AffixSimilarity(epsilon=0.5), Thirds()]),
)
REFERENCES = st.lists(
    sentences(WORDS, max_size=9), min_size=2, max_size=4, unique_by=lambda words: len(words)
)
WEIGHTS = st.sampled_from([0.0, 0.5, -0.25])
SIZES = st.sampled_from([1, 2, 5, 1000])


def soft_score(hypothesis, references, metric):
    """Return the best score over the references, trying every alignment."""

    def gain(reference):
        same = np.zeros((len(hypothesis), len(reference)))
        if same.size:
            same = metric.similarity.matrix(tuple(hypothesis), tuple(reference))

        @cache
        def rest(j, i, run):
            options = []
            if j < len(hypothesis) and i < len(reference):
                weight = 1.0 if hypothesis[j] == reference[i] else same[j, i]
                if weight > 0.0:
                    matched = min(run + 1, metric.order)
                    options.append(matched * weight + rest(j + 1, i + 1, run + 1))
                options.append(rest(j + 1, i + 1, 0))
            if j < len(hypothesis):
                options.append(rest(j + 1, i, 0) - metric.insertion)
            if i < len(reference):
                options.append(rest(j, i + 1, 0) - metric.deletion)
            return max(options, default=0.0)

        return rest(0, 0, 0)

    def score(reference):
        possible = sum(max(0, len(reference) - k + 1) for k in range(1, metric.order + 1))
        return gain(reference) / possible if possible else 1.0 + gain(reference)

    return max(map(score, references))


def check_ranking(space, paths, references, metric, weight, k, worst):
    """Compare the k best or worst with enumeration; each sentence once."""
    values = {}
    for path in paths:
        value = soft_score(path.tokens, references, metric) + weight * path.score
        values.setdefault(path.tokens, []).append(value)
    choose = min if worst else max
    wanted = sorted((choose(each) for each in values.values()), reverse=not worst)
    found = (decoding.worst if worst else decoding.oracle_kbest)(
        space, metric.against(references), k, model_weight=weight, budget=10_000
    )
    assert all(each.exact for each in found)
    assert len({each.tokens for each in found}) == len(found) == min(k, len(wanted))
    objective = [
        soft_score(each.tokens, references, metric) + weight * each.hypothesis.score
        for each in found
    ]
    assert objective == pytest.approx(wanted[: len(found)], abs=1e-7)


@settings(max_examples=100)
@given(small_lattices(words=WORDS), REFERENCES, METRICS, WEIGHTS, SIZES, st.booleans())
def test_lattices(lattice, references, metric, weight, k, worst):
    check_ranking(lattice, lattice.paths(), references, metric, weight, k, worst)


@settings(max_examples=100)
@given(small_forests(words=WORDS[:3]), REFERENCES, METRICS, WEIGHTS, SIZES, st.booleans())
def test_forests(forest, references, metric, weight, k, worst):
    check_ranking(forest, forest.derivations(), references, metric, weight, k, worst)


@settings(max_examples=60)
@given(small_lattices(words=WORDS), REFERENCES, METRICS)
def test_the_product_has_the_value_of_every_path(lattice, references, metric):
    machine = metric.against(references).machine(lattice.vocabulary)
    product = row_product(lattice, RowMachine(machine.automaton, lattice.num_states), Limits(10**6))
    graph = product.graph
    for path in graph.paths():
        arcs = list(path.arcs)
        end = int(graph.dst[arcs[-1]]) if arcs else graph.start
        gain = product.opening + product.gain[arcs].sum() + product.final_gain[end]
        expected = soft_score(path.tokens, references, metric)
        assert gain * machine.unit == pytest.approx(expected, abs=1e-7)


def test_an_empty_reference_and_a_long_one():
    lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "")], finals=[1])
    evaluator = GRR(similarity=AffixSimilarity(epsilon=0.5)).against(["", "a a a a"])
    for space in (lattice, Forest.from_lattice(lattice)):
        found = worst(space, evaluator)[0]
        assert (found.text, found.score) == ("a", 0.1)
        assert [each.text for each in worst(space, evaluator, 2)] == ["a", ""]
        assert [each.text for each in oracle_kbest(space, evaluator, 2)] == ["", "a"]


PRIMES = [number for number in range(2, 760) if all(number % each for each in range(2, number))]


@pytest.mark.parametrize(
    ("metric", "lengths"),
    [
        (GRR(similarity=AffixSimilarity(epsilon=0.5)), range(0, 90, 7)),
        (GRR(n=40, alpha=1 / 3, similarity=AffixSimilarity(epsilon=0.5)), range(6)),
        (GRR(), range(0, 90, 7)),
        # the product of these is beyond the largest float
        (WER(), PRIMES),
    ],
)
def test_gains_are_whole_and_fit_whatever_the_references(metric, lengths):
    references = [["a"] * length for length in lengths]
    machine = metric.against(references).machine(Vocabulary(["a", "b"]))
    automaton = machine.automaton
    gains = np.concatenate([automaton.gain, automaton.initial, automaton.final])
    gains = gains[np.isfinite(gains)]
    assert (gains == np.rint(gains)).all()
    # not too large, and not coarser than need be
    assert 2.0**32 < np.abs(gains).max() <= 2.0**33


def test_hard_matches_stay_exact_on_a_coarser_grid():
    metric = GRR(similarity=AffixSimilarity(epsilon=0.5))
    machine = metric.against(["", "a a a a"]).machine(Vocabulary(["a"]))
    finite = machine.automaton.final[np.isfinite(machine.automaton.final)]
    # a hard match is a tenth of the bonus for the empty sentence, with no rounding
    matched = np.unique(machine.automaton.gain[machine.automaton.label > 0])
    assert (matched * 10 == finite.max() * np.arange(1, 5)).all()


@pytest.mark.parametrize("denominators", [(3.0,), (3.0, 7.0), (0.3, 0.7), (1e-3, 1e9), (2.5, 2.5)])
def test_gains_that_are_no_whole_numbers_get_the_finest_grid(denominators):
    loop = Automaton([0], [0], [1], [1 / 3], [0.0], [0.0])
    machine = Machine(tuple(Part(loop, denominator) for denominator in denominators))
    largest = max(1 / 3 / denominator for denominator in denominators)
    assert 2.0**32 <= largest / machine.unit <= 2.0**33
    np.testing.assert_allclose(
        machine.automaton.gain * machine.unit,
        [1 / 3 / denominator for denominator in denominators],
        atol=machine.unit,
    )


def _loop(gain):
    """Return an automaton that counts the words 1 and 2, the first one as ``gain``."""
    return Automaton([0, 0], [0, 0], [1, 2], [gain, gain / 2], [0.0], [0.0])


@pytest.mark.parametrize("gain", [2.0**40, 2.0**52, 2.0**60, 2.0**62, 2.0**70, 2.0**300])
def test_rows_of_huge_gains_change_their_unit_and_not_the_answer(gain):
    arcs = [(state, state + 1, word) for state in range(5) for word in "ab"]
    lattice = Lattice.from_arcs(arcs, finals=[5], vocabulary=Vocabulary(["a", "b"]))
    automaton = _loop(gain)
    machine = RowMachine(automaton, lattice.num_states)
    assert machine.unit == 2.0 ** math.floor(math.log2(machine.unit))
    assert largest_total(machine.automaton, lattice.num_states) < WIDEST
    lowest, path = lowest_path(lattice, machine, Limits(1000), model_weight=0.0)
    assert lowest == 2.5 * gain
    assert lattice.hypothesis(path.tolist()).text == "b b b b b"
    ranked = worst_sentences(lattice, machine, 2, 0.0, Limits(1000))
    assert [lattice.hypothesis(each.tolist()).text for each in ranked] == [
        "b b b b b",
        "a b b b b",
    ]
    (best,) = best_sentences(lattice, automaton, 1, 0.0)
    assert lattice.hypothesis(best.tolist()).text == "a a a a a"
    forest = Forest.from_lattice(lattice)
    (found,) = rank_forest_sentences(forest, automaton, 1, 0.0, Limits(1000), worst=True)
    assert forest.hypothesis(found.tolist()).text == "b b b b b"


def test_gains_fit_where_no_sentence_has_a_word():
    forest = Forest.from_edges([(0, [], [])])
    metric = GRR(n=1, alpha=-0.9, similarity=AffixSimilarity(epsilon=0.5))
    found = worst(forest, metric.against(["ab", "ab ab ab"]))[0]
    assert (found.text, found.score) == ("", 0.0)
    rows = RowMachine(_loop(2.0**40), 0).native
    assert [rows.read(ints([word]))[1][1] for word in rows.words()] == [2**40, 2**39]


def test_the_model_weight_is_in_units_of_the_automaton():
    arcs = [(0, 1, "a", 0.0), (0, 1, "b", 1.0)]
    lattice = Lattice.from_arcs(arcs, finals=[1], vocabulary=Vocabulary(["a", "b"]))
    machine = RowMachine(_loop(2.0**60), 2)
    assert machine.unit > 1.0
    for weight, word, value in ((2.0**58, "b", 0.75), (2.0**60, "a", 1.0)):
        lowest, path = lowest_path(lattice, machine, Limits(9), model_weight=weight)
        assert (lattice.hypothesis(path.tolist()).text, lowest) == (word, value * 2.0**60)
        (first,) = worst_sentences(lattice, machine, 1, weight, Limits(9))
        assert first.tolist() == path.tolist()


def test_epsilon_arcs_on_a_cycle_count_for_every_word():
    # deletions happen once, but this one before each word
    reading = Automaton([0, 1], [1, 0], [0, 1], [-5.0, 1.0], [0.0, -np.inf], [0.0, -np.inf])
    assert largest_total(reading, 10) == 10 * 1.0 + 11 * 5.0
    deleting = Alignment(3, 1, 0.0, 5.0, ints([1]), ints([0]), floats([1]), 1.0).automaton
    assert largest_total(deleting, 10) == 10 * 1.0 + 3 * 5.0


@settings(max_examples=100)
@given(
    small_lattices(words="abc"), sentences("abc", max_size=9), st.sampled_from([WER(), GRR(n=12)])
)
def test_no_total_is_larger_than_the_bound(lattice, reference, metric):
    automaton = metric.against([reference]).machine(lattice.vocabulary).automaton
    assert fitting(automaton, lattice.num_states) == (automaton, 1.0)
    product = row_product(lattice, RowMachine(automaton, lattice.num_states), Limits(10**6))
    bound = largest_total(automaton, lattice.num_states)
    for path in product.graph.paths():
        totals = np.cumsum([product.opening, *product.gain[list(path.arcs)]])
        assert np.abs(totals).max() <= bound
