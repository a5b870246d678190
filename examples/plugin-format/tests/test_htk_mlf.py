"""The format obeys the laws, reads what HTK writes, and is at home in every command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from htk_mlf import FORMAT

import lattices
from decoding.cli.main import main
from lattices import FormatError, Hypothesis, NBest
from lattices.testing import check_format

ODD = ("1984", ".", "///", 'say "hi"', "a b", "\\x", "-3", "'tis", "tab\there", "\u2028", '"')

HVITE = r"""#!MLF!#
"*/s1.rec"
0 2500000 the -812.5
2500000 6100000 caf\303\251 -1630.25 kafe -2.0
///
0 2500000 !NULL -830.75
2500000 6100000 '\'tis'
.
"/data/test/s2.lab"
yes
.
"""


@pytest.fixture
def fstmetrics(capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """The command: runs, must succeed, and returns what it said."""

    def run(*argv: object) -> str:
        code = main([*map(str, argv)])
        out, err = capfd.readouterr()
        assert code == 0, (argv, err)
        return out + err

    return run


def test_laws() -> None:
    check_format(FORMAT)


def test_words_that_could_be_something_else_come_back() -> None:
    entries = [Hypothesis(ODD, -1.5), Hypothesis((), -2.0), Hypothesis(("7",), -3.0)]
    check_format(FORMAT, [NBest.from_hypotheses(entries, id="it's odd")])


def test_what_hvite_writes(tmp_path: Path) -> None:
    path = tmp_path / "lists.mlf"
    path.write_text(HVITE)
    first, second = lattices.read(path)
    assert (first.id, second.id) == ("s1", "s2")
    assert [(each.text, each.score) for each in first] == [
        ("the café", -812.5 - 1630.25),
        ("'tis", -830.75),
    ]
    assert [(each.text, each.score) for each in second] == [("yes", 0.0)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"a.rec"\nyes\n.\n', ":1: expected #!MLF!#"),
        ('#!MLF!#\n"a.rec"\nyes\n', ":3: the entry ends without a period"),
        ("#!MLF!#\na.rec\nyes\n.\n", ":2: .*expected the quoted name"),
        ('#!MLF!#\n"*" -> "labels"\n.\n', ":2: .*expected the quoted name of one label file"),
        ('#!MLF!#\n"a.rec"\n0 1 yes high\n.\n', ":3: 'high', expected the score"),
        ('#!MLF!#\n"a.rec"\nyes\n"no\n.\n', ":4: .*a quote is missing"),
        ('#!MLF!#\n"a.rec"\n\\377\n.\n', ":3: .*is no UTF-8"),
    ],
)
def test_damage_is_told_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.mlf"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        list(lattices.read(path))


def test_what_it_cannot_hold_is_an_error(tmp_path: Path) -> None:
    entry = Hypothesis(("yes",), -1.0, features={"lm": -1.0})
    with pytest.raises(FormatError, match="cannot hold the features of segment 'a'"):
        lattices.write(tmp_path / "a.mlf", [NBest.from_hypotheses([entry], id="a")])
    assert not any(tmp_path.iterdir())


def test_it_is_known_to_every_command(tmp_path: Path, fstmetrics: Callable[..., str]) -> None:
    """It is found by its entry point, recognised by its content, read and written."""
    assert "htk-mlf" in fstmetrics("formats")
    path = tmp_path / "lists"  # no suffix: the content says what it is
    path.write_text(HVITE)
    refs = tmp_path / "refs.txt"
    refs.write_text("s1 the café\ns2 yes\n")
    assert "total of 2" in fstmetrics("info", path)
    for command in ("oracle", "mbr"):
        said = fstmetrics(command, path, "--refs", refs, "--metric", "wer", "--workers", 2, "-q")
        assert said.startswith("s1\t")
    back = tmp_path / "back.mlf"
    fstmetrics("convert", path, "-o", tmp_path / "lists.jsonl")
    fstmetrics("convert", tmp_path / "lists.jsonl", "-o", back)
    assert [list(space) for space in lattices.read(back)] == [
        list(space) for space in lattices.read(path)
    ]
    for command in (["nbest", "-k", 1], ["union", path], ["confusion"]):
        fstmetrics(command[0], path, *command[1:], "-o", tmp_path / f"{command[0]}.jsonl")
    demo = tmp_path / "demo"
    fstmetrics("demo", "--copy", demo)
    fstmetrics("nbest", demo / "s043.slf.gz", "-k", 3, "-o", tmp_path / "three.mlf", "--lossy")
    assert len(next(lattices.read(tmp_path / "three.mlf"))) == 3
