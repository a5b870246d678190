"""Options of commands, read from tables."""

from __future__ import annotations

import argparse
import re

import pytest

from decoding.cli.main import COMMANDS, build_parser
from decoding.cli.option_table import add_options

TABLE = """\
paths FILE: any  what to read
-k K: whole number = 2  number of sentences
--ties drop|split = drop  ties: drop
    them or not
--at K,K,...: counts, required  sizes
| --worst, --lowest: as low  a switch
--metric SPEC: several = wer grr  metrics
--set KEY=VALUE: pair, repeated  option
@reference files required
"""


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_options(parser, TABLE)
    return parser.parse_args([*words, "--refs", "r1", "r2"])


def test_defaults_and_kinds() -> None:
    found = vars(parse("--at", "1,2"))
    assert found["k"] == 2
    assert found["ties"] == "drop"
    assert found["at"] == [1, 2]
    assert found["low"] is False
    assert found["refs"] == ["r1", "r2"]
    assert found["paths"] == []
    assert found["metric"] is None
    assert found["default_metric"] == ["wer", "grr"]
    assert found["set"] == []
    assert "partial_refs" not in found
    given = parse(
        "a", "b", "--lowest", "-k", "7", "--set", "a=1", "--set", "b=2=3", "--metric", "x"
    )
    assert (given.paths, given.low, given.k) == (["a", "b"], True, 7)
    assert given.set == [("a", "1"), ("b", "2=3")]
    assert given.metric == ["x"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "one of the arguments --at --worst/--lowest is required"),
        (["--at", "1", "--worst"], "not allowed with argument"),
        (["--worst", "-k", "0"], "argument -k: 0 is less than 1"),
        (["--worst", "-k", "x"], "invalid whole number value: 'x'"),
        (["--worst", "--ties", "x"], "invalid choice: 'x'"),
    ],
)
def test_what_is_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse(*words)
    assert message in capsys.readouterr().err


def test_help_has_every_default_once() -> None:
    parser = argparse.ArgumentParser()
    add_options(parser, TABLE)
    text = " ".join(parser.format_help().split())
    assert "ties: drop them or not (default: drop)" in text
    assert "number of sentences (default: 2)" in text
    assert "metrics (default: wer grr)" in text
    commands = build_parser()._subparsers
    assert commands is not None
    for parser in commands._group_actions[0].choices.values():
        for action in parser._actions:
            assert (action.help or "").count("(default: ") <= 1


@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_of_a_command_is_left_unread(name: str) -> None:
    text = build_parser([name])._subparsers
    assert text is not None
    help = text._group_actions[0].choices[name].format_help()
    assert not re.search(r"^ *@\w", help, re.MULTILINE)
    assert "<what>" not in help
    assert "<note>" not in help
