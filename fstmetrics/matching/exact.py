"""Exact match: whether a sentence is one of its references, and the vote among samples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fstmetrics.matching.matching_metric import MatchingMetric
from fstmetrics.references import Tokens
from fstmetrics.signature import option
from lattices.arrays import FloatColumn, floats
from lattices.spaces import NBest

_NUMBER = re.compile(r"[-+]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?")


def last_number(text: str) -> str | None:
    """Return the last number of a text, spelt one way, or None.

    Examples
    --------
    >>> last_number("so 12 x 100 = $1,200.00."), last_number("-0.50"), last_number("none")
    ('1200', '-0.5', None)
    """
    found = _NUMBER.findall(text)
    if not found:
        return None
    number = found[-1].replace(",", "").lstrip("+")
    if "." in number and "e" not in number.lower():
        number = number.rstrip("0").rstrip(".")
    return number or "0"


@dataclass(frozen=True, kw_only=True)
class Exact(MatchingMetric):
    """Exact match: 1 if a sentence is one of its references, else 0; higher is better.

    Of a corpus it is the share of segments, 1 - SER. Under ``mbr`` it is the vote: the answer that
    most of the samples give, by their probabilities (self-consistency). With
    ``oracle --at K,K,... --random`` it is pass@k.

    Parameters
    ----------
    extract : {"none", "number", "last"}
        What of a sentence is compared: all words, the last number in it (``1,200.0`` is ``1200``),
        or the last word. A sentence without a number matches nothing.
    lowercase : bool

    References
    ----------
    Wang, Wei, Schuurmans, Le, Chi, Narang, Chowdhery and Zhou. Self-consistency improves chain of
    thought reasoning in language models. ICLR 2023.

    Examples
    --------
    >>> evaluator = Exact(extract="number").against(["#### 1,200"])
    >>> evaluator.score("so that makes 1200.0 dollars"), evaluator.score("I do not know")
    (1.0, 0.0)
    """

    name: ClassVar[str] = "exact"
    stat_names: ClassVar[tuple[str, ...]] = ("matches", "segments")
    extract: Literal["none", "number", "last"] = option("none")
    lowercase: bool = option(False)

    def answer(self, words: Tokens) -> object:
        """Return what of a sentence is compared; None matches nothing."""
        if self.extract == "number":
            return last_number(" ".join(words))
        return words[-1:] if self.extract == "last" else words

    def row(self, words: Tokens, references: Sequence[Tokens]) -> FloatColumn:
        """Return whether a sentence is one of the references, and 1."""
        answer = self.answer(words)
        found = answer is not None and any(answer == self.answer(each) for each in references)
        return floats([float(found), 1.0])

    def score(self, stats: FloatColumn) -> float:
        """Return the share of matches from one row of statistics or a sum of rows."""
        matches, segments = (float(value) for value in stats)
        return matches / max(segments, 1.0)

    def fractions(self, rows: FloatColumn) -> tuple[FloatColumn, FloatColumn]:
        """Return numerators and denominators: the score of a corpus is sum over sum."""
        return rows[:, 0], rows[:, 1]

    def pair_scores(self, candidates: NBest, evidence: NBest) -> FloatColumn:
        """Return which candidates (columns) match which sentences of evidence (rows)."""
        number: dict[object, int] = {None: -1}
        ours, theirs = (
            np.array(
                [
                    number.setdefault(self.answer(self.words(some.tokens(entry))), len(number))
                    for entry in range(len(some))
                ],
                np.int64,
            )
            for some in (candidates, evidence)
        )
        return floats((theirs[:, None] == ours) & (ours >= 0))
