from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fstmetrics import (
    CER,
    GRR,
    METRICS,
    WER,
    WRR,
    AffixSimilarity,
    affix_distance,
    corpus_score,
    corpus_stats,
    parse_metric,
)
from fstmetrics.testing import check_metric
from lattices import Error, Hypothesis, Lattice, NBest, OptionError
from lattices.errors import DuplicateNameError, UnknownNameError
from tests.judges import gain_by_recursion, score_by_recursion
from tests.strategies import sentences

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


@settings(max_examples=500)
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


def test_corpus_scores_are_sums_over_sums():
    hypotheses = ["a b", "c"]
    references = [["a b c d"], ["c"]]
    assert corpus_score(WRR(), hypotheses, references) == 3 / 5
    assert corpus_stats(WRR(), hypotheses, references).tolist() == [
        [2, 0, 0, 2, 4],
        [1, 0, 0, 0, 1],
    ]
    assert (
        np.mean([WRR().against(r).score(h) for h, r in zip(hypotheses, references, strict=True)])
        == 0.75
    )


def test_a_mismatch_in_length_is_an_error():
    with pytest.raises(OptionError, match="2 hypotheses, but references for 1 segments"):
        corpus_score(WER(), ["a", "b"], [["a"]])


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


def test_a_reference_lattice_is_scored_by_its_best_path():
    reference = Lattice.from_arcs(
        [(0, 1, "i've"), (1, 2, "um"), (1, 2, "uh"), (1, 2, ""), (2, 3, "been")], finals=[3]
    )
    evaluator = WER().against([reference])
    assert evaluator.score("i've uh been") == 0.0
    assert evaluator.score("i've been") == 0.0
    assert evaluator.judge("i've er been").stats[-1] == 3


def test_a_reference_lattice_without_a_sentence_is_an_error():
    dead = Lattice.from_arcs([(0, 1, "a")], finals=[2], states=3, id="dead")
    with pytest.raises(OptionError, match="'dead' holds no sentence"):
        WER().against([dead]).score("a")


def test_references_must_be_a_list_of_sentences():
    for bad in ("a b", Lattice.from_arcs([], finals=[0]), [], [["a", 3]]):
        with pytest.raises(Error):
            WER().against(bad)


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


@pytest.mark.parametrize(
    ("specification", "metric"),
    [
        ("wer", WER()),
        ("grr", GRR()),
        ("grr:n=2,alpha=0.5", GRR(n=2, alpha=0.5)),
        (" cer:spaces=false", CER(spaces=False)),
        (
            "grr:n=3,similarity=affix(epsilon=0.2),beta=1",
            GRR(n=3, beta=1.0, similarity=AffixSimilarity(epsilon=0.2)),
        ),
        ("wrr:similarity=affix", WRR(similarity=AffixSimilarity())),
    ],
)
def test_specifications_read_and_write(specification, metric):
    assert parse_metric(specification) == metric
    assert parse_metric(str(metric)) == metric


@pytest.mark.parametrize(
    ("specification", "message"),
    [
        ("grr:n=0", "n is a whole number"),
        ("grr:n=2.5", "expected int"),
        ("grr:alpha=nan", "finite"),
        ("grr:n", "key=value"),
        ("grr:n=", "key=value"),
        ("grr:n=2,n=3", "twice"),
        ("wer:n=2", "no option 'n'"),
        ("cer:spaces=maybe", "true or false"),
        ("wer:similarity=affix(epsilon=2)", r"\[0, 1\]"),
        ("wer:similarity=affix(epsilon=1", "parentheses"),
    ],
)
def test_bad_specifications_say_what_is_wrong(specification, message):
    with pytest.raises(OptionError, match=message):
        parse_metric(specification)


def test_unknown_names_list_the_close_ones():
    with pytest.raises(UnknownNameError, match=r"no metric named 'gr'; did you mean grr"):
        parse_metric("gr")
    with pytest.raises(UnknownNameError, match="similarity"):
        parse_metric("wer:similarity=afix")


def test_plug_ins_register_and_duplicates_are_refused():
    @dataclasses.dataclass(frozen=True)
    class Mine(WER):
        name = "mine"

    METRICS.register("mine", Mine)
    try:
        assert parse_metric("mine") == Mine()
        with pytest.raises(DuplicateNameError, match="mine"):
            METRICS.register("mine", Mine)
    finally:
        METRICS.unregister("mine")
    with pytest.raises(DuplicateNameError, match="wer"):
        METRICS.register("wer", Mine)


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
