"""Best sentences under other weights: what ``fstmetrics rescore`` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decoding.corpus.outcomes import Segment
from decoding.corpus.table import SumsLayout, Table, Totals
from decoding.corpus.transforms import Rescored, list_unweighted
from decoding.tasks.segments import Scored, is_unscored
from fstmetrics import Metric
from lattices.algorithms import best, best_words
from lattices.formats.references import References


@dataclass(frozen=True)
class RescoreTask:
    """Find the best sentence of every segment under weights, and score it under all metrics.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Lattice
    >>> arcs = [(0, 1, "a", -0.5, {"lm": -3.0}), (0, 1, "the", -0.75, {"lm": -1.0})]
    >>> lattice = Lattice.from_arcs(arcs, finals=[1], references=["the"])
    >>> found, = RescoreTask({"lm": 0.5}, metrics=(WER(),)).process([Segment(0, "", 0, lattice)])
    >>> found["text"], found["score"], found["scores"]
    ('the', -0.5, {'wer': 0.0})
    """

    weights: Mapping[str, float]
    #: as in :class:`decoding.corpus.transforms.Rescored`
    missing: str = "warn"
    metrics: tuple[Metric, ...] = ()
    #: those of the segments themselves if None; where a segment has none nothing is scored
    references: References | None = None

    @property
    def layout(self) -> SumsLayout:
        """What the sums are."""
        return SumsLayout(self.metrics, ("size", "unscored"), ("rescored", "file"))

    def process(self, segments: Sequence[Segment]) -> Table:
        """Return what the model says about each segment."""
        transform = Rescored(self.weights, self.missing)
        spaces = [transform(segment) for segment in segments]
        found = [best(space) for space in spaces]
        scored = Scored(segments, self.references, self.metrics)
        stats = scored.rows([each.tokens for each in found])
        before = scored.rows([best_words(segment.space) for segment in segments])
        return Table(
            [segment.id for segment in segments],
            {
                "score": [each.score for each in found],
                "words": [each.tokens for each in found],
                "text": lambda: [each.text for each in found],
                "features": lambda: [dict(each.features) for each in found],
                "scores": lambda: scored.scores(stats),
            },
            optional=["scores"],
            about={
                "engine": ["model"] * len(segments),
                "unweighted": [
                    list_unweighted(segment.space, self.weights) for segment in segments
                ],
            },
            sums=self.layout.sums(
                len(segments),
                [
                    [len(space.score) for space in spaces],
                    [is_unscored(segment.space) for segment in segments],
                ],
                stats,
                before,
            ),
        )

    def summary(self, totals: Totals) -> dict[str, Any]:
        """Return what there is to tell of a corpus."""
        return {
            name: value
            for name, value in totals.summary().items()
            if name not in ("metric", "engine")
        }
