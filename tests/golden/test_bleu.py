"""BLEU and BLEU-SBP at published values, and at values worked out by hand."""

from __future__ import annotations

import math
import re

import numpy as np
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


#: clipped matches of orders 1 to 4, tokens of the candidate, printed BLEU: the appendix in order
APPENDIX = [
    ((21, 13, 8, 4), 31, 0.356793), ((9, 2, 0, 0), 14, 0.199176), ((6, 3, 2, 1), 11, 0.298169),
    ((17, 7, 2, 0), 25, 0.264656), ((13, 7, 3, 1), 25, 0.246889), ((12, 5, 2, 1), 20, 0.258273),
    ((4, 1, 0, 0), 8, 0.160714), ((9, 4, 2, 0), 16, 0.243006), ((8, 5, 3, 2), 17, 0.281486),
    ((7, 2, 0, 0), 13, 0.176282), ((10, 3, 2, 1), 16, 0.261195), ((7, 2, 1, 0), 13, 0.199009),
    ((6, 3, 2, 1), 13, 0.248339), ((13, 7, 4, 1), 17, 0.385075), ((10, 4, 0, 0), 15, 0.238095),
    ((18, 7, 2, 1), 31, 0.229665), ((18, 8, 4, 2), 32, 0.255716), ((9, 6, 4, 2), 11, 0.528157),
    ((8, 6, 4, 2), 11, 0.505429), ((7, 5, 4, 3), 11, 0.511679),
]  # fmt: skip


class TestPozarAndCharniak2006:
    """The BLEU of the paper: a mean of clipped precisions, in lower case, without a penalty."""

    METRIC = BLEU(brevity="none", mean="arithmetic", lowercase=True)

    def test_eighteen_of_twenty_scores(self):
        scores = []
        for matches, length, _ in APPENDIX:
            row = [*matches, *range(length, length - 4, -1), length, 0]
            scores.append(self.METRIC.score(np.array(row, dtype=float)))
        printed = [each for _, _, each in APPENDIX]
        wrong = [
            number
            for number, (score, each) in enumerate(zip(scores, printed, strict=True), 1)
            if score != pytest.approx(each, abs=1e-6)
        ]
        assert wrong == [1, 20]
        assert scores[0] == pytest.approx(0.382368, abs=1e-6)
        assert scores[19] == pytest.approx(0.488952, abs=1e-6)
        # as printed if all three `the` of the candidate matched, though the reference has two;
        # elsewhere (sentences 5, 8, 11, 16, 17) repeated words are clipped
        unclipped = (8 / 11 + 5 / 10 + 4 / 9 + 3 / 8) / 4
        assert unclipped == pytest.approx(printed[19], abs=1e-6)

    def test_the_counts_of_its_sentences(self, shared_data):
        papers = list((shared_data.parent / "papers").glob("002_*.txt"))
        if not papers:
            pytest.skip("the paper is not there")
        _, _, appendix = papers[0].read_text().partition("## Appendix A")
        segment = r"Sentence \d+\**\s*\n\s*(.+?)\s*\n\s*(.+?)\s*\n\s*BLEU score: ([\d.]+)"
        segments = re.findall(segment, appendix)
        assert len(segments) == 20
        penalised = 0
        for (candidate, reference, printed), expected in zip(segments, APPENDIX, strict=True):
            row = self.METRIC.stats(candidate, [reference])
            assert (tuple(row[:4]), row[4], float(printed)) == expected
            assert row[-2:].tolist() == [row[4], 0]
            with_penalty = BLEU(mean="arithmetic", lowercase=True).against([reference])
            right = pytest.approx(float(printed), abs=1e-6)
            penalised += with_penalty.score(candidate) == right
        assert penalised == 16


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
