from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from fstmetrics import RIBES, corpus_score, parse_metric
from fstmetrics.matching.ribes import align_in_context
from fstmetrics.testing import check_metric
from lattices import OptionError


@given(st.permutations(range(7)), st.lists(st.sampled_from("xyz"), max_size=3))
def test_of_distinct_words_it_is_kendalls_tau(order, others):
    words, reference = tuple(map(str, order)), tuple(map(str, range(7)))
    tau = kendalltau(order, range(7)).statistic
    precision = 7 / (7 + len(others))
    score = RIBES().against([reference]).score(words + tuple(others))
    assert score == pytest.approx((tau + 1) / 2 * precision**0.25)


def test_words_that_come_twice_are_matched_in_context():
    reference = ("the", "cat", "saw", "the", "dog")
    assert align_in_context(reference, reference) == [0, 1, 2, 3, 4]
    moved = ("the", "dog", "saw", "the", "cat")
    # the second is found behind "saw" before it is found in front of "cat"
    assert align_in_context(moved, reference) == [3, 4, 2, 3, 1]
    # no n-gram with it comes once on both sides
    assert align_in_context(("the", "the"), reference) == []


def test_brevity():
    evaluator = RIBES(beta=0.5).against(["a b c d"])
    assert evaluator.score("a b") == pytest.approx(math.exp(1 - 4 / 2) ** 0.5)
    assert RIBES(beta=0.0).against(["a b c d"]).score("a b") == 1.0


def test_references():
    assert RIBES().against(["b a", "a b"]).score("a b") == 1.0
    assert RIBES().against(["a"]).score("a") == 1.0
    assert RIBES().against(["a b"]).score("a") == RIBES().against(["a b"]).score("") == 0.0
    # a segment without reference words is not counted
    assert RIBES().stats("a", ["", ""]).tolist() == [0.0, 0.0]
    assert corpus_score(RIBES(), ["a", "a b"], [[""], ["a b"]]) == 1.0
    assert RIBES(lowercase=True).against(["A b"]).score("a B") == 1.0


def test_bad_options():
    for options in ({"alpha": -1.0}, {"beta": math.inf}):
        with pytest.raises(OptionError, match="is a number of at least 0, not"):
            RIBES(**options)


@pytest.mark.parametrize("metric", ["ribes", "ribes:alpha=0.5,beta=0,lowercase=true"])
def test_the_laws_hold(metric):
    check_metric(parse_metric(metric))
