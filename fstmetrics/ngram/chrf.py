"""chrF and chrF++: F-scores over n-grams of characters and words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fstmetrics._native import Corpus, ngram_rows
from fstmetrics.contract import ClippedMatches
from fstmetrics.corpora import (
    CorpusEvaluator,
    CorpusMetric,
    best_rows,
    count_workers,
    join_tokens,
)
from fstmetrics.pairs import chrf_scores
from fstmetrics.references import Reference, check_references
from fstmetrics.signature import option
from lattices.arrays import Array, FloatColumn, floats
from lattices.errors import OptionError
from lattices.spaces import NBest

#: what chrF++.py puts for precisions and recalls of orders without n-grams
_EPSILON = 1e-16


def _f_scores(precision: Array, recall: Array, factor: float, otherwise: float) -> Array:
    below = factor * precision + recall
    above = (1 + factor) * precision * recall
    return np.where(below > 0, above / np.where(below > 0, below, 1.0), otherwise)


@dataclass(frozen=True, kw_only=True)
class CHRF(CorpusMetric):
    """chrF: an F-score over character n-grams; with ``word_order=2``, chrF++.

    Against the reference that scores best, the first of equals; the same as in sacreBLEU. Costs
    O(n-grams). Lattices and forests are searched under chrF by labels
    (:mod:`decoding.extraction.bleu_search`), within a budget; under chrF++, which counts n-grams of
    words beside those of characters, they are not.

    Parameters
    ----------
    char_order, word_order : int
        The longest n-grams of characters and of words.
    beta : float
        Recall counts beta times as much as precision.
    lowercase, whitespace, eps_smoothing : bool
        As in sacreBLEU: fold case, count blanks as characters, smooth as chrF++.py does.

    References
    ----------
    Popović. chrF: character n-gram F-score for automatic MT evaluation. WMT 2015.

    Popović. chrF++: words helping character n-grams. WMT 2017.

    Examples
    --------
    >>> round(CHRF().against(["the cat sat"]).score("the hat sat"), 4)
    0.4573
    """

    name: ClassVar[str] = "chrf"
    higher_is_better: ClassVar[bool] = True
    heading: ClassVar[str] = "chrF"
    char_order: int = option(6, always=True)
    word_order: int = option(0, always=True)
    beta: float = option(2.0, always=True)
    lowercase: bool = option(False)
    whitespace: bool = option(False)
    eps_smoothing: bool = option(False)

    def __post_init__(self) -> None:
        """Refuse orders and weights that mean nothing."""
        for name, least in (("char_order", 1), ("word_order", 0)):
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= 100:
                raise OptionError(f"{name} is a whole number from {least} to 100, not {value!r}")
        if not math.isfinite(self.beta) or self.beta <= 0:
            raise OptionError(f"beta is a number above 0, not {self.beta}")

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Of each order: n-grams of the hypothesis, of the reference, and of both."""
        orders = [(n, "character") for n in range(1, self.char_order + 1)]
        orders += [(n, "word") for n in range(1, self.word_order + 1)]
        return tuple(
            f"{unit} {n}-grams of {side}"
            for n, unit in orders
            for side in ("hypothesis", "reference", "both")
        )

    def prepare(self, sentence: str | Sequence[str]) -> str:
        """Return a sentence as text, in lower case or not."""
        text = join_tokens(sentence)
        return text.lower() if self.lowercase else text

    def against(self, references: Iterable[Reference]) -> CHRFEvaluator:
        """Return an evaluator for the references of one segment."""
        return CHRFEvaluator(self, check_references(references))

    def characters_of(self, text: str) -> tuple[str, ...]:
        """Return the characters of a word or a sentence that are counted."""
        folded = text.lower() if self.lowercase else text
        return tuple(folded if self.whitespace else "".join(folded.split()))

    def rows(self, corpus: Corpus) -> FloatColumn:
        """Return the statistics against the reference that scores best."""
        workers = count_workers()
        found = ngram_rows(corpus, True, self.whitespace, self.char_order, workers)
        if self.word_order:
            words = ngram_rows(corpus, False, False, self.word_order, workers)
            found = np.hstack([found, words])
        return best_rows(found, corpus.segment, self.scores)

    def scores(self, rows: FloatColumn) -> FloatColumn:
        """Return the F-score of each row of statistics."""
        factor = self.beta**2
        # the sums of precisions, recalls and F-scores, and how many orders both sides have
        precisions = recalls = scores = orders = np.zeros(len(rows))
        for k in range(0, rows.shape[1], 3):
            own, other, matches = rows[:, k], rows[:, k + 1], rows[:, k + 2]
            precision = np.where(own > 0, matches / np.where(own > 0, own, 1.0), _EPSILON)
            recall = np.where(other > 0, matches / np.where(other > 0, other, 1.0), _EPSILON)
            scores = scores + _f_scores(precision, recall, factor, _EPSILON)
            both = (own > 0) & (other > 0)
            precisions = precisions + np.where(both, precision, 0.0)
            recalls = recalls + np.where(both, recall, 0.0)
            orders = orders + both
        if self.eps_smoothing:
            return floats(scores / (self.char_order + self.word_order))
        some = np.maximum(orders, 1.0)
        return floats(_f_scores(precisions / some, recalls / some, factor, 0.0))

    def pair_scores(self, candidates: NBest, evidence: NBest) -> FloatColumn:
        """Return the score of each candidate (columns) against each sentence of evidence (rows)."""
        return chrf_scores(candidates, evidence, self)


class CHRFEvaluator(CorpusEvaluator):
    """chrF made ready for the references of one segment."""

    metric: CHRF

    def clipped_matches(self) -> ClippedMatches:
        """Return what the score is made of, for searches (:mod:`decoding.extraction.bleu_search`).

        Raises
        ------
        OptionError
            If n-grams of words are counted beside those of characters.
        """
        metric = self.metric
        problem = ""
        if type(metric) is not CHRF:
            problem = "its score is its own"
        elif metric.word_order:
            problem = f"word_order={metric.word_order} counts n-grams of words, too"
        if problem:
            raise OptionError(
                f"{metric} cannot search lattices and forests: {problem}; "
                "take an n-best list (lattices.k_best)"
            )
        return ClippedMatches(
            tuple(metric.characters_of(join_tokens(each)) for each in self.references),  # type: ignore[arg-type]
            floats(np.full(metric.char_order, 1.0 / metric.char_order)),
            (0, 0.0, False, False),
            (0, False),
            characters=True,
            spaces=metric.whitespace,
            lowercase=metric.lowercase,
            units=metric.characters_of,
            f_score=(metric.beta, metric.eps_smoothing),
            fronts=False,
        )
