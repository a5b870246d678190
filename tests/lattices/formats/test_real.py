"""Files of real decoders; skipped where they are absent."""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from lattices import trim
from lattices.formats import parse_record, read, read_records, write
from lattices.formats.references import read_references
from lattices.spaces import Forest, Lattice, NBest
from lattices.testing import sentences
from lattices.vocabulary import Vocabulary
from tests.lattices.algorithms.comparing import best_score, parts, structure, words
from tests.lattices.real_spaces import SHARED
from tests.strategies import small_lattices


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
    ("name", "segments", "arcs"),
    [
        ("multi30k-deen/val.de-en.lat.d50.jsonl.gz", 1014, 659_948),
        ("multi30k-deen/val_first300.de-en.lat.d200.jsonl.gz", 300, 767_300),
        ("hifst-ruen/lattices.jsonl.gz", 60, 172_861),
    ],
)
def test_large_lattices(shared_data: Path, name: str, segments: int, arcs: int) -> None:
    lattices = list(read(shared_data / name))
    assert len(lattices) == segments
    assert sum(lattice.num_arcs for lattice in lattices if isinstance(lattice, Lattice)) == arcs
    assert all(len(lattice.references) == 1 for lattice in lattices)
    assert len({lattice.id for lattice in lattices}) == segments


def test_acceptors_of_openfst_are_the_lattices_they_were_made_of(shared_data: Path) -> None:
    archive = shared_data / "multi30k-deen" / "val.de-en.lat.d10.att.tar.gz"
    found = SHARED["att"](shared_data, None)
    with tarfile.open(archive) as members:
        assert len(found) == len(members.getnames()) == 1014
    for one, other in zip(found, SHARED["d10"](shared_data, None), strict=True):
        assert isinstance(one, Lattice)
        assert isinstance(other, Lattice)
        assert one.id == other.id.rpartition(".")[2]
        same, wanted = structure(one), structure(other)
        for name in ("score", "final"):
            # nine digits or so on one side, all on the other
            np.testing.assert_allclose(same.pop(name), wanted.pop(name), rtol=1e-6, atol=1e-6)
        # the same states, by number
        assert same == wanted


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
    files = sorted((shared_data / "ami-slf").glob("*.lat.gz"))
    assert len(files) == 4
    for file in files:
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


def accepted_alike(one: Lattice, other: Lattice) -> bool:
    """Tell whether two lattices have the same sentences.

    Both are made deterministic, side by side: the states that some words lead to must be able
    to end, and to go on by the same words, in both or in neither.
    """
    starts, steps, ends = zip(*map(_steps, (one, other)), strict=True)
    seen = set()
    todo = [tuple(_closed({starts[side]}, steps[side]) for side in (0, 1))]
    while todo:
        pair = todo.pop()
        if pair in seen:
            continue
        seen.add(pair)
        if bool(pair[0] & ends[0]) != bool(pair[1] & ends[1]):
            return False
        following: list[dict[str, set[int]]] = [{}, {}]
        for side in (0, 1):
            for state in pair[side]:
                for word, targets in steps[side].get(state, {}).items():
                    if word:
                        following[side].setdefault(word, set()).update(targets)
        if following[0].keys() != following[1].keys():
            return False
        for word in following[0]:
            todo.append(tuple(_closed(following[side][word], steps[side]) for side in (0, 1)))
    return True


def _steps(lattice: Lattice) -> tuple[int, dict[int, dict[str, set[int]]], set[int]]:
    """Return where complete paths begin, where states lead by which word, and where paths end."""
    whole = trim(lattice).space
    steps: dict[int, dict[str, set[int]]] = {}
    for src, dst, word in zip(whole.src.tolist(), whole.dst.tolist(), words(whole), strict=True):
        steps.setdefault(src, {}).setdefault(word, set()).add(dst)
    return whole.start, steps, set(whole.finals.tolist())


def _closed(states: set[int], steps: Mapping[int, Mapping[str, set[int]]]) -> frozenset[int]:
    """Return the states with all that epsilons lead to."""
    found, todo = set(states), list(states)
    while todo:
        new = steps.get(todo.pop(), {}).get("", set()) - found
        found |= new
        todo += new
    return frozenset(found)


@given(small_lattices(words="ab", features=False), small_lattices(words="ab", features=False))
def test_sentences_are_compared_one_by_one(one: Lattice, other: Lattice) -> None:
    assert accepted_alike(one, one)
    assert accepted_alike(one, other) == (sentences(one).keys() == sentences(other).keys())


def test_both_files_of_pocketsphinx_have_the_same_sentences(shared_data: Path) -> None:
    files = sorted((shared_data / "pocketsphinx").glob("*.sphinx.gz"))
    assert len(files) == 19
    for file in files:
        (own,) = read(file)
        (slf,) = read(str(file).replace(".sphinx.", ".slf."))
        assert isinstance(own, Lattice)
        assert isinstance(slf, Lattice)
        assert accepted_alike(own, slf)


def test_nbest_lists_of_moses(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "multi30k-deen"
    lists = list(read(folder / "val.de-en.100best.gz"))
    assert len(lists) == 1014
    names = {feature for one in lists for feature in one.feature_names}
    assert {"TranslationModel0_0", "TranslationModel0_3", "LM0"} <= names
    best = (folder / "val.de-en.1best").read_text(encoding="utf-8").splitlines()
    for one, text in zip(lists, best, strict=True):
        assert isinstance(one, NBest)
        assert one[0].text == text
        assert one.score.tolist() == sorted(one.score, reverse=True)
    some = lists[::10]
    write(tmp_path / "x.nbest", some)
    assert [parts(one) for one in read(tmp_path / "x.nbest")] == [parts(one) for one in some]


@pytest.mark.parametrize(("part", "count"), [("dev_clean", 2703), ("dev_other", 2864)])
def test_nbest_lists_of_librispeech(
    shared_data: Path, tmp_path: Path, part: str, count: int
) -> None:
    folder = shared_data / "librispeech-nbest"
    lists = list(read(folder / f"{part}.nbest.tsv.gz"))
    assert len(lists) == count
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


def test_forests_are_read_among_the_others(shared_data: Path) -> None:
    forests = list(read(shared_data / "multi30k-deen" / "hiero150.de-en.forest.d10.jsonl.gz"))
    assert len(forests) == 150
    assert all(isinstance(forest, Forest) for forest in forests)
    assert sum(forest.num_edges for forest in forests if isinstance(forest, Forest)) == 18_991
    assert all(len(forest.references) == 1 for forest in forests)
