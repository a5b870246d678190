"""TER and chrF, computed by sacreBLEU's package and wrapped in the contract of a metric.

They also show how little a foreign metric needs: statistics that add up, and a score from them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fstmetrics.contract import ClippedMatches
from fstmetrics.pairs import chrf_scores
from fstmetrics.references import Reference, check_references, split_tokens
from fstmetrics.signature import Signature, option
from lattices.arrays import FloatColumn, floats
from lattices.caching import cached_property
from lattices.errors import OptionError
from lattices.optional import require
from lattices.spaces import Lattice, NBest


class SacreBLEUMetric(Signature, ABC):
    """What the metrics of sacreBLEU have in common; scores are 1/100 of sacreBLEU's."""

    higher_is_better: ClassVar[bool] = True

    @property
    @abstractmethod
    def stat_names(self) -> tuple[str, ...]:
        """Name sacreBLEU's sufficient statistics."""

    @abstractmethod
    def implementation(self, references: Sequence[str] | None = None) -> Any:
        """Return sacreBLEU's metric, with these references of one segment prepared."""

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the options, not the object of sacreBLEU's."""
        return {key: value for key, value in self.__dict__.items() if key != "_scorer"}

    def require(self) -> None:
        """Import sacreBLEU, or raise MissingDependencyError."""
        self.implementation()

    @cached_property
    def _scorer(self) -> Any:
        return self.implementation()

    def stats(
        self, hypothesis: str | Sequence[str], references: Iterable[Reference]
    ) -> FloatColumn:
        """Return the statistics of one segment, additive over segments."""
        return self.against(references).stats(hypothesis)

    def score(self, stats: FloatColumn) -> float:
        """Return the score from one row of statistics or a sum of rows."""
        values = np.asarray(stats, dtype=np.float64).tolist()
        return float(self._scorer._compute_score_from_stats(values).score) / 100.0

    def against(self, references: Iterable[Reference]) -> SacreBLEUEvaluator:
        """Return an evaluator for the references of one segment."""
        return SacreBLEUEvaluator(self, check_references(references))


class SacreBLEUEvaluator:
    """A metric of sacreBLEU made ready for the references of one segment."""

    def __init__(self, metric: SacreBLEUMetric, references: tuple[Reference, ...]) -> None:
        self.metric = metric
        self.references = references
        texts = []
        for reference in references:
            if isinstance(reference, Lattice):
                raise OptionError(f"{metric.name} takes references as sentences, not as a lattice")
            texts.append(_text(reference))
        self._prepared = metric.implementation(texts)

    def stats(self, hypothesis: str | Sequence[str]) -> FloatColumn:
        """Return the statistics of one hypothesis."""
        rows = self._prepared._extract_corpus_statistics([_text(hypothesis)], None)
        return floats(rows[0])

    def score(self, hypothesis: str | Sequence[str]) -> float:
        """Return the metric of one hypothesis."""
        return self.metric.score(self.stats(hypothesis))


@dataclass(frozen=True, kw_only=True)
class TER(SacreBLEUMetric):
    """Translation edit rate: edits and shifts of phrases over the mean reference length.

    Lower is better. The fewest edits that Tercom's greedy search for shifts finds, not the
    fewest there are. Computed by sacreBLEU, slowly: O(J x L) for each shift it tries.

    Parameters
    ----------
    normalized, no_punct, asian_support, case_sensitive : bool
        As in sacreBLEU: Tercom's normalisation, without punctuation, with Asian characters
        one by one, and with case, which is folded otherwise.

    References
    ----------
    Snover, Dorr, Schwartz, Micciulla and Makhoul. A study of translation edit rate with
    targeted human annotation. AMTA 2006.

    Examples
    --------
    One shift of a phrase mends it:

    >>> TER().against(["down sat the cat"]).score("the cat down sat")
    0.25
    """

    name: ClassVar[str] = "ter"
    higher_is_better: ClassVar[bool] = False
    normalized: bool = option(False)
    no_punct: bool = option(False)
    asian_support: bool = option(False)
    case_sensitive: bool = option(False, always=True)

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Edits, and the mean length of the references."""
        return ("edits", "reference length")

    def fractions(self, rows: FloatColumn) -> tuple[FloatColumn, FloatColumn]:
        """Return numerators and denominators: the score of a corpus is sum over sum."""
        return rows[:, 0], rows[:, 1]

    def implementation(self, references: Sequence[str] | None = None) -> Any:
        """Return sacreBLEU's TER."""
        return require("sacrebleu.metrics", "sacrebleu").TER(
            normalized=self.normalized,
            no_punct=self.no_punct,
            asian_support=self.asian_support,
            case_sensitive=self.case_sensitive,
            references=_segment_major(references),
        )


@dataclass(frozen=True, kw_only=True)
class CHRF(SacreBLEUMetric):
    """chrF: an F-score over character n-grams; with ``word_order=2``, chrF++.

    Against the reference that scores best. Computed by sacreBLEU. Lattices and forests are
    searched under chrF by labels (:mod:`decoding.extraction.bleu_search`), within a budget; under
    chrF++, which counts n-grams of words beside those of characters, they are not.

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

    def against(self, references: Iterable[Reference]) -> CHRFEvaluator:
        """Return an evaluator for the references of one segment."""
        return CHRFEvaluator(self, check_references(references))

    def characters_of(self, text: str) -> tuple[str, ...]:
        """Return the characters of a word or a sentence that are counted."""
        folded = text.lower() if self.lowercase else text
        return tuple(folded if self.whitespace else "".join(folded.split()))

    def pair_scores(self, candidates: NBest, evidence: NBest) -> FloatColumn:
        """Return the score of each candidate (columns) against each sentence of evidence (rows)."""
        return chrf_scores(candidates, evidence, self)

    def implementation(self, references: Sequence[str] | None = None) -> Any:
        """Return sacreBLEU's chrF."""
        return require("sacrebleu.metrics", "sacrebleu").CHRF(
            char_order=self.char_order,
            word_order=self.word_order,
            beta=self.beta,
            lowercase=self.lowercase,
            whitespace=self.whitespace,
            eps_smoothing=self.eps_smoothing,
            references=_segment_major(references),
        )


class CHRFEvaluator(SacreBLEUEvaluator):
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
            tuple(metric.characters_of(_text(each)) for each in self.references),  # type: ignore[arg-type]
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


def _text(sentence: str | Sequence[str]) -> str:
    return sentence if isinstance(sentence, str) else " ".join(split_tokens(sentence))


def _segment_major(references: Sequence[str] | None) -> list[list[str]] | None:
    """Return the references of one segment as sacreBLEU's list of documents."""
    return None if references is None else [[reference] for reference in references]
