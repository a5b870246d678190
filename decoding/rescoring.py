"""The model's best under other weights, for a batch: a job of :func:`decoding.corpus.run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from decoding.corpus import Job, Segment
from decoding.jobs import is_unscored, one_best
from decoding.training.learner_task import space_size
from decoding.transforms import Rescored, unweighted
from fstmetrics import Metric
from fstmetrics.references import Reference
from lattices.algorithms import best
from lattices.arrays import FloatColumn
from lattices.errors import OptionError
from lattices.formats.references import References
from lattices.spaces import Hypothesis, NBest, Space

R = TypeVar("R")


def best_hypothesis(space: Space) -> Hypothesis:
    """Return the sentence of the highest score; of a list, the first that has it.

    The words are those of :func:`decoding.jobs.one_best`.

    Examples
    --------
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -0.5), (0, 1, "the", -0.25)], finals=[1])
    >>> best_hypothesis(lattice).text
    'the'
    """
    if not isinstance(space, NBest):
        return best(space)
    if not len(space):
        raise OptionError(f"n-best list {space.id!r} is empty")
    return space[int(np.argmax(space.score))]


@dataclass(frozen=True)
class SegmentRescored:
    """What the model says about one segment under other weights.

    Attributes
    ----------
    hypothesis : Hypothesis
        With its new score.
    stats, one_best_stats : tuple of float64 columns, or None
        Under each metric, the statistics of the hypothesis, and those of what was best by the
        scores in the file; None without references.
    unweighted : tuple of str
        Features that have no weight, and counted nothing.
    size : int
        The arcs of a lattice, the edges of a forest, the entries of an n-best list.
    unscored : bool
        Whether what was best in the file is arbitrary, since it has no scores.
    """

    hypothesis: Hypothesis
    stats: tuple[FloatColumn, ...] | None
    one_best_stats: tuple[FloatColumn, ...] | None
    unweighted: tuple[str, ...]
    size: int
    unscored: bool = False


@dataclass(frozen=True)
class RescoreJob:
    """Find the best sentence of every segment under weights, and score it under all metrics.

    Attributes
    ----------
    weights : mapping of str to float
    missing : {"error", "zero"}
        As in :class:`decoding.transforms.Rescored`.
    metrics : tuple of Metric
    references : References or None
        Those of the segments themselves if None; where a segment has none nothing is scored.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Lattice
    >>> arcs = [(0, 1, "a", -0.5, {"lm": -3.0}), (0, 1, "the", -0.75, {"lm": -1.0})]
    >>> lattice = Lattice.from_arcs(arcs, finals=[1], references=["the"])
    >>> found, = RescoreJob({"lm": 0.5}, metrics=(WER(),))([Segment(0, "", 0, lattice)])
    >>> found.hypothesis.text, found.hypothesis.score
    ('the', -0.5)
    >>> [WER().score(some[0]) for some in (found.one_best_stats, found.stats)]
    [1.0, 0.0]
    """

    weights: Mapping[str, float]
    missing: str = "error"
    metrics: tuple[Metric, ...] = ()
    references: References | None = None

    def __call__(self, segments: Sequence[Segment]) -> list[SegmentRescored]:
        """Return what the model says about each segment."""
        rescored = Rescored(self.weights, self.missing)
        return [self._judged(segment, rescored(segment)) for segment in segments]

    def _judged(self, segment: Segment, rescored: Space) -> SegmentRescored:
        found = best_hypothesis(rescored)
        stats = one_best_stats = None
        references = self._references(segment)
        if references and self.metrics:
            judges = [metric.against(references) for metric in self.metrics]
            before = one_best(segment.space)
            stats = tuple(judge.stats(found.tokens) for judge in judges)
            one_best_stats = tuple(judge.stats(before) for judge in judges)
        names = unweighted(segment.space, self.weights)
        return SegmentRescored(
            found, stats, one_best_stats, names, space_size(rescored), is_unscored(segment.space)
        )

    def _references(self, segment: Segment) -> tuple[Reference, ...]:
        if self.references is not None:
            return self.references.get(segment.id, segment.position)
        return segment.space.references


@dataclass(frozen=True)
class UnweightedNoted(Generic[R]):
    """A job, and for each segment the features that weights leave out.

    Examples
    --------
    >>> from lattices import Lattice
    >>> def ids(segments):
    ...     return [segment.id for segment in segments]
    >>> lattice = Lattice.from_arcs([(0, 1, "a", 0.0, {"lm": 1.0})], finals=[1], id="s1")
    >>> UnweightedNoted(ids, {})([Segment(0, "", 0, lattice)])
    [('s1', ('lm',))]
    """

    job: Job[R]
    weights: Mapping[str, float]

    def __call__(self, segments: Sequence[Segment]) -> list[tuple[R, tuple[str, ...]]]:
        """Return the job's result for each segment, and the features."""
        names = [unweighted(segment.space, self.weights) for segment in segments]
        return list(zip(self.job(segments), names, strict=True))
