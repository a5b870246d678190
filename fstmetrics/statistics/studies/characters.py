"""BLEU in characters against BLEU in words (Denoual and Lepage 2005).

=================================  ===============================================================
:func:`char_bleu_study`            which order in characters is like one in words (Table 1)
:func:`char_bleu_equivalents`      the same from statistics that are there already
:func:`char_bleu_by_length`        by the length of the sentence (Table 2)
:func:`char_bleu_systems`          means of systems, in words and in characters (Table 3)
:func:`short_sentences`            sentences that are too short for the orders (Table 4)
=================================  ===============================================================
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fstmetrics.contract import corpus_stats
from fstmetrics.ngram.bleu import BLEU, UNIFORM
from fstmetrics.references import Reference
from fstmetrics.statistics.correlation import FEWEST_POINTS, correlate, graded_kappa
from fstmetrics.statistics.studies.ranks import competition_ranks
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError
from lattices.records import PlainRecord

#: scores this close to each other are the same
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Equivalents(PlainRecord):
    """What BLEU of one order in words has to do with BLEU of each order in characters."""

    #: N, in words
    order: int
    #: of segment scores, for M = 1, 2, ...; NaN where undefined
    pearson: tuple[float, ...]
    kappa: tuple[float, ...]
    #: the share of segments whose score in M characters is at most that in N - 1 words, as the
    #: score in N words nearly always is; none for N = 1
    below: tuple[float, ...]
    #: how many have to be below
    share: float

    @property
    def best_pearson(self) -> int | None:
        """The M of the highest correlation, the smallest of equals."""
        return _argmax(self.pearson)

    @property
    def best_kappa(self) -> int | None:
        """The M of the highest agreement, the smallest of equals."""
        return _argmax(self.kappa)

    @property
    def first_below(self) -> int | None:
        """The smallest M that has enough segments below."""
        return next((m for m, part in enumerate(self.below, 1) if part >= self.share), None)


def _argmax(values: Sequence[float]) -> int | None:
    known = [value for value in values if not math.isnan(value)]
    return values.index(max(known)) + 1 if known else None


def char_bleu_metrics(
    base: BLEU, *, max_n: int = 4, max_m: int = 20, spaces: bool = True
) -> tuple[BLEU, BLEU]:
    """Return the metrics whose statistics the study is made of, in words and in characters."""
    if base.unit != "word":
        raise OptionError(f"unit={base.unit}: the study compares words with characters by itself")
    if base.weights != UNIFORM:
        raise OptionError(f"weights={base.weights}: orders weigh the same in the study")
    words = dataclasses.replace(base, order=max_n)
    return words, dataclasses.replace(base, order=max_m, unit="char", spaces=spaces)


def char_bleu_study(
    hypotheses: Sequence[str | Sequence[str]],
    references: Sequence[Iterable[Reference]],
    *,
    base: BLEU | None = None,
    max_n: int = 4,
    max_m: int = 20,
    spaces: bool = True,
    share: float = 0.9,
) -> list[Equivalents]:
    """Return for each order in words how BLEU in characters compares with it.

    Costs one count of n-grams in words and one in characters, whatever the number of orders, and
    O(segments) for each pair of orders.
    """
    metrics = char_bleu_metrics(
        BLEU() if base is None else base, max_n=max_n, max_m=max_m, spaces=spaces
    )
    rows = [corpus_stats(metric, hypotheses, references) for metric in metrics]
    return char_bleu_equivalents(metrics, rows, share=share)


def char_bleu_equivalents(
    metrics: tuple[BLEU, BLEU], stats: Sequence[FloatColumn], *, share: float = 0.9
) -> list[Equivalents]:
    """Return what :func:`char_bleu_study` returns, from statistics."""
    if not 0 < share <= 1:
        raise OptionError(f"share={share}, expected more than 0 and at most 1")
    words, characters = (
        _scores_by_order(metric, rows) for metric, rows in zip(metrics, stats, strict=True)
    )
    found = []
    for n, of_words in enumerate(words, 1):
        pearson = [correlate(of_words, of_characters).value for of_characters in characters]
        kappa = [graded_kappa(of_words, of_characters).value for of_characters in characters]
        below = [
            float(np.mean(of_characters <= words[n - 2] + _ROUNDING))
            for of_characters in (characters if n > 1 else ())
        ]
        found.append(Equivalents(n, tuple(pearson), tuple(kappa), tuple(below), share))
    return found


def _scores_by_order(metric: BLEU, rows: FloatColumn) -> FloatColumn:
    """Return the segment scores for each order up to the metric's own: lower ones are in it."""
    top = metric.order
    matches, totals, lengths = rows[:, :top], rows[:, top : 2 * top], rows[:, 2 * top :]
    scores = [
        dataclasses.replace(metric, order=order).scores(
            floats(np.hstack((matches[:, :order], totals[:, :order], lengths)))
        )
        for order in range(1, top + 1)
    ]
    return np.array(scores)


@dataclass(frozen=True)
class LengthEquivalents(PlainRecord):
    """BLEU of N words against BLEU of M characters, over sentences of one length."""

    #: in words, of the hypothesis; ``> 10`` for all that are longer
    length: str
    points: int
    #: of all sentences
    share: float
    #: of the scores in words; the deviation is that of the points, not of a larger population
    mean: float
    deviation: float
    #: the M that correlates best over these sentences, None where the scores do not vary
    best: int | None
    #: with that M, and with the M that was asked for; NaN where undefined
    pearson_best: float
    pearson: float


def char_bleu_by_length(
    metrics: tuple[BLEU, BLEU],
    stats: Sequence[FloatColumn],
    order: int,
    *,
    longest: int | None = None,
) -> list[LengthEquivalents]:
    """Return how BLEU in characters compares with BLEU in words for each length of a sentence.

    Parameters
    ----------
    metrics, stats
        As of :func:`char_bleu_equivalents`; the orders that are compared are the highest in words,
        and all in characters.
    order
        The M that is compared over all lengths.
    longest
        Sentences of more words are taken together, by default those of more than 10, or than the
        order in words; those of fewer words than that, whose scores are all 0, are left out.
    """
    words, characters = metrics
    if not 1 <= order <= characters.order:
        raise OptionError(f"order {order} in characters, expected 1 to {characters.order}")
    if longest is None:
        longest = max(10, words.order)
    if longest < words.order:
        raise OptionError(f"lengths up to {longest}, expected {words.order} or more")
    of_words = _scores_by_order(words, stats[0])[-1]
    of_characters = _scores_by_order(characters, stats[1])
    lengths = stats[0][:, -2]
    found = []
    for length in range(words.order, longest + 2):
        chosen = lengths == length if length <= longest else lengths > longest
        if not chosen.any():
            continue
        some = of_words[chosen]
        pearson = (
            [correlate(some, scores[chosen]).value for scores in of_characters]
            if len(some) >= FEWEST_POINTS
            else [math.nan] * characters.order
        )
        best = _argmax(pearson)
        found.append(
            LengthEquivalents(
                str(length) if length <= longest else f"> {longest}",
                len(some),
                len(some) / len(lengths),
                float(some.mean()),
                float(some.std()),
                best,
                math.nan if best is None else pearson[best - 1],
                pearson[order - 1],
            )
        )
    return found


@dataclass(frozen=True)
class SystemMeans(PlainRecord):
    """Mean scores of a system's sentences in words and in characters, and its ranks by both."""

    system: str
    words: float
    characters: float
    difference: float
    words_rank: int
    characters_rank: int


def char_bleu_systems(
    metrics: tuple[BLEU, BLEU], stats: Mapping[str, Sequence[FloatColumn]]
) -> list[SystemMeans]:
    """Return the mean of sentence scores of each system under both metrics, best in words first.

    The paper's scores of systems are such means: a sentence of fewer units than the order has 0.
    """
    means = {
        name: [
            float(metric.scores(rows).mean()) for metric, rows in zip(metrics, both, strict=True)
        ]
        for name, both in stats.items()
    }
    ranks = [competition_ranks([each[side] for each in means.values()]) for side in (0, 1)]
    found = [
        SystemMeans(name, words, characters, characters - words, ranks[0][at], ranks[1][at])
        for at, (name, (words, characters)) in enumerate(means.items())
    ]
    return sorted(found, key=lambda one: one.words_rank)


@dataclass(frozen=True)
class ShortSentences(PlainRecord):
    """Sentences by length: too short for the order in words (``few``), or not (``enough``)."""

    characters: str
    few: int
    enough: int
    total: int


def short_sentences(
    words: int, characters: int, lengths: tuple[FloatColumn, FloatColumn]
) -> list[ShortSentences]:
    """Return how many sentences have fewer words, characters, or both than the orders.

    ``lengths`` has one number a sentence, in words and in characters. The rows: fewer characters
    than the order, as many or more, and all.
    """
    few, short = lengths[0] < words, lengths[1] < characters
    rows = ((f"< {characters}", short), (f">= {characters}", ~short), ("total", short | ~short))
    return [
        ShortSentences(name, int((few & rows).sum()), int((~few & rows).sum()), int(rows.sum()))
        for name, rows in rows
    ]
