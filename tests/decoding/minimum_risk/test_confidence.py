"""Candidates that are left out: never the best where that is promised."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.minimum_risk.evidence import Evidence, evidence_of
from decoding.minimum_risk.pairs import pruning
from decoding.minimum_risk.pairs.pruning import Survivors, highest_quality
from decoding.minimum_risk.pairs.scores import expected_scores, run
from fstmetrics import BLEU, CER, GRR, PER, TBLEU, WER, WRR, parse_metric
from lattices import Hypothesis, NBest
from lattices.errors import OptionError
from tests.decoding.minimum_risk.lists import distinct, nbest_of, small_lists


def bound_expectations(*given) -> Survivors:
    return run(pruning.bound_expectations(*given))


def confident_expectations(*given, **options) -> Survivors:
    return run(pruning.confident_expectations(*given, **options))


METRICS = [WER(), WRR(), PER(), GRR(), GRR(alpha=-0.9, beta=1.0), BLEU(smooth="add-k"), TBLEU()]


@pytest.mark.parametrize("metric", METRICS, ids=str)
@settings(max_examples=30)
@given(candidates=small_lists(max_size=8), evidence=small_lists(max_size=30), sharp=st.booleans())
def test_bounds_keep_all_that_are_best(metric, candidates, evidence, sharp):
    candidates, evidence = distinct(candidates), distinct(evidence)
    weight = 0.5 ** np.arange(len(evidence)) if sharp else np.ones(len(evidence))
    judges = Evidence(evidence, weight)
    whole = expected_scores(candidates, judges, metric)
    sign = 1.0 if metric.higher_is_better else -1.0
    found = bound_expectations(candidates, judges, metric)
    np.testing.assert_allclose(found.expected, whole[found.place], rtol=0, atol=1e-12)
    best = np.flatnonzero(sign * whole >= (sign * whole).max() - 1e-12)
    assert {*best.tolist()} <= {*found.place.tolist()}


def many(count):
    return nbest_of(*(" ".join(f"{place:08b}") for place in range(count)))


def test_bounds_spare_most_pairs():
    nbest = many(200)
    evidence = Evidence(nbest, 0.8 ** np.arange(200))
    for metric in (WER(), BLEU(smooth="exp")):
        found = bound_expectations(nbest, evidence, metric)
        assert found.scored < 200 * 200 / 3
        assert len(found.place) < 20


@pytest.mark.parametrize(
    "metric",
    [
        WER(),
        WRR(),
        CER(),
        PER(),
        GRR(),
        BLEU(smooth="exp"),
        parse_metric("chrf"),
        parse_metric("ter"),
    ],
    ids=str,
)
@settings(max_examples=10)
@given(candidates=small_lists(max_size=4))
def test_nothing_is_better_than_the_highest(metric, candidates):
    highest = highest_quality(metric)
    sign = 1.0 if metric.higher_is_better else -1.0
    for each in candidates:
        for other in candidates:
            score = metric.against([other.tokens]).score(each.tokens)
            assert sign * score <= highest + 1e-12


def test_a_metric_of_which_nothing_is_known():
    class Unbounded(TBLEU):
        pass

    class Foreign:
        higher_is_better = True

    assert highest_quality(Unbounded()) == 1.0
    assert highest_quality(Foreign()) is None
    assert highest_quality(GRR(beta=-1.0)) is None


@pytest.mark.parametrize("metric", [WER(), BLEU(smooth="exp")], ids=str)
def test_a_bootstrap_is_usually_right(metric):
    sign = 1.0 if metric.higher_is_better else -1.0
    right = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        texts = {" ".join(rng.choice(list("abc"), 6)) for _ in range(60)}
        nbest = nbest_of(*sorted(texts), scores=rng.normal(size=len(texts)))
        evidence = evidence_of(nbest)
        whole = sign * expected_scores(nbest, evidence, metric)
        found = confident_expectations(nbest, evidence, metric, 0.99, seed)
        np.testing.assert_allclose(sign * found.expected, whole[found.place], rtol=0, atol=1e-12)
        assert len(found.place) < len(nbest)
        right += int(np.argmax(whole)) in found.place.tolist()
    assert right >= 18


def test_a_bootstrap_is_repeatable_and_spares_pairs():
    nbest = many(256)
    evidence = Evidence(nbest, 0.97 ** np.arange(256))
    one, other = (confident_expectations(nbest, evidence, WER(), 0.9, seed=3) for _ in range(2))
    assert one.place.tolist() == other.place.tolist()
    assert one.scored == other.scored < 256 * 256 / 2


@given(small_lists(max_size=5))
@settings(max_examples=20)
def test_equal_candidates_do_not_rule_each_other_out(nbest):
    """All sentences are anagrams to PER: none is worse than another."""
    words = sorted(nbest[0].tokens)
    turned = [Hypothesis(tuple(words[turn:] + words[:turn])) for turn in range(len(words) or 1)]
    some = distinct(NBest.from_hypotheses(turned))
    evidence = evidence_of(nbest)
    assert len(confident_expectations(some, evidence, PER(), 0.99).place) == len(some)
    assert len(bound_expectations(some, evidence, PER()).place) == len(some)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, float("nan")])
def test_what_is_no_confidence(confidence):
    nbest = nbest_of("a")
    with pytest.raises(OptionError, match="confidence"):
        confident_expectations(nbest, Evidence(nbest, [1]), WER(), confidence)
