"""``fstmetrics confusion``."""

from __future__ import annotations

import io
import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import decoding
from lattices import Lattice, read, write
from tests.decoding.cli.commandline import CAT, Arc, command, lattice_line, words

#: two paths with one word in the first place that together outweigh the best path
VOTES: list[Arc] = [
    (0, 1, "a", -1.0),
    (1, 3, "b", -0.4),
    (0, 2, "c", -1.0),
    (2, 3, "b", -0.7),
    (2, 3, "d", -0.6),
]


run = command("confusion")


def corpus(path: Path, *names: str, **rest: Any) -> Path:
    path.write_text("".join(lattice_line(name, VOTES, **rest) for name in names))
    return path


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_json_by_default(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = corpus(tmp_path / "a.jsonl", "s0", "s1"), tmp_path / "o.jsonl"
    assert run(source, "-o", out) == 0
    first, second = rows(out)
    assert (first["id"], second["id"]) == ("s0", "s1")
    assert first["text"] == "c b"
    a_b, c_b, c_d = (math.exp(score) for score in (-1.4, -1.7, -1.6))
    total = a_b + c_b + c_d
    assert first["expected_edits"] == pytest.approx((a_b + c_d) / total)
    assert [each["confidence"] for each in first["words"]] == pytest.approx(
        [(c_b + c_d) / total, (a_b + c_b) / total]
    )
    assert first["words"][0]["begin"] is None
    told = capsys.readouterr().err
    assert "2 segments, 0 failed" in told
    assert "edits expected in 4 words" in told


def test_scale(tmp_path: Path) -> None:
    source, out = corpus(tmp_path / "a.jsonl", "s0"), tmp_path / "o.jsonl"
    assert run(source, "--scale", 20, "-o", out, "-q") == 0
    assert rows(out)[0]["text"] == "a b"
    assert run(source, "--scale", 0, "-o", out, "-q") == 0
    assert rows(out)[0]["words"][0]["confidence"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("format", ["mesh", "sausages"])
def test_networks_that_others_read(tmp_path: Path, format: str) -> None:
    source, out = corpus(tmp_path / "a.jsonl", "s0", "s1"), tmp_path / f"o.{format}.gz"
    assert run(source, "--format", format, "-o", out, "-q") == 0
    networks = list(read(out))
    assert [network.id for network in networks] == ["s0", "s1"]
    (first, _) = networks
    assert isinstance(first, Lattice)
    assert first.num_states == 6
    assert {path.text for path in first.paths()} == {"a b", "a d", "c b", "c d"}


def test_ctm(tmp_path: Path) -> None:
    source, out = tmp_path / "a.jsonl", tmp_path / "o.ctm"
    corpus(source, "s0", times=[0.0, 0.5, 0.5, 1.0])
    assert run(source, "--format", "ctm", "--channel", "A", "-o", out, "-q") == 0
    assert [line.split()[:5] for line in out.read_text().splitlines()] == [
        ["s0", "A", "0.000", "0.500", "c"],
        ["s0", "A", "0.500", "0.500", "b"],
    ]


def test_a_segment_without_times_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "a.jsonl", tmp_path / "o.ctm"
    source.write_text(
        lattice_line("s0", CAT) + lattice_line("s1", CAT, times=[0, 1, 2]) + "nonsense\n"
    )
    assert run(source, "--format", "ctm", "-o", out) == 1
    assert {line.split()[0] for line in out.read_text().splitlines()} == {"s1"}
    told = capsys.readouterr().err
    assert "segment 's0': there are no times" in told
    assert f"{source}:3" in told
    assert "1 segments, 2 failed" in told


def test_nothing_at_all_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = corpus(tmp_path / "a.jsonl", "s0"), tmp_path / "o.ctm"
    assert run(source, "--format", "ctm", "-o", out) == 2
    assert "nothing could be written" in capsys.readouterr().err
    assert not out.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_given_sentences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = corpus(tmp_path / "a.jsonl", "s0", "s1"), tmp_path / "o.jsonl"
    by_id = words(tmp_path / "hyps", "s1 a d", "s0 c x")
    assert run(source, "--start", by_id, "--no-decode", "-o", out, "-q") == 0
    first, second = rows(out)
    assert (first["text"], second["text"]) == ("c x", "a d")
    assert first["words"][1]["confidence"] == 0.0
    assert first["model_score"] is None
    assert run(source, "--start", by_id, "-o", out, "-q") == 0
    assert {row["text"] for row in rows(out)} == {"c b"}
    by_line = words(tmp_path / "plain", "a d", "c b", "too many")
    assert run(source, "--start", by_line, "--start-format", "plain", "-o", out) == 2
    assert "3 lines for 2 segments" in capsys.readouterr().err


def test_more_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The best path is a local minimum; another one leads to a lower one."""
    arcs: list[Arc] = [
        (0, 1, "a", 0.1), (1, 2, "a", 0.0), (1, 2, "b", 0.2), (0, 2, "c", 0.3), (0, 2, "d", 0.1),
    ]  # fmt: skip
    source, out = tmp_path / "a.jsonl", tmp_path / "o.jsonl"
    source.write_text(lattice_line("s0", arcs))
    one, three = math.exp(0.1), math.exp(0.3)
    assert run(source, "-o", out, "-q") == 0
    assert rows(out)[0]["text"] == "a b"
    edits = (3 * one + 2 * three) / (2 * one + 2 * three)
    assert rows(out)[0]["expected_edits"] == pytest.approx(edits)
    assert run(source, "--starts", 3, "-o", out, "-q") == 0
    assert rows(out)[0]["text"] == "a"
    assert rows(out)[0]["expected_edits"] == pytest.approx(1.0)
    assert run(source, "--starts", 2, "--no-decode", "-o", out) == 2
    assert "--starts goes neither with" in capsys.readouterr().err


def test_pipes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    source = corpus(tmp_path / "a.jsonl", "s0")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(source.read_bytes())))
    assert run("-", "-q") == 0
    assert json.loads(capsysbinary.readouterr().out)["text"] == "c b"


def test_one_standard_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-", "--start", "-") == 2
    assert "only once" in capsys.readouterr().err


def test_workers_change_nothing(tmp_path: Path) -> None:
    source = corpus(tmp_path / "a.jsonl", *(f"s{number}" for number in range(70)))
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    assert run(source, "-o", one, "-q") == 0
    assert run(source, "-o", two, "-q", "--workers", 2) == 0
    assert one.read_bytes() == two.read_bytes()
    assert len(rows(one)) == 70


def test_recognized_speech(tmp_path: Path) -> None:
    folder = Path(decoding.__file__).parent / "data" / "pocketsphinx"
    files, out = sorted(folder.glob("*.slf.gz"))[:3], tmp_path / "o.ctm"
    assert run(*files, "--format", "ctm", "-o", out, "-q") == 0
    lines = [line.split() for line in out.read_text().splitlines()]
    assert sorted({line[0] for line in lines}) == [path.name.split(".")[0] for path in files]
    assert all(len(line) == 6 and float(line[3]) >= 0.0 for line in lines)


@pytest.mark.parametrize("style", ["jsonl", "mesh", "sausages"])
def test_alternatives_of_equal_posteriors_come_by_their_words(style: str, tmp_path: Path) -> None:
    """Not by a vocabulary, whose order depends on what was read before, and so on the workers."""
    path, output = tmp_path / "ties.jsonl", tmp_path / "out"
    arcs = [(0, 1, "the", 0.0), (0, 1, "z", -1.0), (0, 1, "b", -1.0)]
    write(path, [Lattice.from_arcs(arcs, finals=[1], id="s1")])
    assert run(path, "--format", style, "-q", "-o", output) == 0
    found = re.findall(r"\b(?:the|z|b)\b", output.read_text())
    assert found[-3:] == ["the", "b", "z"]


def test_word_alternatives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Slots are the posteriors of words at their places, by all paths."""
    scores = {("a", "cat"): -0.1, ("the", "cat"): -0.9, ("the", "hat", "sat"): -1.0}
    rows = [f"u1\t{n}\t{score}\t{' '.join(said)}" for n, (said, score) in
            enumerate(scores.items(), 1)]  # fmt: skip
    file = tmp_path / "n.tsv"
    file.write_text("".join(f"{row}\n" for row in rows))
    assert run(file, "--format", "slots") == 0
    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    total = sum(map(math.exp, scores.values()))
    mass = {said: math.exp(score) / total for said, score in scores.items()}
    judged = [
        {"a": mass["a", "cat"], "the": 1 - mass["a", "cat"]},
        {"cat": 1 - mass["the", "hat", "sat"], "hat": mass["the", "hat", "sat"]},
        {"": 1 - mass["the", "hat", "sat"], "sat": mass["the", "hat", "sat"]},
    ]
    assert found["id"] == "u1"
    for slot, expected in zip(found["slots"], judged, strict=True):
        assert set(slot) == {"begin", "end", "words"}
        told = {each["word"]: each["confidence"] for each in slot["words"]}
        assert told == pytest.approx(expected)
    (space,) = read(file)
    assert decoding.word_alternatives(space) == found["slots"]
    some = decoding.word_alternatives(space, smallest=0.5)
    assert [[each["word"] for each in slot["words"]] for slot in some][:2] == [["a"], ["cat"]]
