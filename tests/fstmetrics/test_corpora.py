from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fstmetrics import CER, CHRF, GRR, METEOR, TER, WER, WRR, corpus_stats
from fstmetrics._native import Corpus, alignment_rows, ngram_rows
from fstmetrics.alignment.rates import SCLITE
from fstmetrics.contract import segment_rows
from fstmetrics.corpora import count_workers
from fstmetrics.references import split_tokens
from lattices import Hypothesis, NBest, OptionError
from tests.strategies import sentences

ALIGNING = [WER(), WRR(), CER(), CER(spaces=False), GRR(), GRR(n=2, alpha=-0.9), SCLITE]
#: words that share characters, of one byte, two and four; some with blanks in them
WORDS = ("a", "ab", "ba", "b\u00a0a", "é", "猫", "\U0001f600b", "a b")


def test_texts_are_cut_as_python_cuts_them():
    points = [*map(chr, range(0x3100)), "\ufeff", "\ud800", "\U0001f600"]
    texts = [f"a{point}b {point}" for point in points]
    pieces = pytest.importorskip("sacrebleu").CHRF()._remove_punctuation
    corpus = Corpus(texts, [["zz"]] * len(texts))
    found = ngram_rows(corpus, False, False, 1, 1)[:, 0]
    assert found.tolist() == [len(pieces(text)) for text in texts]
    characters = ngram_rows(corpus, True, False, 1, 1)[:, 0]
    assert characters.tolist() == [len("".join(text.split())) for text in texts]
    ascii_words = alignment_rows(corpus, False, True, 1, 1.0, 0.0, 1)
    said = [len(split_tokens(text)) for text in texts]
    assert (ascii_words[:, 1] + ascii_words[:, 2]).tolist() == said


@pytest.mark.parametrize("metric", ALIGNING, ids=str)
@settings(max_examples=60)
@given(
    corpus=st.lists(
        st.tuples(
            st.lists(st.sampled_from(WORDS), max_size=9),
            st.lists(st.lists(st.sampled_from(WORDS), max_size=9), min_size=1, max_size=3),
        ),
        max_size=5,
    ),
    blank=st.sampled_from([None, " ", "  ", "\t", " \n"]),
)
def test_corpora_align_as_sentences_do(metric, corpus, blank):
    """One by one the cells of the table are filled one after the other."""
    shape = tuple if blank is None else blank.join
    hypotheses = [shape(said) for said, _ in corpus]
    references = [[shape(each) for each in expected] for _, expected in corpus]
    found = corpus_stats(metric, hypotheses, references)
    assert np.array_equal(found, segment_rows(metric, hypotheses, references))


@pytest.mark.parametrize("metric", [WER(), CER()], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_long_sentences_align_as_short_ones(metric, seed):
    rng = np.random.default_rng(seed)
    sentences = ["".join(rng.choice(list("ab c"), size)) for size in (300, 129, 64, 65, 1)]
    references = [[each] for each in sentences[::-1]]
    found = corpus_stats(metric, sentences, references)
    assert np.array_equal(found, segment_rows(metric, sentences, references))


def test_many_segments_on_threads():
    hypotheses = [f"a {n % 7} c {n % 5}" for n in range(1000)]
    references = [[f"a {n % 3} b c"] for n in range(1000)]
    for metric in (WER(), CER(), GRR(), TER(), CHRF(), METEOR(stages="exact")):
        found = corpus_stats(metric, hypotheses, references)
        assert np.array_equal(found[:210], corpus_stats(metric, hypotheses[:210], references[:210]))
        assert np.array_equal(found[777], metric.stats(hypotheses[777], references[777]))


def test_what_is_no_corpus_is_said_as_for_sentences():
    for metric in (WER(), TER(), METEOR(stages="exact")):
        assert len(corpus_stats(metric, [], [])) == 0
        with pytest.raises(OptionError, match="2 hypotheses, but references for 1 segments"):
            corpus_stats(metric, ["a", "b"], [["a"]])
        with pytest.raises(OptionError, match="are a list, not one string"):
            corpus_stats(metric, ["a"], ["a"])
        with pytest.raises(OptionError, match="at least one reference"):
            corpus_stats(metric, ["a"], [[]])
        with pytest.raises(OptionError, match="a token is a string, not int"):
            corpus_stats(metric, [["a", 1]], [["a"]])
        references = (text for text in ["b", "a"])
        expected = metric.stats("a", ["b", "a"])
        assert np.array_equal(corpus_stats(metric, ["a"], [references])[0], expected)


@given(
    st.lists(sentences(("the", "cat", "sat", "a"), unknown=("on", "Sat")), min_size=1, max_size=5),
    st.lists(sentences(("the", "cat", "sat", "a")), min_size=1, max_size=3),
)
def test_pairs_score_as_sentences_do(some, others):
    candidates, evidence = (
        NBest.from_hypotheses([Hypothesis(tuple(each)) for each in every])
        for every in (some, others)
    )
    for metric in (TER(), TER(case_sensitive=True), METEOR(stages="exact")):
        found = metric.pair_scores(candidates, evidence)
        expected = [[metric.against([other]).score(one) for one in some] for other in others]
        assert found.tolist() == expected


def test_a_process_beside_others_takes_one_thread(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2})
    assert count_workers() == 3
    monkeypatch.setattr("multiprocessing.process._parent_process", object())
    assert count_workers() == 1
