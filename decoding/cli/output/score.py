"""Scores of systems: the tables of ``fstmetrics score``."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from decoding.cli.option_table import STANDARD
from decoding.cli.output.breakdown import (
    Details,
    alignments,
    detail_tables,
    details_of,
    four_digits,
    table_part,
)
from decoding.cli.tables import Report, headings, resampling_note, table
from decoding.cli.terminal import wants_colour

if TYPE_CHECKING:
    from fstmetrics import Metric
    from fstmetrics.statistics import Estimate
    from fstmetrics.statistics.systems import System

#: with intervals, one for each system and metric
Estimates = Sequence[Sequence["Estimate"]] | None


def write_scores(systems: Sequence[System], arguments: argparse.Namespace) -> bytes:
    """Return the scores of systems in the format that is asked for.

    Tables for people stand one below the other, the systems last; other tables are alone.
    """
    _, notes = headings(systems[0].metrics)
    resampling = {name: getattr(arguments, name) for name in ("samples", "seed", "level")}
    estimates = None
    if arguments.intervals:
        estimates = [system.estimates(**resampling) for system in systems]
        notes.append(resampling_note(**resampling))
    details = details_of(systems, arguments.by, arguments.top)
    header, *rows = _system_rows(systems, estimates, errors=arguments.format == "table")
    report = Report(
        header,
        rows,
        notes,
        tsv_rows=lambda: _tsv_rows(systems, estimates),
        content=lambda: _content(systems, estimates, details, arguments.segments, resampling),
    )
    parts = _parts(systems, details, arguments.segments, notes)
    if arguments.format == "table":
        tables = [table(part.header, part.rows, part.left) + "\n" for part in parts]
        above = "".join(text + "\n" for text in [*_show_alignments(systems, arguments), *tables])
        return above.encode("utf-8") + report.write("table")
    if arguments.format != "json" and parts:
        (report,) = parts
    return report.write(arguments.format)


def _parts(
    systems: Sequence[System],
    details: Sequence[Details],
    segments: bool,
    notes: Sequence[str],
) -> list[Report]:
    """Return the tables of segments, groups and errors that are asked for."""
    parts = detail_tables(details, notes)
    if segments:
        metrics = systems[0].metrics
        scored = list(_segment_scores(systems))
        of_segments = table_part(
            ["system", "segment", *headings(metrics)[0]],
            [[system, id, *map(four_digits, scores)] for system, id, scores in scored],
            [
                ["system", "segment", *map(str, metrics)],
                *([system, id, *map(repr, scores)] for system, id, scores in scored),
            ],
            notes,
            left=(0, 1),
        )
        parts.insert(0, of_segments)
    return parts


def _show_alignments(systems: Sequence[System], arguments: argparse.Namespace) -> list[str]:
    """Return the alignments that are asked for, as wide and coloured as the terminal can."""
    if not arguments.show:
        return []
    to_terminal = arguments.output == STANDARD
    return alignments(
        systems,
        every=arguments.show == "all",
        colour=to_terminal and wants_colour(sys.stdout),
        width=shutil.get_terminal_size((110, 24)).columns if to_terminal else 110,
    )


def _segment_scores(systems: Sequence[System]) -> Iterator[tuple[str, str, list[float]]]:
    """Iterate over all systems and segments, with a score for each metric."""
    for system in systems:
        for name, scores in system.segment_scores():
            yield system.name, name, scores


def _system_rows(
    systems: Sequence[System], estimates: Estimates, *, errors: bool
) -> list[list[str]]:
    """Return a header, and rows for people: each system, its segments and scores.

    With ``errors``, the kinds of errors stand beside each error rate.
    """
    metrics = systems[0].metrics
    header = ["system", "segments"]
    for label, metric in zip(headings(metrics)[0], metrics, strict=True):
        header += [label, *(_kinds_of_errors(metric).values() if errors else [])]
    rows = [header]
    for place, system in enumerate(systems):
        row = [system.name, str(len(system.stats))]
        for which, (metric, stats, score) in enumerate(
            zip(metrics, system.totals(), system.scores(), strict=True)
        ):
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


def _tsv_rows(systems: Sequence[System], estimates: Estimates) -> list[list[str]]:
    names = [str(metric) for metric in systems[0].metrics]
    header = ["system", "segments"]
    for name in names:
        header += [name] if estimates is None else [name, f"{name} low", f"{name} high"]
    rows = []
    for place, system in enumerate(systems):
        cells = [system.name, str(len(system.stats))]
        if estimates is None:
            cells += map(repr, system.scores())
        else:
            for one in estimates[place]:
                cells += map(repr, (one.score, one.interval.low, one.interval.high))
        rows.append(cells)
    return [header, *rows]


def _content(
    systems: Sequence[System],
    estimates: Estimates,
    details: Sequence[Details],
    segments: bool,
    resampling: dict[str, Any],
) -> dict[str, Any]:
    names = [str(metric) for metric in systems[0].metrics]
    listed = []
    for place, system in enumerate(systems):
        entry: dict[str, Any] = {
            "system": system.name,
            "segments": len(system.stats),
            "failed": len(system.failures),
            "scores": dict(zip(names, system.scores(), strict=True)),
            "stats": {
                str(metric): dict(zip(metric.stat_names, row.tolist(), strict=True))
                for metric, row in zip(system.metrics, system.totals(), strict=True)
            },
        }
        if estimates is not None:
            entry["intervals"] = {
                name: {
                    "low": one.interval.low,
                    "high": one.interval.high,
                    "standard_error": one.standard_error,
                }
                for name, one in zip(names, estimates[place], strict=True)
            }
        if segments:
            entry["segment_scores"] = [
                {"id": name, "scores": dict(zip(names, scores, strict=True))}
                for name, scores in system.segment_scores()
            ]
        entry.update(details[place].content())
        listed.append(entry)
    content: dict[str, Any] = {}
    if estimates is not None:
        content["resampling"] = {"method": "bootstrap", **resampling}
    return {**content, "systems": listed}
