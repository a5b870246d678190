"""Human scores of systems or segments: their files, and how metrics correlate with them."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fstmetrics.contract import Metric, scores_of
from fstmetrics.statistics.correlation import (
    METHODS,
    Correlation,
    correlate,
    correlate_systems,
    graded_kappa,
    wmt_tau,
)
from fstmetrics.statistics.pairwise import (
    calibrated_accuracy,
    pairwise_accuracy,
    soft_pairwise_accuracy,
)
from fstmetrics.statistics.resampling import ResamplingOptions
from fstmetrics.statistics.significance import qualities_of
from fstmetrics.statistics.systems import System, pair_matrices
from lattices.arrays import FloatColumn
from lattices.errors import FormatError
from lattices.formats.base import decode_lines, split_words
from lattices.formats.compression import strip_compression
from lattices.formats.references import References
from lattices.formats.streams import display_name, open_input
from lattices.records import PlainRecord

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: into which scores of segments are cut for kappa
GRADES = 10
#: names that a first line may have instead of scores
_HEADER = {"system", "id", "segment", "score", "human", "human_score"}
#: WMT's files have the range of ranks after the score, and a line of these between clusters
_RANKS = re.compile(r"\s+\([^()]*\)\s*$")
_SEPARATOR = re.compile(r"\++")


@dataclass(frozen=True)
class HumanScore(PlainRecord):
    """One judgement; ``segment`` is empty where it is of a whole system."""

    system: str
    segment: str
    score: float
    line: int


@dataclass(frozen=True)
class HumanScores:
    """The judgements of a file."""

    path: str
    by_segment: bool
    entries: Sequence[HumanScore]


def read_human(path: str, *, one_system: bool) -> HumanScores:
    """Read ``system score``, ``system id score``, or, for one system, ``id score``.

    Columns are parted by tabs, or by blanks where a line has no tab. What WMT's files of system
    scores have besides is left out: ranges of ranks, and lines of ``+``.
    """
    name = display_name(path)
    entries: dict[tuple[str, str], HumanScore] = {}
    columns = 0
    with open_input(path) as (_, stream):
        for number, line in decode_lines(stream, name):
            text = line.strip()
            if not text or text.startswith("#") or _SEPARATOR.fullmatch(text):
                continue
            fields = _fields(text)
            if not columns and {field.lower() for field in fields} <= _HEADER:
                continue
            columns = columns or len(fields)
            if len(fields) != columns or columns not in (2, 3):
                expected = columns if columns in (2, 3) else "2 or 3"
                raise FormatError(f"{len(fields)} columns, expected {expected}", name, number)
            by_segment = one_system or columns == 3
            system = "" if by_segment and columns == 2 else fields[0]
            segment = fields[-2] if by_segment else ""
            if (system, segment) in entries:
                who = " ".join(repr(part) for part in (system, segment) if part)
                raise FormatError(f"a second score for {who}", name, number)
            score = _number(fields[-1])
            if score is None:
                raise FormatError(f"score {fields[-1]!r}, expected a number", name, number)
            entries[system, segment] = HumanScore(system, segment, score, number)
    if not entries:
        raise FormatError("no scores", name)
    return HumanScores(name, one_system or columns == 3, tuple(entries.values()))


def _fields(text: str) -> list[str]:
    if "\t" in text:
        return [field.strip() for field in text.split("\t")]
    return split_words(_RANKS.sub("", text))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def match_systems(human: HumanScores, paths: Sequence[str]) -> dict[str, str]:
    """Return the file of each system that people judged, where there is one.

    A name means the file of that name; else the one that has it without ``.txt`` and ``.gz``;
    else the one whose name has it as a part between dots, or the other way round, such as
    ``online-B`` and ``newstest2015.online-B.0.de-en.txt``; else the one in a folder of that name.
    """
    found: dict[str, str] = {}
    taken: dict[str, str] = {}
    lines = {entry.system: entry.line for entry in reversed(human.entries)}
    for name in dict.fromkeys(entry.system for entry in human.entries):
        files = _find_files(name, paths)
        if len(files) > 1:
            listed = ", ".join(files)
            raise FormatError(f"{name!r} may be any of {listed}", human.path, lines[name])
        for file in files:
            if file in taken:
                raise FormatError(
                    f"{name!r} and {taken[file]!r} may both be {file}", human.path, lines[name]
                )
            found[name], taken[file] = file, name
    return found


@dataclass(frozen=True)
class MetricCorrelations(PlainRecord):
    """The coefficients of one metric, and the scores they are made of."""

    metric: Metric
    scores: Sequence[float]
    coefficients: Sequence[Correlation]


@dataclass(frozen=True)
class HumanCorrelations(PlainRecord):
    """Metrics against human scores; a point is a system, or a system and a segment."""

    level: str
    #: the system and the segment, which is empty where a point is a whole system
    points: Sequence[tuple[str, str]]
    #: what people said of each point
    human: Sequence[float]
    found: Sequence[MetricCorrelations]

    def notes(self) -> list[str]:
        """Return why coefficients are undefined."""
        return [
            f"{one.metric}: {each.method} is undefined: {each.note}"
            for one in self.found
            for each in one.coefficients
            if each.note
        ]


def correlate_human(
    human: HumanScores,
    systems: Mapping[str, System],
    references: References,
    *,
    resample: str = "systems",
    **resampling: Unpack[ResamplingOptions],
) -> HumanCorrelations:
    """Correlate each metric with the human scores, over the systems or segments they are of.

    Of systems: Pearson, Spearman and Kendall, and pairwise accuracy. Of segments: also kappa over
    ten grades, and where there are two or more systems a tau of WMT's metrics tasks and the
    accuracy with calibrated ties, over pairs of outputs, and soft pairwise accuracy of systems.
    """
    entries = [entry for entry in human.entries if entry.system in systems]
    of_entries = [systems[entry.system] for entry in entries]
    metrics = of_entries[0].metrics
    said = [entry.score for entry in entries]
    points = [(system.name, e.segment) for system, e in zip(of_entries, entries, strict=True)]
    given: ResamplingOptions = {"samples": 1000, **resampling}
    found = []
    if not human.by_segment:
        matrices = pair_matrices(of_entries, references)
        for place, metric in enumerate(metrics):
            stats = [of_system[place] for of_system in matrices]
            coefficients = [
                correlate_systems(said, metric, stats, method=one, resample=resample, **given)
                for one in METHODS
            ]
            coefficients.append(pairwise_accuracy(said, metric, stats, resample=resample, **given))
            scores = [metric.score(matrix.sum(axis=0)) for matrix in stats]
            found.append(MetricCorrelations(metric, scores, coefficients))
        return HumanCorrelations("system", points, said, found)
    for system, entry in zip(of_entries, entries, strict=True):
        if entry.segment not in system.stats:
            problem = f"no segment {entry.segment!r} in {system.name}"
            raise FormatError(problem, human.path, entry.line)
    for place, metric in enumerate(metrics):
        rows = [one.stats[e.segment][place] for one, e in zip(of_entries, entries, strict=True)]
        coefficients = _correlate_segments(entries, metric, np.array(rows), given)
        values = scores_of(metric, np.array(rows))
        found.append(MetricCorrelations(metric, values.tolist(), coefficients))
    return HumanCorrelations("segment", points, said, found)


def _correlate_segments(
    entries: Sequence[HumanScore],
    metric: Metric,
    rows: FloatColumn,
    given: ResamplingOptions,
) -> list[Correlation]:
    """Return all coefficients over segments; ``rows`` has the statistics of each entry."""
    said = np.array([entry.score for entry in entries])
    quality = qualities_of(metric, rows)
    names = {name: row for row, name in enumerate(dict.fromkeys(e.system for e in entries))}
    segments = {name: at for at, name in enumerate(dict.fromkeys(e.segment for e in entries))}
    place_of = ([names[e.system] for e in entries], [segments[e.segment] for e in entries])
    # what takes no time has no progress to show
    silent: ResamplingOptions = {**given, "on_drawn": None}
    coefficients = [
        correlate(said, quality, method=method, groups=place_of[1], **given) for method in METHODS
    ]
    if len(names) > 1:
        matrices = np.full((2, len(names), len(segments)), np.nan)
        matrices[0][place_of], matrices[1][place_of] = said, quality
        tau = wmt_tau(*matrices, **given)
        pairs = tau.concordant + tau.discordant + tau.metric_ties
        note = "" if pairs else "people see no difference between systems"
        coefficients += [
            Correlation(tau.value, tau.variant, pairs, math.nan, tau.interval, tau.samples, note),
            calibrated_accuracy(*matrices, **given),
        ]
        if np.isnan(matrices[0]).any():
            note = "people did not judge the same segments of all systems"
            soft = Correlation(math.nan, "spa", len(names), math.nan, note=note)
        else:
            stats = np.empty((len(names), len(segments), rows.shape[1]))
            stats[place_of] = rows
            soft = soft_pairwise_accuracy(matrices[0], metric, [*stats], **silent)
        coefficients.append(soft)
    agreement = graded_kappa(said, quality, k=GRADES, low=None, high=None, **silent)
    return [*coefficients, replace(agreement, method="kappa")]


def _find_files(name: str, paths: Sequence[str]) -> list[str]:
    """Return the files that a name means, by the strictest rule that finds any."""
    parts = _parts(name)
    rules = (
        lambda path: os.path.basename(path) == os.path.basename(name),
        lambda path: _parts(path) == parts,
        lambda path: _are_within(parts, _parts(path)) or _are_within(_parts(path), parts),
        lambda path: name in os.path.dirname(path).split(os.sep),
    )
    for rule in rules:
        files = [path for path in dict.fromkeys(paths) if rule(path)]
        if files:
            return files
    return []


def _parts(path: str) -> list[str]:
    return strip_compression(os.path.basename(path)).removesuffix(".txt").split(".")


def _are_within(some: list[str], all_parts: list[str]) -> bool:
    """Tell whether parts stand in others, in a row."""
    size = len(some)
    return any(all_parts[at : at + size] == some for at in range(len(all_parts) - size + 1))


def short_names(names: Sequence[str]) -> list[str]:
    """Return file names without what they all begin and end with, cut at dots."""
    parts = [_parts(name) for name in names]
    if len(set(map(tuple, parts))) < len(parts):
        return list(names)
    while all(len(one) > 1 for one in parts) and len({one[0] for one in parts}) == 1:
        parts = [one[1:] for one in parts]
    while all(len(one) > 1 for one in parts) and len({one[-1] for one in parts}) == 1:
        parts = [one[:-1] for one in parts]
    return [".".join(one) for one in parts]
