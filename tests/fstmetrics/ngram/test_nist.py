from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fstmetrics import NIST, corpus_score, parse_metric
from fstmetrics.ngram.nist import ReferenceSet
from fstmetrics.testing import check_metric
from lattices import Lattice, OptionError
from tests.strategies import sentences

WORDS = ("a", "b", "c", "B")
corpora = st.lists(
    st.tuples(sentences(WORDS, max_size=9), st.lists(sentences(WORDS), min_size=2, max_size=2)),
    min_size=1,
    max_size=4,
)


def grams(words, n):
    return Counter(tuple(words[at : at + n]) for at in range(len(words) - n + 1))


def by_definition(corpus, order):
    """NIST by the pages of Doddington (2002), and by the loops of mteval-v13a."""
    counts, words = Counter(), 0
    for _, references in corpus:
        for reference in references:
            words += len(reference)
            for n in range(1, order + 1):
                counts += grams(reference, n)
    score = 0.0
    for n in range(1, order + 1):
        information, total = 0.0, 0
        for hypothesis, references in corpus:
            total += max(0, len(hypothesis) - n + 1)
            most = Counter()
            for reference in references:
                most |= grams(reference, n)
            for gram, count in (grams(hypothesis, n) & most).items():
                before = counts[gram[:-1]] if n > 1 else words
                information += count * math.log(before / counts[gram], 2)
        score += information / max(total, 1)
    own = sum(len(hypothesis) for hypothesis, _ in corpus)
    mean = sum(sum(map(len, references)) / len(references) for _, references in corpus)
    if own == 0:
        return 0.0
    ratio = min(1.0, own / mean) if mean else 1.0
    # exp(beta log^2 ratio), with the beta that makes it 1/2 at 2/3
    return score * 0.5 ** ((math.log(ratio) / math.log(2 / 3)) ** 2)


@given(corpora, st.integers(1, 5))
def test_it_equals_its_definition(corpus, order):
    hypotheses, references = [each for each, _ in corpus], [each for _, each in corpus]
    metric = NIST(references=ReferenceSet(references), order=order)
    found = corpus_score(metric, hypotheses, references)
    assert found == pytest.approx(by_definition(corpus, order), abs=1e-9)


@given(corpora)
def test_it_equals_nltk_with_one_reference(corpus):
    nist_score = pytest.importorskip("nltk.translate.nist_score")
    hypotheses, references = [each for each, _ in corpus], [each[:1] for _, each in corpus]
    # NLTK divides by the number of 5-grams, even if there are none
    assume(any(len(each) >= 5 for each in hypotheses) and any(map(any, references)))
    metric = NIST(references=ReferenceSet(references))
    expected = nist_score.corpus_nist(references, hypotheses, n=5)
    assert corpus_score(metric, hypotheses, references) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("ratio", "penalty"), [(1.0, 1.0), (1.5, 1.0), (2 / 3, 0.5), (4 / 9, 0.0625)]
)
def test_the_brevity_penalty(ratio, penalty):
    # one half at two thirds (Doddington 2002); (2/3)^2 has a logarithm twice as large
    row = [3.0, 9.0, 9.0, 9.0 / ratio]
    assert NIST(references="segment", order=1).score(row) == pytest.approx(penalty / 3)


def test_a_worked_example():
    # five words in all: the 2, cat, sat and dog 1 each; `the cat` and `the dog` half of `the` each
    references = [["the cat sat"], ["the dog"]]
    metric = NIST(references=ReferenceSet(references), order=3)
    stats = metric.stats("the cat ran", references[0])
    assert stats == pytest.approx(
        [math.log2(5 / 2) + math.log2(5), 1.0, 0.0, 3, 2, 1, 3, 3], abs=1e-12
    )
    assert metric.score(stats) == pytest.approx((math.log2(5 / 2) + math.log2(5)) / 3 + 1 / 2)
    # what the test set does not have is as rare as what it has once
    assert metric.stats("bird", ["bird"])[0] == pytest.approx(math.log2(5))


def test_units_are_those_of_bleu():
    references = [["The Cat"]]
    assert corpus_score(NIST(references=ReferenceSet(references)), ["the cat"], references) == 0
    lower = NIST(references=ReferenceSet(references), lowercase=True, order=1)
    assert corpus_score(lower, ["the cat"], references) == pytest.approx(1.0)
    pytest.importorskip("sacrebleu")
    cut = NIST(references=ReferenceSet([["a cat."]]), tokenize="13a", order=1)
    assert cut.stats("a cat .", ["a cat."])[-2:].tolist() == [3, 3]


def test_references_from_files(tmp_path):
    for name, text in (("one", "the cat sat\n"), ("two", "the dog\n")):
        (tmp_path / name).write_text(text)
    metric = parse_metric(f"nist:references={tmp_path / 'one'}:{tmp_path / 'two'},order=2")
    memory = NIST(references=ReferenceSet([["the cat sat"], ["the dog"]]), order=2)
    for words in ("the cat", "the dog sat", ""):
        assert metric.stats(words, ["the cat sat"]).tolist() == (
            memory.stats(words, ["the cat sat"]).tolist()
        )
    assert parse_metric(str(metric)) == metric
    assert str(memory) == "nist:references=memory,order=2,tokenize=none"
    with pytest.raises(OptionError, match=r"references: .*No such file"):
        parse_metric("nist:references=nowhere").require()


def test_the_laws_hold(tmp_path):
    check_metric(NIST(references="segment"))
    (tmp_path / "refs").write_text("the cat sat on the mat\nthe hat\n")
    check_metric(NIST(references=str(tmp_path / "refs"), order=3, lowercase=True))


def test_bad_options():
    with pytest.raises(OptionError, match=r"nist weighs n-grams .* references=FILE"):
        NIST()
    with pytest.raises(OptionError, match="order is a whole number"):
        NIST(references="segment", order=0)
    with pytest.raises(OptionError, match="nist takes references as sentences"):
        NIST(references="segment").against([Lattice.from_arcs([(0, 1, "a", 0.0)], finals=[1])])
