"""Metrics that match words: what METEOR, GTM and MAXSIM have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from fstmetrics.references import Reference, Tokens, check_references, split_tokens
from fstmetrics.signature import Signature
from lattices.arrays import FloatColumn
from lattices.errors import OptionError
from lattices.spaces import Lattice


class MatchingMetric(Signature, ABC):
    """A metric that matches the words of a sentence with those of its references.

    What several references mean is for each to say: METEOR takes the best, MAXSIM the mean, GTM
    matches with all of them at once.
    """

    higher_is_better: ClassVar[bool] = True
    stat_names: ClassVar[tuple[str, ...]]
    lowercase: bool

    @abstractmethod
    def row(self, words: Tokens, references: Sequence[Tokens]) -> FloatColumn:
        """Return the statistics of one sentence; words as :meth:`words` gives them."""

    @abstractmethod
    def score(self, stats: FloatColumn) -> float:
        """Return the score from one row of statistics or a sum of rows."""

    def words(self, sentence: str | Sequence[str]) -> Tokens:
        """Return the words of a sentence as they are compared."""
        words = split_tokens(sentence)
        return tuple(word.lower() for word in words) if self.lowercase else words

    def stats(
        self, hypothesis: str | Sequence[str], references: Iterable[Reference]
    ) -> FloatColumn:
        """Return the statistics of a sentence against its references."""
        return self.against(references).stats(hypothesis)

    def against(self, references: Iterable[Reference]) -> MatchingEvaluator:
        """Return an evaluator for the references of one segment."""
        return MatchingEvaluator(self, check_references(references))


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
        """Return the statistics of one hypothesis."""
        return self.metric.row(self.metric.words(hypothesis), self._sentences)

    def score(self, hypothesis: str | Sequence[str]) -> float:
        """Return the metric of one hypothesis."""
        return self.metric.score(self.stats(hypothesis))
