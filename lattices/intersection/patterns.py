"""Patterns of words: regular expressions whose letters are words, compiled to automata.

A pattern has a position for each of its words, and an automaton that knows which position may
follow which (Glushkov 1961): no arc without a word. Determinised by subsets over classes of words,
those that the same positions read, it has one run on each sentence, which is what sums over paths
need; turned round, it leads from the end of a match to its beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from lattices._native import WordPatternColumns
from lattices.arrays import IntColumn, floats, ints
from lattices.caching import cached_property
from lattices.errors import OptionError
from lattices.formats.base import BLANKS
from lattices.intersection.automata import ANY, Automaton
from lattices.vocabulary import Vocabulary

#: positions of a pattern, and states of its automata
MOST_POSITIONS, MOST_STATES = 1_000, 10_000
_SIGNS = frozenset("()|*+?{}\\")
_COUNTS = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")


class _Word(NamedTuple):
    """What one position reads: a word, the words that a regular expression fits, or any word."""

    word: str = ""
    regex: str = ""

    def fits(self, ignore_case: bool) -> re.Pattern[str] | None:
        """Return the regular expression that all words have to be compared with, if there is one.

        None where the word can be looked up, and for any word.
        """
        if self.regex:
            return re.compile(self.regex, re.IGNORECASE if ignore_case else 0)
        if self.word and ignore_case:
            return re.compile(re.escape(self.word), re.IGNORECASE)
        return None


class _Part(NamedTuple):
    """A part of a pattern: whether it may be no word, and the positions it begins and ends with."""

    empty: bool
    first: frozenset[int]
    last: frozenset[int]


class _Repeated(NamedTuple):
    tree: Any
    least: int
    most: int | None


class _Parser:
    """Reads the text of a pattern into a tree: words, lists of parts in a row, sets of parts."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0

    def error(self, problem: str) -> OptionError:
        return OptionError(f"pattern {self.text!r}, character {self.place + 1}: {problem}")

    def parse(self) -> Any:
        found = self.alternatives()
        if self.place < len(self.text):
            raise self.error("a ) without its (")
        return found

    def alternatives(self) -> Any:
        parts = [self.row()]
        while self.text[self.place : self.place + 1] == "|":
            self.place += 1
            parts.append(self.row())
        return tuple(parts) if len(parts) > 1 else parts[0]

    def row(self) -> list[Any]:
        parts: list[Any] = []
        while self.place < len(self.text) and self.text[self.place] not in "|)":
            if self.text[self.place] in BLANKS:
                self.place += 1
            else:
                parts.append(self.repeated(self.one()))
        return parts

    def repeated(self, tree: Any) -> Any:
        sign = self.text[self.place : self.place + 1]
        bounds = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(sign)
        size = 1
        if sign == "{":
            found = _COUNTS.match(self.text, self.place)
            if found is None:
                raise self.error("expected {N}, {N,} or {N,M}; \\{ is a word that begins so")
            least = int(found[1])
            most = least if not found[2] else int(found[3]) if found[3] else None
            bounds, size = (least, most), len(found[0])
            if max(least, most or 0) > MOST_POSITIONS or (most is not None and most < least):
                raise self.error(f"{found[0]} is no range of numbers up to {MOST_POSITIONS}")
        if bounds is None:
            return tree
        self.place += size
        return self.repeated(_Repeated(tree, *bounds))

    def one(self) -> Any:
        sign = self.text[self.place]
        if sign == "(":
            begin = self.place
            self.place += 1
            found = self.alternatives()
            if self.text[self.place : self.place + 1] != ")":
                self.place = begin
                raise self.error("a ( without its )")
            self.place += 1
            return found
        if sign == "/":
            return self.regex()
        if sign in _SIGNS - {"\\"}:
            raise self.error(f"{sign} repeats nothing; \\{sign} is a word that begins so")
        letters = []
        plain = True
        while self.place < len(self.text) and self.text[self.place] not in BLANKS:
            letter = self.text[self.place]
            if letter == "\\":
                self.place += 1
                letter, plain = self.text[self.place : self.place + 1], False
                if not letter:
                    raise self.error("a \\ with nothing behind it")
            elif letter in _SIGNS:
                break
            letters.append(letter)
            self.place += 1
        word = "".join(letters)
        return _Word() if word == "." and plain else _Word(word)

    def regex(self) -> _Word:
        found = re.compile(r"/((?:[^/\\]|\\.)*)/").match(self.text, self.place)
        if found is None:
            raise self.error("a / without the one that ends it; \\/ is a word that begins so")
        try:
            re.compile(found[1])
        except re.error as problem:
            raise self.error(f"/{found[1]}/: {problem}") from None
        self.place = found.end()
        # the empty word is none, and no word fits it
        return _Word("", found[1] or "(?!)")


class _Positions:
    """The positions of a tree, and which of them may follow which."""

    def __init__(self, tree: Any, error: Any) -> None:
        self.words: list[_Word] = []
        self.follow: list[set[int]] = []
        self._error = error
        whole = self._number(tree)
        self.empty, self.first, self.last = whole

    def _number(self, tree: Any) -> _Part:
        if isinstance(tree, _Word):
            if len(self.words) >= MOST_POSITIONS:
                raise self._error(f"more than {MOST_POSITIONS} words, repeated ones among them")
            self.words.append(tree)
            self.follow.append(set())
            alone = frozenset([len(self.words) - 1])
            return _Part(False, alone, alone)
        if isinstance(tree, _Repeated):
            return self._repeat(tree)
        if isinstance(tree, tuple):
            parts = [self._number(each) for each in tree]
            return _Part(
                any(each.empty for each in parts),
                frozenset().union(*(each.first for each in parts)),
                frozenset().union(*(each.last for each in parts)),
            )
        return self._join(self._number(each) for each in tree)

    def _repeat(self, tree: _Repeated) -> _Part:
        """Number a part as often as it has to stand, then those that may be left out."""
        copies = max(tree.least, 1) if tree.most is None else tree.most
        parts = []
        for number in range(copies):
            part = self._number(tree.tree)
            if tree.most is None and number == copies - 1:
                for each in part.last:
                    self.follow[each] |= part.first
            parts.append(part._replace(empty=part.empty or number >= tree.least))
        return self._join(parts)

    def _join(self, parts: Iterable[_Part]) -> _Part:
        whole = _Part(True, frozenset(), frozenset())
        for part in parts:
            for each in whole.last:
                self.follow[each] |= part.first
            whole = _Part(
                whole.empty and part.empty,
                whole.first | part.first if whole.empty else whole.first,
                whole.last | part.last if part.empty else part.last,
            )
        return whole


class _Compiled:
    """What a pattern was compiled to."""

    def __init__(self) -> None:
        #: the vocabulary of the columns, and how many of its words were looked at
        self.vocabulary: Vocabulary | None = None
        self.size = 1
        #: which positions read its words, see :meth:`Pattern._readers`
        self.readers: dict[int, frozenset[int]] = {}
        self.columns: WordPatternColumns | None = None
        #: by the positions that the words of each class are read by
        self.tables: dict[tuple[frozenset[int], ...], tuple[IntColumn, IntColumn]] = {}


@dataclass(frozen=True)
class Pattern:
    r"""A regular expression over words, to be found in what a decoder said.

    ::

        half past seven           words in a row
        (seven|eight) (thirty)?   alternatives; a word or a group that may be missing
        very+ good  no* {2,3}     repeated: once or more, any number of times, twice or three times
        half . seven              . is any word, so that .{0,3} are up to three words
        /walk(s|ed|ing)?/         the words that a regular expression of Python's fits as a whole
        what \?                   a sign as a word, behind a backslash

    Attributes
    ----------
    text : str
    ignore_case : bool

    Raises
    ------
    OptionError
        If the text is no pattern, or no word at all matches it.

    Examples
    --------
    >>> Pattern("half past (seven|eight)").matches("at half past eight o'clock".split())
    True
    >>> Pattern("half past (seven|eight")
    Traceback (most recent call last):
        ...
    lattices.errors.OptionError: pattern 'half past (seven|eight', character 11: a ( without its )
    """

    text: str
    ignore_case: bool = False

    def __post_init__(self) -> None:
        """Read the text."""
        if not isinstance(self.text, str):
            raise OptionError(f"a pattern is a text, not {self.text!r:.60}")
        parser = _Parser(self.text)
        try:
            positions = _Positions(parser.parse(), parser.error)
        except RecursionError:
            raise OptionError(f"pattern {self.text!r:.60}: too many ( in one another") from None
        if positions.empty:
            parser.place = 0
            raise parser.error("every sentence has it, as no word is needed")
        self.__dict__["_positions"] = positions
        self.__dict__["_compiled"] = _Compiled()

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: the text, of which all else is made again."""
        return {"text": self.text, "ignore_case": self.ignore_case}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Read the text again."""
        self.__dict__.update(state)
        self.__post_init__()

    def matches(self, words: Iterable[str]) -> bool:
        """Tell whether a sentence has a match."""
        vocabulary = Vocabulary()
        labels = vocabulary.add_all(words)
        read = self._readers(vocabulary)
        positions: _Positions = self.__dict__["_positions"]
        expected: frozenset[int] = positions.first
        for label in labels:
            now = expected & (read.get(label, frozenset()) | self._any)
            if now & positions.last:
                return True
            expected = positions.first.union(*(positions.follow[each] for each in now))
        return False

    @cached_property
    def _any(self) -> frozenset[int]:
        """The positions that read any word."""
        words = self.__dict__["_positions"].words
        return frozenset(place for place, word in enumerate(words) if word == _Word())

    @cached_property
    def _lookups(self) -> dict[str, list[int]]:
        """The words that can be looked up, and their positions."""
        found: dict[str, list[int]] = {}
        for place, word in enumerate(self.__dict__["_positions"].words):
            if word.word and not self.ignore_case:
                found.setdefault(word.word, []).append(place)
        return found

    @cached_property
    def _regexes(self) -> list[tuple[re.Pattern[str], list[int]]]:
        """The regular expressions that words have to be compared with, and their positions."""
        found: dict[_Word, list[int]] = {}
        for place, word in enumerate(self.__dict__["_positions"].words):
            found.setdefault(word, []).append(place)
        pairs = [(word.fits(self.ignore_case), places) for word, places in found.items()]
        return [(regex, places) for regex, places in pairs if regex is not None]

    def _readers(self, vocabulary: Vocabulary, begin: int = 1) -> dict[int, frozenset[int]]:
        """Return which positions read each word from a number on; those that read any are left out.

        Words that no position reads are not there.
        """
        found: dict[int, set[int]] = {}
        for word, places in self._lookups.items():
            label = vocabulary.id(word)
            if label >= begin:
                found.setdefault(label, set()).update(places)
        for regex, places in self._regexes:
            for label, word in enumerate(vocabulary.strings[begin:], begin):
                if regex.fullmatch(word):
                    found.setdefault(label, set()).update(places)
        return {label: frozenset(places) for label, places in found.items()}

    def compile(self, vocabulary: Vocabulary) -> WordPatternColumns:
        """Return the automata over a vocabulary; they are kept until another one is asked for."""
        kept: _Compiled = self.__dict__["_compiled"]
        if kept.vocabulary is not vocabulary:
            kept.vocabulary, kept.size, kept.readers, kept.columns = vocabulary, 1, {}, None
        if kept.columns is None or len(vocabulary) > kept.size:
            more = self._readers(vocabulary, kept.size)
            kept.size = len(vocabulary)
            if more or kept.columns is None:
                kept.readers |= more
                kept.columns = self._columns(kept)
        return kept.columns

    def _columns(self, kept: _Compiled) -> WordPatternColumns:
        classes = {frozenset[int](): 0}
        words = sorted(kept.readers)
        of_word = [classes.setdefault(kept.readers[word], len(classes)) for word in words]
        alphabet = tuple(classes)
        if alphabet not in kept.tables:
            kept.tables[alphabet] = self._tables(alphabet)
        forward, backward = kept.tables[alphabet]
        return WordPatternColumns(ints(words), ints(of_word), forward, backward, len(classes))

    def _tables(self, alphabet: tuple[frozenset[int], ...]) -> tuple[IntColumn, IntColumn]:
        """Return the tables of both automata, see ``native/matches.hpp``."""
        found: _Positions = self.__dict__["_positions"]
        backward: list[set[int]] = [set() for _ in found.words]
        for place, following in enumerate(found.follow):
            for each in following:
                backward[each].add(place)
        read = [positions | self._any for positions in alphabet]
        return (
            self._determinize(found.first, found.last, found.follow, read, found.first),
            self._determinize(found.last, found.first, backward, read, None),
        )

    def _determinize(
        self,
        first: frozenset[int],
        last: frozenset[int],
        follow: list[set[int]],
        read: list[frozenset[int]],
        again: frozenset[int] | None,
    ) -> IntColumn:
        """Return a table by subsets: a state is the positions that may come next.

        ``again`` are those with which a match may begin anywhere; without them a state from which
        nothing comes leads nowhere.
        """
        number = count()
        states = {first: next(number)}
        waiting = [first]
        table: list[int] = []
        for state in waiting:
            for positions in read:
                now = state & positions
                ends = bool(now & last)
                after = (again or frozenset()).union(*(follow[each] for each in now))
                if again is None and (ends or not after):
                    table.append(1 if ends else -1)
                    continue
                if after not in states:
                    if len(states) >= MOST_STATES:
                        raise OptionError(
                            f"pattern {self.text!r:.60} takes more than {MOST_STATES} states"
                        )
                    states[after] = next(number)
                    waiting.append(after)
                table.append(2 * states[after] + ends)
        return ints(table)

    def automaton(self, vocabulary: Vocabulary) -> Automaton:
        """Return the automaton whose best run on a sentence gains 1 if it has a match, else 0.

        Its states are before a match, one for each position, and behind it.
        """
        found: _Positions = self.__dict__["_positions"]
        size = len(found.words) + 2
        arcs = [(0, 0, ANY), (size - 1, size - 1, ANY)]
        reads: list[list[int]] = [[] for _ in found.words]
        for label, positions in self._readers(vocabulary).items():
            for each in positions:
                reads[each].append(label)
        for each in self._any:
            reads[each] = [ANY]

        def arcs_into(place: int) -> Iterator[tuple[int, int, int]]:
            sources = [1 + each for each, after in enumerate(found.follow) if place in after]
            for label in reads[place]:
                for source in [*sources, *([0] if place in found.first else [])]:
                    yield source, 1 + place, label
                    if place in found.last:
                        yield source, size - 1, label

        for place in range(len(found.words)):
            arcs += arcs_into(place)
        src, dst, labels = (ints(column) for column in zip(*arcs, strict=True))
        initial, final = np.full(size, -np.inf), np.full(size, -np.inf)
        initial[0] = final[0] = 0.0
        final[-1] = 1.0
        return Automaton(
            src, dst, labels, floats(np.zeros(len(arcs))), floats(initial), floats(final)
        )
