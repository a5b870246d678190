"""Segments as tasks take them: evaluators of their references, sizes, and model scores or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from decoding.corpus.outcomes import Segment
from fstmetrics import Evaluator, Metric
from fstmetrics.contract import corpus_stats, for_segment, metric_abilities_of
from fstmetrics.references import Reference
from lattices.arrays import FloatColumn
from lattices.spaces import Forest, Lattice, NBest, Space

if TYPE_CHECKING:
    from lattices.formats.references import References


def references_of(
    segments: Sequence[Segment], given: References | None
) -> list[tuple[Reference, ...]]:
    """Return the references of each segment, which are required."""
    return [segment.references(given, required=True) for segment in segments]


def make_evaluators(
    metric: Metric, spaces: Sequence[Space], references: Sequence[tuple[Reference, ...]]
) -> list[Evaluator]:
    """Return an evaluator for each segment, with its source where the metric takes one."""
    return [
        for_segment(metric, [space]).against(some)
        for space, some in zip(spaces, references, strict=True)
    ]


def score_rows(
    evaluators: Sequence[Evaluator], sentences: Sequence[Sequence[str]]
) -> list[FloatColumn]:
    """Return the statistics of sentences, each by the evaluator of its segment.

    In one pass where the metric has one: an oracle under one metric is scored under others, too.
    """
    if evaluators:
        metric, references = evaluators[0].metric, [each.references for each in evaluators]
        can = metric_abilities_of(metric)
        # what is compiled of a lattice serves all sentences of its segment
        whole = not any(isinstance(each, Lattice) for some in references for each in some)
        if can.corpus_stats is not None and can.with_source is None and whole:
            return list(corpus_stats(metric, sentences, references))
    return [evaluator.stats(words) for evaluator, words in zip(evaluators, sentences, strict=True)]


def space_size(space: Space) -> int:
    """Return the arcs of a lattice, the edges of a forest, the words of an n-best list."""
    if isinstance(space, NBest):
        return len(space.label)
    return space.num_edges if isinstance(space, Forest) else space.num_arcs


def is_unscored(space: Space) -> bool:
    """Tell whether the model's scores do not tell the sentences of a space apart.

    All scores of arcs or edges are 0, or those of a list are equal, though there is a choice;
    what :func:`lattices.algorithms.best` then returns is the first by the order of the file, and
    no opinion.
    """
    if isinstance(space, NBest):
        return len(space) > 1 and bool((space.score == space.score[0]).all())
    if space.score.any():
        return False
    if isinstance(space, Forest):
        return space.num_edges > space.num_nodes
    ends = space.final[np.isfinite(space.final)]
    # a chain has a state more than it has arcs
    return not ends.any() and space.num_arcs + len(ends) > space.num_states


class Scored:
    """What sentences of segments score, where there are references."""

    def __init__(
        self, segments: Sequence[Segment], given: References | None, metrics: Sequence[Metric]
    ) -> None:
        self._metrics = metrics
        #: of each segment an evaluator for each metric; None without references
        self.evaluators: list[list[Evaluator] | None] = []
        for segment in segments:
            references = segment.references(given)
            self.evaluators.append(
                [for_segment(each, [segment.space]).against(references) for each in metrics]
                if references and metrics
                else None
            )

    def rows(self, sentences: Sequence[Sequence[str]]) -> list[list[FloatColumn | None]]:
        """Return, for each metric, the statistics of a sentence of each segment."""
        pairs = zip(self.evaluators, sentences, strict=True)
        some = [(known, words) for known, words in pairs if known is not None]
        said = [words for _, words in some]
        found = []
        for number in range(len(self._metrics)):
            rows = iter(score_rows([known[number] for known, _ in some], said))
            found.append([None if known is None else next(rows) for known in self.evaluators])
        return found

    def rows_by(
        self, found: Callable[[Space, Evaluator], FloatColumn | None], spaces: Sequence[Space]
    ) -> list[list[FloatColumn | None]]:
        """Return, for each metric, what a function makes of each space and its evaluator."""
        return [
            [
                None if evaluators is None else found(space, evaluators[number])
                for space, evaluators in zip(spaces, self.evaluators, strict=True)
            ]
            for number in range(len(self._metrics))
        ]

    def scores(self, rows: Sequence[Sequence[FloatColumn | None]]) -> list[dict[str, float] | None]:
        """Return the scores of such statistics, by metric; None without references."""
        return [
            None
            if evaluators is None
            else {
                str(metric): metric.score(row)
                for metric, of_metric in zip(self._metrics, rows, strict=True)
                if (row := of_metric[place]) is not None
            }
            for place, evaluators in enumerate(self.evaluators)
        ]
