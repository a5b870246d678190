"""``fstmetrics tune-mbr``: the parameters of lattice MBR that do best on a development set."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from decoding.cli.arguments import (
    check_plot,
    explain_nothing_done,
    make_settler,
    open_references,
    parse_metric_option,
    report_failures,
    write_report,
)
from decoding.cli.running import corpus_outcomes
from decoding.cli.terminal import print_summary

if TYPE_CHECKING:
    from decoding.minimum_risk.tuning import Grid, LinearGrid, TuningTable
    from fstmetrics import Metric
    from lattices.formats.references import References

SUMMARY = "tune lattice MBR on a development set, for any metric"
DESCRIPTION = """\
Try all combinations of --scale, --p, --r and --T for 'fstmetrics mbr --method linear', and write
what the corpus scores with each, best first, as a tab-separated table: scale, p, r, T, score.

Posteriors are computed once for each scale, so that many values of p and r cost little. T changes
what is chosen only if there is a --word-penalty. The command for the best point, and what the
model's own best sentences score, go to standard error.
"""
EXAMPLES = """\
examples:
  fstmetrics tune-mbr dev.jsonl.gz --metric bleu --scale 5 10 20 --p 0.7 0.8 0.9 --r 0.6 0.7
  fstmetrics tune-mbr dev/*.slf.gz --refs refs.txt --metric wer -o table.tsv --workers 2
  fstmetrics tune-mbr dev.jsonl.gz --metric bleu --plot grid.svg -o table.tsv
"""
OPTIONS = """\
@inputs DEV
@references
--metric SPEC = bleu  metric to tune for
@score style
--scale, --scales SCALE: number, several, as scales  what scores are multiplied by to become
    log-probabilities (default: a grid of common values)
--p P: number, several, as ps  unigram precisions (default: a grid of common values)
--r R: number, several, as rs  ratios between the precisions of one order and the one before
    (default: a grid of common values)
--T T: number, several, as Ts  numbers of unigrams (default: a grid of common values)
--order N: whole number = 4  highest n-gram order
--word-penalty W: number  penalty for each word (default: 0)
--merge sum|max = sum  probability of a sentence: sum over its paths (default), or the max
@plot  draw scores over scales, a curve for each p
@running
@output
"""


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    check_plot(arguments)
    metric = parse_metric_option(arguments.metric)
    grid = _grid(arguments)
    table, code = try_points(arguments, grid, metric, open_references(arguments), _tsv)
    print_summary(_format_summary(table, metric, arguments))
    return code


def try_points(
    arguments: argparse.Namespace,
    grid: Grid,
    metric: Metric,
    references: References | None,
    written: Callable[[TuningTable], str],
) -> tuple[TuningTable, int]:
    """Try all points of a grid in one pass over the corpus, and write the table and its picture.

    Returns the table, and the exit code.
    """
    from decoding.corpus.outcomes import Failure, Failures
    from decoding.minimum_risk.tuning import TuningTask, tuning_table
    from decoding.plots import line_plots, plot

    failures = Failures()
    rows, segments, records = None, 0, 0
    first = make_settler(references, arguments, required=True)
    task = TuningTask(grid, metric, references)
    with corpus_outcomes(task, arguments, first=first) as outcomes:
        for outcome in outcomes:
            records += outcome.position >= 0
            if isinstance(outcome, Failure):
                failures.append(outcome)
            else:
                segments += 1
                rows = outcome.result if rows is None else rows + outcome.result
    if rows is None:
        raise explain_nothing_done(failures, "nothing could be searched")
    report_failures(failures)
    if references is not None:
        references.finish(records)
    table = tuning_table(grid, metric, rows, segments)
    picture = b""
    if arguments.plot:
        picture = line_plots(plot(table).panels, check_plot(arguments))
    write_report(arguments, written(table).encode("utf-8"), picture)
    return table, 1 if failures else 0


def _grid(arguments: argparse.Namespace) -> LinearGrid:
    from decoding.minimum_risk.tuning import LinearGrid

    given = {
        name: tuple(getattr(arguments, name))
        for name in ("scales", "ps", "rs", "Ts")
        if getattr(arguments, name)
    }
    return LinearGrid(
        **given,
        order=arguments.order,
        word_penalty=arguments.word_penalty,
        merge=arguments.merge,
    )


def _tsv(table: TuningTable) -> str:
    lines = [f"scale\tp\tr\tT\t{table.metric}"]
    lines += [
        f"{point.scale!r}\t{point.p!r}\t{point.r!r}\t{point.T!r}\t{point.score!r}"
        for point in table.points
    ]
    return "".join(line + "\n" for line in lines)


def _format_summary(table: TuningTable, metric: Metric, arguments: argparse.Namespace) -> str:
    from decoding.cli.tables import format_score, score_headings

    best = table.best
    options = {"p": best.p, "r": best.r, "T": best.T}
    if arguments.order != 4:
        options["order"] = arguments.order
    if arguments.word_penalty:
        options["word_penalty"] = arguments.word_penalty
    if arguments.merge != "sum":
        options["merge"] = arguments.merge
    given = " ".join(f"--set {name}={value}" for name, value in options.items())
    one_best, top = (format_score(metric, score) for score in (table.one_best, best.score))
    return (
        f"{table.segments} segments, {len(table.points)} points: {score_headings([metric])[0]} "
        f"{one_best} (1-best), {top} (best point)\n"
        f"fstmetrics mbr SPACES --method linear --scale {best.scale} {given}"
    )
