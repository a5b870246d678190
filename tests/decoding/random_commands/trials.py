"""A random command with its files, run in this process."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as File
from random import Random
from typing import Any

from decoding.cli.main import main
from tests.decoding.random_commands.files import (
    FOLDERS,
    INPUTS,
    PLAIN,
    SYMBOLS,
    InputFormat,
    cut,
    write_references,
)
from tests.decoding.random_commands.scores import (
    Judge,
    close,
    draw_judge,
)
from tests.decoding.random_commands.spaces import (
    Drawing,
    Features,
    Part,
    Segment,
)

#: segments a command: many, so that the command itself costs little
SEGMENTS = 50
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
        return len(self.segments) - len(self.usable())

    def exit_code(self) -> int:
        """Return the exit code: 1 if some segments fail, 2 if all do."""
        return (1 if self.usable() else 2) if self.failed() else 0

    def _weighted(self, segment: Segment) -> bool:
        """Tell whether a segment has features, and a weight for one of them; others count 0."""
        if self.command != "rescore":
            return True
        names = segment.feature_names()
        return bool(names & set(self.known.get("strict weights", names)))


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
        if target in FOLDERS:
            self.output.mkdir()
        if target in SYMBOLS:
            self.argv += ["--write-option", f"symbols={folder / 'table'}"]
        if target == "openfst-text":
            # words that are all whole numbers cannot be told from labels
            self.argv += ["--write-option", "labels=numbers"]
        if trial.layout:
            self.argv += write_references(folder, trial.segments, trial.layout, rng)
        if trial.judges:
            self.argv += ["--metric", *(judge.spec for judge in trial.judges)]
            self.argv += ["--summary", str(self.summary)]
        for name, option in (
            ("other", "--systems"),
            ("weights", "--weights"),
            ("calibration", "--calibration"),
        ):
            if name not in trial.known:
                continue
            path = folder / name
            if name == "other":
                INPUTS[0].write(path, trial.known[name], rng)
            elif name == "calibration":
                path.write_text(json.dumps(trial.known[name]))
            else:
                lines = [f"{key} {value!r}\n" for key, value in trial.known[name].items()]
                path.write_text("".join(lines))
            self.argv += [option, str(path)]
        if "values" in trial.known:
            # of features: an id and values, one or all of them a line; or values without ids
            path, pieces = folder / "values", []
            for id, values in trial.known["values"].items():
                alone = not trial.known["by id"] or rng.random() < 0.5
                rows = [[each] for each in values] if alone else [values]
                name = f"{id}\t" if trial.known["by id"] else ""
                pieces += [name + " ".join(map(repr, row)) + "\n" for row in rows if row]
            path.write_bytes("".join(pieces).encode())
            self.argv += ["--add", f"given={path}"]
        self.matrix = folder / "matrix.jsonl"
        if trial.known.get("matrix"):
            self.argv += ["--matrix", str(self.matrix)]
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


def draw_kinds(rng: Random) -> tuple[str, ...]:
    """Draw kinds of segments: one, or all that a file may mix."""
    return rng.choice(
        (("lattice",), ("lattice",), ("forest",), ("nbest",), ("lattice", "forest", "nbest"))
    )
