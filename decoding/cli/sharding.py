"""Runs by shards: when, where their parts are, and what is told of them."""

from __future__ import annotations

import argparse
import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from decoding.cli.option_table import STANDARD, TABULAR
from decoding.cli.running import open_cluster, open_inputs, scales_of
from decoding.cli.terminal import detail, note, progress, say
from lattices.errors import EngineError

if TYPE_CHECKING:
    from decoding.corpus.inputs import Inputs
    from decoding.corpus.outcomes import Failure, Segment
    from decoding.corpus.runner import Processing
    from decoding.corpus.shards import Collector, ShardedRun, ShardEnd

#: bytes of input from which on workers get shards, unasked
SHARDED = 256_000_000
#: bytes of a shard, unless somebody says how many there are to be
SHARD_BYTES = 32_000_000
#: shards for each worker at least, so that none waits long for another
FOR_A_WORKER = 8


def choose_shards(arguments: argparse.Namespace, objection: str) -> ShardedRun | None:
    """Return how to run by shards: see :func:`decoding.cli.running.find_shards`."""
    asked = bool(arguments.shards or arguments.partitioned)
    reason = _find_objection(arguments) or objection
    if reason and asked:
        option = "--partitioned" if arguments.partitioned else "--shards"
        arguments.parser.error(f"{option}: {reason}")
    if reason:
        return None
    from decoding.corpus.journal import has_plan
    from decoding.corpus.runner import count_processors
    from decoding.corpus.shards import ShardedRun

    resume = bool(getattr(arguments, "resume", False))
    begun = has_plan(arguments.output)
    size = _input_size(arguments.paths)
    elsewhere = bool(arguments.dask or arguments.executor)
    many = size >= SHARDED and (arguments.workers > 1 or elsewhere)
    if not (asked or (begun if resume else many)):
        return None
    if elsewhere and not _are_seen(arguments):
        if not asked:
            return None
        raise EngineError(
            "the workers of the cluster do not see the input, or the folder of the output, as "
            "this process does; --shards needs a file system that all of them share"
        )
    workers = arguments.workers or count_processors()
    count = arguments.shards or max(FOR_A_WORKER * workers, -(-size // SHARD_BYTES))
    return ShardedRun(arguments.output, arguments.partitioned, count, resume=resume)


def _find_objection(arguments: argparse.Namespace) -> str:
    from lattices.formats.streams import is_replaceable, is_url, name_file_in_errors

    output = arguments.output
    if output == STANDARD or is_url(output):
        return "shards are put together in a file; say which by -o OUT"
    with name_file_in_errors(output):
        replaceable = is_replaceable(os.path.realpath(output))
    if not arguments.partitioned and os.path.isdir(output):
        return f"{output!r} is a folder, which gets a file for each segment"
    if not arguments.partitioned and not replaceable:
        return f"{output!r} is no file"
    if getattr(arguments, "format", None) in TABULAR:
        return f"{arguments.format} is written as a whole; tsv and jsonl are not"
    if getattr(arguments, "made_of", None):
        return "files of sentences are read as a whole"
    if STANDARD in arguments.paths:
        return "standard input cannot be cut"
    return ""


def _input_size(paths: Sequence[str]) -> int:
    from lattices.formats.streams import files_of, is_url

    return sum(
        os.path.getsize(file)
        for path in paths
        if not is_url(path)
        for file in files_of(path)
        if os.path.isfile(file)
    )


@contextmanager
def run_shards(
    run: ShardedRun,
    task: Processing[Any],
    collector: Collector,
    arguments: argparse.Namespace,
    *,
    first: Callable[[Iterator[Segment]], None] | None = None,
    stamp: Mapping[str, Any] | None = None,
    suffix: str = "",
) -> Iterator[list[Failure]]:
    """Do a task by shards, and yield all failures; the output has its name when the block ends."""
    from decoding.corpus.runner import Work, count_processors
    from decoding.corpus.shards import Job, open_sharded

    run.stamp = stamp
    job = Job(
        Work(task, dict(arguments.option), scales_of(arguments)),
        collector,
        _part_suffix(run, suffix),
    )
    inputs = open_inputs(arguments)
    with ExitStack() as stack:
        stack.enter_context(open_sharded(run))
        cluster = open_cluster(arguments, inputs, stack)
        cluster["workers"] = cluster["workers"] or count_processors()
        if "executor" in cluster:
            run.count = arguments.shards or max(run.count, FOR_A_WORKER * cluster["workers"])
        shown = stack.enter_context(progress(inputs.bytes, wanted=not arguments.quiet))
        gc.freeze()
        done = 0

        def tell(shard: Inputs, end: ShardEnd) -> None:
            nonlocal done
            done += end.was_there
            shown.read(shard.bytes or 0)
            shown.done(len(end.failures), end.outcomes)

        shards: list[Inputs] = []
        try:
            _, failures, overlap = run.run(
                job, inputs, **cluster, first=first, on_plan=shards.extend, on_end=tell
            )
        except (KeyboardInterrupt, EngineError, OSError):
            if stamp is not None and shards:
                say("interrupted; the same command with --resume goes on from here")
            raise
        shown.close()
        if run.resume:
            note(f"{done} of {len(shards)} shards were done" if done else "nothing was done yet")
        detail(f"{shown.segments:,} segments in {len(shards)} shards in {shown.seconds:.2f} s")
        if overlap.problem:
            say(f"warning: {overlap.problem}")
        yield failures
        run.finish(len(shards), job.suffix)


def _part_suffix(run: ShardedRun, suffix: str) -> str:
    """Return the end of the names of parts: that of the folder, or one for the format."""
    if not run.partitioned:
        return ""
    _, dot, rest = os.path.basename(os.path.realpath(run.output)).partition(".")
    return dot + rest or suffix


def _are_seen(arguments: argparse.Namespace) -> bool:
    """Tell whether workers of a cluster see the same files as this process."""
    from decoding.corpus.dask import can_open
    from decoding.corpus.inputs import Inputs
    from lattices.formats.streams import make_hidden_path

    probe = make_hidden_path(os.path.realpath(arguments.output), "probe")
    with ExitStack() as stack:
        inputs = Inputs(arguments.paths, arguments.input_format, tell=lambda text: None)
        executor = open_cluster(arguments, inputs, stack)["executor"]
        try:
            with open(probe, "wb") as stream:
                stream.write(os.urandom(8))
            return inputs.shared_files and can_open(executor, [probe])
        finally:
            os.unlink(probe)
