"""The metric against the average of the evidence, from counters."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.minimum_risk.evidence import Evidence
from decoding.minimum_risk.pairs.aggregate import aggregate_scores
from fstmetrics import BLEU, BLEUSBP, TBLEU, WER, parse_metric
from lattices.errors import OptionError
from tests.decoding.minimum_risk.lists import nbest_of, small_lists


def ngrams(units, n):
    return Counter(tuple(units[place : place + n]) for place in range(len(units) - n + 1))


def average(sentences, weight, n):
    expected = defaultdict(float)
    for units, share in zip(sentences, weight, strict=True):
        for ngram, count in ngrams(units, n).items():
            expected[ngram] += share * count
    return expected


@st.composite
def problems(draw):
    candidates, evidence = draw(small_lists()), draw(small_lists())
    size = len(evidence)
    weight = draw(st.lists(st.integers(1, 5), min_size=size, max_size=size))
    return candidates, Evidence(evidence, weight)


@pytest.mark.parametrize(
    "metric",
    [BLEU(), BLEU(smooth="floor", order=2), BLEUSBP(smooth="exp"), BLEU(unit="char", order=3)],
    ids=str,
)
@settings(max_examples=25)
@given(problem=problems())
def test_bleu_by_counters(metric, problem):
    candidates, evidence = problem
    units = [metric.units(each.tokens) for each in evidence.nbest]
    length = sum(share * len(each) for share, each in zip(evidence.weight, units, strict=True))
    expected = []
    for each in candidates:
        own = metric.units(each.tokens)
        matches, totals = [], []
        for n in range(1, metric.order + 1):
            counts = average(units, evidence.weight, n)
            mine = ngrams(own, n)
            matches.append(sum(min(count, counts.get(key, 0)) for key, count in mine.items()))
            totals.append(sum(mine.values()))
        size = min(len(own), length) if metric.strict else len(own)
        expected.append(metric.score(np.array([*matches, *totals, size, length])))
    found = aggregate_scores(candidates, evidence, metric)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("specification", ["chrf:char_order=3", "chrf:word_order=2,beta=1"])
@settings(max_examples=25)
@given(problem=problems())
def test_chrf_by_counters(specification, problem):
    """Judged by sacreBLEU's formula over our own counts."""
    metric = parse_metric(specification)
    candidates, evidence = problem
    theirs = sacrebleu.CHRF(
        char_order=metric.char_order, word_order=metric.word_order, beta=metric.beta
    )

    def cut(tokens):
        text = " ".join(tokens)
        return "".join(text.split()), theirs._remove_punctuation(text)

    judges = [cut(each.tokens) for each in evidence.nbest]
    expected = []
    for each in candidates:
        stats = []
        for own, others, order in zip(
            cut(each.tokens),
            zip(*judges, strict=True),
            (metric.char_order, metric.word_order),
            strict=True,
        ):
            for n in range(1, order + 1):
                counts = average(others, evidence.weight, n)
                mine = ngrams(own, n)
                matches = sum(min(count, counts.get(key, 0)) for key, count in mine.items())
                stats += [sum(mine.values()) if counts else 0, sum(counts.values()), matches]
        expected.append(theirs._compute_f_score(stats) / 100)
    found = aggregate_scores(candidates, evidence, metric)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("metric", [BLEU(smooth="exp"), parse_metric("chrf")], ids=str)
@given(candidates=small_lists(), text=st.lists(st.sampled_from("ab"), max_size=5))
@settings(max_examples=25)
def test_one_sentence_is_its_own_average(metric, candidates, text):
    evidence = Evidence(nbest_of(" ".join(text)), [1])
    expected = [metric.against([text]).score(each.tokens) for each in candidates]
    np.testing.assert_allclose(
        aggregate_scores(candidates, evidence, metric), expected, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("metric", [WER(), TBLEU()], ids=str)
def test_other_metrics_have_no_counts(metric):
    nbest = nbest_of("a")
    with pytest.raises(OptionError, match="n-gram counts"):
        aggregate_scores(nbest, Evidence(nbest, [1]), metric)
