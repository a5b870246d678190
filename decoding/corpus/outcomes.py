"""Segments, results and failures: what goes into a job over a corpus, and what comes out.

A corpus may have millions of segments, and all of them may fail: what is remembered of each,
its id and why it failed, has a size that is bounded here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from lattices.errors import OptionError
from lattices.formats.ids import place
from lattices.records import PlainRecord, public_fields
from lattices.spaces import Space

if TYPE_CHECKING:
    from fstmetrics.references import Reference
    from lattices.formats.references import References

R = TypeVar("R")

#: failures that are kept; those beyond are counted
KEPT_FAILURES = 1000
NO_REFERENCES = "no references in the file, and none were given"


@dataclass(frozen=True)
class Segment:
    """One segment of the input, parsed.

    Attributes
    ----------
    position : int
        Which segment of the whole input it is, from 0, counting those that cannot be parsed.
    path : str
        The file it stands in.
    line : int
        Its first line, 0 where lines mean nothing.
    space : Lattice or NBest
    """

    position: int
    path: str
    line: int
    space: Space

    @property
    def id(self) -> str:
        """The segment's name."""
        return self.space.id

    @property
    def place(self) -> str:
        """``file:line``, or the file where lines mean nothing."""
        return place(self.path, self.line)

    def references(
        self, given: References | None, *, required: bool = False
    ) -> tuple[Reference, ...]:
        """Return the references of the segment: those that were given, or its own.

        Raises
        ------
        OptionError
            If they are required, and there are none.
        """
        if given is not None:
            return given.get(self.id, self.position)
        if required and not self.space.references:
            raise OptionError(NO_REFERENCES)
        return self.space.references


def with_sources(segments: Sequence[Segment], sources: References | None) -> list[Segment]:
    """Return the segments, each with its source of a file, if there is one."""
    if sources is None:
        return list(segments)
    found = []
    for segment in segments:
        source, *_ = sources.get(segment.id, segment.position)
        if not isinstance(source, str):
            raise OptionError(f"the source of {segment.id!r} has alternatives")
        found.append(replace(segment, space=replace(segment.space, source=source)))
    return found


@dataclass(frozen=True)
class _Outcome(PlainRecord):
    """What became of one segment."""

    position: int
    path: str
    line: int
    id: str

    @property
    def place(self) -> str:
        """``file:line``, or the file where lines mean nothing."""
        return place(self.path, self.line)


@dataclass(frozen=True)
class Done(_Outcome, Generic[R]):
    """What the job made of one segment; ``position``, ``path``, ``line`` and ``id`` say which."""

    result: R

    def to_dict(self) -> dict[str, Any]:
        """Return which segment it is, and the fields of the result, or it as ``result``."""
        found = public_fields(self)
        result = found.pop("result")
        return {**found, **(result if isinstance(result, dict) else {"result": result})}


@dataclass(frozen=True)
class Failure(_Outcome):
    """Why there is no result for a segment, or for a whole file (``position`` -1).

    ``id`` is empty if the segment could not even be parsed.
    """

    reason: str

    def __str__(self) -> str:
        """Return place, name and reason in one line, which names the segment once."""
        if not self.id:
            return f"{self.place}: {self.reason}"
        named = rf"\b(lattice|forest|n-best list) {re.escape(repr(self.id))}"
        reason = re.sub(named, r"the \1", self.reason)
        return f"{self.place}: segment {self.id!r}: {reason}"


#: what differs between two failures of one cause
_DETAILS = re.compile(r"^segment (?:'[^']*'|\"[^\"]*\"): |\d+(?:[.,]\d+)*")


class Failures:
    """The first thousand failures, the first of each cause, and how many there are in all.

    Failures have one cause if their reasons are the same apart from the id and from numbers.

    Attributes
    ----------
    first : list of Failure
        At most ``KEPT_FAILURES``.
    last : Failure or None
        The last of all.

    Examples
    --------
    >>> some = Failures(Failure(n, "f", n, "", f"not JSON: column {n}") for n in range(3000))
    >>> some.append(Failure(3000, "f", 3000, "x", "no path"))
    >>> len(some), len(some.first), some.last.line
    (3001, 1000, 3000)
    >>> [(str(failure), count) for failure, count in some.causes()]
    [('f: not JSON: column 0', 3000), ("f:3000: segment 'x': no path", 1)]
    """

    def __init__(self, failures: Iterable[Failure] = ()) -> None:
        self.first: list[Failure] = []
        self.last: Failure | None = None
        self._count = 0
        self._causes: dict[str, tuple[Failure, int]] = {}
        for failure in failures:
            self.append(failure)

    def append(self, failure: Failure) -> None:
        """Add one."""
        self._count += 1
        self.last = failure
        if len(self.first) < KEPT_FAILURES:
            self.first.append(failure)
        cause = _DETAILS.sub("", failure.reason.replace(repr(failure.id), ""))
        first, count = self._causes.get(cause, (failure, 0))
        if count or len(self._causes) < KEPT_FAILURES:
            self._causes[cause] = first, count + 1

    def __len__(self) -> int:
        """Return how many there are in all."""
        return self._count

    def causes(self) -> list[tuple[Failure, int]]:
        """Return the first failure of each of the first causes, and how many it has in all."""
        return list(self._causes.values())
