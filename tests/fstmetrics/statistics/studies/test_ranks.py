"""Ranks of systems by metrics and by people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fstmetrics import BLEU, WER, corpus_score, corpus_stats
from fstmetrics.statistics.studies.ranks import competition_ranks, rank_systems
from lattices.errors import OptionError

REFS = [["the cat sat down"], ["on the mat"]]
OUTPUTS = {
    "a": ["the cat sat", "on a mat"],
    "b": ["the cat sat down", "on the mat"],
    "c": ["a cat sat", "on the mat"],
    "d": ["a cat sat", "on the mat"],
}


@given(st.lists(st.integers(-3, 3), max_size=8))
def test_competition_ranks_by_counting(values: list[int]) -> None:
    by_place = sorted(values, reverse=True)
    assert competition_ranks(values) == [1 + by_place.index(value) for value in values]


def test_ranks_are_those_of_the_corpus_scores() -> None:
    metrics = (WER(), BLEU(order=2))
    totals = {
        name: [corpus_stats(metric, lines, REFS).sum(axis=0) for metric in metrics]
        for name, lines in OUTPUTS.items()
    }
    human = {"a": 0.3, "b": 0.2, "c": 0.1, "d": 0.5}
    found = rank_systems(metrics, totals, human)
    assert [one.system for one in found] == ["d", "a", "b", "c"]
    assert [one.human_rank for one in found] == [1, 2, 3, 4]
    for one in found:
        expected = [corpus_score(metric, OUTPUTS[one.system], REFS) for metric in metrics]
        assert one.scores == pytest.approx(expected)
    ranks = {one.system: one.ranks for one in found}
    assert ranks["b"] == (1, 1)
    assert ranks["c"] == ranks["d"]
    assert rank_systems(metrics, totals)[0].system == "b"
    with pytest.raises(OptionError, match="a human score for each system"):
        rank_systems(metrics, totals, {"a": 1.0})
