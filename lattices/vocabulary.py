"""Vocabulary: words to integers and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from lattices._native import Labels
from lattices.arrays import IntColumn, ints
from lattices.errors import SpaceError

EPSILON = 0
EPSILON_NAME = "<eps>"
UNKNOWN = -1


class Vocabulary:
    """Append-only numbering of words; 0 is epsilon, the empty word.

    A word is any non-empty string, whatever it looks like: ``[x]``, ``<s>`` and even
    ``<eps>`` are words here. Formats that spell epsilon (``<eps>``, ``!NULL``,
    ``*EPS*``) translate at their border.

    A vocabulary grows while files are read and never renumbers, so any number of
    lattices share one.

    Examples
    --------
    >>> words = Vocabulary(["the", "cat"])
    >>> words.add("sat"), words.add("the")
    (3, 1)
    >>> words.decode([1, 2, 0, 3])
    ('the', 'cat', 'sat')
    >>> words.encode(["the", "dog"]).tolist()
    [1, -1]
    """

    __slots__ = ("_ids", "_labels", "_words")

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._words: list[str] = [""]
        self._ids: dict[str, int] = {"": EPSILON}
        # by the identity of symbol tables, which are kept so that no other can have it
        self._labels: dict[int, tuple[Mapping[int, str], Labels]] = {}
        self.add_all(words)

    def add(self, word: str) -> int:
        """Return the number of ``word``, giving it the next free one if it is new."""
        found = self._ids.get(word) if isinstance(word, str) else None
        if found is None:
            if not isinstance(word, str):
                raise SpaceError(f"a word is a string, not {type(word).__name__}: {word!r:.80}")
            if not word.isascii():
                try:
                    word.encode()
                except UnicodeEncodeError:
                    raise SpaceError(
                        f"the word {word!a} has half of a surrogate pair, which no file can hold"
                    ) from None
            found = self._ids[word] = len(self._words)
            self._words.append(word)
        return found

    def add_all(self, words: Iterable[str]) -> list[int]:
        """Return the numbers of ``words``, adding the new ones: the fast way to fill a column."""
        get, add = self._ids.get, self.add
        try:
            # `or` would send epsilon, number 0, to add(), which answers 0 as well
            return [get(word) or add(word) for word in words]
        except TypeError as problem:
            # not iterable, or a word that no dictionary can hold
            raise SpaceError(f"words are strings: {problem}") from problem

    def labels_of(
        self, symbols: Mapping[int, str]
    ) -> tuple[Labels, Callable[[list[int]], list[int] | None]]:
        """Return the numbers of a symbol table's labels, and the function that gives more.

        The function adds the words of labels; it returns None if one is not in the table.
        """
        if id(symbols) not in self._labels:
            self._labels[id(symbols)] = symbols, Labels()
        _, labels = self._labels[id(symbols)]
        return labels, partial(self._number_labels, symbols)

    def _number_labels(self, symbols: Mapping[int, str], labels: list[int]) -> list[int] | None:
        if not all(label == EPSILON or label in symbols for label in labels):
            return None
        return self.add_all([symbols[label] if label != EPSILON else "" for label in labels])

    def id(self, word: str) -> int:
        """Return the number of ``word``, or -1 when it is not known; nothing is added."""
        return self._ids.get(word, UNKNOWN)

    @property
    def numbers(self) -> dict[str, int]:
        """The number of every word, for native code to look up; not to be changed."""
        return self._ids

    def encode(self, words: Iterable[str]) -> IntColumn:
        """Return the numbers of ``words`` as a column, -1 where not known; nothing is added."""
        get = self._ids.get
        return ints([get(word, UNKNOWN) for word in words])

    def word(self, number: int) -> str:
        """Return the word numbered ``number``; epsilon is the empty string."""
        if not 0 <= number < len(self._words):
            raise SpaceError(f"no word has the number {number}; the vocabulary has {len(self)}")
        return self._words[number]

    def decode(self, numbers: Iterable[int]) -> tuple[str, ...]:
        """Return the words numbered so, epsilons left out."""
        words = self._words
        return tuple([words[number] for number in numbers if number])

    @property
    def strings(self) -> list[str]:
        """The words by their numbers, epsilon the empty one: read it, never write to it."""
        return self._words

    def __len__(self) -> int:
        """Return how many numbers are taken, epsilon's included."""
        return len(self._words)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the words in the order of their numbers, from 1."""
        return iter(self._words[1:])

    def __contains__(self, word: object) -> bool:
        """Tell whether ``word`` has a number."""
        return word in self._ids

    def __reduce__(self) -> tuple[type[Vocabulary], tuple[list[str]]]:
        """Pickle the words alone."""
        return Vocabulary, (self._words[1:],)

    def __repr__(self) -> str:
        """Return the number of words and the first few."""
        shown = ", ".join(map(repr, self._words[1:4])) + (", ..." if len(self) > 4 else "")
        return f"<Vocabulary of {len(self) - 1} words: {shown}>"
