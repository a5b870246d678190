"""MAXSIM: n-grams matched one to one, equal ones first and similar ones then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

import numpy as np

from fstmetrics.matching.matching_metric import MatchingMetric
from fstmetrics.matching.words import stemmer
from fstmetrics.references import Tokens
from fstmetrics.signature import option
from fstmetrics.similarity.affix import Similarity, check_matrix
from lattices.arrays import FloatColumn, floats
from lattices.caching import cached_property
from lattices.errors import OptionError

NO_STEMMER = "none"


@dataclass(frozen=True, kw_only=True)
class MAXSIM(MatchingMetric):
    """MAXSIM_n: the mean over orders of the F-measure of n-grams matched one to one.

    For each order n, ``P R / (alpha P + (1 - alpha) R)`` with ``P = m / |h_n|`` and ``R = m /
    |r_n|``, where h_n and r_n are the n-grams of both sentences and m what is matched of them.
    N-grams with the same stems are matched first and count 1. Of those that are left, a
    maximum-weight matching of the bipartite graph is taken, in which two n-grams weigh the mean
    similarity of their words, 0 if one of these is 0. Tokens without a letter or digit are left
    out before, and orders that neither sentence is long enough for are left out of the mean. The
    score of several references is the mean of the scores against each, that of a corpus the mean
    of its segments'.

    This is MAXSIM_n, without the dependency relations of MAXSIM_{n+d}, and it has no tagger: the
    paper compares lemmas and parts of speech first and lemmas then, and lets synonyms of WordNet
    and equal parts of speech count one half each. Here stems stand for lemmas, nothing for parts
    of speech, and ``similarity`` is any that is registered, by default none.

    Costs O(words) for each order, and with a similarity O(k^3) for k n-grams that are left. No
    machine: a matching does not decompose over a path.

    Parameters
    ----------
    order : int
        The longest n-grams.
    alpha : float
        The weight of recall in the harmonic mean, against that of precision, in [0, 1].
    stemmer : str
        ``porter``, one of the languages of NLTK's Snowball stemmers, or ``none``.
    similarity : Similarity, optional
        Of words with different stems.
    lowercase : bool
    punctuation : bool
        Whether tokens without a letter or digit are compared, too.

    References
    ----------
    Chan and Ng. MAXSIM: a maximum similarity metric for machine translation evaluation. ACL
    2008.

    Examples
    --------
    >>> metric = MAXSIM(order=2, alpha=0.5, stemmer="none")
    >>> metric.against(["the cat sat down"]).score("the cat sits down")
    0.5416666666666666
    >>> (3 / 4 + 1 / 3) / 2
    0.5416666666666666
    """

    name: ClassVar[str] = "maxsim"
    stat_names: ClassVar[tuple[str, ...]] = ("score", "segments")
    order: int = option(3, always=True)
    alpha: float = option(0.9, always=True)
    stemmer: str = option("porter", always=True)
    similarity: Similarity | None = None
    lowercase: bool = option(True)
    punctuation: bool = option(False)

    def __post_init__(self) -> None:
        """Refuse what means nothing."""
        if type(self.order) is not int or not 1 <= self.order <= 100:
            raise OptionError(f"order is a whole number from 1 to 100, not {self.order!r}")
        if not 0 <= self.alpha <= 1:
            raise OptionError(f"alpha is a number from 0 to 1, not {self.alpha}")

    def require(self) -> None:
        """Load the stemmer and what the similarity needs, or raise what says what is missing."""
        super().require()
        _ = self._stem

    @cached_property
    def _stem(self) -> Callable[[str], str]:
        return str if self.stemmer == NO_STEMMER else stemmer(self.stemmer)

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is loaded: another process loads it again."""
        return {key: value for key, value in self.__dict__.items() if key != "_stem"}

    def words(self, sentence: str | Sequence[str]) -> Tokens:
        """Return the words of a sentence as they are compared."""
        words = super().words(sentence)
        if self.punctuation:
            return words
        return tuple(word for word in words if any(map(str.isalnum, word)))

    def row(self, words: Tokens, references: Sequence[Tokens]) -> FloatColumn:
        """Return the mean of the scores against each reference, and 1 for the segment."""
        return floats([fmean(self._pair(words, each) for each in references), 1.0])

    def _pair(self, words: Tokens, reference: Tokens) -> float:
        """Return the score against one reference."""
        soft = None
        if self.similarity is not None and words and reference:
            soft = check_matrix(self.similarity, words, reference)
        sides = tuple(map(self._stem, words)), tuple(map(self._stem, reference))
        means = []
        for n in range(1, self.order + 1):
            totals = [max(0, len(side) - n + 1) for side in sides]
            if not any(totals):
                break
            matches = self._matches(*sides, n, soft)
            means.append(self._mean(matches, *totals))
        return fmean(means) if means else 0.0

    def _matches(self, words: Tokens, reference: Tokens, n: int, soft: FloatColumn | None) -> float:
        """Return how much of the n-grams is matched; ``soft`` has the similarities of words."""
        grams = [
            [side[at : at + n] for at in range(len(side) - n + 1)] for side in (words, reference)
        ]
        common = Counter(grams[0]) & Counter(grams[1])
        matches = float(common.total())
        if soft is None:
            return matches
        left = []
        for side in grams:
            # from left to right: the first occurrences are those that match
            used = Counter(common)
            places = []
            for place, gram in enumerate(side):
                if used[gram]:
                    used[gram] -= 1
                else:
                    places.append(place)
            left.append(places)
        if not all(left):
            return matches
        from scipy.optimize import linear_sum_assignment

        parts = np.stack([soft[np.ix_(*(np.add(each, at) for each in left))] for at in range(n)])
        weight = np.where((parts > 0).all(axis=0), parts.mean(axis=0), 0.0)
        return matches + float(weight[linear_sum_assignment(weight, maximize=True)].sum())

    def _mean(self, matches: float, length: int, reference: int) -> float:
        """Return the weighted harmonic mean of precision and recall."""
        if not matches:
            return 0.0
        precision, recall = matches / length, matches / reference
        return precision * recall / (self.alpha * precision + (1.0 - self.alpha) * recall)

    def score(self, stats: FloatColumn) -> float:
        """Return the mean of the segments' scores."""
        total, segments = (float(value) for value in stats)
        return total / segments if segments else 0.0
