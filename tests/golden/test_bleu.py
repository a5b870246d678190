"""BLEU and BLEU-SBP at published values, and at values worked out by hand."""

from __future__ import annotations

import math

import pytest

from decoding import corpus_oracle
from fstmetrics import BLEU, BLEUSBP, WER, corpus_score, corpus_stats
from lattices import Hypothesis, NBest


@pytest.mark.parametrize("end", ["guter Lehrer", "großer Lehrer", "großer Meister"])
def test_wang_and_merlo_2016_table_3(end):
    references = ["Die Geschichte ist ein großartiger Lehrmeister"]
    hypothesis = f"Die Geschichte ist ein {end}"
    assert BLEU().against(references).score(hypothesis) == pytest.approx(0.508, abs=5e-4)
    assert WER().against(references).score(hypothesis) == pytest.approx(0.333, abs=5e-4)


def test_pozar_and_charniak_2006_table_1():
    metric = BLEU(mean="arithmetic", lowercase=True)
    evaluator = metric.against(["There are students and teachers in school"])
    stats = evaluator.stats("In school there are teachers and students")
    assert stats[:8].tolist() == [7, 2, 0, 0, 7, 6, 5, 4]
    assert metric.score(stats) == pytest.approx(0.333, abs=5e-4)


def test_a_sentence_shorter_than_the_order_scores_nothing():
    # Denoual and Lepage 2005, section 5: why BLEU_c18 is lower than BLEU_w4 on short sentences
    text = "seventeen letters"
    assert len(text) == 17
    assert BLEU(order=18, unit="char").against([text]).score(text) == 0.0
    assert BLEU(order=17, unit="char").against([text]).score(text) == 1.0
    assert BLEU(order=17, unit="char", spaces=False).against([text]).score(text) == 0.0
    assert BLEU(order=18, unit="char", effective_order=True).against([text]).score(text) == 1.0


def test_the_strict_brevity_penalty():
    # six words for four, and four for six: together as long as the references
    hypotheses = ["a b c d e f", "a b c d"]
    references = [["a b c d"], ["a b c d e f"]]
    rows = corpus_stats(BLEUSBP(), hypotheses, references)
    assert rows.tolist() == [
        [4, 3, 2, 1, 6, 5, 4, 3, 4, 4],
        [4, 3, 2, 1, 4, 3, 2, 1, 4, 6],
    ]
    precisions = (8 / 10 * 6 / 8 * 4 / 6 * 2 / 4) ** 0.25
    assert corpus_score(BLEU(), hypotheses, references) == pytest.approx(precisions)
    assert corpus_score(BLEUSBP(), hypotheses, references) == pytest.approx(
        precisions * math.exp(1 - 10 / 8)
    )


@pytest.mark.parametrize(
    ("length", "clipped", "reference"),
    # references of 2, 5 and 6 words; a hypothesis of 4, as close to 5 as it gets
    [("closest", 4, 5), ("shortest", 2, 2), ("average", 4, 13 / 3)],
)
def test_effective_reference_lengths(length, clipped, reference):
    references = ["a b", "a b c d e", "a b c d e f"]
    assert BLEUSBP(length=length).stats("a b c d", references)[-2:].tolist() == [clipped, reference]
    assert BLEU(length=length).stats("a b c d", references)[-2:].tolist() == [4, reference]


def test_the_shorter_of_two_lengths_equally_close():
    assert BLEU().stats("a b c", ["a b", "a b c d"])[-1] == 2
    assert BLEU().stats("a b c", ["a b c d", "a b"])[-1] == 2


def test_an_exact_match_may_fall_short_under_the_average_length():
    # Chiang et al. 2008, section 2
    references = ["a b c d", "a b c d e f"]
    assert BLEU(length="average").against(references).score("a b c d") == pytest.approx(
        math.exp(1 - 5 / 4)
    )


def test_a_long_sentence_pays_for_a_short_one_in_bleu_only():
    lists = [
        NBest.from_hypotheses([Hypothesis(tuple(text.split()), 0.0) for text in texts])
        for texts in (["a b x", "a b"], ["a b c d y y"])
    ]
    references = [["a b c d"], ["a b c d"]]
    lenient = corpus_oracle(lists, references, BLEU(order=1))
    strict = corpus_oracle(lists, references, BLEUSBP(order=1))
    assert [lenient.hypotheses[0].text, strict.hypotheses[0].text] == ["a b", "a b x"]
    assert lenient.score == 6 / 8
    assert lenient.sentence_score == pytest.approx(6 / 9)
    assert strict.score == strict.sentence_score == pytest.approx(6 / 9 * math.exp(1 - 8 / 7))
