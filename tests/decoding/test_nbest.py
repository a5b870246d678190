from __future__ import annotations

import math
from itertools import islice, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lattices
from decoding import oracle
from decoding.nbest import corpus_oracle, rerank
from fstmetrics import BLEU, BLEUSBP, GRR, WER, corpus_score
from lattices import Hypothesis, NBest, OptionError, SpaceError

texts = st.lists(st.sampled_from("abc"), max_size=5).map(tuple)
lists = st.lists(
    st.builds(Hypothesis, texts, st.sampled_from([-1.0, -2.0, 0.0])), min_size=1, max_size=4
).map(NBest.from_hypotheses)
corpora = st.lists(st.tuples(lists, texts), min_size=1, max_size=4)
metrics = st.sampled_from(
    [BLEU(order=2), BLEU(smooth="exp"), BLEUSBP(order=2), WER(), GRR(n=2), BLEU(length="average")]
)


def sign(metric):
    return 1 if metric.higher_is_better else -1


def scored(metric, spaces, references, entries):
    hypotheses = [space.tokens(entry) for space, entry in zip(spaces, entries, strict=True)]
    return corpus_score(metric, hypotheses, references)


@settings(max_examples=150)
@given(corpora, metrics)
def test_no_single_change_improves_a_corpus_oracle(corpus, metric):
    spaces, references = [space for space, _ in corpus], [[text] for _, text in corpus]
    found = corpus_oracle(spaces, references, metric)
    entries = [each.index for each in found.hypotheses]
    assert [each.tokens for each in found.hypotheses] == [
        space.tokens(entry) for space, entry in zip(spaces, entries, strict=True)
    ]
    assert found.score == pytest.approx(scored(metric, spaces, references, entries))
    assert found.score == metric.score(found.stats)
    for segment, space in enumerate(spaces):
        for entry in range(len(space)):
            other = [*entries[:segment], entry, *entries[segment + 1 :]]
            score = scored(metric, spaces, references, other)
            assert sign(metric) * score <= sign(metric) * found.score + 1e-9


@settings(max_examples=150)
@given(corpora, metrics)
def test_a_corpus_oracle_is_no_worse_than_its_starts_and_no_better_than_all(corpus, metric):
    spaces, references = [space for space, _ in corpus], [[text] for _, text in corpus]
    found = corpus_oracle(spaces, references, metric)
    first = [int(np.argmax(space.score)) for space in spaces]
    sentence = [
        oracle(space, metric.against(some)).hypothesis.index
        for space, some in zip(spaces, references, strict=True)
    ]
    assert found.first_score == pytest.approx(scored(metric, spaces, references, first))
    assert found.sentence_score == pytest.approx(scored(metric, spaces, references, sentence))
    starts = sign(metric) * np.array([found.first_score, found.sentence_score])
    assert sign(metric) * found.score >= starts.max() - 1e-12
    best = max(
        sign(metric) * scored(metric, spaces, references, entries)
        for entries in product(*(range(len(space)) for space in spaces))
    )
    assert sign(metric) * found.score <= best + 1e-9
    if isinstance(metric, GRR | WER):
        # metrics that decompose need no search
        assert sign(metric) * found.score == pytest.approx(best)


def test_a_local_optimum_need_not_be_the_best():
    # together "b a" and "b" are long enough; from "b" and "a a b c" one change leads nowhere
    spaces = [
        NBest.from_hypotheses([Hypothesis(tuple(text.split()), 0.0) for text in texts])
        for texts in (["b a", "b"], ["a a b c", "b"])
    ]
    references, metric = [["c"], ["b b b"]], BLEU(order=1)
    found = corpus_oracle(spaces, references, metric)
    assert [each.index for each in found.hypotheses] == [1, 0]
    assert found.score == 1 / 5
    assert scored(metric, spaces, references, [0, 1]) == pytest.approx(math.exp(1 - 4 / 3) / 3)


def test_real_lists(shared_data):
    folder = shared_data / "multi30k-deen"
    spaces = list(islice(lattices.read(folder / "val.de-en.100best.gz"), 60))
    references = [[line] for line in (folder / "val.en").read_text("utf-8").splitlines()[:60]]
    found = corpus_oracle(spaces, references, BLEU())
    assert found.first_score < found.sentence_score < found.score
    smoothed = corpus_oracle(spaces, references, BLEU(smooth="add-k"))
    assert smoothed.sentence_score > found.sentence_score


def test_what_a_corpus_oracle_refuses():
    some = NBest.from_hypotheses([Hypothesis(("a",), 0.0)])
    with pytest.raises(OptionError, match="1 lists, but references for 2 segments"):
        corpus_oracle([some], [["a"], ["b"]], BLEU())
    with pytest.raises(OptionError, match="n-best list 1 is empty"):
        corpus_oracle([some, NBest.from_hypotheses([])], [["a"], ["b"]], BLEU())
    with pytest.raises(OptionError, match="a list, not one string"):
        corpus_oracle([some], ["a"], BLEU())


def test_reranking():
    rows = [("a", 1.0, 0.0), ("b b", 2.0, 1.0), ("c", 1.0, 0.0), ("", 0.0, 5.0)]
    nbest = NBest.from_hypotheses(
        [Hypothesis(tuple(text.split()), 9.0, {"lm": lm, "tm": tm}) for text, lm, tm in rows],
        id="seg-7",
        metadata={"extra": ["one", "two", "three", "four"]},
    )
    found = rerank(nbest, {"lm": 1.0, "tm": -0.5})
    assert [(each.text, each.score) for each in found] == [
        ("b b", 1.5), ("a", 1.0), ("c", 1.0), ("", -2.5)
    ]  # fmt: skip
    assert found.id == "seg-7"
    assert found.metadata["extra"] == ["two", "one", "three", "four"]
    assert [each.features for each in found] == [nbest[entry].features for entry in (1, 0, 2, 3)]
    with pytest.raises(SpaceError, match="no features"):
        rerank(NBest.from_hypotheses([Hypothesis(("a",), 0.0)]), {"lm": 1.0})


def test_reranking_with_the_decoders_weights_gives_its_order(shared_data):
    folder = shared_data / "multi30k-deen"
    # the list's names are not those of the weights, but their order is
    lines = (folder / "weights.de-en").read_text("utf-8").splitlines()
    weights = [float(line.split()[1]) for line in lines]
    for nbest in islice(lattices.read(folder / "val.de-en.100best.gz"), 5):
        found = rerank(nbest, weights)
        assert found.score == pytest.approx(np.sort(nbest.score)[::-1], abs=1e-3)
