"""``fstmetrics rescore``, judged by scoring every path."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lattices
from decoding.corpus import journal
from decoding.corpus.table import Totals
from lattices import Forest, Hypothesis, Lattice, NBest, read, write
from lattices.formats.weights import write_weights
from tests.decoding.cli.commandline import command, words
from tests.strategies import FEATURE_NAMES, GRID, small_forests, small_lattices

ARCS: list[Any] = [
    (0, 1, "a", -0.1, {"lm": -1.0, "tm": 1.0}),
    (0, 1, "the", -0.9, {"lm": -2.0, "tm": 3.0}),
    (1, 2, "hat", -0.2, {"lm": -1.0, "tm": 0.5}),
    (1, 2, "cat", -0.7, {"lm": -1.5, "tm": 2.0}),
]


run = command("rescore")


def corpus(path: Path, count: int = 3, **rest: Any) -> Path:
    spaces = [Lattice.from_arcs(ARCS, [2], id=f"s{n}", **rest) for n in range(count)]
    write(path, spaces)
    return path


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    return words(tmp_path / "weights.txt", "lm 1.0", "tm 2.0", "unused 7.0")


def test_one_line_a_segment(
    tmp_path: Path, weights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = corpus(tmp_path / "a.jsonl", 2), tmp_path / "o.tsv"
    assert run(source, "--weights", weights, "-o", out) == 0
    assert out.read_text() == "s0\t6.5\tthe cat\ns1\t6.5\tthe cat\n"
    told = capsys.readouterr().err
    assert "2 segments, 0 failed, 2 without references" in told
    assert "metric" not in told


def test_other_formats_of_lines(tmp_path: Path, weights: Path) -> None:
    source, out = corpus(tmp_path / "a.jsonl", 1, references=["the hat"]), tmp_path / "o"
    assert run(source, "--weights", weights, "--format", "text", "-o", out, "-q") == 0
    assert out.read_text() == "the cat\n"
    argv = [source, "--weights", weights, "--format", "jsonl", "--metric", "wer", "-o", out, "-q"]
    assert run(*argv) == 0
    assert json.loads(out.read_text()) == {
        "id": "s0",
        "score": 6.5,
        "words": ["the", "cat"],
        "text": "the cat",
        "features": {"lm": -3.5, "tm": 5.0},
        "scores": {"wer": 0.5},
    }


def test_moses_and_travatar_weights(tmp_path: Path) -> None:
    source, out, file = corpus(tmp_path / "a.jsonl", 1), tmp_path / "o.tsv", tmp_path / "w"
    for format in ("moses", "travatar"):
        write_weights({"lm": 1.0, "tm": 2.0}, file, format)
        assert run(source, "--weights", file, "-o", out, "-q") == 0
        assert out.read_text() == "s0\t6.5\tthe cat\n"


def test_summary_before_and_after(
    tmp_path: Path, weights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = corpus(tmp_path / "a.jsonl", 2)
    refs, summary = words(tmp_path / "refs", "the cat", "a cat"), tmp_path / "s.json"
    argv = ["--weights", weights, "--refs", refs, "--refs-format", "plain"]
    argv += ["--metric", "wer", "grr", "--summary", summary]
    assert run(source, *argv, "-o", tmp_path / "o.tsv") == 0
    found = json.loads(summary.read_text())
    # "a hat" in the file has 2 + 1 errors, "the cat" now 0 + 1
    assert found["metrics"]["wer"] == {"file": 0.75, "rescored": 0.25}
    assert (found["segments"], found["judged"], found["failed"]) == (2, 2, 0)
    told = capsys.readouterr().err
    assert "in the file" in told
    assert "%WER 75.00 [ 3 / 4, 0 ins, 0 del, 3 sub ] in the file" in told
    assert "%WER 25.00 [ 1 / 4, 0 ins, 0 del, 1 sub ] rescored" in told
    assert "%SER 50.00 [ 1 / 2 ] rescored" in told


@settings(max_examples=25, deadline=None)
@given(
    st.one_of(small_lattices(features=True, exact=True), small_forests(features=True, exact=True)),
    st.lists(GRID, min_size=3, max_size=3),
)
def test_the_best_by_enumeration(space: Lattice | Forest, values: list[float]) -> None:
    space = space.replaced(id="s")
    weight = dict(zip(FEATURE_NAMES, values, strict=True))
    paths = space.paths() if isinstance(space, Lattice) else space.derivations()
    scored = [
        (sum(weight[name] * value for name, value in path.features.items()), path.tokens)
        for path in paths
    ]
    with tempfile.TemporaryDirectory() as folder:
        source, out, file = (Path(folder, name) for name in ("a.jsonl", "o.tsv", "w.txt"))
        write(source, [space])
        write_weights(weight, file)
        assert run(source, "--weights", file, "-o", out, "-q") == 0
        assert run(source, "--weights", file, "-k", 3, "-o", f"{out}.jsonl", "-q") == 0
        assert run(source, "--weights", file, "--spaces", "-o", f"{out}.gz.jsonl", "-q") == 0
        _, score, text = out.read_text().rstrip("\n").split("\t")
        (nbest,) = read(f"{out}.jsonl")
        (whole,) = read(f"{out}.gz.jsonl")
    top = sorted((score for score, _ in scored), reverse=True)
    assert float(score) == pytest.approx(top[0], abs=1e-12)
    assert any(each == pytest.approx(top[0]) and " ".join(said) == text for each, said in scored)
    assert isinstance(nbest, NBest)
    assert nbest.score.tolist() == pytest.approx(top[:3], abs=1e-12)
    assert lattices.best(whole).score == pytest.approx(top[0], abs=1e-12)
    assert lattices.path_count(whole) == len(scored)


def test_lists_are_ranked_anew(tmp_path: Path, weights: Path) -> None:
    some = [
        Hypothesis(("a",), 3.0, {"lm": 1.0, "tm": 0.0}),
        Hypothesis(("b",), 2.0, {"lm": 0.0, "tm": 1.0}),
        Hypothesis(("b",), 1.0, {"lm": 0.5, "tm": 0.5}),
    ]
    source, out = tmp_path / "a.jsonl", tmp_path / "o.jsonl"
    write(source, [NBest.from_hypotheses(some, id="s0")])
    assert run(source, "--weights", weights, "-k", 5, "--unique", "-o", out) == 0
    (found,) = read(out)
    assert isinstance(found, NBest)
    assert [(each.text, each.score) for each in found] == [("b", 2.0), ("a", 1.0)]
    assert run(source, "--weights", weights, "--spaces", "-o", out) == 0
    (found,) = read(out)
    assert isinstance(found, NBest)
    assert [(each.text, each.score) for each in found] == [("a", 1.0), ("b", 2.0), ("b", 1.5)]


def test_features_without_a_weight(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = corpus(tmp_path / "a.jsonl", 40), tmp_path / "o.tsv"
    file = words(tmp_path / "w.txt", "tm 1")
    assert run(source, "--weights", file, "--missing", "error", "-o", out) == 2
    assert "no weight for the features lm" in capsys.readouterr().err
    other = words(tmp_path / "other.txt", "am 1")
    assert run(source, "--weights", other, "-o", out) == 2
    assert "no weight for the features" in capsys.readouterr().err
    assert not out.exists()
    assert run(source, "--weights", file, "-o", out) == 0
    assert "no weight for the features lm: they counted nothing" in capsys.readouterr().err
    for argv in ([], ["-k", "1", "--to", "nbest-tsv", "--lossy"]):
        assert run(source, "--weights", file, "--missing", "zero", *argv, "-o", out, "-q") == 0
        told = capsys.readouterr().err
        assert told.count("no weight for the features lm: they counted nothing") == 1
        assert out.read_text().count("the cat") == 40


def test_one_bad_segment_does_not_stop_the_others(
    tmp_path: Path, weights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "a.jsonl", tmp_path / "o.tsv"
    bare = '{"id": "bare", "finals": {"1": 0}, "arcs": [[0, 1, "a", -1]]}\n'
    source.write_text(corpus(tmp_path / "b.jsonl", 1).read_text() + bare + "what?\n")
    assert run(source, "--weights", weights, "-o", out) == 1
    assert out.read_text() == "s0\t6.5\tthe cat\n"
    told = capsys.readouterr().err
    assert "segment 'bare': the lattice has no features to weight" in told
    assert "a.jsonl:3: " in told
    assert run(source, "--weights", weights, "--format", "text", "-o", out, "-q") == 1
    assert out.read_text() == "the cat\n\n\n"


def test_workers_change_nothing(tmp_path: Path, weights: Path) -> None:
    source, one, two = corpus(tmp_path / "a.jsonl", 70), tmp_path / "1.tsv", tmp_path / "2.tsv"
    assert run(source, "--weights", weights, "-o", one, "-q") == 0
    assert run(source, "--weights", weights, "-o", two, "-q", "--workers", 2) == 0
    assert one.read_text() == two.read_text()
    argv = ["--weights", weights, "-k", 2, "--lossy", "-q"]
    assert run(source, *argv, "-o", one) == 0
    assert run(source, *argv, "-o", two, "--workers", 2) == 0
    assert one.read_text() == two.read_text()


def test_spaces_whose_words_are_numbers(tmp_path: Path, weights: Path) -> None:
    source, out = corpus(tmp_path / "a.jsonl", 2), tmp_path / "o.ark"
    argv = ["--spaces", "--to", "kaldi", "--write-option", f"symbols={tmp_path / 'words'}"]
    assert run(source, "--weights", weights, *argv, "--lossy", "-o", out, "-q") == 0
    found = list(read(out, "kaldi", symbols=str(tmp_path / "words")))
    assert [lattices.best(each).text for each in found] == ["the cat", "the cat"]
    assert [lattices.best(each).score for each in found] == pytest.approx([6.5, 6.5])


def test_resuming(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that is interrupted goes on, and ends as if it had not been."""
    monkeypatch.setattr(journal, "INTERVAL", 0.0)
    source, file = corpus(tmp_path / "a.jsonl", 70, references=["a cat"]), tmp_path / "w.txt"
    words(file, "tm 1")
    whole, parts = tmp_path / "whole.tsv", tmp_path / "parts.tsv"
    flags = [source, "--weights", file, "--missing", "zero", "--metric", "wer", "-q"]
    summaries = [tmp_path / "one.json", tmp_path / "two.json"]
    assert run(*flags, "-o", whole, "--summary", summaries[0]) == 0
    original, done = Totals.add, 0

    def interrupted(self: Any, outcome: Any) -> None:
        nonlocal done
        done += 1
        if done > 50:
            raise KeyboardInterrupt
        original(self, outcome)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Totals, "add", interrupted)
        assert run(*flags, "-o", parts) == 130
    assert "--resume goes on from here" in capsys.readouterr().err
    words(file, "tm 2")
    assert run(*flags, "-o", parts, "--resume") == 2
    words(file, "tm 1")
    with pytest.MonkeyPatch.context() as patch:
        # so few are left
        done = 29
        patch.setattr(Totals, "add", interrupted)
        assert run(*flags, "-o", parts, "--resume", "--summary", summaries[1]) == 0
    assert parts.read_text() == whole.read_text()
    one, two = (json.loads(each.read_text()) for each in summaries)
    assert [one[name] for name in ("metrics", "segments", "unweighted")] == [
        two[name] for name in ("metrics", "segments", "unweighted")
    ]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--unique"], "--unique goes with -k"),
        (["-k", "2", "--spaces"], "-k and --spaces exclude one another"),
        (["-k", "2", "--metric", "wer"], "--metric goes with lines"),
        (["--spaces", "--resume", "-o", "x.jsonl"], "--resume goes with lines"),
        (["--to", "plf"], "--to goes with -k or --spaces"),
        (["--summary", "-"], "--summary and -o are the same file"),
        (["-k", "0"], "0 is less than 1"),
    ],
)
def test_wrong_usage(
    argv: list[str],
    message: str,
    tmp_path: Path,
    weights: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(corpus(tmp_path / "a.jsonl"), "--weights", weights, *argv) == 2
    assert message in capsys.readouterr().err


def test_bad_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, file = corpus(tmp_path / "a.jsonl"), words(tmp_path / "w.txt", "lm 1", "tm what")
    assert run(source, "--weights", file) == 2
    assert f"{file}:2: expected a feature and its weight" in capsys.readouterr().err
    assert run(source, "--weights", tmp_path / "none") == 2
    assert "No such file" in capsys.readouterr().err
    assert run(source) == 2
    assert "--weights" in capsys.readouterr().err
