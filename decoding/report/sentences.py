"""Sentences that were chosen before: outputs of systems, and results of ``oracle`` and ``mbr``."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from decoding.corpus.outcomes import Done, Failure
from decoding.corpus.transcripts import is_transcript, read_timed
from decoding.report.segments import (
    KINDS,
    Chosen,
    SegmentReport,
    oracle_label,
    report_of,
    score_sentence,
)
from fstmetrics import Metric
from fstmetrics.contract import decomposes
from lattices.errors import Error, FormatError
from lattices.formats.base import decode_lines
from lattices.formats.references import References
from lattices.formats.streams import display_name, open_input
from lattices.formats.system_outputs import read_output

#: bytes of a line that is looked at to tell results from spaces; confidences make long lines
_LONGEST = 1 << 22


def saved_kind(path: str) -> str | None:
    """Return the kind of result in the first line of a file, None if it has none."""
    with open_input(path) as (_, stream):
        try:
            first = json.loads(stream.readline(_LONGEST))
        except (ValueError, RecursionError):
            return None
    return _kind(first) if isinstance(first, dict) else None


def divide(paths: Sequence[str], format: str | None) -> list[Source]:
    """Return the systems that files have, in the order of the first file of each.

    Each output is a system of its own. Results of ``oracle`` and of ``mbr`` are of one system,
    until one comes a second time. Search spaces, one or several in a file, are of one.
    """
    found: list[Source] = []
    spaces: Source | None = None
    kinds: set[str | None] = set()
    for path in paths:
        kind = saved_kind(path) if os.path.isfile(path) and format is None else None
        if kind is not None:
            if not kinds or kind in kinds:
                found.append(Source([], "saved"))
                kinds = set()
            kinds.add(kind)
            next(each for each in reversed(found) if each.holds == "saved").paths.append(path)
        elif is_transcript(path, format):
            found.append(Source([path], "sentences"))
        elif spaces is None:
            spaces = Source([path], "spaces")
            found.append(spaces)
        else:
            spaces.paths.append(path)
    return found


def _kind(fields: Mapping[str, Any]) -> str | None:
    # the sentences of a corpus oracle have no rank
    if not {"id", "words"} <= fields.keys():
        return None
    return "mbr" if "expected" in fields else "oracle" if "alignment" in fields else None


@dataclass(frozen=True)
class Source:
    """The files of a system, and what they hold: ``spaces``, ``saved`` results or ``sentences``."""

    paths: list[str]
    holds: str


@dataclass
class ChosenBefore:
    """What is known of a segment from lines of results, or from the output of a system."""

    #: where its first line is
    path: str
    line: int
    #: the fields of the best result of each kind; an output is one, of the kind ``one_best``
    results: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    #: which segment of the input it is, from 0
    position: int = 0


def read_saved(paths: Sequence[str]) -> tuple[dict[str, ChosenBefore], list[Failure]]:
    """Return the best results of each segment, by its id, and the lines that are none."""
    found: dict[str, ChosenBefore] = {}
    failures = []
    for path in paths:
        name = display_name(path)
        with open_input(path) as (_, stream):
            for number, text in decode_lines(stream, name):
                try:
                    _take(found, text, name, number)
                except FormatError as problem:
                    failures.append(Failure(-1, name, number, "", problem.problem))
    return found, failures


def read_sentences(
    path: str, format: str | None, references: References, id_template: str | None = None
) -> tuple[dict[str, ChosenBefore], list[Failure]]:
    """Return what a system said of each segment, by its id, and what could not be read.

    The words of a ctm have their times and, if all of a segment have one, their confidences.
    """
    output = read_output(path, format, references, id_template)
    timed = read_timed(path, output, id_template)
    found: dict[str, ChosenBefore] = {}
    for id, words, line, position in output.said:
        spoken = timed.get(id, [])
        fields = {
            "words": words,
            "times": [(round(each.begin, 3), round(each.end, 3)) for each in spoken],
            "sure": [each.confidence for each in spoken],
        }
        found[id] = ChosenBefore(output.path, line, {"one_best": fields}, position)
    failures = [
        Failure(len(found) + place, output.path, line, id, str(problem))
        for place, (id, line, problem) in enumerate(output.failures)
    ]
    return found, failures


def _take(found: dict[str, ChosenBefore], text: str, name: str, number: int) -> None:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise FormatError(f"no JSON: {problem}", name, number) from None
    kind = _kind(fields) if isinstance(fields, dict) else None
    words, id = (fields["words"], fields["id"]) if kind else (None, None)
    if (
        kind is None
        or not isinstance(id, str)
        or not isinstance(words, list)
        or not all(isinstance(word, str) for word in words)
    ):
        raise FormatError("no result that oracle or mbr writes as JSON lines", name, number)
    if fields.get("rank", 1) != 1:
        return
    segment = found.setdefault(id, ChosenBefore(name, number, position=len(found)))
    if kind in segment.results:
        raise FormatError(f"a second {KINDS[kind]} of segment {id!r}", name, number)
    segment.results[kind] = fields


def report_sentences(
    found: Mapping[str, ChosenBefore],
    failures: Sequence[Failure],
    metrics: tuple[Metric, ...],
    references: References,
    *,
    matched: bool = False,
) -> Iterator[Done[SegmentReport] | Failure]:
    """Iterate over what a page has of segments whose sentences are known.

    Sentences are scored anew, under all metrics. There is no curve and no lattice. ``matched`` is
    as of :class:`~decoding.report.segments.ReportTask`.
    """
    yield from failures
    for id, segment in found.items():
        where = segment.position, segment.path, segment.line, id
        try:
            some = references.get(id, segment.position)
            result = _report(segment, metrics, some, matched)
        except Error as problem:
            yield Failure(*where, str(problem))
        else:
            yield Done(*where, result)


def _report(
    segment: ChosenBefore,
    metrics: tuple[Metric, ...],
    references: tuple[Any, ...],
    matched: bool,
) -> SegmentReport:
    oracle = segment.results.get("oracle", {})
    oracle_of = str(oracle.get("metric", ""))
    labels = {**KINDS, "oracle": oracle_label(metrics, {oracle_of})}
    decision = segment.results.get("mbr", {})
    said = segment.results.get("one_best", {})
    network, confidences = _confidences(decision.get("confidences") or [])
    times = {
        "mbr": [(begin, end) for word, begin, end, _ in network if word and begin is not None],
        "one_best": said.get("times", []),
    }
    shown = [
        Chosen(
            kind,
            labels[kind],
            tuple(fields["words"]),
            fields.get("model_score"),
            tuple(times.get(kind, ())),
        )
        for kind, fields in sorted(segment.results.items())
    ]
    extra = {
        "method": decision.get("method"),
        "expected": decision.get("expected"),
        "network": network or None,
    }
    if said and None not in said["sure"]:
        confidences = said["sure"]
    # lines of a corpus oracle do not say whether they are proven
    alone = [metric for metric in metrics if "exact" in oracle and str(metric) == oracle_of]
    return report_of(
        shown,
        {each.kind: score_sentence(each.tokens, metrics, references) for each in shown},
        metrics,
        references,
        extra if decision else {},
        confidences,
        matched=matched,
    )._replace(
        exact=bool(oracle.get("exact", True)),
        decomposes=all(decomposes(metric.against(references)) for metric in alone),
        oracle_of=oracle_of,
    )


def _confidences(rows: Any) -> tuple[list[list[Any]], list[float]]:
    """Return the bins and the confidences of a decision."""
    bins, confidences = [], []
    try:
        for row in rows:
            own = [row["word"], float(row["confidence"])]
            others = [[str(word), float(mass)] for word, mass in row["alternatives"]]
            ranked = sorted([own, *others], key=lambda pair: -pair[1])
            bins.append([own[0], row["begin"], row["end"], ranked])
            if not 0.0 <= own[1] <= 1.0:
                raise ValueError(own[1])
            confidences.append(own[1])
    except (KeyError, TypeError, ValueError):
        raise FormatError("confidences that mbr does not write") from None
    return bins, confidences
