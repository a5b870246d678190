"""``fstmetrics oracle`` against the value of every path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from operator import itemgetter
from random import Random
from typing import Any

from tests.decoding.random_commands.results import (
    SINGLE,
    TIED,
    by_id,
    check_features,
    check_ranked,
    check_scores,
    check_summary,
    model_best,
)
from tests.decoding.random_commands.scores import (
    ROUNDING,
    close,
)
from tests.decoding.random_commands.spaces import (
    Segment,
    Sentence,
)
from tests.decoding.random_commands.trials import (
    DAMAGE,
    Checks,
    Run,
    Trial,
    draw_inputs,
    draw_judges,
    draw_kinds,
    draw_segments,
)

ENGINES = ("auto", "kernel", *(["openfst"] if find_spec("pynini") else []))


def draw_oracle(rng: Random) -> Trial:
    """Draw a search for the best, the k best or the worst."""
    kinds = draw_kinds(rng)
    lists = kinds == ("nbest",)
    format = draw_inputs(rng, kinds)
    kinds = tuple(kind for kind in kinds if kind in format.kinds) or format.kinds
    lists = kinds == ("nbest",)
    judges = draw_judges(rng, lists)
    bleu = any(judge.kind == "bleu" for judge in judges)
    segments, layout = draw_segments(
        rng, format, kinds, features=format.features and rng.random() < 0.3, references="yes",
        bleu=bleu, damage=DAMAGE,
    )  # fmt: skip
    known: dict[str, Any] = {
        "k": rng.choice((1, 1, 1, 1, 2, 3, 1000)),
        "worst": rng.random() < 0.3,
        "weight": rng.choice((0.0, 0.0, 0.0, 0.5, -0.25, 0.1, 1.0)),
        "engine": rng.choice(ENGINES),
        "format": rng.choice(("tsv", "jsonl", "jsonl")),
    }
    if known["engine"] == "openfst" and (known["k"] > 1 or known["worst"]):
        # refused: it finds the best alone
        known["engine"] = "auto"
    options = ["-k", str(known["k"]), f"--model-weight={known['weight']}"]
    options += ["--engine", known["engine"], "--format", known["format"]]
    options += ["--worst"] if known["worst"] else []
    if known["worst"] and rng.random() < 0.3:
        options += ["--budget", str(rng.choice((1, 2, 5, 20)))]
    return Trial(
        "oracle", rng.getrandbits(32), format, segments, tuple(options), judges, layout, known
    )


def judge_oracle(trial: Trial, run: Run, checks: Checks) -> None:
    """Compare with the value of every path."""
    known, judge = trial.known, trial.judges[0]
    results = by_id(checks, trial, run, run.rows(known["format"]))
    single = known["engine"] == "openfst"
    tolerance = SINGLE if single else ROUNDING
    limited = "--budget" in trial.options
    best, exact = [], 0
    for segment, rows in results:
        checks.place = trial.segments.index(segment)
        objective: dict[Sentence, tuple[float, float]] = {}
        for path in segment.paths():
            score = judge.verdict(path.words, segment.references).score
            value = judge.sign * score + known["weight"] * path.score
            mine = (-value if known["worst"] else value, path.score)
            before = objective.get(path.words, mine)
            tied = close(mine[0], before[0], TIED)
            objective[path.words] = max(mine, before, key=itemgetter(1 if tied else 0))
        chosen = [tuple(row["words"]) for row in rows]
        best.append(chosen[0])
        models = [row["model_score"] for row in rows] if known["format"] == "jsonl" else None
        for row, words in zip(rows, chosen, strict=True):
            verdict = judge.verdict(words, segment.references)
            checks.close("score", row["score"], verdict.score, words, judge.spec)
        # sums of a metric and a model score are no ties in single precision, nor if 0.1 is in them
        ties = not (single and known["weight"]) and known["weight"] != 0.1
        proven = True
        if limited:
            if known["format"] == "tsv":
                continue
            # what says that it is proven must be so; what does not must still be a sentence
            proven = all(row["exact"] for row in rows)
            checks.counts[f"oracle: {'' if proven else 'not '}proven within limits"] += 1
        if proven:
            check_ranked(checks, objective, chosen, known["k"], models, tolerance, ties)
        for words in chosen:
            checks.that("sentence of the space", words in objective, words)
        if known["format"] == "jsonl":
            exact += sum(row["exact"] for row in rows)
            for rank, (row, words) in enumerate(zip(rows, chosen, strict=True), start=1):
                checks.equal("rank", row["rank"], rank)
                checks.that("exact", limited or row["exact"] is True, row)
                check_details(checks, trial, segment, row, words)
    checks.place = None
    segments = [segment for segment, _ in results]
    summary = check_summary(checks, trial, run, {"oracle": best, "one_best": model_best(segments)})
    count = sum(len(rows) for _, rows in results)
    checks.equal("summary: results", summary["results"], count)
    if known["format"] == "jsonl" or not limited:
        right = exact if known["format"] == "jsonl" else count
        checks.equal("summary: exact", summary["exact"], right)


def check_details(
    checks: Checks, trial: Trial, segment: Segment, row: Mapping[str, Any], words: Sentence
) -> None:
    """Compare other metrics' scores, features, the reference and the alignment to it."""
    check_scores(checks, trial, segment, row, words)
    check_features(checks, trial, segment.paths(), row, words, row["model_score"])
    judge = trial.judges[0]
    if judge.kind == "bleu":
        return
    verdict = judge.verdict(words, segment.references)
    checks.equal("reference", row["reference"], verdict.reference, words)
    checks.close("possible", row["stats"]["possible"], verdict.denominator)
    units: tuple[Sequence[str], Sequence[str]] = (words, segment.references[verdict.reference])
    if judge.kind == "cer":
        between = " " if judge.spaces else ""
        units = (between.join(units[0]), between.join(units[1]))
    edits = row["alignment"]
    for side, right in zip((1, 2), units, strict=True):
        read = [edit[side] for edit in edits if edit[side]]
        checks.equal("alignment reads both sides", read, list(right))
    gain, length, errors = 0.0, 0, 0
    for operation, mine, other in edits:
        checks.equal("match", operation == "match", mine == other, edits)
        length = min(length + 1, judge.order) if operation == "match" else 0
        gain += length
        gain -= judge.insertion if operation == "insertion" else 0.0
        gain -= judge.deletion if operation == "deletion" else 0.0
        errors += operation != "match"
    numerator = errors if judge.kind in ("wer", "cer") else gain
    checks.close("alignment is a best one", numerator, verdict.numerator, edits)
