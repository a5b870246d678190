"""Saved results: a page from JSON lines that ``oracle`` and ``mbr`` have written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from decoding.corpus.outcomes import Done, Failure
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

#: bytes of a line that is looked at to tell results from spaces; confidences make long lines
_LONGEST = 1 << 22


def is_saved(path: str) -> bool:
    """Tell whether a file begins with a result that was written as a line of JSON."""
    with open_input(path) as (_, stream):
        try:
            first = json.loads(stream.readline(_LONGEST))
        except (ValueError, RecursionError):
            return False
    return isinstance(first, dict) and _kind(first) is not None


def _kind(fields: Mapping[str, Any]) -> str | None:
    # the sentences of a corpus oracle have no rank
    if not {"id", "words"} <= fields.keys():
        return None
    return "mbr" if "expected" in fields else "oracle" if "alignment" in fields else None


@dataclass
class SavedSegment:
    """What is known of a segment from lines of results."""

    #: where its first line is
    path: str
    line: int
    #: the fields of the best result of each kind
    results: dict[str, Mapping[str, Any]] = field(default_factory=dict)


def read_saved(paths: Sequence[str]) -> tuple[dict[str, SavedSegment], list[Failure]]:
    """Return the best results of each segment, by its id, and the lines that are none."""
    found: dict[str, SavedSegment] = {}
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


def _take(found: dict[str, SavedSegment], text: str, name: str, number: int) -> None:
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
    segment = found.setdefault(id, SavedSegment(name, number))
    if kind in segment.results:
        raise FormatError(f"a second {KINDS[kind]} of segment {id!r}", name, number)
    segment.results[kind] = fields


def read_outcomes(
    found: Mapping[str, SavedSegment],
    failures: Sequence[Failure],
    metrics: tuple[Metric, ...],
    references: References,
) -> Iterator[Done[SegmentReport] | Failure]:
    """Iterate over what a page has of segments whose results are known.

    The sentences are score_sentence anew, under all metrics; confidences are those that ``mbr
    --confidences`` has written. There is no 1-best, no curve and no lattice.
    """
    yield from failures
    for position, (id, segment) in enumerate(found.items()):
        try:
            some = references.get(id, position)
            result = _report(segment, metrics, some)
        except Error as problem:
            yield Failure(position, segment.path, segment.line, id, str(problem))
        else:
            yield Done(position, segment.path, segment.line, id, result)


def _report(
    segment: SavedSegment, metrics: tuple[Metric, ...], references: tuple[Any, ...]
) -> SegmentReport:
    oracle = segment.results.get("oracle", {})
    oracle_of = str(oracle.get("metric", ""))
    labels = {**KINDS, "oracle": oracle_label(metrics, {oracle_of})}
    shown = [
        Chosen(kind, labels[kind], tuple(fields["words"]), fields.get("model_score"))
        for kind, fields in sorted(segment.results.items())
    ]
    decision = segment.results.get("mbr", {})
    network, confidences = _confidences(decision.get("confidences") or [])
    extra = {
        "method": decision.get("method"),
        "expected": decision.get("expected"),
        "network": network or None,
    }
    # lines of a corpus oracle do not say whether they are proven
    alone = [metric for metric in metrics if "exact" in oracle and str(metric) == oracle_of]
    return report_of(
        shown,
        {each.kind: score_sentence(each.tokens, metrics, references) for each in shown},
        metrics,
        references,
        extra,
        confidences,
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
