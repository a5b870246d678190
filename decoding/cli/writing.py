"""Writing of spaces by commands: target, format and options.

A segment that cannot be read, transformed or written is reported and left out; the others are
written. To that end each is encoded on its own, by the workers, or by this process where the
writer keeps a symbol table in a file; what proves good is put together here.
"""

from __future__ import annotations

import argparse
import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from decoding.cli.arguments import (
    SHOWN_FAILURES,
    explain_nothing_done,
    file_identity,
    list_inputs,
    make_settler,
    report_failures,
)
from decoding.cli.option_table import STANDARD
from decoding.cli.running import corpus_outcomes, find_shards, say_unweighted, stamp_options
from decoding.cli.terminal import say

if TYPE_CHECKING:
    from decoding.corpus.encoding import Ready, ReadySpaces, Target
    from decoding.corpus.runner import Done, Failure
    from decoding.corpus.transforms import Transform
    from lattices.formats.references import References
    from lattices.spaces import Space

R = TypeVar("R")

#: what is written to standard output and to directories, unless --to says otherwise
DEFAULT_FORMAT = "jsonl"
#: bytes of an id that is to name a file; most file systems allow 255, suffixes included
LONGEST_NAME = 200


def target_of(arguments: argparse.Namespace) -> Target:
    """Return the target that was asked for; whatever is wrong with it is said before any work."""
    from decoding.corpus.encoding import ARCHIVE, Target
    from lattices.errors import OptionError
    from lattices.formats.writing import format_for_writing
    from lattices.options import take_options
    from lattices.registry import PREFIX, check_requirements

    path = arguments.output
    directory = os.path.isdir(path)
    if path.endswith("/") and not directory:
        raise FileNotFoundError(errno.ENOENT, "no such directory", path)
    name = arguments.to
    if name is None and (directory or path == STANDARD):
        name = DEFAULT_FORMAT
    format = format_for_writing(path, name)
    check_requirements(format)
    given = dict(arguments.write_option)
    options = take_options(format.write_options, given, f"the writer of format {format.name}")
    if directory and ARCHIVE in options:
        raise OptionError(
            f"{ARCHIVE}= is one file for all segments; write to a file, not into {path}"
        )
    alone = format.appendable or format.single or directory
    # one of the current directory is known by what names it alone
    known = name if name is not None and name.startswith(PREFIX) else format.name
    return Target(known, arguments.lossy, options, together=not alone)


def transform_and_write(
    arguments: argparse.Namespace,
    transform: Transform,
    references: References | None = None,
    then: Callable[[Iterable[Done[Space] | Failure]], Iterable[Done[Space] | Failure]]
    | None = None,
    weights: Mapping[str, float] | None = None,
    sources: References | None = None,
) -> int:
    """Transform every segment of the input, write them, and return the exit code.

    ``references`` are those the transform uses, if any. ``then`` is for what has to be done with
    segments in their order, by this process. Features that are not among ``weights`` are told.
    """
    from decoding.corpus.encoding import SYMBOLS
    from decoding.tasks.spaces import EncodedTask, SpacesTask
    from lattices.formats import FORMATS

    target = replace(target_of(arguments), weights=weights)
    first = make_settler(references, arguments, sources=sources)
    sharded = find_shards(arguments, _find_objection(arguments, target, then is not None))
    if sharded is not None:
        from decoding.cli.sharding import run_shards
        from decoding.corpus.encoding import ReadySpaces

        collector, stamp = ReadySpaces(target), stamp_options(arguments)
        with run_shards(
            sharded, EncodedTask(transform, target), collector, arguments,
            first=first, stamp=stamp, suffix=next(iter(FORMATS.get(target.format).suffixes), ""),
        ):  # fmt: skip
            _check_written(collector, references)
        return _report_written(collector)
    if getattr(arguments, "resume", False):
        arguments.parser.error("--resume goes by shard here: begin with --shards N")
    if SYMBOLS not in target.options and then is None:
        with corpus_outcomes(EncodedTask(transform, target), arguments, first=first) as outcomes:
            return write_outcomes(arguments, target, outcomes, references)
    # no two processes may extend a table of symbols, nor know what comes before a segment
    with corpus_outcomes(SpacesTask(transform), arguments, first=first) as spaces:
        ready = prepare_results(spaces if then is None else then(spaces), target.ready)
        return write_outcomes(arguments, target, ready, references)


def _find_objection(arguments: argparse.Namespace, target: Target, in_order: bool) -> str:
    """Return why spaces cannot be written by shards; empty if they can."""
    from decoding.corpus.encoding import ARCHIVE, SYMBOLS
    from lattices.formats import FORMATS

    if in_order:
        return "what is added is read in the order of the segments"
    if beside := {SYMBOLS, ARCHIVE} & set(target.options):
        return f"{'= and '.join(sorted(beside))}= is one file for all segments"
    if FORMATS.get(target.format).single:
        return f"{target.format} holds one segment a file"
    if target.together and not getattr(arguments, "partitioned", False):
        return f"a file of {target.format} is written as a whole; --partitioned leaves one a shard"
    return ""


def prepare_results(
    outcomes: Iterable[Done[R] | Failure], make: Callable[[R], Ready]
) -> Iterator[Done[Ready] | Failure]:
    """Make results ready in this process; one that cannot be is a failure."""
    from decoding.corpus.runner import SEGMENT_ERRORS, Done, Failure, explain

    for outcome in outcomes:
        if isinstance(outcome, Failure):
            yield outcome
            continue
        place = (outcome.position, outcome.path, outcome.line, outcome.id)
        try:
            ready = make(outcome.result)
        except SEGMENT_ERRORS as problem:
            yield Failure(*place, explain(problem))
        else:
            yield Done(*place, ready)


def write_outcomes(
    arguments: argparse.Namespace,
    target: Target,
    outcomes: Iterable[Done[Ready] | Failure],
    references: References | None = None,
) -> int:
    """Write what is ready, report the rest on standard error, and return the exit code."""
    from decoding.corpus.encoding import ReadySpaces
    from lattices.formats import FORMATS
    from lattices.formats.streams import open_output

    path = arguments.output
    if os.path.isdir(path):
        suffix = next(iter(FORMATS.get(target.format).suffixes), "")
        folder = _Folder(path, suffix, list_inputs(arguments))
        collector = ReadySpaces(target, folder.find_objection)
        folder.write(collector.sift(outcomes))
        _check_written(collector, references)
    else:
        collector = ReadySpaces(target, name=path if path != STANDARD else "<stdout>")
        with open_output(path) as stream:
            collector.write(outcomes, stream)
            _check_written(collector, references)
    return _report_written(collector)


def _check_written(collector: ReadySpaces, references: References | None) -> None:
    """Raise FormatError where nothing was written, or perhaps with wrong references."""
    from lattices.errors import FormatError

    if references is not None and collector.records:
        try:
            references.finish(collector.records)
        except FormatError:
            # a file that could not be read may be what makes the numbers differ
            report_failures(collector.failures)
            raise
    if collector.failures and not collector.written:
        raise explain_nothing_done(collector.failures, "nothing could be written")


def _report_written(collector: ReadySpaces) -> int:
    """Say what failed, what was left out, a line for each kind of thing; return the exit code."""
    failures, losses = collector.failures, list(collector.losses.items())
    report_failures(failures)
    name = collector.target.format
    for what, (where, count) in losses[:SHOWN_FAILURES]:
        more = f" and {count - 1} more segments" if count > 1 else ""
        say(f"{name} cannot hold, and left out: {what} of {where}{more}")
    if len(losses) > SHOWN_FAILURES:
        say(f"... and {len(losses) - SHOWN_FAILURES} more kinds of things")
    say_unweighted(list(collector.unweighted))
    if failures:
        say(f"{collector.written} segments written, {len(failures)} failed")
    return 1 if failures else 0


@dataclass(frozen=True)
class _Folder:
    """A directory that gets one file for each segment, none of which is a file that is read."""

    path: str
    suffix: str
    read: set[tuple[int, int]]

    def file(self, name: str) -> str:
        return os.path.join(self.path, name + self.suffix)

    def find_objection(self, name: str) -> str:
        """Return why a segment of this name cannot have a file; empty if it can."""
        from lattices.errors import FormatError
        from lattices.formats.writing import file_name

        try:
            if len(os.fsencode(file_name(name))) > LONGEST_NAME:
                return "the id is too long for the name of a file"
        except FormatError as problem:
            return problem.problem
        except UnicodeEncodeError:
            return f"the id {name!r} cannot be a file name"
        if file_identity(self.file(name)) in self.read:
            return f"{self.file(name)} is a file that this command reads"
        return ""

    def write(self, good: Iterable[Done[Ready]]) -> None:
        from lattices.formats.streams import open_output

        for done in good:
            with open_output(self.file(done.id)) as stream:
                stream.write(done.result.data)
