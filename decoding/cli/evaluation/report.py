"""``fstmetrics report``: a page to look into a corpus with, in one file."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from decoding.cli.arguments import (
    make_settler,
    open_calibration,
    open_references,
    parse_metric_options,
    report_failures,
)
from decoding.cli.option_table import STANDARD
from decoding.cli.running import check_results, corpus_outcomes
from decoding.cli.terminal import note

if TYPE_CHECKING:
    from decoding.corpus.outcomes import Done, Failure
    from decoding.report.segments import SegmentReport
    from decoding.report.sentences import Source
    from fstmetrics import Metric
    from lattices.formats.references import References

SUMMARY = "a page to look into a corpus with: systems, curves, errors, every segment"
DESCRIPTION = """\
Write one HTML file that any browser shows without a network: the scores of all systems with
intervals and significance (bootstrap, and NIST's matched pairs for word errors); the oracle in
longer lists or larger lattices; errors by group and by length; the most frequent errors; how far
confidences can be believed; and all segments, aligned in all systems, to sort, search, filter and
save. A segment opens with its alignments, its confusion network, and its lattice where the paths
differ.

SYSTEMS are what 'fstmetrics score' reads, plain text, Kaldi's 'id words', trn, ctm, results of
commands, each file a system; or lattices, forests and n-best lists, which are all of one system,
with the model's best, the MBR decision and the oracle of each segment; or JSON lines that
'fstmetrics oracle' and 'fstmetrics mbr' have written, which are not searched again. Each --against
adds systems.
"""
EXAMPLES = """\
examples:
  fstmetrics report baseline.trn new.trn rover.ctm --refs refs.trn --metric wer -o report.html
  fstmetrics report systems/*.en --refs refs.en --metric bleu wer -o report.html
  fstmetrics report lattices/*.slf.gz --refs refs.txt --metric wer grr --audio wav -o report.html
  fstmetrics report lists.tsv.gz --against rescored.txt --refs text --metric wer -o report.html
  fstmetrics report new.jsonl.gz --against old.jsonl.gz --names new old --refs text -o report.html
  fstmetrics report oracles.jsonl mbr.jsonl --refs refs.txt --metric wer -o report.html
"""
OPTIONS = """\
@inputs SYSTEMS
--against FILE: repeated files  other systems, with the same ids, to be shown beside: files of
    sentences are a system each, search spaces behind one --against are one; may be repeated
--names NAME: several  names of the systems (default: by their files)
--audio WHERE  play segments: a folder of files that are named as segments are (.wav, .flac, .mp3,
    .ogg, .opus, .m4a), found from the page, or a template such as https://host/{id}.wav
--calibration FILE  show what confidences become by the calibration of 'fstmetrics calibrate', too
--choices FILE  also show the comparison that 'fstmetrics choices --format json' has written
--title TEXT  title of the page
@references
@metrics = wer grr  ; the first one decides by MBR and has the curve
--method NAME: name = auto  method of MBR, as of 'fstmetrics mbr'
--scale S: number  scale of the model scores before they become probabilities (default: 1, or that
    of --calibration)
--at K,K,...: counts  sizes of lists in the curve of oracles (default: 1,2,5,10,20,50,100)
--random  lists are samples: the curve is of what to expect among K of them, drawn at random, of the
    oracle (pass@k under the metric exact) and of the MBR decision
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
    if STANDARD in [path for some in arguments.against for path in some]:
        arguments.parser.error("--against is a file, not standard input")
    from decoding.cli.tables import headings
    from decoding.minimum_risk import METHODS
    from decoding.report.audio import check_audio, find_audio
    from decoding.report.page import write_page
    from decoding.report.sentences import divide
    from decoding.report.systems import SystemReport
    from fstmetrics.statistics.breakdown import grouping
    from lattices.formats.streams import open_output

    sources = [
        source
        for paths in (arguments.paths, *arguments.against)
        for source in divide(paths, arguments.input_format)
    ]
    if arguments.names and len(arguments.names) != len(sources):
        arguments.parser.error(f"{len(arguments.names)} --names for {len(sources)} systems")
    if arguments.method != "auto":
        METHODS.get(arguments.method)
    if arguments.audio:
        check_audio(arguments.audio)
    group_of = grouping(arguments.by) if arguments.by else None
    calibration = open_calibration(arguments, calibrated=True)
    choices = None
    if arguments.choices:
        from decoding.report.saved_choices import read_choices

        choices = read_choices(arguments.choices)
    metrics = parse_metric_options(arguments)
    names = arguments.names or _name([source.paths for source in sources])
    systems = []
    for source, name in zip(sources, names, strict=True):
        own = argparse.Namespace(**{**vars(arguments), "paths": source.paths})
        # where each system has all lines, each uses them up
        references = open_references(own)
        system = SystemReport(name, metrics, group_of, calibration)
        with _outcomes(source, own, metrics, references, len(sources) > 1) as outcomes:
            for outcome in outcomes:
                system.add(outcome)
        check_results(system, references, "searched")
        systems.append(system)
    audio = None
    if arguments.audio:
        ids = list(dict.fromkeys(id for system in systems for id in system.ids))
        audio = find_audio(arguments.audio, ids, arguments.output)
    with open_output(arguments.output) as output:
        for part in write_page(
            systems,
            title=arguments.title or "",
            labels=headings(metrics)[0],
            choices=choices,
            audio=audio,
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
    source: Source,
    arguments: argparse.Namespace,
    metrics: tuple[Metric, ...],
    references: References | None,
    matched: bool,
) -> Iterator[Iterator[Done[SegmentReport] | Failure]]:
    """Search spaces, or take the sentences that files have."""
    from decoding.report.segments import DENSITIES, SIZES, ReportTask
    from decoding.report.sentences import read_saved, read_sentences, report_sentences
    from lattices.errors import OptionError

    if source.holds != "spaces":
        if references is None:
            what = "results" if source.holds == "saved" else "sentences"
            raise OptionError(f"{source.paths[0]} has {what} without references; give --refs FILE")
        if source.holds == "saved":
            found, failures = read_saved(source.paths)
            references.settle(found)
        else:
            (path,) = source.paths
            found, failures = read_sentences(
                path, arguments.input_format, references, arguments.refs_id
            )
        yield report_sentences(found, failures, metrics, references, matched=matched)
        return
    task = ReportTask(
        metrics,
        references,
        method=arguments.method,
        scale=arguments.scale,
        at=tuple(sorted(arguments.at or SIZES)),
        densities=tuple(sorted(arguments.densities or DENSITIES)),
        random=arguments.random,
        matched=matched,
    )
    first = make_settler(references, arguments, required=True)
    with corpus_outcomes(task, arguments, first=first) as outcomes:
        yield outcomes


def _name(systems: Sequence[Sequence[str]]) -> list[str]:
    """Return what systems are called after: their files, or the folders of their files."""
    names = []
    for paths in systems:
        path = paths[0] if len(paths) == 1 else os.path.commonpath(map(os.path.abspath, paths))
        name = os.path.basename(os.path.abspath(path))
        if path == STANDARD:
            names.append("standard input")
            continue
        from lattices.formats.compression import strip_compression

        names.append(strip_compression(name).removesuffix(".jsonl"))
    return _shorten(names) if len(names) > 1 else names


def _shorten(names: list[str]) -> list[str]:
    """Leave out what all names begin or end with, up to a dot, and number those that are alike."""
    parts = [name.split(".") for name in names]
    least = min(map(len, parts)) - 1
    before = next((at for at in range(least) if len({each[at] for each in parts}) > 1), least)
    least -= before
    after = next((at for at in range(least) if len({each[-1 - at] for each in parts}) > 1), least)
    short = [".".join(each[before : len(each) - after]) for each in parts]
    if len(set(short)) == len(short):
        return short
    return [f"{name} ({number})" for number, name in enumerate(names, 1)]


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what the page says about how it was made."""
    found = {"MBR": arguments.method, "scale": f"{arguments.scale:g}"}
    if arguments.normalise:
        found["normalised by"] = arguments.normalise
    if arguments.by:
        found["groups by"] = os.path.basename(arguments.by)
    return found
