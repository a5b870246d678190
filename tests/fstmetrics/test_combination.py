"""Sums of metrics: what they score, how they are written, and their machines."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from fstmetrics import (
    BLEU,
    CER,
    GRR,
    MAXSIM,
    PER,
    WER,
    WRR,
    AffixSimilarity,
    Combination,
    Normalised,
    Utility,
    corpus_score,
    corpus_stats,
    parse_metric,
)
from fstmetrics.combination import normalise_metric
from fstmetrics.contract import has_machine, metric_abilities_of, nbest_stats, scores_of
from fstmetrics.signature import is_sum
from fstmetrics.testing import check_metric
from lattices import Hypothesis, NBest, OptionError, Vocabulary

SUMS = [
    0.5 * BLEU() + 0.5 * GRR(),
    BLEU(smooth="add-k", smooth_value=1.0) - parse_metric("ter"),
    0.5 * WER() + 2 * CER(),
    WRR() * 0.5 + GRR(n=2),
    GRR(alpha=0.3) - 0.37 * WER(),
    PER() + WER(similarity=AffixSimilarity(epsilon=0.5)),
    CER() + 2 * CER(),
    0.123456789 * WRR() + GRR(),
    Combination([(-2.0, BLEU()), (1.0, WER())]),
    parse_metric("0.5*wer:normalise=lower + wer:normalise=lower"),
]


@pytest.mark.parametrize("metric", SUMS, ids=str)
def test_the_laws_hold(metric):
    check_metric(metric, rounds=10)
    assert parse_metric(str(metric)) == metric
    assert pickle.loads(pickle.dumps(metric)) == metric


def test_the_score_is_the_sum():
    hypotheses = ["the cat sat", "on a mat today"]
    references = [["the cat sat", "a cat"], ["on the mat"]]
    for metric in SUMS:
        parts = zip((weight for weight, _ in metric.terms), metric.parts, strict=True)
        total = sum(weight * corpus_score(part, hypotheses, references) for weight, part in parts)
        assert corpus_score(metric, hypotheses, references) == pytest.approx(total)
        rows = corpus_stats(metric, hypotheses, references)
        assert scores_of(metric, rows) == pytest.approx([metric.score(row) for row in rows])


def test_lists_and_pairs_at_once():
    texts = ["the cat sat", "a cat", "the mat"]
    nbest = NBest.from_hypotheses(Hypothesis(tuple(text.split()), 0.0) for text in texts)
    # of these no part scores all pairs at once, or one of them does
    for metric in (*SUMS, MAXSIM(stemmer="none") + GRR()):
        evaluator = metric.against(["the cat"])
        expected = np.array([evaluator.stats(text) for text in texts])
        assert nbest_stats(evaluator, nbest) == pytest.approx(expected)
        assert metric_abilities_of(metric).pair_scores is not None
        pairs = metric.pair_scores(nbest, nbest)
        expected = [[metric.against([two]).score(one) for one in texts] for two in texts]
        assert pairs == pytest.approx(np.array(expected))


def test_how_sums_are_written():
    assert str(parse_metric("2*wer")) == "2*wer"
    assert str(2 * (WER() + 0.5 * CER())) == "2*wer + cer"
    assert str(parse_metric(" 1e-1 * grr:n=2  -  wer ")) == "0.1*grr:n=2,alpha=1,beta=0 - wer"
    assert (GRR() - WER()).label == "4-GRR - WER"
    assert (GRR() - WER()).name == "grr - wer"
    assert (WRR() + CER() * -1).stat_names[-1] == "cer: possible"
    assert not is_sum("bleu-sbp")
    assert not is_sum("wer:normalise=lower+punctuation")
    metric = parse_metric("grr - wer:similarity=affix(epsilon=0.5)")
    assert metric.parts[1].similarity.epsilon == 0.5


def test_one_direction():
    assert (GRR() - WER()).higher_is_better
    assert not (WER() + CER()).higher_is_better
    assert not (WER() - GRR()).higher_is_better
    with pytest.raises(OptionError, match="the second lower: write wrr - 2\\*wer"):
        parse_metric("wrr + 2*wer")
    with pytest.raises(OptionError, match="the second higher: write wer - grr"):
        parse_metric("wer + grr")


@pytest.mark.parametrize(
    ("specification", "message"),
    [
        ("grr + ", "expected metrics between plus and minus"),
        ("0*grr", "a weight is a finite number other than 0, not 0.0"),
        ("1e999*grr", "a weight is a finite number"),
        ("2*", "expected metrics between plus and minus"),
    ],
)
def test_sums_that_are_none(specification, message):
    with pytest.raises(OptionError, match=message):
        parse_metric(specification)


def test_what_is_searched():
    references = ["the cat sat"]
    searched = [metric for metric in SUMS if has_machine(metric.against(references))]
    assert [metric.name for metric in searched] == [
        "0.5*wrr + grr",
        "grr - 0.37*wer",
        "cer + 2*cer",
        "0.123456789*wrr + grr",
        "0.5*wer + wer",
    ]
    # words and characters, or other characters, are not read by one machine
    assert not has_machine((WER() + CER()).against(references))
    assert not has_machine((CER() + CER(spaces=False)).against(references))
    lower = Normalised(WER(), "lower")
    assert not has_machine((lower + WER()).against(references))
    assert has_machine((lower + lower).against(references))


def test_normalised_sums():
    metric = normalise_metric(WER() + CER(), "lower")
    assert metric.against(["A cat"]).score("a Cat") == 0.0
    assert normalise_metric(WER(), "lower") == Normalised(WER(), "lower")
    with pytest.raises(OptionError, match="of the sum wer \\+ cer each part is normalised"):
        Normalised(WER() + CER(), "lower")


def test_too_many_arcs(monkeypatch):
    monkeypatch.setattr("fstmetrics.combination._MOST_ARCS", 100)
    evaluator = (WRR() + GRR()).against(["a b c d e f g"])
    vocabulary = Vocabulary(["a"])
    with pytest.raises(OptionError, match="arcs, more than 100: take fewer or shorter references"):
        evaluator.machine(vocabulary)


def test_sources_reach_the_parts():
    metric = WRR() + Utility(lambda triples: [float(len(triple[2])) for triple in triples],
                             "source", source=True)  # fmt: skip
    assert metric.with_source("ein").against(["a"]).score("a") == 4.0
    plain = WRR() + GRR()
    assert plain.with_source("ein") is plain
