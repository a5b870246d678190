"""``fstmetrics score``: scores of hypotheses against references."""

from __future__ import annotations

import argparse

from decoding.cli.arguments import (
    describe_system,
    parse_metric_options,
    report_failures,
    require_references,
    scoring_progress,
    write_report,
)
from decoding.cli.terminal import detail, note, say

SUMMARY = "score hypotheses, or the best of n-best lists, against references"
DESCRIPTION = """\
Score each system's output against references, over the corpus and for each segment.

A system is a file of lines, in the order of the references; or of lines 'id words', of 'words (id)'
(trn) or a ctm, where the references have ids too; or what oracle, mbr, rescore and confusion write
in any format, of which the first rank counts; or of n-best lists or lattices, of which the sentence
with the highest score counts. An empty line is an empty hypothesis.
"""
EXAMPLES = """\
examples:
  fstmetrics score hyps.en --refs refs.en --metric wer grr
  fstmetrics score system-a.txt system-b.txt --refs text --refs-format kaldi --format json
  fstmetrics score *.en --refs refs.en --metric bleu --metric grr --intervals --format latex
  fstmetrics score nbest.gz --refs refs.en --segments --format tsv
  fstmetrics score hyps.txt --refs text --metric wer --by speaker --top 20 --show errors
  fstmetrics score hyps.trn --refs refs.trn --metric wer --pra hyps.pra
"""
OPTIONS = """\
@systems HYPS  files of hypotheses, one a system
@reference files required
@metrics = wer grr bleu
--segments  also write the scores of each segment
--intervals  bootstrap confidence intervals of corpus scores
@resampling = 1000
@blocks
@breakdown
@table format  ; tsv, csv, parquet and latex have one table: systems, --segments, --by or --top
@output
"""


def _check(arguments: argparse.Namespace) -> None:
    """Refuse what a format has no room for."""
    if arguments.show and arguments.format != "table":
        arguments.parser.error(f"--show is for people, not for --format {arguments.format}")
    if arguments.format in ("table", "json"):
        return
    given = [f"--{name}" for name in ("segments", "by", "top") if getattr(arguments, name)]
    if len(given) > 1:
        arguments.parser.error(
            f"--format {arguments.format} has one table; {' and '.join(given)} exclude one another"
        )
    if given and arguments.intervals:
        arguments.parser.error(
            f"--format {arguments.format} has {given[0][2:]} or systems, and only systems have "
            "intervals"
        )


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    _check(arguments)
    from decoding.cli.output.breakdown import write_alignments
    from decoding.cli.output.score import write_scores
    from decoding.corpus.outcomes import Failure, Failures
    from fstmetrics.statistics.systems import Scorer, describe_layout, read_system
    from lattices.errors import FormatError

    references = require_references(arguments)
    several = len(arguments.paths) > 1
    scorer = Scorer(
        parse_metric_options(arguments),
        references,
        arguments.refs_id,
        keep=several,
        sentences=bool(
            arguments.top or arguments.show or arguments.pra or arguments.by == "length"
        ),
    )
    failed = False
    systems = []
    for path in arguments.paths:
        detail(f"reading {path}")
        with scoring_progress(scorer, arguments):
            system = read_system(path, arguments.input_format, scorer)
        report_failures(
            Failures(
                Failure(-1, each.path, each.line, "", each.problem) for each in system.failures
            )
        )
        if not system.stats:
            raise FormatError("no segment could be scored", system.name)
        left = len(references) - len(system.stats) - len(system.failures)
        if left > 0:
            say(f"{system.name}: no hypotheses for {left} of {len(references)} references")
        failed = failed or bool(system.failures) or left > 0
        describe_system(system)
        systems.append(system)
    note(describe_layout(references))
    report = write_scores(systems, arguments)
    write_alignments(arguments, systems)
    write_report(arguments, report)
    return 1 if failed else 0
