"""Systems read from files, their scores and comparisons."""

from __future__ import annotations

from pathlib import Path

import pytest

from fstmetrics import GRR, WER, corpus_score, corpus_stats
from fstmetrics.statistics.significance import bootstrap, sign_test
from fstmetrics.statistics.systems import (
    Scorer,
    compare_systems,
    pair_matrices,
    read_complete,
    read_system,
)
from lattices.errors import FormatError
from lattices.formats.references import References, read_references

METRICS = (WER(), GRR(n=2))
REFS = ["the cat sat", "on the mat", "all day long"]
ONE = ["the cat sat", "on a mat", "all day"]
OTHER = ["a cat sat", "on the mat", "every day"]


def lines(path: Path, *texts: str) -> str:
    path.write_text("".join(f"{text}\n" for text in texts))
    return str(path)


@pytest.fixture
def references(tmp_path: Path) -> References:
    return read_references([lines(tmp_path / "refs", *REFS)], format="plain")


def test_scores_and_intervals_are_those_of_the_library(tmp_path, references) -> None:
    system = read_complete(lines(tmp_path / "one", *ONE), None, Scorer(METRICS, references))
    against = [[text] for text in REFS]
    assert system.scores() == [corpus_score(metric, ONE, against) for metric in METRICS]
    for metric, estimate in zip(METRICS, system.estimates(samples=50, seed=3), strict=True):
        stats = corpus_stats(metric, ONE, against)
        assert estimate == bootstrap(metric, stats, samples=50, seed=3)


def test_segments_are_paired_by_id(tmp_path) -> None:
    names = ["s1", "s2", "s3"]
    both = [f"{name} {text}" for name, text in zip(names, REFS, strict=True)]
    references = read_references([lines(tmp_path / "refs", *both)], format="kaldi")
    one = [f"{name} {text}" for name, text in zip(names, ONE, strict=True)]
    scorer = Scorer(METRICS, references)
    systems = [
        read_complete(lines(tmp_path / "one", *one), None, scorer),
        read_complete(lines(tmp_path / "two", *reversed(one)), None, scorer),
    ]
    first, second = pair_matrices(systems, references)
    assert [matrix.tolist() for matrix in first] == [matrix.tolist() for matrix in second]


def test_comparisons_are_with_the_first(tmp_path, references) -> None:
    scorer = Scorer(METRICS, references)
    paths = [lines(tmp_path / name, *texts) for name, texts in (("one", ONE), ("two", OTHER))]
    systems = [read_complete(path, None, scorer) for path in paths]
    found = compare_systems(systems, references, [sign_test])
    against = [[text] for text in REFS]
    assert [one.metric for one in found] == list(METRICS)
    for one in found:
        stats = [corpus_stats(one.metric, texts, against) for texts in (OTHER, ONE)]
        assert one.results == [sign_test(one.metric, *stats)]
        assert one.baseline_score == corpus_score(one.metric, ONE, against)


def test_a_segment_that_fails_is_told_with_its_place(tmp_path) -> None:
    references = read_references([lines(tmp_path / "refs", "s1 a cat", "s2 a mat")], format="kaldi")
    path = lines(tmp_path / "one", "s1 a cat", "s9 a dog")
    system = read_system(path, None, Scorer(METRICS, references))
    (failure,) = system.failures
    assert str(failure).startswith(f"{path}:2: segment 's9': ")
    with pytest.raises(FormatError, match="segment 's9'"):
        read_complete(path, None, Scorer(METRICS, references))
