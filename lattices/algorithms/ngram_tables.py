"""The n-grams of a space, and what can be expected of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lattices.algorithms.ngram_trie import EMPTY, Ngrams, word_numbers
from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError
from lattices.vocabulary import Vocabulary

PRESENCE, COUNT = "presence", "count"
KINDS = (PRESENCE, COUNT)
SUM, MAX = "sum", "max"
MERGES = (SUM, MAX)


@dataclass(frozen=True, eq=False, repr=False)
class NgramPosteriors:
    """The n-grams of a space in columns, each with its probability or its expected count.

    Attributes
    ----------
    vocabulary : Vocabulary
    order : int
        The longest n-grams.
    kind : {"presence", "count"}
        Whether ``value`` is the probability that a sentence has the n-gram, or the number of
        times that it has it on average.
    table : Ngrams
        The trie of the n-grams; its first row is the empty one.
    table_value : float64 column
        One entry a row of the trie; what it says of the empty n-gram has no meaning.

    Examples
    --------
    >>> from lattices import Lattice, ngram_posteriors
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b"), (1, 2, "a")], finals=[2])
    >>> found = ngram_posteriors(lattice, order=2)
    >>> found["a"], found["b", "a"], found["a", "b"]
    (1.0, 0.5, 0.0)
    >>> ngram_posteriors(lattice, order=2, kind="count")["a"]
    1.5
    """

    vocabulary: Vocabulary
    order: int
    kind: str
    table: Ngrams
    table_value: FloatColumn

    @property
    def length(self) -> IntColumn:
        """How many words each n-gram has."""
        return ints(self.table.length[1:])

    @property
    def value(self) -> FloatColumn:
        """The probability, or the expected count, of each n-gram."""
        return floats(self.table_value[1:])

    @cached_property
    def words(self) -> IntColumn:
        """The numbers of the words of each n-gram, a row each, zeros after the last."""
        return ints(self.table.matrix(self.order)[1:])

    def __len__(self) -> int:
        """Return how many n-grams there are."""
        return len(self.table_value) - 1

    def __getitem__(self, ngram: str | Sequence[str]) -> float:
        """Return the value of an n-gram, given as its words or as one word; 0 if unknown."""
        words = (ngram,) if isinstance(ngram, str) else tuple(ngram)
        if not 1 <= len(words) <= self.order:
            raise OptionError(f"{len(words)} words, but n-grams have from 1 to {self.order}")
        numbers = tuple(self.vocabulary.id(word) for word in words)
        return self._by_words.get(numbers, 0.0)

    @cached_property
    def _by_words(self) -> dict[tuple[int, ...], float]:
        rows = zip(self.words.tolist(), self.length.tolist(), self.value.tolist(), strict=True)
        return {tuple(words[:length]): value for words, length, value in rows}

    def items(self) -> Iterator[tuple[tuple[str, ...], float]]:
        """Iterate over n-grams and their values: short ones first, then in the order of words."""
        rows = zip(self.words.tolist(), self.value.tolist(), strict=True)
        named = [(self.vocabulary.decode(words), value) for words, value in rows]
        return iter(sorted(named, key=lambda item: (len(item[0]), item[0])))

    def values_of(self, ngrams: Ngrams, vocabulary: Vocabulary) -> FloatColumn:
        """Return the value of each n-gram of another table, 0 where it is not in this one.

        ``vocabulary`` has the words of the other table. Cost: O(n-grams of that table).
        """
        if ngrams is self.table:
            return self.table_value
        used = np.unique(ngrams.row[1:, 1]).tolist()
        size = 1 + max(used, default=0)
        if vocabulary is self.vocabulary:
            numbers = ints(np.arange(size))
        else:
            there = (self.vocabulary.id(vocabulary.word(word)) for word in used)
            numbers = word_numbers(dict(zip(used, there, strict=True)), size)
        rows = ngrams.rows_in(self.table, numbers)
        values = np.where(rows > EMPTY, self.table_value[rows], 0.0)
        return floats(values)

    def __repr__(self) -> str:
        """Return what there is and how much of it."""
        return f"<NgramPosteriors ({self.kind}) of {len(self)} n-grams up to order {self.order}>"


def check_kinds(kind: str, merge: str) -> None:
    """Refuse kinds of expectations, and ways to merge sentences, that do not exist."""
    if kind not in KINDS:
        raise OptionError(f"kind={kind!r}, expected one of {', '.join(KINDS)}")
    if merge not in MERGES:
        raise OptionError(f"merge={merge!r}, expected one of {', '.join(MERGES)}")
