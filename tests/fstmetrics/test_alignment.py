from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fstmetrics import (
    CER,
    GRR,
    WER,
    WRR,
    AffixSimilarity,
    corpus_score,
)
from fstmetrics.similarity.affix import affix_distance
from fstmetrics.testing import check_metric
from lattices import Hypothesis, NBest
from tests.judges import gain_by_recursion, score_by_recursion
from tests.strategies import examples, sentences


@dataclasses.dataclass(frozen=True, kw_only=True)
class CostlyInsertions(WER):
    name = "costly-insertions"
    insertion = 2.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class CostlyDeletions(CER):
    name = "costly-deletions"
    deletion: float = 0.5


@dataclasses.dataclass(frozen=True, kw_only=True)
class BigramErrors(WER):
    name = "bigram-errors"
    order = 2


@pytest.mark.parametrize("metric", [CostlyInsertions(), CostlyDeletions(), BigramErrors()], ids=str)
def test_error_rates_follow_their_costs(metric):
    check_metric(metric)
    references = [("a", "b", "a", "c"), ("b", "a")]
    evaluator = metric.against(references)
    for sentence in ("", "a", "b a", "a b c", "c c c c c c", "a b a c a b", "b b a"):
        words = metric.units(sentence.split())
        units = [metric.units(reference) for reference in references]
        expected = 1 - score_by_recursion(words, units, metric)
        assert evaluator.score(sentence) == pytest.approx(expected, abs=1e-12)


def test_the_costs_of_an_error_rate():
    evaluator = CostlyInsertions().against(["a b c d"])
    assert evaluator.score("a x b c d") == 2 / 4
    assert evaluator.score("a x c d") == evaluator.score("a c d") == 1 / 4
    assert CostlyDeletions().against(["abcd"]).score("abd") == 1.5 / 4


@settings(max_examples=examples(500))
@given(
    sentences(),
    sentences(),
    st.builds(
        GRR,
        n=st.integers(1, 6),
        alpha=st.sampled_from([1.0, -0.9, 0.0, 2.5]),
        beta=st.sampled_from([0.0, 1.0, 0.5]),
    ),
)
def test_the_scorer_equals_recursion_over_all_alignments(hypothesis, reference, metric):
    stats = metric.stats(hypothesis, [reference])
    gain = stats[: metric.n].sum() - metric.alpha * stats[-3] - metric.beta * stats[-2]
    assert gain == pytest.approx(gain_by_recursion(hypothesis, reference, metric), abs=1e-9)


@given(sentences(), sentences())
def test_the_alignment_spells_both_sides_and_accounts_for_the_statistics(hypothesis, reference):
    for metric in (WER(), GRR()):
        judgement = metric.against([reference]).judge(hypothesis)
        edits = judgement.edits
        assert [e.hypothesis for e in edits if e.operation != "deletion"] == hypothesis
        assert [e.reference for e in edits if e.operation != "insertion"] == reference
        named = dict(zip(metric.stat_names, judgement.stats, strict=True))
        for operation in ("substitution", "insertion", "deletion"):
            count = sum(edit.operation == operation for edit in edits)
            assert named[operation + "s"] == count
        assert named["matches"] == sum(edit.operation == "match" for edit in edits)
        assert all((e.hypothesis == e.reference) == (e.operation == "match") for e in edits)


@given(sentences(), sentences())
def test_wer_is_the_edit_distance_and_the_complement_of_wrr(hypothesis, reference):
    row = list(range(len(reference) + 1))
    for j, word in enumerate(hypothesis, 1):
        diagonal, row[0] = row[0], j
        for i, other in enumerate(reference, 1):
            diagonal, row[i] = row[i], min(diagonal + (word != other), row[i] + 1, row[i - 1] + 1)
    wer = WER().against([reference]).score(hypothesis)
    assert wer == pytest.approx(row[-1] / max(1, len(reference)))
    assert WRR().against([reference]).score(hypothesis) == pytest.approx(1 - wer)
    assert GRR(n=1).against([reference]).score(hypothesis) == pytest.approx(1 - wer)


def test_the_worked_figures_of_grr():
    # reference of five words: 5 + 4 + 3 + 2 n-grams
    evaluator = GRR().against(["a b c d e"])
    assert evaluator.score("a b c d e") == 1.0
    assert evaluator.score("a b c d") == (4 + 3 + 2 + 1) / 14
    assert evaluator.score("a b x d e") == (4 + 2) / 14
    # an insertion breaks the run of matches and costs one
    assert evaluator.score("a b c x d e") == (5 + 3 + 1 - 1) / 14
    assert GRR(alpha=0.0).against(["a b c d e"]).score("a b c x d e") == 9 / 14
    assert GRR(beta=0.5).against(["a b c d e"]).score("a b c d") == 9.5 / 14


def test_empty_sides_have_defined_scores():
    for metric in (WRR(), GRR()):
        evaluator = metric.against([""])
        assert evaluator.score("") == 1.0
        assert evaluator.score("a b") == -1.0
    assert WER().against([""]).score("a b") == 2.0
    assert WER().against(["a b"]).score("") == 1.0
    assert WRR().against(["a b"]).score("") == 0.0
    # without reference words a segment adds its insertions to the corpus and nothing below
    assert corpus_score(WER(), ["a", "b"], [[""], ["b"]]) == 1.0


def test_several_references_give_the_best_and_the_first_of_equals():
    evaluator = WER().against(["a b c d", "a x", "a y"])
    judgement = evaluator.judge("a z")
    assert (judgement.reference, judgement.score) == (1, 0.5)


def test_references_that_differ_by_rounding_are_equal():
    # -3.5 / 5 and -2.1 / 3 are the same, and not in floats
    evaluator = GRR(n=1, alpha=-0.9, beta=0.7).against(["a a b a c", "a c a"])
    assert evaluator.judge("").reference == 0
    entry = NBest.from_hypotheses([Hypothesis(())])
    assert evaluator.list_stats(entry)[0, -1] == 5


def test_characters_with_and_without_blanks():
    assert CER().against(["ab c"]).score("ab d") == 1 / 4
    assert CER(spaces=False).against(["ab c"]).score("abc") == 0.0
    assert CER().against(["ab c"]).score("abc") == 1 / 4


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("vzpomenou", "zapomenout", 3 / 7),  # the paper's example
        ("cat", "cat", 0.0),
        ("cat", "dog", 1.0),
        ("", "cat", 1.0),
        ("walked", "talked", 1 / 5),
        ("ab", "ba", 1.0),  # either letter leaves two edits to one letter: clipped at 1
    ],
)
def test_affix_distance(one, other, expected):
    assert affix_distance(one, other) == pytest.approx(expected)
    assert affix_distance(other, one) == pytest.approx(expected)


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_affix_distance_equals_its_definition(one, other):
    def edits(a, b):
        if not a or not b:
            return len(a) + len(b)
        return min(edits(a[1:], b[1:]) + (a[0] != b[0]), edits(a[1:], b) + 1, edits(a, b[1:]) + 1)

    spans = [
        (i, j, n)
        for i in range(len(one))
        for j in range(len(other))
        for n in range(1, 7)
        if one[i : i + n] == other[j : j + n] and i + n <= len(one) and j + n <= len(other)
    ]
    longest = max((n for *_, n in spans), default=0)
    expected = 1.0
    for i, j, n in spans:
        if n == longest:
            total = edits(one[:i], other[:j]) + edits(one[i + n :], other[j + n :])
            expected = min(expected, total / n)
    assert affix_distance(one, other) == pytest.approx(expected)


def test_soft_matching_counts_by_similarity():
    soft = WER(similarity=AffixSimilarity(epsilon=0.5))
    assert soft.against(["he walked"]).score("he talked") == pytest.approx(0.2 / 2)
    grr = GRR(n=2, similarity=AffixSimilarity(epsilon=0.5))
    # two words, the second of weight 0.8, and one bigram that ends in it
    assert grr.against(["he walked"]).score("he talked") == pytest.approx((1 + 0.8 + 0.8) / 3)
