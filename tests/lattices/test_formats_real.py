"""Files of real decoders; skipped where they are absent."""

from __future__ import annotations

import gzip
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from lattices.formats import parse_record, read, read_records, write
from lattices.formats.references import read_references
from lattices.spaces import Lattice, NBest
from lattices.vocabulary import Vocabulary
from tests.lattices.comparing import best_score, parts, structure


@pytest.mark.parametrize("name", ["tiny20.de-en.lat.d10.jsonl", "val.de-en.lat.d10.jsonl.gz"])
def test_translation_lattices_score_as_their_decoder_said(shared_data: Path, name: str) -> None:
    folder = shared_data / "multi30k-deen"
    rows = [line.split() for line in (folder / "weights.de-en").read_text().splitlines()]
    weights = {feature: float(value) for feature, value in rows}
    count = 0
    for lattice in read(folder / name):
        assert isinstance(lattice, Lattice)
        assert best_score(lattice) == pytest.approx(lattice.metadata["hyp_score"], abs=1e-6)
        again = lattice.reweighted(weights)
        # single precision on the decoder's side
        np.testing.assert_allclose(again.score, lattice.score, rtol=0, atol=5e-6)
        np.testing.assert_allclose(
            again.final[lattice.finals], lattice.final[lattice.finals], rtol=0, atol=5e-6
        )
        count += 1
    assert count == (20 if name.startswith("tiny") else 1014)


@pytest.mark.parametrize(
    ("name", "segments"),
    [
        ("multi30k-deen/val.de-en.lat.d50.jsonl.gz", 1014),
        ("multi30k-deen/val_first300.de-en.lat.d200.jsonl.gz", 300),
        ("hifst-ruen/lattices.jsonl.gz", 60),
    ],
)
def test_large_lattices(shared_data: Path, tmp_path: Path, name: str, segments: int) -> None:
    records = list(read_records(shared_data / name))
    assert len(records) == segments
    words = Vocabulary()
    some = [parse_record(found, record, words) for found, record in records[:: segments // 10]]
    write(tmp_path / "x.jsonl", some)
    assert [parts(one) for one in read(tmp_path / "x.jsonl")] == [parts(one) for one in some]


def test_speech_lattices_of_pocketsphinx(shared_data: Path) -> None:
    folder = shared_data / "pocketsphinx"
    files = sorted(folder.glob("*.slf.gz"))
    assert len(files) == 22
    references = read_references([folder / "refs.txt"])
    for position, file in enumerate(files):
        (lattice,) = read(file)
        assert isinstance(lattice, Lattice)
        assert lattice.id == file.name.removesuffix(".slf.gz")
        posterior = lattice.features.toarray()[:, lattice.feature_names.index("posterior")]  # type: ignore[union-attr]
        # the probability of coming to a state, by the scores alone, gives p back
        reached = np.zeros(lattice.num_states)
        reached[lattice.start] = 1.0
        shares = np.empty(lattice.num_arcs)
        columns = lattice.src.tolist(), lattice.dst.tolist(), np.exp(lattice.score).tolist()
        for arc, (src, dst, share) in enumerate(zip(*columns, strict=True)):
            shares[arc] = reached[src] * share
            reached[dst] += shares[arc]
        np.testing.assert_allclose(shares, posterior, rtol=0, atol=2e-3)
        assert reached[lattice.finals] == pytest.approx([1.0], abs=1e-6)
        (reference,) = references.get(lattice.id.split(".")[0], position)
        assert set(reference.split()) & set(lattice.vocabulary)
        if position % 8 == 0:
            (again,) = read(file, score="header")
            assert isinstance(again, Lattice)
            column = again.feature_names.index("acoustic")
            assert again.score.tolist() == again.features.toarray()[:, column].tolist()  # type: ignore[union-attr]


def test_speech_lattices_of_ami(shared_data: Path, tmp_path: Path) -> None:
    for file in sorted((shared_data / "ami-slf").glob("*.lat.gz")):
        (lattice,) = read(file)
        assert isinstance(lattice, Lattice)
        assert lattice.id == file.name.removesuffix(".lat.gz") + ".plp"
        with gzip.open(file, "rt") as lines:
            links = [
                dict(field.split("=", 1) for field in line.split())
                for line in lines
                if line.startswith("J=")
            ]
        scores = [float(k["a"]) + 14 * float(k["l"]) + 14 * float(k["r"]) for k in links]
        np.testing.assert_allclose(sorted(lattice.score), sorted(scores), rtol=1e-12)
        assert lattice.num_arcs == len(links)
        assert not {"<s>", "</s>", "!NULL"} & set(lattice.vocabulary)
        assert lattice.times is not None
        assert (np.diff(lattice.times[[lattice.start, lattice.finals[0]]]) > 0).all()
        write(tmp_path / "x.slf", [lattice])
        (again,) = read(tmp_path / "x.slf")
        assert isinstance(again, Lattice)
        assert structure(again) == structure(lattice)
        (tagged,) = read(file, tags="keep")
        assert {"<s>", "</s>"} <= set(tagged.vocabulary)


def test_nbest_lists_of_moses(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "multi30k-deen"
    lists = list(islice(read(folder / "val.de-en.100best.gz"), 100))
    names = {feature for one in lists for feature in one.feature_names}
    assert {"TranslationModel0_0", "TranslationModel0_3", "LM0"} <= names
    best = (folder / "val.de-en.1best").read_text(encoding="utf-8").splitlines()
    for one, text in zip(lists, best, strict=False):
        assert isinstance(one, NBest)
        assert one[0].text == text
        assert one.score.tolist() == sorted(one.score, reverse=True)
    write(tmp_path / "x.nbest", lists)
    assert [parts(one) for one in read(tmp_path / "x.nbest")] == [parts(one) for one in lists]
    assert len(list(read_records(folder / "val.de-en.100best.gz"))) == 1014


@pytest.mark.parametrize("part", ["dev_clean", "dev_other"])
def test_nbest_lists_of_librispeech(shared_data: Path, tmp_path: Path, part: str) -> None:
    folder = shared_data / "librispeech-nbest"
    lists = list(read(folder / f"{part}.nbest.tsv.gz"))
    references = read_references([folder / f"{part}.ref.txt"], [one.id for one in lists])
    best = read_references([folder / f"{part}.1best.txt"])
    assert references.layout == "kaldi"
    for position, one in enumerate(lists):
        assert isinstance(one, NBest)
        assert 1 <= len(one) <= 10
        assert best.get(one.id, position) == (one[0].text,)
    write(tmp_path / "x.tsv.gz", lists)
    assert [parts(one) for one in read(tmp_path / "x.tsv.gz")] == [parts(one) for one in lists]


def test_plain_references(shared_data: Path) -> None:
    folder = shared_data / "multi30k-deen"
    references = read_references([folder / "val.en"])
    for position, (found, record) in enumerate(read_records(folder / "val.de-en.lat.d10.jsonl.gz")):
        if position % 100 == 0:
            lattice = parse_record(found, record, Vocabulary())
            assert references.get(lattice.id, position) == lattice.references
    assert references.layout == "plain"
    references.finish(position + 1)


def test_forests_are_refused_by_name(shared_data: Path) -> None:
    path = shared_data / "multi30k-deen" / "hiero150.de-en.forest.d10.jsonl.gz"
    problems: list[str] = []
    assert list(islice(read(path, on_error=lambda one: problems.append(one.problem)), 1)) == []
    assert len(problems) == 150
    assert all("this is a forest" in problem for problem in problems)
