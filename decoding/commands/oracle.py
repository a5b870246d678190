"""``fstmetrics oracle``: the sentences of lattices that are best under a metric."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from decoding.commands.arguments import (
    add_inputs,
    add_metrics,
    add_output,
    add_references,
    add_workers,
    check_inputs,
    check_outputs,
    finite,
    opened_references,
    parsed_metrics,
    positive,
    report_failures,
    tsv_cell,
)

if TYPE_CHECKING:
    from decoding.corpus import Done, Failure, Segment
    from decoding.jobs import SegmentOracles
    from fstmetrics import Metric
    from lattices.arrays import FloatColumn
    from lattices.formats.references import References

SUMMARY = "the best sentences of lattices and n-best lists under a metric"
DESCRIPTION = """\
Find the sentence of each lattice or n-best list that is best under a metric, exactly.

tsv   (default) one line a segment, in the order of the input: id, score, words. The score is
      that of the first metric, with all digits it takes to read the same number back.
jsonl one object a line: id, rank, score, words, text, metric, scores (under every metric),
      stats, model_score, features, reference (which one), alignment, exact.

A summary of the corpus goes to standard error: what the model's own best would have scored,
and what the oracles score, under every metric.
"""
EXAMPLES = """\
examples:
  fstmetrics oracle lattices.jsonl.gz --metric wer
  fstmetrics oracle lattices/*.slf.gz --refs refs.txt --metric grr wer --summary summary.json
  zcat nbest.gz | fstmetrics oracle - --refs refs.en -k 3 --format jsonl -o oracles.jsonl.gz
"""

#: segments whose ids may show that references are by id
LOOKED_AT = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_inputs(parser, "LATTICES")
    add_references(parser)
    add_metrics(parser, "; the first one searches, the others score what it finds")
    parser.add_argument(
        "--engine",
        metavar="NAME",
        default="auto",
        help="auto, kernel or openfst: who intersects (default: auto, the kernel where it can)",
    )
    parser.add_argument(
        "-k", metavar="K", type=positive, default=1, help="the K best of each segment (default: 1)"
    )
    parser.add_argument("--worst", action="store_true", help="look for the worst instead")
    parser.add_argument(
        "--model-weight",
        metavar="W",
        type=finite,
        default=0.0,
        help="search for metric + W * model score (default: 0)",
    )
    parser.add_argument(
        "--budget",
        metavar="N",
        type=positive,
        help="prefixes a search for the worst may keep before it settles for less than a proof",
    )
    add_workers(parser)
    parser.add_argument(
        "--format", choices=("tsv", "jsonl"), default="tsv", help="of the output (default: tsv)"
    )
    add_output(parser)
    parser.add_argument("--summary", metavar="FILE", help="write the summary as JSON, too")
    parser.add_argument("-q", "--quiet", action="store_true", help="no summary on standard error")


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    check_inputs(arguments, "LATTICES")
    if arguments.summary == arguments.output:
        arguments.parser.error("--summary and -o are the same file")
    check_outputs(arguments.output, arguments.summary)
    from decoding.corpus import run as run_corpus
    from decoding.jobs import OracleJob
    from decoding.oracle import DEFAULT_BUDGET
    from lattices.engines import ENGINES
    from lattices.formats.streams import created

    if arguments.engine != "auto":
        ENGINES.get(arguments.engine)
    metrics = parsed_metrics(arguments)
    references = opened_references(arguments)
    job = OracleJob(
        metrics,
        references,
        k=arguments.k,
        worst=arguments.worst,
        model_weight=arguments.model_weight,
        engine=arguments.engine,
        budget=arguments.budget or DEFAULT_BUDGET,
    )
    lines = _tsv_lines if arguments.format == "tsv" else _json_lines
    totals = _Totals(metrics)
    started = time.perf_counter()
    outcomes = run_corpus(
        job,
        arguments.paths,
        format=arguments.input_format,
        options=dict(arguments.option),
        workers=arguments.workers,
        first=_settle(references),
    )
    with ExitStack() as files:
        output = files.enter_context(created(arguments.output))
        summary_file = (
            files.enter_context(created(arguments.summary)) if arguments.summary else None
        )
        for outcome in outcomes:
            for line in totals.add(outcome, lines):
                output.write(line.encode("utf-8"))
        _check(totals, references)
        summary = totals.summary(time.perf_counter() - started, arguments)
        if summary_file is not None:
            summary_file.write(json.dumps(summary, indent=2, ensure_ascii=False).encode() + b"\n")
    report_failures(totals.failures)
    if not arguments.quiet:
        print(_for_people(summary, references), file=sys.stderr)
    return 1 if totals.failures else 0


def _settle(references: References | None) -> Callable[[Iterator[Segment]], None] | None:
    """Return what settles the layout of the references by the ids of a few segments.

    Worker processes have copies, which must not come to conclusions of their own; and the
    first segment may be one of the few that have no reference.
    """
    if references is None or references.layout != "auto":
        return None

    def settle(segments: Iterator[Segment]) -> None:
        references.settle(segment.id for segment in islice(segments, LOOKED_AT))

    return settle


def _check(totals: _Totals, references: References | None) -> None:
    """Refuse to write results if there are none, or if they may belong to other references."""
    from decoding.jobs import NO_REFERENCES
    from lattices.errors import FormatError, OptionError

    if references is not None and totals.records:
        try:
            references.finish(totals.records)
        except FormatError:
            # a file that could not be read may be what makes the numbers differ
            report_failures(totals.failures)
            raise
    if totals.segments:
        return
    others = [failure for failure in totals.failures if failure.reason != NO_REFERENCES]
    without = len(totals.failures) - len(others)
    if without:
        report_failures(others)
        raise OptionError(
            f"none of the {without} segments has references in the input; give them by --refs FILE"
        )
    report_failures(others[:-1])
    raise FormatError(f"{others[-1]} (nothing could be searched)")


def _tsv_lines(done: Done[SegmentOracles], metrics: tuple[Metric, ...]) -> list[str]:
    name = tsv_cell(done.id)
    return [f"{name}\t{found.score!r}\t{tsv_cell(found.text)}\n" for found in done.result.oracles]


def _json_lines(done: Done[SegmentOracles], metrics: tuple[Metric, ...]) -> list[str]:
    first = metrics[0]
    return [
        json.dumps(
            {
                "id": done.id,
                "rank": rank,
                "score": found.score,
                "words": found.tokens,
                "text": found.text,
                "metric": str(first),
                "scores": {
                    str(metric): metric.score(row)
                    for metric, row in zip(metrics, stats, strict=True)
                },
                "stats": dict(zip(first.stat_names, found.stats.tolist(), strict=True)),
                "model_score": found.hypothesis.score,
                "features": dict(found.hypothesis.features),
                "reference": found.reference,
                "alignment": [
                    [edit.operation, edit.hypothesis, edit.reference] for edit in found.edits
                ],
                "exact": found.exact,
            },
            ensure_ascii=False,
        )
        + "\n"
        for rank, (found, stats) in enumerate(
            zip(done.result.oracles, done.result.stats, strict=True), start=1
        )
    ]


@dataclass
class _Totals:
    """What is summed up over the segments."""

    metrics: tuple[Metric, ...]
    records: int = 0
    segments: int = 0
    results: int = 0
    exact: int = 0
    arcs: int = 0
    engines: set[str] = field(default_factory=set)
    failures: list[Failure] = field(default_factory=list)
    oracle: list[FloatColumn] = field(default_factory=list)
    one_best: list[FloatColumn] = field(default_factory=list)

    def add(self, outcome: Done[SegmentOracles] | Failure, lines: Any) -> list[str]:
        """Count an outcome, and return the lines to write for it."""
        from decoding.corpus import Failure
        from lattices.errors import OptionError

        self.records += outcome.position >= 0
        if isinstance(outcome, Failure):
            self.failures.append(outcome)
            return []
        try:
            written: list[str] = lines(outcome, self.metrics)
        except OptionError as problem:
            self.failures.append(
                Failure(outcome.position, outcome.path, outcome.line, outcome.id, str(problem))
            )
            return []
        result = outcome.result
        self.segments += 1
        self.results += len(result.oracles)
        self.exact += sum(found.exact for found in result.oracles)
        self.arcs += result.arcs
        self.engines.add(result.engine)
        self.oracle = _added(self.oracle, result.stats[0])
        self.one_best = _added(self.one_best, result.one_best_stats)
        return written

    def summary(self, seconds: float, arguments: argparse.Namespace) -> dict[str, Any]:
        """Return the summary as it is written."""
        import decoding

        scores = {
            str(metric): {"oracle": metric.score(oracle), "one_best": metric.score(one_best)}
            for metric, oracle, one_best in zip(
                self.metrics, self.oracle, self.one_best, strict=True
            )
        }
        return {
            "metric": str(self.metrics[0]),
            "segments": self.segments,
            "failed": len(self.failures),
            **scores[str(self.metrics[0])],
            "seconds": seconds,
            "arcs": self.arcs,
            "arcs_per_second": self.arcs / seconds,
            "engine": "+".join(sorted(self.engines)),
            "version": decoding.__version__,
            "k": arguments.k,
            "worst": arguments.worst,
            "model_weight": arguments.model_weight,
            "results": self.results,
            "exact": self.exact,
            "metrics": scores,
            "failures": [
                {"id": failure.id, "place": failure.place, "reason": failure.reason}
                for failure in self.failures
            ],
        }


def _added(total: list[FloatColumn], rows: tuple[FloatColumn, ...]) -> list[FloatColumn]:
    if not total:
        return list(rows)
    return [one + other for one, other in zip(total, rows, strict=True)]


def _for_people(summary: dict[str, Any], references: References | None) -> str:
    from decoding.report import table

    kind = "worst" if summary["worst"] else "oracle"
    scores = [
        [name, f"{both['one_best']:.4f}", f"{both['oracle']:.4f}"]
        for name, both in summary["metrics"].items()
    ]
    by = {"plain": ", references by line", "kaldi": ", references by id"}
    lines = [
        table(["metric", "1-best", kind], scores),
        f"{summary['segments']} segments, {summary['failed']} failed"
        + (by[references.layout] if references is not None else ""),
        f"{summary['arcs']:,} arcs in {summary['seconds']:.2f} s, "
        f"{summary['arcs_per_second']:,.0f} arcs/s, engine {summary['engine']}",
    ]
    unproven = summary["results"] - summary["exact"]
    if unproven:
        lines.append(f"{unproven} of {summary['results']} results are not proven (see --budget)")
    return "\n".join(lines)
