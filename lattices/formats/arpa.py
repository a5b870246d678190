r"""Back-off n-gram models in ARPA's format (Doug Paul's, as SRILM and KenLM write it).

Lines of a section ``\N-grams:`` are a logarithm to the base of ten, N words, and the weight of
backing off from them, which may be left out. ``\end\`` is the last line.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass

from lattices.errors import FormatError, SpaceError
from lattices.formats.base import split_words, text_lines
from lattices.formats.fields import finite_number
from lattices.formats.streams import open_input

#: the word that stands for all others
UNKNOWN = "<unk>"
_LN10 = math.log(10.0)


@dataclass(frozen=True)
class ArpaModel:
    """A back-off n-gram model."""

    order: int
    scores: Mapping[tuple[str, ...], float]  # natural logarithms of the probabilities of n-grams
    # natural logarithms of the weights of histories; 0 where there is none
    backoffs: Mapping[tuple[str, ...], float]

    def score(self, history: tuple[str, ...], word: str) -> float:
        """Return ``log p(word | history)``: of the longest n-gram that is known, after back-off."""
        total = 0.0
        while True:
            found = self.scores.get((*history, word))
            if found is not None:
                return total + found
            if not history:
                break
            total += self.backoffs.get(history, 0.0)
            history = history[1:]
        unknown = self.scores.get((UNKNOWN,))
        if unknown is None:
            raise SpaceError(f"the word {word!r} is not in the language model, nor is {UNKNOWN}")
        return total + unknown

    def extend_history(self, history: tuple[str, ...], word: str) -> tuple[str, ...]:
        """Return the history after a word: the longest suffix that the model has."""
        if (word,) not in self.scores:
            word = UNKNOWN
        longer = (*history, word)[-(self.order - 1) :] if self.order > 1 else ()
        while longer and longer not in self.scores:
            longer = longer[1:]
        return longer


def read_arpa(path: str | os.PathLike[str]) -> ArpaModel:
    """Return the model of a file in ARPA's format, plain or gzip."""
    name = os.fspath(path)
    scores: dict[tuple[str, ...], float] = {}
    backoffs: dict[tuple[str, ...], float] = {}
    order = 0
    ended = False
    with open_input(name) as (_, stream):
        for line, data in text_lines(stream):
            try:
                text = data.decode("utf-8").strip()
            except UnicodeDecodeError as problem:
                raise FormatError(f"invalid UTF-8: {problem.reason}", name, line) from problem
            if text.startswith("\\"):
                ended = text == "\\end\\"
                order = int(text[1:-7]) if text[1:-7].isdigit() and text[-7:] == "-grams:" else 0
            elif text and order:
                columns = split_words(text)
                words = tuple(columns[1 : order + 1])
                numbers = [finite_number(each) for each in (columns[0], *columns[order + 1 :])]
                if len(words) < order or len(numbers) > 2 or None in numbers:
                    raise FormatError(
                        f"{text!r:.60}, expected a log-probability, {order} words and at most a "
                        "back-off weight", name, line,
                    )  # fmt: skip
                probability, *weight = (number * _LN10 for number in numbers if number is not None)
                scores[words] = probability
                if weight:
                    backoffs[words] = weight[0]
    if not ended or not scores:
        raise FormatError("no ARPA model: it does not end in \\end\\, or has no n-grams", name)
    return ArpaModel(max(map(len, scores)), scores, backoffs)
