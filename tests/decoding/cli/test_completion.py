"""Completion in real shells, where they are installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from decoding.cli.evaluation.study import STUDIES
from decoding.cli.main import COMMANDS
from fstmetrics.contract import METRICS
from lattices.formats import FORMATS
from tests.decoding.cli.commandline import command

completion = command("completion")


def in_bash(script, line):
    """Return whole words: bash takes a part for the word where there are : and = in it."""
    words = re.findall(r"[:=]+|[^ :=]+|(?<= )$", line)
    *_, head = re.findall(r".*[:=]|^", line.rpartition(" ")[2])[:1]
    quoted = " ".join(f"'{word}'" for word in words)
    asked = f"""
COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _fstmetrics
((${{#COMPREPLY[@]}})) && printf '%s\\n' "${{COMPREPLY[@]}}"; true
"""
    return [head * (":" in head) + each for each in run("bash", "--norc", script, asked)]


def in_zsh(script, line):
    quoted = " ".join(f"'{word}'" for word in line.split(" "))
    asked = f"""
words=({quoted}); CURRENT=${{#words}}
compadd() {{ shift; print -l -- ${{(M)@:#${{words[CURRENT]}}*}} }}
_files() {{ }}
_fstmetrics; true
"""
    return run("zsh", "-f", "compdef() { }\n" + script, asked)


def in_fish(script, line):
    found = run("fish", "--no-config", script, f"\ncomplete -C '{line}'")
    return [one.partition("\t")[0] for one in found]


def run(shell, option, script, asked):
    found = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [shell, option], input=script + asked, text=True, capture_output=True, env=found
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [line for line in done.stdout.splitlines() if line]


@pytest.fixture(params=[("bash", in_bash), ("zsh", in_zsh), ("fish", in_fish)],
                ids=lambda pair: pair[0])  # fmt: skip
def complete(request, capsys):
    shell, ask = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert completion(shell) == 0
    script = capsys.readouterr().out
    return lambda line: ask(script, line)


def test_commands(complete):
    assert set(complete("fstmetrics ")) >= set(COMMANDS)
    assert complete("fstmetrics orac") == ["oracle"]
    assert sorted(complete("fstmetrics com")) == ["compare", "compile", "completion"]
    assert sorted(complete("fstmetrics study ")) == sorted(STUDIES)


def test_options(complete):
    assert complete("fstmetrics oracle --metr") == ["--metric"]
    assert complete("fstmetrics oracle a.jsonl --metric wer --eng") == ["--engine"]
    assert {"--quiet", "--verbose", "--help"} <= set(complete("fstmetrics info --"))
    assert complete("fstmetrics study sweep --val") == ["--values"]
    assert "--engine" not in complete("fstmetrics info --")


def test_names(complete):
    assert set(complete("fstmetrics oracle --metric ")) == set(METRICS.names())
    assert complete("fstmetrics mbr x --method cons") == ["consensus"]
    assert complete("fstmetrics train x --learner pe") == ["perceptron"]
    assert set(complete("fstmetrics convert x --to ")) == set(FORMATS.names())
    assert complete("fstmetrics oracle x --engine o") == ["openfst"]
    assert complete("fstmetrics oracle x --refs-format k") == ["kaldi"]
    assert complete("fstmetrics formats ht") == ["htk"]
    assert complete("fstmetrics metrics wer-") == ["wer-modif"]
    assert sorted(complete("fstmetrics completion ")) == ["bash", "fish", "zsh"]


def test_options_of_what_is_named(complete):
    assert complete("fstmetrics oracle x --metric grr:n=2,al") == ["grr:n=2,alpha="]
    assert complete("fstmetrics mbr x --method linear --set the") == ["theta="]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_options_that_take_several_go_on(shell, capsys):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert completion(shell) == 0
    script = capsys.readouterr().out
    ask = {"bash": in_bash, "zsh": in_zsh}[shell]
    assert ask(script, "fstmetrics oracle x --metric wer gr") == ["grr"]
    # one that takes a single value does not
    assert ask(script, "fstmetrics oracle --engine kernel open") == []
    # a file of the name of a command is no command
    assert "--engine" in ask(script, "fstmetrics oracle info --")
    assert ask(script, "fstmetrics oracle --refs mbr --method ") == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("oracle --metric wer:sim", ["wer:similarity="]),
        ("oracle --metric wer grr:", ["grr:n=", "grr:alpha=", "grr:beta=", "grr:similarity="]),
        ("oracle --metric=wer:normalise=nf", ["wer:normalise=nfkc"]),
        ("oracle --metric nothing:n", []),
        ("mbr --method edit:st", ["edit:start=", "edit:starts="]),
        ("mbr --set uni", ["uniform=true", "uniform=false"]),
        ("mbr --method linear:p=0.7 --set r", ["r="]),
        ("train --learner mira:ep", ["mira:epochs="]),
        ("train --set resta", ["restarts="]),
        ("train --learner perceptron --set seed", []),
        ("oracle --input-format HTK --option tag", ["tags=drop", "tags=keep"]),
        ("oracle --option source_f", ["source_factors="]),
        ("convert --to kaldi --write-option ty", ["type=compact", "type=lattice"]),
        ("convert --to=plf --write-option=scores=p", ["scores=probability"]),
        ("oracle --metric we", []),
        ("oracle wer:s", []),
    ],
)
def test_what_the_scripts_ask(line, expected, capsys):
    assert completion("bash", "--line", "fstmetrics", *line.split()) == 0
    found = capsys.readouterr().out.split()
    assert [each for each in found if "grr:normal" not in each] == expected


def test_the_value_after_an_equals_sign_in_bash(capsys):
    """Which bash makes a word of."""
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    assert completion("bash") == 0
    script = capsys.readouterr().out
    assert in_bash(script, "fstmetrics oracle --engine = ker") == ["kernel"]
    assert set(in_bash(script, "fstmetrics oracle --engine =")) == {"auto", "kernel", "openfst"}


def test_another_shell(capsys):
    assert completion("tcsh") == 2
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
