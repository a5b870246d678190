"""Two thousand random cases over the command line, against judges that enumerate."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path
from random import Random

import pytest

from tests.decoding.random_commands import commands, files, scores, trials
from tests.decoding.random_commands.spaces import Drawing

CASES = int(os.environ.get("FSTMETRICS_RANDOM_CASES", "2000"))
SEED = int(os.environ.get("FSTMETRICS_RANDOM_SEED", "15"))


@pytest.mark.parametrize("part", range(4))
def test_the_commands_agree_with_enumeration(part: int) -> None:
    total = commands.run_cases(CASES // 4, SEED + part)
    assert total["cases"] >= CASES // 4


def test_every_command_and_format_is_drawn() -> None:
    trials = [commands.draw(Random(number)) for number in range(300)]
    assert {trial.command for trial in trials} == set(commands.COMMANDS)
    assert {trial.format for trial in trials} == set(files.INPUTS)
    assert {judge.kind for trial in trials for judge in trial.judges} >= {"wer", "cer", "bleu"}


def test_a_wrong_answer_is_caught_and_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge finds a command that answers with the first sentence of every list."""

    def first(argv: list[str]) -> int:
        given = Path(argv[1]).read_bytes()
        lines = (gzip.decompress(given) if given[:2] == b"\x1f\x8b" else given).decode().split("\n")
        output = Path(argv[argv.index("-o") + 1])
        rows = [f"{line.split(' ||| ')[0]}\t0.5\t{line.split(' ||| ')[1]}\n" for line in lines[:-1]]
        output.write_text("".join({row.split("\t")[0]: row for row in rows}.values()))
        return 0

    monkeypatch.setattr(trials, "main", first)
    (moses,) = [each for each in files.INPUTS if each.name == "moses-nbest"]
    drawing = Drawing(Random(1), "abcd", False)
    segments = tuple(drawing.segment(f"s{place}", "nbest", 1) for place in range(5))
    known = {"k": 1, "worst": False, "weight": 0.0, "engine": "auto", "format": "tsv"}
    judges = (scores.Judge("wer", "wer"),)
    trial = trials.Trial("oracle", 0, moses, segments, (), judges, "plain", known)
    assert "oracle: score" in commands.fails(trial)
    small = commands.reduced(trial, 0)
    assert len(small.segments) == 1


def test_a_case_does_not_depend_on_those_before_it(tmp_path: Path) -> None:
    trial = commands.draw(Random("15 3"))
    counts = []
    for _ in range(2):
        counts.append(commands.execute(trial, tmp_path))
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
    assert counts[0] == counts[1]
