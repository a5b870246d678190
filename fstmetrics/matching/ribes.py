"""RIBES: the rank correlation of words with those of a reference."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from fstmetrics.matching.matching_metric import MatchingMetric
from fstmetrics.references import Tokens
from fstmetrics.signature import option
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError


def align_in_context(words: Tokens, reference: Tokens) -> list[int]:
    """Return the places in the reference of those words whose place is not in doubt.

    A word that comes once in both sentences is matched.

    Examples
    --------
    >>> align_in_context(tuple("xabab"), tuple("abxab"))
    [2, 3, 4]
    """

    @cache
    def places(length: int) -> tuple[Counter[Tokens], dict[Tokens, list[int]]]:
        """Return how often the sentence has its n-grams, and where the reference has its own."""
        found: dict[Tokens, list[int]] = {}
        for at in range(len(reference) - length + 1):
            found.setdefault(reference[at : at + length], []).append(at)
        own = [words[at : at + length] for at in range(len(words) - length + 1)]
        return Counter(own), found

    def place(begin: int, length: int) -> int | None:
        """Return where the reference has an n-gram, if both sentences have it once."""
        own, others = places(length)
        ngram = words[begin : begin + length]
        found = others.get(ngram, ())
        return found[0] if len(found) == own[ngram] == 1 else None

    result = []
    for at, word in enumerate(words):
        if (word,) not in places(1)[1]:
            continue
        # an n-gram longer than the reference is not in it
        for more in range(min(max(at + 1, len(words) - at), len(reference))):
            ending = place(at - more, more + 1) if more <= at else None
            if ending is not None:
                result.append(ending + more)
                break
            beginning = place(at, more + 1) if at + more < len(words) else None
            if beginning is not None:
                result.append(beginning)
                break
    return result


@dataclass(frozen=True, kw_only=True)
class RIBES(MatchingMetric):
    """RIBES: whether the words are in the reference's order, by Kendall's tau.

    ``NKT * P^alpha * BP^beta``, where NKT is the share of pairs of matched words that are in the
    reference's order, that is ``(tau + 1) / 2``; ``P = m / |h|`` the share of words that are
    matched, and ``BP = min(1, exp(1 - |r| / |h|))``. Words are matched by
    :func:`align_in_context`. Fewer than two matches have no order, and score 0, unless the
    reference is one word and it is matched: then NKT is 1.

    Several references: the best score. The score of a corpus is the mean of its segments; one
    whose references are all empty is not counted, as under the option ``-z`` of RIBES.py, the
    authors' program, whose scores these are (``tests/golden/test_comparators.py``). That
    program compares lower case unless told otherwise.

    Costs O(|h|^2 |r|) at most. No machine: the order of two words depends on both of their places.

    Parameters
    ----------
    alpha, beta : float
        The exponents, 0 or more; 0.25 and 0.10 are those of RIBES.py. The paper has no brevity
        penalty (``beta=0``) and tries several values of alpha.
    lowercase : bool

    References
    ----------
    Isozaki, Hirao, Duh, Sudoh and Tsukada. Automatic evaluation of translation quality for distant
    language pairs. EMNLP 2010.

    Hirao, Isozaki, Sudoh, Duh, Tsukada and Nagata. Evaluating translation quality with word order
    correlations. Journal of Natural Language Processing 21(3), 2014.

    Examples
    --------
    >>> evaluator = RIBES().against(["he caught a cold because he got soaked in the rain"])
    >>> round(evaluator.score("he got soaked in the rain because he caught a cold"), 4)
    0.3455
    >>> evaluator.score("he caught a cold because he got soaked in the rain")
    1.0
    """

    name: ClassVar[str] = "ribes"
    stat_names: ClassVar[tuple[str, ...]] = ("score", "segments")
    alpha: float = option(0.25, always=True)
    beta: float = option(0.1, always=True)
    lowercase: bool = option(False)

    def __post_init__(self) -> None:
        """Refuse exponents that reward what they should punish."""
        for name in ("alpha", "beta"):
            if not 0 <= getattr(self, name) < math.inf:
                raise OptionError(f"{name} is a number of at least 0, not {getattr(self, name)}")

    def row(self, words: Tokens, references: Sequence[Tokens]) -> FloatColumn:
        """Return the best score, and 1 for the segment; zeros where no reference has words."""
        scores = [self._pair(words, each) for each in references if each]
        return floats([max(scores), 1.0] if scores else [0.0, 0.0])

    def _pair(self, words: Tokens, reference: Tokens) -> float:
        """Return the score against one reference, which has words."""
        places = align_in_context(words, reference)
        pairs = len(places) * (len(places) - 1) // 2
        if pairs:
            ordered = sum(
                one < other for at, one in enumerate(places) for other in places[at + 1 :]
            )
        elif places and len(reference) == 1:
            pairs = ordered = 1
        else:
            return 0.0
        precision = len(places) / len(words)
        brevity = min(1.0, math.exp(1.0 - len(reference) / len(words)))
        return float(ordered / pairs * precision**self.alpha * brevity**self.beta)

    def score(self, stats: FloatColumn) -> float:
        """Return the mean of the segments' scores."""
        total, segments = (float(value) for value in stats)
        return total / segments if segments else 0.0
