"""Oracles of longer and longer lists, and of denser and denser lattices, of a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, cast

from decoding.corpus.outcomes import Segment
from decoding.corpus.table import SumsLayout, Table, Totals
from decoding.extraction.best_of import expected_stats
from decoding.extraction.oracle_search import Oracle, density_curve, oracle_at
from decoding.extraction.search import SEARCH, Search
from decoding.tasks.segments import is_unscored, make_evaluators, references_of, score_rows
from fstmetrics import Evaluator, Metric
from fstmetrics.contract import decomposes
from lattices.algorithms import best_words
from lattices.errors import OptionError, argument
from lattices.formats.references import References
from lattices.spaces import Lattice, NBest, Space


@dataclass(frozen=True)
class CurveTask:
    """Find the oracles of every segment at each size of its list, or density of its lattice.

    The results of a segment are the points of the curve.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -0.1), (0, 1, "the", -0.9)], finals=[1], references=["the"]
    ... )
    >>> found, = CurveTask((WER(),), at=(1, 10)).process([Segment(0, "", 0, lattice)])
    >>> [(each["point"], each["size"], each["scores"]) for each in found.fields()]
    [(1, 1, {'wer': 1.0}), (10, 2, {'wer': 0.0})]
    """

    #: the first one searches
    metrics: tuple[Metric, ...]
    #: those of the segments themselves if None
    references: References | None = None
    #: as in :func:`decoding.oracle_at`
    at: tuple[int, ...] = ()
    #: as in :func:`decoding.density_curve`, instead
    densities: tuple[float, ...] = ()
    search: Search = SEARCH
    #: of ``at``: samples, drawn at random from all, as in :func:`decoding.best_of`
    random: bool = False
    #: what MBR decides by among such samples, instead of the oracle
    utility: Metric | None = None

    @property
    def points(self) -> tuple[float, ...]:
        """The points of the curve."""
        return self.at or self.densities

    @property
    def layout(self) -> SumsLayout:
        """What the sums are; a kind of statistics is a point of the curve."""
        names = tuple(map(str, self.points))
        sizes = tuple(f"size at {name}" for name in names)
        return SumsLayout(self.metrics, ("decomposing", "unscored", "words", *sizes), names)

    def process(self, segments: Sequence[Segment]) -> Table:
        """Return the points of each segment."""
        references = references_of(segments, self.references)
        spaces = [segment.space for segment in segments]
        first, *others = (make_evaluators(each, spaces, references) for each in self.metrics)
        numbers = range(len(self.points))
        # by metric, then by point, then by segment
        rows: list[list[Any]]
        if self.random:
            expected = [
                expected_stats(space, matching, self.at, self.utility)
                for space, *matching in zip(spaces, first, *others, strict=True)
            ]
            rows = [
                [[each[metric][number] for each in expected] for number in numbers]
                for metric in range(len(self.metrics))
            ]
            sizes = [[min(k, len(cast(NBest, space))) for k in self.at] for space in spaces]
            engines = ["scorer"] * len(spaces)
        else:
            found = [self._curve(*each) for each in zip(spaces, first, strict=True)]
            points = [[oracle for _, oracle in of_segment] for of_segment in found]
            rows = [
                [[each[number].stats for each in points] for number in numbers],
                *(
                    [
                        score_rows(other, [each[number].tokens for each in points])
                        for number in numbers
                    ]
                    for other in others
                ),
            ]
            sizes = [[size for size, _ in of_segment] for of_segment in found]
            engines = [of_segment[0].engine for of_segment in points]
        words = [len(best_words(space)) for space in spaces]
        stats = [
            [[of_metric[number][place] for of_metric in rows] for number in numbers]
            for place in range(len(spaces))
        ]
        sums = self.layout.sums(
            len(spaces),
            [
                [decomposes(evaluator) for evaluator in first],
                [not self.random and is_unscored(space) for space in spaces],
                words,
                *zip(*sizes, strict=True),
            ],
            *zip(*rows, strict=True),
        )
        return Table(
            [segment.id for segment in segments],
            {
                "point": [*self.points] * len(spaces),
                "size": [*chain.from_iterable(sizes)],
                "scores": lambda: [
                    {
                        str(metric): metric.score(row)
                        for metric, row in zip(self.metrics, of_point, strict=True)
                    }
                    for of_point in chain.from_iterable(stats)
                ],
            },
            sizes=[len(self.points)] * len(spaces),
            about={
                "stats": stats,
                "sizes": sizes,
                "words": words,
                "engine": engines,
            },
            sums=sums,
        )

    def _curve(self, space: Space, evaluator: Evaluator) -> list[tuple[int, Oracle]]:
        if self.at:
            return [(each.sentences, each.oracle) for each in oracle_at(space, evaluator, self.at)]
        if isinstance(space, Lattice):
            curve = density_curve(space, evaluator, self.densities, **asdict(self.search))
            return [(each.arcs, each.oracle) for each in curve]
        raise OptionError(
            f"{argument('densities')} is for lattices, and this is "
            f"{'an n-best list' if isinstance(space, NBest) else 'a forest'}; "
            f"{argument('at')} is for all"
        )

    def summary(self, totals: Totals) -> dict[str, Any]:
        """Return what there is to tell of a corpus.

        Of each of its ``points`` it has what was asked for, the mean of what there was, and the
        scores.
        """
        whole = totals.summary()
        among = whole["segments"] if self.at else max(1, whole["words"])
        whole["points"] = [
            (
                point,
                whole[f"size at {point}"] / among,
                *(whole["metrics"][str(metric)][str(point)] for metric in self.metrics),
            )
            for point in self.points
        ]
        return whole
