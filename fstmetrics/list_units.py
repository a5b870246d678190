"""The sentences of an n-best list in the units of a metric: words, or characters.

A list repeats few words many times. What is done in Python is done once for each distinct word;
the rest are columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fstmetrics.ngram_counts import GOLDEN
from lattices.arrays import IntColumn, ints, kernel
from lattices.spaces import NBest


class ListUnits(NamedTuple):
    """The sentences of a list: entry ``i`` is ``unit[offset[i]:offset[i + 1]]``.

    Attributes
    ----------
    symbols : tuple of str
        The distinct units.
    unit : int32 column
        Places in ``symbols``.
    offset : int32 column
    """

    symbols: tuple[str, ...]
    unit: IntColumn
    offset: IntColumn

    @classmethod
    def of_sentences(cls, sentences: list[list[str]]) -> ListUnits:
        """Return sentences that are lists of units already."""
        number: dict[str, int] = {}
        unit = [number.setdefault(each, len(number)) for sentence in sentences for each in sentence]
        offset = np.cumsum([0, *map(len, sentences)])
        return cls(tuple(number), ints(unit), ints(offset))

    @classmethod
    def of_words(cls, nbest: NBest) -> ListUnits:
        """Return a list in words.

        Examples
        --------
        >>> from lattices import Hypothesis
        >>> some = [Hypothesis(("a", "cat"), -1.0), Hypothesis(("cat",), -3.0)]
        >>> units = ListUnits.of_words(NBest.from_hypotheses(some))
        >>> units.symbols, units.unit.tolist(), units.offset.tolist()
        (('a', 'cat'), [0, 1, 1], [0, 2, 3])
        """
        distinct, unit = _distinct(nbest.label)
        return cls(nbest.vocabulary.decode(distinct.tolist()), ints(unit), nbest.offset)

    def mapped(self, change: Callable[[str], str]) -> ListUnits:
        """Return the list with each unit changed, such as to lower case."""
        return ListUnits(tuple(map(change, self.symbols)), self.unit, self.offset)

    def characters(self, spaces: bool) -> ListUnits:
        """Return the characters of a list of words, with blanks between the words or without.

        Examples
        --------
        >>> units = ListUnits.of_sentences([["a", "cat"], ["at"]]).characters(spaces=True)
        >>> "".join(units.symbols[each] for each in units.unit), units.offset.tolist()
        ('a catat', [0, 5, 7])
        """
        number: dict[str, int] = {" ": 0}
        letter = [number.setdefault(each, len(number)) for word in self.symbols for each in word]
        bounds = np.cumsum([0, *map(len, self.symbols)])
        unit, offset = _spelled(self.unit, self.offset, ints(letter), ints(bounds), spaces)
        return ListUnits(tuple(number), ints(unit), ints(offset))


@kernel
def _distinct(label):  # type: ignore[no-untyped-def]
    """Return the distinct labels in the order of their first occurrence, and each one's place.

    Labels are positive, so that 0 can be an empty place of the hash table.
    """
    bits = 4
    while (1 << bits) < 2 * len(label):
        bits += 1
    shift = np.uint64(64 - bits)
    key = np.zeros(1 << bits, np.int32)
    number = np.empty(1 << bits, np.int32)
    distinct = np.empty(len(label), np.int32)
    result = np.empty(len(label), np.int32)
    count = 0
    for index in range(len(label)):
        place = np.int64((np.uint64(label[index]) * GOLDEN) >> shift)
        while key[place] != 0 and key[place] != label[index]:
            place = (place + 1) & (len(key) - 1)
        if key[place] == 0:
            key[place], number[place], distinct[count] = label[index], count, label[index]
            count += 1
        result[index] = number[place]
    return distinct[:count].copy(), result


@kernel
def _spelled(unit, offset, letter, bounds, spaces):  # type: ignore[no-untyped-def]
    """Return the letters of the words of each sentence; letter 0 is the blank between words."""
    size = 0
    for index in range(len(unit)):
        size += bounds[unit[index] + 1] - bounds[unit[index]] + spaces
    result = np.empty(size, np.int32)
    ends = np.zeros(len(offset), np.int32)
    count = 0
    for sentence in range(len(offset) - 1):
        for index in range(offset[sentence], offset[sentence + 1]):
            if spaces and index > offset[sentence]:
                result[count] = 0
                count += 1
            for place in range(bounds[unit[index]], bounds[unit[index] + 1]):
                result[count] = letter[place]
                count += 1
        ends[sentence + 1] = count
    return result[:count].copy(), ends
