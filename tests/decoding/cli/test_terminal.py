"""What is said on standard error: how much of it, and in what colours."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from decoding.cli.main import COMMANDS, build_parser, main
from decoding.cli.terminal import wants_colour
from tests.decoding.cli.commandline import cats, words
from tests.decoding.cli.test_running import on_a_terminal


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "on_terminal", "in_file"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"TERM": "dumb"}, False, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"CLICOLOR_FORCE": "1"}, True, True),
        ({"FORCE_COLOR": "0"}, True, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
    ],
)
def test_colours(environment, on_terminal, in_file, monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert wants_colour(Terminal()) is on_terminal
    assert wants_colour(io.StringIO()) is in_file


def test_errors_are_red_where_that_is_wanted(tmp_path):
    def told(**environment):
        done = subprocess.run(
            [sys.executable, "-m", "fstmetrics", "info", str(tmp_path / "none")],
            capture_output=True, text=True, check=False, env={**os.environ, **environment},
        )  # fmt: skip
        assert done.returncode == 2
        return done.stderr

    assert told().startswith("fstmetrics: error: ")
    assert told(FORCE_COLOR="1").startswith("fstmetrics: \x1b[31merror:\x1b[0m ")


def options(parser):
    return {spelling for action in parser._actions for spelling in action.option_strings}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_quiet_and_verbose(name):
    parser = build_parser([name])._subparsers._group_actions[0].choices[name]
    within = parser._subparsers._group_actions[0].choices if parser._subparsers else {"": parser}
    for each in within.values():
        assert {"-q", "--quiet", "-v", "--verbose"} <= options(each)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    return {
        "LATTICES": cats(tmp_path / "cats.jsonl"),
        "OTHERS": cats(tmp_path / "others.jsonl", 2),
        "HYPS": words(tmp_path / "hyps.txt", "a cat", "the hat", "the cat"),
        "BASE": words(tmp_path / "base.txt", "a hat", "a hat", "a cat"),
        "LAST": words(tmp_path / "last.txt", "the cat", "the cat", "the hat"),
        "SAID": words(tmp_path / "said.txt", "hyps 0.5", "base 0.2", "last 0.9"),
        "SAID_OF_SEGMENTS": words(
            tmp_path / "segments.txt",
            *(
                f"{system} {n} {n + at / 3}"
                for at, system in enumerate(("hyps", "base"))
                for n in (1, 2, 3)
            ),
        ),
        "REFS": words(tmp_path / "refs.txt", "the cat", "the cat", "the cat"),
        "OUT": tmp_path / "out",
    }


LINES = {
    "oracle": "oracle LATTICES --metric wer -o OUT",
    "mbr": "mbr LATTICES --metric wer -o OUT",
    "tune": "tune LATTICES --scale 1,2 -o OUT",
    "tune-mbr": "tune-mbr LATTICES --scale 1 --p 0.7 --r 0.7 -o OUT",
    "score": "score HYPS --refs REFS --metric wer -o OUT",
    "compare": "compare BASE HYPS --refs REFS --metric wer -o OUT",
    "info": "info LATTICES -o OUT",
    "convert": "convert LATTICES -o OUT --to jsonl",
    "nbest": "nbest LATTICES -k 2 -o OUT --to jsonl",
    "prune": "prune LATTICES --density 1 -o OUT --to jsonl",
    "sample": "sample LATTICES -n 2 -o OUT --to jsonl",
    "union": "union LATTICES OTHERS -o OUT --to jsonl",
    "confusion": "confusion LATTICES -o OUT",
    "compile": "compile --refs REFS -o OUT/",
    "study": "study sweep HYPS BASE --refs REFS --metric grr --option alpha --values 0,1 -o OUT",
}


def arguments(line, files):
    return [str(files.get(word, word)).replace("OUT/", f"{files['OUT']}/") for word in line.split()]


@pytest.mark.parametrize("name", LINES)
def test_quiet_commands_say_nothing_and_verbose_ones_more(name, files, capsys):
    line = arguments(LINES[name], files)
    assert main([*line, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(line) == 0
    usual = capsys.readouterr().err
    assert main([*line, "--verbose"]) == 0
    told = capsys.readouterr().err
    assert told.startswith("fstmetrics: fstmetrics ")
    assert "s in all, exit code 0" in told
    assert len(told) > len(usual)
    if "LATTICES" in LINES[name]:
        assert f"reading {files['LATTICES']}" in told


def test_verbose_says_what_is_read_and_what_searched(files, capsys):
    line = "oracle LATTICES --refs REFS --metric wer -v -o OUT"
    assert main(arguments(line, files)) == 0
    told = capsys.readouterr().err.splitlines()
    size = files["LATTICES"].stat().st_size
    for expected in (
        f"fstmetrics: reading {files['LATTICES']} ({size:,} bytes) as jsonl",
        f"fstmetrics: references from {files['REFS']}",
        "fstmetrics: metrics wer",
        "fstmetrics: this process, and others if they help",
        "fstmetrics: searched by kernel",
    ):
        assert expected in told
    assert any(one.startswith("fstmetrics: 3 segments in ") for one in told)


def test_quiet_and_verbose_exclude_one_another(files, capsys):
    assert main(arguments("info LATTICES -q -v", files)) == 2
    assert "not allowed with argument" in capsys.readouterr().err


def test_failures_are_told_to_the_quiet_too(files, capsys):
    with files["LATTICES"].open("a") as stream:
        stream.write("{]\n")
    assert main(arguments("info LATTICES -q -o OUT", files)) == 1
    assert f"{files['LATTICES']}:4" in capsys.readouterr().err


SLOW_SCORES = (
    "import sys, time, decoding.cli.main, decoding.cli.terminal as p;"
    "p.REFRESH = 0.0; sys.exit(decoding.cli.main.main())"
)


@pytest.mark.parametrize("name", ["score", "compare", "union", "compile"])
def test_commands_without_workers_show_progress_on_a_terminal(name, files):
    line = arguments(LINES[name], files)
    assert "segments" in on_a_terminal(*line, program=SLOW_SCORES)
    assert on_a_terminal(*line, "-q", program=SLOW_SCORES) == ""


@pytest.mark.parametrize(
    ("line", "resamples"),
    [
        ("compare BASE HYPS LAST --test all --metric wer grr --samples 30", 240),
        ("correlate HYPS BASE LAST --human SAID --metric wer --samples 30", 120),
        (
            "correlate HYPS BASE LAST --human SAID --metric wer --samples 30 --resample segments",
            120,
        ),
        ("correlate HYPS BASE --human SAID_OF_SEGMENTS --metric wer --samples 30", 150),
        (
            "study sweep HYPS BASE LAST --human SAID --metric grr --option alpha --values 0,1 "
            "--samples 30",
            60,
        ),
    ],
)
def test_resamples_are_counted_on_a_terminal(line, resamples, files):
    asked = arguments(f"{line} --refs REFS -o OUT", files)
    assert main([*asked, "-q"]) == 0
    expected = files["OUT"].read_bytes()
    shown = on_a_terminal(*asked, program=SLOW_SCORES)
    assert re.search(rf"100%\|#+\| [\d:]+<00:00, {resamples} resamples, [\d,]+/s", shown)
    assert files["OUT"].read_bytes() == expected
    assert on_a_terminal(*asked, "-q", program=SLOW_SCORES) == ""
