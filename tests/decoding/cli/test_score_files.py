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
    assert cells(printed.out) == [
        ["system", "segments", "WER", "sub", "del", "ins", "CER", "sub", "del", "ins"],
        [str(one), "3", "0.0000", "0", "0", "0", "0.0000", "0", "0", "0"],
        [str(two), "3", "0.4000", "1", "0", "1", "0.1111", "1", "0", "1"],
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
    assert cells(capsys.readouterr().out) == [
        ["system", "segment", "WER"],
        [str(system), "1", "0.0000"],
        [str(system), "2", "0.5000"],
        [],
        ["system", "segments", "WER", "sub", "del", "ins"],
        [str(system), "2", "0.2500", "0", "1", "0"],
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
    assert cells(printed.out)[1][:3] == [str(lists), "2", "0.0000"]
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
    assert cells(printed.out)[1][:3] == [str(lists), "1", "0.0000"]
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
