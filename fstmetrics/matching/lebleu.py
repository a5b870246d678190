"""LeBLEU: BLEU over n-grams that match by their letters."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fstmetrics.matching.edits import distances
from fstmetrics.matching.matching_metric import MatchingMetric
from fstmetrics.references import Tokens
from fstmetrics.signature import option
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError


def ngrams(words: Tokens, order: int) -> Counter[Tokens]:
    """Return the n-grams of a sentence for n up to the order, with their numbers.

    Examples
    --------
    >>> ngrams(("a", "cat", "a"), 2)
    Counter({('a',): 2, ('cat',): 1, ('a', 'cat'): 1, ('cat', 'a'): 1})
    """
    return Counter(
        words[at : at + n] for n in range(1, order + 1) for at in range(len(words) - n + 1)
    )


@dataclass(frozen=True, kw_only=True)
class LeBLEU(MatchingMetric):
    """LeBLEU, the Levenshtein BLEU: n-grams match by the share of their letters that agree.

    ``BP * mean over n of (sum of match scores) / (n-grams of h)``, for n from 1 to the order. An
    n-gram of the hypothesis may match one of up to twice the order in the reference, so that
    a compound meets its parts. The score of a match is

        1 - d(g, g') / max(|g|, |g'|)

    with the edit distance d of both as text, blanks included, and 0 below the threshold. An n-gram
    that comes c times takes the best c occurrences in the reference; n-grams do not compete.
    ``BP = min(1, exp(1 - |r| / |h|))`` with lengths in letters; the mean is arithmetic, over the
    orders of which there are n-grams. Over a corpus match scores, n-grams and lengths are summed.

    These are the scores of the authors' program (``tests/golden/test_comparators.py``) but for
    sentences of more than 250 words, of which it takes a sample of n-grams, and for empty sentences
    and repeated n-grams beside a short reference, where it fails. Several references: the best
    score, of each segment. Costs O(order^2 |h| |r|) edit distances. No machine.

    Parameters
    ----------
    order : int
        The longest n-gram of the hypothesis.
    threshold : float
        Below which a match is none, in [0, 1]; 1 takes equal n-grams only.
    lowercase : bool

    References
    ----------
    Virpioja and Grönroos. LeBLEU: n-gram-based translation evaluation score for morphologically
    complex languages. WMT 2015.

    Examples
    --------
    >>> evaluator = LeBLEU(order=1).against(["the summerhouse"])
    >>> evaluator.stats("the summer house").round(4).tolist()
    [2.0, 3.0, 16.0, 15.0]
    >>> 1 + 6 / 11 + 5 / 11
    2.0
    """

    name: ClassVar[str] = "lebleu"
    heading: ClassVar[str] = "LeBLEU"
    order: int = option(4, always=True)
    threshold: float = option(0.4, always=True)
    lowercase: bool = option(False)

    def __post_init__(self) -> None:
        """Refuse what means nothing."""
        if type(self.order) is not int or not 1 <= self.order <= 100:
            raise OptionError(f"order is a whole number from 1 to 100, not {self.order!r}")
        if not 0 <= self.threshold <= 1:
            raise OptionError(f"threshold is a number from 0 to 1, not {self.threshold}")

    @property
    def stat_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Match scores and n-grams of each order, and the lengths in letters."""
        orders = range(1, self.order + 1)
        matches = (f"{n}-gram matches" for n in orders)
        return (*matches, *(f"{n}-grams" for n in orders), "length", "reference length")

    def row(self, words: Tokens, references: Sequence[Tokens]) -> FloatColumn:
        """Return the statistics against the reference that scores best, the first of equals."""
        return max((self._pair(words, each) for each in references), key=self.score)

    def _pair(self, words: Tokens, reference: Tokens) -> FloatColumn:
        """Return the statistics against one reference."""
        own, other = ngrams(words, self.order), ngrams(reference, 2 * self.order)
        matches = np.zeros(self.order)
        if own and other:
            texts = [[" ".join(each) for each in side] for side in (own, other)]
            longest = np.maximum.outer(*(np.array([*map(len, each)]) for each in texts))
            scores = 1.0 - distances(*texts) / np.maximum(longest, 1)
            scores[scores < self.threshold] = 0.0
            best = scores.max(axis=1)
            available = np.array([*other.values()])
            for at, (ngram, count) in enumerate(own.items()):
                if count == 1:
                    matched = float(best[at])
                else:
                    # the best occurrences: as many of each as the reference has, up to the count
                    order = np.argsort(-scores[at])
                    before = np.cumsum(available[order]) - available[order]
                    taken = np.clip(count - before, 0, available[order])
                    matched = float(taken @ scores[at][order])
                matches[len(ngram) - 1] += matched
        totals = [max(0, len(words) - n) for n in range(self.order)]
        sizes = [len(" ".join(each)) for each in (words, reference)]
        return floats([*matches, *totals, *sizes])

    def score(self, stats: FloatColumn) -> float:
        """Return LeBLEU from one row of statistics or a sum of rows."""
        counts: list[float] = np.asarray(stats, dtype=np.float64).tolist()
        *of_orders, length, reference = counts
        pairs = zip(of_orders[: self.order], of_orders[self.order :], strict=True)
        precisions = [match / total for match, total in pairs if total]
        if not precisions:
            return 0.0
        brevity = min(1.0, math.exp(1.0 - reference / length))
        return brevity * math.fsum(precisions) / len(precisions)
