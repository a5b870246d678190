from __future__ import annotations

import dataclasses
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fstmetrics import TER, corpus_score, corpus_stats, parse_metric
from fstmetrics.testing import check_metric
from lattices import Lattice, OptionError
from lattices.errors import MissingDependencyError
from tests.strategies import sentences

sacrebleu = pytest.importorskip("sacrebleu")
from sacrebleu.metrics.lib_ter import translation_edit_rate  # noqa: E402

METRICS = [
    TER(),
    TER(normalized=True, case_sensitive=True),
    TER(no_punct=True, asian_support=True),
]


def theirs(metric):
    return sacrebleu.TER(**dataclasses.asdict(metric))


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_the_laws_hold(metric):
    check_metric(metric)


@pytest.mark.parametrize("metric", METRICS, ids=str)
@settings(max_examples=50)
@given(
    corpus=st.lists(
        st.tuples(*[sentences(("The", "cat,", "sat", "on"), unknown=("(x)", "猫"))] * 3),
        min_size=1,
        max_size=4,
    )
)
def test_corpora_score_as_in_sacrebleu(metric, corpus):
    texts = [[" ".join(each) for each in segment] for segment in corpus]
    hypotheses, *documents = map(list, zip(*texts, strict=True))
    expected = theirs(metric).corpus_score(hypotheses, documents).score
    found = corpus_score(metric, hypotheses, [segment[1:] for segment in texts])
    assert 100 * found == pytest.approx(expected, abs=1e-9)


def test_wmt15(shared_data):
    folder = shared_data / "wmt15" / "fr-en"
    (path,) = folder.glob("*ref*")
    system = sorted(each for each in folder.glob("*.txt") if "-src" not in each.name)[-1]
    reference, hypotheses = (
        each.read_text(encoding="utf-8").split("\n")[:120] for each in (path, system)
    )
    assert system != path
    metric = TER()
    rows = corpus_stats(metric, hypotheses, [[line] for line in reference])
    expected = theirs(metric)._extract_corpus_statistics(hypotheses, [reference])
    assert rows.tolist() == expected


@settings(max_examples=200)
@given(st.data(), st.sampled_from(["ab", "abcd", "abcdefghij"]))
def test_translation_edits_are_sacrebleus(data, letters):
    """Also of sentences so long, or of such different lengths, that its beam counts."""
    size = data.draw(st.sampled_from([6, 30, 80]))
    words = st.lists(st.sampled_from(letters), max_size=size)
    one, other = data.draw(words), data.draw(words)
    if data.draw(st.booleans()):
        # phrases that have changed places
        cut = data.draw(st.integers(0, len(other)))
        one = [*other[cut:], *one[:2], *other[:cut]]
    expected = translation_edit_rate(one, other)
    assert tuple(TER().stats(" ".join(one), [" ".join(other)])) == expected


def test_long_sentences_are_compared_in_the_beam():
    for one, other in (("a b " * 60, "c d " * 60), ("x " * 3, "y x z " * 70), ("a " * 90, "b")):
        expected = translation_edit_rate(one.split(), other.split())
        assert tuple(TER().stats(one, [other])) == expected


def test_without_sacrebleu(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu.tokenizers.tokenizer_ter", None)
    assert TER().score(TER().stats("b a", ["a b"])) == 0.5
    for metric in (TER(normalized=True), TER(no_punct=True)):
        with pytest.raises(MissingDependencyError, match=r"pip install 'fstmetrics\[sacrebleu\]'"):
            metric.against(["a"])


def test_the_signature():
    assert parse_metric("ter:no_punct=true") == TER(no_punct=True)


def test_lattices_are_no_references():
    with pytest.raises(OptionError, match="not as a lattice"):
        TER().against([Lattice.from_arcs([(0, 1, "a")], finals=[1])])


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_evaluators_survive_pickling(metric):
    metric.score(metric.stats("a", ["a"]))
    evaluator = metric.against(["the cat sat", "a cat"])
    again = pickle.loads(pickle.dumps(evaluator))
    assert np.array_equal(again.stats("the hat"), evaluator.stats("the hat"))
