"""Summaries of a corpus, at the end of commands that write lines for each segment."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from decoding.cli.arguments import report_failures, say, settling
from decoding.cli.running import corpus_outcomes, file_stamps, resumable_output
from decoding.plain_json import json_text

if TYPE_CHECKING:
    from decoding.cli.output.tally import Tally
    from decoding.corpus.outcomes import Done, Failure
    from decoding.corpus.runner import Job
    from fstmetrics import Metric
    from lattices.formats.references import References

    Outcome: TypeAlias = Done[Any] | Failure


def task_over_corpus(arguments: argparse.Namespace, metrics: Sequence[Metric]) -> dict[str, Any]:
    """Return what every output depends on: a run is resumed by one that has the same task."""
    import decoding

    return {
        "version": decoding.__version__,
        "input": file_stamps(arguments.paths),
        "input format": arguments.input_format,
        "references": file_stamps(arguments.refs or []),
        "reference format": arguments.refs_format,
        "reference ids": arguments.refs_id,
        "metrics": [str(metric) for metric in metrics],
    }


def write_summarised(
    arguments: argparse.Namespace,
    job: Job[Any],
    tally: Tally,
    references: References | None,
    *,
    task: Mapping[str, Any],
    settings: Mapping[str, Any],
    done: str,
    for_people: Callable[[dict[str, Any]], str],
    decide: Callable[[Iterator[Outcome]], Iterator[Outcome]] = iter,
    conclude: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    for_failed: bytes = b"",
) -> int:
    """Run a job over the corpus, write its lines and the summary, and return the exit code.

    Parameters
    ----------
    arguments : Namespace
        Those of :func:`~.running.add_running` and :func:`~.running.add_resuming`, the output
        and the file of the summary.
    job : Job
        Returns lines, which ``tally`` counts and turns into bytes.
    tally : Tally
    references : References, optional
        Must have been used up in the end.
    task : mapping
        All that the output depends on: :func:`task_over_corpus` and what else there is.
    settings : mapping
        What the summary tells beyond ``tally``.
    done : str
        What the command does to segments, such as "searched", for the error that none could be.
    for_people : function
        Turns the summary into what is shown, unless the user wants quiet.
    decide : function, optional
        Turns what the job returns into what is written and counted.
    conclude : function, optional
        Turns the summary of the tally into the command's own.
    for_failed : bytes
        What is written for a segment that failed.
    """
    from decoding.corpus.outcomes import Failure
    from lattices.formats.streams import created

    with ExitStack() as stack:
        summary_file = (
            _SummaryFile(stack.enter_context(created(arguments.summary)))
            if arguments.summary
            else None
        )

        def count_earlier(failure: Failure) -> None:
            tally.failures.append(failure)
            if summary_file is not None:
                summary_file.add(failure)

        journal = stack.enter_context(resumable_output(arguments, dict(task), count_earlier))
        outcomes = stack.enter_context(
            corpus_outcomes(job, arguments, first=settling(references), earlier=journal.earlier)
        )
        tally.start(journal.state)
        for outcome in decide(outcomes):
            written = tally.add(outcome)
            if isinstance(outcome, Failure):
                # what is wrong with a whole file is no segment
                written = for_failed if outcome.position >= 0 else b""
                if summary_file is not None:
                    summary_file.add(outcome)
            journal.write(outcome, written)
            if journal.is_due:
                journal.enter(tally.state())
        _check(tally, references, done)
        summary = {**conclude(tally.summary()), **settings}
        if summary_file is not None:
            summary_file.finish(summary)
    report_failures(tally.failures)
    say_unweighted(list(tally.unweighted))
    if not arguments.quiet:
        print(for_people(summary), file=sys.stderr)
    return 1 if tally.failures else 0


def say_unweighted(names: Sequence[str]) -> None:
    """Tell of the features that have no weight, if there are any."""
    if names:
        shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if names[10:] else "")
        say(f"no weight for the features {shown}: they counted nothing")


class _SummaryFile:
    """The summary as JSON: failures as they come, so that none is kept, then all the rest."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._before = '{\n  "failures": ['
        self._after = "]"

    def add(self, failure: Failure) -> None:
        fields = {"id": failure.id, "place": failure.place, "reason": failure.reason}
        self._write(f"{self._before}\n    {json_text(fields)}")
        self._before, self._after = ",", "\n  ]"

    def finish(self, summary: Mapping[str, Any]) -> None:
        opening = self._before if self._after == "]" else ""
        rest = json_text(summary, indent=2).removeprefix("{")
        self._write(f"{opening}{self._after},{rest}\n")

    def _write(self, text: str) -> None:
        self._stream.write(text.encode())


def _check(tally: Tally, references: References | None, done: str) -> None:
    """Refuse to write results if there are none, or if they may belong to other references."""
    from decoding.corpus.outcomes import NO_REFERENCES
    from lattices.errors import FormatError, OptionError

    failures = tally.failures
    if references is not None and tally.records:
        try:
            references.finish(tally.records)
        except FormatError:
            # a file that could not be read may be what makes the numbers differ
            report_failures(failures)
            raise
    if tally.segments:
        return
    without = failures.count(NO_REFERENCES)
    if without:
        report_failures(failures.without(NO_REFERENCES))
        raise OptionError(
            f"none of the {without} segments has references in the input; give them by --refs FILE"
        )
    report_failures(failures, but_last=bool(failures))
    last = failures.last or "there is no segment in the input"
    raise FormatError(f"{last} (nothing could be {done})")


def scores_table(
    metrics: Sequence[Metric], summary: Mapping[str, Any], columns: Mapping[str, str]
) -> str:
    """Return the scores of a summary as a table, and below it what the metrics are.

    ``columns`` has the headings of what the summary has under each metric.
    """
    from decoding.cli.tables import headings, table

    labels, notes = headings(metrics)
    rows = []
    for label, metric in zip(labels, metrics, strict=True):
        scores = (summary["metrics"][str(metric)].get(kind) for kind in columns)
        rows.append([label, *("-" if score is None else f"{score:.4f}" for score in scores)])
    return "\n".join([table(["metric", *columns.values()], rows), *notes])


def unscored_lines(summary: Mapping[str, Any], what: str = "the 1-best") -> list[str]:
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
