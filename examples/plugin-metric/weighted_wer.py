"""Weighted word error rate, with the automaton that makes lattice oracles under it exact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from fstmetrics.contract import Prepared, S
from fstmetrics.machine import Machine
from fstmetrics.references import Reference, Tokens, check_references, split_tokens
from fstmetrics.signature import Signature, option
from lattices.arrays import FloatColumn, IntColumn, floats
from lattices.errors import OptionError
from lattices.intersection import ANY, Automaton, Part
from lattices.spaces import Lattice
from lattices.vocabulary import EPSILON, Vocabulary

#: costs are whole hundredths, so that sums are exact and ties are ties
ONE = 100
FUNCTION_WORDS = frozenset(
    split_tokens(
        "a an the and or but if of to in on at by for from with as than that this these those it "
        "its i you he she we they me him her us them my your his our their is am are was were be "
        "been being do does did has have had will would can could may might must shall should "
        "not no so there here what which who when where how um uh oh er"
    )
)


@lru_cache
def _read_words(path: str) -> frozenset[str]:
    return frozenset(split_tokens(Path(path).read_text("utf-8")))


@dataclass(frozen=True, kw_only=True)
class WeightedWER(Signature):
    """Weighted word error rate: WER in which function words weigh less than others.

    ``min over alignments of (S + I + D) / sum over reference words of v(w)``, lower is better,
    where an inserted or deleted word costs its weight ``v(w)`` and a substitution the larger of
    the two weights. ``v`` is ``weight`` for function words and 1 for all others; with
    ``weight=1`` it is WER. An exact machine of one state a reference word.

    Parameters
    ----------
    weight : float
        Of function words: from 0 to 1, in hundredths.
    words : str
        A file of function words, separated by white space; a short English list by default.

    References
    ----------
    Nanjo and Kawahara. A new ASR evaluation measure and minimum Bayes-risk decoding for
    open-domain speech understanding. ICASSP 2005.

    Examples
    --------
    "a" for "the" costs a half, "hat" for "cat" a whole; the reference weighs 0.5 + 1 + 1:

    >>> evaluator = WeightedWER().against(["the cat sat"])
    >>> evaluator.score("a cat sat"), evaluator.score("the hat sat")
    (0.2, 0.4)
    """

    name: ClassVar[str] = "wwer"
    higher_is_better: ClassVar[bool] = False
    stat_names: ClassVar[tuple[str, ...]] = ("substituted", "inserted", "deleted", "weight")
    weight: float = option(0.5, always=True)
    words: str = option("")

    def __post_init__(self) -> None:
        """Refuse weights that are not hundredths."""
        hundredths = round(self.weight * ONE, 6)
        if not (0 <= hundredths <= ONE and hundredths == int(hundredths)):
            raise OptionError(f"weight={self.weight}, expected 0, 0.01, 0.02, ... or 1")

    def require(self) -> None:
        """Open the file of function words before any work begins."""
        self.is_light("")

    def is_light(self, word: str) -> bool:
        """Tell whether a word is a function word."""
        return word in (_read_words(self.words) if self.words else FUNCTION_WORDS)

    def cost(self, word: str) -> int:
        """Return the weight of a word in hundredths."""
        return round(self.weight * ONE) if self.is_light(word) else ONE

    def stats(
        self, hypothesis: str | Sequence[str], references: Iterable[Reference]
    ) -> FloatColumn:
        """Return the statistics against the reference that scores best, the first of equals."""
        return self.against(references).stats(hypothesis)

    def score(self, stats: FloatColumn) -> float:
        """Return the rate from one row of statistics or a sum of rows."""
        *errors, weight = np.asarray(stats, np.float64).tolist()
        return float(sum(errors) / (weight or ONE))

    def against(self, references: Iterable[Reference]) -> WeightedEvaluator:
        """Return an evaluator for the references of one segment."""
        return WeightedEvaluator(self, check_references(references))


class WeightedEvaluator:
    """Weighted WER made ready for the references of one segment."""

    def __init__(self, metric: WeightedWER, references: tuple[Reference, ...]) -> None:
        self.metric, self.references = metric, references
        self._sentences: list[Tokens] = []
        for reference in references:
            if isinstance(reference, Lattice):
                raise OptionError("wwer takes references as sentences, not as a lattice")
            self._sentences.append(split_tokens(reference))

    def stats(self, hypothesis: str | Sequence[str]) -> FloatColumn:
        """Return the statistics, in hundredths, against the best reference."""
        words = split_tokens(hypothesis)
        rows = [self._align(words, reference) for reference in self._sentences]
        return min(rows, key=self.metric.score)

    def score(self, hypothesis: str | Sequence[str]) -> float:
        """Return the weighted error rate of one hypothesis."""
        return self.metric.score(self.stats(hypothesis))

    def _align(self, words: Tokens, reference: Tokens) -> FloatColumn:
        """Return the errors of a cheapest alignment and the weight of the reference: O(|h||r|).

        ``row[i]`` has the errors of the words so far against the first ``i`` of the reference:
        their sum first, by which they are compared.
        """
        pairs = [(other, self.metric.cost(other)) for other in reference]
        row = [(0, 0, 0, 0)]
        for _, w in pairs:
            total, substituted, inserted, deleted = row[-1]
            row.append((total + w, substituted, inserted, deleted + w))
        for word in words:
            before, v = row, self.metric.cost(word)
            total, substituted, inserted, deleted = before[0]
            row = [(total + v, substituted, inserted + v, deleted)]
            for i, (other, w) in enumerate(pairs):
                price = 0 if word == other else max(v, w)
                total, substituted, inserted, deleted = before[i]
                aligned = (total + price, substituted + price, inserted, deleted)
                total, substituted, inserted, deleted = before[i + 1]
                extra = (total + v, substituted, inserted + v, deleted)
                total, substituted, inserted, deleted = row[i]
                missing = (total + w, substituted, inserted, deleted + w)
                row.append(min(aligned, extra, missing))
        return floats([*row[-1][1:], sum(w for _, w in pairs)])

    def prepare(self, space: S) -> Prepared[S]:
        """Return the space as it is: the metric's tokens are its words."""
        return Prepared(space)

    def machine(self, vocabulary: Vocabulary, labels: IntColumn | None = None) -> Machine:
        """Return the exact machine over the words of a space."""
        numbers = range(len(vocabulary)) if labels is None else np.unique(labels).tolist()
        light = [
            number
            for number in numbers
            if number > EPSILON and self.metric.is_light(vocabulary.word(number))
        ]
        return Machine(tuple(self._part(each, vocabulary, light) for each in self._sentences))

    def _part(self, reference: Tokens, vocabulary: Vocabulary, light: list[int]) -> Part:
        """Return the automaton of all alignments to a reference.

        State ``i`` has the first ``i`` reference words behind it; gains are negated costs. ANY
        reads every word at the full price. Function words have cheaper arcs beside it, and the
        search takes the better of the two.
        """
        arcs: list[tuple[int, int, int, int]] = []
        cheap = round(self.metric.weight * ONE)
        for i in range(len(reference) + 1):
            arcs.append((i, i, ANY, -ONE))
            arcs += [(i, i, word, -cheap) for word in light]
        for i, other in enumerate(reference):
            arcs.append((i, i + 1, EPSILON, -self.metric.cost(other)))
            arcs.append((i, i + 1, ANY, -ONE))
            if self.metric.is_light(other):
                arcs += [(i, i + 1, word, -cheap) for word in light]
            if other in vocabulary:
                arcs.append((i, i + 1, vocabulary.id(other), 0))
        initial = np.full(len(reference) + 1, -np.inf)
        final = initial.copy()
        initial[0] = final[-1] = 0.0
        src, dst, label, gain = np.array(arcs).T
        automaton = Automaton(src, dst, label, gain, initial, final)
        # the value of a sentence is 1 minus its rate
        weight = float(sum(map(self.metric.cost, reference)) or ONE)
        return Part(automaton, denominator=weight, bonus=weight)
