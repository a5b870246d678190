"""Ids of the segments of a corpus, each of which counts once."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from struct import Struct

import numpy as np

from lattices.arrays import Array
from lattices.optional import blake2b

#: bits of a place that are the line, or the number of the segment; the others number the file
_PLACE_BITS = 40


def place(path: str, line: int) -> str:
    """Return ``file:line``, or the file where lines mean nothing."""
    return f"{path}:{line}" if line else path


class SeenIds:
    """Ids of segments, and the place where each was first seen, in about 35 bytes an id.

    An id is known by 128 bits of its BLAKE2 digest, of which no two have ever been the same.
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

    def add(self, id: str, path: str, line: int, number: int = -1) -> str:
        """Note an id; return the place where it was seen before, empty if it is new.

        Where lines mean nothing ``line`` is 0, and ``number`` says which segment of the file it is.
        """
        low, high = _digest(id)
        slot = self._slot(low, high)
        known = self._slots[slot]
        if known:
            packed = self._places[known - 1]
            file, within = self._files[packed >> _PLACE_BITS], packed & ((1 << _PLACE_BITS) - 1)
            return f"segment {within >> 1} of {file}" if within & 1 else place(file, within >> 1)
        if not self._files or self._files[-1] != path:
            self._files.append(path)
        self._digests.append(low)
        self._digests.append(high)
        within = number << 1 | 1 if line == 0 and number >= 0 else line << 1
        self._places.append((len(self._files) - 1) << _PLACE_BITS | within)
        self._slots[slot] = len(self._places)
        if 3 * len(self._places) > 2 * len(self._slots):
            self._grow()
        return ""

    def find_objection(self, id: str, path: str, line: int, number: int = -1) -> str:
        """Return why an id is refused; if it is not, return "" and record it."""
        known = self.add(id, path, line, number)
        return f"the id is that of {known} already" if known else ""

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


def digest_ids(ids: Iterable[str]) -> Array:
    """Return the first 64 bits of the digests of ids, sorted."""
    return np.sort(np.array([_digest(id)[0] for id in ids], np.uint64))


_TWO_WORDS = Struct("<QQ").unpack


def _digest(id: str) -> tuple[int, ...]:
    data = id.encode("utf-8", "surrogatepass")
    return _TWO_WORDS(blake2b(data, digest_size=16).digest())
