"""Genre mixing: choices of systems that are better on each genre, and worse on all together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from fstmetrics.contract import ROUNDING, Metric
from fstmetrics.statistics.significance import qualities_of
from lattices.arrays import FloatColumn
from lattices.errors import OptionError
from lattices.records import PlainRecord

#: choices are compared with each other
_MOST_CHOICES = 4096


@dataclass(frozen=True)
class GenreChoice(PlainRecord):
    """A system for each genre."""

    #: one a genre
    systems: tuple[str, ...]
    #: on each genre
    scores: tuple[float, ...]
    #: of the corpus of all genres
    together: float


@dataclass(frozen=True)
class GenreMixing(PlainRecord):
    """How often a metric contradicts itself on a corpus of several genres."""

    metric: Metric
    genres: tuple[str, ...]
    #: pairs of choices of which the first is better on every genre
    better: int
    #: those of them of which it is worse on all together
    inverted: int
    #: the inversion that loses most, None if there is none
    first: GenreChoice | None
    second: GenreChoice | None


def genre_mixing(metric: Metric, totals: Mapping[str, Mapping[str, FloatColumn]]) -> GenreMixing:
    """Compare all choices of a system for each genre with each other.

    A metric that is a weighted average of sentence scores, with weights that do not depend on the
    system, has no inversions: what is better on each genre is better together. BLEU has, since a
    surplus of words of one genre makes up for what is missing in the other (Chiang et al. 2008,
    section 3.2). Cost: the square of the number of choices, systems to the power of genres.

    Parameters
    ----------
    metric
    totals
        For each genre, the summed statistics of each system on it; genres may have different
        systems.

    Raises
    ------
    OptionError
        For fewer than two genres, or more than 4,096 choices.

    Examples
    --------
    >>> from fstmetrics import BLEU, WER, corpus_stats
    >>> references = {"news": ["a b c d e f g h"], "web": ["k l m n o p q r"]}
    >>> outputs = {"news": {"long": "a b c d x y z e f g h i j", "short": "a b c d e x"},
    ...            "web": {"long": "k l m n x y z o p q r s t", "short": "k l m n o"}}
    >>> def totals(metric):
    ...     return {genre: {name: corpus_stats(metric, [said], [references[genre]]).sum(axis=0)
    ...             for name, said in of.items()} for genre, of in outputs.items()}
    >>> found = genre_mixing(BLEU(order=2), totals(BLEU(order=2)))
    >>> found.better, found.inverted, found.first.systems, found.second.systems
    (1, 1, ('short', 'long'), ('long', 'short'))
    >>> genre_mixing(WER(), totals(WER())).inverted
    0
    """
    if len(totals) < 2:
        raise OptionError(f"{len(totals)} genres, expected 2 or more")
    count = math.prod(map(len, totals.values()))
    if count > _MOST_CHOICES:
        raise OptionError(
            f"{count} choices of a system for each of {len(totals)} genres, expected "
            f"{_MOST_CHOICES} or fewer: give fewer systems"
        )
    choices = [*product(*totals.values())]
    # one matrix a genre, whose rows are those of the choices
    rows = [
        np.array([of[choice[place]] for choice in choices])
        for place, of in enumerate(totals.values())
    ]
    alone = np.stack([qualities_of(metric, of) for of in rows], axis=1)
    together = qualities_of(metric, np.sum(rows, axis=0))
    tolerance = ROUNDING * max(1.0, float(np.abs(alone).max()))
    better = inverted = 0
    worst, pair = 0.0, None
    for at in range(len(choices)):
        above = (alone[at] > alone + tolerance).all(axis=1)
        losses = np.where(above, together - together[at], 0.0)
        better += int(above.sum())
        inverted += int((losses > tolerance).sum())
        if losses.max() > max(worst, tolerance):
            worst, pair = float(losses.max()), (at, int(np.argmax(losses)))

    def describe(at: int) -> GenreChoice:
        of_genres = tuple(float(metric.score(of[at])) for of in rows)
        return GenreChoice(choices[at], of_genres, float(metric.score(sum(of[at] for of in rows))))

    both = (None, None) if pair is None else (describe(pair[0]), describe(pair[1]))
    return GenreMixing(metric, tuple(totals), better, inverted, *both)
