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
    table_part,
)
from decoding.cli.tables import (
    Report,
    format_interval,
    format_scores,
    headings,
    resampling_note,
    score_headings,
    table,
)
from decoding.cli.terminal import wants_colour
from fstmetrics.alignment.rates import counts_errors, find_wrong, format_rates
from fstmetrics.statistics.breakdown import count_words, grouping

if TYPE_CHECKING:
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
        group_of = grouping(arguments.blocks) if arguments.blocks else None
        estimates = [system.estimates(**resampling, group_of=group_of) for system in systems]
        of = "blocks" if arguments.blocks else "segments"
        notes.append(resampling_note(**resampling, of=of))
    details = details_of(systems, arguments.by, arguments.top)
    header, *rows = _system_rows(systems, estimates)
    notes += [line for system in systems for line in _rates(system)]
    report = Report(
        header,
        rows,
        notes,
        tsv_rows=lambda: _tsv_rows(systems, estimates),
        content=lambda: _content(systems, estimates, details, arguments.segments, resampling),
    )
    parts = detail_tables(details, notes, arguments.sort)
    if arguments.segments:
        parts.insert(0, _segment_table(systems, notes))
    if arguments.format == "table":
        tables = [table(part.header, part.rows, part.left) + "\n" for part in parts]
        above = "".join(text + "\n" for text in [*_show_alignments(systems, arguments), *tables])
        return above.encode("utf-8") + report.write("table")
    if arguments.format != "json" and parts:
        (report,) = parts
    return report.write(arguments.format)


def _segment_table(systems: Sequence[System], notes: Sequence[str]) -> Report:
    """Return the scores of all segments."""
    metrics = systems[0].metrics
    scored = list(_segment_scores(systems))
    return table_part(
        ["system", "segment", *score_headings(metrics)],
        [[system, id, *format_scores(metrics, scores)] for system, id, scores in scored],
        [
            ["system", "segment", *map(str, metrics)],
            *([system, id, *map(repr, scores)] for system, id, scores in scored),
        ],
        notes,
        left=(0, 1),
    )


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


def _system_rows(systems: Sequence[System], estimates: Estimates) -> list[list[str]]:
    """Return a header, and rows for people: each system, its segments, words and scores."""
    metrics = systems[0].metrics
    known = count_words(systems[0]) is not None
    rows = [["system", "segments", *(["words"] if known else []), *score_headings(metrics)]]
    for place, system in enumerate(systems):
        words = [f"{count_words(system):.10g}"] if known else []
        cells = format_scores(metrics, system.scores())
        if estimates is not None:
            cells = [
                f"{cell} {format_interval(metric, one.interval)}"
                for cell, metric, one in zip(cells, metrics, estimates[place], strict=True)
            ]
        rows.append([system.name, str(len(system.stats)), *words, *cells])
    return rows


def _rates(system: System) -> list[str]:
    """Return how many errors a system has under each metric that counts them."""
    lines: dict[str, None] = {}
    for metric, rows in zip(system.metrics, system.matrices(), strict=True):
        if counts_errors(metric):
            wrong = int(find_wrong(metric, rows).sum())
            shown = format_rates(metric, rows.sum(axis=0), len(rows), wrong, system.name)
            lines |= dict.fromkeys(shown)
    return list(lines)


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
