from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from fstmetrics import LeBLEU, corpus_score, parse_metric
from fstmetrics.matching.edits import distances
from fstmetrics.testing import check_metric
from lattices import OptionError

some = st.lists(st.sampled_from(["a", "ab", "abc", "xbc"]), max_size=5)


@given(st.lists(st.text("abc", max_size=70), max_size=4), st.lists(st.text("abcd"), max_size=4))
def test_distances_are_those_of_another_library(some, others):
    found = distances(some, others)
    assert found.shape == (len(some), len(others))
    assert found.tolist() == [[Levenshtein.distance(a, b) for b in others] for a in some]


def plain(words, reference, order, threshold):
    """The definition, an n-gram at a time."""
    others = [
        " ".join(reference[at : at + n])
        for n in range(1, 2 * order + 1)
        for at in range(len(reference) - n + 1)
    ]
    precisions = []
    for n in range(1, order + 1):
        own = Counter(" ".join(words[at : at + n]) for at in range(len(words) - n + 1))
        objective = 0.0
        for phrase, count in own.items():
            scores = [
                1 - Levenshtein.distance(phrase, other) / max(len(phrase), len(other))
                for other in others
            ]
            scores = sorted((score for score in scores if score >= threshold), reverse=True)
            objective += sum(scores[:count])
        if own:
            precisions.append(objective / own.total())
    if not precisions:
        return 0.0
    lengths = len(" ".join(words)), len(" ".join(reference))
    return min(1, math.exp(1 - lengths[1] / lengths[0])) * sum(precisions) / len(precisions)


@given(some, some, st.integers(1, 3), st.sampled_from([0.0, 0.4, 0.75, 1.0]))
def test_the_score_by_its_definition(words, reference, order, threshold):
    metric = LeBLEU(order=order, threshold=threshold)
    found = metric.against([reference]).score(words)
    assert found == pytest.approx(plain(words, reference, order, threshold))


def test_words_with_blanks_are_words():
    assert LeBLEU(order=1).stats([("New York")], [["New York"]]).tolist() == [1.0, 1.0, 8.0, 8.0]


def test_references_and_corpora():
    evaluator = LeBLEU().against(["xyz", "a house by the sea"])
    assert evaluator.score("a house by the sea") == 1.0
    found = corpus_score(LeBLEU(order=1), ["ab", "b"], [["ab"], ["c"]])
    assert found == pytest.approx(1 / 2)
    assert LeBLEU(lowercase=True).against(["A"]).score("a") == 1.0
    assert LeBLEU().against([""]).score("") == LeBLEU().against(["a"]).score("") == 0.0


def test_bad_options():
    with pytest.raises(OptionError, match="order is a whole number from 1 to 100, not 0"):
        LeBLEU(order=0)
    with pytest.raises(OptionError, match="threshold is a number from 0 to 1, not 2"):
        LeBLEU(threshold=2.0)


@pytest.mark.parametrize("metric", ["lebleu", "lebleu:order=2,threshold=0.6,lowercase=true"])
def test_the_laws_hold(metric):
    check_metric(parse_metric(metric))
