"""``fstmetrics features`` against the letters of every part, and values from files."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from tests.decoding.random_commands.results import judge_spaces
from tests.decoding.random_commands.spaces import Segment, words_of
from tests.decoding.random_commands.trials import (
    Checks,
    Run,
    Trial,
    draw_inputs,
    draw_kinds,
    draw_segments,
)


def letters(texts: list[str]) -> list[int]:
    """Return how many letters texts have: those of sentences are those of their words."""
    return [sum(not letter.isspace() for letter in text) for text in texts]


def draw_features(rng: Random) -> Trial:
    """Draw where the values of one or two more features come from."""
    kinds = draw_kinds(rng)
    format = draw_inputs(rng, kinds, features=True)
    kinds = tuple(kind for kind in kinds if kind in format.kinds) or format.kinds
    source = rng.choice(("ids", "order")) if set(kinds) == {"nbest"} else ""
    segments, _ = draw_segments(
        rng, format, kinds, features=rng.random() < 0.7,
        damage=() if source == "order" else ("broken",),
    )  # fmt: skip
    known: dict[str, Any] = {}
    if source:
        rows = [(s.id, [rng.randint(-9, 9) / 4 for _ in s.parts]) for s in segments]
        known["values"] = dict(rows)
        known["by id"] = source == "ids"
    function = not source or rng.random() < 0.5
    known["letters"] = function
    options = ["--add", f"letters=python:{__name__}:letters"] if function else []
    options += ["--to", "jsonl"]
    return Trial("features", rng.getrandbits(32), format, segments, tuple(options), (), "", known)


def judge_features(trial: Trial, run: Run, checks: Checks) -> None:
    """Compare with the segments as they were, and as many features more."""
    known = trial.known

    def changed(segment: Segment) -> Segment:
        parts = []
        for place, part in enumerate(segment.parts):
            more = {"letters": letters([" ".join(words_of(part))])[0]} if known["letters"] else {}
            if "values" in known:
                more["given"] = known["values"][segment.id][place]
            parts.append(part._replace(features={**part.features, **more}))
        return replace(segment, parts=tuple(parts))

    judge_spaces(trial, run, checks, changed)
