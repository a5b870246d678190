from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fstmetrics import (
    BLEU,
    WER,
    BLEUModif,
    EmbeddingSimilarity,
    WERModif,
    load_vectors,
    parse_metric,
)
from fstmetrics.contract import nbest_stats
from fstmetrics.references import split_tokens
from fstmetrics.similarity.vectors import WordVectors
from fstmetrics.testing import check_metric
from lattices import Hypothesis, Lattice, NBest, OptionError

KNOWN = ("the", "cat", "sat", "on", "mat")
TABLE = WordVectors(KNOWN, np.random.default_rng(3).normal(size=(5, 4)))
GLOVE = "vectors/glove100d.30k.w2v.txt.gz"

sentences = st.lists(st.sampled_from((*KNOWN, "hat", "axolotl")), max_size=7).map(tuple)
references = st.lists(sentences, min_size=1, max_size=3)


@pytest.fixture
def vector_file(tmp_path):
    path = tmp_path / "vectors.txt"
    rows = TABLE.rows(KNOWN)
    lines = (f"{word} {' '.join(map(str, row))}\n" for word, row in zip(KNOWN, rows, strict=True))
    path.write_text("5 4\n" + "".join(lines))
    return str(path)


@pytest.mark.parametrize("kind", [BLEUModif, WERModif])
@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
def test_the_laws_hold(vector_file, kind, gamma):
    metric = kind(vectors=vector_file, gamma=gamma)
    check_metric(metric)
    assert parse_metric(str(metric)) == metric


def similarity_by_definition(ngram, other, gamma, table=TABLE):
    if ngram == other:
        return 1.0
    means = []
    for words in (ngram, other):
        known = [table.rows([word])[0] for word in words if table.numbers([word])[0] >= 0]
        if not known:
            return 0.0
        means.append(np.mean(known, axis=0))
    cosine = means[0] @ means[1] / np.linalg.norm(means[0]) / np.linalg.norm(means[1])
    return float(cosine) if cosine >= max(gamma, 1e-300) else 0.0


def ngrams(sentence, n):
    return [sentence[i : i + n] for i in range(len(sentence) - n + 1)]


@given(sentences, references, st.sampled_from([0.0, 0.1, 0.63]))
def test_precisions_equal_the_definition(hypothesis, references, gamma):
    metric = BLEUModif(vectors=TABLE, gamma=gamma)
    stats = metric.against(references).stats(hypothesis)
    for n in range(1, 5):
        pool = [ngram for reference in references for ngram in ngrams(reference, n)]
        expected = sum(
            max((similarity_by_definition(ngram, other, gamma) for other in pool), default=0.0)
            for ngram in ngrams(hypothesis, n)
        )
        assert stats[n - 1] == pytest.approx(expected, abs=1e-9)
    # the rest is BLEU's
    assert stats[4:].tolist() == BLEU().stats(hypothesis, references)[4:].tolist()
    assert metric.score(stats) == BLEU().score(stats)


@given(sentences, sentences)
def test_a_threshold_of_one_gives_the_unigram_precision_without_clipping(hypothesis, reference):
    stats = BLEUModif(vectors=TABLE, gamma=1.0).against([reference]).stats(hypothesis)
    assert stats[0] == sum(word in reference for word in hypothesis)


@given(st.permutations(["cat", "sat", "on", "mat", "axolotl"]))
def test_the_order_within_an_ngram_does_not_count(words):
    metric = BLEUModif(vectors=TABLE, gamma=1.0, order=5)
    stats = metric.against(["cat sat on mat axolotl"]).stats(words)
    assert stats[4] == 1.0


def test_gensim_agrees(shared_data):
    models = pytest.importorskip("gensim.models")
    table = load_vectors(shared_data / GLOVE)
    hypothesis = split_tokens("the old man was sleeping in a small boat near the river")
    reference = split_tokens("an elderly man slept in his little ship by the water")
    keyed = models.KeyedVectors(table.dimensions)
    distinct = [*dict.fromkeys((*hypothesis, *reference))]
    keyed.add_vectors(distinct, table.rows(distinct).astype(np.float32))
    stats = BLEUModif(vectors=table, gamma=0.3).against([reference]).stats(hypothesis)
    for n in range(1, 5):
        expected = 0.0
        for ngram in ngrams(hypothesis, n):
            best = max(
                float(keyed.n_similarity(list(ngram), list(other)))
                for other in ngrams(reference, n)
            )
            expected += best if best >= 0.3 else 0.0
        assert stats[n - 1] == pytest.approx(expected, abs=1e-4)


def test_lists_are_scored_as_their_entries():
    entries = [("the", "cat"), (), ("mat", "hat", "hat", "sat", "on")]
    nbest = NBest.from_hypotheses([Hypothesis(each, 0.0) for each in entries])
    evaluator = BLEUModif(vectors=TABLE).against(["the cat sat on", "a hat"])
    expected = [evaluator.stats(each).tolist() for each in entries]
    assert nbest_stats(evaluator, nbest).tolist() == expected


@given(sentences, references, st.sampled_from([0.0, 0.4]))
def test_wer_modif_is_wer_with_a_similarity(hypothesis, references, gamma):
    soft = WER(similarity=EmbeddingSimilarity(vectors=TABLE, gamma=gamma))
    metric = WERModif(vectors=TABLE, gamma=gamma)
    assert metric.stats(hypothesis, references).tolist() == (
        soft.stats(hypothesis, references).tolist()
    )
    for reference in references:
        # equation 7, by the plain recurrence
        row = [float(i) for i in range(len(reference) + 1)]
        for j, word in enumerate(hypothesis, 1):
            diagonal, row[0] = row[0], float(j)
            for i, other in enumerate(reference, 1):
                cost = diagonal + 1 - similarity_by_definition((word,), (other,), gamma)
                diagonal, row[i] = row[i], min(cost, row[i] + 1, row[i - 1] + 1)
        score = metric.against([reference]).score(hypothesis)
        assert score == pytest.approx(row[-1] / max(1, len(reference)))


def test_a_reference_lattice_works_for_wer_modif_and_is_refused_by_bleu_modif():
    alternatives = Lattice.from_arcs([(0, 1, "cat", 0.0), (0, 1, "mat", 0.0)], finals=[1])
    metric = WERModif(vectors=TABLE)
    expected = min(metric.against([word]).score("sat") for word in ("cat", "mat"))
    assert metric.against([alternatives]).score("sat") == expected
    with pytest.raises(OptionError, match="not as a lattice"):
        BLEUModif(vectors=TABLE).against([alternatives])


@pytest.mark.parametrize(
    ("specification", "message"),
    [
        ("bleu-modif", "bleu-modif needs word vectors: vectors=FILE"),
        ("wer-modif", "wer-modif needs word vectors: vectors=FILE"),
        ("wer-modif:vectors=x,gamma=2", "gamma is in"),
        ("bleu-modif:vectors=x,unit=char", "compares words"),
    ],
)
def test_bad_options(specification, message):
    with pytest.raises(OptionError, match=message):
        parse_metric(specification)
