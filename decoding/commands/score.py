"""``fstmetrics score``: hypotheses against references."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from decoding.commands.arguments import (
    add_metrics,
    add_output,
    add_references,
    check_inputs,
    check_outputs,
    opened_references,
    parsed_metrics,
    report_failures,
    say,
    tsv_cell,
)

if TYPE_CHECKING:
    from decoding.corpus import Failure
    from fstmetrics import Metric
    from lattices.arrays import FloatColumn
    from lattices.formats import Format
    from lattices.formats.references import References

SUMMARY = "score hypotheses, or the best of n-best lists, against references"
DESCRIPTION = """\
Score each system's output against references, over the corpus and for each segment.

A system is a file of lines, in the order of the references; or of lines 'id words', where the
references are such lines too; or of n-best lists, of which the entry with the highest score
counts.
"""
EXAMPLES = """\
examples:
  fstmetrics score hyps.en --refs refs.en --metric wer grr
  fstmetrics score system-a.txt system-b.txt --refs text --refs-format kaldi --format json
  fstmetrics score nbest.gz --refs refs.en --segments --format tsv
"""

TEXT = "text"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "paths",
        metavar="HYPS",
        nargs="*",
        help="files of hypotheses, one a system, or - for standard input; put them first",
    )
    parser.add_argument(
        "--input-format",
        metavar="NAME",
        help="text, or a format of n-best lists (default: found by the content)",
    )
    add_references(parser, required=True)
    add_metrics(parser)
    parser.add_argument("--segments", action="store_true", help="scores of each segment, too")
    parser.add_argument(
        "--format",
        choices=("table", "tsv", "json"),
        default="table",
        help="of the output (default: table); tsv has either segments or systems",
    )
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    check_inputs(arguments, "HYPS")
    check_outputs(arguments.output)
    from lattices.errors import FormatError
    from lattices.formats.streams import created

    metrics = parsed_metrics(arguments)
    references = opened_references(arguments)
    if references is None:
        raise FormatError("no references")
    failed = False
    systems = []
    for path in arguments.paths:
        system = _scored(path, arguments.input_format, references, metrics)
        report_failures(system.failures)
        if not system.stats:
            raise FormatError("no segment could be scored", system.name)
        left = len(references) - len(system.stats) - len(system.failures)
        if left > 0:
            say(f"{system.name}: no hypotheses for {left} of {len(references)} references")
        failed = failed or bool(system.failures) or left > 0
        if system.note:
            say(f"{system.name}: {system.note}")
        systems.append(system)
    layouts = {"kaldi": "by id", "plain": "line by line"}
    say(f"references are taken {layouts[references.layout]}")
    write = {"table": _table, "tsv": _tsv, "json": _json}[arguments.format]
    with created(arguments.output) as output:
        output.write(write(systems, metrics, arguments.segments).encode("utf-8"))
    return 1 if failed else 0


@dataclass
class _System:
    """The scores of one system."""

    name: str
    metrics: tuple[Metric, ...]
    note: str = ""
    stats: dict[str, list[FloatColumn]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    def add(self, name: str, words: Any, references: tuple[Any, ...]) -> None:
        """Score one segment."""
        self.stats[name] = [metric.against(references).stats(words) for metric in self.metrics]

    def segment_scores(self) -> Iterator[tuple[str, list[float]]]:
        """Iterate over the segments with their score under each metric."""
        for name, rows in self.stats.items():
            yield name, [m.score(row) for m, row in zip(self.metrics, rows, strict=True)]

    def totals(self) -> list[FloatColumn]:
        """Return the sum of the statistics under each metric."""
        return [sum(rows[1:], start=rows[0]) for rows in zip(*self.stats.values(), strict=True)]

    def scores(self) -> list[float]:
        """Return the corpus score under each metric."""
        return [m.score(row) for m, row in zip(self.metrics, self.totals(), strict=True)]


def _scored(
    path: str, format: str | None, references: References, metrics: tuple[Metric, ...]
) -> _System:
    from lattices.formats.streams import display_name, opened

    system = _System(display_name(path), metrics)
    with opened(path) as (head, stream):
        found = _format(head, format)
        if found is None:
            _score_lines(stream, system, references)
        else:
            system.note = f"the best entry of each {found.name} list is scored"
            _score_lists(found, stream, system, references)
    return system


def _format(head: bytes, name: str | None) -> Format | None:
    """Return the format of n-best lists that a file is in, or None for lines of text."""
    from lattices.formats import FORMATS, formats

    if name == TEXT:
        return None
    if name is not None:
        return FORMATS.get(name)
    lists = [FORMATS.get(info.name) for info in formats() if info.kind in ("nbest", "any")]
    return next((entry for entry in lists if entry.sniff(head)), None)


def _score_lines(stream: BinaryIO, system: _System, references: References) -> None:
    from decoding.corpus import Failure
    from lattices.errors import FormatError
    from lattices.formats.base import Record, split_words, text_lines

    lines = []
    for number, line in text_lines(stream):
        words = split_words(Record(line, system.name, number, number - 1).text())
        lines.append((number, words))
    if _are_by_id(lines, references):
        for number, words in lines:
            if not words:
                continue
            name = words[0]
            if name in system.stats:
                raise FormatError(f"a second line for the id {name!r}", system.name, number)
            try:
                system.add(name, words[1:], references.get(name, number - 1))
            except FormatError as problem:
                system.failures.append(Failure(number - 1, system.name, number, name, str(problem)))
    else:
        references.finish(len(lines))
        for number, words in lines:
            system.add(str(number), words, references.get(_unnamed(number), number - 1))


def _unnamed(number: int) -> str:
    """Return a name for a line without an id; no line begins with it, for it has a blank in it."""
    return f"line {number}"


def _are_by_id(lines: list[tuple[int, list[str]]], references: References) -> bool:
    """Tell whether lines of text begin with ids, and settle the layout of the references.

    Two plain files may begin with the same words; so first words count as ids only if they
    all are different, have a digit in them, and the first one is an id of the references.
    """
    if references.layout == "auto":
        names = [words[0] for _, words in lines if words]
        likely = len(set(names)) == len(names) > 0 and all(
            any(letter.isdigit() for letter in name) for name in names
        )
        references.get(names[0] if likely else _unnamed(1), 0)
    return references.layout == "kaldi"


def _score_lists(format: Format, stream: BinaryIO, system: _System, references: References) -> None:
    from decoding.corpus import Failure
    from decoding.jobs import one_best
    from lattices.errors import Error, FormatError
    from lattices.formats import parse_record
    from lattices.vocabulary import Vocabulary

    position = -1
    for position, record in enumerate(format.records(stream, system.name)):
        name = ""
        try:
            space = parse_record(format, record, Vocabulary())
            name = space.id
            if name in system.stats:
                raise FormatError("a second list with this id")
            system.add(name, one_best(space), references.get(name, position))
        except Error as problem:
            reason = problem.problem if isinstance(problem, FormatError) else str(problem)
            system.failures.append(Failure(position, system.name, record.line, name, reason))
    if position >= 0:
        references.finish(position + 1)


def _table(systems: list[_System], metrics: tuple[Metric, ...], segments: bool) -> str:
    from decoding.report import table

    names = [str(metric) for metric in metrics]
    text = ""
    if segments:
        rows = [
            [system.name, name, *(f"{score:.4f}" for score in scores)]
            for system in systems
            for name, scores in system.segment_scores()
        ]
        text = table(["system", "segment", *names], rows, left=(0, 1)) + "\n\n"
    rows = [
        [system.name, str(len(system.stats)), *(f"{score:.4f}" for score in system.scores())]
        for system in systems
    ]
    return text + table(["system", "segments", *names], rows) + "\n"


def _tsv(systems: list[_System], metrics: tuple[Metric, ...], segments: bool) -> str:
    rows = [["system", "segment" if segments else "segments", *map(str, metrics)]]
    for system in systems:
        if segments:
            for name, scores in system.segment_scores():
                rows.append([system.name, name, *map(repr, scores)])
        else:
            rows.append([system.name, str(len(system.stats)), *map(repr, system.scores())])
    return "".join("\t".join(map(tsv_cell, row)) + "\n" for row in rows)


def _json(systems: list[_System], metrics: tuple[Metric, ...], segments: bool) -> str:
    import decoding

    names = [str(metric) for metric in metrics]
    listed = []
    for system in systems:
        entry: dict[str, Any] = {
            "system": system.name,
            "segments": len(system.stats),
            "failed": len(system.failures),
            "scores": dict(zip(names, system.scores(), strict=True)),
            "stats": {
                str(metric): dict(zip(metric.stat_names, row.tolist(), strict=True))
                for metric, row in zip(metrics, system.totals(), strict=True)
            },
        }
        if segments:
            entry["segment_scores"] = [
                {"id": name, "scores": dict(zip(names, scores, strict=True))}
                for name, scores in system.segment_scores()
            ]
        listed.append(entry)
    document = {"version": decoding.__version__, "systems": listed}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
