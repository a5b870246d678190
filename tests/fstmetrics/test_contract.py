"""What the contract of a metric means for a corpus."""

from __future__ import annotations

import numpy as np
import pytest

from fstmetrics import BLEU, GRR, WER, WRR, Normalised, corpus_score, corpus_stats
from fstmetrics.alignment.metric import AlignmentEvaluator
from fstmetrics.contract import (
    Abilities,
    abilities_of,
    metric_abilities_of,
    nbest_stats,
    rounding_of,
)
from lattices import Hypothesis, NBest, OptionError, Vocabulary


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


def offered(evaluator) -> set[str]:
    found = abilities_of(evaluator)
    return {name for name in Abilities._fields if getattr(found, name) is not None}


def test_what_evaluators_can_do():
    lists = {"list_stats"}
    alignment = {"machine", "list_values", "rounded", "judge", "word_alignment"} | lists
    assert offered(WER().against(["a"])) == alignment
    assert offered(BLEU().against(["a"])) == {"clipped_matches", "number_stats"} | lists
    normalised = {"machine", "judge", "rounded", "inner"} | lists
    assert offered(Normalised(WER(), "lower").against(["a"])) == normalised
    assert offered(Normalised(BLEU(), "lower").against(["a"])) == {"rounded", "inner"} | lists


@pytest.mark.parametrize(
    ("metric", "words"),
    [(BLEU(), True), (BLEU(order=2, length="closest"), True), (BLEU(lowercase=True), False)],
    ids=str,
)
def test_statistics_of_numbers_are_those_of_lists(metric, words):
    vocabulary = Vocabulary(["the", "cat", "dog", "The"])
    evaluator = metric.against(["the cat sat", "The cat the cat"])
    stats = abilities_of(evaluator).number_stats(evaluator, vocabulary)
    assert (stats is not None) == words
    if stats is None:
        return
    label, offset = np.array([1, 2, 3, 1, 2, 1, 2, 4], np.int32), np.array([0, 3, 3, 8], np.int32)
    own = dict(zip(stats.words.tolist(), stats.numbers.tolist(), strict=True))
    assert sorted(own) == list(own)
    numbers = np.array([own.get(each, 0) for each in label.tolist()], np.int32)
    nbest = NBest(vocabulary, label, offset, np.zeros(3))
    assert stats.rows(numbers, offset).tolist() == evaluator.list_stats(nbest).tolist()


def test_a_subclass_that_changes_what_an_ability_rests_on_has_lost_it():
    class Lenient(AlignmentEvaluator):
        def stats(self, hypothesis):
            return super().stats("a b")

    class LenientWER(WER):
        def against(self, references):
            return Lenient(self, tuple(references))

    evaluator = LenientWER().against(["a b"])
    assert offered(evaluator).isdisjoint({"list_stats", "list_values"})
    nbest = NBest.from_hypotheses([Hypothesis(("c",))])
    assert WER().scores(nbest_stats(evaluator, nbest)).tolist() == [0.0]
    changed = metric_abilities_of(LenientWER())
    assert changed.pair_scores is None
    assert changed.fractions is not None


def test_costs_that_are_rounded_leave_no_rounding():
    some = [GRR(), GRR(alpha=2**0.5), Normalised(GRR(alpha=2**0.5), "lower")]
    assert [rounding_of(metric.against(["a b"])) > 0 for metric in some] == [True, False, False]
