"""``fstmetrics correlate``: correlation of metrics with human scores."""

from __future__ import annotations

import argparse

from decoding.cli.arguments import (
    check_plot,
    open_human,
    parse_metric_options,
    read_systems,
    resampling_progress,
    write_report,
)
from decoding.cli.terminal import note

SUMMARY = "correlate metrics with human scores of systems or of segments"
DESCRIPTION = """\
Correlate the scores of metrics with those that people gave, over systems or over segments.

The file of human scores decides which: 'system score' (WMT's files of system scores will do), or
'system id score', or with one system 'id score'; ids of plain lines are their numbers, from 1.
A system may be named by its file, or by a part of the file's name between dots. WMT's csv of ranks
(2010 to 2016) is a judgement of each pair of outputs that a judge has seen.

Coefficients are of quality: error rates are negated, so that 1 is best for every metric.
"""
EXAMPLES = """\
examples:
  fstmetrics correlate newstest2015.*.de-en --refs newstest2015-ref.en --human wmt15.deu-eng.txt
  fstmetrics correlate *.en --refs refs.en --human scores.tsv --metric wer grr --plot scores.svg
  fstmetrics correlate newstest2014.*.de-en --refs newstest2014-ref.en --human judgments.csv
  fstmetrics correlate system.en --refs refs.en --human segments.tsv --format json
"""
OPTIONS = """\
@systems HYPS  files of hypotheses, one a system
@reference files required
@human required
@metrics = grr
--resample systems|segments = systems  what is resampled for intervals of system-level correlations:
    systems (default) or segments; segment-level intervals always resample segments
@resampling = 1000
@plot  write a plot
@table format
@output
"""


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    from decoding.cli.output.correlate import pictures, report_of
    from decoding.plots import scatter_plots
    from fstmetrics.statistics.correlation import METHODS, VARIANTS
    from fstmetrics.statistics.human import correlate_human

    picture_format = check_plot(arguments)
    metrics = parse_metric_options(arguments)
    human, files = open_human(arguments, arguments.paths)
    if arguments.plot and human.preferences and human.by_segment:
        arguments.parser.error("--plot draws scores, and ranks of pairs are none")
    systems, references = read_systems(arguments, metrics, list(files.values()))
    # an accuracy over pairs of systems; of their outputs a tau, too
    pairwise = 1 if not human.by_segment else 2 if len(systems) > 1 else 0
    coefficients = len(VARIANTS if human.preferences and human.by_segment else METHODS) + pairwise
    total = len(metrics) * coefficients * arguments.samples
    with resampling_progress(total, arguments) as on_drawn:
        found = correlate_human(
            human,
            dict(zip(files, systems, strict=True)),
            references,
            resample=arguments.resample,
            samples=arguments.samples,
            level=arguments.level,
            seed=arguments.seed,
            on_drawn=on_drawn,
        )
    for line in found.notes():
        note(line)
    text = report_of(found, arguments).write(arguments.format)
    picture = scatter_plots(pictures(found), picture_format) if arguments.plot else b""
    write_report(arguments, text, picture)
    return 0
