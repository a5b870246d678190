"""``fstmetrics study``: metrics under several orders and option values."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from decoding.cli.arguments import (
    check_inputs,
    check_plot,
    parse_metric_option,
    read_systems,
    resampling_progress,
    write_report,
)
from decoding.cli.option_table import add_options
from decoding.cli.terminal import note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from decoding.cli.tables import Report
    from decoding.plots import Panel
    from fstmetrics.statistics.human import HumanScores

SUMMARY = "study a metric: BLEU in characters, or many values of an option"
DESCRIPTION = """\
Study a metric on real outputs.

  char-bleu  which order of BLEU in characters is like which order in words
  sweep      scores, and their correlation with people, under many values of an option
"""
EXAMPLES = """\
examples:
  fstmetrics study char-bleu newstest2015.*.de-en --refs newstest2015-ref.en --plot orders.svg
  fstmetrics study sweep *.en --refs refs.en --metric tbleu --option epsilon --values 0,0.05,...,1
  fstmetrics study sweep *.en --refs refs.en --metric wer-modif:vectors=glove.txt.gz \\
    --option gamma --values 0,0.1,...,0.9 --human scores.txt --plot gamma.svg
"""
_CHAR_BLEU = """\
Compare BLEU in characters with BLEU in words, segment by segment over all systems.

For each order N in words, the order M in characters that has the highest Pearson correlation, the
one that has the highest kappa over ten grades, and the first for which most segments score at most
as high as with N - 1 words (Denoual and Lepage 2005).
"""
_SWEEP = """\
Score systems under many values of a numeric option of a metric.

With human scores ('system score', as for 'fstmetrics correlate'), the correlation over systems
for each value; it is of quality, so that 1 is best for error rates, too.
"""
_SYSTEMS = """\
@systems HYPS  files of hypotheses, one a system
@reference files required
"""
_CHAR_BLEU_OPTIONS = """\
--metric SPEC = bleu  BLEU with its options but for order and unit, such as bleu:tokenize=13a
--max-n N: whole number = 4  highest order in words
--max-m M: whole number = 20  highest order in characters
--spaces keep|drop = keep  keep or drop the blanks between words
--share X: number = 0.9  share of segments for the last criterion
"""
_SWEEP_OPTIONS = """\
--metric SPEC: required  metric, such as tbleu:tokenize=13a
--option NAME: required  numeric option of the metric, such as epsilon, gamma or similarity.epsilon
--values LIST: values, required  values of the option, such as 0,0.1,0.5 or, in equal steps,
    0,0.05,...,1; write --values=-1,0 if the first is negative
--human FILE  file of human scores of the systems, higher is better
@resampling = 1000
"""
_OUTPUT = """\
@plot  write a plot
@table format
@output
@volume
"""


def add_studies(parser: argparse.ArgumentParser) -> None:
    """Add the studies, each with its options."""
    studies = parser.add_subparsers(dest="study", metavar="STUDY", required=True)
    for name, summary, description, options, run_study in (
        ("char-bleu", "BLEU in characters against BLEU in words", _CHAR_BLEU, _CHAR_BLEU_OPTIONS,
         _run_char_bleu),
        ("sweep", "systems under many values of an option", _SWEEP, _SWEEP_OPTIONS, _run_sweep),
    ):  # fmt: skip
        study = studies.add_parser(
            name,
            help=summary,
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        add_options(study, _SYSTEMS + options + _OUTPUT)
        study.set_defaults(run_study=run_study, study_parser=study)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    arguments.parser = arguments.study_parser
    check_inputs(arguments, "HYPS")
    check_plot(arguments)
    code: int = arguments.run_study(arguments)
    return code


def _run_char_bleu(arguments: argparse.Namespace) -> int:
    import numpy as np

    from decoding.cli.output.study import char_bleu_panels, char_bleu_report
    from fstmetrics import BLEU
    from fstmetrics.statistics.studies import char_bleu_equivalents, char_bleu_metrics
    from fstmetrics.statistics.systems import pair_matrices
    from lattices.errors import OptionError

    base = parse_metric_option(arguments.metric)
    if not isinstance(base, BLEU):
        raise OptionError(f"{base}: the study is of bleu")
    metrics = char_bleu_metrics(
        base, max_n=arguments.max_n, max_m=arguments.max_m, spaces=arguments.spaces == "keep"
    )
    systems, references = read_systems(arguments, metrics, arguments.paths, keep=False)
    matrices = pair_matrices(systems, references)
    rows = [np.concatenate(of_metric) for of_metric in zip(*matrices, strict=True)]
    found = char_bleu_equivalents(metrics, rows, share=arguments.share)
    report = char_bleu_report(found, metrics, len(rows[0]))
    _write(arguments, report, char_bleu_panels(found))
    return 0


def _run_sweep(arguments: argparse.Namespace) -> int:
    from decoding.cli.output.study import sweep_panels, sweep_report
    from fstmetrics.statistics.human import read_human
    from fstmetrics.statistics.studies import replace_option, sweep_over_scores
    from lattices.errors import FormatError

    metric = parse_metric_option(arguments.metric)
    metrics = tuple(replace_option(metric, arguments.option, value) for value in arguments.values)
    said: list[float] | None = None
    paths = list(dict.fromkeys(arguments.paths))
    if arguments.human is not None:
        if arguments.human == "-":
            arguments.parser.error("--human is a file")
        human = read_human(arguments.human, one_system=False)
        if human.by_segment:
            raise FormatError("scores of segments, expected one for each system", human.path)
        files = _score_judged(human, paths)
        paths, said = list(files), list(files.values())
    # many metrics for many segments: too much to keep, and quickly made
    systems, references = read_systems(arguments, metrics, paths, keep=False)
    with resampling_progress(len(metrics) * arguments.samples, arguments) as on_drawn:
        sweep = sweep_over_scores(
            metric,
            arguments.option,
            arguments.values,
            systems,
            references,
            human=said,
            samples=arguments.samples,
            level=arguments.level,
            seed=arguments.seed,
            on_drawn=on_drawn,
        )
    for line in sweep.notes():
        note(line)
    _write(arguments, sweep_report(sweep, arguments), sweep_panels(sweep))
    return 0


def _score_judged(human: HumanScores, paths: Sequence[str]) -> dict[str, float]:
    """Return the score of each file that people judged, and say what is left out."""
    from fstmetrics.statistics.human import match_systems
    from lattices.errors import FormatError

    found = match_systems(human, paths)
    scores = {found[one.system]: one.score for one in human.entries if one.system in found}
    for entry in human.entries:
        if entry.system not in found:
            note(f"{human.path}: {entry.system}: no file of this name; left out")
    for path in paths:
        if path not in scores:
            note(f"{path}: no human score; left out")
    if len(scores) < 3:
        raise FormatError(f"scores of {len(scores)} of the systems, expected 3 or more", human.path)
    return scores


def _write(arguments: argparse.Namespace, report: Report, panels: Sequence[Panel]) -> None:
    """Write the picture, if there is to be one, and the table."""
    from decoding.plots import line_plots

    picture = line_plots(panels, check_plot(arguments)) if arguments.plot else b""
    write_report(arguments, report.write(arguments.format), picture)
