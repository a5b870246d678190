"""``fstmetrics union``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from lattices import Lattice, NBest, path_count, read
from tests.decoding.cli.commandline import cats, command, lattice_line, words
from tests.lattices.algorithms.comparing import best_score

run = command()


def file(path: Path, **sentences: str) -> Path:
    """Write a lattice of one sentence for each id."""
    lines = []
    for name, sentence in sentences.items():
        arcs = [(n, n + 1, word, -1.0) for n, word in enumerate(sentence.split())]
        lines.append(lattice_line(name, arcs))
    path.write_text("".join(lines))
    return path


def texts(path: Path) -> dict[str, list[str]]:
    """Return the sentences of every segment, in order."""
    return {
        space.id: sorted(
            each.text for each in (space.paths() if isinstance(space, Lattice) else space)
        )
        for space in read(path)
    }


@pytest.mark.parametrize("workers", [1, 2])
def test_segments_are_joined_by_id(
    workers: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = file(tmp_path / "1.jsonl", s0="a", s1="b", s2="c", s3="d")
    two = file(tmp_path / "2.jsonl", s3="x", s4="e", s1="y", s0="a")
    three = file(tmp_path / "3.jsonl", s4="f", s5="g", s0="z")
    out = tmp_path / "o.jsonl"
    assert run("union", one, two, three, "-o", out, "--workers", workers) == 0
    found = texts(out)
    assert found == {
        "s0": ["a", "a", "z"], "s1": ["b", "y"], "s2": ["c"], "s3": ["d", "x"],
        "s4": ["e", "f"], "s5": ["g"],
    }  # fmt: skip
    assert list(found) == ["s0", "s1", "s2", "s3", "s4", "s5"]
    assert capsys.readouterr().err == "fstmetrics: 5 segments are not in all 3 inputs\n"


def test_same_order_is_read_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from decoding.cli.spaces import union

    held: list[int] = []
    find = union._Source.find

    def watched(self: union._Source, name: str) -> object:
        found = find(self, name)
        held.append(len(self._held))
        return found

    monkeypatch.setattr(union._Source, "find", watched)
    one, two = cats(tmp_path / "1.jsonl", 50), cats(tmp_path / "2.jsonl", 50)
    out = tmp_path / "o.jsonl"
    assert run("union", one, two, "-o", out) == 0
    assert held == [0] * 50
    assert {path_count(space) for space in read(out)} == {8}


def test_a_bad_part_is_reported_and_the_rest_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = file(tmp_path / "1.jsonl", s0="a", s1="b"), tmp_path / "2.jsonl"
    two.write_text("what?\n" + file(tmp_path / "3.jsonl", s1="y").read_text() * 2)
    out = tmp_path / "o.plf"
    assert run("union", one, two, "-o", out) == 1
    assert texts(out) == {"s0": ["a"], "s1": ["b", "y"]}
    error = capsys.readouterr().err
    assert f"{two}:1: " in error
    assert f"{two}:3: segment 's1': the id is that of " in error
    assert "2 segments written, 2 failed" in error


def test_directories_are_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder, sentence in (("one", "a"), ("two", "b")):
        (tmp_path / folder).mkdir()
        source = file(tmp_path / f"{folder}.jsonl", s0=sentence, s1=f"{sentence} c")
        assert run("convert", source, "-o", tmp_path / folder, "--to", "htk") == 0
    file(tmp_path / "two" / "again.jsonl", s1="d")
    out = tmp_path / "out"
    out.mkdir()
    argv = ["-o", out, "--to", "openfst-text", "--lossy"]
    assert run("union", tmp_path / "one", tmp_path / "two", *argv) == 1
    assert texts(out) == {"s0": ["a", "b"], "s1": ["a c", "d"]}
    again, known = tmp_path / "two" / "s1.slf", tmp_path / "two" / "again.jsonl"
    error = capsys.readouterr().err
    assert f"{again}:1: segment 's1': the id is that of {known}:1 already" in error


def test_lists_become_one_list(tmp_path: Path) -> None:
    one = words(tmp_path / "1.nbest", "0 ||| a ||| lm= -1 ||| -3", "1 ||| b ||| lm= -1 ||| -3")
    two = words(tmp_path / "2.nbest", "0 ||| c ||| tm= 2 ||| -1", "0 ||| a ||| tm= 2 ||| -2")
    out = tmp_path / "o.nbest"
    assert run("union", one, two, "-o", out) == 0
    assert out.read_text().splitlines() == [
        "0 ||| a ||| lm= -1.0 ||| -3.0",
        "0 ||| c ||| tm= 2.0 ||| -1.0",
        "0 ||| a ||| tm= 2.0 ||| -2.0",
        "1 ||| b ||| lm= -1.0 ||| -3.0",
    ]


def test_a_list_and_a_lattice_become_a_lattice(tmp_path: Path) -> None:
    one = file(tmp_path / "1.jsonl", s0="a")
    two = words(tmp_path / "2.tsv", "s0\t1\t-2.5\tb c", "s0\t2\t-3.5\t")
    out = tmp_path / "o.jsonl"
    assert run("union", two, one, "-o", out) == 0
    (found,) = read(out)
    assert Counter((path.text, path.score) for path in found.paths()) == Counter(
        [("a", -1.0), ("b c", -2.5), ("", -3.5)]
    )


@pytest.mark.parametrize("argv", [[], ["x"], ["-", "-"]])
def test_wrong_usage(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("union", *argv) == 2
    assert "error: " in capsys.readouterr().err.splitlines()[-1]


def test_a_missing_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("union", cats(tmp_path / "a.jsonl"), "no/such", "-o", tmp_path / "o.jsonl") == 2
    assert capsys.readouterr().err == "fstmetrics: error: no/such: No such file or directory\n"


def test_real_lattices_and_lists(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "multi30k-deen" / "tiny20.de-en.lat.d10.jsonl"
    small, lists, out = (tmp_path / name for name in ("small.jsonl", "k.jsonl", "o.jsonl"))
    assert run("prune", source, "--beam", 0.2, "-o", small) == 0
    assert run("nbest", source, "-k", 5, "-o", lists) == 0
    assert run("union", small, lists, source, "-o", out, "--workers", 2) == 0
    for one, nbest, whole, found in zip(
        read(small), read(lists), read(source), read(out), strict=True
    ):
        assert isinstance(nbest, NBest)
        assert path_count(found) == path_count(one) + len(nbest) + path_count(whole)
        assert best_score(found) == pytest.approx(best_score(whole), abs=1e-9)
        assert found.references == whole.references
