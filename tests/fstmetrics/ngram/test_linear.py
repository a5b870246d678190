"""The machine of linear BLEU against the sum it stands for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fstmetrics import BLEU, LinearBLEU, parse_metric
from fstmetrics.ngram.linear import Factors, ngram_machine
from fstmetrics.testing import check_metric
from lattices import Lattice, OptionError, Vocabulary
from lattices._native import sentence_ngrams
from lattices.arrays import ints
from lattices.intersection import ENGINES
from lattices.intersection.rows import RowMachine, lowest_path
from lattices.limits import Limits
from tests.judges import linear_gain
from tests.strategies import examples, sentences, small_lattices

engines = st.sampled_from(["kernel", "openfst"])
metrics = st.builds(
    LinearBLEU,
    order=st.integers(1, 5),
    p=st.sampled_from([0.85, 0.5]),
    r=st.sampled_from([0.75, 1.0, 0.3]),
    T=st.sampled_from([1.0, 10.0]),
    lowercase=st.booleans(),
)


def gain(words, references, metric):
    """The linear form, with the factors of Tromble et al."""
    theta = [1 / (metric.order * metric.T * metric.p * metric.r**n) for n in range(metric.order)]
    factors = Factors(-1 / metric.T, tuple(theta))
    return linear_gain(words, references, factors, metric.lowercase)


@settings(max_examples=examples(300))
@given(small_lattices(), st.lists(sentences(), min_size=1, max_size=3), metrics, engines)
def test_the_best_path_gains_most(lattice, references, metric, engine):
    if engine == "openfst":
        pytest.importorskip("pynini")
    machine = metric.against(references).machine(lattice.vocabulary, lattice.label)
    found = ENGINES.get(engine).best([(lattice, machine)])[0]
    expected = max(gain(path.tokens, references, metric) for path in lattice.paths())
    near = pytest.approx(expected, rel=1e-5, abs=1e-5)
    assert found.value == near
    assert gain(lattice.hypothesis(found.arcs).tokens, references, metric) == near
    assert (machine.relation, machine.proves) == ("proxy", False)


@settings(max_examples=100)
@given(small_lattices(), st.lists(sentences(), min_size=1, max_size=2), metrics)
def test_rows_have_one_value_a_sentence(lattice, references, metric):
    machine = metric.against(references).machine(lattice.vocabulary)
    rows = RowMachine(machine.automaton, lattice.num_states)
    value, path = lowest_path(lattice, rows, Limits(100_000), model_weight=0.0)
    expected = min(gain(each.tokens, references, metric) for each in lattice.paths())
    assert value * machine.unit == pytest.approx(expected, abs=1e-6)
    tokens = lattice.hypothesis(path.tolist()).tokens
    assert gain(tokens, references, metric) == pytest.approx(expected, abs=1e-6)


def test_values_of_ngrams_are_weights():
    # a b: 1, 0.5 and 0.25 for a, a b, b
    trie, _ = sentence_ngrams(ints([1, 2]), ints([0, 2]), 2)
    values = {(1,): 1.0, (1, 2): 0.5, (2,): 0.25}
    rows = trie.rows().tolist()
    names = [()]
    for prefix, word, _, _ in rows[1:]:
        names.append((*names[prefix], word))
    machine = ngram_machine(
        trie, np.array([values.get(each, 0.0) for each in names]), Factors(-1.0, (2.0, 4.0))
    )
    vocabulary = Vocabulary(["a", "b", "c"])
    for text, value in [
        ("a", -1 + 2), ("b", -1 + 0.5), ("a b", -2 + 2 + 0.5 + 2), ("b a", -2 + 2.5),
        ("a c b", -3 + 2.5), ("a a b", -3 + 4 + 0.5 + 2), ("", 0.0),
    ]:  # fmt: skip
        words = text.split()
        arcs = [(at, at + 1, word) for at, word in enumerate(words)]
        line = Lattice.from_arcs(
            arcs, finals=[len(words)], states=len(words) + 1, vocabulary=vocabulary
        )
        assert ENGINES.get("kernel").best([(line, machine)])[0].value == value


def test_the_factors_are_those_of_the_paper():
    factors = LinearBLEU(p=0.8, r=0.6, T=5).factors
    assert factors.word == -1 / 5
    assert factors.ngram == pytest.approx([1 / (4 * 5 * 0.8 * 0.6**n) for n in range(4)])
    weighted = LinearBLEU(order=2, weights="3/1", p=0.8, r=0.6, T=5).factors
    assert weighted.ngram == pytest.approx([0.75 / (5 * 0.8), 0.25 / (5 * 0.8 * 0.6)])


def test_it_is_the_gradient_of_log_bleu():
    # one more word, of which the unigram and bigram match, changes log BLEU as theta says
    precision = [0.8, 0.8 * 0.6]
    words = 1e7
    row = np.array([precision[0] * words, precision[1] * words, words, words, words, 1.0])
    more = np.add(row, [1, 1, 1, 1, 1, 0])
    metric = LinearBLEU(order=2, p=0.8, r=0.6, T=words)
    change = math.log(metric.score(more)) - math.log(metric.score(row))
    expected = metric.factors.word + sum(metric.factors.ngram)
    assert change == pytest.approx(expected, rel=1e-3)


def test_scores_are_those_of_bleu():
    references = ["the cat sat on the mat"]
    for text in ("the cat sat on a mat", "", "cat"):
        assert LinearBLEU(smooth="exp").against(references).score(text) == (
            BLEU(smooth="exp").against(references).score(text)
        )


def test_p_and_r_of_a_corpus():
    metric = LinearBLEU(order=3)
    row = np.array([80.0, 24.0, 9.0, 100, 50, 40, 100, 100])
    fitted = metric.fitted(row)
    assert fitted.p == 0.8
    # log(0.48 / 0.8) and log(0.225 / 0.8) are nearest to log r and 2 log r
    assert math.log(fitted.r) == pytest.approx((math.log(0.6) + 2 * math.log(0.28125)) / 5)
    with pytest.raises(OptionError, match="p and r need matches of every order"):
        metric.fitted(row * [1, 1, 0, 1, 1, 1, 1, 1])


def test_the_laws_hold():
    check_metric(LinearBLEU())
    check_metric(parse_metric("linear-bleu:order=2,p=0.6,r=0.5,lowercase=true,smooth=exp"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "char"}, "reads the words of lattices as they are"),
        ({"tokenize": "13a"}, "reads the words of lattices as they are"),
        ({"p": 0.0}, "p is a positive number"),
        ({"order": 17}, "17"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(OptionError, match=message):
        LinearBLEU(**options)
