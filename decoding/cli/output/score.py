"""What ``fstmetrics score`` writes."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from decoding.cli.output.tables import document, latex, resampling_note, tsv
from decoding.cli.systems import System
from decoding.cli.tables import below, headings, table

if TYPE_CHECKING:
    from fstmetrics import Metric
    from fstmetrics.statistics import Estimate


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
        from fstmetrics.statistics import bootstrap

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
        """Return what the headings stand for, and how the intervals were made."""
        _, notes = headings(self.metrics)
        if self.estimates:
            notes.append(resampling_note(self.samples, self.seed, self.level))
        return notes


def written(report: Report, format: str) -> str:
    """Return a report in one of the formats."""
    return {"table": _table, "tsv": _tsv, "json": _json, "latex": _latex}[format](report)


def _system_rows(report: Report, *, errors: bool = False) -> list[list[str]]:
    """Return a header, and rows for people: each system, its segments and scores.

    With ``errors``, the kinds of errors stand beside each error rate.
    """
    labels, _ = headings(report.metrics)
    header = ["system", "segments"]
    for label, metric in zip(labels, report.metrics, strict=True):
        header += [label, *(_kinds_of_errors(metric).values() if errors else [])]
    rows = [header]
    for place, system in enumerate(report.systems):
        row = [system.name, str(len(system.stats))]
        for which, (metric, stats, score) in enumerate(
            zip(report.metrics, system.totals(), system.scores(), strict=True)
        ):
            estimates = report.estimates
            row.append(f"{score:.4f}" if estimates is None else str(estimates[place][which]))
            counts = dict(zip(metric.stat_names, stats.tolist(), strict=True))
            row += [f"{counts[kind]:.6g}" for kind in (_kinds_of_errors(metric) if errors else ())]
        rows.append(row)
    return rows


def _kinds_of_errors(metric: Metric) -> dict[str, str]:
    """Return the statistics of an error rate that count errors, with headings."""
    kinds = {"substitutions": "sub", "deletions": "del", "insertions": "ins"}
    counted = not metric.higher_is_better and kinds.keys() <= {*metric.stat_names}
    return kinds if counted else {}


def _segment_rows(report: Report) -> list[list[str]]:
    return [
        [system, name, *(f"{score:.4f}" for score in scores)]
        for system, name, scores in report.segment_rows()
    ]


def _table(report: Report) -> str:
    text = ""
    if report.segments:
        header = ["system", "segment", *headings(report.metrics)[0]]
        text = table(header, _segment_rows(report), left=(0, 1)) + "\n\n"
    header, *rows = _system_rows(report, errors=True)
    return text + "\n".join([table(header, rows), *below(report.notes())]) + "\n"


def _latex(report: Report) -> str:
    if report.segments:
        header = ["system", "segment", *headings(report.metrics)[0]]
        return latex(header, _segment_rows(report), left=(0, 1), notes=headings(report.metrics)[1])
    header, *rows = _system_rows(report)
    return latex(header, rows, notes=report.notes())


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
