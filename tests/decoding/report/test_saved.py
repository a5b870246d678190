"""Pages of results that were saved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from decoding.report.saved import is_saved, read_saved
from tests.decoding.cli.commandline import CAT, cats, command, lattice_line, words
from tests.decoding.report.pages import details, unpacked

run = command()
MORE = [{"word": "a", "confidence": 1.5, "begin": None, "end": None, "alternatives": []}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    hat = [(0, 1, "the", -0.1), (0, 1, "a", -0.2), (1, 2, "hat", -0.1), (1, 2, "cat", -0.5)]
    (tmp_path / "some.jsonl").write_text(lattice_line("x", CAT) + lattice_line("y", hat))
    words(tmp_path / "refs", "x the cat", "y a cat sat")
    common = [tmp_path / "some.jsonl", "--refs", tmp_path / "refs", "--metric", "wer", "grr", "-q"]
    oracles, decisions = tmp_path / "oracles.jsonl", tmp_path / "mbr.jsonl"
    assert run("oracle", *common, "--format", "jsonl", "-k", 2, "-o", oracles) == 0
    assert run("mbr", *common, "--format", "jsonl", "--confidences", "-o", decisions) == 0
    return tmp_path


def page(folder: Path, *inputs: str) -> dict[str, object]:
    output = folder / "page.html"
    argv = [*(folder / each for each in inputs), "--refs", folder / "refs"]
    assert run("report", *argv, "--metric", "wer", "grr", "-q", "-o", output) == 0
    return unpacked(output.read_bytes())


def test_scores_are_those_of_a_search(folder: Path) -> None:
    searched, saved = page(folder, "some.jsonl"), page(folder, "oracles.jsonl", "mbr.jsonl")
    one, other = (each["report"]["systems"][0] for each in (searched, saved))
    assert list(other["scores"]) == ["mbr", "oracle"]
    # the saved oracles are those of the first metric
    assert other["scores"]["oracle"][0]["score"] == one["scores"]["oracle"][0]["score"]
    assert other["scores"]["oracle"][0]["interval"] == one["scores"]["oracle"][0]["interval"]
    for kind in other["scores"]["mbr"], one["scores"]["mbr"]:
        assert [each["score"] for each in kind] == [each["score"] for each in one["scores"]["mbr"]]
    assert other["reliability"] == one["reliability"]
    shown = details(saved)
    assert [each["label"] for each in shown[0]["sentences"]] == ["MBR", "WER oracle"]
    # which they are is said where the metrics would have had their own
    assert [each["report"]["kinds"]["oracle"] for each in (searched, saved)] == [
        "own oracle",
        "WER oracle",
    ]
    assert shown[0]["network"] is not None


def test_oracles_alone(folder: Path) -> None:
    data = page(folder, "oracles.jsonl")
    assert list(data["report"]["systems"][0]["scores"]) == ["oracle"]
    assert data["report"]["systems"][0]["reliability"] is None


def test_saved_beside_searched(folder: Path) -> None:
    output = folder / "page.html"
    argv = [folder / "some.jsonl", "--against", folder / "oracles.jsonl", "--refs", folder / "refs"]
    assert run("report", *argv, "--metric", "wer", "-q", "-o", output) == 0
    effects = unpacked(output.read_bytes())["report"]["comparison"]["effects"]
    assert list(effects) == ["oracle"]
    assert effects["oracle"][0]["effect"] == 0.0


def test_sentence_oracles_and_corpus_oracles(folder: Path) -> None:
    common = [folder / "some.jsonl", "--refs", folder / "refs", "--metric", "bleu:order=1", "-q"]
    sentences, corpus = folder / "sentences.jsonl", folder / "corpus.jsonl"
    assert run("oracle", *common, "--format", "jsonl", "-o", sentences) == 0
    assert run("oracle", *common, "--format", "jsonl", "--corpus", "-o", corpus) == 0
    for file, expected in ((folder / "some.jsonl", True), (sentences, True), (corpus, False)):
        assert run("report", file, *common[1:], "-o", folder / "page.html") == 0
        report = unpacked((folder / "page.html").read_bytes())["report"]
        assert report["systems"][0]["sentence_oracles"] is expected, file
        assert report["kinds"]["oracle"] == "oracle"
        assert list(report["systems"][0]["scores"])[-1] == "oracle"


def test_which_files_are_results(folder: Path) -> None:
    assert is_saved(str(folder / "oracles.jsonl"))
    assert is_saved(str(folder / "mbr.jsonl"))
    assert not is_saved(str(folder / "some.jsonl"))
    assert not is_saved(str(folder / "refs"))


def test_bad_lines_are_named_and_the_others_kept(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "oracles.jsonl"
    good = file.read_text().splitlines()
    number = {**json.loads(good[0]), "id": "z", "words": [1]}
    file.write_text("\n".join([*good, "{", json.dumps(number), good[0]]) + "\n")
    found, failures = read_saved([str(file)])
    assert list(found) == ["x", "y"]
    assert [failure.line for failure in failures] == [len(good) + n for n in (1, 2, 3)]
    output = folder / "page.html"
    assert run("report", file, "--refs", folder / "refs", "-q", "-o", output) == 1
    said = capsys.readouterr().err
    assert f"oracles.jsonl:{len(good) + 1}: no JSON" in said
    assert "a second oracle of segment 'x'" in said
    assert unpacked(output.read_bytes())["report"]["systems"][0]["failed"] == 3


@pytest.mark.parametrize("confidences", [[{}], [1], 7, [{"word": "a", "confidence": "x"}], MORE])
def test_confidences_of_another_shape(folder: Path, confidences: object) -> None:
    lines = [json.loads(line) for line in (folder / "mbr.jsonl").read_text().splitlines()]
    lines[0]["confidences"] = confidences
    text = "".join(json.dumps(each) + "\n" for each in lines)
    (folder / "mbr.jsonl").write_text(text)
    output = folder / "page.html"
    assert run("report", folder / "mbr.jsonl", "--refs", folder / "refs", "-q", "-o", output) == 1
    assert unpacked(output.read_bytes())["report"]["systems"][0]["segments"] == 1


def test_references_are_needed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("report", folder / "oracles.jsonl", "-o", folder / "page.html") == 2
    assert "give them by --refs" in capsys.readouterr().err
    both = [folder / "oracles.jsonl", cats(folder / "cats.jsonl")]
    assert run("report", *both, "--refs", folder / "refs", "-o", folder / "page.html") == 2
    assert "has saved results" in capsys.readouterr().err
    assert not (folder / "page.html").exists()
