"""Human scores of systems or segments: their files, and how metrics correlate with them.

:mod:`fstmetrics.statistics.rankings` reads WMT's files of ranks.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from fstmetrics.contract import Metric, scores_of
from fstmetrics.statistics.correlation import (
    METHODS,
    VARIANTS,
    Correlation,
    PairCounts,
    correlate,
    correlate_systems,
    graded_kappa,
    ranking_counts,
    tau_of_counts,
    wmt_tau,
)
from fstmetrics.statistics.pairwise import (
    calibrated_accuracy,
    pairwise_accuracy,
    soft_pairwise_accuracy,
)
from fstmetrics.statistics.rankings import (
    Preference,
    expected_wins,
    is_header,
    read_preferences,
)
from fstmetrics.statistics.resampling import ResamplingOptions
from fstmetrics.statistics.significance import qualities_of
from fstmetrics.statistics.systems import System, pair_matrices
from lattices.arrays import FloatColumn
from lattices.errors import FormatError, OptionError
from lattices.formats.base import decode_lines, split_words
from lattices.formats.compression import strip_compression
from lattices.formats.references import References
from lattices.formats.streams import display_name, open_input
from lattices.records import PlainRecord

if TYPE_CHECKING:
    from typing_extensions import Unpack

LEVELS = ("system", "segment")
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
    #: what a file of ranks says of pairs of outputs; the entries are then the expected wins of each
    #: system
    preferences: Sequence[Preference] = ()


def read_human(path: str, *, one_system: bool, level: str | None = None) -> HumanScores:
    """Read ``system score``, ``system id score``, for one system ``id score``, or WMT's ranks.

    Columns are parted by tabs, or by blanks where a line has no tab. What WMT's files of system
    scores have besides is left out: ranges of ranks, and lines of ``+``.

    A file of ranks (:func:`fstmetrics.statistics.rankings.read_preferences`) says something of
    segments and of systems: ``level`` is ``segment``, the default, or ``system``. For other files
    it is what the file must be of.
    """
    if level not in (None, *LEVELS):
        raise OptionError(f"level={level!r}, expected one of {', '.join(LEVELS)}")
    name = display_name(path)
    entries: dict[tuple[str, str], HumanScore] = {}
    columns = 0
    with open_input(path) as (_, stream):
        lines = decode_lines(stream, name)
        for number, line in lines:
            text = line.strip()
            if not text or text.startswith("#") or _SEPARATOR.fullmatch(text):
                continue
            if not columns and is_header(text):
                preferences = read_preferences(chain([(number, text)], lines), name)
                wins = [
                    HumanScore(system, "", score, preferences[0].line)
                    for system, score in expected_wins(preferences).items()
                ]
                return HumanScores(name, level != "system", wins, preferences)
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
    by_segment = one_system or columns == 3
    if level is not None and by_segment != (level == "segment"):
        raise FormatError(
            f"scores of {'segments' if by_segment else 'systems'}, expected scores of {level}s",
            name,
        )
    return HumanScores(name, by_segment, tuple(entries.values()))


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

    #: a ranking is a judgement of two outputs of a segment
    level: str
    #: the system and the segment, which is empty where a point is a whole system; of a ranking
    #: ``FIRST > SECOND``, or ``FIRST = SECOND``, and the segment
    points: Sequence[tuple[str, str]]
    #: what people said of each point; of a ranking 1 or, for a tie, 0
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
    Of rankings: the three taus, over all judgements of pairs of systems that are there; the scores
    are differences of quality.
    """
    if human.preferences and human.by_segment:
        return _correlate_rankings(human, systems, {"samples": 1000, **resampling})
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
    _check_segments(human, zip(of_entries, entries, strict=True))
    for place, metric in enumerate(metrics):
        rows = [one.stats[e.segment][place] for one, e in zip(of_entries, entries, strict=True)]
        coefficients = _correlate_segments(entries, metric, np.array(rows), given)
        values = scores_of(metric, np.array(rows))
        found.append(MetricCorrelations(metric, values.tolist(), coefficients))
    return HumanCorrelations("segment", points, said, found)


def _check_segments(
    human: HumanScores, judged: Iterable[tuple[System, HumanScore | Preference]]
) -> None:
    """Refuse a judgement of a segment for which a system has no output."""
    for system, entry in judged:
        if entry.segment not in system.stats:
            problem = f"no segment {entry.segment!r} in {system.name}"
            raise FormatError(problem, human.path, entry.line)


def _of_matrices(
    entries: Sequence[HumanScore], quality: FloatColumn
) -> tuple[tuple[list[int], list[int]], FloatColumn]:
    """Return where each entry stands in a matrix of systems and segments, and both matrices."""
    names = {name: row for row, name in enumerate(dict.fromkeys(e.system for e in entries))}
    segments = {name: at for at, name in enumerate(dict.fromkeys(e.segment for e in entries))}
    place_of = ([names[e.system] for e in entries], [segments[e.segment] for e in entries])
    matrices = np.full((2, len(names), len(segments)), np.nan)
    matrices[0][place_of], matrices[1][place_of] = [entry.score for entry in entries], quality
    return place_of, matrices


def _from_counts(tau: PairCounts) -> Correlation:
    pairs = tau.concordant + tau.discordant + tau.metric_ties
    note = "" if pairs else "people see no difference between systems"
    return Correlation(tau.value, tau.variant, pairs, math.nan, tau.interval, tau.samples, note)


def _correlate_segments(
    entries: Sequence[HumanScore],
    metric: Metric,
    rows: FloatColumn,
    given: ResamplingOptions,
) -> list[Correlation]:
    """Return all coefficients over segments; ``rows`` has the statistics of each entry."""
    said = np.array([entry.score for entry in entries])
    quality = qualities_of(metric, rows)
    place_of, matrices = _of_matrices(entries, quality)
    # what takes no time has no progress to show
    silent: ResamplingOptions = {**given, "on_drawn": None}
    coefficients = [
        correlate(said, quality, method=method, groups=place_of[1], **given) for method in METHODS
    ]
    if len(matrices[0]) > 1:
        coefficients += [
            _from_counts(wmt_tau(*matrices, **given)),
            calibrated_accuracy(*matrices, **given),
        ]
        if np.isnan(matrices[0]).any():
            note = "people did not judge the same segments of all systems"
            soft = Correlation(math.nan, "spa", len(matrices[0]), math.nan, note=note)
        else:
            stats = np.empty((*matrices[0].shape, rows.shape[1]))
            stats[place_of] = rows
            soft = soft_pairwise_accuracy(matrices[0], metric, [*stats], **silent)
        coefficients.append(soft)
    agreement = graded_kappa(said, quality, k=GRADES, low=None, high=None, **silent)
    return [*coefficients, replace(agreement, method="kappa")]


def _find_preferences(human: HumanScores, systems: Mapping[str, System]) -> list[Preference]:
    """Return the judgements of pairs of systems that are there."""
    known = [one for one in human.preferences if one.first in systems and one.second in systems]
    for side in ("first", "second"):
        _check_segments(human, ((systems[getattr(one, side)], one) for one in known))
    if not known:
        raise FormatError("no judgement of two of the systems", human.path)
    return known


def _ranking_differences(
    known: Sequence[Preference], systems: Mapping[str, System], place: int
) -> FloatColumn:
    """Return how much better the first output of each pair is by a metric."""
    first, second = (
        np.array([systems[getattr(one, side)].stats[one.segment][place] for one in known])
        for side in ("first", "second")
    )
    metric = next(iter(systems.values())).metrics[place]
    return qualities_of(metric, first) - qualities_of(metric, second)


def _ranking_taus(
    known: Sequence[Preference],
    differences: FloatColumn,
    variants: Iterable[str],
    given: ResamplingOptions,
) -> list[Correlation]:
    segments = {name: at for at, name in enumerate(dict.fromkeys(one.segment for one in known))}
    orders = [0.0 if one.tie else 1.0 for one in known]
    counts = ranking_counts(orders, differences, [segments[one.segment] for one in known])
    return [_from_counts(tau_of_counts(counts, variant=one, **given)) for one in variants]


def _correlate_rankings(
    human: HumanScores, systems: Mapping[str, System], given: ResamplingOptions
) -> HumanCorrelations:
    known = _find_preferences(human, systems)
    found = []
    for place, metric in enumerate(next(iter(systems.values())).metrics):
        differences = _ranking_differences(known, systems, place)
        taus = _ranking_taus(known, differences, VARIANTS, given)
        found.append(MetricCorrelations(metric, differences.tolist(), taus))
    points = [(f"{one.first} {'=' if one.tie else '>'} {one.second}", one.segment) for one in known]
    said = [0.0 if one.tie else 1.0 for one in known]
    return HumanCorrelations("ranking", points, said, found)


def human_coefficient(
    human: HumanScores,
    systems: Mapping[str, System],
    references: References,
    place: int,
    **resampling: Unpack[ResamplingOptions],
) -> Correlation:
    """Return the one coefficient that sweeps show of a metric, the systems' one at ``place``.

    Pearson's over systems; WMT14's tau over outputs of segments, scored or ranked by people. See
    :func:`correlate_human`, which has the others.
    """
    given: ResamplingOptions = {"samples": 1000, **resampling}
    if human.preferences and human.by_segment:
        known = _find_preferences(human, systems)
        differences = _ranking_differences(known, systems, place)
        return _ranking_taus(known, differences, ("wmt14",), given)[0]
    entries = [entry for entry in human.entries if entry.system in systems]
    of_entries = [systems[entry.system] for entry in entries]
    metric = of_entries[0].metrics[place]
    if not human.by_segment:
        stats = [of_system[place] for of_system in pair_matrices(of_entries, references)]
        return correlate_systems([entry.score for entry in entries], metric, stats, **given)
    _check_segments(human, zip(of_entries, entries, strict=True))
    rows = [one.stats[e.segment][place] for one, e in zip(of_entries, entries, strict=True)]
    _, matrices = _of_matrices(entries, qualities_of(metric, np.array(rows)))
    return _from_counts(wmt_tau(*matrices, **given))


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
