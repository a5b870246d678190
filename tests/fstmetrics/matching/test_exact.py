"""Exact match, and the vote among samples."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fstmetrics import Exact
from fstmetrics.matching.exact import last_number
from fstmetrics.testing import check_metric
from lattices import from_hypotheses


@pytest.mark.parametrize("extract", ["none", "number", "last"])
def test_the_laws_of_metrics(extract):
    check_metric(Exact(extract=extract))
    check_metric(Exact(extract=extract, lowercase=True))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("3 + 4 = 7.", "7"), ("1,234,567.50", "1234567.5"), ("x = -3", "-3"), ("+3", "3"),
        (".5", ".5"), ("6.02e23", "6.02e23"), ("0.0", "0"), ("100", "100"), ("no", None),
        ("", None),
    ],
)  # fmt: skip
def test_numbers(text, number):
    assert last_number(text) == number


@settings(max_examples=50)
@given(
    texts=st.lists(st.sampled_from(["a 1", "b 1.0", "2", "none", "so 2"]), min_size=1, max_size=6)
)
def test_votes_are_counts(texts):
    samples = from_hypotheses(texts)
    metric = Exact(extract="number")
    votes = metric.pair_scores(samples, samples).sum(axis=0)
    counts = Counter(last_number(text) for text in texts)
    assert votes.tolist() == [
        0 if last_number(text) is None else counts[last_number(text)] for text in texts
    ]
    for row, reference in zip(metric.pair_scores(samples, samples), texts, strict=True):
        evaluator = metric.against([reference])
        assert row.tolist() == [evaluator.score(text) for text in texts]


def test_any_reference_will_do():
    evaluator = Exact().against(["a b", "c"])
    assert [evaluator.score(text) for text in ("a b", "c", "a", "")] == [1.0, 1.0, 0.0, 0.0]
    assert Exact(lowercase=True).against(["A"]).score("a") == 1.0
