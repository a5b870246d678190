"""Shard: the segments of a training corpus that one process holds.

What learners compute from single segments is computed where these are: a function is sent with
weights, and what it returns for each segment comes back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from decoding.training.envelope import Changes, EnvelopeCorpus, Variation
from decoding.training.learner import TrainingTask, describe_space
from decoding.training.training_corpus import LearnerCorpus, LearnerVariation, Spread
from fstmetrics import Metric
from fstmetrics.references import Reference
from lattices.algorithms import best_words
from lattices.arrays import FloatColumn
from lattices.spaces import Space


class StoredSpace(NamedTuple):
    """What is known of a space that another process holds."""

    #: which process, and which of its segments
    shard: int
    place: int
    id: str
    feature_names: tuple[str, ...]
    #: as of :func:`decoding.training.learner.describe_space`
    described: tuple[Any, ...]


class Shard:
    """The segments of one process."""

    def __init__(self, number: int) -> None:
        self._number = number
        self.lines: Any = None
        self._task: Any = None
        self._names: tuple[str, ...] = ()
        self._loaded: list[tuple[Space, tuple[Reference, ...]]] = []
        self._corpora: dict[tuple[str | None, str], LearnerCorpus] = {}

    def keep(self, segment: Any) -> Any:
        """Keep the space of a segment; return the segment with what is known of it elsewhere."""
        space = segment.space
        self._loaded.append((space, segment.references))
        stored = StoredSpace(
            self._number, len(self._loaded) - 1, space.id, tuple(space.feature_names),
            describe_space(space),
        )  # fmt: skip
        return replace(segment, space=stored)

    def settle(self, places: Sequence[int], names: Sequence[str], metric: Metric) -> None:
        """Take some of the segments as those of a task, whose features have these names."""
        spaces = [self._loaded[place][0] for place in places]
        references = [self._loaded[place][1] for place in places]
        self._corpora.clear()
        self._names = tuple(names)
        self._task = TrainingTask(spaces, references, metric)
        self.lines = EnvelopeCorpus(self._task.spaces, self._task.evaluators, names=self._names)

    def say(self, place: int, weights: Mapping[str, float]) -> tuple[str, ...]:
        """Return the best sentence of a space under weights."""
        space = self._loaded[place][0]
        known = {**dict.fromkeys(space.feature_names, 0.0), **weights}
        return best_words(space.reweighted(known))

    def corpus(self, judge: str | None, brevity: str) -> LearnerCorpus:
        """Return the segments of the task, in the columns of all features."""
        if (judge, brevity) not in self._corpora:
            self._corpora[judge, brevity] = LearnerCorpus(self._task, judge, brevity, self._names)
        return self._corpora[judge, brevity]


def settle(shard: Shard, places: Sequence[int], names: Sequence[str], metric: Metric) -> None:
    """Begin a task in a shard."""
    shard.settle(places, names, metric)


def spread(
    shard: Shard,
    made_by: tuple[str | None, str],
    document: Any,
    function: Spread,
    places: Any,
    arguments: tuple[Any, ...],
) -> list[Any]:
    """Return what a function returns for some segments of a shard."""
    corpus = shard.corpus(*made_by)
    corpus.document = document
    return function(corpus, places, *arguments)


def changes(shard: Shard, weights: FloatColumn, direction: FloatColumn) -> Changes:
    """Return how the statistics of a shard change along a line."""
    found: Changes = shard.lines.changes(weights, direction)
    return found


def statistics(shard: Shard, weights: FloatColumn) -> FloatColumn:
    """Return the statistics of the best sentences of a shard."""
    found: FloatColumn = shard.lines.stats(weights)
    return found


def vary(shard: Shard, found: Variation, places: Sequence[int]) -> Variation:
    """Add how much features vary in some segments of a shard."""
    shard.lines.add_variation(found, places)
    return found


def say(shard: Shard, places: Sequence[int], weights: Mapping[str, float]) -> list[tuple[str, ...]]:
    """Return the best sentences of what a shard keeps under weights; a missing one is 0."""
    return [shard.say(place, weights) for place in places]


def vary_columns(
    shard: Shard,
    found: LearnerVariation,
    places: Sequence[int],
    made_by: tuple[str | None, str],
) -> LearnerVariation:
    """Add how much features vary in some segments of a shard, as learners of weights have it."""
    shard.corpus(*made_by).add_variation(found, places)
    return found
