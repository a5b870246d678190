"""CDER: the edit distance with jumps, over the reference's length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fstmetrics.matching.matching_metric import MatchingMetric
from fstmetrics.references import Tokens
from fstmetrics.signature import option
from lattices.arrays import FloatColumn, floats


def jump_distance(words: Sequence[str], reference: Sequence[str]) -> int:
    """Return the fewest edits and jumps that make the reference from a sentence.

    The reference is written from left to right, while a place in the sentence is kept. Writing the
    word at that place costs nothing, another one or an additional one costs 1, and so does a jump
    to any place. With e the sentence, r the reference and D(0, 0) = 0, D(i, 0) = 1 behind a jump,

        E(i, l) = min( D(i - 1, l - 1) + [e_i != r_l],  D(i, l - 1) + 1 )
        D(i, l) = min( E(i, l),  1 + min over j of E(j, l) )

    and the answer is D(|e|, |r|). Leaving out one word is never cheaper than a jump over it.
    Cost: O(|e| |r|).

    Examples
    --------
    >>> jump_distance("d e a b c".split(), "a b c d e".split())
    3
    >>> jump_distance("a b c x y z".split(), "a b c".split())
    1
    """
    number = {word: place for place, word in enumerate(dict.fromkeys(words))}
    places = np.array([number[word] for word in words], dtype=np.int64)
    costs = np.ones(len(words) + 1, dtype=np.int64)
    costs[0] = 0
    for word in reference:
        written = costs + 1
        other = places != number.get(word, -1)
        written[1:] = np.minimum(written[1:], costs[:-1] + other)
        costs = np.minimum(written, written.min() + 1)
    return int(costs[-1])


@dataclass(frozen=True, kw_only=True)
class CDER(MatchingMetric):
    """CDER, the cover disjoint error rate: WER in which blocks may move; lower is better.

    ``d(h, r) / |r|``, where the distance d counts insertions, substitutions and jumps
    (:func:`jump_distance`). Every word of the reference is accounted for once, those of the
    hypothesis any number of times or not at all: without that freedom the distance is NP-hard
    (Lopresti and Tomkins 1997). So words that are too many cost one jump, however many they are.
    CDER is at most WER. Moses reports ``1 - CDER`` with the same distances
    (``tests/golden/test_comparators.py``).

    Several references: the one that gives the lowest rate, the first of equals; Moses takes the
    last. Without reference
    words the rate is the number of jumps, at most 1. Costs O(|h| |r|).

    No machine: a jump may lead to any place of the hypothesis, so a state would have to know all
    words before it.

    Parameters
    ----------
    lowercase : bool

    References
    ----------
    Leusch, Ueffing and Ney. CDER: efficient MT evaluation using block movements. EACL 2006.

    Examples
    --------
    >>> evaluator = CDER().against(["we met at the airport at seven o'clock"])
    >>> evaluator.stats("at seven o'clock we met at the airport").tolist()
    [3.0, 8.0]
    >>> evaluator.score("at seven o'clock we met at the airport")
    0.375
    """

    name: ClassVar[str] = "cder"
    higher_is_better: ClassVar[bool] = False
    stat_names: ClassVar[tuple[str, ...]] = ("edits and jumps", "reference length")
    lowercase: bool = option(False)

    def row(self, words: Tokens, references: Sequence[Tokens]) -> FloatColumn:
        """Return distance and length of the reference that gives the lowest rate."""
        rows = [floats([jump_distance(words, each), len(each)]) for each in references]
        return min(rows, key=self.score)

    def score(self, stats: FloatColumn) -> float:
        """Return the error rate from one row of statistics or a sum of rows."""
        distance, length = (float(value) for value in stats)
        return distance / max(length, 1.0)

    def fractions(self, rows: FloatColumn) -> tuple[FloatColumn, FloatColumn]:
        """Return numerators and denominators: the score of a corpus is sum over sum."""
        return rows[:, 0], rows[:, 1]
