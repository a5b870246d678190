"""The confusion network of a space: bins of words, with a posterior for each.

A decision by expected edits aligns every path of a space to the bins of one sentence; who stands
in a bin, and how probably, is what the alignment leaves behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Any, NamedTuple

import numpy as np

from lattices.arrays import FloatColumn, IntColumn, floats, isotonic
from lattices.formats.confusion.slots import Alternatives, lattice_of
from lattices.spaces import Lattice
from lattices.vocabulary import EPSILON, Vocabulary

#: posteriors below this are not shown in a notebook
_LEAST_SHOWN = 0.001


class Alternative(NamedTuple):
    """A word of a bin, "" for none: its posterior, and when it begins and ends on average.

    The times are None where the space has none, and of a word of posterior 0.
    """

    word: str
    posterior: float
    begin: float | None = None
    end: float | None = None


class ConfidentWord(NamedTuple):
    """A word of the sentence: its posterior, and when it begins and ends, None without times."""

    word: str
    confidence: float
    begin: float | None = None
    end: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class ConfusionNetwork:
    """Bins of alternatives, of which the sentence has one each, in read-only columns.

    The sentence has ``L`` words and ``2 L + 1`` bins: those of its words, and before, between and
    after them bins in which it has no word.

    Examples
    --------
    >>> from decoding.minimum_risk.edit import edit
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -0.1), (0, 1, "the", -0.9), (1, 2, "cat"), (1, 2, "", -2.0)], [2]
    ... )
    >>> network = edit(lattice).network
    >>> [{found.word: round(found.posterior, 2) for found in row} for row in network.bins]
    [{'': 1.0}, {'a': 0.69, 'the': 0.31}, {'': 1.0}, {'cat': 0.88, '': 0.12}, {'': 1.0}]
    >>> [(found.word, round(found.confidence, 2)) for found in network.words]
    [('a', 0.69), ('cat', 0.88)]
    """

    #: the words behind ``label``
    vocabulary: Vocabulary
    #: 0 is no word
    label: IntColumn
    #: they sum to one in each bin
    posterior: FloatColumn
    #: bin ``i`` is the alternatives from ``offset[i]`` up to ``offset[i + 1]``
    offset: IntColumn
    #: the alternative of the sentence
    chosen: IntColumn
    #: when each alternative begins and ends, in seconds, averaged over the paths that have it
    #: there; ``nan`` for a posterior of 0
    begin: FloatColumn | None = None
    end: FloatColumn | None = None
    #: when each bin begins and ends, averaged over all paths, and put in order where a bin would
    #: end after the next one begins, see :func:`sort_times`
    bin_begin: FloatColumn | None = None
    bin_end: FloatColumn | None = None
    id: str = ""
    #: those of the space
    references: tuple[Any, ...] = ()

    def __len__(self) -> int:
        """Return how many bins there are."""
        return len(self.chosen)

    def __repr__(self) -> str:
        """Return the segment's name and the size."""
        return f"<ConfusionNetwork {self.id!r} of {len(self)} bins>"

    def _repr_html_(self) -> str:
        """Return the bins for a notebook, a column each.

        Those in which no alternative has a word are not shown, nor are words below one in a
        thousand.
        """
        from lattices.drawing import cell, html_table

        word_of = self.vocabulary.word
        columns: list[list[str]] = []
        for place, row in enumerate(self.bins):
            if all(found.word == "" for found in row):
                continue
            chosen = word_of(int(self.label[self.chosen[place]]))
            columns.append(
                [
                    cell(found.word or "ε", "strong" if found.word == chosen else "match")
                    + " "
                    + cell(f"{found.posterior:.3f}", "muted")
                    for found in row
                    if found.posterior >= _LEAST_SHOWN or found.word == chosen
                ]
            )
        rows = zip_longest(*columns, fillvalue="")
        caption = f"{self.id or 'confusion network'}: the sentence is bold, with posteriors"
        return html_table(rows, caption=caption)

    @property
    def bins(self) -> tuple[tuple[Alternative, ...], ...]:
        """The alternatives of every bin, the most probable one first."""
        word = self.vocabulary.word
        begins, ends = _optional(self.begin, len(self.label)), _optional(self.end, len(self.label))
        all_of_them = [
            Alternative(word(label), posterior, begin, end)
            for label, posterior, begin, end in zip(
                self.label.tolist(), self.posterior.tolist(), begins, ends, strict=True
            )
        ]
        bounds = self.offset.tolist()
        return tuple(tuple(all_of_them[first:last]) for first, last in pairwise(bounds))

    @property
    def slots(self) -> list[dict[str, Any]]:
        """The places that may have a word, as plain data, for JSON.

        Each has ``begin`` and ``end`` (None without times) and ``words``, each with ``word``, ""
        for none, and ``confidence``, the likeliest first.
        """
        times = self.times or [(None, None)] * len(self)
        return [
            {
                "begin": begin,
                "end": end,
                "words": [{"word": each.word, "confidence": each.posterior} for each in bin],
            }
            for (begin, end), bin in zip(times, self.bins, strict=True)
            if any(each.word for each in bin)
        ]

    @property
    def times(self) -> tuple[tuple[float, float], ...] | None:
        """When each bin begins and ends; None where the space has no times."""
        if self.bin_begin is None or self.bin_end is None:
            return None
        return tuple(zip(self.bin_begin.tolist(), self.bin_end.tolist(), strict=True))

    @property
    def words(self) -> tuple[ConfidentWord, ...]:
        """The words of the sentence with confidences and times.

        A word's times are its own, not those of its bin, and put in order where it would end
        after the next one begins. A word that no path has in its place has its bin's.
        """
        labels = self.label[self.chosen]
        spoken = np.flatnonzero(labels != EPSILON)
        entries = self.chosen[spoken]
        words = [self.vocabulary.word(label) for label in labels[spoken].tolist()]
        confidences = self.posterior[entries].tolist()
        if self.begin is None or self.end is None or self.bin_begin is None or self.bin_end is None:
            return tuple(map(ConfidentWord, words, confidences))
        nowhere = np.isnan(self.begin[entries])
        begins = np.where(nowhere, self.bin_begin[spoken], self.begin[entries])
        ends = np.where(nowhere, self.bin_end[spoken], self.end[entries])
        begins, ends = sort_times(begins, ends)
        return tuple(map(ConfidentWord, words, confidences, begins.tolist(), ends.tolist()))

    def to_lattice(self) -> Lattice:
        """Return the network as a lattice: a state before, between and after the bins.

        The score of an arc is the logarithm of its posterior; alternatives of posterior 0 are
        left out. The time of a state is when the bin after it begins.
        """
        times = None
        if self.bin_begin is not None and self.bin_end is not None:
            times = floats(np.append(self.bin_begin, self.bin_end[-1]))
        return lattice_of(
            Alternatives(self.label, self.posterior, self.offset.tolist()),
            self.vocabulary,
            drop_zeros=True,
            id=self.id,
            times=times,
            references=self.references,
        )


def sort_times(begins: FloatColumn, ends: FloatColumn) -> tuple[FloatColumn, FloatColumn]:
    """Return the times nearest to these, by least squares, of which none is before another.

    Times that are out of order are replaced by their mean, see :func:`lattices.arrays.isotonic`.
    """
    both = np.stack((begins, ends), axis=1).reshape(-1)
    if not (both[1:] < both[:-1]).any():
        return floats(begins), floats(ends)
    both = isotonic(both)
    return floats(both[::2]), floats(both[1::2])


def _optional(times: FloatColumn | None, count: int) -> list[float | None]:
    if times is None:
        return [None] * count
    return [None if time != time else time for time in times.tolist()]
