"""What commands that run over a corpus share: workers, a cluster, progress, going on."""

from __future__ import annotations

import argparse
import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from decoding.cli.arguments import STANDARD, add_workers, say

if TYPE_CHECKING:
    from decoding.corpus.journal import Journal
    from decoding.corpus.runner import Done, Earlier, Failure, Job, Segment

R = TypeVar("R")


def add_running(parser: argparse.ArgumentParser) -> None:
    """Add who does the work, and whether to tell about it."""
    add_workers(parser)
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="the scheduler of a Dask cluster that does the work, such as tcp://host:8786, or its "
        "scheduler file; instead of --workers",
    )
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="nothing on standard error but what went wrong"
    )


def add_resuming(parser: argparse.ArgumentParser) -> None:
    """Add whether to go on with what is there."""
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on with what an interrupted run with the same arguments left beside OUT",
    )


def check_running(arguments: argparse.Namespace) -> None:
    """Refuse two kinds of workers, and what cannot be resumed."""
    if arguments.dask and arguments.workers > 1:
        arguments.parser.error("--dask and --workers exclude one another")
    if arguments.dask:
        from lattices.optional import require

        require("distributed", "dask")
    if not getattr(arguments, "resume", False):
        return
    if arguments.output == STANDARD:
        arguments.parser.error("--resume needs -o OUT: there is nothing to go on with in a pipe")
    if STANDARD in (*arguments.paths, *(arguments.refs or [])):
        arguments.parser.error("--resume needs files: standard input cannot be checked or skipped")


@contextmanager
def corpus_outcomes(
    job: Job[R],
    arguments: argparse.Namespace,
    *,
    first: Callable[[Iterator[Segment]], None] | None = None,
    earlier: Earlier | None = None,
) -> Iterator[Iterator[Done[R] | Failure]]:
    """Run a job as the arguments say, with progress on a terminal."""
    from decoding.corpus.progress import progress
    from decoding.corpus.runner import Failure, Inputs
    from decoding.corpus.runner import run as run_corpus

    inputs = Inputs(arguments.paths, arguments.input_format)
    _check_formats(inputs.files, arguments.input_format)
    with ExitStack() as stack:
        cluster: dict[str, Any] = {"workers": arguments.workers}
        if arguments.dask:
            from decoding.corpus.dask import dask_executor

            def say_so(seconds: float) -> None:
                where = f"the Dask scheduler {arguments.dask!r}"
                say(f"{where} has no workers: waiting for one, up to {seconds:.0f} s")

            executor = stack.enter_context(dask_executor(arguments.dask, say_so))
            cluster = {"workers": executor.workers, "executor": executor}
            inputs.shared_files = executor.can_open(inputs.files)
        shown = stack.enter_context(progress(inputs.bytes, wanted=not arguments.quiet))
        # all that was imported stays: looking through it for garbage, again and again while
        # results come in, is time lost, and workers would get copies of what is only looked at
        gc.freeze()

        problems: list[str] = []

        def watched() -> Iterator[Done[R] | Failure]:
            for outcome in run_corpus(
                job,
                inputs,
                options=dict(arguments.option),
                first=first,
                earlier=earlier,
                on_read=shown.read,
                warn=problems.append,
                **cluster,
            ):
                shown.done(isinstance(outcome, Failure))
                yield outcome
            shown.close()
            for problem in problems:
                say(f"warning: {problem}")

        yield watched()


def _check_formats(files: Sequence[str], name: str | None) -> None:
    """Say at once which package is missing, if the format of a file needs one.

    This also loads the formats, all of which are asked whose a file is: no part of the work.
    """
    from lattices.formats.known import available, by_suffix, named
    from lattices.optional import check_requirements

    if name is not None:
        check_requirements(named(name))
        return
    demanding = [format for format in available() if hasattr(format, "require")]
    for file in files:
        check_requirements(*by_suffix(file, demanding))


@contextmanager
def resumable_output(
    arguments: argparse.Namespace, task: dict[str, Any], on_failure: Callable[[Failure], None]
) -> Iterator[Journal]:
    """Open the output as the arguments say, and tell the user how to go on where that helps.

    ``on_failure`` is given every failure of the run that is resumed.
    """
    from decoding.corpus.journal import journalled
    from lattices.errors import EngineError

    with journalled(
        arguments.output, task, resume=arguments.resume, on_failure=on_failure
    ) as journal:
        if arguments.resume and not arguments.quiet:
            done = journal.earlier.outcomes
            say(f"going on after {done} segments" if done else "there is nothing to resume")
        try:
            yield journal
        except (KeyboardInterrupt, EngineError, OSError):
            if journal.has_entries:
                say("interrupted; the same command with --resume goes on from here")
            raise


def file_stamps(paths: list[str]) -> list[list[Any]]:
    """Return name, size and time of every file, to tell whether one was changed."""
    from lattices.formats.streams import files_of

    stamps: list[list[Any]] = []
    for path in paths:
        for file in files_of(path):
            if file == STANDARD:
                stamps.append([file])
            else:
                found = os.stat(file)
                stamps.append([os.path.abspath(file), found.st_size, found.st_mtime_ns])
    return stamps
