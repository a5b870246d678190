"""``fstmetrics rescore`` against features @ weights of every path."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.decoding.random_commands.results import (
    by_id,
    check_features,
    check_scores,
    check_summary,
    judge_spaces,
    model_best,
)
from tests.decoding.random_commands.scores import (
    close,
)
from tests.decoding.random_commands.spaces import (
    FEATURES,
)
from tests.decoding.random_commands.trials import (
    Checks,
    Run,
    Trial,
    draw_inputs,
    draw_judges,
    draw_kinds,
    draw_segments,
)


def draw_rescore(rng: Random) -> Trial:
    """Draw weights, and what is to be written under them."""
    kinds = draw_kinds(rng)
    format = draw_inputs(rng, kinds, features=True)
    kinds = tuple(kind for kind in kinds if kind in format.kinds) or format.kinds
    judges = draw_judges(rng, True)
    bleu = any(judge.kind == "bleu" for judge in judges)
    kind = rng.choice(("lines", "lines", "k", "spaces"))
    segments, layout = draw_segments(
        rng, format, kinds, features=True, references="yes" if kind == "lines" else "no", bleu=bleu
    )
    weights = {name: rng.randint(-6, 6) / 4 for name in FEATURES}
    known: dict[str, Any] = {"kind": kind, "weights": weights}
    options: list[str] = []
    if rng.random() < 0.2:
        del weights[rng.choice(FEATURES)]
        if rng.random() < 0.5:
            options += ["--missing", "zero"]
        else:
            known["strict weights"] = tuple(weights)
    if kind == "lines":
        known["format"] = rng.choice(("tsv", "jsonl"))
        options += ["--format", known["format"]]
    else:
        if kind == "k":
            known |= {"k": rng.choice((1, 3, 100)), "unique": rng.random() < 0.5}
        options += ["-k", str(known["k"])] if kind == "k" else ["--spaces"]
        options += ["--unique"] if known.get("unique") else []
        options += ["--to", "jsonl"]
    return Trial(
        "rescore", rng.getrandbits(32), format, segments, tuple(options),
        judges if kind == "lines" else (), layout, known,
    )  # fmt: skip


def judge_rescore(trial: Trial, run: Run, checks: Checks) -> None:
    """Compare with features @ weights of every path."""
    known = trial.known
    if known["kind"] != "lines":
        judge_spaces(trial, run, checks, lambda segment: segment.rescored(known["weights"]))
        return
    results = by_id(checks, trial, run, run.rows(known["format"]) if run.code < 2 else [])
    best = []
    for segment, rows in results:
        checks.place = trial.segments.index(segment)
        (row,) = rows
        paths = segment.rescored(known["weights"]).paths()
        top = max(path.score for path in paths)
        words = tuple(row["words"])
        best.append(words)
        checks.close("score", row["score"], top)
        fitting = [path for path in paths if path.words == words and close(path.score, top)]
        checks.that("best under the weights", bool(fitting), words, top)
        if known["format"] == "jsonl":
            check_features(checks, trial, paths, row, words, top)
            check_scores(checks, trial, segment, row, words)
    checks.place = None
    if best:
        kinds = {"rescored": best, "file": model_best([segment for segment, _ in results])}
        check_summary(checks, trial, run, kinds)
