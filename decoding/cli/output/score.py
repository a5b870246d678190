"""Scores of systems: the tables of ``fstmetrics score``."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from decoding.cli.arguments import STANDARD
from decoding.cli.tables import (
    Report,
    headings,
    legend,
    resampling_note,
    side_by_side,
    table,
    wants_colour,
)
from fstmetrics.statistics.breakdown import (
    LENGTH,
    ErrorCount,
    GroupScores,
    frequent_errors,
    grouping,
    length_group,
    scores_by_group,
)
from lattices.errors import OptionError

if TYPE_CHECKING:
    from fstmetrics import Metric
    from fstmetrics.alignment.family import Edit
    from fstmetrics.statistics import Estimate
    from fstmetrics.statistics.systems import System

#: with intervals, one for each system and metric
Estimates = Sequence[Sequence["Estimate"]] | None


def written(systems: Sequence[System], arguments: argparse.Namespace) -> bytes:
    """Return the scores of systems in the format that is asked for.

    Tables for people stand one below the other, the systems last; other tables are alone.
    """
    _, notes = headings(systems[0].metrics)
    resampling = {name: getattr(arguments, name) for name in ("samples", "seed", "level")}
    estimates = None
    if arguments.intervals:
        estimates = [system.estimates(**resampling) for system in systems]
        notes.append(resampling_note(**resampling))
    details = [_details(system, arguments) for system in systems]
    header, *rows = _system_rows(systems, estimates, errors=arguments.format == "table")
    report = Report(
        header,
        rows,
        notes,
        tsv_rows=lambda: _tsv_rows(systems, estimates),
        content=lambda: _content(systems, estimates, details, arguments.segments, resampling),
    )
    parts = _parts(systems, details, arguments, notes)
    if arguments.format == "table":
        shown = _alignments(systems, arguments) if arguments.show else []
        tables = [table(part.header, part.rows, part.left) + "\n" for part in parts]
        above = "".join(text + "\n" for text in [*shown, *tables])
        return above.encode("utf-8") + report.written("table")
    if arguments.format != "json" and parts:
        (report,) = parts
    return report.written(arguments.format)


class _Details(NamedTuple):
    """What is known of a system beyond its scores, if it is asked for."""

    groups: list[GroupScores] | None
    errors: list[ErrorCount] | None


def _details(system: System, arguments: argparse.Namespace) -> _Details:
    groups = errors = None
    if arguments.by == LENGTH:
        groups = scores_by_group(system, lambda id: length_group(_length(system, id)))
    elif arguments.by:
        groups = scores_by_group(system, grouping(arguments.by))
    if arguments.top:
        aligned = ((id, found.edits) for id, found in system.judgements())
        errors = frequent_errors(aligned, arguments.top)
    return _Details(groups, errors)


def _length(system: System, id: str) -> int:
    """Return the words of the first reference of a segment."""
    reference = system.sentences[id].references[0]
    if not isinstance(reference, str):
        raise OptionError(f"--by length: the reference of segment {id!r} has alternatives")
    return len(reference.split())


def _parts(
    systems: Sequence[System],
    details: Sequence[_Details],
    arguments: argparse.Namespace,
    notes: Sequence[str],
) -> list[Report]:
    """Return the tables of segments, groups and errors that are asked for."""
    metrics = systems[0].metrics
    labels, names = headings(metrics)[0], [str(metric) for metric in metrics]
    # one system needs no column for its name, for people
    named = 1 if len(systems) == 1 else 0
    parts = []
    if arguments.segments:
        scored = list(_segment_scores(systems))
        parts.append(
            _part(
                ["system", "segment", *labels],
                [[system, id, *map(_four, scores)] for system, id, scores in scored],
                [
                    ["system", "segment", *names],
                    *([system, id, *map(repr, scores)] for system, id, scores in scored),
                ],
                notes,
                left=(0, 1),
            )
        )
    if arguments.by:
        groups = [
            ([system.name, group.group, str(group.segments)], group.scores)
            for system, found in zip(systems, details, strict=True)
            for group in found.groups or ()
        ]
        header = ["system", "group", "segments"]
        parts.append(
            _part(
                [*header[named:], *labels],
                [[*cells[named:], *map(_four, scores)] for cells, scores in groups],
                [[*header, *names], *([*cells, *map(repr, scores)] for cells, scores in groups)],
                notes,
                left=(0, 1 - named),
            )
        )
    if arguments.top:
        errors = [
            [system.name, error.operation, str(error.times), error.reference, error.hypothesis,
             " ".join(error.segments)]
            for system, found in zip(systems, details, strict=True)
            for error in found.errors or ()
        ]  # fmt: skip
        header = ["system", "error", "times", "reference", "hypothesis", "segments"]
        left = [column - named for column in (0, 1, 3, 4, 5)]
        shown = [row[named:] for row in errors]
        parts.append(_part(header[named:], shown, [header, *errors], (), left))
    return parts


def _part(
    header: list[str],
    rows: list[list[str]],
    for_programs: list[list[str]],
    notes: Sequence[str],
    left: Sequence[int],
) -> Report:
    return Report(header, rows, notes, lambda: for_programs, dict, left)


def _four(score: float) -> str:
    return f"{score:.4f}"


def _alignments(systems: Sequence[System], arguments: argparse.Namespace) -> list[str]:
    """Return the sentences of all systems below their references, word below word."""
    to_terminal = arguments.output == STANDARD
    colour = to_terminal and wants_colour(sys.stdout)
    width = shutil.get_terminal_size((110, 24)).columns if to_terminal else 110
    # systems may be closest to different references
    blocks: dict[str, dict[tuple[str, ...], list[tuple[str, Sequence[Edit]]]]] = {}
    for system in systems:
        label = "" if len(systems) == 1 else system.name
        for id, found in system.judgements():
            words = tuple(each.reference for each in found.edits if each.operation != "insertion")
            blocks.setdefault(id, {}).setdefault(words, []).append((label, found.edits))
    texts = []
    for id, by_reference in blocks.items():
        for words, alignments in by_reference.items():
            is_wrong = any(each.operation != "match" for _, edits in alignments for each in edits)
            if is_wrong or arguments.show == "all":
                lines = side_by_side(words, alignments, label=id, width=width, colour=colour)
                texts.append("".join(line + "\n" for line in lines))
    return [*texts, legend(colour) + "\n"] if texts else []


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
    details: Sequence[_Details],
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
        if (groups := details[place].groups) is not None:
            entry["groups"] = [
                {
                    "group": each.group,
                    "segments": each.segments,
                    "scores": dict(zip(names, each.scores, strict=True)),
                }
                for each in groups
            ]
        if (errors := details[place].errors) is not None:
            entry["errors"] = [each.to_dict() for each in errors]
        listed.append(entry)
    content: dict[str, Any] = {}
    if estimates is not None:
        content["resampling"] = {"method": "bootstrap", **resampling}
    return {**content, "systems": listed}
