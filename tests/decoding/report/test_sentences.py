"""Pages of results that were saved, and of what systems said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from decoding.report.sentences import divide, read_saved, saved_kind
from tests.decoding.cli.commandline import CAT, command, lattice_line, words
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
    comparison = unpacked(output.read_bytes())["report"]["comparison"]
    assert comparison["answers"] == [[0, "one_best"], [0, "mbr"], [0, "oracle"], [1, "oracle"]]
    assert comparison["effects"][0]["2-3"]["effect"] == 0.0


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
    assert saved_kind(str(folder / "oracles.jsonl")) == "oracle"
    assert saved_kind(str(folder / "mbr.jsonl")) == "mbr"
    assert saved_kind(str(folder / "some.jsonl")) is None
    assert saved_kind(str(folder / "refs")) is None


def test_files_are_divided_into_systems(folder: Path) -> None:
    words(folder / "one.txt", "x the cat", "y a cat")
    words(folder / "two.trn", "the cat (x)", "a cat (y)")
    names = ["one.txt", "some.jsonl", "oracles.jsonl", "two.trn", "mbr.jsonl", "mbr.jsonl"]
    found = divide([str(folder / name) for name in (*names, "some.jsonl")], None)
    assert [([Path(path).name for path in each.paths], each.holds) for each in found] == [
        (["one.txt"], "sentences"),
        (["some.jsonl", "some.jsonl"], "spaces"),
        (["oracles.jsonl", "mbr.jsonl"], "saved"),
        (["two.trn"], "sentences"),
        (["mbr.jsonl"], "saved"),
    ]


CTM = ["u1 A 0.1 0.2 the 0.9", "u1 A 0.4 0.2 hat 0.3", "u2 A 0.0 0.5 a 0.8"]


@pytest.mark.parametrize(
    "refs", [["u1 the cat", "u2 a cat sat"], ["the cat (u1)", "a cat sat (u2)"]]
)
def test_systems_say_the_same_in_every_layout(folder: Path, refs: list[str]) -> None:
    words(folder / "r", *refs)
    words(folder / "kaldi", "u1 the hat", "u2 a")
    words(folder / "trn", "the hat (u1)", "a (u2)")
    words(folder / "ctm", *CTM)
    words(folder / "tsv", "u1\t0.5\tthe hat", "u2\t0.1\ta")
    names = ["kaldi", "trn", "ctm", "tsv"]
    output = folder / "page.html"
    argv = [*(folder / name for name in names), "--refs", folder / "r", "--metric", "wer"]
    assert run("report", *argv, "-q", "-o", output) == 0
    data = unpacked(output.read_bytes())
    report = data["report"]
    assert [each["name"] for each in report["systems"]] == names
    assert report["comparison"]["answers"] == [[n, "one_best"] for n in range(4)]
    for number, system in enumerate(report["systems"]):
        (found,) = system["scores"]["one_best"]
        assert found["score"] == pytest.approx(3 / 5)
        assert found["rates"][0] == "%WER 60.00 [ 3 / 5, 0 ins, 2 del, 1 sub ]"
        assert data[f"index-{number}"]["texts"][1::2] == ["the hat", "a"]
    # what a page has once it does not have again
    assert data["index-0"]["texts"][::2] == ["the cat", "a cat sat"]
    assert data["index-1"]["texts"][::2] == ["", ""]
    effects = report["comparison"]["effects"][0]
    assert sorted(effects) == ["0-1", "0-2", "0-3", "1-2", "1-3", "2-3"]
    assert {(each["effect"], each["p"], each["mapsswe"]) for each in effects.values()} == {
        (0.0, 1.0, 1.0)
    }
    # a ctm has times, and confidences to judge
    (sentence,) = details(data, 2)[0]["sentences"]
    assert sentence["times"] == [[0.1, 0.3], [0.4, 0.6]]
    reliability = report["systems"][2]["reliability"]
    assert (reliability["kind"], reliability["words"]) == ("one_best", 3)
    assert sum(right for _, _, right in reliability["of"][0]["bins"]) == 2
    assert report["systems"][0]["reliability"] is None


def test_lines_are_paired_by_their_order(folder: Path) -> None:
    words(folder / "r", "the cat", "a cat sat")
    words(folder / "one", "the cat", "a cat")
    words(folder / "two", "the cat", "")
    output = folder / "page.html"
    argv = ["--refs", folder / "r", "--metric", "wer", "-q", "-o", output]
    assert run("report", folder / "one", folder / "two", *argv) == 0
    data = unpacked(output.read_bytes())
    assert data["index-0"]["ids"] == ["1", "2"]
    scores = [each["scores"]["one_best"][0]["score"] for each in data["report"]["systems"]]
    assert scores == pytest.approx([1 / 5, 3 / 5])
    output.unlink()
    words(folder / "two", "the cat")
    assert run("report", folder / "one", folder / "two", *argv) == 2
    assert not output.exists()


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
    assert "oracles.jsonl has results without references" in capsys.readouterr().err
    assert run("report", folder / "refs", "-o", folder / "page.html") == 2
    assert "refs has sentences without references; give --refs FILE" in capsys.readouterr().err
    assert not (folder / "page.html").exists()
