"""Numbers that the papers print, and what is wrong with some of them."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from fstmetrics import BLEU, TBLEU, WER, BLEUModif, Bllip, ParseTable, WERModif
from fstmetrics.dependency.bllip import bllip_score
from fstmetrics.dependency.parses import Parse
from fstmetrics.similarity.affix import affix_distance
from fstmetrics.similarity.vectors import WordVectors


class TestTolerantBLEU:
    """Libovický and Pecina 2014."""

    def test_the_affix_distance(self):
        # printed as max{1, ...}, which would be 1
        assert affix_distance("vzpomenou", "zapomenout") == 3 / 7

    def test_figure_1(self):
        reference = "Jedu novým červeným autem"
        translation = "Jedu s novém červeném auto"
        evaluator = TBLEU(order=2, epsilon=0.7).against([reference])
        unigrams, bigrams, *rest = evaluator.stats(translation)
        # the figure lists weights of 1, 2/3, 5/6 and 1/3, but prints their sum as 11/6
        assert unigrams == pytest.approx(17 / 6)
        assert bigrams == pytest.approx(16 / 12)
        assert rest == [5, 4, 5, 4]
        assert unigrams / 5 == pytest.approx(17 / 30)
        assert bigrams / 4 == pytest.approx(1 / 3)
        assert BLEU(order=2).stats(translation, [reference]).tolist() == [1, 0, 5, 4, 5, 4]

    def test_the_distances_of_figure_1(self):
        pairs = [("Jedu", "Jedu"), ("novém", "novým"), ("červeném", "červeným"), ("auto", "autem")]
        assert [affix_distance(*pair) for pair in pairs] == [0, 1 / 3, 1 / 6, 2 / 3]


class TestEmbeddings:
    """Wang and Merlo 2016, Table 3; its modified scores need vectors nobody has."""

    REFERENCE = "Die Geschichte ist ein großartiger Lehrmeister"
    HYPOTHESES = (
        "Die Geschichte ist ein guter Lehrer",
        "Die Geschichte ist ein großer Lehrer",
        "Die Geschichte ist ein großer Meister",
    )

    @pytest.mark.parametrize("hypothesis", HYPOTHESES)
    def test_table_3(self, hypothesis):
        assert BLEU().stats(hypothesis, [self.REFERENCE])[:4].tolist() == [4, 3, 2, 1]
        assert BLEU().against([self.REFERENCE]).score(hypothesis) == pytest.approx(0.508, abs=5e-4)
        assert WER().against([self.REFERENCE]).score(hypothesis) == pytest.approx(0.333, abs=5e-4)

    def test_similar_words_rank_as_in_table_3(self):
        # the words of the three hypotheses, ever less alike those of the reference; adjectives
        # and nouns have nothing in common
        angles = {
            "großartiger": (0, 0.0), "guter": (0, 0.5), "großer": (0, 0.7),
            "Lehrmeister": (2, 0.0), "Lehrer": (2, 0.5), "Meister": (2, 0.7),
        }  # fmt: skip
        rows = np.zeros((6, 4))
        for row, (plane, angle) in zip(rows, angles.values(), strict=True):
            row[plane : plane + 2] = math.cos(angle), math.sin(angle)
        vectors = WordVectors(list(angles), rows)
        bleu = BLEUModif(vectors=vectors).against([self.REFERENCE])
        wer = WERModif(vectors=vectors).against([self.REFERENCE])
        bleus = [bleu.score(each) for each in self.HYPOTHESES]
        wers = [wer.score(each) for each in self.HYPOTHESES]
        assert 1 > bleus[0] > bleus[1] > bleus[2] > 0.508
        assert 0 < wers[0] < wers[1] < wers[2] < 0.333
        assert wers[0] == pytest.approx((2 - 2 * math.cos(0.5)) / 6)


#: tokens of candidate and reference, shared dependencies, printed score: the appendix in order
APPENDIX = [
    (31, 28, 18, 0.61096), (14, 15, 7, 0.483046), (11, 7, 5, 0.569803), (25, 18, 12, 0.565685),
    (25, 15, 10, 0.516398), (20, 17, 8, 0.433861), (8, 6, 4, 0.57735), (16, 14, 7, 0.467707),
    (17, 13, 7, 0.470871), (13, 12, 6, 0.480384), (16, 12, 6, 0.433013), (13, 11, 5, 0.418121),
    (13, 10, 5, 0.438529), (17, 15, 10, 0.626224), (15, 14, 6, 0.414039), (31, 26, 13, 0.457905),
    (32, 30, 13, 0.419573), (11, 13, 1, 0.0836242), (11, 10, 4, 0.381385), (11, 10, 4, 0.381385),
]  # fmt: skip


class TestBllip:
    """Pozar and Charniak 2006."""

    @pytest.mark.parametrize(("candidate", "reference", "shared", "printed"), APPENDIX)
    def test_the_appendix(self, candidate, reference, shared, printed):
        common = [("head", f"word {number}") for number in range(shared)]
        bags = [
            Counter(common + [(side, f"word {number}") for number in range(size - shared)])
            for side, size in (("candidate", candidate), ("reference", reference))
        ]
        assert bllip_score(bags[0], bags[1:]) == pytest.approx(printed, abs=5e-7)
        # "matches over possible matches", the paper's words, would be another number
        if candidate != reference:
            assert bllip_score(bags[0], bags[1:], mean="f1") != pytest.approx(printed, abs=5e-7)

    def test_example_1(self):
        bag = Parse(("He", "has", "a", "ball"), (2, 0, 4, 2)).bag()
        assert bag == Counter([("has", "He"), ("has", "ball"), ("ball", "a"), (None, "has")])

    def test_example_2(self):
        # In school there are teachers and students . / There are students and teachers in school .
        candidate = Parse(
            ("In", "school", "there", "are", "teachers", "and", "students", "."),
            (4, 1, 4, 0, 7, 7, 4, 4),
        )
        reference = Parse(
            ("There", "are", "students", "and", "teachers", "in", "school", "."),
            (2, 0, 2, 3, 3, 3, 6, 2),
        )
        evaluator = Bllip(parses=ParseTable([candidate, reference])).against([reference.words])
        assert evaluator.stats(candidate.words)[:3].tolist() == [7, 8, 8]
        assert evaluator.score(candidate.words) == 0.875
