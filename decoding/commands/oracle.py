"""``fstmetrics oracle``: the sentences of lattices and forests that are best under a metric."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from decoding.commands.arguments import (
    add_inputs,
    add_metrics,
    add_output,
    add_references,
    check_inputs,
    check_outputs,
    finite,
    opened_references,
    parsed_metrics,
    positive,
    report_failures,
    settling,
)
from decoding.commands.running import (
    add_resuming,
    add_running,
    check_running,
    corpus_outcomes,
    file_stamps,
    resumable_output,
)

if TYPE_CHECKING:
    from decoding.commands.oracle_output import Totals
    from lattices.formats.references import References

SUMMARY = "the best sentences of lattices, forests and n-best lists under a metric"
DESCRIPTION = """\
Find the sentence of each lattice, forest or n-best list that is best under a metric, exactly.
For huge forests and long references there are --beam and --band; the output then says for
every segment whether the answer is still proven to be the best.

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
  fstmetrics oracle forests.jsonl.gz --metric grr --beam 0.1 --band 20
  zcat nbest.gz | fstmetrics oracle - --refs refs.en -k 3 --format jsonl -o oracles.jsonl.gz
"""


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
    parser.add_argument(
        "--beam",
        metavar="X",
        type=_not_negative,
        help="of forests: drop what promises less than the best of its node by more than X, in "
        "units of the metric (default: keep everything)",
    )
    parser.add_argument(
        "--band",
        metavar="N",
        type=_places,
        help="of forests: drop what is more than N reference words outside of the range in which "
        "its node can stand (default: keep everything)",
    )
    add_running(parser)
    add_resuming(parser)
    parser.add_argument(
        "--format", choices=("tsv", "jsonl"), default="tsv", help="of the output (default: tsv)"
    )
    add_output(parser)
    parser.add_argument("--summary", metavar="FILE", help="write the summary as JSON, too")


def _not_negative(text: str) -> float:
    number = finite(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is less than 0")
    return number


def _places(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    check_inputs(arguments, "LATTICES")
    check_running(arguments)
    if arguments.summary == arguments.output:
        arguments.parser.error("--summary and -o are the same file")
    check_outputs(arguments.output, arguments.summary)
    from decoding.commands.oracle_output import OracleLines, Totals
    from decoding.oracle import DEFAULT_BUDGET
    from lattices.engines import ENGINES
    from lattices.formats.streams import created

    if arguments.engine != "auto":
        ENGINES.get(arguments.engine)
    metrics = parsed_metrics(arguments)
    references = opened_references(arguments)
    search: dict[str, Any] = {
        "k": arguments.k,
        "worst": arguments.worst,
        "model_weight": arguments.model_weight,
        "engine": arguments.engine,
        "budget": arguments.budget or DEFAULT_BUDGET,
    }
    # only those given: a run without them resumes what a version without them began
    for name in ("beam", "band"):
        if getattr(arguments, name) is not None:
            search[name] = getattr(arguments, name)
    job = OracleLines(metrics, references, arguments.format, search)
    totals = Totals(metrics)
    with ExitStack() as stack:
        summary_file = (
            stack.enter_context(created(arguments.summary)) if arguments.summary else None
        )
        task = _task(arguments, [str(metric) for metric in metrics], search)
        journal = stack.enter_context(resumable_output(arguments, task))
        totals.restore(journal.states)
        outcomes = stack.enter_context(
            corpus_outcomes(job, arguments, first=settling(references), earlier=journal.earlier)
        )
        for outcome in outcomes:
            journal.write(outcome, totals.add(outcome))
            if journal.is_due:
                journal.enter(totals.state())
        _check(totals, references)
        summary = totals.summary()
        summary |= {name: search[name] for name in ("k", "worst", "model_weight")}
        if summary_file is not None:
            summary_file.write(json.dumps(summary, indent=2, ensure_ascii=False).encode() + b"\n")
    report_failures(totals.failures)
    if not arguments.quiet:
        print(_for_people(summary, references), file=sys.stderr)
    return 1 if totals.failures else 0


def _task(
    arguments: argparse.Namespace, metrics: list[str], search: dict[str, Any]
) -> dict[str, Any]:
    """Return all that the output depends on: a run is resumed by one that has the same."""
    import decoding

    return {
        "version": decoding.__version__,
        "input": file_stamps(arguments.paths),
        "input format": arguments.input_format,
        "options": sorted(map(list, arguments.option)),
        "references": file_stamps(arguments.refs or []),
        "reference format": arguments.refs_format,
        "reference ids": arguments.refs_id,
        "metrics": metrics,
        "format": arguments.format,
        **search,
    }


def _check(totals: Totals, references: References | None) -> None:
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
        lines.append(
            f"{unproven} of {summary['results']} results are not proven "
            "(see --budget, and for forests --beam and --band)"
        )
    return "\n".join(lines)
