"""``fstmetrics mbr`` against the expected score of every sentence."""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping
from itertools import pairwise
from random import Random
from typing import Any

from tests.decoding.random_commands.files import (
    PLAIN,
)
from tests.decoding.random_commands.results import (
    by_id,
    check_ranked,
    check_scores,
    check_summary,
    model_best,
)
from tests.decoding.random_commands.scores import (
    ROUNDING,
    Judge,
    expected_edits,
    expected_score,
    linear_gain,
    posterior,
    sentence_posterior,
)
from tests.decoding.random_commands.spaces import (
    Drawing,
    Segment,
    Sentence,
)
from tests.decoding.random_commands.trials import (
    DAMAGE,
    SEGMENTS,
    Checks,
    Run,
    Trial,
    draw_inputs,
    draw_judges,
    draw_kinds,
    draw_segments,
)


def draw_mbr(rng: Random) -> Trial:
    """Draw a decision of least risk."""
    method = rng.choice(("pairwise", "pairwise", "exact", "search", "linear", "edit", "auto"))
    kinds = ("lattice",) if method == "search" else draw_kinds(rng)
    format = draw_inputs(rng, kinds)
    kinds = tuple(kind for kind in kinds if kind in format.kinds) or format.kinds
    judges = draw_judges(rng, True)
    if method == "edit":
        judges = (Judge(*rng.choice((("wer", "wer"), ("wrr", "wrr")))),)
    elif method == "linear":
        judges = (Judge("bleu", "bleu"),)
    elif method in ("exact", "search"):
        while judges[0].kind == "bleu" or (method == "search" and judges[0].kind == "cer"):
            judges = draw_judges(rng, False)
    bleu = any(judge.kind == "bleu" for judge in judges)
    segments, layout = draw_segments(
        rng, format, kinds, references="yes", bleu=bleu, count=SEGMENTS // 2, damage=DAMAGE
    )
    known: dict[str, Any] = {
        "method": method,
        "scale": rng.choice((1.0, 1.0, 0.0, 0.5, 3.0)),
        "format": rng.choice(("tsv", "jsonl", "jsonl")),
        "k": rng.choice((1, 1, 3)) if method in ("pairwise", "linear") else 1,
        "theta": (-0.3, 0.5, 0.25, 0.75) if method == "linear" else None,
        "matrix": method == "pairwise" and rng.random() < 0.3,
    }
    options = ["--method", method, "--format", known["format"]]
    if method == "edit" and known["format"] == "jsonl" and rng.random() < 0.6:
        known["confidences"] = True
        options += ["--confidences"]
        if rng.random() < 0.6:
            known["calibration"] = draw_calibration(rng, known["scale"])
    if "calibration" not in known:
        options += ["--scale", str(known["scale"])]
    options += ["-k", str(known["k"]), "--no-oracle"]
    if method == "pairwise" and rng.random() < 0.3:
        known["merge"] = "max"
        options += ["--set", "merge=max"]
    elif method == "pairwise" and set(kinds) == {"nbest"} and rng.random() < 0.3:
        known["uniform"] = True
        options += ["--set", "uniform=true"]
    if known["theta"]:
        options += ["--set", "theta=" + "/".join(map(str, known["theta"]))]
    if method in ("pairwise", "exact") and rng.random() < 0.3:
        # what another system said of the same segments; a damaged one has a partner, too
        drawing = Drawing(rng, PLAIN, False)
        known["other"] = tuple(
            drawing.segment(segment.id, segment.kind if segment.paths() else "lattice", 0)
            for segment in segments
        )
        known["shares"] = rng.choice(((0.5, 0.5), (0.75, 0.25)))
        options += ["--system-weights", *map(str, known["shares"])]
    return Trial(
        "mbr", rng.getrandbits(32), format, segments, tuple(options), judges, layout, known
    )


def draw_calibration(rng: Random, scale: float) -> dict[str, Any]:
    """Draw the points of a map, which rise."""
    count = rng.randint(0, 4)
    places = sorted(rng.sample(range(101), count))
    values = sorted(rng.choices(range(101), k=count))
    points = [[place / 100, value / 100] for place, value in zip(places, values, strict=True)]
    return {"scale": scale, "points": points}


def judge_mbr(trial: Trial, run: Run, checks: Checks) -> None:
    """Compare with the expected score of every sentence over all paths."""
    known, judge = trial.known, trial.judges[0]
    rows = run.rows(known["format"])
    if known["format"] == "tsv":
        rows = [{**row, "expected": row["score"]} for row in rows]
    results = by_id(checks, trial, run, rows)
    matrices: dict[str, Any] = {}
    if known["matrix"] and results:
        lines = run.matrix.read_text().split("\n")[:-1]
        matrices = {row["id"]: row for row in map(json.loads, lines)}
        checks.equal("ids of matrices", [*matrices], [segment.id for segment, _ in results])
    best = []
    for segment, found in results:
        checks.place = place = trial.segments.index(segment)
        systems = [segment]
        if "other" in known:
            systems.append(known["other"][place])
        shares = known.get("shares", (1.0,))
        evidence: dict[Sentence, float] = {}
        models: dict[Sentence, float] = {}
        for share, system in zip(shares, systems, strict=True):
            paths = system.paths()
            weights = posterior(paths, 0.0 if known.get("uniform") else known["scale"])
            said = sentence_posterior(paths, weights, known.get("merge", "sum"))
            for words, weight in said.items():
                evidence[words] = evidence.get(words, 0.0) + share * weight
            for words in {path.words for path in paths} - models.keys():
                models[words] = max(path.score for path in paths if path.words == words)
        chosen = [tuple(row["words"]) for row in found]
        best.append(chosen[0])
        edits = judge.spec in ("wer", "wrr") and segment.kind == "lattice" and "other" not in known
        if known["method"] == "edit" or (known["method"] == "auto" and edits):
            check_edits(checks, segment, evidence, found[0])
            if known.get("confidences"):
                check_confidences(checks, found[0], known.get("calibration"))
        else:
            if known["theta"]:
                gains = {words: linear_gain(words, evidence, known["theta"]) for words in models}
                sign = 1
            else:
                gains = {words: expected_score(judge, words, evidence) for words in models}
                sign = judge.sign
            objective = {words: (sign * gains[words], models[words]) for words in models}
            for row, words in zip(found, chosen, strict=True):
                checks.that("sentence of the space", words in gains, words)
                checks.close("expected", row["expected"], gains[words], words, judge.spec)
            if known["matrix"]:
                check_matrix(checks, judge, matrices[segment.id], found[0], evidence, models)
            jsonl = known["format"] == "jsonl"
            scores = [row["model_score"] for row in found] if jsonl else None
            # gains of n-grams are rounded, and sums of scores in the thousands lose a few digits
            largest = known["scale"] * max(map(abs, models.values()))
            ties = known["method"] != "linear" and (known["method"] == "pairwise" or largest < 100)
            check_ranked(checks, objective, chosen, known["k"], scores, ties=ties)
            if known["format"] == "jsonl":
                checks.that("exact", found[0]["exact"] is True, found)
                if known["method"] in ("pairwise", "exact"):
                    checks.equal("candidates", found[0]["candidates"], len(models))
        if known["format"] == "jsonl":
            for row, words in zip(found, chosen, strict=True):
                check_scores(checks, trial, segment, row, words)
    checks.place = None
    segments = [segment for segment, _ in results]
    check_summary(checks, trial, run, {"mbr": best, "one_best": model_best(segments)})


def check_matrix(
    checks: Checks,
    judge: Judge,
    matrix: Mapping[str, Any],
    row: Mapping[str, Any],
    evidence: Mapping[Sentence, float],
    models: Mapping[Sentence, float],
) -> None:
    """Check who is compared with whom, the weights, and some of the scores."""
    texts = {" ".join(words): words for words in (*evidence, *models)}
    candidates = [texts[text] for text in matrix["candidates"]]
    heard = [texts[text] for text in matrix["evidence"]]
    checks.equal("candidates of a matrix", sorted(candidates), sorted(models))
    # what has no weight left is not heard
    without = sum(weight for words, weight in evidence.items() if words not in heard)
    checks.that("evidence of a matrix", without < ROUNDING, heard, evidence)
    for words, weight in zip(heard, matrix["weights"], strict=True):
        checks.close("weight of evidence", weight, evidence[words], words)
    chosen = matrix["scores"][candidates.index(tuple(row["words"]))]
    mean = sum(map(operator.mul, matrix["weights"], chosen))
    checks.close("expectation by a matrix", mean, row["expected"])
    for place, one in enumerate(candidates):
        other = place % len(heard)
        right = expected_score(judge, one, {heard[other]: 1.0})
        checks.close("score of a pair", matrix["scores"][place][other], right, one, heard[other])


def check_edits(
    checks: Checks, segment: Segment, evidence: dict[Sentence, float], row: Mapping[str, Any]
) -> None:
    """Check the recursion for edits: a bound that is tight for lists, no worse than the 1-best."""
    words = tuple(row["words"])
    right = expected_edits(words, evidence)
    checks.that("a bound of expected edits", row["expected"] >= right - ROUNDING, row, right)
    if segment.kind == "nbest":
        checks.close("expected edits of a list", row["expected"], right, words)
        one_best = model_best([segment])
        if one_best is not None:
            start = expected_edits(one_best[0], evidence)
            checks.that("no worse than the 1-best", right <= start + ROUNDING, row, one_best)


def check_confidences(
    checks: Checks, row: Mapping[str, Any], calibration: Mapping[str, Any] | None
) -> None:
    """Check words with confidences: what the alternatives leave, mapped by a calibration."""
    found = row["confidences"]
    checks.equal("words with confidences", [each["word"] for each in found], row["words"])
    for each in found:
        others = [posterior for _, posterior in each["alternatives"]]
        names = [word for word, _ in each["alternatives"]]
        checks.equal("each alternative once", len({*names, each["word"]}), len(names) + 1, each)
        falling = all(more > less - ROUNDING for more, less in pairwise(others))
        checks.that("alternatives in order", falling, each)
        left = 1.0 - sum(others)
        checks.close("confidence", each["confidence"], mapped(left, calibration), each)


def mapped(confidence: float, calibration: Mapping[str, Any] | None) -> float:
    """Return what a confidence becomes, on a straight line between two points of a map."""
    points = calibration["points"] if calibration else []
    if not points:
        return confidence
    if confidence <= points[0][0]:
        return float(points[0][1])
    for (low, value), (high, following) in pairwise(points):
        if confidence <= high:
            return float(value + (following - value) * (confidence - low) / (high - low))
    return float(points[-1][1])
