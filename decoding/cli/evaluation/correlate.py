"""``fstmetrics correlate``: correlation of metrics with human scores."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from decoding.cli.arguments import (
    check_inputs,
    check_plot,
    parse_metric_options,
    read_systems,
    resampling_progress,
    write_report,
)
from decoding.cli.terminal import note

if TYPE_CHECKING:
    from fstmetrics.statistics.human import HumanScores

SUMMARY = "correlate metrics with human scores of systems or of segments"
DESCRIPTION = """\
Correlate the scores of metrics with those that people gave, over systems or over segments.

The file of human scores decides which: 'system score' (WMT's files of system scores will do), or
'system id score', or with one system 'id score'; ids of plain lines are their numbers, from 1.
A system may be named by its file, or by a part of the file's name between dots.

Coefficients are of quality: error rates are negated, so that 1 is best for every metric.
"""
EXAMPLES = """\
examples:
  fstmetrics correlate newstest2015.*.de-en --refs newstest2015-ref.en --human wmt15.deu-eng.txt
  fstmetrics correlate *.en --refs refs.en --human scores.tsv --metric wer grr --plot scores.svg
  fstmetrics correlate system.en --refs refs.en --human segments.tsv --format json
"""
OPTIONS = """\
@systems HYPS  files of hypotheses, one a system
@reference files required
--human FILE: required  file of human scores, higher is better, in columns separated by tabs or
    blanks
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
    check_inputs(arguments, "HYPS")
    if "-" in (arguments.human, arguments.plot):
        arguments.parser.error("--human and --plot are files")
    from decoding.cli.output.correlate import pictures, report_of
    from decoding.plots import scatter_plots
    from fstmetrics.statistics.correlation import METHODS
    from fstmetrics.statistics.human import correlate_human, read_human

    picture_format = check_plot(arguments)
    metrics = parse_metric_options(arguments)
    human = read_human(arguments.human, one_system=len(arguments.paths) == 1)
    files = _match(human, arguments.paths)
    systems, references = read_systems(arguments, metrics, list(files.values()))
    # an accuracy over pairs of systems; of their outputs a tau, too
    pairwise = 1 if not human.by_segment else 2 if len(systems) > 1 else 0
    coefficients = len(METHODS) + pairwise
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


def _match(human: HumanScores, paths: list[str]) -> dict[str, str]:
    """Return the file of each system that people judged, and say what is left out."""
    from fstmetrics.statistics.human import match_systems
    from lattices.errors import FormatError

    if not human.entries[0].system:
        return {"": paths[0]}
    if human.by_segment and len(paths) == 1:
        # whatever people call it
        names = {entry.system for entry in human.entries}
        if len(names) == 1:
            return {names.pop(): paths[0]}
    found = match_systems(human, paths)
    judged = dict.fromkeys(entry.system for entry in human.entries)
    if not found:
        raise FormatError(
            f"none of the systems is among the files, such as {next(iter(judged))!r}", human.path
        )
    for name in judged:
        if name not in found:
            note(f"{human.path}: {name}: no file of this name; left out")
    for path in paths:
        if path not in found.values():
            note(f"{path}: no human score; left out")
    fewest = 1 if human.by_segment else 3
    if len(found) < fewest:
        raise FormatError(
            f"scores of {len(found)} of the systems, expected {fewest} or more", human.path
        )
    return found
