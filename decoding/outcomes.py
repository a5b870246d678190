"""What goes into a job over a corpus, and what comes out: segments, results, failures.

A corpus may have millions of segments, and all of them may fail: what is remembered of each,
its id and why it failed, has a size that is bounded here.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from struct import Struct
from typing import Generic, TypeVar

import numpy as np

from lattices.spaces import Space

R = TypeVar("R")

#: failures that are kept; those beyond are counted
KEPT_FAILURES = 1000
#: bits of a place that are the line; the others number the file
_LINE_BITS = 40


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


def place(path: str, line: int) -> str:
    """Return ``file:line``, or the file where lines mean nothing."""
    return f"{path}:{line}" if line else path


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


class SeenIds:
    """Ids of segments, and the place where each was first seen, in about 35 bytes an id.

    An id is known by 128 bits of its BLAKE2 digest, of which no two have ever been the same.
    Digests and places stand in two arrays, in the order of the ids; a table of open addressing
    with linear probing holds their numbers.

    Examples
    --------
    >>> seen = SeenIds()
    >>> seen.add("s1", "a.jsonl", 1), seen.add("s2", "a.jsonl", 2), seen.add("s1", "b.jsonl", 7)
    ('', '', 'a.jsonl:1')
    >>> "s2" in seen, "s3" in seen, len(seen)
    (True, False, 2)
    """

    def __init__(self) -> None:
        self._files: list[str] = []
        self._digests = array("Q")
        self._places = array("Q")
        #: numbers of ids, from 1; 0 is an empty slot
        self._slots = array("I", bytes(4 << 8))

    def __len__(self) -> int:
        """Return how many ids there are."""
        return len(self._places)

    def __contains__(self, id: str) -> bool:
        """Tell whether an id was seen."""
        low, high = _digest(id)
        return bool(self._slots[self._slot(low, high)])

    def add(self, id: str, path: str, line: int = 0) -> str:
        """Note an id; return the place where it was seen before, empty if it is new."""
        low, high = _digest(id)
        slot = self._slot(low, high)
        known = self._slots[slot]
        if known:
            number = self._places[known - 1]
            return place(self._files[number >> _LINE_BITS], number & ((1 << _LINE_BITS) - 1))
        if not self._files or self._files[-1] != path:
            self._files.append(path)
        self._digests.append(low)
        self._digests.append(high)
        self._places.append((len(self._files) - 1) << _LINE_BITS | line)
        self._slots[slot] = len(self._places)
        if 3 * len(self._places) > 2 * len(self._slots):
            self._grow()
        return ""

    def _slot(self, low: int, high: int) -> int:
        """Return the slot of a digest, or the empty one where it would be."""
        slots, digests = self._slots, self._digests
        mask = len(slots) - 1
        slot = low & mask
        while number := slots[slot]:
            if digests[2 * number - 2] == low and digests[2 * number - 1] == high:
                break
            slot = (slot + 1) & mask
        return slot

    def _grow(self) -> None:
        """Make the table twice as large; all ids at once try their first slot, the next, ..."""
        mask = 2 * len(self._slots) - 1
        self._slots = array("I", [0]) * (mask + 1)
        slots = np.frombuffer(self._slots, np.uint32)
        left = np.arange(1, len(self._places) + 1, dtype=np.uint32)
        tried = (np.frombuffer(self._digests, np.uint64)[::2] & np.uint64(mask)).astype(np.uint32)
        while len(left):
            free = slots[tried] == 0
            # of several that want one slot the last is written, and the others go on
            slots[tried[free]] = left[free]
            lost = slots[tried] != left
            left, tried = left[lost], (tried[lost] + np.uint32(1)) & np.uint32(mask)


_TWO_WORDS = Struct("<QQ").unpack


def _digest(id: str) -> tuple[int, ...]:
    data = id.encode("utf-8", "surrogatepass")
    return _TWO_WORDS(hashlib.blake2b(data, digest_size=16).digest())
