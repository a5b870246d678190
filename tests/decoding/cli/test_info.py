"""``fstmetrics info``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.decoding.cli.commandline import CAT, command, lattice_line, words

run = command()


def cells(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_info_as_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    lines = [
        lattice_line("cat", CAT),
        lattice_line("wide", [(n, n + 1, w, 0.0) for n in range(100) for w in "ab"]),
        json.dumps({"id": "list", "nbest": [{"words": "a b"}, {"words": "c"}]}) + "\n",
    ]
    path.write_text("".join(lines))
    assert run("info", path) == 0
    assert cells(capsys.readouterr().out) == [
        ["id", "states", "arcs", "paths", "density", "shortest", "longest", "vocabulary"],
        ["cat", "3", "4", "4", "2.0", "2", "2", "4"],
        ["wide", "101", "200", "1.27e30", "2.0", "100", "100", "2"],
        ["list", "-", "-", "2", "-", "1", "2", "3"],
        ["total", "of", "3", "104", "204", "1.27e30", "2.0", "1", "100", "6"],
    ]


def test_info_is_exact_in_json_and_tsv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    # more paths than Python prints digits of by default
    arcs = [(n, n + 1, w, 0.0) for n in range(15000) for w in "ab"]
    path.write_text(lattice_line("x", arcs) + lattice_line("y", CAT, finals={"3": 0}, states=4))
    assert run("info", path, "--format", "jsonl", "--workers", "2") == 0
    first, second, total = map(_parsed, capsys.readouterr().out.splitlines())
    assert first["paths"] == hex(2**15000)
    assert (first["id"], first["longest"], first["vocabulary"]) == ("x", hex(15000), hex(2))
    assert (second["paths"], second["density"], second["shortest"]) == (hex(0), None, None)
    assert (total["total"]["segments"], total["total"]["paths"]) == (hex(2), hex(2**15000))
    assert run("info", path, "--format", "tsv", "-o", tmp_path / "out") == 0
    rows = [line.split("\t") for line in (tmp_path / "out").read_text().splitlines()]
    assert [row[0] for row in rows] == ["id", "x", "y", "total"]
    assert rows[2][1:] == ["4", "4", "0", "", "", "", "4"]


def _parsed(line: str) -> dict:
    """Read JSON whose whole numbers may be longer than ``int`` reads."""

    def number(text: str) -> str:
        value = 0
        for start in range(0, len(text), 1000):
            piece = text[start : start + 1000]
            value = value * 10 ** len(piece) + int(piece)
        return hex(value)

    return json.loads(line, parse_int=number)


def test_info_of_lists_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lists = words(tmp_path / "a.tsv", "u1\t1\t-2\tthe hat", "u1\t2\t-1\tthe cat")
    assert run("info", lists) == 0
    assert cells(capsys.readouterr().out)[-1] == [
        "total",
        "of",
        "1",
        "-",
        "-",
        "2",
        "-",
        "2",
        "2",
        "3",
    ]


def test_info_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(lattice_line("x", CAT) + "{broken\n")
    assert run("info", path) == 1
    printed = capsys.readouterr()
    assert cells(printed.out)[-1][:4] == ["total", "of", "1", "3"]
    assert f"{path}:2: not JSON" in printed.err
    path.write_text("{broken\n")
    assert run("info", path, "-o", tmp_path / "out") == 2
    assert "nothing could be measured" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
