"""``fstmetrics mbr``: minimum-Bayes-risk decoding of search spaces."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, BinaryIO

from decoding.cli.arguments import (
    open_calibration,
    open_references,
    open_sources,
    parse_metric_options,
)
from decoding.cli.option_table import STANDARD
from decoding.cli.running import (
    SENTENCE_ORACLES,
    check_one_sentence,
    explain_unscored,
    file_stamps,
    join_recordings,
    oracle_heading,
    scores_table,
    segments_line,
    stamp_of,
    take_sentences,
    write_results,
)
from decoding.cli.terminal import print_summary, say

if TYPE_CHECKING:
    from decoding.cli.running import Outcome
    from decoding.corpus.writers import Writer
    from decoding.minimum_risk.method import Method
    from fstmetrics import Metric
    from fstmetrics.statistics.calibration import Calibration
    from lattices.formats.references import References
    from lattices.spaces import Space

#: methods whose point is that their answer is exact
EXACT = frozenset(["exact", "search"])

SUMMARY = "the sentences with the best expected metric: minimum-Bayes-risk decoding"
DESCRIPTION = """\
Choose from each lattice, forest or n-best list the sentence with the best expected metric under
the model's probabilities of all its sentences. No references are needed.

tsv   (default) one line a segment, in the order of the input: id, expectation, words.
jsonl one object a line: id, rank, expected, words, text, method, metric, exact, candidates,
      evidence, model_score, features, and with references scores (under every metric);
      with --confidences also confidences, of each word: word, confidence, begin, end, alternatives.
text  the words alone, an empty line for a segment that failed; kaldi: id and words; trn: words (id)
ctm   NIST's: id, channel, begin, duration, word, confidence; for spaces and systems with times.

With references, in the input or by --refs, a summary of the corpus goes to standard error: what
the model's own best, the chosen sentences and the oracles score, under every metric.
"""
EXAMPLES = """\
examples:
  fstmetrics mbr nbest.gz --metric bleu:smooth=exp,effective_order=true --scale 10
  fstmetrics mbr lattices.jsonl.gz --metric wer --refs refs.txt --summary summary.json
  fstmetrics mbr one.gz --systems two.gz three.gz --system-weights 0.5 0.3 0.2 --metric wer
  fstmetrics mbr --systems a.txt b.txt c.ctm --refs text     # ROVER
  fstmetrics mbr --systems a.ctm b.ctm c.ctm --format ctm -o rover.ctm
  fstmetrics mbr --systems a.ctm b.ctm c.ctm --format ctm --method rover --set alpha=0.7
  fstmetrics mbr lattices.jsonl.gz --method linear --set p=0.7 --set r=0.8 --metric bleu
  fstmetrics mbr nbest.gz --metric python:my_module:scores --cache scores.sqlite --matrix all.jsonl
"""
OPTIONS = """\
@inputs SPACES
@join
@references
@metrics = grr wer  ; the expectation of the first one decides, unless the method has an objective
    of its own, the others score
--method NAME: name = auto  auto, pairwise, linear, consensus, edit, exact, search or rover, with
    options as in linear:p=0.7,r=0.8; one of a plug-in's, or python:MODULE:CLASS (default: auto:
    edit for wer and wrr over lattices, pairwise for all else)
@calibration
--candidates K: whole number  number of candidates, the K best sentences
--samples N: whole number  number of sentences sampled as evidence
--evidence FILE  spaces to average over instead of SPACES, with the same ids
--systems FILE: several  spaces of other systems with the same ids, combined with SPACES; or what
    they said, as lines 'id words', trn, ctm or what commands write: with sentences in all files
    words are voted on (ROVER), under wer by default; without SPACES the first system takes their
    place
--systems-format NAME  format of --systems: text (line i is segment i), kaldi ('id words'), trn,
    ctm, tsv, or one of spaces (default: found by content)
--system-weights W: number, several  system weights: one for SPACES and one for each of --systems
    (default: equal)
--set KEY=VALUE: pair, repeated  any other option of the method, such as uniform=true,
    evidence_size=50, p=0.7 or theta=-0.1/0.2/0.3/0.4/0.5; may be repeated
-k K: whole number = 1  number of best sentences of each segment to write
--no-oracle  do not search for oracles for the summary
@running
@resuming
--format: lines or ctm = tsv  output format (default: tsv), or one of a plug-in's; ctm needs the
    method edit or rover, and times in the input; parquet needs pyarrow
--confidences  add the words with confidences, times and alternatives to jsonl; needs the method
    edit or rover
@sources a utility that takes them
--matrix FILE  also write the scores of all candidates against all evidence, a line of JSON a
    segment: id, metric, candidates, evidence, weights, scores[candidate][evidence]; needs the
    method pairwise
--cache FILE  keep the scores of python:MODULE:FUNCTION there, and take those that are there;
    workers and later runs may share it
@output
@summary  the summary
"""


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    if arguments.join and (arguments.systems or arguments.evidence):
        arguments.parser.error("--join is for SPACES alone, without --systems and --evidence")
    with join_recordings(arguments) as lost:
        return _choose_input(arguments) or int(lost)


def _choose_input(arguments: argparse.Namespace) -> int:
    arguments.systems = arguments.systems or []
    option, combined = "read.format", bool(arguments.systems)
    if not arguments.paths and combined:
        option = "systems.format"
        first, *arguments.systems = arguments.systems
        arguments.paths = [first]
        arguments.input_format = arguments.input_format or arguments.systems_format
    if not combined or STANDARD in arguments.paths:
        return _run(arguments, None)
    references = open_references(arguments)
    with take_sentences(arguments, references, option) as taken:
        # words of sentences are voted on
        if taken and arguments.resume:
            arguments.parser.error(f"--resume is for spaces, and {next(iter(taken))} has sentences")
        if len(taken) == len(arguments.paths):
            arguments.default_metric = ["wer"]
        return _run(arguments, references)


def _run(arguments: argparse.Namespace, references: References | None) -> int:
    if arguments.confidences and arguments.format != "jsonl":
        arguments.parser.error(f"--confidences are for --format jsonl, not {arguments.format}")
    calibration = open_calibration(arguments, arguments.confidences or arguments.format == "ctm")
    if STANDARD in (arguments.evidence, *arguments.systems):
        arguments.parser.error("--evidence and --systems are files, not standard input")

    from decoding.minimum_risk.method import Method, system_shares
    from decoding.tasks.mbr import MBRTask, matrix_lines
    from lattices.formats.streams import open_output

    # an expectation may be had without what it takes to score against references
    metrics = _add_cache(arguments, parse_metric_options(arguments, check=bool(arguments.refs)))
    options = _options(arguments)
    if arguments.matrix:
        if arguments.method not in ("auto", "pairwise"):
            arguments.parser.error(f"--matrix is of --method pairwise, not {arguments.method}")
        if arguments.resume:
            arguments.parser.error("--resume goes on with results, not with a --matrix")
        options["matrix"] = True
    method = _check_method(arguments, options)
    normalised = ":normalise=" in str(metrics[0]) or ",normalise=" in str(metrics[0])
    if isinstance(method, Method) and method.own_objective and normalised:
        arguments.parser.error(
            f"--method {method.name} has an objective of its own, over words as they are: a "
            "normalised metric decides by --method pairwise, exact or search"
        )
    system_shares(arguments.system_weights, 1 + len(arguments.systems))
    if references is None:
        references = open_references(arguments)
    check_one_sentence(arguments)
    task = MBRTask(
        metrics,
        references,
        method,
        arguments.scale,
        arguments.k,
        arguments.system_weights,
        oracles=not arguments.no_oracle,
        evidence=_table(arguments.evidence) if arguments.evidence else None,
        systems=tuple(
            _table(path, arguments.systems_format, references) for path in arguments.systems
        ),
        confidences=arguments.confidences,
        calibration=calibration,
        sources=open_sources(arguments),
    )
    others = (arguments.evidence, arguments.calibration, arguments.sources)
    writers: dict[str, Writer] = {"lines": _writer(arguments, calibration)}
    if arguments.matrix:
        writers["matrix"] = matrix_lines
    weighted = {"system_weights": weights} if (weights := arguments.system_weights) else {}
    settings = {"scale": arguments.scale, "k": arguments.k, **weighted, **options}
    with ExitStack() as stack:
        beside = stack.enter_context(open_output(arguments.matrix)) if arguments.matrix else None

        def watch(outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
            return _watch(outcomes, arguments, task.systems, beside)

        summary = write_results(
            arguments,
            task,
            writers,
            stamp={
                **stamp_of(
                    arguments, task, "method", "evidence", "systems", "calibration", "sources"
                ),
                **({"systems format": name} if (name := arguments.systems_format) else {}),
                "evidence": bool(arguments.evidence),
                "others": file_stamps([*filter(None, others), *arguments.systems]),
                **({"channel": arguments.channel} if arguments.format == "ctm" else {}),
                "method": arguments.method,
                "options": options,
            },
            done="decoded",
            watch=watch if beside or task.systems else iter,
            conclude=lambda totals: {**task.summary(totals), **settings},
        )
    if not arguments.quiet:
        print_summary(_format_summary(summary, metrics))
    return 1 if summary["failed"] else 0


def _writer(arguments: argparse.Namespace, calibration: Calibration | None) -> Writer:
    """Return the writer of lines."""
    if arguments.format == "ctm":
        from decoding.tasks.confusion import CtmWriter

        return CtmWriter(arguments.channel, calibration)
    from decoding.corpus.writers import WRITERS

    return WRITERS.get(arguments.format)


def _watch(
    outcomes: Iterator[Outcome],
    arguments: argparse.Namespace,
    systems: Sequence[Mapping[str, Space]],
    matrix: BinaryIO | None,
) -> Iterator[Outcome]:
    """Write the lines of the matrix, and tell of segments that only other systems have."""
    from decoding.corpus.outcomes import Done

    met = set()
    for outcome in outcomes:
        if systems:
            met.add(outcome.id)
        if matrix is not None and isinstance(outcome, Done):
            matrix.write("".join(outcome.result["matrix"]).encode("utf-8"))
        yield outcome
    if arguments.resume:
        return
    for path, table in zip(arguments.systems, systems, strict=True):
        if absent := [id for id in table if id not in met]:
            say(
                f"{path}: {len(absent)} segments that the first system lacks are left out, such as "
                f"{absent[0]!r}"
            )


def _add_cache(arguments: argparse.Namespace, metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """Return the metrics, functions of the user's with their cache; they have to be there."""
    if not arguments.cache and not any(str(metric).startswith("python:") for metric in metrics):
        return tuple(metrics)
    from dataclasses import replace

    from fstmetrics import Normalised, Utility
    from lattices.registry import check_requirements

    utilities: list[Utility] = []

    def add_cache(metric: Metric) -> Metric:
        if isinstance(metric, Normalised):
            return replace(metric, metric=add_cache(metric.metric))
        if isinstance(metric, Utility):
            metric = replace(metric, cache=arguments.cache or metric.cache)
            utilities.append(metric)
        return metric

    found = tuple(map(add_cache, metrics))
    if arguments.cache and not utilities:
        arguments.parser.error(
            "--cache is for scores of python:MODULE:FUNCTION, and no --metric is one"
        )
    check_requirements(*utilities)
    return found


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the method: those with arguments of their own, of its name, of --set.

    The method is left with its name alone.
    """
    from decoding.minimum_risk import METHODS
    from decoding.minimum_risk.decisions import explain_unknown_option
    from lattices.errors import argument
    from lattices.options import option_fields, read_options, split_named

    arguments.method, given = split_named(arguments.method)
    given += arguments.set
    options = {
        name: value
        for name in ("candidates", "samples")
        if (value := getattr(arguments, name)) is not None
    }
    kind = METHODS.get(_method_with_options(arguments))
    known = option_fields(kind)
    for key, _ in given:
        if key in options:
            arguments.parser.error(f"{key} is given twice")
        if key not in known:
            raise explain_unknown_option(kind, key)
    return options | read_options(kind, given, f"method {kind.name}", spell=argument)


def _method_with_options(arguments: argparse.Namespace) -> str:
    """Return the name of the method that options are for: auto has those of what takes anything."""
    return "pairwise" if arguments.method == "auto" else arguments.method


def _check_method(arguments: argparse.Namespace, options: dict[str, Any]) -> str | Method:
    """Return the method with its options, or auto; refuse others before any file is read."""
    from decoding.minimum_risk.decisions import explain_unknown_option, method_with

    method = method_with(_method_with_options(arguments), options)
    if arguments.evidence and not method.takes_evidence:
        raise explain_unknown_option(method, "evidence")
    if arguments.k > 1 and not method.ranks:
        raise explain_unknown_option(method, "k")
    return "auto" if arguments.method == "auto" and not options else method


def _table(
    path: str, format: str | None = None, references: References | None = None
) -> Mapping[str, Space]:
    """Return the spaces of a file by their ids."""
    import lattices
    from decoding.corpus.transcripts import is_transcript, read_transcripts

    if is_transcript(path, format):
        return read_transcripts(path, format, references, "systems.format")
    return {space.id: space for space in lattices.read(path, format)}


def _format_summary(summary: dict[str, Any], metrics: Sequence[Metric]) -> str:
    lines = []
    if summary["judged"]:
        oracle = oracle_heading(metrics, summary["decomposes"], own=True)
        columns = {"one_best": "1-best", "mbr": "mbr", "own_oracle": oracle}
        lines.append(scores_table(metrics, summary, columns))
        if not summary["decomposes"]:
            lines.append(SENTENCE_ORACLES)
    lines.append(segments_line(summary))
    lines.append(
        f"{summary['seconds']:.2f} s, {summary['segments'] / summary['seconds']:,.0f} segments/s, "
        f"method {summary['method']}"
    )
    if calls := summary.get("utility"):
        lines.append(
            "{pairs:,} pairs asked for, {cached:,} of them in the cache; {calls:,} calls".format(
                **calls
            )
            + ", {encoded:,} texts encoded in {encodings:,}".format(**calls)
            * bool(calls["encoded"])
        )
    lines += explain_unscored(summary)
    unproven = summary["results"] - summary["exact"]
    # the other methods do not set out to prove anything
    if unproven and EXACT.intersection(summary["method"].split("+")):
        lines.append(
            f"{unproven} of {summary['results']} results are the best that were found, perhaps not "
            "the best there are (a larger --set budget=N may tell)"
        )
    return "\n".join(lines)
