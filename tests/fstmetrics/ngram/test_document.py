"""BLEU within a document against sacreBLEU of the document, and its linear form against its sum."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from fstmetrics import BLEU, BLEUSBP, TBLEU, DocumentBLEU, corpus_stats
from fstmetrics.contract import has_machine
from lattices import Hypothesis, NBest, OptionError
from lattices.intersection import ENGINES
from tests.judges import linear_gain
from tests.strategies import sentences, small_lattices

metrics = st.builds(
    BLEU,
    order=st.integers(1, 4),
    smooth=st.sampled_from(["add-k", "exp"]),
    lowercase=st.booleans(),
)
documents = st.lists(st.tuples(sentences(), sentences()), min_size=1, max_size=4)


def document_of(metric, pairs):
    hypotheses, references = [pair[0] for pair in pairs], [[pair[1]] for pair in pairs]
    return DocumentBLEU(metric, corpus_stats(metric, hypotheses, references).sum(0), len(pairs))


@settings(max_examples=200)
@given(documents, sentences(), sentences(), metrics)
def test_a_sentence_is_worth_the_bleu_of_the_document_with_it(pairs, said, reference, metric):
    metric = BLEU(order=4, smooth=metric.smooth, lowercase=metric.lowercase)
    value = document_of(metric, pairs).against([reference]).score(said)
    texts = [" ".join(each) for each in (*(pair[0] for pair in pairs), said)]
    references = [" ".join(each) for each in (*(pair[1] for pair in pairs), reference)]
    expected = sacrebleu.corpus_bleu(
        texts, [references], smooth_method=metric.smooth, lowercase=metric.lowercase,
        tokenize="none", force=True,
    ).score  # fmt: skip
    assert value == pytest.approx(len(texts) * expected / 100.0, abs=1e-9)


@settings(max_examples=200)
@given(
    small_lattices(),
    st.lists(sentences(), min_size=1, max_size=3),
    documents,
    metrics,
    st.sampled_from(["kernel", "openfst"]),
)
def test_the_best_path_gains_most(lattice, references, pairs, metric, engine):
    if engine == "openfst":
        pytest.importorskip("pynini")
    evaluator = document_of(metric, pairs).against(references)
    machine = evaluator.machine(lattice.vocabulary, lattice.label)
    found = ENGINES.get(engine).best([(lattice, machine)])[0]

    def gain(tokens):
        return linear_gain(tokens, references, evaluator.metric.factors, metric.lowercase)

    near = pytest.approx(max(gain(path.tokens) for path in lattice.paths()), rel=1e-5, abs=1e-5)
    assert found.value == near
    assert gain(lattice.hypothesis(found.arcs).tokens) == near
    assert machine.relation == "proxy"


@pytest.mark.parametrize(("length", "short"), [(20, True), (30, False)])
def test_factors_are_the_slopes_of_bleu(length, short):
    # matches and totals of orders 1 and 2, length, reference length, of many segments
    metric, row, segments = BLEU(order=2), np.array([15.0, 7, length, length - 1, length, 25]), 1e4
    document = DocumentBLEU(metric, 1e4 * row, segments)
    bleu = math.sqrt(15 / length * 7 / (length - 1)) * math.exp(min(0.0, 1 - 25 / length))
    slopes = [bleu * 0.5 / 15, bleu * 0.5 / 7]
    word = bleu * (-0.5 / length - 0.5 / (length - 1) + (25 / length**2 if short else 0.0))
    assert document.score(row) == pytest.approx((segments + 1) * bleu)
    assert document.factors.ngram == pytest.approx(slopes, rel=1e-3)
    assert document.factors.word == pytest.approx(word, rel=1e-2)


def test_a_document_fades():
    metric = BLEU(order=2, smooth="add-k")
    rows = [metric.stats(said, ["a b c"]) for said in ("a b", "c a b", "b", "a b c")]
    document = DocumentBLEU(metric, 4 * rows[0], 4.0)
    for row in rows[1:]:
        document = document.moved(row, 0.8)
    expected = 0.8**3 * 4 * rows[0] + 0.8**3 * rows[1] + 0.8**2 * rows[2] + 0.8 * rows[3]
    assert document.statistics == pytest.approx(expected)
    assert document.segments == pytest.approx(4.0)


def test_lists_are_scored_as_sentences_are():
    metric = BLEUSBP(order=2, smooth="exp")
    evaluator = DocumentBLEU(metric, metric.stats("a b", ["a c"]), 1.0).against(["a b c", "b c"])
    said = ["a b", "b c", "", "c c c c"]
    nbest = NBest.from_hypotheses([Hypothesis(tuple(each.split()), 0.0) for each in said])
    values = evaluator.metric.scores(evaluator.list_stats(nbest))
    assert values.tolist() == [evaluator.score(each) for each in said]


def test_only_words_have_a_machine():
    for metric, searches in (
        (BLEU(), True), (BLEU(unit="char"), False), (BLEU(tokenize="13a"), False), (TBLEU(), False),
    ):  # fmt: skip
        row = metric.stats("a b", ["a b"])
        assert has_machine(DocumentBLEU(metric, row, 1.0).against(["a b"])) is searches


@pytest.mark.parametrize(
    ("row", "segments", "problem"),
    [
        ([1.0, 1.0], 1.0, "is 4 numbers from 0 up"),
        ([1.0, 1.0, -1.0, 1.0], 1.0, "is 4 numbers from 0 up"),
        ([1.0, 1.0, math.nan, 1.0], 1.0, "is 4 numbers from 0 up"),
        ([1.0, 1.0, 1.0, 1.0], 0.0, "more than 0 segments"),
    ],
)
def test_what_is_no_document_is_refused(row, segments, problem):
    with pytest.raises(OptionError, match=problem):
        DocumentBLEU(BLEU(order=1), row, segments)
