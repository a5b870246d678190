"""``fstmetrics prune``."""

from __future__ import annotations

from pathlib import Path

import pytest

from lattices import Lattice, path_count, read
from lattices.algorithms import density
from tests.decoding.cli.commandline import CAT, cats, command, lattice_line, words
from tests.lattices.algorithms.comparing import best_score, parts

run = command()


@pytest.mark.parametrize(
    ("how", "left"),
    [
        (["--beam", 0], ["a hat"]),
        (["--beam", 0.6], ["a hat", "a cat"]),
        (["--beam", 9], ["a hat", "a cat", "the hat", "the cat"]),
        (["--density", 1], ["a hat"]),
        (["--density", 1.5], ["a hat", "a cat"]),
        (["--posterior", 0.35], ["a hat", "a cat"]),
        (["--posterior", 0.35, "--scale", 20], ["a hat"]),
    ],
)
def test_ways_to_prune(how: list[object], left: list[str], tmp_path: Path) -> None:
    out = tmp_path / "o.jsonl"
    assert run("prune", cats(tmp_path / "a.jsonl", 2), *how, "-o", out) == 0
    for lattice in read(out):
        assert [path.text for path in lattice.paths()] == left
        assert lattice.references == ("the cat",)


def test_nothing_to_prune_changes_nothing(tmp_path: Path) -> None:
    source, out = cats(tmp_path / "a.jsonl"), tmp_path / "o.jsonl"
    assert run("prune", source, "--beam", 100, "-o", out) == 0
    assert [parts(one) for one in read(out)] == [parts(one) for one in read(source)]


def test_lists_have_a_beam_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = words(tmp_path / "a.tsv", "u\t1\t-1\ta", "u\t2\t-4\tb", "u\t3\t-2\tc")
    out = tmp_path / "o.tsv"
    assert run("prune", source, "--beam", 1, "-o", out) == 0
    assert out.read_text() == "u\t1\t-1.0\ta\nu\t2\t-2.0\tc\n"
    out.unlink()
    assert run("prune", source, "--density", 1, "-o", out) == 2
    assert "a beam is what they can have (nothing could be written)" in capsys.readouterr().err
    assert not out.exists()


def test_lists_among_lattices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "a.jsonl", tmp_path / "o.jsonl"
    source.write_text(lattice_line("s0", CAT) + '{"id": "n", "nbest": []}\n')
    assert run("prune", source, "--density", 1, "-o", out) == 1
    assert [space.id for space in read(out)] == ["s0"]
    assert "segment 'n': n-best lists have no arcs" in capsys.readouterr().err


@pytest.mark.parametrize(
    "how",
    [
        [],
        ["--beam", "1", "--density", "2"],
        ["--beam", "-1"],
        ["--beam", "nan"],
        ["--density", "0"],
        ["--posterior", "2"],
        ["--beam", "1", "--scale", "2"],
    ],
)
def test_wrong_usage(how: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("prune", "x", *how) == 2
    assert "error: " in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(("file", "most"), [("multi30k-deen/tiny20.de-en.lat.d10.jsonl", 3.0)])
def test_real_lattices(shared_data: Path, file: str, most: float, tmp_path: Path) -> None:
    out = tmp_path / "o.jsonl"
    assert run("prune", shared_data / file, "--density", most, "-o", out, "--workers", 2) == 0
    smaller = 0
    for one, other in zip(read(shared_data / file), read(out), strict=True):
        assert isinstance(one, Lattice)
        assert isinstance(other, Lattice)
        assert best_score(other) == best_score(one)
        assert path_count(other) <= path_count(one)
        assert density(other) <= most
        smaller += other.num_arcs < one.num_arcs
    assert smaller > 15
