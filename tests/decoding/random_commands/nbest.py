"""``fstmetrics nbest`` against all paths, sorted."""

from __future__ import annotations

from random import Random

from tests.decoding.random_commands.results import (
    judge_spaces,
)
from tests.decoding.random_commands.trials import (
    Checks,
    Run,
    Trial,
    draw_inputs,
    draw_kinds,
    draw_segments,
)


def draw_nbest(rng: Random) -> Trial:
    """Draw a number of paths or sentences."""
    kinds = draw_kinds(rng)
    format = draw_inputs(rng, kinds)
    kinds = tuple(kind for kind in kinds if kind in format.kinds) or format.kinds
    features = format.features and rng.random() < 0.5
    segments, _ = draw_segments(rng, format, kinds, features=features)
    known = {"k": rng.choice((1, 2, 5, 100)), "unique": rng.random() < 0.5}
    options = ["-k", str(known["k"]), *(["--unique"] if known["unique"] else []), "--to", "jsonl"]
    return Trial("nbest", rng.getrandbits(32), format, segments, tuple(options), (), "", known)


def judge_nbest(trial: Trial, run: Run, checks: Checks) -> None:
    """Compare with the sorted paths."""
    judge_spaces(trial, run, checks, lambda segment: segment)
