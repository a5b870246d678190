"""Clipped n-gram matches: many sentences against one set of references, or a corpus.

The n-grams of the references stand in a trie: a node for each of them, found from the node of
the n-gram one unit shorter by a hash of (node, unit). Each knows how often one reference
has it, the most of all references. A sentence walks down the trie from each of its positions
until it falls out: the cost is one step for each n-gram that matches, and one for each unit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lattices.arrays import Array, FloatColumn, IntColumn, column, floats, inlined, ints, kernel

#: Fibonacci hashing: the golden ratio in 64 bits; the high bits of the product are the hash
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ROOT = 0


class NGrams(NamedTuple):
    """The n-grams of some references, with the most times that one reference has each.

    Attributes
    ----------
    key : int64 column
        A hash table of ``node * (units + 1) + unit``; 0 is an empty place.
    node : int32 column
        The n-gram that each key leads to.
    limit : int32 column
        How often the n-gram of each node may match.
    units : int
        Units are numbered 1..units; every other unit of a sentence is 0.
    order : int
        The longest n-grams.
    """

    key: Array
    node: IntColumn
    limit: IntColumn
    units: int
    order: int

    @classmethod
    def of(cls, unit: IntColumn, offset: IntColumn, units: int, order: int) -> NGrams:
        """Return the n-grams of the references ``unit[offset[i]:offset[i + 1]]``.

        Costs O(reference units x order).
        """
        key, node, limit = _counted(ints(unit), ints(offset), units, order)
        return cls(column(key, np.int64), ints(node), ints(limit), units, order)

    def matches(
        self, unit: IntColumn, offset: IntColumn, lengths: FloatColumn, strict: bool
    ) -> FloatColumn:
        """Return one row for each sentence ``unit[offset[i]:offset[i + 1]]``.

        Parameters
        ----------
        unit, offset : int column
        lengths : float64 column
            Candidates for the effective reference length, ascending: the closest to the
            sentence's own is taken, the shorter of two.
        strict : bool
            Whether a sentence counts as no longer than its effective reference length.

        Returns
        -------
        float64 array
            Clipped matches of orders 1..order, n-grams of orders 1..order, the length of the
            sentence, the effective reference length.
        """
        return floats(_matched(
            ints(unit), ints(offset), self.key, self.node, self.limit,
            self.units, self.order, floats(lengths), strict,
        ))  # fmt: skip


@inlined
def _place(key, wanted, shift):  # type: ignore[no-untyped-def]
    """Return where ``wanted`` stands in the hash table, or where it would."""
    place = np.int64((np.uint64(wanted) * GOLDEN) >> shift)
    while key[place] != 0 and key[place] != wanted:
        place = (place + 1) & (len(key) - 1)
    return place


@kernel
def _counted(unit, offset, units, order):  # type: ignore[no-untyped-def]
    most = 1
    for sentence in range(len(offset) - 1):
        length = offset[sentence + 1] - offset[sentence]
        most += length * min(order, length)
    bits = 1
    while (1 << bits) < 2 * most:
        bits += 1
    shift = np.uint64(64 - bits)
    key = np.zeros(1 << bits, np.int64)
    node = np.zeros(1 << bits, np.int32)
    limit = np.zeros(most, np.int32)
    count = np.zeros(most, np.int32)
    nodes = _ROOT + 1
    for sentence in range(len(offset) - 1):
        count[:nodes] = 0
        end = offset[sentence + 1]
        for begin in range(offset[sentence], end):
            here = np.int64(_ROOT)
            for position in range(begin, min(begin + order, end)):
                wanted = here * (units + 1) + unit[position]
                place = _place(key, wanted, shift)
                if key[place] == 0:
                    key[place], node[place] = wanted, nodes
                    nodes += 1
                here = np.int64(node[place])
                count[here] += 1
                limit[here] = max(limit[here], count[here])
    return key, node, limit[:nodes].copy()


@kernel
def _matched(unit, offset, key, node, limit, units, order, lengths, strict):  # type: ignore[no-untyped-def]
    bits = 0
    while (1 << bits) < len(key):
        bits += 1
    shift = np.uint64(64 - bits)
    sentences = len(offset) - 1
    rows = np.zeros((sentences, 2 * order + 2))
    count = np.zeros(len(limit), np.int32)
    touched = np.empty(len(limit), np.int32)
    for sentence in range(sentences):
        end = offset[sentence + 1]
        length = end - offset[sentence]
        touches = 0
        for begin in range(offset[sentence], end):
            here = np.int64(_ROOT)
            for position in range(begin, min(begin + order, end)):
                if unit[position] == 0:
                    break
                place = _place(key, here * (units + 1) + unit[position], shift)
                if key[place] == 0:
                    break
                here = np.int64(node[place])
                if count[here] == 0:
                    touched[touches] = here
                    touches += 1
                count[here] += 1
                if count[here] <= limit[here]:
                    rows[sentence, position - begin] += 1.0
        for touch in range(touches):
            count[touched[touch]] = 0
        for k in range(min(order, length)):
            rows[sentence, order + k] = length - k
        effective = lengths[0]
        for other in range(1, len(lengths)):
            if abs(lengths[other] - length) < abs(effective - length):
                effective = lengths[other]
        rows[sentence, 2 * order] = min(float(length), effective) if strict else float(length)
        rows[sentence, 2 * order + 1] = effective
    return rows


@kernel
def matches_of_segments(  # type: ignore[no-untyped-def]
    unit, offset, reference_unit, reference_offset, segment, lengths, length_offset,
    units, order, strict,
):  # fmt: skip
    """Return one row, as :meth:`NGrams.matches` does, for each segment of a corpus.

    Segment ``i`` has the sentence ``unit[offset[i]:offset[i + 1]]``, the references
    ``segment[i]..segment[i + 1] - 1``, cut from ``reference_unit`` by ``reference_offset``,
    and candidates ``lengths[length_offset[i]:length_offset[i + 1]]`` for its effective
    reference length.
    """
    rows = np.empty((len(offset) - 1, 2 * order + 2))
    for i in range(len(rows)):
        references = reference_offset[segment[i] : segment[i + 1] + 1]
        key, node, limit = _counted(reference_unit, references, units, order)
        candidates = lengths[length_offset[i] : length_offset[i + 1]]
        rows[i] = _matched(
            unit, offset[i : i + 2], key, node, limit, units, order, candidates, strict
        )[0]
    return rows
