"""What goes into a job over a corpus, and what comes out: segments, results, failures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from lattices.formats.reading import place
from lattices.spaces import Space

R = TypeVar("R")


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


@dataclass(frozen=True)
class _Outcome:
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
