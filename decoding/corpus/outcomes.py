"""Segments, results and failures: what goes into a job over a corpus, and what comes out.

A corpus may have millions of segments, and all of them may fail: what is remembered of each,
its id and why it failed, has a size that is bounded here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from fstmetrics.references import Reference
from lattices.errors import OptionError
from lattices.formats.ids import place
from lattices.formats.references import References
from lattices.records import Record, public_fields
from lattices.spaces import Space

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


@dataclass(frozen=True)
class _Outcome(Record):
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
        """Return place, name and reason in one line."""
        name = f"segment {self.id!r}: " if self.id else ""
        return f"{self.place}: {name}{self.reason}"


class Failures:
    """The first thousand failures, and how many there are in all.

    Attributes
    ----------
    first : list of Failure
        At most ``KEPT_FAILURES``.
    last : Failure or None
        The last of all.

    Examples
    --------
    >>> some = Failures(Failure(n, "f", n, "", "not JSON") for n in range(3000))
    >>> len(some), len(some.first), some.last.line, some.count("not JSON")
    (3000, 1000, 2999, 3000)
    """

    def __init__(self, failures: Iterable[Failure] = ()) -> None:
        self.first: list[Failure] = []
        self.last: Failure | None = None
        self._count = 0
        self._reasons: Counter[str] = Counter()
        for failure in failures:
            self.append(failure)

    def append(self, failure: Failure) -> None:
        """Add one."""
        self._count += 1
        self.last = failure
        if len(self.first) < KEPT_FAILURES:
            self.first.append(failure)
        if failure.reason in self._reasons or len(self._reasons) < KEPT_FAILURES:
            self._reasons[failure.reason] += 1

    def __len__(self) -> int:
        """Return how many there are in all."""
        return self._count

    def count(self, reason: str) -> int:
        """Return how many have this reason, one of the first ``KEPT_FAILURES`` reasons."""
        return self._reasons[reason]

    def without(self, reason: str) -> Failures:
        """Return those that have another reason."""
        others = Failures(failure for failure in self.first if failure.reason != reason)
        others._count = self._count - self.count(reason)
        return others
