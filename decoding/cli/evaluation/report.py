"""``fstmetrics report``: a page to look into a corpus with, in one file."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from decoding.cli.arguments import (
    make_settler,
    open_references,
    parse_metric_options,
    report_failures,
)
from decoding.cli.option_table import STANDARD
from decoding.cli.running import check_results, corpus_outcomes, take_sentences
from decoding.cli.terminal import note

if TYPE_CHECKING:
    from decoding.corpus.outcomes import Done, Failure
    from decoding.report.segments import SegmentReport
    from fstmetrics import Metric
    from lattices.formats.references import References

SUMMARY = "a page to look into a corpus with: scores, curves, errors, segments"
DESCRIPTION = """\
Write one HTML file that any browser shows without a network: what the model's best, the MBR
decision and the oracle score under every metric, with intervals and significance; the oracle in
longer lists or larger lattices; errors by group and by length; the most frequent errors; how far
confidences can be believed; and all segments, to sort, search and filter. A segment opens with
its alignments, its confusion network, and its lattice around the oracle.

LATTICES are lattices, forests or n-best lists; or JSON lines that 'fstmetrics oracle' and
'fstmetrics mbr' have written, which are not searched again; or what a system said, in any file that
'fstmetrics score' reads. With --against there are two systems side by side.
"""
EXAMPLES = """\
examples:
  fstmetrics report lattices/*.slf.gz --refs refs.txt --metric wer grr -o report.html
  fstmetrics report lattices.jsonl.gz --metric wer bleu --scale 10 --workers 2 -o report.html
  fstmetrics report new.jsonl.gz --against old.jsonl.gz --names new old --refs text -o report.html
  fstmetrics report oracles.jsonl mbr.jsonl --refs refs.txt --metric wer -o report.html
"""
OPTIONS = """\
@inputs LATTICES
--against FILE: several  the same of another system, with the same ids, to be shown beside
--names NAME: several  names of the systems (default: by their files)
--choices FILE  also show the comparison that 'fstmetrics choices --format json' has written
--title TEXT  title of the page
@references
@metrics = wer grr  ; the first one decides by MBR and has the curve
--method NAME: name = auto  method of MBR, as of 'fstmetrics mbr'
--scale S: number = 1  scale of the model scores before they become probabilities
--at K,K,...: counts  sizes of lists in the curve of oracles (default: 1,2,5,10,20,50,100)
--densities D,D,...: densities  densities of lattices in it, in arcs a word (default:
    1,2,5,10,20,50,100,200)
--by GROUP  also break errors down by groups of segments: speaker (the id up to the first - or _), a
    FILE of 'id group', or a regular expression for ids; by length they always are
--top N: whole number = 20  number of frequent substitutions, insertions and deletions
@resampling = 1000
@running
@output
"""


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    if STANDARD in (against := arguments.against or []):
        arguments.parser.error("--against is a file, not standard input")
    inputs = [arguments.paths, *([against] if against else [])]
    if arguments.names and len(arguments.names) != len(inputs):
        arguments.parser.error(f"{len(arguments.names)} --names for {len(inputs)} systems")
    from decoding.cli.tables import headings
    from decoding.minimum_risk import METHODS
    from decoding.report.page import write_page
    from decoding.report.systems import SystemReport
    from fstmetrics.statistics.breakdown import grouping
    from lattices.formats.streams import open_output

    if arguments.method != "auto":
        METHODS.get(arguments.method)
    group_of = grouping(arguments.by) if arguments.by else None
    choices = None
    if arguments.choices:
        from decoding.report.saved_choices import read_choices

        choices = read_choices(arguments.choices)
    metrics = parse_metric_options(arguments)
    systems = []
    for paths, name in zip(inputs, arguments.names or map(_name, inputs), strict=True):
        own = argparse.Namespace(**{**vars(arguments), "paths": paths})
        # where each system has all lines, each uses them up
        references = open_references(own)
        system = SystemReport(name, metrics, group_of)
        with _outcomes(own, metrics, references) as outcomes:
            for outcome in outcomes:
                system.add(outcome)
        check_results(system, references, "searched")
        systems.append(system)
    with open_output(arguments.output) as output:
        for part in write_page(
            systems,
            title=arguments.title or "",
            labels=headings(metrics)[0],
            choices=choices,
            settings=_settings(arguments),
            samples=arguments.samples,
            level=arguments.level,
            seed=arguments.seed,
            top=arguments.top,
        ):
            output.write(part)
    for system in systems:
        report_failures(system.failures)
        note(f"{system.name}: {system.segments} segments, {len(system.failures)} failed")
    return 1 if any(system.failures for system in systems) else 0


@contextmanager
def _outcomes(
    arguments: argparse.Namespace, metrics: tuple[Metric, ...], references: References | None
) -> Iterator[Iterator[Done[SegmentReport] | Failure]]:
    """Search spaces, or take the results that files have."""
    from decoding.report.saved import is_saved, read_outcomes, read_saved
    from decoding.report.segments import DENSITIES, SIZES, ReportTask
    from lattices.errors import OptionError

    saved = [path for path in arguments.paths if os.path.isfile(path) and is_saved(path)]
    if saved and len(saved) < len(arguments.paths):
        other = next(path for path in arguments.paths if path not in saved)
        raise OptionError(f"{saved[0]} has saved results, and {other} has none")
    if saved:
        if references is None:
            raise OptionError(f"{saved[0]} has results without references; give them by --refs")
        found, failures = read_saved(saved)
        references.settle(found)
        yield read_outcomes(found, failures, metrics, references)
        return
    task = ReportTask(
        metrics,
        references,
        method=arguments.method,
        scale=arguments.scale,
        at=tuple(sorted(arguments.at or SIZES)),
        densities=tuple(sorted(arguments.densities or DENSITIES)),
    )
    first = make_settler(references, arguments, required=True)
    with (
        take_sentences(arguments, references),
        corpus_outcomes(task, arguments, first=first) as outcomes,
    ):
        yield outcomes


def _name(paths: Sequence[str]) -> str:
    """Return what a system is called after: its file, or the folder of its files."""
    path = paths[0] if len(paths) == 1 else os.path.commonpath(map(os.path.abspath, paths))
    if path == STANDARD:
        return "standard input"
    name = os.path.basename(os.path.abspath(path))
    from lattices.formats.compression import strip_compression

    return strip_compression(name).removesuffix(".jsonl")


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what the page says about how it was made."""
    found = {"MBR": arguments.method, "scale": f"{arguments.scale:g}"}
    if arguments.normalise:
        found["normalised by"] = arguments.normalise
    if arguments.by:
        found["groups by"] = os.path.basename(arguments.by)
    return found
