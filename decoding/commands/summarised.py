"""What commands share that write lines for each segment and sum up the corpus at the end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from decoding.commands.arguments import report_failures, settling
from decoding.commands.running import corpus_outcomes, file_stamps, resumable_output
from decoding.plain_json import json_text

if TYPE_CHECKING:
    from decoding.commands.oracle_output import Totals
    from decoding.corpus import Job
    from fstmetrics import Metric
    from lattices.formats.references import References


def check_summary(arguments: argparse.Namespace) -> None:
    """Refuse a summary in the file of the output."""
    if arguments.summary is not None and arguments.summary == arguments.output:
        arguments.parser.error("--summary and -o are the same file")


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
    totals: Totals,
    references: References | None,
    *,
    task: Mapping[str, Any],
    settings: Mapping[str, Any],
    done: str,
    for_people: Callable[[dict[str, Any]], str],
    warn: Callable[[dict[str, Any]], None] | None = None,
) -> int:
    """Run a job over the corpus, write its lines and the summary, and return the exit code.

    Parameters
    ----------
    arguments : Namespace
        Those of :func:`~.running.add_running` and :func:`~.running.add_resuming`, the output
        and the file of the summary.
    job : Job
        Returns lines, which ``totals`` counts and turns into bytes.
    totals : Totals
    references : References, optional
        Must have been used up in the end.
    task : mapping
        All that the output depends on: :func:`task_over_corpus` and what else there is.
    settings : mapping
        What the summary tells beyond ``totals``.
    done : str
        What the command does to segments, such as "searched", for the error that none could be.
    for_people : function
        Turns the summary into what is shown, unless the user wants quiet.
    warn : function, optional
        Tells of anything in the summary that the user must know all the same.
    """
    from lattices.formats.streams import created

    with ExitStack() as stack:
        summary_file = (
            stack.enter_context(created(arguments.summary)) if arguments.summary else None
        )
        journal = stack.enter_context(resumable_output(arguments, dict(task)))
        totals.restore(journal.states)
        outcomes = stack.enter_context(
            corpus_outcomes(job, arguments, first=settling(references), earlier=journal.earlier)
        )
        for outcome in outcomes:
            journal.write(outcome, totals.add(outcome))
            if journal.is_due:
                journal.enter(totals.state())
        _check(totals, references, done)
        summary = {**totals.summary(), **settings}
        if summary_file is not None:
            summary_file.write(json_text(summary, indent=2).encode() + b"\n")
    report_failures(totals.failures)
    if warn is not None:
        warn(summary)
    if not arguments.quiet:
        print(for_people(summary), file=sys.stderr)
    return 1 if totals.failures else 0


def _check(totals: Totals, references: References | None, done: str) -> None:
    """Refuse to write results if there are none, or if they may belong to other references."""
    from decoding.jobs import NO_REFERENCES
    from lattices.errors import FormatError, OptionError

    failures = totals.failures
    if references is not None and totals.records:
        try:
            references.finish(totals.records)
        except FormatError:
            # a file that could not be read may be what makes the numbers differ
            report_failures(failures)
            raise
    if totals.segments:
        return
    others = [failure for failure in failures if failure.reason != NO_REFERENCES]
    without = len(failures) - len(others)
    if without:
        report_failures(others)
        raise OptionError(
            f"none of the {without} segments has references in the input; give them by --refs FILE"
        )
    report_failures(failures[:-1])
    last = failures[-1] if failures else "there is no segment in the input"
    raise FormatError(f"{last} (nothing could be {done})")


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
