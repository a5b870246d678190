"""Whole n-best lists in one pass give what the sentences give one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fstmetrics import BLEU, BLEUSBP, CER, GRR, WER, WRR, AffixSimilarity
from fstmetrics.contract import abilities_of, metric_abilities_of, nbest_stats, scores_of
from lattices import Hypothesis, Lattice, NBest, Vocabulary
from tests.strategies import sentences

WORDS = ("a", "ab", "A", "abc", "Straße", "ΑΣ", "10\u00a0000", "e\u0301té")
SOFT = AffixSimilarity(epsilon=0.9)
METRICS = [
    WER(), WRR(), CER(), CER(spaces=False), GRR(), GRR(n=1), GRR(n=20, alpha=-0.9, beta=1.0),
    WER(similarity=SOFT), GRR(n=12, similarity=SOFT), BLEU(), BLEU(length="average"),
    BLEU(lowercase=True), BLEU(unit="char", order=18), BLEU(unit="char", order=3, spaces=False),
    BLEU(unit="char", order=3, lowercase=True), BLEU(tokenize="13a", lowercase=True), BLEUSBP(),
]  # fmt: skip

nbests = st.lists(sentences(WORDS), max_size=6).map(
    lambda texts: NBest.from_hypotheses(
        [Hypothesis(tuple(text), 0.0) for text in texts],
        # numbers that neither begin at 1 nor follow each other
        vocabulary=Vocabulary(["z", *WORDS[::-1], "y"]),
    )
)


def check(metric, references, nbest):
    evaluator = metric.against(references)
    assert abilities_of(evaluator).list_stats is not None
    assert metric_abilities_of(metric).scores is not None
    rows = nbest_stats(evaluator, nbest)
    assert rows.shape == (len(nbest), len(metric.stat_names))
    scores = scores_of(metric, rows)
    for entry, row in enumerate(rows):
        assert np.array_equal(row, evaluator.stats(nbest.tokens(entry)))
        assert scores[entry] == metric.score(row)


@pytest.mark.parametrize("metric", METRICS, ids=str)
@settings(max_examples=60)
@given(nbest=nbests, references=st.lists(sentences(WORDS), min_size=1, max_size=3))
def test_a_list_equals_its_sentences(metric, nbest, references):
    check(metric, references, nbest)


@given(nbests, sentences(WORDS))
def test_against_reference_lattices(nbest, sentence):
    lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "ab"), (1, 2, "abc")], finals=[1, 2])
    check(GRR(n=2), [sentence, lattice], nbest)


@pytest.mark.parametrize("metric", [WER(), GRR(), CER(), BLEU(), BLEU(unit="char", order=18)])
def test_real_lists(shared_data, metric):
    from itertools import islice

    import lattices

    folder = shared_data / "multi30k-deen"
    references = (folder / "val.en").read_text(encoding="utf-8").splitlines()
    for nbest, reference in zip(
        islice(lattices.read(folder / "val.de-en.100best.gz"), 3), references, strict=False
    ):
        check(metric, [reference, references[-1]], nbest)


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_rows_of_any_kind_have_the_scores_that_each_has(metric):
    rows = np.array([metric.stats("a ab abc", [text]) for text in ("a ab", "", "abc ab a x")])
    rows = np.vstack([rows, np.zeros_like(rows[:1]), rows.sum(axis=0), rows.mean(axis=0)])
    assert scores_of(metric, rows).tolist() == [metric.score(row) for row in rows]


def test_a_subclass_that_changes_the_score_is_asked_row_by_row():
    class Doubled(WER):
        def score(self, stats):
            return 2 * super().score(stats)

    rows = np.array([WER().stats("a b", ["a c"])])
    assert scores_of(Doubled(), rows).tolist() == [1.0]
