"""``fstmetrics rescore``: the model's best sentences under other weights."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from decoding.cli.arguments import open_references, parse_metric_options
from decoding.cli.option_table import STANDARD
from decoding.cli.running import (
    explain_unscored,
    scores_table,
    segments_line,
    stamp_of,
    write_results,
)
from decoding.cli.terminal import print_summary
from decoding.cli.writing import transform_and_write

if TYPE_CHECKING:
    from fstmetrics import Metric

SUMMARY = "what the model says under other weights: 1-best, n-best or whole spaces"
DESCRIPTION = """\
Score each lattice, forest or n-best list anew, by its features and the weights of a file (as
fstmetrics train, cdec, Joshua, Travatar or Moses write them), and write

  one line a segment (default), in the order of the input: the best sentence
    tsv    id, score, words
    jsonl  id, score, words, text, features, and with references scores (under every metric)
    text   the words alone; an empty line for a segment that failed
    kaldi  id and words; trn: words (id)
  the K best, with -k K, as n-best lists in any format that holds them
  the spaces themselves with new scores, with --spaces; the entries of a list stay in order

With references, in the input or by --refs, a summary of the corpus goes to standard error: what
was best by the scores in the file, and what is best now, under every metric.
"""
EXAMPLES = """\
examples:
  fstmetrics rescore lattices.jsonl.gz --weights weights.txt -o best.tsv
  fstmetrics rescore lattices.jsonl.gz --weights moses.ini --refs refs.en --metric bleu wer
  fstmetrics rescore forests/ --weights weights.txt -k 100 --unique -o lists.jsonl.gz
  fstmetrics rescore lattices.jsonl.gz --weights weights.txt --spaces -o rescored.jsonl.gz
"""
OPTIONS = """\
@input files SPACES
--weights FILE: required  weight file: lines 'name value' or 'name=value', or a moses.ini
--missing warn|zero|error = warn  features without a weight: warn (they count nothing, which is
    said once, but a segment without any weight fails; default), zero (none fails), error (all fail)
@references
@metrics = grr wer
-k K: whole number  write n-best lists of the K best
--unique  with -k: distinct sentences instead of distinct paths
--spaces  write the spaces with their new scores
@running
@resuming
--format: lines  output format of lines (default: tsv); parquet needs pyarrow
@target
@summary  the summary
"""


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    _check_usage(arguments)
    from lattices.formats.weights import read_weights

    weights = dict(read_weights(arguments.weights))
    if arguments.spaces or arguments.k:
        return _write_spaces(arguments, weights)
    return _write_lines(arguments, weights)


def _check_usage(arguments: argparse.Namespace) -> None:
    """Refuse what does not go together."""
    error = arguments.parser.error
    if arguments.weights == STANDARD and STANDARD in (*arguments.paths, *(arguments.refs or [])):
        error("standard input (-) can be read only once")
    if arguments.spaces and arguments.k:
        error("-k and --spaces exclude one another")
    if arguments.unique and not arguments.k:
        error("--unique goes with -k")
    lines, spaces = (
        ("format", "summary", "resume", "refs", "metric", "normalise"),
        ("to", "write_option"),
    )
    if arguments.k or arguments.spaces:
        wrong = [name for name in lines if getattr(arguments, name)]
        with_what = "lines, not with -k or --spaces"
    else:
        wrong = [name for name in (*spaces, "lossy") if getattr(arguments, name)]
        with_what = "-k or --spaces"
    if wrong:
        error(f"--{wrong[0].replace('_', '-')} goes with {with_what}")


def _write_spaces(arguments: argparse.Namespace, weights: dict[str, float]) -> int:
    """Write n-best lists, or the spaces themselves."""
    from decoding.corpus.transforms import KBest, Rescored

    then = KBest(arguments.k, arguments.unique) if arguments.k else None
    transform = Rescored(weights, arguments.missing, then)
    return transform_and_write(arguments, transform, weights=weights)


def _write_lines(arguments: argparse.Namespace, weights: dict[str, float]) -> int:
    """Write the best sentence of each segment."""
    from decoding.corpus.writers import WRITERS
    from decoding.tasks.rescore import RescoreTask

    metrics = parse_metric_options(arguments)
    arguments.format = arguments.format or "tsv"
    task = RescoreTask(weights, arguments.missing, metrics, open_references(arguments))
    summary = write_results(
        arguments,
        task,
        {"lines": WRITERS.get(arguments.format)},
        stamp=stamp_of(arguments, task),
        done="rescored",
        conclude=lambda totals: {**task.summary(totals), "weights": arguments.weights},
    )
    if not arguments.quiet:
        print_summary(_format_summary(summary, metrics))
    return 1 if summary["failed"] else 0


def _format_summary(summary: dict[str, Any], metrics: Sequence[Metric]) -> str:
    lines = []
    if summary["judged"]:
        columns = {"file": "in the file", "rescored": "rescored"}
        lines.append(scores_table(metrics, summary, columns))
    lines.append(segments_line(summary))
    lines.append(
        f"{summary['seconds']:.2f} s, {summary['segments'] / summary['seconds']:,.0f} segments/s"
    )
    if summary["judged"]:
        lines += explain_unscored(summary, "what is best in the file")
    return "\n".join(lines)
