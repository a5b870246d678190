"""``fstmetrics compare``: systems against a baseline, with tests of significance."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from decoding.cli.arguments import (
    parse_metric_options,
    read_systems,
    resampling_progress,
    write_report,
)

if TYPE_CHECKING:
    from decoding.cli.tables import Report
    from fstmetrics.statistics.systems import System, SystemComparison

#: how often the library's tests draw that do, unless told otherwise
DRAWS = {"bootstrap": 1000, "randomization": 10_000}
MAPSSWE = "mapsswe"

SUMMARY = "compare systems with a baseline: effects, intervals, p-values"
DESCRIPTION = """\
Compare each system with a baseline over the same segments, under each metric.

Files are as for 'fstmetrics score', but every reference must have a hypothesis. An effect is the
score of the system minus that of the baseline; of an error rate, less is better.

  bootstrap          paired resampling of segments: interval and p-value
  randomization      outputs swapped between the systems at random: p-value
  sign               segments won and lost by their own scores, for metrics that decompose: p-value
  sign-substitution  segments that raise the baseline's corpus score when put into it: p-value; with
                     BLEU it can contradict itself, which is why it is here
  mapsswe            NIST's matched pairs of segments between words that both have right, under WER,
                     aligned as sclite aligns: p-value, as sctk's sc_stats has it
"""
EXAMPLES = """\
examples:
  fstmetrics compare baseline.en system.en --refs refs.en --metric wer grr
  fstmetrics compare base.txt a.txt b.txt --refs text --test all --samples 10000 --format tsv
  fstmetrics compare base.trn a.trn --refs refs.trn --metric wer --test mapsswe --blocks speaker
  fstmetrics compare base.en a.en --refs refs.en --metric bleu --test randomization --format latex
"""
OPTIONS = """\
@systems HYPS  the file of the baseline, then those of the systems
@reference files required
@metrics = grr wer
--test TEST: tests, several  significance tests: bootstrap, randomization, sign,
    sign-substitution, mapsswe, or all of these; one of a plug-in's, or python:MODULE:FUNCTION
    (default: bootstrap)
--alternative two-sided|better|worse = two-sided  alternative hypothesis: the system differs
    (default), is better, or is worse
--ties drop|split = drop  ties in sign tests: drop them, or split them between both
@resampling  (default: 1000 for bootstrap, 10000 for randomization)
@blocks
@table format
@output
"""


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    if len(arguments.paths) < 2:
        arguments.parser.error("a baseline, but no system to compare with it")
    from fstmetrics.signature import SIGNIFICANCE_TESTS
    from fstmetrics.statistics.breakdown import grouping
    from fstmetrics.statistics.significance import significance_test
    from fstmetrics.statistics.systems import compare_systems, counts_word_errors

    asked = dict.fromkeys(arguments.test or ["bootstrap"])
    own = [name for name in SIGNIFICANCE_TESTS.own if name in asked or "all" in asked]
    names = [*own, *(name for name in asked if name not in (*own, "all", MAPSSWE))]
    for name in names:
        SIGNIFICANCE_TESTS.get(name)
    options = {name: getattr(arguments, name) for name in ("alternative", "ties", "level", "seed")}
    options |= {"samples": arguments.samples, "trials": arguments.samples}
    metrics = parse_metric_options(arguments)
    if MAPSSWE in asked and not any(map(counts_word_errors, metrics)):
        arguments.parser.error(f"--test {MAPSSWE} is of word errors: add --metric wer")
    # it takes alignments, the others statistics
    matched = MAPSSWE in asked or "all" in asked
    group_of = grouping(arguments.blocks) if arguments.blocks else None
    systems, references = read_systems(arguments, metrics, arguments.paths, sentences=matched)
    pairs = len(systems[0].metrics) * (len(systems) - 1)
    total = pairs * sum(arguments.samples or DRAWS[name] for name in names if name in DRAWS)
    with resampling_progress(total, arguments) as on_drawn:
        compared = compare_systems(
            systems,
            references,
            [significance_test(name, **options, on_drawn=on_drawn) for name in names],
            group_of=group_of,
            mapsswe=arguments.alternative if matched else None,
        )
    report = _report(compared, systems[0], arguments)
    write_report(arguments, report.write(arguments.format))
    return 0


def _report(
    compared: Sequence[SystemComparison], baseline: System, arguments: argparse.Namespace
) -> Report:
    from decoding.cli.tables import Report, headings, resampling_note, score_headings

    _, notes = headings(baseline.metrics)
    named = dict(zip(map(str, baseline.metrics), score_headings(baseline.metrics), strict=True))
    header, *rows = _rows(compared, named, baseline.name, arguments.level)
    samples = {result.method: result.samples for result in compared[0].results}
    if "bootstrap" in samples:
        of = "blocks" if arguments.blocks else "segments"
        notes.append(resampling_note(samples["bootstrap"], arguments.seed, arguments.level, of))
    if "randomization" in samples:
        notes.append(f"randomization by {samples['randomization']} shuffles, seed {arguments.seed}")
    if arguments.alternative != "two-sided":
        notes.append(f"p-values are for systems that are {arguments.alternative}")
    return Report(
        header,
        rows,
        notes,
        tsv_rows=lambda: _tsv_rows(compared, baseline.name),
        content=lambda: _content(compared, baseline, arguments.seed),
        left=(0, 1, 5),
    )


def _rows(
    compared: Sequence[SystemComparison], labels: Mapping[str, str], baseline: str, level: float
) -> list[list[str]]:
    """Return rows for people; the baseline has one under each metric."""
    from decoding.cli.tables import format_interval, format_score, p_value

    interval = f"{100 * level:g} % interval"
    rows = [["metric", "system", "score", "effect", interval, "test", "p", "won", "lost"]]
    shown: set[str] = set()
    for one in compared:
        label = labels[str(one.metric)]
        if label not in shown:
            shown.add(label)
            score = format_score(one.metric, one.baseline_score)
            rows.append([label, f"{baseline} (baseline)", score, *[""] * 6])
        for result in one.results:
            counts = ["" if count is None else str(count) for count in (result.wins, result.losses)]
            rows.append(
                [
                    label,
                    one.system,
                    format_score(one.metric, one.score),
                    format_score(one.metric, result.effect, "+"),
                    format_interval(one.metric, result.interval) if result.interval else "",
                    result.method,
                    p_value(result.p_value),
                    *counts,
                ]
            )
    return rows


def _tsv_rows(compared: Sequence[SystemComparison], baseline: str) -> list[list[str]]:
    from decoding.cli.tables import number_cell

    columns = ("p_value", "alternative", "samples", "wins", "losses", "ties")
    names = ("metric", "baseline", "system", "baseline_score", "score", "effect", "low", "high")
    rows = [[*names, "test", *columns]]
    for one in compared:
        for result in one.results:
            ends = (result.interval.low, result.interval.high) if result.interval else (None, None)
            values = (one.baseline_score, one.score, result.effect, *ends, result.method)
            rest = (getattr(result, name) for name in columns)
            cells = [number_cell(value) for value in (*values, *rest)]
            rows.append([str(one.metric), baseline, one.system, *cells])
    return rows


def _content(compared: Sequence[SystemComparison], baseline: System, seed: int) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "baseline": baseline.name,
        "segments": len(baseline.stats),
        "seed": seed,
        "comparisons": [
            {
                "metric": str(one.metric),
                "system": one.system,
                "baseline_score": one.baseline_score,
                "score": one.score,
                "tests": [asdict(result) for result in one.results],
            }
            for one in compared
        ],
    }
