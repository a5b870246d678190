"""Recordings of a corpus: segments that stand one after the other as one space."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

from decoding.corpus.outcomes import Done, Failure
from lattices.errors import Error, OptionError

if TYPE_CHECKING:
    from lattices.spaces import Space


def recording_pattern(pattern: str) -> re.Pattern[str]:
    """Return the expression for ids, or refuse it."""
    try:
        return re.compile(pattern)
    except re.error as problem:
        raise OptionError(f"--join {pattern!r} is no regular expression: {problem}") from None


def join_segments(
    outcomes: Iterable[Done[Space] | Failure], pattern: re.Pattern[str]
) -> Iterator[Done[Space] | Failure]:
    """Concatenate the segments of each recording, which the whole id names, or a group in it.

    The segments of a recording stand together in the input; one of them that fails, or stands
    elsewhere, fails, and so does its recording: what is left of it would be scored as if nothing
    else had been said.
    """
    recording = _Recording("")
    known: set[str] = set()
    for outcome in outcomes:
        found = pattern.match(outcome.id)
        name = found.group(found.re.groups and 1) if found else None
        if name is None and isinstance(outcome, Done):
            problem = f"the id {outcome.id!r} is not like --join {pattern.pattern!r}"
            outcome = _refuse(outcome, problem)
        elif name is not None and name != recording.name:
            yield from recording.end()
            recording = _Recording(name)
            if name in known and isinstance(outcome, Done):
                outcome = _refuse(
                    outcome,
                    f"the segments of {name!r} do not stand together; sort the input by id",
                )
            known.add(name)
        if isinstance(outcome, Failure):
            recording.broken = True
            yield outcome
        else:
            recording.parts.append(outcome)
    yield from recording.end()


def _refuse(done: Done[Space], problem: str) -> Failure:
    return Failure(done.position, done.path, done.line, done.id, problem)


class _Recording:
    """The segments of a recording so far, and whether one of them failed."""

    def __init__(self, name: str) -> None:
        self.name, self.broken = name, False
        self.parts: list[Done[Space]] = []

    def end(self) -> Iterator[Done[Space] | Failure]:
        """Return the recording, or why there is none; nothing if it had no segments."""
        from lattices.algorithms import concatenate

        if not self.parts:
            return
        first = self.parts[0]
        place = (first.position, first.path, first.line, self.name)
        if self.broken:
            yield Failure(*place, "not joined: a segment of it failed")
            return
        try:
            whole = concatenate([cast(Any, part.result) for part in self.parts], id=self.name)
        except Error as problem:
            yield Failure(*place, str(problem))
        else:
            yield Done(*place, whole)
