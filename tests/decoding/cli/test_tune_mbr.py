"""The command that tunes MBR."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from decoding import plot
from decoding.cli.choice import tune_mbr
from decoding.cli.main import main
from decoding.cli.option_table import add_options
from decoding.minimum_risk.tuning import LinearGrid, tune_linear
from fstmetrics import WER
from lattices import read
from lattices.errors import FormatError, OptionError


def command(*words: str) -> int:
    """Run the command as the command line would."""
    parser = argparse.ArgumentParser(prog="fstmetrics tune-mbr")
    add_options(parser, tune_mbr.OPTIONS + "@volume")
    parser.set_defaults(parser=parser)
    return tune_mbr.run(parser.parse_args(words))


ARCS = [
    (0, 1, "a", -1.0), (1, 2, "b", 0.0), (2, 5, "e", 0.0),
    (0, 3, "x", -1.1), (0, 3, "y", -1.2), (3, 4, "c", 0.0), (4, 5, "d", 0.0),
]  # fmt: skip


def corpus(path: Path, refs: Sequence[str | None] = ("x c d", "a b e")) -> Path:
    lines = []
    for number, reference in enumerate(refs):
        fields = {"id": f"s{number}", "finals": {"5": 0.0}, "arcs": ARCS}
        lines.append(fields | ({"refs": [reference]} if reference is not None else {}))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_the_command_writes_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = corpus(tmp_path / "dev.jsonl", ("x c d", "x c d", "a b e"))
    out = tmp_path / "table.tsv"
    grid = ("--scale", "1", "100", "--p", "0.85", "--r", "0.75", "0.5")
    assert command(str(file), "--metric", "wer", *grid, "-o", str(out)) == 0
    header, *rows = [line.split("\t") for line in out.read_text().splitlines()]
    assert header == ["scale", "p", "r", "T", str(WER())]
    spaces = list(read(file))
    tried = LinearGrid([1, 100], [0.85], [0.75, 0.5])
    table = tune_linear(spaces, [space.references for space in spaces], WER(), tried)
    assert [tuple(map(float, row)) for row in rows] == [
        (point.scale, point.p, point.r, point.T, point.score) for point in table.points
    ]
    said = capsys.readouterr().err
    assert "--method linear --scale 1.0 --set p=0.85 --set r=0.75 --set T=10" in said
    assert "3 segments, 4 points" in said
    name, *words = said.splitlines()[-1].split()
    assert name == "fstmetrics"
    assert main([str(file) if word == "SPACES" else word for word in words]) == 0


def test_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = corpus(tmp_path / "dev.jsonl")
    picture, again = tmp_path / "grid.svg", tmp_path / "again.svg"
    grid = ("--scale", "1", "100", "--p", "0.7", "0.85", "--r", "0.75")
    out = ("-q", "-o", str(tmp_path / "table.tsv"))
    assert command(str(file), "--metric", "wer", *grid, "--plot", str(picture), *out) == 0
    spaces = list(read(file))
    tried = LinearGrid([1, 100], [0.7, 0.85], [0.75])
    table = tune_linear(spaces, [space.references for space in spaces], WER(), tried)
    plot(table).save(again)
    assert picture.read_bytes() == again.read_bytes()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("-", "--plot is a file"),
        ("grid.gif", "a picture ends in one of"),
        ("none/grid.svg", "no such directory"),
    ],
)
def test_plots_that_cannot_be(
    name: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = corpus(tmp_path / "dev.jsonl"), tmp_path / "table.tsv"
    assert main(["tune-mbr", str(file), "--plot", name, "-o", str(out)]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_references_from_a_file_and_failures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = corpus(tmp_path / "dev.jsonl", (None, None))
    refs = tmp_path / "refs.txt"
    refs.write_text("x c d\na b e\n")
    small = (
        "--refs-format",
        "plain",
        "--metric",
        "wer",
        "--scale",
        "1",
        "--p",
        "0.8",
        "--r",
        "0.7",
    )
    assert command(str(file), "--refs", str(refs), *small) == 0
    assert capsys.readouterr().out.count("\n") == 2
    file.write_text(file.read_text() + "what?\n")
    refs.write_text("x c d\na b e\nx\n")
    assert command(str(file), "--refs", str(refs), *small) == 1
    refs.write_text("x c d\na b e\nx\ny\n")
    with pytest.raises(FormatError, match="4 lines for 3 segments"):
        command(str(file), "--refs", str(refs), *small)


def test_without_references_nothing_is_written(tmp_path: Path) -> None:
    file = corpus(tmp_path / "dev.jsonl", (None,))
    out = tmp_path / "table.tsv"
    with pytest.raises(OptionError, match="the first segment has no references"):
        command(str(file), "-o", str(out))
    assert not out.exists()
