"""Ranks: systems in the order of each metric, beside the order of people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fstmetrics.contract import ROUNDING, Metric, quality
from lattices.arrays import FloatColumn
from lattices.errors import OptionError
from lattices.records import PlainRecord


def competition_ranks(qualities: Sequence[float]) -> list[int]:
    """Return the rank of each, 1 for the highest; equals share the best rank of theirs.

    Examples
    --------
    >>> competition_ranks([0.5, 0.7, 0.5, 0.1])
    [2, 1, 2, 4]
    """
    tolerance = ROUNDING * max(map(abs, qualities), default=0.0)
    return [1 + sum(other > one + tolerance for other in qualities) for one in qualities]


@dataclass(frozen=True)
class RankedSystem(PlainRecord):
    """A system with the scores and ranks that people and metrics give it."""

    system: str
    human: float | None
    human_rank: int | None
    #: of the corpus, one a metric
    scores: tuple[float, ...]
    ranks: tuple[int, ...]


def rank_systems(
    metrics: Sequence[Metric],
    totals: Mapping[str, Sequence[FloatColumn]],
    human: Mapping[str, float] | None = None,
) -> list[RankedSystem]:
    """Return systems with their ranks, in the order of people, or else of the first metric.

    Parameters
    ----------
    metrics
    totals
        Summed statistics of each system under each metric.
    human
        What people say of each system, higher is better.

    Examples
    --------
    >>> from fstmetrics import BLEU, WER, corpus_stats
    >>> outputs = {"a": ["the cat sat"], "b": ["a cat sat down there"], "c": ["cat"]}
    >>> metrics = (WER(), BLEU(order=1))
    >>> totals = {name: [corpus_stats(metric, lines, [["the cat sat down"]]).sum(axis=0)
    ...           for metric in metrics] for name, lines in outputs.items()}
    >>> [(one.system, one.human_rank, one.ranks)
    ...  for one in rank_systems(metrics, totals, {"a": 0.1, "b": 0.4, "c": -0.2})]
    [('b', 1, (2, 2)), ('a', 2, (1, 1)), ('c', 3, (3, 3))]
    """
    if human is not None and human.keys() != totals.keys():
        raise OptionError("expected a human score for each system")
    scores = [
        tuple(float(metric.score(row)) for metric, row in zip(metrics, rows, strict=True))
        for rows in totals.values()
    ]
    by_metric = [
        competition_ranks([quality(metric, of_system[place]) for of_system in scores])
        for place, metric in enumerate(metrics)
    ]
    said: Mapping[str, float] = human or {}
    said_ranks = dict(zip(said, competition_ranks([*said.values()]), strict=True))
    found = [
        RankedSystem(
            name, said.get(name), said_ranks.get(name), scores[at], tuple(r[at] for r in by_metric)
        )
        for at, name in enumerate(totals)
    ]
    return sorted(found, key=lambda one: (one.human_rank or 0, one.ranks))
