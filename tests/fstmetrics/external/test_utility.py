"""Utilities that are functions of many pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fstmetrics import Normalised, Utility, corpus_score
from fstmetrics.contract import for_segment, nbest_stats
from lattices import Hypothesis, NBest, OptionError

Pairs = list[tuple[str, str]]


def common(pairs: Pairs) -> list[int]:
    return [len({*a.split()} & {*b.split()}) for a, b in pairs]


def listed(*texts: str) -> NBest:
    return NBest.from_hypotheses([Hypothesis(tuple(text.split())) for text in texts])


def test_each_distinct_pair_is_scored_once_in_one_call() -> None:
    calls: list[Pairs] = []

    def scores(pairs: Pairs) -> np.ndarray:
        calls.append(pairs)
        return np.array(common(pairs), dtype=np.float32)

    found = Utility(scores).pair_scores(listed("a b", "b", "a b"), listed("b", "c", "b"))
    assert found.tolist() == [[1, 1, 1], [0, 0, 0], [1, 1, 1]]
    assert [sorted(call) for call in calls] == [
        [("a b", "b"), ("a b", "c"), ("b", "b"), ("b", "c")]
    ]


def test_the_best_reference_counts_and_a_corpus_has_the_mean() -> None:
    better, worse = Utility(common), Utility(common, "n", higher_is_better=False)
    assert better.against(["a", "a b"]).score("a b c") == 2
    assert worse.against(["a", "a b"]).score("a b c") == 1
    assert corpus_score(better, ["a b", "c"], [["a b"], ["d"]]) == 1.0
    assert nbest_stats(better.against(["a b", "c"]), listed("a", "a b", "")).tolist() == [
        [1.0, 1.0],
        [2.0, 1.0],
        [0.0, 1.0],
    ]


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ([1.0], r"mine was given 2 pairs and returned an array of shape \(1,\), expected \(2,\)"),
        ([1.0, float("nan")], r"mine gives \('a', 'c'\) no finite number"),
    ],
)
def test_what_a_function_must_not_return(returned: list[float], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        Utility(lambda pairs: returned, "mine").against(["b", "c"]).score("a")


def test_sources() -> None:
    def scores(triples: list[tuple[str, str, str]]) -> list[int]:
        return [int(hypothesis == source) + (reference == source)
                for hypothesis, reference, source in triples]  # fmt: skip

    utility = Utility(scores, "copies", source=True)
    with pytest.raises(OptionError, match="copies takes the source of a segment, and none is"):
        utility.against(["a"]).score("a")
    with pytest.raises(OptionError, match="copies takes the source of a segment, and this one has"):
        utility.with_source("")
    assert utility.with_source("a b").against(["c", "a b"]).score("a b") == 2
    lower = Normalised(utility, "lower").with_source("a b")
    assert lower.pair_scores(listed("A b", "b"), listed("C", "A B")).tolist() == [[1, 0], [2, 1]]
    spaces = [replace(listed("a"), source=source) for source in ("a", "", "b")]
    assert for_segment(utility, spaces[:2]).against(["a"]).score("a") == 2
    with pytest.raises(OptionError, match="two sources, 'a' and 'b'"):
        for_segment(Normalised(utility, "lower"), spaces)
    # others do not ask
    assert for_segment(Utility(common, "mine"), spaces) == Utility(common, "mine")
    assert Utility(common, "mine").with_source("").against(["a"]).score("a") == 1.0


def test_no_reference() -> None:
    with pytest.raises(OptionError, match="mine needs a reference"):
        Utility(common, "mine").against([])
