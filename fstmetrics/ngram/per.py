"""PER: the word error rate of sentences taken as bags of words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fstmetrics.list_units import ListUnits
from fstmetrics.pairs import per_scores
from fstmetrics.references import Reference, check_references, split_tokens
from fstmetrics.signature import Signature
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError
from lattices.spaces import Lattice, NBest


@dataclass(frozen=True, kw_only=True)
class PER(Signature):
    """Position-independent error rate: WER that does not see the order of words.

    ``1 - (M - max(0, |h| - |r|)) / |r|``, lower is better, where M is the number of words
    that the hypothesis h and the reference r have in common, each as often as both have it.
    The same as ``(max(|h|, |r|) - M) / |r|``: what is left over on both sides is substituted
    for each other, the rest inserted or deleted. At most WER, since an alignment can match
    no more words than the bags share.

    Several references: the one that gives the lowest rate, the first of equals. Without
    reference words the rate is the number of insertions, as for WER. Costs O(|h| + |r|).

    No machine: the matches of a word depend on how often it came before on the path, so a
    state would have to count every word of the reference, and there are exponentially many
    such counts.

    References
    ----------
    Tillmann, Vogel, Ney, Zubiaga and Sawaf. Accelerated DP based search for statistical
    translation. Eurospeech 1997.

    Examples
    --------
    >>> evaluator = PER().against(["the cat sat on the mat"])
    >>> evaluator.score("on the mat sat the cat")
    0.0
    >>> evaluator.score("a cat sat on the mat today")
    0.3333333333333333
    """

    name: ClassVar[str] = "per"
    higher_is_better: ClassVar[bool] = False
    stat_names: ClassVar[tuple[str, ...]] = ("matches", "errors", "reference length")

    def stats(
        self, hypothesis: str | Sequence[str], references: Iterable[Reference]
    ) -> FloatColumn:
        """Return the statistics against the reference that scores best, the first of equals."""
        return self.against(references).stats(hypothesis)

    def score(self, stats: FloatColumn) -> float:
        """Return the error rate from one row of statistics or a sum of rows."""
        _, errors, length = (float(value) for value in stats)
        return errors / max(length, 1.0)

    def fractions(self, rows: FloatColumn) -> tuple[FloatColumn, FloatColumn]:
        """Return numerators and denominators: the score of a corpus is sum over sum."""
        return rows[:, 1], rows[:, 2]

    def pair_scores(self, candidates: NBest, evidence: NBest) -> FloatColumn:
        """Return the score of each candidate (columns) against each sentence of evidence (rows)."""
        return per_scores(candidates, evidence, self)

    def against(self, references: Iterable[Reference]) -> PEREvaluator:
        """Return an evaluator for the references of one segment."""
        return PEREvaluator(self, check_references(references))


class PEREvaluator:
    """PER made ready for the references of one segment."""

    def __init__(self, metric: PER, references: tuple[Reference, ...]) -> None:
        self.metric = metric
        self.references = references
        self._bags: list[tuple[Counter[str], int]] = []
        for reference in references:
            if isinstance(reference, Lattice):
                raise OptionError("per takes references as sentences, not as a lattice")
            tokens = split_tokens(reference)
            self._bags.append((Counter(tokens), len(tokens)))

    def stats(self, hypothesis: str | Sequence[str]) -> FloatColumn:
        """Return the statistics of one hypothesis against its best reference."""
        words = split_tokens(hypothesis)
        bag = Counter(words)
        rows = []
        for reference, length in self._bags:
            matches = sum(min(count, reference[word]) for word, count in bag.items())
            rows.append(floats([matches, max(len(words), length) - matches, length]))
        # min() keeps the first of equals
        return min(rows, key=self.metric.score)

    def list_stats(self, nbest: NBest) -> FloatColumn:
        """Return one row for each entry: words are counted as pairs of an entry and a word."""
        units = ListUnits.of_words(nbest)
        sizes, wide = np.diff(units.offset), max(1, len(units.symbols))
        entries = np.repeat(np.arange(len(nbest)), sizes)
        pair, count = np.unique(entries * wide + units.unit, return_counts=True)
        tables = []
        for reference, length in self._bags:
            most = np.array([reference[word] for word in units.symbols], dtype=np.int64)
            shared = np.minimum(count, most[pair % wide]) if len(pair) else count
            matches = np.bincount(pair // wide, weights=shared, minlength=len(nbest))
            errors = np.maximum(sizes, length) - matches
            tables.append(np.column_stack((matches, errors, np.full(len(nbest), length))))
        rates = [rows[:, 1] / np.maximum(rows[:, 2], 1.0) for rows in tables]
        # argmin() takes the first of equals
        return floats(np.stack(tables)[np.argmin(rates, axis=0), np.arange(len(nbest))])

    def score(self, hypothesis: str | Sequence[str]) -> float:
        """Return the error rate of one hypothesis."""
        return self.metric.score(self.stats(hypothesis))
