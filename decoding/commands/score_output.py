"""What ``fstmetrics score`` writes."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from decoding.commands.score_tables import document, latex, resampling_note, tsv
from decoding.commands.systems import System

if TYPE_CHECKING:
    from fstmetrics import Estimate, Metric


@dataclass(frozen=True)
class Report:
    """The scores of systems; with intervals, an estimate for each system and metric."""

    systems: Sequence[System]
    metrics: tuple[Metric, ...]
    segments: bool
    estimates: Sequence[Sequence[Estimate]] | None
    samples: int
    seed: int
    level: float

    @classmethod
    def of(
        cls, systems: Sequence[System], metrics: tuple[Metric, ...], arguments: argparse.Namespace
    ) -> Report:
        """Return the report that the arguments ask for."""
        from fstmetrics import bootstrap

        samples, seed, level = arguments.samples, arguments.seed, arguments.level
        estimates = None
        if arguments.intervals:
            estimates = [
                [
                    bootstrap(metric, matrix, samples=samples, level=level, seed=seed)
                    for metric, matrix in zip(metrics, system.matrices(), strict=True)
                ]
                for system in systems
            ]
        return cls(systems, metrics, arguments.segments, estimates, samples, seed, level)

    def names(self) -> list[str]:
        """Return the signatures of the metrics."""
        return [str(metric) for metric in self.metrics]

    def segment_rows(self) -> Iterator[tuple[str, str, list[float]]]:
        """Iterate over all systems and segments, with a score for each metric."""
        for system in self.systems:
            for name, scores in system.segment_scores():
                yield system.name, name, scores

    def notes(self) -> list[str]:
        """Return how the intervals were made, if there are any."""
        return [resampling_note(self.samples, self.seed, self.level)] if self.estimates else []


def written(report: Report, format: str) -> str:
    """Return a report in one of the formats."""
    return {"table": _table, "tsv": _tsv, "json": _json, "latex": _latex}[format](report)


def _system_rows(report: Report) -> list[list[str]]:
    """Return rows for people: each system, its segments, its scores and their intervals."""
    rows = []
    for place, system in enumerate(report.systems):
        if report.estimates is None:
            shown = [f"{score:.4f}" for score in system.scores()]
        else:
            shown = [str(estimate) for estimate in report.estimates[place]]
        rows.append([system.name, str(len(system.stats)), *shown])
    return rows


def _segment_rows(report: Report) -> list[list[str]]:
    return [
        [system, name, *(f"{score:.4f}" for score in scores)]
        for system, name, scores in report.segment_rows()
    ]


def _table(report: Report) -> str:
    from decoding.report import table

    text = ""
    if report.segments:
        header = ["system", "segment", *report.names()]
        text = table(header, _segment_rows(report), left=(0, 1)) + "\n\n"
    text += table(["system", "segments", *report.names()], _system_rows(report)) + "\n"
    return text + "".join(f"\n{note}\n" for note in report.notes())


def _latex(report: Report) -> str:
    if report.segments:
        return latex(["system", "segment", *report.names()], _segment_rows(report), left=(0, 1))
    header = ["system", "segments", *report.names()]
    return latex(header, _system_rows(report), notes=report.notes())


def _tsv(report: Report) -> str:
    if report.segments:
        rows = [
            [system, name, *map(repr, scores)] for system, name, scores in report.segment_rows()
        ]
        return tsv([["system", "segment", *report.names()], *rows])
    header = ["system", "segments"]
    for name in report.names():
        header += [name] if report.estimates is None else [name, f"{name} low", f"{name} high"]
    rows = []
    for place, system in enumerate(report.systems):
        cells = [system.name, str(len(system.stats))]
        if report.estimates is None:
            cells += map(repr, system.scores())
        else:
            for one in report.estimates[place]:
                cells += map(repr, (one.score, one.interval.low, one.interval.high))
        rows.append(cells)
    return tsv([header, *rows])


def _json(report: Report) -> str:
    names = report.names()
    listed = []
    for place, system in enumerate(report.systems):
        entry: dict[str, Any] = {
            "system": system.name,
            "segments": len(system.stats),
            "failed": len(system.failures),
            "scores": dict(zip(names, system.scores(), strict=True)),
            "stats": {
                str(metric): dict(zip(metric.stat_names, row.tolist(), strict=True))
                for metric, row in zip(report.metrics, system.totals(), strict=True)
            },
        }
        if report.estimates is not None:
            entry["intervals"] = {
                name: {
                    "low": one.interval.low,
                    "high": one.interval.high,
                    "standard_error": one.standard_error,
                }
                for name, one in zip(names, report.estimates[place], strict=True)
            }
        if report.segments:
            entry["segment_scores"] = [
                {"id": name, "scores": dict(zip(names, scores, strict=True))}
                for name, scores in system.segment_scores()
            ]
        listed.append(entry)
    content: dict[str, Any] = {}
    if report.estimates is not None:
        content["resampling"] = {
            "method": "bootstrap",
            "samples": report.samples,
            "seed": report.seed,
            "level": report.level,
        }
    return document({**content, "systems": listed})
