"""A hash table's places, for kernels that count n-grams."""

from __future__ import annotations

import numpy as np

from fstmetrics.ngram_counts import GOLDEN
from lattices.arrays import inlined


@inlined
def hash_place(key, wanted, shift):  # type: ignore[no-untyped-def]
    """Return where ``wanted`` stands in a hash table of ``2 ** (64 - shift)``, or where it would.

    0 is an empty place; the table has one, always.
    """
    place = np.int64((np.uint64(wanted) * GOLDEN) >> shift)
    while key[place] != 0 and key[place] != wanted:
        place = (place + 1) & (len(key) - 1)
    return place
