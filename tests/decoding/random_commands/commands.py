"""Random commands over random files, and what must be true of what they write."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import logging
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path as File
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from decoding.cli import main
from tests.decoding.random_commands.files import (
    INPUTS,
    PLAIN,
    UNUSUAL,
    InputFormat,
    cut,
    read_jsonl,
    write_references,
)
from tests.decoding.random_commands.scores import (
    ROUNDING,
    Judge,
    close,
    draw_judge,
    expected_edits,
    expected_score,
    linear_gain,
    posterior,
    sentence_posterior,
)
from tests.decoding.random_commands.spaces import (
    FEATURES,
    Drawing,
    Features,
    Part,
    Path,
    Segment,
    Sentence,
)

#: segments a command: many, so that the command itself costs little
SEGMENTS = 50
#: of so many commands one is run with worker processes, too, which take a second
PROCESSES = 40
#: of files in single precision
SINGLE = 1e-5
#: what rounding may part though it is equal; what differs by more, up to ROUNDING, is left open
TIED = 1e-13
#: how ids may begin where they are in the input
UNUSUAL_IDS = ("s", "s", "ä ö ", "x/y-", "\u2028", "(", " ")
#: what can be wrong with a segment that results are asked for
DAMAGE = ("broken", "lattice", "nbest")


class Disagreement(AssertionError):
    """What a command wrote is not what the judge says; ``place`` is the segment, if it is one."""

    def __init__(self, message: str, place: int | None = None) -> None:
        super().__init__(message)
        self.place = place


@dataclass
class Checks:
    """Counts comparisons by their kind, and stops at the first that fails."""

    command: str
    counts: Counter[str] = field(default_factory=Counter)
    place: int | None = None

    def that(self, kind: str, holds: bool, *about: object) -> None:
        """Count a comparison; raise Disagreement if it fails."""
        self.counts[f"{self.command}: {kind}"] += 1
        if not holds:
            said = ", ".join(map(repr, about))
            raise Disagreement(f"{self.command}: {kind}: {said}", self.place)

    def equal(self, kind: str, found: object, right: object, *about: object) -> None:
        """Compare what must be the same."""
        self.that(kind, found == right, "found", found, "expected", right, *about)

    def close(self, kind: str, found: float, right: float, *about: object, **rest: float) -> None:
        """Compare numbers."""
        self.that(kind, close(found, right, **rest), "found", found, "expected", right, *about)


@dataclass(frozen=True)
class Trial:
    """One command: its input, its options, and what its judge must know of them.

    Attributes
    ----------
    command : str
    seed : int
        Of what is random in how files are written.
    format : InputFormat
    segments : tuple of Segment
    options : tuple of str
        Of the command, but for files.
    judges : tuple of Judge
        The metrics, the one that searches first.
    layout : str
        Of the files of references; "" if they are in the input, or not needed.
    known : mapping
        Values of options, for the judge.
    workers : int
        More than one run it again, with so many, and compare the bytes.
    """

    command: str
    seed: int
    format: InputFormat
    segments: tuple[Segment, ...]
    options: tuple[str, ...]
    judges: tuple[Judge, ...] = ()
    layout: str = ""
    known: Mapping[str, Any] = field(default_factory=dict)
    workers: int = 1

    def usable(self) -> list[tuple[int, Segment]]:
        """Return the segments that have results, with their places."""
        return [
            (place, segment)
            for place, segment in enumerate(self.segments)
            if segment.paths() and self._weighted(segment)
        ]

    def failed(self) -> int:
        """Return how many segments have no results."""
        return len(self.segments) - len(self.usable()) + int(self.known.get("lost", 0))

    def exit_code(self) -> int:
        """Return the exit code: 1 if some segments fail, 2 if all do."""
        return (1 if self.usable() else 2) if self.failed() else 0

    def _weighted(self, segment: Segment) -> bool:
        """Tell whether a segment has features, and weights for all of them if it must."""
        if self.command != "rescore":
            return True
        names = segment.feature_names()
        return bool(names) and names <= set(self.known.get("strict weights", names))


class Run:
    """A trial that was run: its files and its exit code."""

    def __init__(self, trial: Trial, folder: File) -> None:
        rng = Random(trial.seed)
        self.folder = folder
        self.output = folder / "out"
        self.summary = folder / "summary.json"
        sources = self._written(trial, rng)
        reading = self.reading
        # sometimes the content must tell; k2's text could be OpenFst's
        if trial.format.name == "k2" or rng.random() < 0.5:
            reading += ["--input-format", trial.format.name]
        self.argv = [trial.command, *map(str, sources), *reading, *trial.options, "-q"]
        self.argv += ["-o", str(self.output)]
        target = trial.known.get("target")
        if target in _FOLDERS:
            self.output.mkdir()
        if target in _SYMBOLS:
            self.argv += ["--write-option", f"symbols={folder / 'table'}"]
        if trial.layout:
            self.argv += write_references(folder, trial.segments, trial.layout, rng)
        if trial.judges:
            self.argv += ["--metric", *(judge.spec for judge in trial.judges)]
            self.argv += ["--summary", str(self.summary)]
        for name, option in (("other", "--systems"), ("weights", "--weights")):
            if name not in trial.known:
                continue
            path = folder / name
            if name == "other":
                INPUTS[0].write(path, trial.known[name], rng)
            else:
                lines = [f"{key} {value!r}\n" for key, value in trial.known[name].items()]
                path.write_text("".join(lines))
            self.argv += [option, str(path)]
        self.code, self.said = run(self.argv)

    def _written(self, trial: Trial, rng: Random) -> list[File]:
        """Write the input, sometimes in two files, sometimes compressed; set the reader's options.

        A table of symbols is that of one file, and Arrow files are not compressed.
        """
        whole = self.folder / "in"
        cut_at = rng.randrange(len(trial.segments)) if rng.random() < 0.3 else 0
        parts = [trial.segments[:cut_at], trial.segments[cut_at:]]
        if trial.format.symbols or not cut_at:
            parts = [trial.segments]
        sources = [whole.with_name(f"in{place or ''}") for place in range(len(parts))]
        for source, part in zip(sources, parts, strict=True):
            self.reading = trial.format.write(source, part, rng)
            if source.is_file() and trial.format.name != "arrow" and rng.random() < 0.2:
                source.write_bytes(gzip.compress(source.read_bytes(), 1))
        return sources

    def rows(self, format: str) -> list[dict[str, Any]]:
        """Return the lines of the output as objects."""
        lines = self.output.read_bytes().decode().split("\n")[:-1]
        if format == "jsonl":
            return [json.loads(line, parse_constant=_no_number) for line in lines]
        cells = [line.split("\t") for line in lines]
        return [{"id": row[0], "score": float(row[1]), "words": [*cut(row[2])]} for row in cells]


def _no_number(text: str) -> float:
    raise Disagreement(f"{text} is no JSON")


def run(argv: Sequence[str]) -> tuple[int, str]:
    """Run a command in this process; return its exit code and what it said."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        code = main(list(argv))
    return code, said.getvalue()


# drawing


def draw_inputs(rng: Random, kinds: Sequence[str] = (), features: bool = False) -> InputFormat:
    """Draw a format that holds a kind, with features if they are needed."""
    fitting = [
        each
        for each in INPUTS
        if (not kinds or set(kinds) & set(each.kinds)) and (each.features or not features)
    ]
    # every other file has our own format, which can hold everything
    return INPUTS[0] if rng.random() < 0.4 else rng.choice(fitting)


def draw_segments(
    rng: Random,
    format: InputFormat,
    kinds: Sequence[str],
    *,
    count: int = SEGMENTS,
    features: bool = False,
    references: str = "no",
    bleu: bool = False,
    damage: Sequence[str] = ("broken", "lattice"),
) -> tuple[tuple[Segment, ...], str]:
    """Draw the segments of a command, and the layout of the files of their references."""
    layout = ""
    if references != "no" and (not format.references or rng.random() < 0.5):
        layout = rng.choice(("kaldi", "kaldi", "plain", "trn", "stm", "ctm"))
    words: list[str] = list(PLAIN)
    # sacreBLEU cuts at white space that is not ASCII, and trn, stm and ctm have signs of their own
    if layout in ("", "plain", "kaldi") and not bleu and rng.random() < 0.4:
        words = rng.sample([*PLAIN, *format.words], min(5, 4 + len(format.words)))
    number = rng.choice((1, 1, 1, 2, 3)) if references != "no" else 0
    drawing = Drawing(rng, words, features)
    ids = rng.choice(UNUSUAL_IDS) if format.references and not layout and damage else "s"
    segments = []
    for place in range(count):
        kind = rng.choice([kind for kind in kinds if kind in format.kinds])
        segment = drawing.segment(f"{ids}{place:03}", kind, number)
        if layout == "ctm":
            # which has no rows of an empty reference
            segment = replace(
                segment, references=tuple(each or ("a",) for each in segment.references)
            )
        segments.append(segment)
        if references != "no" and not layout and rng.random() < 0.1:
            more = drawing.references(1, ())
            segments[-1] = replace(segment, references=segment.references + more)
    if damage and format.name == "jsonl" and rng.random() < 0.2:
        place = rng.randrange(count)
        kind = rng.choice(damage)
        # no record, a lattice that no path leads through, or a list without entries
        arc = Part(0, (1,), (words[0],), 0.0, {})
        finals: dict[int, tuple[float, Features]] = {2: (0.0, {})} if kind == "lattice" else {}
        parts = () if kind == "nbest" else (arc,)
        segments[place] = replace(
            segments[place], kind=kind, parts=parts, size=3, start=0, finals=finals
        )
    return tuple(segments), layout


def draw_judges(rng: Random, bleu: bool) -> tuple[Judge, ...]:
    """Draw one to three metrics; the first can search lattices unless there are none."""
    first = draw_judge(rng, bleu)
    others = [draw_judge(rng, bleu) for _ in range(rng.choice((0, 0, 1, 2)))]
    return tuple({judge.spec: judge for judge in (first, *others)}.values())


def sentence_kind(rng: Random, command: str) -> tuple[str, ...]:
    """Draw kinds of segments: one, or all that a file may mix."""
    return rng.choice(
        (("lattice",), ("lattice",), ("forest",), ("nbest",), ("lattice", "forest", "nbest"))
    )


# what results have in common


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
    worth: Mapping[Sentence, tuple[float, float]],
    chosen: Sequence[Sentence],
    k: int,
    models: Sequence[float] | None,
    tolerance: float = ROUNDING,
    ties: bool = True,
) -> None:
    """Check the k sentences of the highest worth: each once, ties by the higher model score.

    ``worth`` has the worth and the model score of each sentence. Without ``ties`` they are open.
    """
    checks.equal("number of sentences", len(chosen), min(k, len(worth)))
    checks.equal("each sentence once", len(set(chosen)), len(chosen), chosen)
    for words in chosen:
        checks.that("sentence of the space", words in worth, words)
    values = sorted((value for value, _ in worth.values()), reverse=True)
    for place, words in enumerate(chosen):
        value = values[place]
        checks.close("rank", worth[words][0], value, words, chosen, tolerance=tolerance)
    order = sorted(worth.values(), reverse=True)
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
        checks.close("ties by model score", worth[words][1], model, words, tolerance=tolerance)
        if models is not None:
            checks.close("model score", models[place], worth[words][1], words, tolerance=tolerance)


# oracle


def draw_oracle(rng: Random) -> Trial:
    """Draw a search for the best, the k best or the worst."""
    kinds = sentence_kind(rng, "oracle")
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
    known = {
        "k": rng.choice((1, 1, 1, 1, 2, 3, 1000)),
        "worst": rng.random() < 0.3,
        "weight": rng.choice((0.0, 0.0, 0.0, 0.5, -0.25, 0.1, 1.0)),
        "engine": rng.choice(("auto", "kernel", "openfst")),
        "format": rng.choice(("tsv", "jsonl", "jsonl")),
    }
    options = ["-k", str(known["k"]), f"--model-weight={known['weight']}"]
    options += ["--engine", known["engine"], "--format", known["format"]]
    options += ["--worst"] if known["worst"] else []
    if known["worst"] and rng.random() < 0.3:
        options += ["--budget", str(rng.choice((1, 2, 5, 20)))]
    elif (
        kinds == ("forest",)
        and (known["k"], known["worst"]) == (1, False)
        and known["engine"] != "openfst"
        and rng.random() < 0.4
    ):
        options += ["--beam", str(rng.choice((0.0, 0.1, 0.5)))] if rng.random() < 0.5 else []
        options += ["--band", str(rng.choice((0, 1, 3)))]
        known["narrow"] = True
    return Trial(
        "oracle", rng.getrandbits(32), format, segments, tuple(options), judges, layout, known
    )


def judge_oracle(trial: Trial, run: Run, checks: Checks) -> None:
    """Compare with the worth of every path."""
    known, judge = trial.known, trial.judges[0]
    if known.get("narrow") and run.code:
        trial = without_lost(trial, run)
    results = by_id(checks, trial, run, run.rows(known["format"]))
    single = known["engine"] == "openfst" and known["k"] == 1 and not known["worst"]
    tolerance = SINGLE if single else ROUNDING
    limited = bool({"--budget", "--beam", "--band"} & {*trial.options})
    best, exact = [], 0
    for segment, rows in results:
        checks.place = trial.segments.index(segment)
        worth: dict[Sentence, tuple[float, float]] = {}
        for path in segment.paths():
            score = judge.verdict(path.words, segment.references).score
            value = judge.sign * score + known["weight"] * path.score
            mine = (-value if known["worst"] else value, path.score)
            before = worth.get(path.words, mine)
            tied = close(mine[0], before[0], TIED)
            worth[path.words] = max(mine, before, key=itemgetter(1 if tied else 0))
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
            # a beam or a band breaks ties among what it has kept
            ties = ties and not known.get("narrow")
            check_ranked(checks, worth, chosen, known["k"], models, tolerance, ties)
        for words in chosen:
            checks.that("sentence of the space", words in worth, words)
        if known["format"] == "jsonl":
            exact += sum(row["exact"] for row in rows)
            for rank, (row, words) in enumerate(zip(rows, chosen, strict=True), start=1):
                checks.equal("rank", row["rank"], rank)
                checks.that("exact", limited or row["exact"] is True, row)
                check_details(checks, trial, segment, row, words)
    checks.place = None
    segments = [segment for segment, _ in results]
    summary = check_summary(
        checks, trial, run, {"oracle": best, "one_best": model_best(segments)}
    )
    count = sum(len(rows) for _, rows in results)
    checks.equal("summary: results", summary["results"], count)
    if known["format"] == "jsonl" or not limited:
        right = exact if known["format"] == "jsonl" else count
        checks.equal("summary: exact", summary["exact"], right)


def without_lost(trial: Trial, run: Run) -> Trial:
    """Return a trial without the forests of which a beam and a band have left nothing, and say so."""
    nothing = "leave no derivation"
    failures = json.loads(run.summary.read_text())["failures"]
    lost = {failure["id"] for failure in failures if nothing in failure["reason"]}
    left = tuple(segment for segment in trial.segments if segment.id not in lost)
    return replace(trial, segments=left, known={**trial.known, "lost": len(lost)})


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


# mbr


def draw_mbr(rng: Random) -> Trial:
    """Draw a decision of least risk."""
    method = rng.choice(("pairwise", "pairwise", "exact", "search", "linear", "edit", "auto"))
    kinds = ("lattice",) if method == "search" else sentence_kind(rng, "mbr")
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
    }
    options = ["--method", method, "--scale", str(known["scale"]), "--format", known["format"]]
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


def judge_mbr(trial: Trial, run: Run, checks: Checks) -> None:
    """Compare with the expected score of every sentence over all paths."""
    known, judge = trial.known, trial.judges[0]
    rows = run.rows(known["format"])
    if known["format"] == "tsv":
        rows = [{**row, "expected": row["score"]} for row in rows]
    results = by_id(checks, trial, run, rows)
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
        else:
            if known["theta"]:
                gains = {words: linear_gain(words, evidence, known["theta"]) for words in models}
                sign = 1
            else:
                gains = {words: expected_score(judge, words, evidence) for words in models}
                sign = judge.sign
            worth = {words: (sign * gains[words], models[words]) for words in models}
            for row, words in zip(found, chosen, strict=True):
                checks.that("sentence of the space", words in gains, words)
                checks.close("expected", row["expected"], gains[words], words, judge.spec)
            jsonl = known["format"] == "jsonl"
            scores = [row["model_score"] for row in found] if jsonl else None
            check_ranked(checks, worth, chosen, known["k"], scores)
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


# rescore


def draw_rescore(rng: Random) -> Trial:
    """Draw weights, and what is to be written under them."""
    kinds = sentence_kind(rng, "rescore")
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


# commands that write spaces


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


def draw_nbest(rng: Random) -> Trial:
    """Draw a number of paths or sentences."""
    kinds = sentence_kind(rng, "nbest")
    format = draw_inputs(rng, kinds)
    kinds = tuple(kind for kind in kinds if kind in format.kinds) or format.kinds
    features = format.features and rng.random() < 0.5
    segments, _ = draw_segments(rng, format, kinds, features=features)
    known = {"k": rng.choice((1, 2, 5, 100)), "unique": rng.random() < 0.5}
    options = ["-k", str(known["k"]), *(["--unique"] if known["unique"] else []), "--to", "jsonl"]
    return Trial(
        "nbest", rng.getrandbits(32), format, segments, tuple(options), (), "", known
    )


def judge_nbest(trial: Trial, run: Run, checks: Checks) -> None:
    """Compare with the sorted paths."""
    judge_spaces(trial, run, checks, lambda segment: segment)


def draw_prune(rng: Random) -> Trial:
    """Draw a beam, a posterior or a density."""
    kinds = sentence_kind(rng, "prune")
    format = draw_inputs(rng, kinds)
    kinds = tuple(kind for kind in kinds if kind in format.kinds) or format.kinds
    how = "beam" if "nbest" in kinds else rng.choice(("beam", "posterior", "density"))
    if how == "density" and format.name in ("htk", "plf"):
        # where ends of paths are arcs, which count
        how = "beam"
    segments, _ = draw_segments(rng, format, kinds)
    value = {
        "beam": rng.choice((0.0, 0.5, 1.0, 2.5, rng.uniform(0.0, 5.0))),
        "posterior": rng.uniform(0.0, 1.0),
        "density": rng.choice((0.5, 1.0, 1.5, 2.0, 3.0)),
    }[how]
    if format.name == "srilm-nbest":
        # whose unit leaves nothing exact: nothing may lie on the edge of the beam
        value = rng.uniform(0.0, 5.0)
    known = {"how": how, "value": value, "scale": rng.choice((1.0, 0.5, 2.0))}
    options = [f"--{how}", repr(value), "--to", "jsonl"]
    options += ["--scale", str(known["scale"])] if how == "posterior" else []
    return Trial(
        "prune", rng.getrandbits(32), format, segments, tuple(options), (), "", known
    )


def judge_prune(trial: Trial, run: Run, checks: Checks) -> None:
    """Compare with the paths that have only parts to keep, by marginals over all paths."""
    known = trial.known
    usable = trial.usable()
    checks.equal("exit code", run.code, trial.exit_code(), run.said)
    found = read_jsonl(run.output)
    ids = [segment.id for segment in found]
    checks.equal("segments in order", ids, [segment.id for _, segment in usable])
    for (place, segment), space in zip(usable, found, strict=True):
        checks.place = place
        answers = pruned(segment, known["how"], known["value"], known["scale"])
        if answers is None:
            checks.counts["prune: left open by rounding"] += 1
            continue
        paths = space.paths()
        holds = any(same_paths(paths, right, ROUNDING, False) for right in answers)
        checks.that(f"paths within the {known['how']}", holds, paths, answers)
    checks.place = None


def pruned(segment: Segment, how: str, value: float, scale: float) -> list[list[Path]] | None:
    """Return the paths that are left; several answers where the best path is open.

    None if rounding decides whether a part is kept. A part is an arc or an edge; ends of lattices
    are kept and dropped like arcs, but do not count for the density.
    """
    paths = segment.paths()
    top = max(path.score for path in paths)
    ends = segment.kind == "lattice"
    keys = [{*path.parts, *([("end", path.end)] if ends else [])} for path in paths]
    best = [place for place, path in enumerate(paths) if close(path.score, top)]
    loss = {
        key: top - max(path.score for path, own in zip(paths, keys, strict=True) if key in own)
        for key in set().union(*keys)
    }
    if how == "posterior":
        share = posterior(paths, scale)
        if segment.kind == "forest":
            # an edge that a derivation uses twice counts twice
            mass = {
                key: sum(
                    weight * path.parts.count(key)
                    for weight, path in zip(share, paths, strict=True)
                )
                for key in loss
            }
        else:
            mass = {
                key: sum(weight for weight, own in zip(share, keys, strict=True) if key in own)
                for key in loss
            }
        if any(close(each, value) for each in mass.values()):
            return None
        kept = [{key for key, each in mass.items() if each >= value} | keys[one] for one in best]
    elif how == "beam":
        if any(loss_near(each, value) for each in loss.values()):
            return None
        kept = [{key for key, each in loss.items() if each <= value}]
    else:
        kept = []
        parts = len(segment.parts)
        for one in best:
            budget = int(value * max(1, len(paths[one].words)))
            # parts on no path lose everything
            losses = sorted(each for key, each in loss.items() if not isinstance(key, tuple))
            losses += [float("inf")] * (parts - len(losses))
            dropped = losses[budget] if budget < parts else float("inf")
            some = {key for key, each in loss.items() if each < dropped - ROUNDING}
            if any(0 < abs(each - dropped) < ROUNDING for each in loss.values()):
                return None
            kept.append(some | keys[one] if dropped <= ROUNDING else some)
            if dropped <= ROUNDING:
                kept += [some | keys[other] for other in best]
    return [
        [path for path, own in zip(paths, keys, strict=True) if own <= some] for some in kept
    ]


def loss_near(loss: float, beam: float) -> bool:
    """Tell whether rounding decides; sums of quarters have none."""
    return loss != beam and abs(loss - beam) < ROUNDING * max(1.0, beam)


#: formats to convert to, by the kinds they hold; those in single precision
TARGETS = {
    "lattice": (
        "jsonl", "arrow", "parquet", "kaldi", "kaldi-binary", "openfst-text", "openfst", "htk",
        "k2", "plf",
    ),
    "nbest": ("jsonl", "arrow", "parquet", "moses-nbest", "nbest-tsv"),
    "forest": ("jsonl", "arrow", "parquet", "hypergraph", "cdec-forest", "travatar"),
}  # fmt: skip
_SINGLE = ("kaldi-binary", "openfst")
_FOLDERS = ("openfst-text", "openfst", "htk", "k2", "hypergraph", "cdec-forest")
_COMPLETE = ("jsonl", "arrow", "parquet")
_SYMBOLS = ("kaldi", "kaldi-binary", "k2")


def draw_convert(rng: Random) -> Trial:
    """Draw a format to convert to, and back from."""
    kind = rng.choice(("lattice", "lattice", "nbest", "forest"))
    format = draw_inputs(rng, (kind,))
    kind = kind if kind in format.kinds else format.kinds[0]
    target = rng.choice(TARGETS[kind])
    features = target in _COMPLETE and format.features
    with_references = target in _COMPLETE and format.references
    segments, _ = draw_segments(
        rng, format, (kind,), features=features, references="yes" if with_references else "no",
        damage=(),
    )  # fmt: skip
    known = {"target": target, "references": with_references}
    return Trial(
        "convert", rng.getrandbits(32), format, segments, ("--to", target, "--lossy"), (), "", known
    )


def judge_convert(trial: Trial, run_: Run, checks: Checks) -> None:
    """Convert back to JSON lines, and compare."""
    target = trial.known["target"]
    checks.equal("exit code", run_.code, 0, run_.said)
    if target == "jsonl":
        back = run_.output
    else:
        back = run_.folder / "back"
        options = ["--option", f"symbols={run_.folder / 'table'}"] if target in _SYMBOLS else []
        argv = ["convert", str(run_.output), *options, "--to", "jsonl", "-o", str(back), "-q"]
        if target in ("k2", "kaldi-binary"):
            argv += ["--input-format", target]
        code, said = run(argv)
        checks.equal("exit code of converting back", code, 0, said)
    tolerance = SINGLE if target in _SINGLE else ROUNDING
    features = target in _COMPLETE
    judge_spaces(trial, run_, checks, lambda same: same, read_jsonl(back), tolerance, features)


Draw = Callable[[Random], Trial]
Decide = Callable[[Trial, Run, Checks], None]
COMMANDS: dict[str, tuple[Draw, Decide, int]] = {
    "oracle": (draw_oracle, judge_oracle, 8),
    "mbr": (draw_mbr, judge_mbr, 5),
    "rescore": (draw_rescore, judge_rescore, 3),
    "nbest": (draw_nbest, judge_nbest, 2),
    "prune": (draw_prune, judge_prune, 3),
    "convert": (draw_convert, judge_convert, 3),
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
        alone = replace(trial, segments=trial.segments[place : place + 1], known=dict(trial.known))
        if "other" in trial.known:
            alone.known["other"] = trial.known["other"][place : place + 1]  # type: ignore[index]
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
