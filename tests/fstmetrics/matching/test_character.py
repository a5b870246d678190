from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fstmetrics import WER, CharacTER, corpus_score, parse_metric
from fstmetrics.matching.character import shift, shift_cost
from fstmetrics.testing import check_metric

some = st.lists(st.sampled_from(["a", "bb", "ccc"]), max_size=6).map(tuple)


def edits(words, reference):
    return WER().against([reference]).stats(words)[1:4].sum()


@given(some, some)
def test_shifts_move_words_and_save_edits(words, reference):
    shifted = shift(words, reference)
    assert sorted(shifted) == sorted(words)
    assert edits(shifted, reference) <= edits(words, reference)
    # what is shifted is done
    assert shift(shifted, reference) == shifted
    assert (shift_cost(words, shifted) > 0) == (shifted != words)


def test_worked_examples():
    evaluator = CharacTER().against(["the cat sat"])
    assert evaluator.score("the cat sat") == 0.0
    # one phrase moved, words of 3 letters: 3 of 11
    assert evaluator.score("sat the cat") == pytest.approx(3 / 11)
    # the hypothesis's length, not the reference's
    assert evaluator.score("the cat") == pytest.approx(4 / 7)
    assert evaluator.score("xxxx") == pytest.approx(11 / 4)
    # two phrases of words of 1 and 3 letters went to the right of others
    assert shift_cost(("a", "ccc", "bb"), ("bb", "a", "ccc")) == 2.0


def test_empty_sides_and_references():
    assert CharacTER().against([""]).score("") == 0.0
    assert CharacTER().against(["a"]).score("") == CharacTER().against([""]).score("a") == 1.0
    assert CharacTER().against(["x", "a b"]).score("a b") == 0.0
    found = corpus_score(CharacTER(), ["the cat sat", "the cat"], [["the cat sat"]] * 2)
    assert found == pytest.approx((0 + 4 / 7) / 2)
    assert CharacTER(lowercase=True).against(["A b"]).score("a B") == 0.0


@pytest.mark.parametrize("metric", ["character", "character:lowercase=true"])
def test_the_laws_hold(metric):
    check_metric(parse_metric(metric))
