"""The laws of metrics, and metrics that break them."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest

from fstmetrics import (
    CER,
    GRR,
    WER,
    WRR,
    AffixSimilarity,
)
from fstmetrics.testing import check_metric
from lattices import OptionError
from tests.fstmetrics.test_alignment import CostlyInsertions

SOFT = AffixSimilarity(epsilon=0.6)


@pytest.mark.parametrize(
    "metric",
    [
        WER(),
        WRR(),
        CER(),
        CER(spaces=False),
        GRR(),
        GRR(n=1),
        GRR(n=6, alpha=-0.9, beta=1.0),
        WER(similarity=SOFT),
        GRR(n=2, similarity=SOFT),
    ],
    ids=str,
)
def test_the_laws_hold(metric):
    check_metric(metric)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Disagreeing(CostlyInsertions):
    """Searches with its own cost, and scores with another."""

    name = "disagreeing"

    def score(self, stats):
        *_, substitutions, insertions, deletions, possible = stats
        return float((substitutions + insertions + deletions) / max(possible, 1.0))


def test_a_machine_and_a_scorer_that_disagree_are_caught():
    with pytest.raises(AssertionError, match=r"disagreeing.* the machine's value"):
        check_metric(Disagreeing())


def test_a_metric_that_breaks_a_law_is_caught():
    @dataclasses.dataclass(frozen=True)
    class Forgetful(WER):
        name = "forgetful"

        def score(self, stats):
            return super().score(stats) + random.random()

    with pytest.raises(AssertionError, match="forgetful"):
        check_metric(Forgetful())


@pytest.mark.parametrize(
    "answer",
    [np.full((1, 2), 0.5), np.full((2, 2), 1.5), np.full((2, 2), np.nan)],
    ids=["shape", "range", "nan"],
)
def test_a_similarity_that_lies_is_caught(answer):
    class Liar:
        def matrix(self, words, others):
            return answer

    with pytest.raises(OptionError, match="returned"):
        WER(similarity=Liar()).against(["a b"]).score("c d")
