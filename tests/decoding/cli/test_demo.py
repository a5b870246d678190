"""``fstmetrics demo``."""

from __future__ import annotations

from pathlib import Path

import pytest

from decoding import sample_data
from lattices import Lattice
from lattices.formats import read
from tests.decoding.cli.commandline import command

run = command()


def cells(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_demo(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run("demo") == 0
    printed = capsys.readouterr().out
    blocks = printed.split("\n\n")
    assert len([block for block in blocks if block.startswith("s0")]) == 19
    assert "\x1b" not in printed
    (block,) = [block for block in blocks if block.startswith("s036")]
    reference, chosen, best = (line.split() for line in block.splitlines())
    assert chosen[:3] == ["1-best", "25.0", "%"]
    assert best[:3] == ["oracle", "0.0", "%"]
    assert chosen[-6:-3] == ["{that}", "[didn't]", "[you]"]
    assert best[3:] == reference[1:]
    scores = {row[0]: row[1:5:2] for row in cells(printed) if row and row[-1] == "better"}
    assert scores == {"WER": ["9.6", "2.3"], "WRR": ["90.4", "97.7"], "4-GRR": ["85.3", "96.0"]}
    assert "fstmetrics oracle " in printed.splitlines()[-1]


def test_demo_hint_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "demo"
    assert run("demo", "--copy", folder) == 0
    assert run("oracle", *sorted(folder.glob("*.slf.gz")), "--refs", folder / "refs.txt") == 0
    assert "19 segments, 0 failed, references by id" in capsys.readouterr().err
    # so does the folder, without what is not a lattice
    assert run("oracle", folder, "--refs", folder / "refs.txt") == 0
    error = capsys.readouterr().err
    assert f"{folder}: README.md, refs.txt left out: no search spaces\n" in error
    assert "19 segments, 0 failed, references by id" in error
    assert run("oracle", folder, "--refs", folder / "refs.txt", "-q") == 0
    assert capsys.readouterr().err == ""
    assert run("oracle", *folder.iterdir(), "--refs", folder / "refs.txt") == 1
    assert "README.md: looks like none" in capsys.readouterr().err
    # what is there already stays as it is
    assert run("demo", "--copy", folder) == 2
    assert capsys.readouterr().err == f"fstmetrics: error: {folder}: File exists\n"


def test_demo_data_is_small() -> None:
    assert sum(path.stat().st_size for path in sample_data().iterdir()) < 1_000_000
    lattices = [space for path in sorted(sample_data().glob("*.slf.gz")) for space in read(path)]
    assert len(lattices) == 19
    assert {type(space) for space in lattices} == {Lattice}
