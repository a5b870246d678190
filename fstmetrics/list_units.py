"""The sentences of an n-best list in the units of a metric: words, or characters.

A list repeats few words many times. What is done in Python is done once for each distinct word;
the rest are columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fstmetrics._native import distinct, spell
from lattices.arrays import IntColumn, ints
from lattices.spaces import NBest


class ListUnits(NamedTuple):
    """The sentences of a list: entry ``i`` is ``unit[offset[i]:offset[i + 1]]``."""

    #: the distinct units
    symbols: tuple[str, ...]
    #: places in ``symbols``
    unit: IntColumn
    offset: IntColumn

    @classmethod
    def of_sentences(cls, sentences: list[list[str]]) -> ListUnits:
        """Return a list of sentences given in units."""
        number: dict[str, int] = {}
        unit = [number.setdefault(each, len(number)) for sentence in sentences for each in sentence]
        offset = np.cumsum([0, *map(len, sentences)])
        return cls(tuple(number), ints(unit), ints(offset))

    @classmethod
    def of_words(cls, nbest: NBest) -> ListUnits:
        """Return a list in words."""
        labels, unit = distinct(nbest.label)
        return cls(nbest.vocabulary.decode(labels.tolist()), ints(unit), nbest.offset)

    def map(self, change: Callable[[str], str]) -> ListUnits:
        """Return the list with each unit changed, such as to lower case."""
        return ListUnits(tuple(map(change, self.symbols)), self.unit, self.offset)

    def characters(self, spaces: bool) -> ListUnits:
        """Return the characters of a list of words, with blanks between the words or without."""
        number: dict[str, int] = {" ": 0}
        letter = [number.setdefault(each, len(number)) for word in self.symbols for each in word]
        bounds = np.cumsum([0, *map(len, self.symbols)])
        unit, offset = spell(self.unit, self.offset, ints(letter), ints(bounds), spaces)
        return ListUnits(tuple(number), ints(unit), ints(offset))
