"""GTM: precision and recall of words matched in runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from fstmetrics.matching.matching_metric import MatchingMetric
from fstmetrics.references import Tokens
from fstmetrics.signature import option
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError


def runs(words: Sequence[str], references: Sequence[Sequence[str]]) -> Iterator[int]:
    """Yield the lengths of the runs of a matching, longest first.

    The references lie side by side in one grid. Cost: O(pairs of equal words) for each run.
    """
    places: dict[str, list[int]] = {}
    place = 0
    for reference in references:
        for word in reference:
            places.setdefault(word, []).append(place)
            place += 1
        # no run goes from one reference into the next
        place += 1
    hits = [(i, j) for i, word in enumerate(words) for j in places.get(word, ())]
    # from the last, so that the run from (i + 1, j + 1) is known at (i, j)
    hits.reverse()
    while hits:
        beginning: dict[tuple[int, int], int] = {}
        length, above, left = 0, 0, 0
        for i, j in hits:
            beginning[i, j] = run = beginning.get((i + 1, j + 1), 0) + 1
            if run > length:
                length, above, left = run, i, j
        yield length
        hits = [
            (i, j)
            for i, j in hits
            if not above <= i < above + length and not left <= j < left + length
        ]


@dataclass(frozen=True, kw_only=True)
class GTM(MatchingMetric):
    """GTM, the General Text Matcher: the F-measure of words matched in runs.

    ``2 P R / (P + R)`` with ``P = MMS / |h|`` and ``R = MMS / |r|``. The maximum match size MMS
    is that of a one-to-one matching of equal words, ``(sum over runs of length^e)^(1/e)``, where
    a run is matched words that follow each other in both sentences. With ``e = 1`` it is the
    number of words that both have, each as often as both have it; a larger exponent rewards long
    runs, and with one reference a perfect match has score 1 with any. WMT 2007, and Chiang et al.
    (2008) after it, take 1.2; the first paper squares.

    The largest matching is hard to find for ``e > 1``; as in the paper it is made greedily, of
    the longest runs first (:func:`runs`). Over a corpus, match sizes and lengths are summed.

    Several references lie side by side in one grid, so that a sentence may take one run from each;
    no run crosses from one to the next. ``|r|`` is then their mean length, and no more words are
    matched than ``min(|h|, |r|)``: the run that would pass it is cut, to a fraction of a word if
    the mean is one. So it is in GTM 1.4, the authors' program, whose scores these are
    (``tests/golden/test_gtm.py``).

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

    def row(self, words: Tokens, references: Sequence[Tokens]) -> FloatColumn:
        """Return the match size, the length, and the mean length of the references."""
        length = sum(map(len, references)) / len(references)
        left = min(len(words), length)
        if self.e == 1:
            # any matching that cannot grow is a largest one: runs do not matter
            common = Counter(words) & Counter(chain.from_iterable(references))
            return floats([min(common.total(), left), len(words), length])
        longest = size = 0.0
        for run in runs(words, references):
            # as shares of the longest, which is the first: a large power of a length is not finite
            longest = longest or min(run, left)
            size += (min(run, left) / longest) ** self.e
            left -= run
            if left <= 0:
                break
        return floats([longest * size ** (1.0 / self.e), len(words), length])

    def score(self, stats: FloatColumn) -> float:
        """Return the F-measure from one row of statistics or a sum of rows."""
        size, length, reference = (float(value) for value in stats)
        return 2.0 * size / (length + reference) if size else 0.0
