"""Segments as recordings, in the library and in the shell."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from decoding.corpus.outcomes import Done, Failure
from decoding.corpus.transforms import join_segments, recording_pattern
from lattices import Lattice, read
from lattices.errors import OptionError
from tests.decoding.cli.commandline import command, lattice_line

run = command()
NAME = re.compile(r"(.+)-\d+")


def segment(name: str, *words: str, reference: str | None = None) -> str:
    arcs = [(place, place + 1, word, -1.0) for place, word in enumerate(words)]
    return lattice_line(name, arcs, [reference or " ".join(words)], times=[*range(len(words) + 1)])


def outcome(name: str, good: bool = True) -> Done[Lattice] | Failure:
    if not good:
        return Failure(0, "f", 1, name, "broken")
    lattice = Lattice.from_arcs([(0, 1, name)], finals=[1], id=name, references=(name,))
    return Done(0, "f", 1, name, lattice)


def joined(*outcomes: Done[Lattice] | Failure) -> list[tuple[str, str]]:
    """Return names, and the references or why there are none."""
    return [
        (each.id, each.reason if isinstance(each, Failure) else each.result.references[0])
        for each in join_segments(outcomes, NAME)
    ]


def test_segments_that_stand_together() -> None:
    some = [outcome(name) for name in ("a-1", "a-2", "b-1", "c-10", "c-11")]
    assert joined(*some) == [("a", "a-1 a-2"), ("b", "b-1"), ("c", "c-10 c-11")]


def test_a_segment_that_fails_takes_its_recording_along() -> None:
    some = [outcome("a-1"), outcome("a-2", good=False), outcome("a-3"), outcome("b-1")]
    lost = "not joined: a segment of it failed"
    assert joined(*some) == [("a-2", "broken"), ("a", lost), ("b", "b-1")]
    # of one that has no name, it is the recording that was being read
    assert joined(outcome("a-1"), outcome("", good=False), outcome("b-1")) == [
        ("", "broken"), ("a", lost), ("b", "b-1"),
    ]  # fmt: skip


def test_segments_that_cannot_be_put_together() -> None:
    assert joined(outcome("a-1"), outcome("b-1"), outcome("a-2")) == [
        ("a", "a-1"), ("b", "b-1"),
        ("a-2", "the segments of 'a' do not stand together; sort the input by id"),
    ]  # fmt: skip
    assert joined(outcome("x")) == [("x", r"the id 'x' is not like --join '(.+)-\\d+'")]
    with pytest.raises(OptionError, match="no regular expression"):
        recording_pattern("(")


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    lines = [
        segment("a-1", "good", "day", reference="good"),
        segment("a-2", "to", "all", reference="day to you"),
        segment("b-1", "bye"),
    ]
    file = tmp_path / "talks.jsonl"
    file.write_text("".join(lines))
    return file


def test_convert_writes_recordings(talks: Path, tmp_path: Path) -> None:
    out = tmp_path / "joined.jsonl"
    assert run("convert", talks, "--join", PATTERN, "-o", out) == 0
    one, other = read(out)
    assert (one.id, one.references, other.id) == ("a", ("good day to you",), "b")
    assert isinstance(one, Lattice)
    assert one.times is not None
    assert one.times.tolist() == [0, 1, 2, 2, 3, 4]


PATTERN = r"(.+)-\d+"
Capture = pytest.CaptureFixture[str]


def test_one_command_scores_recordings(talks: Path, tmp_path: Path, capsys: Capture) -> None:
    def scores(*argv: object) -> list[float]:
        assert run(*argv, "--metric", "wer", "--format", "jsonl", "-q") == 0
        lines = capsys.readouterr().out.splitlines()
        return [json.loads(line)["scores"]["wer"] for line in lines]

    # the segments' references end elsewhere
    assert scores("oracle", talks) == [1.0, pytest.approx(2 / 3), 0.0]
    assert scores("oracle", talks, "--join", PATTERN) == [0.25, 0.0]
    assert scores("mbr", talks, "--join", PATTERN) == [0.25, 0.0]
    # references of recordings, by their names
    refs = tmp_path / "refs"
    refs.write_text("a good day to all\nb bye bye\n")
    assert scores("oracle", talks, "--join", PATTERN, "--refs", refs) == [0.0, 0.5]


def test_what_is_lost_is_told(talks: Path, capsys: Capture) -> None:
    talks.write_text(talks.read_text() + "no lattice\n" + segment("c-1", "bye"))
    assert run("oracle", talks, "--join", PATTERN, "--metric", "wer") == 1
    done = capsys.readouterr()
    assert [line.split("\t")[0] for line in done.out.splitlines()] == ["a", "c"]
    assert "'b': not joined: a segment of it failed" in done.err
    assert run("oracle", talks, "--join", "x") != 0
    assert "is not like --join 'x'" in capsys.readouterr().err
    assert run("oracle", talks, "--join", "(") != 0
    assert "no regular expression" in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv", [["mbr", "a", "--systems", "b"], ["oracle", "a", "--resume", "-o", "out"], ["mbr"]]
)
def test_what_recordings_cannot_be_together_with(argv: list[str], capsys: Capture) -> None:
    assert run(*argv, "--join", "x") == 2
    assert capsys.readouterr().err
