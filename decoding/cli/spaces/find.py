"""``fstmetrics find``: phrases in lattices, lists and forests, with exact posteriors."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from decoding.cli.arguments import report_failures, write_files
from decoding.cli.option_table import TABULAR
from decoding.cli.running import check_results, corpus_outcomes, take_sentences
from decoding.cli.terminal import note, print_summary

if TYPE_CHECKING:
    from decoding.tasks.find import Spoken
    from fstmetrics.statistics.term_detection import TermWeightedValue
    from lattices.intersection.patterns import Pattern

SUMMARY = "find a phrase or a pattern of words: posteriors and times; ATWV with references"
DESCRIPTION = """\
Find PHRASE in lattices, n-best lists, forests or ctm files, and write where it is, the most
probable first: the posterior that the sentence has it at all, exactly, with all paths summed up,
and each occurrence with its own posterior and times.

  half past seven          words in a row
  half past (seven|eight)  alternatives
  very+ good  .{0,3}  no?  repeated: once or more, up to three words of any kind, perhaps one
  /walk(s|ed|ing)?/        the words that a regular expression fits as a whole
  what \\?                  a sign ( ) | * + ? { } or \\ as a word, or a . alone

tsv       (default) a line for each occurrence: posterior of the sentence, id, phrase, posterior of
          the occurrence, begin and end in seconds, words; without times the latter are empty, and
          of a forest there is the first only
jsonl     one object for each sentence and phrase, with a list of occurrences
csv, parquet  the columns of tsv

With --refs, a ctm (times of words) or an stm (times of segments), also the term-weighted values of
NIST's spoken term detection: ATWV at --decide, and MTWV, the best of all thresholds.
"""
EXAMPLES = """\
examples:
  fstmetrics find 'half past (seven|eight)' lattices/ --threshold 0.3
  fstmetrics find --phrases keywords.txt slf/ --scale 0.1 --refs words.ctm -o hits.tsv
  fstmetrics find 'no (more|less) .{0,3} than' nbest.jsonl.gz --format jsonl | jq .id
"""
OPTIONS = """\
@inputs PHRASE LATTICES
--phrases FILE  file of phrases instead of PHRASE: one a line, or name, tab, phrase
-i, --ignore-case  upper and lower case are the same
--threshold X: number = 0.01  posteriors below it are left out, of sentences and of occurrences
--scale S: number = 1  scale of the model scores before they become probabilities
--refs FILE: several  what was said when: files of ctm, or of stm
--refs-format auto|ctm|stm = auto  layout of --refs (default: auto, by content)
--refs-id TEMPLATE  template of segment ids for ctm ({file} {channel}) or stm
--decide X: number = 0.5  what has this posterior counts as found, for ATWV
--beta B: number = 999.9  weight of false alarms in term-weighted values
--duration SECONDS: number  seconds of speech (default: of the lattices with times, or of the stm)
--format tsv|jsonl|csv|parquet = tsv  output format
@running
@output
@summary  counts, and the value of each phrase
"""

#: what is looked for where references tell what is right, so that all thresholds can be tried
_LEAST = 1e-4


def prepare(arguments: argparse.Namespace) -> None:
    """Take the phrase from the paths, where it stands first."""
    arguments.phrase = None
    if arguments.phrases is None:
        if not arguments.paths:
            arguments.parser.error("no PHRASE given, as: fstmetrics find 'half past' LATTICES")
        arguments.phrase, *arguments.paths = arguments.paths
        words = [each for each in arguments.paths if not os.path.exists(each)]
        if words and os.path.exists(arguments.paths[-1]):
            phrase = " ".join([arguments.phrase, *words])
            arguments.parser.error(
                f"{words[0]}: no file; a phrase of several words stands in quotes, as: "
                f"fstmetrics find '{phrase}' {arguments.paths[-1]}"
            )
    if arguments.paths or arguments.phrase is None:
        return
    given = f"'half past seven' {arguments.phrase}"
    if not os.path.exists(arguments.phrase):
        given = f"'{arguments.phrase}' LATTICES"
    arguments.parser.error(f"a phrase comes first, then files; type: fstmetrics find {given}")


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    from decoding.corpus.outcomes import Done
    from decoding.corpus.table import Totals
    from decoding.corpus.writers import WrittenTask, rows
    from decoding.tasks.find import FindTask, read_phrases, read_spoken
    from lattices.errors import OptionError
    from lattices.intersection.patterns import Pattern

    for name in ("threshold", "decide"):
        if not 0.0 <= getattr(arguments, name) <= 1.0:
            raise OptionError(f"--{name} {getattr(arguments, name):g} is no probability")
    phrases: dict[str, Pattern]
    if arguments.phrases is not None:
        phrases = read_phrases(arguments.phrases, arguments.ignore_case)
    else:
        phrases = {arguments.phrase: Pattern(arguments.phrase, arguments.ignore_case)}
    spoken = None
    least = arguments.threshold
    if arguments.refs is not None:
        spoken = read_spoken(arguments.refs, phrases, arguments.refs_format, arguments.refs_id)
        least = min(least, _LEAST)
    task = FindTask(phrases, arguments.scale, least)
    totals = Totals(task.layout)
    written = WrittenTask(task, {"lines": rows})
    found: list[dict[str, Any]] = []
    ids: dict[str, None] = {}
    with (
        take_sentences(arguments),
        corpus_outcomes(written, arguments) as outcomes,
    ):
        totals.start(None)
        for outcome in outcomes:
            totals.add(outcome)
            if isinstance(outcome, Done):
                found += outcome.result["lines"]
                ids[outcome.id] = None
    check_results(totals, None, "searched")
    report_failures(totals.failures)
    summary = task.summary(totals)
    value = None
    if spoken is not None:
        value = _value(arguments, spoken, found, ids, summary["seconds"])
        summary["term_weighted_value"] = value.to_dict()
    kept = _sort(found, arguments.threshold)
    files: list[tuple[str | None, bytes]] = [(arguments.output, _write(kept, arguments.format))]
    if arguments.summary:
        from decoding.cli.tables import document

        files.append((arguments.summary, document(summary).encode()))
    write_files(*files)
    sentences = len({row["id"] for row in kept})
    print_summary(
        f"{summary['segments']} segments, {summary['failed']} failed; "
        f"{len(kept)} findings in {sentences} segments"
    )
    if value is not None:
        print_summary(_show_value(value))
    return 1 if summary["failed"] else 0


def _sort(rows: Sequence[dict[str, Any]], threshold: float) -> list[dict[str, Any]]:
    """Return what reaches the threshold, the most probable first."""
    kept = [
        {
            "posterior": row["posterior"],
            "id": row["id"],
            "phrase": row["phrase"],
            "occurrences": [one for one in row["occurrences"] if one["posterior"] >= threshold],
        }
        for row in rows
        if row["posterior"] >= threshold
    ]
    # ties, up to rounding, stay in the order of segments
    return sorted(kept, key=lambda row: -round(row["posterior"], 9))


def _write(rows: Sequence[dict[str, Any]], format: str) -> bytes:
    if format == "jsonl":
        from decoding.plain_json import json_text

        return "".join(json_text(row) + "\n" for row in rows).encode()
    nothing = dict.fromkeys(("posterior", "begin", "end", "place", "words"))
    columns: dict[str, list[Any]] = {
        name: [] for name in ("posterior", "id", "phrase", "occurrence", "begin", "end", "words")
    }
    for row in rows:
        for one in row["occurrences"] or [nothing]:
            cells = (row["posterior"], row["id"], row["phrase"], one["posterior"])
            for column, cell in zip(
                columns.values(), (*cells, one["begin"], one["end"], one["words"]), strict=True
            ):
                column.append(cell)
    from decoding.cli.tables import number_cell, tabular, tsv

    if format in TABULAR:
        return tabular(columns, format)
    lines = zip(*columns.values(), strict=True)
    return tsv([list(columns), *([number_cell(cell) for cell in line] for line in lines)]).encode()


def _value(
    arguments: argparse.Namespace,
    spoken: Spoken,
    found: Sequence[dict[str, Any]],
    ids: Mapping[str, None],
    seconds: float,
) -> TermWeightedValue:
    """Return the term-weighted value of what was found in the segments that were searched."""
    from decoding.tasks.find import list_detections
    from fstmetrics.statistics.term_detection import TOLERANCE, term_weighted_value
    from lattices.errors import FormatError, OptionError

    common = ids.keys() & spoken.segments.keys()
    if not common:
        raise FormatError(
            f"no segment {next(iter(ids), '')!r}, nor any other that was searched; "
            "--refs-id makes ids of the columns, as {file}-{channel}",
            arguments.refs[0],
        )
    duration = arguments.duration or sum(spoken.segments[each] for each in common) or seconds
    if not duration:
        raise OptionError("nothing tells how long the speech is: give --duration SECONDS")
    detections = [span for span in list_detections(found, spoken.timed) if span.segment in common]
    if found and not detections and spoken.timed:
        raise OptionError(
            "the lattices have no times, and words of a ctm are matched by theirs: give an stm, "
            "or --refs-format stm"
        )
    value = term_weighted_value(
        detections,
        [span for span in spoken.spans if span.segment in common],
        duration,
        threshold=arguments.decide,
        beta=arguments.beta,
        tolerance=TOLERANCE if spoken.timed else float("inf"),
    )
    if len(common) < len(ids):
        note(f"{len(ids) - len(common)} of {len(ids)} segments are not in {arguments.refs[0]}")
    return value


def _show_value(value: TermWeightedValue) -> str:
    said, correct, false = (
        sum(getattr(term, name) for term in value.terms) for name in ("said", "correct", "false")
    )
    return (
        f"ATWV {value.atwv:.4f} at {value.threshold:g} ({correct} of {said} occurrences of "
        f"{len(value.terms)} phrases found, {false} false), "
        f"MTWV {value.mtwv:.4f} at {value.best_threshold:.4g}, OTWV {value.otwv:.4f}, "
        f"STWV {value.stwv:.4f}; beta {value.beta:g}, {value.duration:.1f} s"
    )
