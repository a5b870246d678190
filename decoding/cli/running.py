"""Runs over a corpus by commands: workers, progress, lines for each segment, a summary."""

from __future__ import annotations

import argparse
import gc
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeAlias, TypeVar

from decoding.cli.arguments import explain_nothing_done, make_settler, report_failures
from decoding.cli.option_table import SENTENCES, STANDARD, TABULAR
from decoding.cli.terminal import detail, is_verbose, note, progress, say

if TYPE_CHECKING:
    from decoding.corpus.actors import Actors
    from decoding.corpus.inputs import Inputs
    from decoding.corpus.journal import Journal
    from decoding.corpus.outcomes import Failures
    from decoding.corpus.runner import Done, Failure, Processing, ResumePoint, Segment
    from decoding.corpus.shards import ShardedRun
    from decoding.corpus.table import SummedTask, Totals
    from decoding.corpus.writers import Writer
    from fstmetrics import Metric
    from lattices import Space
    from lattices.formats.references import References
    from lattices.spaces.scales import Scales

    Outcome: TypeAlias = Done[Any] | Failure

R = TypeVar("R")


class _Counted(Protocol):
    """What is counted of a run over a corpus."""

    @property
    def records(self) -> int: ...
    @property
    def segments(self) -> int: ...
    @property
    def failures(self) -> Failures: ...


def check_running(arguments: argparse.Namespace) -> None:
    """Refuse two kinds of workers, and what cannot be resumed; of every command with workers."""
    given = {
        "--dask": arguments.dask,
        "--executor": arguments.executor,
        "--workers": arguments.workers > 1,
    }
    if len(both := [name for name, value in given.items() if value]) > 1:
        arguments.parser.error(f"{both[0]} and {both[1]} exclude one another")
    if arguments.dask:
        from lattices.optional import require

        require("distributed", "dask")
    # what has checkpoints goes on from them
    if not getattr(arguments, "resume", False) or hasattr(arguments, "checkpoint"):
        return
    if getattr(arguments, "format", None) in TABULAR:
        arguments.parser.error(
            f"--resume goes on with lines, and --format {arguments.format} is written as a whole"
        )
    if arguments.output == STANDARD:
        arguments.parser.error("--resume needs -o OUT: there is nothing to go on with in a pipe")
    if STANDARD in (*arguments.paths, *(getattr(arguments, "refs", None) or [])):
        arguments.parser.error("--resume needs files: standard input cannot be checked or skipped")


@contextmanager
def corpus_outcomes(
    task: Processing[R],
    arguments: argparse.Namespace,
    *,
    first: Callable[[Iterator[Segment]], None] | None = None,
    earlier: ResumePoint | None = None,
    actors: Actors | None = None,
) -> Iterator[Iterator[Done[R] | Failure]]:
    """Do a task as the arguments say, or by actors, with progress on a terminal."""
    from decoding.corpus.runner import Failure
    from decoding.corpus.runner import run as run_corpus

    inputs = open_inputs(arguments)
    with ExitStack() as stack:
        if actors is not None:
            cluster: dict[str, Any] = {"workers": actors.workers, "executor": actors}
            inputs.shared_files = actors.can_open(inputs.files)
        else:
            cluster = open_cluster(arguments, inputs, stack)
        shown = stack.enter_context(progress(inputs.bytes, wanted=not arguments.quiet))
        # all that was imported stays: looking through it for garbage, again and again while
        # results come in, is time lost, and workers would get copies of what is only looked at
        gc.freeze()

        problems: list[str] = []
        made_of: Mapping[str, str] = getattr(arguments, "made_of", {})

        def watch_outcomes() -> Iterator[Done[R] | Failure]:
            for outcome in run_corpus(
                task,
                inputs,
                options=dict(arguments.option),
                change=scales_of(arguments),
                first=first,
                earlier=earlier,
                on_read=shown.read,
                warn=problems.append,
                **cluster,
            ):
                shown.done(isinstance(outcome, Failure))
                if isinstance(outcome, Failure) and outcome.path in made_of:
                    outcome = replace(outcome, path=made_of[outcome.path], line=0)
                yield outcome
            shown.close()
            detail(f"{shown.segments:,} segments in {shown.seconds:.2f} s")
            for problem in problems:
                say(f"warning: {problem}")

        yield watch_outcomes()


#: options that change the scores of what is read
SCALES = ("acoustic_scale", "lm_scale", "word_ins_penalty")


def scales_of(arguments: argparse.Namespace) -> Scales | None:
    """Return the scales that are asked for; of ``tune``, which tries many, none."""
    given = {name: getattr(arguments, name, None) for name in SCALES}
    if not any(isinstance(value, float) for value in given.values()):
        return None
    from lattices.spaces.scales import Scales

    return Scales(**given)


def open_inputs(arguments: argparse.Namespace) -> Inputs:
    """Return the files to read; whatever they need has to be there."""
    from decoding.corpus.inputs import Inputs

    inputs = Inputs(arguments.paths, arguments.input_format, tell=note)
    _check_formats(inputs.files, arguments.input_format)
    if getattr(arguments, "ids", None):
        from lattices.formats.streams import number_lines

        lines = (line.strip() for _, line in number_lines(arguments.ids))
        inputs.choose([line for line in lines if line], dict(arguments.option))
    if is_verbose():
        _tell_inputs(inputs.files, arguments)
    return inputs


def open_cluster(arguments: argparse.Namespace, inputs: Inputs, stack: ExitStack) -> dict[str, Any]:
    """Return who works: how many workers, and their executor if they are not processes of ours."""
    if getattr(arguments, "executor", None):
        from decoding.corpus.dask import can_open, count_workers, make_executor

        made = stack.enter_context(make_executor(arguments.executor))
        inputs.shared_files = can_open(made, inputs.files)
        return {"workers": count_workers(made), "executor": made}
    if not arguments.dask:
        return {"workers": arguments.workers}
    from decoding.corpus.dask import dask_executor

    executor = stack.enter_context(
        dask_executor(arguments.dask, lambda seconds: say_waiting(arguments, seconds))
    )
    inputs.shared_files = executor.can_open(inputs.files)
    return {"workers": executor.workers, "executor": executor}


def say_waiting(arguments: argparse.Namespace, seconds: float) -> None:
    """Say that a cluster has no workers yet."""
    where = f"the Dask scheduler {arguments.dask!r}"
    say(f"{where} has no workers: waiting for one, up to {seconds:.0f} s")


def _tell_inputs(files: Sequence[str], arguments: argparse.Namespace) -> None:
    from lattices.formats.reading import find_own_format

    for file in files:
        known = find_own_format(file)
        name = arguments.input_format or (known.name if known else "what its content is")
        size = f" ({os.path.getsize(file):,} bytes)" if os.path.isfile(file) else ""
        detail(f"reading {file}{size} as {name}")
    if arguments.dask:
        detail(f"on the Dask cluster {arguments.dask}")
    else:
        own = {0: "this process, and others if they help", 1: "1 worker, this process"}
        detail(own.get(arguments.workers, f"{arguments.workers} workers"))


def _check_formats(files: Sequence[str], name: str | None) -> None:
    """Say at once which package is missing, if the format of a file needs one.

    This also loads the formats that are asked whose a file is: no part of the work.
    """
    from lattices.formats.reading import find_by_suffix, find_format, find_own_format, load_formats
    from lattices.registry import check_requirements

    if name is not None:
        check_requirements(find_format(name))
        return
    for file in files:
        known = find_own_format(file)
        check_requirements(*([known] if known else find_by_suffix(file, load_formats())))


@contextmanager
def take_sentences(
    arguments: argparse.Namespace,
    references: References | None = None,
    option: str = "read.format",
) -> Iterator[dict[str, str]]:
    """Replace input files of sentences by lattices of one path each; return the sentences.

    ``references`` tell whether lines of text begin with ids; ``option`` is what messages call the
    format of the files.
    """
    from tempfile import TemporaryDirectory

    from decoding.corpus.transcripts import sentences_as_spaces

    with TemporaryDirectory() as folder:
        format = arguments.input_format
        taken = sentences_as_spaces(arguments.paths, folder, format, references, option)
        if taken:
            arguments.paths = [taken.get(path, path) for path in arguments.paths]
            arguments.input_format = None
            # messages name the files of the user
            arguments.made_of = {made: own for own, made in taken.items()}
        yield taken


@contextmanager
def join_recordings(arguments: argparse.Namespace) -> Iterator[bool]:
    """Replace the input by its recordings, if --join asks for them; tell whether any failed."""
    if arguments.join is None:
        yield False
        return
    if getattr(arguments, "resume", False):
        arguments.parser.error("--join and --resume exclude one another: convert --join first")
    from tempfile import TemporaryDirectory

    from decoding.corpus.outcomes import Failure, Failures
    from decoding.corpus.runner import run as run_corpus
    from decoding.corpus.transforms import join_segments, keep_unchanged, recording_pattern
    from decoding.tasks.spaces import SpacesTask
    from lattices import write

    pattern = recording_pattern(arguments.join)
    failures, written = Failures(), 0

    def recordings() -> Iterator[Space]:
        nonlocal written
        options = dict(arguments.option)
        outcomes = run_corpus(
            SpacesTask(keep_unchanged),
            arguments.paths,
            format=arguments.input_format,
            options=options,
        )
        for outcome in join_segments(outcomes, pattern):
            if isinstance(outcome, Failure):
                failures.append(outcome)
            else:
                written += 1
                yield outcome.result

    with TemporaryDirectory() as folder:
        made = os.path.join(folder, "recordings.jsonl")
        write(made, recordings())
        if not written:
            raise explain_nothing_done(failures, "no recording could be put together")
        report_failures(failures)
        arguments.made_of = {made: arguments.paths[0]}
        arguments.paths, arguments.input_format, arguments.option = [made], None, []
        yield bool(failures)


def check_one_sentence(arguments: argparse.Namespace) -> None:
    """Refuse several results of a segment in formats that have one."""
    if arguments.format in SENTENCES and (arguments.k or 1) > 1:
        arguments.parser.error(
            f"--format {arguments.format} has one sentence of each segment; -k goes with the others"
        )


@contextmanager
def _resumable_output(
    arguments: argparse.Namespace, stamp: dict[str, Any], on_failure: Callable[[Failure], None]
) -> Iterator[Journal]:
    """Open the output as the arguments say, and tell the user how to go on where that helps.

    ``on_failure`` is given every failure of the run that is resumed.
    """
    from decoding.corpus.journal import Journal, drop_shards, has_plan, open_journalled
    from lattices.errors import EngineError

    resume = getattr(arguments, "resume", None)
    if resume is None or arguments.format in TABULAR:
        from lattices.formats.streams import open_output

        with open_output(arguments.output) as stream:
            yield Journal(stream)
        return
    with open_journalled(arguments.output, stamp, resume=resume, on_failure=on_failure) as journal:
        if not resume and has_plan(arguments.output):
            drop_shards(arguments.output)
        if resume:
            done = journal.earlier.outcomes
            note(f"going on after {done} segments" if done else "there is nothing to resume")
        try:
            yield journal
        except (KeyboardInterrupt, EngineError, OSError):
            if journal.has_entries:
                say("interrupted; the same command with --resume goes on from here")
            raise


#: why some runs are in order
_WATCHED = "with these options every result is looked at, in order"


def find_shards(arguments: argparse.Namespace, objection: str = "") -> ShardedRun | None:
    """Return how to run by shards, None if all is to be put in order as it comes.

    ``objection`` is why it has to be.
    """
    asked = getattr(arguments, "shards", None) or getattr(arguments, "partitioned", False)
    several = arguments.workers > 1 or arguments.dask or getattr(arguments, "executor", None)
    if not (asked or getattr(arguments, "resume", False) or several):
        return None
    from decoding.cli.sharding import choose_shards

    return choose_shards(arguments, objection) if hasattr(arguments, "shards") else None


def file_stamps(paths: list[str]) -> list[list[Any]]:
    """Return name, size and time of every file, to tell whether one was changed."""
    from lattices.formats.streams import files_of, is_url, stamp_remote

    stamps: list[list[Any]] = []
    for path in paths:
        for file in files_of(path):
            if file == STANDARD:
                stamps.append([file])
            elif is_url(file):
                stamps.append([file, stamp_remote(file)])
            else:
                found = os.stat(file)
                stamps.append([os.path.abspath(file), found.st_size, found.st_mtime_ns])
    return stamps


def _list_option_files(metrics: Sequence[Metric]) -> list[str]:
    """Return the files that metrics read: their options, and parts of these, that are files."""
    parts = {
        part
        for metric in metrics
        for option in re.split("[,=()]", str(metric))
        for part in (option, *re.split("[+:]", option))
    }
    return sorted(part for part in parts if os.path.isfile(part))


def stamp_of(arguments: argparse.Namespace, task: Any, *without: str) -> dict[str, Any]:
    """Return what every output depends on: a run is resumed by one that has the same stamp.

    These are the files, how they are read and written, and the fields of the task; ``without`` are
    fields that are files, or make no difference.
    """
    from dataclasses import fields

    from decoding.version import __version__

    metrics: Sequence[Metric] = task.metrics
    skipped = {"references", "metrics", *without}
    options = {
        each.name: _stamp(getattr(task, each.name))
        for each in fields(task)
        if each.name not in skipped
    }
    return {
        "version": __version__,
        "input": file_stamps(arguments.paths),
        "input format": arguments.input_format,
        "input options": sorted(map(list, arguments.option)),
        **{name: value for name in SCALES if (value := getattr(arguments, name, None)) is not None},
        "references": file_stamps(arguments.refs or []),
        "reference format": arguments.refs_format,
        "reference ids": arguments.refs_id,
        **({"partial references": True} if arguments.partial_refs else {}),
        **({"reference variants": True} if arguments.refs_variants else {}),
        **({"ids": file_stamps([arguments.ids])} if getattr(arguments, "ids", None) else {}),
        "metrics": [str(metric) for metric in metrics],
        "metric files": file_stamps(_list_option_files(metrics)),
        "format": arguments.format,
        **options,
    }


#: options that make no difference to what is written
_MANNERS = {
    "parser",
    "run",
    "quiet",
    "verbose",
    "workers",
    "dask",
    "executor",
    "shards",
    "partitioned",
    "resume",
}


def stamp_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what an output depends on that no task tells: all options, and the files they name."""
    from decoding.version import __version__

    options = {name: each for name, each in vars(arguments).items() if name not in _MANNERS}
    named = [
        str(part)
        for name, each in options.items()
        if name != "output"
        for part in (each if isinstance(each, list | tuple) else [each])
    ]
    files = sorted({path for path in named if os.path.isfile(path)}.difference(arguments.paths))
    return {
        "version": __version__,
        "input": file_stamps(arguments.paths),
        "files": file_stamps(files),
        **{name: _stamp(each) for name, each in options.items() if not callable(each)},
    }


def _stamp(value: Any) -> Any:
    """Return an option as JSON has it, or as text."""
    if isinstance(value, Mapping):
        return sorted([name, _stamp(one)] for name, one in value.items())
    return value if value is None or isinstance(value, str | int | float) else repr(value)


def write_results(
    arguments: argparse.Namespace,
    task: SummedTask,
    writers: Mapping[str, Writer],
    *,
    stamp: Mapping[str, Any] | None = None,
    done: str,
    required: bool = False,
    kept: Sequence[str] = (),
    watch: Callable[[Iterator[Outcome]], Iterator[Outcome]] = iter,
    conclude: Callable[[Totals], dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Do a task over the corpus, write its results and the summary, and return the latter."""
    from decoding.corpus.outcomes import Done, Failure
    from decoding.corpus.table import Totals
    from decoding.corpus.writers import ResultLines, WrittenTask
    from lattices.formats.streams import open_output

    totals, references = Totals(task.layout), task.references
    lines = ResultLines(totals, arguments.format == "text")
    written = WrittenTask(task, dict(writers), kept)
    sources = getattr(task, "sources", None)
    settle = make_settler(references, arguments, required=required, sources=sources)
    with ExitStack() as stack:
        path = getattr(arguments, "summary", None)
        summary_file = _SummaryFile(stack.enter_context(open_output(path))) if path else None

        def count_earlier(failure: Failure) -> None:
            totals.failures.append(failure)
            if summary_file is not None:
                summary_file.add(failure)

        conclude = conclude or task.summary
        sharded = find_shards(arguments, "" if watch is iter else _WATCHED)
        if sharded is not None:
            from decoding.cli.sharding import run_shards

            totals.start(None)
            of_run = run_shards(
                sharded, written, lines, arguments,
                first=settle, stamp=stamp, suffix=f".{arguments.format}",
            )  # fmt: skip
            found = stack.enter_context(of_run)
            if summary_file is not None:
                for failure in found:
                    summary_file.add(failure)
            check_results(totals, references, done, sources)
            summary = conclude(totals)
        else:
            journal = stack.enter_context(
                _resumable_output(arguments, dict(stamp or {}), count_earlier)
            )
            outcomes = stack.enter_context(
                corpus_outcomes(written, arguments, first=settle, earlier=journal.earlier)
            )
            totals.start(journal.state)
            rows: list[dict[str, Any]] = []
            for outcome in totals.watch(watch(outcomes)):
                if isinstance(outcome, Failure) and summary_file is not None:
                    summary_file.add(outcome)
                if isinstance(outcome, Done) and arguments.format in TABULAR:
                    rows += outcome.result["lines"]
                    journal.write(outcome, b"")
                else:
                    journal.write(outcome, lines.lines(outcome))
                if journal.is_due:
                    journal.enter(totals.state())
            check_results(totals, references, done, sources)
            summary = conclude(totals)
        if arguments.format in TABULAR:
            from decoding.cli.tables import tabular
            from decoding.frames import columns_of

            journal.write_rest(tabular(columns_of(rows), arguments.format))
        if summary_file is not None:
            summary_file.finish(summary)
    report_failures(totals.failures)
    say_unweighted(list(totals.unweighted))
    _tell_engines(totals)
    return summary


def sum_up(arguments: argparse.Namespace, task: SummedTask, done: str) -> dict[str, Any]:
    """Do a task over the corpus for nothing but its summary, report failures, and return it.

    Arguments are those of :func:`write_results`.
    """
    from decoding.corpus.table import Totals
    from decoding.corpus.writers import WrittenTask

    totals = Totals(task.layout)
    first = make_settler(task.references, arguments, required=True)
    with corpus_outcomes(WrittenTask(task), arguments, first=first) as outcomes:
        totals.start(None)
        for outcome in outcomes:
            totals.add(outcome)
    check_results(totals, task.references, done)
    report_failures(totals.failures)
    _tell_engines(totals)
    return task.summary(totals)


def _tell_engines(totals: Totals) -> None:
    detail(f"searched by {'+'.join(sorted(totals.engines))}")


def say_unweighted(names: Sequence[str]) -> None:
    """Tell of the features that have no weight, if there are any."""
    if names:
        shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if names[10:] else "")
        say(f"no weight for the features {shown}: they counted nothing")


class _SummaryFile:
    """The summary as JSON: failures as they come, so that none is kept, then all the rest."""

    def __init__(self, stream: BinaryIO) -> None:
        from decoding.plain_json import json_text

        self._stream, self._text = stream, json_text
        self._before = '{\n  "failures": ['
        self._after = "]"

    def add(self, failure: Failure) -> None:
        fields = {"id": failure.id, "place": failure.place, "reason": failure.reason}
        self._write(f"{self._before}\n    {self._text(fields)}")
        self._before, self._after = ",", "\n  ]"

    def finish(self, summary: Mapping[str, Any]) -> None:
        opening = self._before if self._after == "]" else ""
        rest = self._text(summary, indent=2).removeprefix("{")
        self._write(f"{opening}{self._after},{rest}\n")

    def _write(self, text: str) -> None:
        self._stream.write(text.encode())


def check_results(
    totals: _Counted, references: References | None, done: str, sources: References | None = None
) -> None:
    """Refuse to write results if there are none, or if they may belong to other references."""
    from lattices.errors import FormatError

    failures = totals.failures
    for lines in (references, sources):
        if lines is None or not totals.records:
            continue
        try:
            lines.finish(totals.records)
        except FormatError:
            # a file that could not be read may be what makes the numbers differ
            report_failures(failures)
            raise
    if totals.segments:
        return
    raise explain_nothing_done(failures, f"nothing could be {done}")


def scores_table(
    metrics: Sequence[Metric], summary: Mapping[str, Any], columns: Mapping[str, str]
) -> str:
    """Return the scores of a summary as a table, and below it what the metrics are.

    ``columns`` has the headings of what the summary has under each metric.
    """
    from decoding.cli.tables import format_score, headings, score_headings, table

    rows = []
    for label, metric in zip(score_headings(metrics), metrics, strict=True):
        scores = (summary["metrics"][str(metric)].get(kind) for kind in columns)
        cells = ("-" if score is None else format_score(metric, score) for score in scores)
        rows.append([label, *cells])
    shown = table(["metric", *columns.values()], rows)
    return "\n".join([shown, *headings(metrics)[1], *_rates(metrics, summary, columns)])


def _rates(
    metrics: Sequence[Metric], summary: Mapping[str, Any], columns: Mapping[str, str]
) -> list[str]:
    """Return how many errors each column has, under the metrics that count them."""
    import numpy as np

    from fstmetrics.alignment.rates import format_rates

    lines: dict[str, None] = {}
    for kind, of in columns.items():
        for metric in metrics:
            found = summary["errors"].get(str(metric), {}).get(kind)
            if found is not None:
                stats = np.array([found[name] for name in metric.stat_names], dtype=np.float64)
                shown = format_rates(metric, stats, found["sentences"], found["wrong"], of)
                lines |= dict.fromkeys(shown)
    return list(lines)


#: what has to be said where best sentences need not make the best corpus
SENTENCE_ORACLES = (
    "sentence oracles: the best of each segment; together they need not make the best corpus (see "
    "fstmetrics oracle --corpus)"
)


def oracle_heading(
    metrics: Sequence[Metric], decomposes: bool = True, *, what: str = "", own: bool = False
) -> str:
    """Return the heading of the scores of oracles, which says under what metric they are best.

    Of one metric nobody can doubt that. Of several it is the first, or, with ``own``, the one
    that scores. ``what`` is for other sentences than oracles.
    """
    from decoding.cli.tables import headings

    whose = "" if len(metrics) == 1 else "own " if own else f"{headings(metrics)[0][0]} "
    return whose + (what or ("oracle" if decomposes else "sentence oracles"))


def explain_unscored(summary: Mapping[str, Any], what: str = "the 1-best") -> list[str]:
    """Return what has to be said of a best sentence that nothing makes the best."""
    count, segments = summary["unscored"], summary["segments"]
    if not count:
        return []
    whose = "" if count == segments else f" in {count} of {segments} segments"
    return [f"the model has no scores{whose}: {what} is arbitrary, the first of equals"]


def segments_line(summary: Mapping[str, Any]) -> str:
    """Return how many segments there were, failed and had no references."""
    without = summary["segments"] - summary["judged"]
    return f"{summary['segments']} segments, {summary['failed']} failed" + (
        f", {without} without references" if without else ""
    )
