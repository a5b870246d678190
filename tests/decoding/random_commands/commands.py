"""Random commands, and the smallest that shows a disagreement."""

from __future__ import annotations

import logging
import shlex
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path as File
from random import Random
from tempfile import TemporaryDirectory

from tests.decoding.random_commands import (
    convert,
    features,
    mbr,
    nbest,
    oracle,
    prune,
    rescore,
)
from tests.decoding.random_commands.trials import (
    Checks,
    Disagreement,
    Run,
    Trial,
    run,
)

#: of so many commands one is run with worker processes, too, which take a second
PROCESSES = 40


Draw = Callable[[Random], Trial]
Decide = Callable[[Trial, Run, Checks], None]
COMMANDS: dict[str, tuple[Draw, Decide, int]] = {
    "oracle": (oracle.draw_oracle, oracle.judge_oracle, 8),
    "mbr": (mbr.draw_mbr, mbr.judge_mbr, 5),
    "rescore": (rescore.draw_rescore, rescore.judge_rescore, 3),
    "nbest": (nbest.draw_nbest, nbest.judge_nbest, 2),
    "prune": (prune.draw_prune, prune.judge_prune, 3),
    "convert": (convert.draw_convert, convert.judge_convert, 3),
    "features": (features.draw_features, features.judge_features, 2),
}


def execute(trial: Trial, folder: File) -> Counter[str]:
    """Run a trial in an empty folder and judge it; raise Disagreement if they differ."""
    checks = Checks(trial.command)
    ran = Run(trial, folder)
    COMMANDS[trial.command][1](trial, ran, checks)
    if trial.workers > 1 and ran.output.is_file():
        first = ran.output.read_bytes()
        code, said = run([*ran.argv, "--workers", str(trial.workers)])
        checks.equal("exit code with workers", code, ran.code, said)
        checks.equal("same bytes with workers", ran.output.read_bytes(), first)
    return checks.counts


def draw(rng: Random) -> Trial:
    """Draw a trial."""
    names = [name for name, (_, _, weight) in COMMANDS.items() for _ in range(weight)]
    return COMMANDS[rng.choice(names)][0](rng)


def fails(trial: Trial) -> str:
    """Return how a trial disagrees, or an empty string."""
    with TemporaryDirectory() as folder:
        try:
            execute(trial, File(folder))
        except Exception as problem:  # a traceback is a finding, too
            return f"{type(problem).__name__}: {problem}"
    return ""


def reduced(trial: Trial, place: int | None) -> Trial:
    """Return a trial with fewer segments and parts that fails as well."""
    if place is not None:
        only, known = slice(place, place + 1), dict(trial.known)
        if "other" in known:
            known["other"] = known["other"][only]
        alone = replace(trial, segments=trial.segments[only], known=known)
        if fails(alone):
            trial = alone
    going = len(trial.segments) == 1
    while going:
        going = False
        for less in trial.segments[0].smaller():
            if fails(replace(trial, segments=(less,))):
                trial = replace(trial, segments=(less,))
                going = True
                break
    return trial


def report(trial: Trial, folder: File) -> str:
    """Run a trial that fails once more, and return the command with all of its files."""
    ran = Run(trial, folder)
    shown = [f"fstmetrics {shlex.join(ran.argv)}", f"exit code {ran.code}: {ran.said}"]
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()[:4000].decode("utf-8", "backslashreplace")
            shown.append(f"--- {path}\n{content}")
    return "\n".join([*shown, fails(trial)])


def run_cases(cases: int, seed: int) -> Counter[str]:
    """Run commands until they have had so many segments; return how much was checked.

    Raises
    ------
    AssertionError
        At the first disagreement, with the smallest command that shows it, and its files.
    """
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)
    total: Counter[str] = Counter()
    number = 0
    while total["cases"] < cases:
        trial = draw(Random(f"{seed} {number}"))
        if number % PROCESSES == PROCESSES - 1:
            trial = replace(trial, workers=2)
        try:
            with TemporaryDirectory() as folder:
                total.update(execute(trial, File(folder)))
        except Exception as problem:
            place = problem.place if isinstance(problem, Disagreement) else None
            with TemporaryDirectory() as folder:
                told = report(reduced(trial, place), File(folder))
            raise AssertionError(f"seed {seed}, command {number}: {problem}\n{told}") from problem
        number += 1
        total["cases"] += len(trial.segments)
        total["commands"] += 1
        total[f"{trial.command}: cases"] += len(trial.segments)
    return total
