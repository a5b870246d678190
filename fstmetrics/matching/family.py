"""Metrics of one reference at a time: what METEOR, GTM and MAXSIM have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from fstmetrics.references import Reference, Tokens, checked_references, tokens_of
from fstmetrics.signature import Signature
from lattices.arrays import FloatColumn
from lattices.errors import OptionError
from lattices.spaces import Lattice


class MatchingMetric(Signature, ABC):
    """A metric that matches the words of two sentences.

    Several references: the one that gives the best score, the first of equals.
    """

    higher_is_better: ClassVar[bool] = True
    stat_names: ClassVar[tuple[str, ...]]
    lowercase: bool

    @abstractmethod
    def row(self, words: Tokens, reference: Tokens) -> FloatColumn:
        """Return the statistics of one sentence against another."""

    @abstractmethod
    def score(self, stats: FloatColumn) -> float:
        """Return the score from one row of statistics or a sum of rows."""

    def words(self, sentence: str | Sequence[str]) -> Tokens:
        """Return the words of a sentence as they are compared."""
        words = tokens_of(sentence)
        return tuple(word.lower() for word in words) if self.lowercase else words

    def stats(
        self, hypothesis: str | Sequence[str], references: Iterable[Reference]
    ) -> FloatColumn:
        """Return the statistics against the reference that scores best, the first of equals."""
        return self.against(references).stats(hypothesis)

    def against(self, references: Iterable[Reference]) -> MatchingEvaluator:
        """Return an evaluator for the references of one segment."""
        return MatchingEvaluator(self, checked_references(references))


class MatchingEvaluator:
    """A matching metric made ready for the references of one segment."""

    def __init__(self, metric: MatchingMetric, references: tuple[Reference, ...]) -> None:
        self.metric = metric
        self.references = references
        self._sentences: list[Tokens] = []
        for reference in references:
            if isinstance(reference, Lattice):
                raise OptionError(f"{metric.name} takes references as sentences, not as a lattice")
            self._sentences.append(metric.words(reference))

    def stats(self, hypothesis: str | Sequence[str]) -> FloatColumn:
        """Return the statistics of one hypothesis against its best reference."""
        words = self.metric.words(hypothesis)
        rows = [self.metric.row(words, reference) for reference in self._sentences]
        # max() keeps the first of equals
        return max(rows, key=self.metric.score)

    def score(self, hypothesis: str | Sequence[str]) -> float:
        """Return the metric of one hypothesis."""
        return self.metric.score(self.stats(hypothesis))
