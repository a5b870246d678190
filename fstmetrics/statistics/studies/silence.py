"""Sentence deletion: a system that says nothing for some segments, against the one that speaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fstmetrics.contract import Metric, corpus_stats, quality, scores_of
from fstmetrics.ngram.bleu import BLEU
from fstmetrics.references import Reference
from fstmetrics.statistics.resampling import ResamplingOptions
from fstmetrics.statistics.significance import Comparison, paired_bootstrap, qualities_of
from lattices.arrays import Array, FloatColumn
from lattices.errors import OptionError
from lattices.records import PlainRecord

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: agreement of a sentence with those of other systems
_AGREEMENT = BLEU(smooth="exp", effective_order=True)


@dataclass(frozen=True)
class Silence(PlainRecord):
    """A system with some of its segments left empty, under one metric."""

    system: str
    #: the metric by which segments were chosen with the reference in view, None where they were
    #: chosen by the agreement of systems
    attacked: Metric | None
    #: that are empty now
    segments: int
    #: of the words that were deleted
    share: float
    #: the share of words that can go before the attacked metric is back at its score; NaN without
    #: attack
    free: float
    metric: Metric
    #: of the corpus with the empty segments
    score: float
    #: with the whole output
    comparison: Comparison


def check_share(share: float) -> None:
    """Refuse a share of words that deletes nothing or everything."""
    if not 0 < share < 1:
        raise OptionError(f"share={share:g}, expected more than 0 and less than 1")


def least_agreed(
    said: Sequence[Sequence[str]], others: Sequence[Sequence[Sequence[str]]], share: float
) -> Array:
    """Return which segments to leave empty: those least like other systems', for a share of words.

    It does not look at the reference: a system could do it by itself. Likeness is BLEU of the
    sentence, smoothed, with the other systems' sentences as references.

    Examples
    --------
    >>> said = [["the", "cat", "sat"], ["on", "a", "mat"]]
    >>> least_agreed(said, [[["the", "cat", "sat"], ["at", "the", "hat"]]], 0.5).tolist()
    [False, True]
    """
    check_share(share)
    if not others:
        raise OptionError("agreement needs two systems or more")
    agreement = scores_of(_AGREEMENT, corpus_stats(_AGREEMENT, said, [*zip(*others, strict=True)]))
    order = np.argsort(agreement, kind="stable")
    words = np.array([len(sentence) for sentence in said])
    chosen = np.zeros(len(said), dtype=bool)
    chosen[order[np.cumsum(words[order]) <= share * words.sum()]] = True
    return chosen


def attack(
    metric: Metric, stats: FloatColumn, silent: FloatColumn
) -> tuple[list[int], list[float]]:
    """Return segments in the order in which leaving them empty helps most, and what it gains.

    Greedy, with the reference in view, until the score is below that of the whole output. Cost:
    a score for each segment that is left, after each step.

    Parameters
    ----------
    metric
    stats, silent
        Statistics of each segment as it is, and of an empty one.
    """
    change = silent - stats
    total = stats.sum(axis=0)
    base = quality(metric, metric.score(total))
    left, order, gains = [*range(len(stats))], [], []
    while left:
        tried = qualities_of(metric, total + change[left])
        best = int(np.argmax(tried))
        if tried[best] < base:
            break
        order.append(left.pop(best))
        gains.append(float(tried[best]) - base)
        total = total + change[order[-1]]
    return order, gains


@dataclass(frozen=True)
class Outputs:
    """What systems said, and their statistics."""

    metrics: Sequence[Metric]
    #: the words of each segment, by system
    said: Mapping[str, Sequence[Sequence[str]]]
    #: by system and metric, one row a segment
    stats: Mapping[str, Sequence[FloatColumn]]
    #: by metric, the rows of empty sentences
    silent: Sequence[FloatColumn]

    @classmethod
    def of(
        cls,
        metrics: Sequence[Metric],
        said: Mapping[str, Sequence[Sequence[str]]],
        references: Sequence[Sequence[Reference]],
    ) -> Outputs:
        """Return outputs that are scored here."""
        scored = {
            name: [corpus_stats(metric, lines, references) for metric in metrics]
            for name, lines in said.items()
        }
        silent = [corpus_stats(metric, [()] * len(references), references) for metric in metrics]
        return cls(metrics, said, scored, silent)

    def _compare(
        self,
        system: str,
        chosen: Array,
        attacked: Metric | None,
        free: float,
        **resampling: Unpack[ResamplingOptions],
    ) -> list[Silence]:
        words = np.array([len(sentence) for sentence in self.said[system]])
        found = []
        for metric, stats, silent in zip(
            self.metrics, self.stats[system], self.silent, strict=True
        ):
            left = np.where(chosen[:, np.newaxis], silent, stats)
            comparison = paired_bootstrap(metric, left, stats, **resampling)
            found.append(
                Silence(
                    system,
                    attacked,
                    int(chosen.sum()),
                    float(words[chosen].sum() / words.sum()),
                    free,
                    metric,
                    float(metric.score(left.sum(axis=0))),
                    comparison,
                )
            )
        return found

    def silence(
        self, shares: Sequence[float], **resampling: Unpack[ResamplingOptions]
    ) -> list[Silence]:
        """Return what metrics say of each system with its least agreed segments left empty.

        Examples
        --------
        >>> from fstmetrics import BLEU, WER
        >>> said = {"a": [["the", "cat", "sat", "down", "there", "now"], ["what", "is"]],
        ...         "b": [["the", "cat", "sat", "down"], ["it", "was"]]}
        >>> outputs = Outputs.of((BLEU(order=1), WER()), said, [["the cat sat down"], ["it was"]])
        >>> for one in outputs.silence([0.25], samples=50)[:2]:
        ...     print(one.system, one.segments, f"{one.score:.3f} {one.comparison.effect:+.3f}")
        a 1 0.667 +0.167
        a 1 0.667 +0.000
        """
        return [
            one
            for system in self.said
            for share in shares
            for one in self._compare(
                system,
                least_agreed(
                    self.said[system],
                    [lines for name, lines in self.said.items() if name != system],
                    share,
                ),
                None,
                float("nan"),
                **resampling,
            )
        ]

    def attacks(self, **resampling: Unpack[ResamplingOptions]) -> list[Silence]:
        """Return what metrics say of each system where :func:`attack` on each metric is best."""
        found = []
        for system, of_metrics in self.stats.items():
            words = np.array([len(sentence) for sentence in self.said[system]])
            for metric, stats, silent in zip(self.metrics, of_metrics, self.silent, strict=True):
                order, gains = attack(metric, stats, silent)
                chosen = np.zeros(len(words), dtype=bool)
                if gains:
                    chosen[order[: 1 + int(np.argmax(gains))]] = True
                free = float(words[order].sum() / words.sum())
                found += self._compare(system, chosen, metric, free, **resampling)
        return found
