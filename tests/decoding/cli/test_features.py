"""``fstmetrics features``: files and functions, in order and by id, and what is wrong with them."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

import lattices
from lattices import NBest, from_hypotheses
from tests.decoding.cli.commandline import cats, command, words

features, train, rescore = command("features"), command("train"), command("rescore")

#: what the model likes least is right
TEXTS = {"s1": ["a hat", "the hat", "the cat"], "s2": ["a mat", "the mat"]}
MODULE = """
def common(texts):
    with open("calls.txt", "a") as file:
        file.write(f"{sorted(texts)}\\n")
    return [5.0 * text.count("the") + text.count("cat") for text in texts]

def wrong(texts):
    return [1.0]
"""


@pytest.fixture
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    some = [
        from_hypotheses(
            [(text, -float(rank)) for rank, text in enumerate(texts)],
            id=id,
            references=[texts[-1]],
        )
        for id, texts in TEXTS.items()
    ]
    path = tmp_path / "lists.jsonl"
    lattices.write(path, [lattices.add_feature(each, "model", each.score) for each in some])
    (tmp_path / "functions_of_features.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return path


def values(path: Path, name: str) -> list[list[float]]:
    return [[entry.features.get(name, 0.0) for entry in space] for space in lattices.read(path)]


@pytest.mark.parametrize(
    "lines",
    [
        ["1", "2.5", "-3", "0", "4e0"],
        ["s1 1", "s1 2.5", "s2 0", "s1 -3", "s2 4"],
        ["s2\\t0 4", "s3 7", "s1 1 2.5 -3"],
    ],
)
@pytest.mark.parametrize("target", ["out.jsonl", "out.nbest"])
def test_files(lists: Path, tmp_path: Path, lines: list[str], target: str) -> None:
    file = words(tmp_path / "v", *(line.replace("\\t", "\t") for line in lines))
    to = ["--to", "moses-nbest", "--lossy"] if target.endswith("nbest") else []
    assert features(lists, "--add", f"lm={file}", "-o", tmp_path / target, *to) == 0
    assert values(tmp_path / target, "lm") == [[1.0, 2.5, -3.0], [0.0, 4.0]]
    assert values(tmp_path / target, "model") == values(lists, "model")


def test_train_and_rescore_use_it(lists: Path, tmp_path: Path) -> None:
    """The way it is used: a feature by a function, a weight for it, and better sentences."""
    out, weights, best = (tmp_path / name for name in ("out.jsonl", "weights", "best.tsv"))
    assert (
        features(lists, "--add", "good=python:functions_of_features:common", "-o", out, "-q") == 0
    )
    # once, with every text once
    [call] = (tmp_path / "calls.txt").read_text().splitlines()
    assert call == repr(sorted({text for texts in TEXTS.values() for text in texts}))
    assert train(out, "--metric", "wer", "--learner", "mert", "-o", weights, "-q") == 0
    assert rescore(out, "--weights", weights, "--metric", "wer", "-o", best, "-q") == 0
    said = [line.split("\t")[2] for line in best.read_text().splitlines()]
    assert said == ["the cat", "the mat"]


def test_words_of_lattices_and_forests(lists: Path, tmp_path: Path) -> None:
    path, out = cats(tmp_path / "cats.jsonl", 2), tmp_path / "out.jsonl"
    forest = lattices.Forest.from_edges([(0, [], ["cat", "the"]), (1, [0], ["cat", 0, "x"])])
    with path.open("ab") as file:
        lattices.write(tmp_path / "f.jsonl", [forest.replaced(id="f")])
        file.write((tmp_path / "f.jsonl").read_bytes())
    flags = ["--add", "good=python:functions_of_features:common", "--workers", "2"]
    assert features(path, *flags, "-o", out, "-q") == 0
    first, _, last = lattices.read(out)
    assert {p.text: p.features.get("good", 0.0) for p in first.paths()} == {
        "a hat": 0.0, "a cat": 1.0, "the hat": 5.0, "the cat": 6.0,
    }  # fmt: skip
    [only] = last.derivations()
    assert (only.text, only.features["good"]) == ("cat cat the x", 7.0)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["1", "2", "3", "4"], "v:4: the file ends, expected 2 values for the hypotheses of segment"
         " 's2' (lists.jsonl:2) from line 4 on"),
        (["1", "2", "3", "4", "5", "6"], "v:6: 6 values, for 5 hypotheses in all"),
        (["1", "2", "", "4", "5"], "v:3: '', expected a number"),
        (["1", "x", "3", "4", "5"], "v:2: 'x', expected a number"),
        (["1", "nan", "3", "4", "5"], "v:2: 'nan', expected a number"),
        (["1", "s1 2", "3", "4", "5"], "v:2: 's1 2', expected a number"),
        (["s1 1 2 3", "4 "], "v:2: '4 ', expected an id and numbers"),
        ([], "v: the file ends, expected 3 values"),
    ],
)  # fmt: skip
def test_wrong_files(
    lists: Path, lines: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words(Path("v"), *lines)
    assert features("lists.jsonl", "--add", "lm=v", "-o", "out.jsonl") == 2
    error = capsys.readouterr().err
    assert error.startswith(f"fstmetrics: error: {said}")
    assert error.count("\n") == 1
    assert not Path("out.jsonl").exists()


def test_a_segment_without_its_values_is_the_only_one_lost(
    lists: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words(Path("v"), "s1 1", "s1 2", "s2 3 4")
    assert features(lists, "--add", "lm=v", "-o", "out.jsonl") == 1
    error = capsys.readouterr().err
    assert "v:1: 2 values for segment 's1', which has 3 hypotheses" in error
    assert [json.loads(line)["id"] for line in Path("out.jsonl").read_text().splitlines()] == ["s2"]
    words(Path("v"), "s2 3 4")
    assert features(lists, "--add", "lm=v", "-o", "out.jsonl") == 1
    assert "v has no values for segment 's1'" in capsys.readouterr().err


def test_lines_cannot_be_told_after_a_broken_segment(
    lists: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = lists.read_text().splitlines()
    words(Path("broken.jsonl"), "{", first, second)
    words(Path("v"), *"12345")
    assert features("broken.jsonl", "--add", "lm=v", "-o", "out.jsonl") == 2
    assert "nobody knows which lines are those of the segments after it" in capsys.readouterr().err
    assert not Path("out.jsonl").exists()
    # by ids they can
    words(Path("v"), "s1 1 2 3", "s2 4 5")
    assert features("broken.jsonl", "--add", "lm=v", "-o", "out.jsonl") == 1
    assert values(Path("out.jsonl"), "lm") == [[1.0, 2.0, 3.0], [4.0, 5.0]]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--add", "x=nope"], "nope: No such file or directory"),
        (["--add", "x=python:nope:f"], "python:nope:f cannot be imported"),
        (["--add", "x=python:functions_of_features:f"], "is not there"),
        (["--add", "x=python:functions_of_features:wrong"],
         r"was given [23] texts and returned an array of shape \(1,\), expected \([23],\)"),
        (["--add", "model=python:functions_of_features:common"],
         "there is a feature 'model' already"),
    ],
)  # fmt: skip
def test_wrong_sources(
    lists: Path, flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert features(lists, *flags, "-o", "out.jsonl", "-q") == 2
    assert re.search(said, capsys.readouterr().err)
    assert not Path("out.jsonl").exists()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--add", "x"], "'x', expected NAME=FILE or NAME=python:MODULE:FUNCTION"),
        (["--add", "x=v", "--add", "x=w"], "--add x is given twice"),
        ([], "fstmetrics features needs --add"),
    ],
)
def test_wrong_usage(
    lists: Path, flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert features(lists, *flags) == 2
    assert said in capsys.readouterr().err


def test_a_file_is_of_lists(lists: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cats(Path("cats.jsonl"), 1)
    words(Path("v"), "s0 1")
    assert features("cats.jsonl", "--add", "lm=v") == 2
    assert "v has values of hypotheses, and segment 's0' is a lattice" in capsys.readouterr().err


def test_the_file_of_values_is_not_written_over(
    lists: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words(Path("v.jsonl"), *"12345")
    assert features(lists, "--add", "lm=v.jsonl", "-o", "v.jsonl") == 2
    assert Path("v.jsonl").read_text() == "1\n2\n3\n4\n5\n"


def test_add_feature() -> None:
    lattice = lattices.Lattice.from_arcs(
        [(0, 1, "a", -1.0, {"lm": 2.0}), (0, 1, "", -2.0)], {1: -0.5}, id="x",
        final_features={1: {"lm": 1.0}},
    )  # fmt: skip
    found = lattices.add_feature(lattice, "new", [3.0, 0.0])
    assert sorted((p.text, p.score, p.features.get("new", 0.0)) for p in found.paths()) == [
        ("", -2.5, 0.0),
        ("a", -1.5, 3.0),
    ]
    assert [p.features.get("lm") for p in found.paths()] == [
        p.features.get("lm") for p in lattice.paths()
    ]
    nbest = NBest.from_hypotheses([lattices.Hypothesis(("a",), -1.0)])
    for wrong in ([1.0, 2.0], [float("inf")]):
        with pytest.raises(lattices.SpaceError, match="'new' has"):
            lattices.add_feature(nbest, "new", wrong)


def test_quality_estimation_takes_sources(lists: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("my_quality.py").write_text(
        "def lengths(texts, sources):\n"
        "    return [len(text) - 10 * len(source) for text, source in zip(texts, sources)]\n"
    )
    count = sum(1 for _ in lattices.read(lists))
    sources = words(Path("sources.txt"), *("y" + "x" * place for place in range(count)))
    added = ("--add", "qe=python:my_quality:lengths")
    assert (
        features(
            lists, *added, "--sources", sources, "--sources-format", "plain", "-o", "out.jsonl"
        )
        == 0
    )
    for place, space in enumerate(lattices.read("out.jsonl")):
        assert space.source == "y" + "x" * place
        for each in space:
            assert each.features["qe"] == len(each.text) - 10 * (place + 1)
    assert features(lists, *added) == 2
    assert "takes texts and sources, and segment" in capsys.readouterr().err
