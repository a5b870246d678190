"""``fstmetrics score``: what files of hypotheses may be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.decoding.cli.commandline import command, words

run = command()


def cells(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


# score


def test_lines_are_scored_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = words(tmp_path / "one", "the cat", "", "the cat sat")
    two = words(tmp_path / "two", "the hat", "x", "the cat sat")
    refs = words(tmp_path / "refs", "the cat", "", "the cat sat")
    assert run("score", one, two, "--refs", refs, "--metric", "wer", "cer") == 0
    printed = capsys.readouterr()
    assert cells(printed.out)[:3] == [
        ["system", "segments", "words", "WER", "%", "CER", "%"],
        [str(one), "3", "5", "0.00", "0.00"],
        [str(two), "3", "5", "40.00", "11.11"],
    ]
    assert printed.out.splitlines()[4:] == [
        f"%WER 0.00 [ 0 / 5, 0 ins, 0 del, 0 sub ] {one}",
        f"%SER 0.00 [ 0 / 3 ] {one}",
        f"%CER 0.00 [ 0 / 18, 0 ins, 0 del, 0 sub ] {one}",
        f"%WER 40.00 [ 2 / 5, 1 ins, 0 del, 1 sub ] {two}",
        f"%SER 66.67 [ 2 / 3 ] {two}",
        f"%CER 11.11 [ 2 / 18, 1 ins, 0 del, 1 sub ] {two}",
    ]
    assert printed.err == "fstmetrics: references are taken line by line\n"


@pytest.mark.parametrize("layout", ["auto", "kaldi"])
def test_lines_with_ids(layout: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    system = words(tmp_path / "one", "u2 the cat sat", "u1")
    refs = words(tmp_path / "refs", "u1 the", "u2 the cat sat")
    flags = ["--refs-format", layout, "--metric", "wer", "--format", "json", "--segments"]
    assert run("score", system, "--refs", refs, *flags) == 0
    printed = capsys.readouterr()
    (found,) = json.loads(printed.out)["systems"]
    assert found["scores"] == {"wer": 0.25}
    assert found["stats"]["wer"]["deletions"] == 1.0
    assert found["segment_scores"] == [
        {"id": "u2", "scores": {"wer": 0.0}},
        {"id": "u1", "scores": {"wer": 1.0}},
    ]
    assert (found["segments"], found["failed"]) == (2, 0)
    assert printed.err == "fstmetrics: references are taken by id\n"


def test_equal_first_words_are_not_ids(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    system, refs = words(tmp_path / "one", "the cat"), words(tmp_path / "refs", "the cat sat")
    assert run("score", system, "--refs", refs, "--metric", "wer", "--format", "tsv") == 0
    assert capsys.readouterr().out.splitlines()[1] == f"{system}\t1\t{1 / 3!r}"


def test_segments_as_table_and_tsv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    system = words(tmp_path / "one", "a b", "a")
    refs = words(tmp_path / "refs", "a b", "a b")
    assert run("score", system, "--refs", refs, "--segments", "--metric", "wer") == 0
    assert cells(capsys.readouterr().out)[:6] == [
        ["system", "segment", "WER", "%"],
        [str(system), "1", "0.00"],
        [str(system), "2", "50.00"],
        [],
        ["system", "segments", "words", "WER", "%"],
        [str(system), "2", "4", "25.00"],
    ]
    out = tmp_path / "out.tsv"
    flags = ["--segments", "--metric", "wer", "--format", "tsv", "-o", out]
    assert run("score", system, "--refs", refs, *flags) == 0
    assert out.read_text() == f"system\tsegment\twer\n{system}\t1\t0.0\n{system}\t2\t0.5\n"


def test_of_lists_the_best_entry_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lists = words(
        tmp_path / "a.tsv", "u1\t1\t-2\tthe hat", "u1\t2\t-1\tthe cat", "u2\t1\t-1\tthe cat"
    )
    refs = words(tmp_path / "text", "u1 the cat", "u2 the cat")
    assert run("score", lists, "--refs", refs, "--metric", "wer") == 0
    printed = capsys.readouterr()
    assert cells(printed.out)[1][:4] == [str(lists), "2", "4", "0.00"]
    assert f"{lists}: the best entry of each nbest-tsv list is scored" in printed.err
    # as text they would be three lines
    assert run("score", lists, "--refs", refs, "--input-format", "text") == 2
    assert f"{lists}:2: a second line for the id 'u1', which {lists}:1" in capsys.readouterr().err


def test_bad_lists_among_good_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lists = words(
        tmp_path / "a.tsv",
        "u1\t1\t-1\tthe cat", "u2\tx\t-1\tthe cat", "u3\t1\t-1\tthe", "u1\t1\t-1\tthe",
    )  # fmt: skip
    refs = words(tmp_path / "text", "u1 the cat", "u2 the cat")
    assert run("score", lists, "--refs", refs, "--metric", "wer") == 1
    printed = capsys.readouterr()
    assert cells(printed.out)[1][:4] == [str(lists), "1", "2", "0.00"]
    for line, problem in (
        (2, "rank 'x'"),
        (3, "segment 'u3': no reference"),
        (4, "segment 'u1': a second"),
    ):
        assert f"{lists}:{line}: {problem}" in printed.err


@pytest.mark.parametrize(
    ("lines", "code", "message"),
    [
        (["u1 a", "u2 b"], 1, "no hypotheses for 1 of 3 references"),
        (["u1 a", "u2 b", "u3 c", "u4 d"], 1, "no reference for 'u4'"),
        (["a", "b"], 2, "lines begin with what look like ids ('u1')"),
    ],
)
def test_lines_that_do_not_fit(
    lines: list[str],
    code: int,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    system = words(tmp_path / "one", *lines)
    refs = words(tmp_path / "text", "u1 a", "u2 b", "u3 c")
    assert run("score", system, "--refs", refs, "--metric", "wer") == code
    assert message in capsys.readouterr().err


def test_an_id_that_is_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    system = words(tmp_path / "one", "u1 a", "u1 b")
    refs = words(tmp_path / "text", "u1 a", "u2 b")
    assert run("score", system, "--refs", refs, "--refs-format", "kaldi") == 2
    error = capsys.readouterr().err
    twice = f"{system}:2: a second line for the id 'u1', which {system}:1 has already"
    assert error == f"fstmetrics: error: {twice}\n"


def test_nothing_to_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    system = words(tmp_path / "a.tsv", "u1\t1\t-1\tthe cat")
    refs = words(tmp_path / "text", "u2 a", "u3 b")
    flags = ["--refs-format", "kaldi", "-o", tmp_path / "out"]
    assert run("score", system, "--refs", refs, *flags) == 2
    assert "no segment could be scored" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# info


# compile


# formats and metrics


# demo
