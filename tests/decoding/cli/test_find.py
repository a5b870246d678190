"""``fstmetrics find``, on small files and on the lattices of the package."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lattices
from decoding import sample_data
from decoding.cli.main import main
from lattices import Lattice
from tests.decoding.cli.commandline import cats, words

TIMES = [0.0, 0.4, 0.8, 1.2]


@pytest.fixture
def spoken(tmp_path: Path) -> str:
    """Two utterances with times, of 1.2 seconds each."""
    arcs = [(0, 1, "half"), (0, 1, "have"), (1, 2, "past"), (2, 3, "seven"), (2, 3, "ten", -1.0)]
    spaces = [
        Lattice.from_arcs(arcs, [3], times=TIMES, id="u1"),
        Lattice.from_arcs(arcs[1:], [3], times=TIMES, id="u2"),
    ]
    lattices.write(str(tmp_path / "spoken.jsonl"), spaces)
    return str(tmp_path / "spoken.jsonl")


def test_findings_are_sorted(spoken: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["find", "past (seven|nine)", spoken, "--threshold", "0.3"]) == 0
    header, *lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert header == ["posterior", "id", "phrase", "occurrence", "begin", "end", "words"]
    assert [line[1:3] + line[6:] for line in lines] == [
        ["u1", "past (seven|nine)", "past seven"],
        ["u2", "past (seven|nine)", "past seven"],
    ]
    assert [float(line[0]) for line in lines] == pytest.approx([0.7310586, 0.7310586])
    assert [float(cell) for cell in lines[0][4:6]] == pytest.approx([0.4, 1.2])
    assert main(["find", "half", spoken]) == 0
    assert "1 findings in 1 segments" in capsys.readouterr().err
    assert main(["find", "noon", spoken, "--format", "jsonl", "-q"]) == 0
    assert capsys.readouterr().out == ""


def test_several_phrases_and_workers(
    spoken: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "phrases").write_text("# comment\nhour\tpast (seven|ten)\n\nHALF past\n")
    command = ["find", "--phrases", str(tmp_path / "phrases"), spoken, "-i", "--format", "jsonl"]
    assert main(command) == 0
    printed = capsys.readouterr().out
    rows = [json.loads(line) for line in printed.splitlines()]
    assert [(row["id"], row["phrase"], row["posterior"]) for row in rows] == [
        ("u1", "hour", pytest.approx(1.0)),
        ("u2", "hour", pytest.approx(1.0)),
        ("u1", "HALF past", pytest.approx(0.5)),
    ]
    assert [one["words"] for one in rows[0]["occurrences"]] == ["past seven"]
    assert main([*command, "--workers", "2"]) == 0
    assert capsys.readouterr().out == printed


def test_term_weighted_values(
    spoken: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words(tmp_path / "ctm", *(f"u{n} 1 {at} 0.4 {word}" for n, said in (
        (1, ("half", "past", "seven")), (2, ("have", "past", "ten")),
    ) for at, word in zip(("0.0", "0.4", "0.8"), said, strict=True)))  # fmt: skip
    words(tmp_path / "phrases", "ten", "past seven", "never")
    command = ["find", "--phrases", str(tmp_path / "phrases"), spoken, "--beta", "1"]
    out, summary = str(tmp_path / "hits.tsv"), str(tmp_path / "summary.json")
    more = ["--refs", str(tmp_path / "ctm"), "-o", out, "--summary", summary]
    assert main([*command, *more]) == 0
    # 'past seven' is said once and found twice, in 2.4 seconds; 'ten' is said and not found
    value = json.loads(Path(summary).read_text())["term_weighted_value"]
    assert value["atwv"] == pytest.approx((0 + 1 - 1 / 1.4) / 2)
    # below 0.27 ten is found, and once where it was not said
    assert value["mtwv"] == pytest.approx(1 - 1 / 1.4)
    assert "ATWV 0.1429 at 0.5 (1 of 2 occurrences of 2 phrases found, 1 false)" in (
        capsys.readouterr().err
    )
    assert len(Path(out).read_text().splitlines()) == 5
    said = ((1, "half past seven"), (2, "have past ten"))
    words(tmp_path / "stm", *(f"u{n} 1 speaker 0.0 1.2 {text}" for n, text in said))
    assert main([*command, "--refs", str(tmp_path / "stm"), "-o", out]) == 0
    assert "ATWV 0.1429 at 0.5" in capsys.readouterr().err


def test_lists_and_sentences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cats(tmp_path / "a.jsonl", refs=False)
    words(tmp_path / "hyp.ctm", "u1 1 0.0 0.4 the 0.5", "u1 1 0.5 0.4 cat 0.9")
    assert main(["find", "the cat", str(tmp_path / "hyp.ctm"), "-q"]) == 0
    (line,) = capsys.readouterr().out.splitlines()[1:]
    assert line.split("\t")[4:] == ["0.0", "0.9", "the cat"]
    assert main(["find", ". cat", str(tmp_path / "a.jsonl"), "-q"]) == 0
    assert capsys.readouterr().out.count("\n") > 1


def test_packaged_lattices(capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted(map(str, sample_data().glob("s*.slf.gz")))
    assert main(["find", "she /walk.*/ slowly", *files, "--scale", "0.1"]) == 0
    first = capsys.readouterr().out.splitlines()[1].split("\t")
    assert first[1] == "s036"
    assert 0.0 < float(first[4]) < float(first[5]) < 3.0


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("find", "no PHRASE given"),
        ("find SPOKEN", "a phrase comes first, then files; type: fstmetrics find 'half"),
        ("find noon", "type: fstmetrics find 'noon' LATTICES"),
        ("find (a SPOKEN", "pattern '(a', character 1: a ( without its )"),
        ("find a nowhere", "nowhere: No such file or directory"),
        ("find a SPOKEN --threshold 2", "--threshold 2 is no probability"),
        ("find a SPOKEN --refs text", "no times: values of a search need a ctm or an stm"),
        ("find --phrases bad SPOKEN", "bad:2: pattern '*'"),
        ("find --phrases twice SPOKEN", "twice:2: the phrase 'a' comes twice"),
        ("find --phrases empty SPOKEN", "no phrases"),
        ("find past SPOKEN --refs other.ctm", "no segment 'u1', nor any other that was searched"),
        ("find noon SPOKEN --refs refs.ctm", "none of the terms occurs in the references"),
    ],
)  # fmt: skip
def test_mistakes(
    line: str,
    problem: str,
    spoken: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    words(tmp_path / "text", "u1 half past")
    words(tmp_path / "bad", "a", "*")
    words(tmp_path / "twice", "a", "a")
    words(tmp_path / "empty", "# nothing")
    words(tmp_path / "other.ctm", "x 1 0.5 0.4 past")
    words(tmp_path / "refs.ctm", "u1 1 0.5 0.4 past")
    assert main(line.replace("SPOKEN", spoken).split()) == 2
    printed = capsys.readouterr()
    assert problem in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
