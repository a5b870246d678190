"""Scores that add up to infinity, and options that are too large: an error each."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from decoding.cli.main import main
from tests.decoding.cli.commandline import CAT, lattice_line

HUGE = 1e308


def forest_line(name: str, score: float) -> str:
    edges = [
        {"head": 0, "tails": [], "rhs": [word], "score": score, "features": {}}
        for word in ("a", "the")
    ]
    edges.append({"head": 1, "tails": [0], "rhs": [0, "cat"], "score": score, "features": {}})
    nodes = [{"cat": "X", "span": [0, 1]}, {"cat": "S", "span": [0, 2]}]
    fields = {"id": name, "refs": ["the cat"], "nodes": nodes, "root": 1, "edges": edges}
    return json.dumps(fields) + "\n"


@pytest.fixture(params=["lattices", "forests"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    sizes = {"good": -0.5, "up": HUGE, "down": -HUGE}
    if request.param == "forests":
        lines = [forest_line(name, size) for name, size in sizes.items()]
    else:
        lines = [
            lattice_line(name, [(*arc[:3], size) for arc in CAT], ["the cat"])
            for name, size in sizes.items()
        ]
    path.write_text("".join(lines))
    return path


def strict(text: str) -> list[dict[str, Any]]:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    return [json.loads(line, parse_constant=refuse) for line in text.splitlines()]


@pytest.mark.parametrize(
    "command",
    [
        ["oracle", "--format", "jsonl"],
        ["oracle", "--format", "jsonl", "--worst"],
        ["oracle", "--format", "jsonl", "-k", "2"],
        ["oracle", "--format", "jsonl", "--metric", "wer"],
        ["info", "--format", "jsonl"],
        ["prune", "--posterior", "0.1"],
        ["prune", "--density", "1"],
        ["sample", "-n", "2"],
    ],
    ids=" ".join,
)
def test_only_what_overflows_fails(
    command: list[str], file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = [] if command[0] in ("oracle", "info") else ["-o", str(file.with_name("out.jsonl"))]
    main([command[0], str(file), *command[1:], *output])
    printed = capsys.readouterr()
    written = Path(output[1]).read_text() if output else printed.out
    assert {each["id"] for each in strict(written) if "id" in each} == {"good"}
    failures = [line for line in printed.err.splitlines() if "segment '" in line]
    assert len(failures) == 2
    for line, name, size in zip(failures, ("up", "down"), ("inf", "-inf"), strict=True):
        assert line.count(f"'{name}'") == 1
        assert re.search(f"segment '{name}': the scores of the (lattice|forest) overflow: ", line)
        assert f" add up to {size}" in line or " is infinite" in line
        assert "1e+308" in line


TOO_LARGE = str(10**20)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["sample", "-n", TOO_LARGE], f"-n is {TOO_LARGE}, expected from 0 to "),
        (["mbr", "--method", "pairwise", "--set", "seed=-1"], "--set seed is 0 or more, not -1"),
        (["train", "--learner", "mira", "--set", f"workers={TOO_LARGE}"], "workers is at most 2"),
        (["train", "--learner", "risk", "--set", f"budget={TOO_LARGE}"], "budget is at most 9"),
        (["study", "sweep", "--option", "order", "--values", "1e400"], "'1e400' is not a number"),
    ],
)
def test_options_that_no_search_takes(
    command: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(lattice_line("u", CAT, ["the cat"]))
    place = 2 if command[0] == "study" else 1
    references = ["--refs", str(path), "--metric", "bleu"] if command[0] == "study" else []
    assert main([*command[:place], str(path), *command[place:], *references]) == 2
    assert message in capsys.readouterr().err


def test_as_many_changes_as_it_takes(tmp_path: Path) -> None:
    path, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    path.write_text(lattice_line("u", CAT, ["the cat"]))
    assert main(["confusion", str(path), "--iterations", TOO_LARGE, "-q", "-o", str(output)]) == 0
