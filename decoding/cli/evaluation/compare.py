"""``fstmetrics compare``: systems against a baseline, with tests of significance."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from decoding.cli.arguments import (
    add_metrics,
    add_output,
    add_references,
    add_resampling,
    add_systems,
    add_table_format,
    check_inputs,
    opened_references,
    parsed_metrics,
    say,
)

if TYPE_CHECKING:
    from decoding.cli.systems import System
    from fstmetrics import Comparison, Metric
    from lattices.arrays import FloatColumn

TESTS = ("bootstrap", "randomization", "sign", "sign-substitution")

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
"""
EXAMPLES = """\
examples:
  fstmetrics compare baseline.en system.en --refs refs.en --metric wer grr
  fstmetrics compare base.txt a.txt b.txt --refs text --test all --samples 10000 --format tsv
  fstmetrics compare base.en a.en --refs refs.en --metric bleu --test randomization --format latex
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_systems(parser, "HYPS", "the file of the baseline, then those of the systems")
    add_references(parser, required=True)
    add_metrics(parser)
    parser.add_argument(
        "--test",
        choices=(*TESTS, "all"),
        nargs="+",
        action="extend",
        metavar="TEST",
        help=f"{', '.join(TESTS)}, or all of them (default: bootstrap)",
    )
    parser.add_argument(
        "--alternative",
        choices=("two-sided", "better", "worse"),
        default="two-sided",
        help="what p-values are for: that a system differs (default), is better, is worse",
    )
    parser.add_argument(
        "--ties",
        choices=("drop", "split"),
        default="drop",
        help="what sign tests do with segments that are equal (default: drop)",
    )
    add_resampling(parser, None, "1000 for bootstrap, 10000 for randomization")
    add_table_format(parser)
    add_output(parser)


@dataclass(frozen=True)
class _Compared:
    """One system against the baseline under one metric, by all tests."""

    metric: str
    system: str
    baseline_score: float
    score: float
    results: Sequence[Comparison]


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    check_inputs(arguments, "HYPS")
    if len(arguments.paths) < 2:
        arguments.parser.error("a baseline, but no system to compare with it")
    from decoding.cli.systems import Judges, describe_layout, paired_matrices, read_complete
    from lattices.errors import FormatError
    from lattices.formats.streams import created

    metrics = parsed_metrics(arguments)
    references = opened_references(arguments)
    if references is None:
        raise FormatError("no references")
    judges = Judges(metrics, references, arguments.refs_id)
    systems = [read_complete(path, arguments.input_format, judges) for path in arguments.paths]
    for system in systems:
        if system.note:
            say(f"{system.name}: {system.note}")
    say(describe_layout(references))
    matrices = paired_matrices(systems, references)
    compared = _compared(systems, matrices, metrics, _tests(arguments))
    text = _written(compared, metrics, systems[0].name, len(systems[0].stats), arguments)
    with created(arguments.output) as output:
        output.write(text.encode("utf-8"))
    return 0


def _tests(arguments: argparse.Namespace) -> list[Callable[..., Comparison]]:
    """Return the tests that were asked for, each once, with their options."""
    from fstmetrics import paired_bootstrap, randomization, sign_test, substitution_test

    alternative, seed, ties = arguments.alternative, arguments.seed, arguments.ties
    known: dict[str, Callable[..., Comparison]] = {
        "bootstrap": partial(
            paired_bootstrap,
            samples=arguments.samples or 1000,
            level=arguments.level,
            alternative=alternative,
            seed=seed,
        ),
        "randomization": partial(
            randomization, trials=arguments.samples or 10_000, alternative=alternative, seed=seed
        ),
        "sign": partial(sign_test, ties=ties, alternative=alternative),
        "sign-substitution": partial(substitution_test, ties=ties, alternative=alternative),
    }
    asked = arguments.test or ["bootstrap"]
    return [known[name] for name in TESTS if name in asked or "all" in asked]


def _compared(
    systems: Sequence[System],
    matrices: Sequence[Sequence[FloatColumn]],
    metrics: Sequence[Metric],
    tests: Sequence[Callable[..., Comparison]],
) -> list[_Compared]:
    """Run all tests on the statistics, which are made once."""
    found = []
    for place, metric in enumerate(metrics):
        of_baseline, *of_others = (of_system[place] for of_system in matrices)
        for system, stats in zip(systems[1:], of_others, strict=True):
            found.append(
                _Compared(
                    str(metric),
                    system.name,
                    metric.score(of_baseline.sum(axis=0)),
                    metric.score(stats.sum(axis=0)),
                    [test(metric, stats, of_baseline) for test in tests],
                )
            )
    return found


def _written(
    compared: Sequence[_Compared],
    metrics: Sequence[Metric],
    baseline: str,
    segments: int,
    arguments: argparse.Namespace,
) -> str:
    from decoding.cli.output.tables import document, latex, resampling_note, tsv
    from decoding.cli.tables import below, headings, table

    if arguments.format == "json":
        return document(_content(compared, baseline, segments, arguments))
    if arguments.format == "tsv":
        return tsv(_tsv_rows(compared, baseline))
    labels, notes = headings(metrics)
    named = dict(zip(map(str, metrics), labels, strict=True))
    header, *rows = _rows(compared, named, baseline, arguments.level)
    samples = {result.method: result.samples for result in compared[0].results}
    if "bootstrap" in samples:
        notes.append(resampling_note(samples["bootstrap"], arguments.seed, arguments.level))
    if "randomization" in samples:
        notes.append(f"randomization by {samples['randomization']} shuffles, seed {arguments.seed}")
    if arguments.alternative != "two-sided":
        notes.append(f"p-values are for systems that are {arguments.alternative}")
    left = (0, 1, 5)
    if arguments.format == "latex":
        return latex(header, rows, left=left, notes=notes)
    return "\n".join([table(header, rows, left=left), *below(notes)]) + "\n"


def _rows(
    compared: Sequence[_Compared], labels: Mapping[str, str], baseline: str, level: float
) -> list[list[str]]:
    """Return rows for people; the baseline has one under each metric."""
    from decoding.cli.output.tables import p_value, signed

    interval = f"{100 * level:g} % interval"
    rows = [["metric", "system", "score", "effect", interval, "test", "p", "won", "lost"]]
    shown: set[str] = set()
    for one in compared:
        if one.metric not in shown:
            shown.add(one.metric)
            score = f"{one.baseline_score:.4f}"
            rows.append([labels[one.metric], f"{baseline} (baseline)", score, *[""] * 6])
        for result in one.results:
            counts = ["" if count is None else str(count) for count in (result.wins, result.losses)]
            rows.append(
                [
                    labels[one.metric],
                    one.system,
                    f"{one.score:.4f}",
                    signed(result.effect),
                    "" if result.interval is None else str(result.interval),
                    result.method,
                    p_value(result.p_value),
                    *counts,
                ]
            )
    return rows


def _tsv_rows(compared: Sequence[_Compared], baseline: str) -> list[list[str]]:
    columns = ("p_value", "alternative", "samples", "wins", "losses", "ties")
    names = ("metric", "baseline", "system", "baseline_score", "score", "effect", "low", "high")
    rows = [[*names, "test", *columns]]
    for one in compared:
        for result in one.results:
            ends = (result.interval.low, result.interval.high) if result.interval else (None, None)
            values = (one.baseline_score, one.score, result.effect, *ends, result.method)
            rest = (getattr(result, name) for name in columns)
            cells = [_cell(value) for value in (*values, *rest)]
            rows.append([one.metric, baseline, one.system, *cells])
    return rows


def _cell(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else repr(value)


def _content(
    compared: Sequence[_Compared], baseline: str, segments: int, arguments: argparse.Namespace
) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "baseline": baseline,
        "segments": segments,
        "seed": arguments.seed,
        "comparisons": [
            {
                "metric": one.metric,
                "system": one.system,
                "baseline_score": one.baseline_score,
                "score": one.score,
                "tests": [asdict(result) for result in one.results],
            }
            for one in compared
        ],
    }
