"""Two thousand random cases over the command line, against judges that enumerate."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from tests.decoding.random_commands import commands, files, trials

CASES = int(os.environ.get("FSTMETRICS_RANDOM_CASES", "2000"))
SEED = int(os.environ.get("FSTMETRICS_RANDOM_SEED", "15"))
NUMBER = re.compile(rb"-?[0-9]+\.[0-9]+")


@pytest.mark.parametrize("part", range(4))
def test_the_commands_agree_with_enumeration(part: int) -> None:
    total = commands.run_cases(CASES // 4, SEED + part)
    assert total["cases"] >= CASES // 4


def test_every_command_and_format_is_drawn() -> None:
    missing = {*commands.COMMANDS, *files.INPUTS, "wer", "cer", "bleu"}
    for number in range(300):
        trial = commands.draw(Random(number))
        assert trial.command in commands.COMMANDS
        assert trial.format in files.INPUTS
        missing -= {trial.command, trial.format, *(judge.kind for judge in trial.judges)}
        if not missing:
            break
    assert not missing


@pytest.fixture
def wrong_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command adds a quarter to the first number that it writes with a decimal point."""
    right = trials.main

    def wrong(argv: Sequence[str]) -> int:
        code = right(argv)
        output = Path(argv[argv.index("-o") + 1])
        if output.is_file():
            content = output.read_bytes()
            output.write_bytes(
                NUMBER.sub(lambda found: b"%r" % (float(found[0]) + 0.25), content, 1)
            )
        return code

    monkeypatch.setattr(trials, "main", wrong)


@pytest.mark.parametrize("command", commands.COMMANDS)
@pytest.mark.usefixtures("wrong_numbers")
def test_wrong_numbers_are_caught(command: str) -> None:
    draw = commands.COMMANDS[command][0]
    found = [commands.fails(draw(Random(number))) for number in range(10)]
    # some are on no path, some in files that are not text
    assert sum(map(bool, found)) >= 5


@pytest.mark.usefixtures("wrong_numbers")
def test_what_fails_is_shown_in_its_smallest_form() -> None:
    with pytest.raises(AssertionError) as failed:
        commands.run_cases(1000, 1)
    message = str(failed.value)
    assert re.search(r"^fstmetrics \w+ ", message, re.MULTILINE)
    assert "--- " in message
    assert len(message) < 10_000


def test_a_case_does_not_depend_on_those_before_it(tmp_path: Path) -> None:
    trial = commands.draw(Random("15 3"))
    counts = []
    for _ in range(2):
        counts.append(commands.execute(trial, tmp_path))
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
    assert counts[0] == counts[1]
