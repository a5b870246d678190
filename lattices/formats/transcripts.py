"""Transcripts that may be said in several ways, as NIST's sclite reads them.

``i've { um / uh / @ } as far`` has three sentences: ``{ a / b }`` is an alternation of one or more
texts, which may hold others, and ``@`` is no word. ``(word)`` may be left out. Braces, slashes
and ``@`` are signs only where they stand alone; a slash outside of braces is a word.

A transcript of one sentence is a string; any other becomes a lattice, whose size is that of the
text however many sentences it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from lattices.formats.base import split_words
from lattices.spaces import Lattice


@dataclass(frozen=True)
class Alternatives:
    """The sentences of a transcript, as an automaton.

    Attributes
    ----------
    arcs : tuple of (int, int, str)
        From where, to where, and the word; states are in topological order, from 0.
    states : int
        How many; the last one is final.
    """

    arcs: tuple[tuple[int, int, str], ...]
    states: int

    def lattice(self, id: str) -> Lattice:
        """Return the lattice; all of its scores are 0."""
        return Lattice.from_arcs(self.arcs, [self.states - 1], states=self.states, id=id)


Transcript: TypeAlias = "str | Alternatives"


class Transcriber:
    """A transcript in the making, from texts or word by word.

    Examples
    --------
    >>> transcriber = Transcriber()
    >>> transcriber.add_text("yes { um / { uh / @ } huh } (so)")
    >>> sorted(path.text for path in transcriber.result().lattice("").paths())
    ['yes huh', 'yes huh so', 'yes uh huh', 'yes uh huh so', 'yes um', 'yes um so']
    """

    def __init__(self) -> None:
        self._arcs: list[tuple[int, int, str]] = []
        self._states, self._here = 1, 0
        #: where each alternation that is open began, and where its alternatives ended so far
        self._open: list[tuple[int, list[int]]] = []
        self._branches = False

    def _next(self) -> int:
        self._states += 1
        return self._states - 1

    def word(self, word: str) -> None:
        """Add a word, one that may be left out if it is in parentheses."""
        after = self._next()
        if len(word) > 2 and word[0] == "(" and word[-1] == ")":
            self._branches = True
            self._arcs.append((self._here, after, ""))
            word = word[1:-1]
        self._arcs.append((self._here, after, word))
        self._here = after

    def begin(self) -> None:
        """Begin an alternation."""
        self._branches = True
        self._open.append((self._here, []))

    def alternative(self) -> None:
        """Begin the next alternative."""
        start, ends = self._open[-1]
        ends.append(self._here)
        self._here = start

    def end(self) -> None:
        """End the innermost alternation."""
        _, ends = self._open.pop()
        after = self._next()
        self._arcs += [(state, after, "") for state in (*ends, self._here)]
        self._here = after

    def add_text(self, text: str) -> None:
        """Add a text, in which all alternations end.

        Raises
        ------
        ValueError
            If they do not, or if an alternative has nothing in it, not even ``@``.
        """
        depth = len(self._open)
        previous = ""
        for token in split_words(text):
            inside = len(self._open) > depth
            closing = token == "}" or (token == "/" and inside)
            if closing and not inside:
                raise ValueError("a } without its {")
            if closing and previous in ("{", "/"):
                raise ValueError("an alternative with nothing in it; no word is spelt @")
            if token == "{":
                self.begin()
            elif token == "}":
                self.end()
            elif closing:
                self.alternative()
            elif token != "@":
                self.word(token)
            # outside of braces, a slash is a word like any other
            previous = token if inside or token == "{" else ""
        if len(self._open) > depth:
            raise ValueError("a { without its }")

    def result(self) -> Transcript:
        """Return the transcript."""
        if self._branches:
            return Alternatives(tuple(self._arcs), self._states)
        return " ".join([word for _, _, word in self._arcs])
