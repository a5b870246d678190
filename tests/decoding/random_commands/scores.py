"""Metrics by their definitions: edit distances, alignments by recursion, sacreBLEU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from random import Random
from typing import Any, NamedTuple

from sacrebleu.metrics.bleu import BLEU

from tests.decoding.random_commands.spaces import Path, Sentence
from tests.judges import gain_by_recursion

#: numbers that differ by less are the same
ROUNDING = 1e-9


def close(one: float, other: float, tolerance: float = ROUNDING) -> bool:
    """Tell whether two numbers differ by rounding alone."""
    return abs(one - other) <= tolerance * max(1.0, abs(one), abs(other))


class Verdict(NamedTuple):
    """The score of a sentence, against which reference, and the fraction that it is."""

    score: float
    reference: int
    numerator: float
    denominator: float


@dataclass(frozen=True)
class Judge:
    """A metric: its name for the command, and its definition.

    ``order``, ``insertion`` and ``deletion`` are those of GRR; WRR is GRR of order 1.
    """

    spec: str
    kind: str
    order: int = 1
    insertion: float = 1.0
    deletion: float = 0.0
    spaces: bool = True
    smooth: str = "none"
    effective_order: bool = False

    @property
    def sign(self) -> int:
        """1 where higher is better, -1 for error rates."""
        return -1 if self.kind in ("wer", "cer") else 1

    @cached_property
    def _bleu(self) -> BLEU:
        return BLEU(
            tokenize="none",
            force=True,
            smooth_method=self.smooth,
            effective_order=self.effective_order,
        )

    def verdict(self, words: Sentence, references: Sequence[Sentence]) -> Verdict:
        """Return the score against the best reference, the first of equals."""
        if self.kind == "bleu":
            return Verdict(_sentence_bleu(self, words, tuple(references)), 0, 0.0, 0.0)
        best: Verdict | None = None
        for place, reference in enumerate(references):
            numerator, denominator = _fraction(self, words, reference)
            found = Verdict(self._score(numerator, denominator), place, numerator, denominator)
            if best is None or self.sign * (found.score - best.score) > ROUNDING:
                best = found
        assert best is not None
        return best

    def _score(self, numerator: float, denominator: float) -> float:
        if denominator:
            return numerator / denominator
        return numerator if self.sign < 0 else 1.0 + numerator

    def corpus(self, pairs: Sequence[tuple[Sentence, Sequence[Sentence]]]) -> float:
        """Return the score of a corpus."""
        if self.kind != "bleu":
            verdicts = [self.verdict(*pair) for pair in pairs]
            return self._score(
                sum(found.numerator for found in verdicts),
                sum(found.denominator for found in verdicts),
            )
        most = max(len(references) for _, references in pairs)
        # sacreBLEU has None where a segment has fewer references than others
        streams: list[list[Any]] = [
            [
                " ".join(references[place]) if place < len(references) else None
                for _, references in pairs
            ]
            for place in range(most)
        ]
        hypotheses = [" ".join(words) for words, _ in pairs]
        return float(self._bleu.corpus_score(hypotheses, streams).score) / 100


@lru_cache(maxsize=200_000)
def _sentence_bleu(judge: Judge, words: Sentence, references: tuple[Sentence, ...]) -> float:
    texts = [" ".join(reference) for reference in references]
    return float(judge._bleu.sentence_score(" ".join(words), texts).score) / 100


@lru_cache(maxsize=200_000)
def _fraction(judge: Judge, words: Sentence, reference: Sentence) -> tuple[float, float]:
    if judge.kind == "cer":
        between = " " if judge.spaces else ""
        hypothesis, right = between.join(words), between.join(reference)
        return edit_distance(hypothesis, right), len(right)
    if judge.kind == "wer":
        return edit_distance(words, reference), len(reference)
    possible = sum(max(0, len(reference) - k) for k in range(judge.order))
    return gain_by_recursion(words, reference, judge), possible


def edit_distance(hypothesis: Sequence[str], reference: Sequence[str]) -> int:
    """Return the distance of Levenshtein by Wagner and Fischer's table."""
    row = list(range(len(reference) + 1))
    for place, word in enumerate(hypothesis, start=1):
        before, row = row, [place]
        for column, other in enumerate(reference, start=1):
            changed = before[column - 1] + (word != other)
            row.append(min(changed, before[column] + 1, row[-1] + 1))
    return row[-1]


def draw_judge(rng: Random, bleu: bool) -> Judge:
    """Draw a metric; BLEU only where it can search."""
    kind = rng.choice(("wer", "wrr", "cer", "grr", "grr", *(("bleu", "bleu") if bleu else ())))
    if kind == "cer":
        spaces = rng.random() < 0.5
        return Judge("cer" if spaces else "cer:spaces=false", kind, spaces=spaces)
    if kind == "grr":
        order = rng.choice((4, 4, 1, 2, 3, 5))
        alpha = rng.choice((1.0, 1.0, 0.0, 0.5, -0.9, 2.0, 1 / 3, 0.1))
        beta = rng.choice((0.0, 0.0, 1.0, 0.25, -0.5, 0.7))
        return Judge(f"grr:n={order},alpha={alpha!r},beta={beta!r}", kind, order, alpha, beta)
    if kind == "bleu":
        smooth = rng.choice(("none", "exp", "add-k", "floor"))
        effective = rng.random() < 0.5
        spec = f"bleu:smooth={smooth},effective_order={str(effective).lower()}"
        return Judge(spec, kind, smooth=smooth, effective_order=effective)
    return Judge(kind, kind)


def posterior(paths: Sequence[Path], scale: float) -> list[float]:
    """Return the probability of each path, proportional to exp(scale * score)."""
    logs = [scale * path.score for path in paths]
    top = max(logs)
    total = top + math.log(sum(math.exp(each - top) for each in logs))
    return [math.exp(each - total) for each in logs]


def sentence_posterior(
    paths: Sequence[Path], weights: Sequence[float], merge: str
) -> dict[Sentence, float]:
    """Return the probability of each sentence: the sum over its paths, or by its best alone."""
    found: dict[Sentence, float] = {}
    for path, weight in zip(paths, weights, strict=True):
        before = found.get(path.words, 0.0)
        found[path.words] = before + weight if merge == "sum" else max(before, weight)
    total = sum(found.values())
    return {words: weight / total for words, weight in found.items()}


def expected_score(judge: Judge, words: Sentence, evidence: dict[Sentence, float]) -> float:
    """Return the mean score of a sentence if any other may be its only reference."""
    return sum(
        weight * judge.verdict(words, (reference,)).score for reference, weight in evidence.items()
    )


def expected_edits(words: Sentence, evidence: dict[Sentence, float]) -> float:
    """Return the mean edit distance of a sentence to any other."""
    return sum(weight * edit_distance(words, other) for other, weight in evidence.items())


def linear_gain(words: Sentence, evidence: dict[Sentence, float], theta: Sequence[float]) -> float:
    """Return theta_0 a word, and theta_n an n-gram times the probability that it is said at all.

    Tromble et al. 2008, equation 7.
    """
    gain = theta[0] * len(words)
    for n in range(1, len(theta)):
        for gram in ngrams(words, n):
            gain += theta[n] * sum(
                weight for other, weight in evidence.items() if gram in ngrams(other, n)
            )
    return gain


def ngrams(words: Sentence, n: int) -> list[Sentence]:
    """Return all n-grams of a sentence, in order."""
    return [words[place : place + n] for place in range(len(words) - n + 1)]
