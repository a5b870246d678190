"""``fstmetrics calibrate``: word confidences that mean what they say."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from decoding.cli.arguments import (
    check_plot,
    explain_nothing_done,
    make_settler,
    open_references,
    report_failures,
    write_files,
)
from decoding.cli.option_table import STANDARD
from decoding.cli.running import corpus_outcomes, take_sentences

if TYPE_CHECKING:
    from decoding.minimum_risk.calibration import CalibrationReport

SUMMARY = "calibrate word confidences on a development set; NCE, ECE and reliability"
DESCRIPTION = """\
Fit what makes word confidences true to a development set, and write it as JSON: a scale of the
model scores, the one of the least cross entropy, and a rising, piecewise linear map of the
confidences. 'fstmetrics mbr' and 'fstmetrics confusion' take the file by --calibration.

The table on standard error has the normalised cross entropy of NIST (NCE: 1 is best, 0 is no
better than one confidence for all words) and the expected calibration error (ECE: 0 is best, over
10 bins) before and after. 'Held out' is cross-validated: the segments are divided into --folds
parts, and each is judged by what was fitted to the others.

DEV are search spaces; or a ctm with confidences, which are mapped: there is nothing to scale.
"""
EXAMPLES = """\
examples:
  fstmetrics calibrate dev.nbest.gz --refs dev.txt -o calibration.json --plot reliability.svg
  fstmetrics mbr test.nbest.gz --method edit --metric wer --format jsonl --confidences
      --calibration calibration.json
"""
OPTIONS = """\
@inputs DEV
@references
@normaliser
--scales S: number, several  scales of the model scores to choose from, beside 1 (default: every
    half octave from 1/64 to 64)
--folds K: whole number = 2  number of parts of the cross-validation
@running
@output
@summary  all numbers
@plot  draw reliability diagrams, before and held out
"""


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    if STANDARD in (arguments.plot, arguments.summary):
        arguments.parser.error("--plot and --summary are files")
    if arguments.folds < 2:
        arguments.parser.error("--folds is 1, and what is held out takes two parts or more")
    from decoding.cli.tables import document
    from decoding.corpus.outcomes import Failure, Failures
    from decoding.minimum_risk.calibration import (
        PLAIN_SCALE,
        SCALES,
        CalibrationTask,
        SegmentWords,
        fit_calibration,
    )
    from decoding.plots import line_plots, reliability_panel
    from lattices.registry import check_requirements

    picture_format = check_plot(arguments)
    references = open_references(arguments)
    scales = tuple(dict.fromkeys([*(arguments.scales or SCALES), PLAIN_SCALE]))
    task = CalibrationTask(scales, references, arguments.normalise)
    check_requirements(*task.metrics)
    failures = Failures()
    found: list[SegmentWords] = []
    records = 0
    first = make_settler(references, arguments, required=True)
    with (
        take_sentences(arguments, references) as taken,
        corpus_outcomes(task, arguments, first=first) as outcomes,
    ):
        _check_confidences(taken)
        for outcome in outcomes:
            records += outcome.position >= 0
            if isinstance(outcome, Failure):
                failures.append(outcome)
            else:
                found.append(outcome.result)
    if not found:
        raise explain_nothing_done(failures, "nothing could be judged")
    report_failures(failures)
    if references is not None:
        references.finish(records)
    report = fit_calibration(found, scales, arguments.folds)
    picture = b""
    if arguments.plot:
        kinds = {"before": report.before, "held out": report.mapped}
        panel = reliability_panel(f"Reliability of {report.mapped.words} words", kinds)
        picture = line_plots([panel], picture_format)
    write_files(
        (arguments.plot, picture),
        (arguments.summary, document({**report.to_dict(), "failed": len(failures)}).encode()),
        (arguments.output, report.calibration.to_json().encode()),
    )
    if not arguments.quiet:
        print(_format_summary(report, len(failures)), file=sys.stderr)
    return 1 if failures else 0


def _check_confidences(taken: Mapping[str, str]) -> None:
    """Refuse files of sentences without confidences: each word would have 1."""
    import lattices
    from decoding.minimum_risk.rover import CONFIDENCE
    from lattices.errors import FormatError

    for path, spaces in taken.items():
        if not any(CONFIDENCE in space.feature_names for space in lattices.read(spaces)):
            raise FormatError(
                "sentences without confidences; calibrate takes search spaces, or a ctm that has "
                "confidences",
                path,
            )


def _format_summary(report: CalibrationReport, failed: int) -> str:
    from decoding.cli.tables import percent, table

    rows = []
    for name, quality in (
        ("before (scale 1)", report.before),
        ("scale, held out", report.scaled),
        ("scale and map, held out", report.mapped),
        ("scale and map, as fitted", report.fitted),
    ):
        right = percent(quality.correct / quality.words) if quality.words else "-"
        numbers = [
            "-" if math.isnan(each) else f"{each:.4f}" for each in (quality.nce, quality.ece)
        ]
        rows.append([name, str(quality.words), right, *numbers])
    calibration = report.calibration
    nothing = []
    if math.isnan(report.fitted.nce):
        kind = "right" if report.fitted.correct else "wrong"
        nothing = [f"all words are {kind}: there is nothing that confidences could tell apart"]
    return "\n".join(
        [
            table(["", "words", "right", "NCE", "ECE"], rows),
            *nothing,
            f"scale {calibration.scale:.4g}, a map of {len(calibration.points)} points",
            f"{report.segments} segments in {report.folds} parts, {failed} failed",
        ]
    )
