"""GTM: precision and recall of words matched in runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from fstmetrics.matching.family import MatchingMetric
from fstmetrics.references import Tokens
from fstmetrics.signature import option
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError


def runs(words: Sequence[str], others: Sequence[str]) -> list[int]:
    """Return the lengths of the runs of a matching, longest first.

    The longest run of words that both sentences have is matched, then the longest that is left
    of both, until nothing is: the first in ``words`` of equals, then the first in ``others``.

    Cost: O(pairs of equal words) for each run.

    Examples
    --------
    >>> runs("a b c d".split(), "c d x a b".split())
    [2, 2]
    """
    places: dict[str, list[int]] = {}
    for place, word in enumerate(others):
        places.setdefault(word, []).append(place)
    hits = [(i, j) for i, word in enumerate(words) for j in places.get(word, ())]
    found = []
    while hits:
        # hits are in order of i, so that the run up to (i - 1, j - 1) is known at (i, j)
        ending: dict[tuple[int, int], int] = {}
        length, last = 0, (0, 0)
        for i, j in hits:
            ending[i, j] = run = ending.get((i - 1, j - 1), 0) + 1
            if run > length:
                length, last = run, (i, j)
        found.append(length)
        above, left = last[0] - length, last[1] - length
        hits = [
            (i, j)
            for i, j in hits
            if not above < i <= last[0] and not left < j <= last[1]
        ]  # fmt: skip
    return found


@dataclass(frozen=True, kw_only=True)
class GTM(MatchingMetric):
    """GTM, the General Text Matcher: the F-measure of words matched in runs.

    ``2 P R / (P + R)`` with ``P = MMS / |h|`` and ``R = MMS / |r|``. The maximum match size MMS
    is that of a one-to-one matching of equal words, ``(sum over runs of length^e)^(1/e)``, where
    a run is matched words that follow each other in both sentences. With ``e = 1`` it is the
    number of words that both have, each as often as both have it; a larger exponent rewards long
    runs, and a perfect match has score 1 with any. WMT 2007, and Chiang et al. (2008) after it,
    take 1.2; the first paper squares.

    The largest matching is hard to find for ``e > 1``; as in the paper it is made greedily, of
    the longest runs first (:func:`runs`). Over a corpus, match sizes and lengths are summed.
    Several references: the best one counts; the paper lays them side by side in one grid.

    Costs O(pairs of equal words x runs). No machine: a match depends on what the whole
    sentence has matched before.

    Parameters
    ----------
    e : float
        The exponent, at least 1.
    lowercase : bool

    References
    ----------
    Melamed, Green and Turian. Precision and recall of machine translation. HLT-NAACL 2003.

    Turian, Shen and Melamed. Evaluation of machine translation and its evaluation. MT Summit IX,
    2003.

    Examples
    --------
    >>> GTM().against(["on the mat sat the cat"]).score("the cat sat on the mat")
    1.0
    >>> GTM(e=2).against(["on the mat sat the cat"]).stats("the cat sat on the mat").round(4)
    array([3.7417, 6.    , 6.    ])
    >>> (3**2 + 2**2 + 1) ** 0.5
    3.7416573867739413
    """

    name: ClassVar[str] = "gtm"
    stat_names: ClassVar[tuple[str, ...]] = ("match size", "length", "reference length")
    e: float = option(1.0, always=True)
    lowercase: bool = option(False)

    def __post_init__(self) -> None:
        """Refuse an exponent that punishes long runs."""
        if not 1 <= self.e < math.inf:
            raise OptionError(f"e is a number of at least 1, not {self.e}")

    def row(self, words: Tokens, reference: Tokens) -> FloatColumn:
        """Return the match size and both lengths."""
        if self.e == 1:
            size = float((Counter(words) & Counter(reference)).total())
        else:
            size = sum(run**self.e for run in runs(words, reference)) ** (1.0 / self.e)
        return floats([size, len(words), len(reference)])

    def score(self, stats: FloatColumn) -> float:
        """Return the F-measure from one row of statistics or a sum of rows."""
        size, length, reference = (float(value) for value in stats)
        return 2.0 * size / (length + reference) if size else 0.0
