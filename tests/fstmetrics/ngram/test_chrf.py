from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fstmetrics import CHRF, corpus_score, corpus_stats
from fstmetrics.testing import check_metric
from lattices import Lattice, OptionError
from tests.strategies import sentences

sacrebleu = pytest.importorskip("sacrebleu")

METRICS = [
    CHRF(),
    CHRF(word_order=2),
    CHRF(char_order=3, beta=1.0, lowercase=True, whitespace=True, eps_smoothing=True),
]


def theirs(metric):
    return sacrebleu.CHRF(**dataclasses.asdict(metric))


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
    metric = CHRF(word_order=2)
    rows = corpus_stats(metric, hypotheses, [[line] for line in reference])
    expected = theirs(metric)._extract_corpus_statistics(hypotheses, [reference])
    assert rows.tolist() == expected


def test_the_signature():
    assert str(CHRF(word_order=2)) == "chrf:char_order=6,word_order=2,beta=2"


def test_what_means_nothing_is_refused():
    for options in ({"char_order": 0}, {"word_order": -1}, {"beta": 0.0}, {"beta": float("nan")}):
        with pytest.raises(OptionError, match=next(iter(options))):
            CHRF(**options)


def test_lattices_are_no_references():
    with pytest.raises(OptionError, match="not as a lattice"):
        CHRF().against([Lattice.from_arcs([(0, 1, "a")], finals=[1])])


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_evaluators_survive_pickling(metric):
    metric.score(metric.stats("a", ["a"]))
    evaluator = metric.against(["the cat sat", "a cat"])
    again = pickle.loads(pickle.dumps(evaluator))
    assert np.array_equal(again.stats("the hat"), evaluator.stats("the hat"))
