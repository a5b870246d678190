"""What ``fstmetrics correlate`` computes and writes."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from decoding.cli.human import HumanScores, short_names
from decoding.cli.output.tables import document, latex, resampling_note, tsv
from decoding.cli.systems import System, paired_matrices
from lattices.errors import FormatError

if TYPE_CHECKING:
    from decoding.cli.plots import Scatter
    from fstmetrics import Metric
    from fstmetrics.statistics import Interval
    from lattices.formats.references import References

GRADES = 10


@dataclass(frozen=True)
class Coefficient:
    """One coefficient of one metric."""

    method: str
    value: float
    interval: Interval | None
    p_value: float
    points: int
    note: str = ""

    def __str__(self) -> str:
        """Return value and interval, as tables have them."""
        if math.isnan(self.value):
            return "undefined"
        return f"{self.value:.4f}" + ("" if self.interval is None else f" {self.interval}")


@dataclass(frozen=True)
class OfMetric:
    """The coefficients of one metric, and the scores they are made of."""

    metric: Metric
    scores: Sequence[float]
    coefficients: Sequence[Coefficient]


@dataclass(frozen=True)
class Report:
    """All that was found; a point is a system, or a system and a segment."""

    level: str
    points: Sequence[tuple[str, str]]
    human: Sequence[float]
    found: Sequence[OfMetric]
    resample: str
    samples: int
    seed: int
    confidence: float

    def notes(self) -> list[str]:
        """Return why coefficients are undefined."""
        return [
            f"{one.metric}: {each.method} is undefined: {each.note}"
            for one in self.found
            for each in one.coefficients
            if each.note
        ]


def correlated(
    human: HumanScores,
    systems: Mapping[str, System],
    references: References,
    metrics: Sequence[Metric],
    arguments: argparse.Namespace,
) -> Report:
    """Correlate each metric with the human scores, at the level that these have."""
    made = _by_segment if human.by_segment else _by_system
    points, said, found = made(human, systems, references, metrics, arguments)
    return Report(
        "segment" if human.by_segment else "system",
        points,
        said,
        found,
        "segments" if human.by_segment else arguments.resample,
        arguments.samples,
        arguments.seed,
        arguments.level,
    )


_Found = tuple[list[tuple[str, str]], list[float], list[OfMetric]]


def _by_system(
    human: HumanScores,
    systems: Mapping[str, System],
    references: References,
    metrics: Sequence[Metric],
    arguments: argparse.Namespace,
) -> _Found:
    from fstmetrics.statistics import correlate_systems
    from fstmetrics.statistics.correlation import METHODS

    entries = [entry for entry in human.entries if entry.system in systems]
    said = [entry.score for entry in entries]
    matrices = paired_matrices([systems[entry.system] for entry in entries], references)
    found = []
    for place, metric in enumerate(metrics):
        stats = [of_system[place] for of_system in matrices]
        coefficients = []
        for method in METHODS:
            one = correlate_systems(
                said,
                metric,
                stats,
                method=method,
                resample=arguments.resample,
                samples=arguments.samples,
                level=arguments.level,
                seed=arguments.seed,
            )
            coefficients.append(
                Coefficient(method, one.value, one.interval, one.p_value, one.points, one.note)
            )
        scores = [metric.score(matrix.sum(axis=0)) for matrix in stats]
        found.append(OfMetric(metric, scores, coefficients))
    return [(systems[entry.system].name, "") for entry in entries], said, found


def _by_segment(
    human: HumanScores,
    systems: Mapping[str, System],
    references: References,
    metrics: Sequence[Metric],
    arguments: argparse.Namespace,
) -> _Found:
    import numpy as np

    from fstmetrics import scores_of
    from fstmetrics.statistics import correlate, graded_kappa, wmt_tau
    from fstmetrics.statistics.correlation import METHODS

    entries = [entry for entry in human.entries if entry.system in systems]
    for entry in entries:
        if entry.segment not in systems[entry.system].stats:
            raise FormatError(
                f"no segment {entry.segment!r} in {systems[entry.system].name}",
                human.path,
                entry.line,
            )
    said = np.array([entry.score for entry in entries])
    names = {name: row for row, name in enumerate(systems)}
    segments = {
        name: column for column, name in enumerate(dict.fromkeys(e.segment for e in entries))
    }
    place_of = ([names[e.system] for e in entries], [segments[e.segment] for e in entries])
    sampling = {"samples": arguments.samples, "level": arguments.level, "seed": arguments.seed}
    found = []
    for place, metric in enumerate(metrics):
        rows = np.array([systems[e.system].stats[e.segment][place] for e in entries])
        scores = scores_of(metric, rows)
        quality = scores if metric.higher_is_better else -scores
        coefficients = []
        for method in METHODS:
            one = correlate(said, quality, method=method, groups=place_of[1], **sampling)
            coefficients.append(
                Coefficient(method, one.value, one.interval, one.p_value, one.points, one.note)
            )
        if len(systems) > 1:
            matrices = []
            for values in (said, quality):
                matrix = np.full((len(names), len(segments)), np.nan)
                matrix[place_of] = values
                matrices.append(matrix)
            tau = wmt_tau(*matrices, **sampling)
            pairs = tau.concordant + tau.discordant + tau.metric_ties
            note = "" if pairs else "people see no difference between systems"
            coefficients.append(
                Coefficient(tau.variant, tau.value, tau.interval, math.nan, pairs, note)
            )
        agreement = graded_kappa(said, quality, k=GRADES, low=None, high=None, **sampling)
        coefficients.append(
            Coefficient(
                "kappa",
                agreement.value,
                agreement.interval,
                math.nan,
                agreement.points,
                agreement.note,
            )
        )
        found.append(OfMetric(metric, scores.tolist(), coefficients))
    points = [(systems[e.system].name, e.segment) for e in entries]
    return points, said.tolist(), found


def written(report: Report, format: str) -> str:
    """Return a report in one of the formats."""
    if format == "json":
        return document(_content(report))
    if format == "tsv":
        return tsv(_tsv_rows(report))
    from decoding.cli.tables import below, headings, table

    labels, notes = headings([one.metric for one in report.found])
    methods = [each.method for each in report.found[0].coefficients]
    header = ["metric", f"{report.level}s" if report.level == "system" else "points", *methods]
    rows = [
        [label, str(len(report.points)), *map(str, one.coefficients)]
        for label, one in zip(labels, report.found, strict=True)
    ]
    notes.append(resampling_note(report.samples, report.seed, report.confidence, report.resample))
    if format == "latex":
        return latex(header, rows, notes=notes)
    return "\n".join([table(header, rows), *below(notes)]) + "\n"


def _tsv_rows(report: Report) -> list[list[str]]:
    rows = [["metric", "level", "method", "value", "low", "high", "p_value", "points"]]
    for one in report.found:
        for each in one.coefficients:
            ends = [each.interval.low, each.interval.high] if each.interval else [math.nan] * 2
            numbers = (each.value, *ends, each.p_value)
            cells = ["" if math.isnan(number) else repr(number) for number in numbers]
            rows.append([str(one.metric), report.level, each.method, *cells, str(each.points)])
    return rows


def _content(report: Report) -> dict[str, Any]:
    return {
        "level": report.level,
        "resampling": {
            "of": report.resample,
            "samples": report.samples,
            "seed": report.seed,
            "level": report.confidence,
        },
        "correlations": [
            {
                "metric": str(one.metric),
                "method": each.method,
                "value": each.value,
                "interval": None
                if each.interval is None
                else [each.interval.low, each.interval.high],
                "p_value": each.p_value,
                "points": each.points,
                **({"note": each.note} if each.note else {}),
            }
            for one in report.found
            for each in one.coefficients
        ],
        "points": [
            {
                "system": system,
                **({"segment": segment} if segment else {}),
                "human": said,
                "scores": {str(one.metric): one.scores[place] for one in report.found},
            }
            for place, ((system, segment), said) in enumerate(
                zip(report.points, report.human, strict=True)
            )
        ],
    }


def pictures(report: Report) -> list[Scatter]:
    """Return one picture for each metric; systems are named, segments are not."""
    from decoding.cli.plots import Scatter

    labels = None
    if report.level == "system":
        labels = short_names([system for system, _ in report.points])
    return [
        Scatter(
            f"Pearson {one.coefficients[0]}",
            str(one.metric),
            one.scores,
            report.human,
            labels,
            one.metric.higher_is_better,
        )
        for one in report.found
    ]
