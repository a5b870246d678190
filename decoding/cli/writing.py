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
from decoding.cli.running import corpus_outcomes, say_unweighted
from decoding.cli.terminal import say

if TYPE_CHECKING:
    from decoding.corpus.encoding import Ready, Target
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
) -> int:
    """Transform every segment of the input, write them, and return the exit code.

    ``references`` are those the transform uses, if any. ``then`` is for what has to be done with
    segments in their order, by this process. Features that are not among ``weights`` are told.
    """
    from decoding.corpus.encoding import SYMBOLS
    from decoding.tasks.spaces import EncodedTask, SpacesTask

    target = replace(target_of(arguments), weights=weights)
    first = make_settler(references, arguments)
    if SYMBOLS not in target.options and then is None:
        with corpus_outcomes(EncodedTask(transform, target), arguments, first=first) as outcomes:
            return write_outcomes(arguments, target, outcomes, references)
    # no two processes may extend a table of symbols, nor know what comes before a segment
    with corpus_outcomes(SpacesTask(transform), arguments, first=first) as spaces:
        ready = prepare_results(spaces if then is None else then(spaces), target.ready)
        return write_outcomes(arguments, target, ready, references)


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
    from lattices.formats import FORMATS

    path, folder = arguments.output, None
    if os.path.isdir(path):
        suffix = next(iter(FORMATS.get(target.format).suffixes), "")
        folder = _Folder(path, suffix, list_inputs(arguments))
    sieve = _Sieve(target.format, references, folder)
    good = sieve.sift(outcomes)
    if folder is not None:
        folder.write(good)
    elif target.together:
        _write_together(path, target, good)
    else:
        _write_one_by_one(path, target, good)
    report_failures(sieve.failures)
    sieve.report_losses()
    say_unweighted(list(sieve.unweighted))
    if sieve.failures:
        say(f"{sieve.written} segments written, {len(sieve.failures)} failed")
    return 1 if sieve.failures else 0


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


def _write_together(path: str, target: Target, good: Iterable[Done[Ready]]) -> None:
    from lattices.formats.streams import open_output

    with open_output(path) as stream:
        target.put(stream, (done.result for done in good))


def _write_one_by_one(path: str, target: Target, good: Iterable[Done[Ready]]) -> None:
    from lattices.errors import FormatError
    from lattices.formats import FORMATS
    from lattices.formats.streams import open_output

    single = FORMATS.get(target.format).single
    with open_output(path) as stream:
        for number, done in enumerate(good):
            if single and number:
                raise FormatError(
                    f"{target.format} holds one segment a file; write to a directory",
                    path if path != STANDARD else "<stdout>",
                )
            stream.write(done.result.data)


class _Sieve:
    """Passes on what can be written; records failures and losses."""

    def __init__(
        self, format: str, references: References | None, folder: _Folder | None = None
    ) -> None:
        from decoding.corpus.outcomes import Failures

        self._format, self._references, self._folder = format, references, folder
        self._records = 0
        self._losses: dict[str, tuple[str, int]] = {}
        self.unweighted: dict[str, None] = {}
        self.written = 0
        self.failures = Failures()

    def sift(self, outcomes: Iterable[Done[Ready] | Failure]) -> Iterator[Done[Ready]]:
        """Iterate over what can be written; at the end, raise FormatError if that is nothing."""
        from decoding.corpus.outcomes import Failure

        for outcome in outcomes:
            self._records += outcome.position >= 0
            if isinstance(outcome, Failure):
                self.failures.append(outcome)
                continue
            problem = self._find_objection(outcome.id)
            if problem:
                self.failures.append(
                    Failure(outcome.position, outcome.path, outcome.line, outcome.id, problem)
                )
                continue
            self.written += 1
            self.unweighted.update(dict.fromkeys(outcome.result.unweighted))
            for what, where in outcome.result.losses.items():
                first, count = self._losses.get(what, (where, 0))
                self._losses[what] = first, count + 1
            yield outcome
        self._check()

    def _find_objection(self, name: str) -> str:
        """Return why a segment of this name cannot be written; empty if it can."""
        return self._folder.find_objection(name) if self._folder is not None else ""

    def _check(self) -> None:
        from lattices.errors import FormatError

        if self._references is not None and self._records:
            try:
                self._references.finish(self._records)
            except FormatError:
                # a file that could not be read may be what makes the numbers differ
                report_failures(self.failures)
                raise
        if self.failures and not self.written:
            raise explain_nothing_done(self.failures, "nothing could be written")

    def report_losses(self) -> None:
        """Say what was left out, a line for each kind of thing."""
        for what, (where, count) in list(self._losses.items())[:SHOWN_FAILURES]:
            more = f" and {count - 1} more segments" if count > 1 else ""
            say(f"{self._format} cannot hold, and left out: {what} of {where}{more}")
        if len(self._losses) > SHOWN_FAILURES:
            say(f"... and {len(self._losses) - SHOWN_FAILURES} more kinds of things")
