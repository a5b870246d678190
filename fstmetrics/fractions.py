"""Metrics whose score of a corpus is a sum over a sum, and when they decompose.

With a denominator that does not depend on the sentence, the best sentences make the best corpus.
With several references it does: a segment is divided by the length of the reference that its
sentence was scored against.
"""

from __future__ import annotations

from typing import Protocol, TypeGuard, runtime_checkable

from fstmetrics.alignment.family import AlignmentMetric
from fstmetrics.contract import Evaluator, Metric, offers
from fstmetrics.normalisation.metric import NormalisedEvaluator
from fstmetrics.references import Reference, lattices_by_length
from lattices.arrays import FloatColumn
from lattices.spaces import Lattice


@runtime_checkable
class FractionMetric(Metric, Protocol):
    """A metric whose corpus score is a sum over a sum."""

    def fractions(self, rows: FloatColumn) -> tuple[FloatColumn, FloatColumn]:
        """Return the numerator and the denominator, which is not negative, of each row.

        The score of a corpus is the sum of numerators over that of denominators. Where the
        latter is 0, it depends on the former alone, and in the same direction.
        """


def has_fractions(metric: Metric) -> TypeGuard[FractionMetric]:
    """Tell whether the corpus score is a sum of numerators over a sum of denominators.

    So it is for WER, WRR, CER, GRR, PER and TER.

    Examples
    --------
    >>> from fstmetrics import BLEU, GRR
    >>> has_fractions(GRR()), has_fractions(BLEU())
    (True, False)
    """
    return offers(type(metric), "fractions", frozenset(["score", "scores"]))


def by_denominator(evaluator: Evaluator) -> list[Evaluator] | None:
    """Return evaluators of the same metric that have one denominator each, whatever the sentence.

    One if the denominator does not depend on the sentence at all. None where the score of a
    corpus is no fraction, or the denominators of a reference lattice are not those of its
    lengths in words.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> [each.references for each in by_denominator(WER().against(["a cat", "cat", "my cat"]))]
    [('a cat', 'my cat'), ('cat',)]
    """
    metric = evaluator.metric
    if not has_fractions(metric):
        return None
    if len(evaluator.references) == 1 and not isinstance(evaluator.references[0], Lattice):
        return [evaluator]
    alike: dict[float, list[Reference]] = {}
    for reference in evaluator.references:
        if not isinstance(reference, Lattice):
            row = metric.against([reference]).stats(())
            alike.setdefault(float(metric.fractions(row[None])[1][0]), []).append(reference)
            continue
        if not isinstance(metric, AlignmentMetric) or metric.characters:
            return None
        for length, sentences in lattices_by_length(reference).items():
            alike.setdefault(float(metric.possible(length)), []).append(sentences)
    if len(alike) == 1:
        return [evaluator]
    return [metric.against(some) for some in alike.values()]


def decomposes(evaluator: Evaluator) -> bool:
    """Tell whether the best sentence of a segment is part of the best corpus, whatever the rest.

    Examples
    --------
    >>> from fstmetrics import BLEU, WER
    >>> [decomposes(WER().against(some)) for some in (["a cat"], ["a cat", "cat"])]
    [True, False]
    >>> decomposes(BLEU().against(["a cat"]))
    False
    """
    inner = evaluator.inner if isinstance(evaluator, NormalisedEvaluator) else evaluator
    parts = by_denominator(inner)
    return parts is not None and len(parts) == 1
