from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fstmetrics import PER, WER, corpus_score, parse_metric
from fstmetrics.testing import check_metric
from lattices import Hypothesis, Lattice, NBest, OptionError
from tests.strategies import sentences


def test_the_laws_hold():
    check_metric(PER())


@given(sentences(), sentences())
def test_it_equals_the_formula_and_is_a_bound_of_wer(hypothesis, reference):
    left = list(reference)
    matches = 0
    for word in hypothesis:
        if word in left:
            left.remove(word)
            matches += 1
    score = PER().against([reference]).score(hypothesis)
    if reference:
        surplus = max(0, len(hypothesis) - len(reference))
        assert score == pytest.approx(1 - (matches - surplus) / len(reference))
    else:
        assert score == len(hypothesis)
    assert score <= WER().against([reference]).score(hypothesis) + 1e-12
    assert PER().against([reference]).score(sorted(hypothesis)) == score


def test_the_best_reference_counts_and_the_corpus_is_pooled():
    assert PER().stats("b a", [["a"], ["a", "b", "c"], ["a", "b"]]).tolist() == [2, 0, 2]
    assert corpus_score(PER(), ["a", "x"], [["a b c"], ["x"]]) == 2 / 4
    assert corpus_score(PER(), ["a", "x"], [[""], ["x"]]) == 1.0
    assert parse_metric("per") == PER()


@given(st.lists(sentences(), max_size=6), st.lists(sentences(), min_size=1, max_size=3))
def test_a_list_is_its_sentences(said, references):
    evaluator = PER().against(references)
    nbest = NBest.from_hypotheses(map(Hypothesis, said))
    rows = evaluator.list_stats(nbest)
    assert rows.shape == (len(said), 3)
    assert rows.tolist() == [evaluator.stats(words).tolist() for words in said]


def test_a_reference_lattice_is_refused():
    with pytest.raises(OptionError, match="not as a lattice"):
        PER().against([Lattice.from_arcs([(0, 1, "a", 0.0)], finals=[1])])
