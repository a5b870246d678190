"""Edit distances of all pairs of two lists of sequences, natively."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from fstmetrics._native import Pairs, edit_distances
from lattices.arrays import Array, IntColumn, ints


def distances(some: Sequence[Sequence[Hashable]], others: Sequence[Sequence[Hashable]]) -> Array:
    """Return the Levenshtein distance of each sequence (rows) to each of the others (columns).

    Cost: O(pairs x length x length / 16), where equal items are found by hashing.

    Examples
    --------
    >>> distances(["house", "mouse"], ["mice", "house"]).tolist()
    [[4, 0], [3, 1]]
    """
    number: dict[Hashable, int] = {}

    def columns(sequences: Sequence[Sequence[Hashable]]) -> tuple[IntColumn, IntColumn]:
        unit = [number.setdefault(each, len(number) + 1) for one in sequences for each in one]
        return ints(unit), ints(np.cumsum([0, *map(len, sequences)]))

    return edit_distances(Pairs(*columns(others), *columns(some)))
