"""What must be true of the results of several commands."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.decoding.random_commands.files import (
    read_jsonl,
)
from tests.decoding.random_commands.scores import (
    ROUNDING,
    close,
)
from tests.decoding.random_commands.spaces import (
    Features,
    Path,
    Segment,
    Sentence,
)
from tests.decoding.random_commands.trials import (
    Checks,
    Run,
    Trial,
)

#: of files in single precision
SINGLE = 1e-5
#: what rounding may part though it is equal; what differs by more, up to ROUNDING, is left open
TIED = 1e-13


def by_id(
    checks: Checks, trial: Trial, run: Run, rows: Sequence[dict[str, Any]]
) -> list[tuple[Segment, list[dict[str, Any]]]]:
    """Return each segment with its rows; check the exit code, and that none is missing."""
    usable = trial.usable()
    checks.equal("exit code", run.code, trial.exit_code(), run.said)
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["id"], []).append(row)
    checks.equal("segments in order", [*found], [segment.id for _, segment in usable])
    return [(segment, found[segment.id]) for _, segment in usable]


def check_summary(
    checks: Checks,
    trial: Trial,
    run: Run,
    kinds: Mapping[str, Sequence[Sentence] | None],
) -> dict[str, Any]:
    """Compare the corpus scores of a summary, which is returned; None is what ties leave open."""
    usable = [segment for _, segment in trial.usable()]
    summary: dict[str, Any] = json.loads(run.summary.read_text())
    checks.equal("summary: segments", summary["segments"], len(usable))
    checks.equal("summary: failed", summary["failed"], trial.failed())
    found = list(summary["metrics"].values())
    checks.equal("summary: metrics", len(found), len(trial.judges))
    for judge, scores in zip(trial.judges, found, strict=True):
        for kind, sentences in kinds.items():
            if sentences is None:
                continue
            if kind == "one_best" and scores[kind] is None:
                # a model without scores has no best
                scored = [path.score for segment in usable for path in segment.paths()]
                checks.that("summary: no 1-best", not any(scored))
                continue
            pairs = [
                (words, segment.references)
                for words, segment in zip(sentences, usable, strict=True)
            ]
            checks.close(f"summary: {kind}", scores[kind], judge.corpus(pairs), judge.spec)
    return summary


def model_best(segments: Sequence[Segment]) -> list[Sentence] | None:
    """Return the model's best sentences, or None if ties leave one open."""
    found = []
    for segment in segments:
        paths = segment.paths()
        top = max(path.score for path in paths)
        best = [path.words for path in paths if close(path.score, top)]
        if len(set(best)) > 1:
            return None
        found.append(best[0])
    return found


def same_features(found: Features, right: Features) -> bool:
    """Compare features; what is not there is zero."""
    names = {*found, *right}
    return all(close(found.get(name, 0.0), right.get(name, 0.0)) for name in names)


def clusters(values: Sequence[float]) -> list[int] | None:
    """Return for each of the values, which fall, the number of those that are higher.

    None if two differ by so little that nobody can say whether they are equal.
    """
    found: list[int] = []
    for place, value in enumerate(values):
        tied = place and close(value, values[place - 1])
        if tied and not close(value, values[place - 1], TIED):
            return None
        found.append(found[-1] if tied else place)
    return found


def check_ranked(
    checks: Checks,
    verdicts: Mapping[Sentence, tuple[float, float]],
    chosen: Sequence[Sentence],
    k: int,
    models: Sequence[float] | None,
    tolerance: float = ROUNDING,
    ties: bool = True,
) -> None:
    """Check the k sentences of the highest value: each once, ties by the higher model score.

    ``verdicts`` has the value and the model score of each sentence. Without ``ties`` they are open.
    """
    checks.equal("number of sentences", len(chosen), min(k, len(verdicts)))
    checks.equal("each sentence once", len(set(chosen)), len(chosen), chosen)
    for words in chosen:
        checks.that("sentence of the space", words in verdicts, words)
    values = sorted((value for value, _ in verdicts.values()), reverse=True)
    for place, words in enumerate(chosen):
        value = values[place]
        checks.close("rank", verdicts[words][0], value, words, chosen, tolerance=tolerance)
    order = sorted(verdicts.values(), reverse=True)
    groups = clusters([value for value, _ in order])
    if not ties or groups is None:
        checks.counts[f"{checks.command}: ties left open by rounding"] += 1
        return
    order = [
        each
        for _, each in sorted(zip(groups, order, strict=True), key=lambda row: (row[0], -row[1][1]))
    ]
    for place, words in enumerate(chosen):
        model = order[place][1]
        checks.close("ties by model score", verdicts[words][1], model, words, tolerance=tolerance)
        if models is not None:
            checks.close(
                "model score", models[place], verdicts[words][1], words, tolerance=tolerance
            )


def check_scores(
    checks: Checks, trial: Trial, segment: Segment, row: Mapping[str, Any], words: Sentence
) -> None:
    """Compare the scores under every metric."""
    scores = list(row["scores"].values())
    for judge, score in zip(trial.judges, scores, strict=True):
        right = judge.verdict(words, segment.references).score
        checks.close("scores", score, right, words, judge.spec)


def check_features(
    checks: Checks,
    trial: Trial,
    paths: Sequence[Path],
    row: Mapping[str, Any],
    words: Sentence,
    score: float,
) -> None:
    """Check that the features are those of a path with these words and this score."""
    if trial.format.features:
        fitting = [
            path.features
            for path in paths
            if path.words == words and close(path.score, score, SINGLE)
        ]
        holds = any(same_features(row["features"], each) for each in fitting)
        checks.that("features", holds, row["features"], fitting)


def judge_spaces(
    trial: Trial,
    run: Run,
    checks: Checks,
    changed: Callable[[Segment], Segment],
    found: Sequence[Segment] | None = None,
    tolerance: float = ROUNDING,
    features: bool = True,
) -> None:
    """Compare the paths of what was written with those of the segments as they should be."""
    known = trial.known
    usable = trial.usable()
    checks.equal("exit code", run.code, trial.exit_code(), run.said)
    if found is None:
        found = read_jsonl(run.output) if usable else []
    ids = [segment.id for segment in found]
    checks.equal("segments in order", ids, [segment.id for _, segment in usable])
    for (place, segment), space in zip(usable, found, strict=True):
        checks.place = place
        right = changed(segment)
        if known.get("references"):
            checks.equal("references", space.references, segment.references)
        paths = space.paths()
        if known.get("k"):
            check_list(checks, trial, right.paths(), paths, known["k"], known["unique"])
        else:
            checks.equal("number of paths", len(paths), len(right.paths()))
            with_features = features and trial.format.features
            holds = same_paths(paths, right.paths(), tolerance, with_features)
            checks.that("weighted sentences", holds, paths, right.paths())
    checks.place = None


def same_paths(
    found: Sequence[Path], right: Sequence[Path], tolerance: float, features: bool
) -> bool:
    """Tell whether each path has one partner with its words, score and features."""
    left = list(right)
    for path in found:
        for place, other in enumerate(left):
            if (
                path.words == other.words
                and close(path.score, other.score, tolerance)
                and (not features or same_features(path.features, other.features))
            ):
                del left[place]
                break
        else:
            return False
    return not left


def check_list(
    checks: Checks, trial: Trial, paths: Sequence[Path], found: Sequence[Path], k: int, unique: bool
) -> None:
    """Check that a list has the k best paths, or sentences by their best paths, best first."""
    best: dict[Sentence, float] = {}
    for path in paths:
        best[path.words] = max(path.score, best.get(path.words, path.score))
    scores = sorted(best.values() if unique else (path.score for path in paths), reverse=True)
    checks.equal("number of entries", len(found), min(k, len(scores)))
    for path, score in zip(found, scores, strict=False):
        checks.close("score of an entry", path.score, score, found)
        if unique:
            checks.close("best path of a sentence", path.score, best.get(path.words, 0.0), path)
    if unique:
        checks.equal("each sentence once", len({path.words for path in found}), len(found))
    left = list(paths)
    for path in found:
        fitting = [
            place
            for place, other in enumerate(left)
            if path.words == other.words
            and close(path.score, other.score)
            and (not trial.format.features or same_features(path.features, other.features))
        ]
        checks.that("entry is a path", bool(fitting), path)
        del left[fitting[0]]
