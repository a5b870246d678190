"""Corpus oracles of real lattices, at the values two engines and the scorers agree on.

The lattice values were computed by the kernel; the OpenFst engine finds the same path for every
one of these lattices (here it is run on some of them). The WER oracles at two densities lie where
those of the same decoder's test set do (28.3 and 20.3 %).
"""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

import lattices
from decoding import oracle, oracle_kbest, oracles, worst
from fstmetrics import GRR, WER, WRR, corpus_score
from lattices.formats.references import read_references

MULTI30K = "multi30k-deen/val.de-en.lat.{}.jsonl.gz"


def corpus_oracle(segments, metric, engine="auto"):
    evaluators = [metric.against(segment.references) for segment in segments]
    found = oracles(segments, evaluators, engine=engine)
    assert all(each.exact for each in found)
    return metric.score(np.sum([each.stats for each in found], axis=0))


@pytest.mark.parametrize(
    ("density", "values"),
    [("d10", (0.2813, 0.7187, 0.5591)), ("d50", (0.2034, 0.7966, 0.6677))],
)
def test_multi30k(shared_data, density, values):
    segments = list(lattices.read(shared_data / MULTI30K.format(density)))
    assert len(segments) == 1014
    for metric, value in zip((WER(), WRR(), GRR()), values, strict=True):
        assert corpus_oracle(segments, metric) == pytest.approx(value, abs=5e-5)


def test_multi30k_engines_agree(shared_data):
    segments = list(islice(lattices.read(shared_data / MULTI30K.format("d50")), 0, 1014, 25))
    for metric in (WER(), GRR()):
        evaluators = [metric.against(segment.references) for segment in segments]
        ours = oracles(segments, evaluators, engine="kernel")
        theirs = oracles(segments, evaluators, engine="openfst")
        assert [each.hypothesis for each in ours] == [each.hypothesis for each in theirs]


def test_the_best_path_is_the_decoders(shared_data):
    for segment in islice(lattices.read(shared_data / MULTI30K.format("d10")), 200):
        found = lattices.best(segment)
        assert found.text == segment.metadata["hyp"]
        assert found.score == pytest.approx(segment.metadata["hyp_score"], abs=1e-6)


def test_hifst(shared_data):
    segments = list(lattices.read(shared_data / "hifst-ruen" / "lattices.jsonl.gz"))
    for metric, value in zip((WER(), WRR(), GRR()), (0.3183, 0.6817, 0.5090), strict=True):
        assert corpus_oracle(segments, metric) == pytest.approx(value, abs=5e-5)


@pytest.mark.parametrize(
    ("part", "best", "first"), [("dev_clean", 0.0404, 0.0612), ("dev_other", 0.1302, 0.1676)]
)
def test_librispeech_ten_best(shared_data, part, best, first):
    folder = shared_data / "librispeech-nbest"
    references = lattices.read_references([folder / f"{part}.ref.txt"], format="kaldi")
    stats, ones, sentences = [], [], []
    for place, segment in enumerate(lattices.read(folder / f"{part}.nbest.tsv.gz")):
        of_segment = references.get(segment.id, place)
        stats.append(oracle(segment, WER().against(of_segment)).stats)
        ones.append(segment[int(np.argmax(segment.score))].tokens)
        sentences.append(of_segment)
    assert WER().score(np.sum(stats, axis=0)) == pytest.approx(best, abs=5e-5)
    assert corpus_score(WER(), ones, sentences) == pytest.approx(first, abs=5e-5)


def test_worst_and_k_best_on_real_lattices(shared_data):
    for segment in islice(lattices.read(shared_data / MULTI30K.format("d10")), 40):
        evaluator = GRR().against(segment.references)
        ranked = oracle_kbest(segment, evaluator, 100)
        scores = [each.score for each in ranked]
        assert scores == sorted(scores, reverse=True)
        assert len({each.tokens for each in ranked}) == len(ranked)
        assert ranked[0].hypothesis == oracle(segment, evaluator).hypothesis
        if len(ranked) < 100:  # these are all the sentences there are
            assert worst(segment, evaluator)[0].score == scores[-1]
            upwards = worst(segment, evaluator, 100)
            assert [each.score for each in upwards] == scores[::-1]


@pytest.mark.parametrize("score", ["header", "posterior"])
def test_both_files_of_pocketsphinx_have_the_same_oracles(shared_data, score):
    folder = shared_data / "pocketsphinx"
    files = sorted(folder.glob("*.sphinx.gz"))
    assert len(files) == 19
    references = read_references([folder / "refs.txt"])
    options = {"score": "header"} if score == "header" else {}
    for position, file in enumerate(files):
        (own,) = lattices.read(file)
        (slf,) = lattices.read(str(file).replace(".sphinx.", ".slf."), "htk", **options)
        for metric in (WER(), GRR()):
            evaluator = metric.against(list(references.get(own.id, position)))
            one, other = oracle(own, evaluator), oracle(slf, evaluator)
            assert one.score == other.score
            if score == "header":
                assert one.hypothesis.text == other.hypothesis.text
            # without the scores, which may differ, there are more ties
            one, other = (
                oracle(lattice.replaced(score=np.zeros(lattice.num_arcs)), evaluator)
                for lattice in (own, slf)
            )
            assert one.score == other.score
