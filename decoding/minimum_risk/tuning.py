"""Tuning of lattice MBR: the parameters that do best on a development set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

import numpy as np

from decoding.corpus.outcomes import Segment
from decoding.minimum_risk.linear import (
    merge_results,
    mix_values,
    prepare_spaces,
)
from decoding.minimum_risk.method import as_systems, check_scale, system_shares
from fstmetrics import Evaluator, Metric
from fstmetrics.contract import quality
from fstmetrics.ngram.linear import linear_factors
from fstmetrics.references import Reference
from lattices.algorithms import best_words
from lattices.algorithms.ngrams import PRESENCE, check_kinds
from lattices.arrays import FloatColumn
from lattices.errors import OptionError, argument
from lattices.formats.references import References
from lattices.records import PlainRecord
from lattices.spaces import Space

SCALES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
PRECISIONS = (0.6, 0.7, 0.8, 0.9)
RATIOS = (0.5, 0.6, 0.7, 0.8)
UNIGRAMS = (10.0,)
#: points that a notebook shows
_SHOWN = 20


@dataclass(frozen=True)
class LinearGrid:
    """The points to try: every combination of these values.

    Examples
    --------
    >>> LinearGrid(scales=(1.0, 2.0), ps=(0.5,), rs=(0.7,)).points
    [(1.0, 0.5, 0.7, 10.0), (2.0, 0.5, 0.7, 10.0)]
    """

    #: values of ``scale``, ``p``, ``r`` and ``T`` of :class:`~decoding.minimum_risk.linear.Linear`
    scales: tuple[float, ...] = SCALES
    ps: tuple[float, ...] = PRECISIONS
    rs: tuple[float, ...] = RATIOS
    Ts: tuple[float, ...] = UNIGRAMS
    #: as there, the same at every point
    order: int = 4
    word_penalty: float | None = None
    merge: str = "sum"
    #: as there, where segments have several spaces
    system_weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse values that mean nothing, before anything is computed."""
        for name in ("scales", "ps", "rs", "Ts"):
            values = tuple(map(float, getattr(self, name)))
            object.__setattr__(self, name, values)
            if not values:
                raise OptionError(f"no value for {argument(name)}, expected at least one")
            if len(set(values)) < len(values):
                raise OptionError(
                    f"{argument(name)} has a value twice: {', '.join(map(str, values))}"
                )
        for scale in self.scales:
            check_scale(scale)
        for p, r, T in product(self.ps, self.rs, self.Ts):
            linear_factors(p, r, T, self.order, word_penalty=self.word_penalty)
        check_kinds(PRESENCE, self.merge)

    @property
    def points(self) -> list[tuple[float, float, float, float]]:
        """All points (scale, p, r, T), the last value changing fastest."""
        return list(product(self.scales, self.ps, self.rs, self.Ts))

    def choices(self, space: Space | Sequence[Space]) -> list[tuple[str, ...]]:
        """Return the sentence that is chosen at each point.

        The space is unfolded once, posteriors are computed once for each scale, and each
        (p, r) is one search; ``T`` changes nothing without a word penalty, and is then not
        searched for.
        """
        searches, _ = prepare_spaces(space, None, self.order)
        weights = system_shares(self.system_weights, len(searches))
        chosen: list[tuple[str, ...]] = []
        for scale in self.scales:
            posteriors = [each.posteriors(scale, PRESENCE, self.merge) for each in searches]
            values = [mix_values(each, posteriors, weights) for each in searches]
            for p, r in product(self.ps, self.rs):
                for T in self.Ts if self.word_penalty else self.Ts[:1]:
                    factors = linear_factors(p, r, T, self.order, word_penalty=self.word_penalty)
                    found = [
                        each.k_best(factors, value, 1)
                        for each, value in zip(searches, values, strict=True)
                    ]
                    chosen.append(merge_results(found, 1)[0].hypothesis.tokens)
                if not self.word_penalty:
                    chosen += [chosen[-1]] * (len(self.Ts) - 1)
        return chosen

    def make_point(self, values: Sequence[float], score: float) -> TuningPoint:
        """Return a point with its score."""
        scale, p, r, T = values
        return TuningPoint(scale, p, r, T, score)


class Grid(Protocol):
    """Points to try, and what is chosen at each of them."""

    @property
    def points(self) -> Sequence[tuple[float, ...]]:
        """All points."""

    def choices(self, space: Space | Sequence[Space]) -> list[tuple[str, ...]]:
        """Return the sentence that is chosen at each point."""

    def make_point(self, values: Sequence[float], score: float) -> Any:
        """Return a point with its score."""


def grid_stats(grid: Grid, space: Space | Sequence[Space], evaluator: Evaluator) -> FloatColumn:
    """Return the statistics of the model's best, then of what is chosen at each point."""
    known: dict[tuple[str, ...], FloatColumn] = {}
    words = [best_words(as_systems(space)[0]), *grid.choices(space)]
    for each in words:
        if each not in known:
            known[each] = evaluator.stats(each)
    return np.array([known[each] for each in words], dtype=np.float64)


@dataclass(frozen=True)
class TuningPoint(PlainRecord):
    """What the corpus scores with certain parameters."""

    scale: float
    p: float
    r: float
    T: float
    score: float


@dataclass(frozen=True)
class TuningTable(PlainRecord):
    """All points of a grid with the score of each, the best first."""

    #: points of equal score stand in the order of the grid
    points: tuple[Any, ...]
    metric: str
    #: what the model's own choices score
    one_best: float
    segments: int

    def _repr_html_(self) -> str:
        """Return the best points for a notebook."""
        from decoding.frames import html_frame
        from lattices.drawing import cell

        table = html_frame(self.points[:_SHOWN])
        more = f", the best {_SHOWN} of {len(self.points)} points" if self.points[_SHOWN:] else ""
        note = f"{self.metric} over {self.segments} segments, 1-best {self.one_best:.4f}{more}"
        return f"{table}\n<p>{cell(note, 'muted')}</p>"

    @property
    def best(self) -> Any:
        """The point with the best score, the first in the grid of equals."""
        return self.points[0]


def tune_linear(
    spaces: Iterable[Space | Sequence[Space]],
    references: Sequence[Iterable[Reference]],
    metric: Metric,
    grid: LinearGrid | None = None,
) -> TuningTable:
    """Return what :class:`~decoding.minimum_risk.linear.Linear` scores at each point of a grid.

    Cost: each space is unfolded once; then, for each scale, posteriors once, and a search,
    linear in the arcs, for each (p, r). Statistics are computed once for each sentence that is
    ever chosen, and no more of them are kept than one row a point.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -1.0), (1, 2, "b"), (2, 5, "e"),
    ...      (0, 3, "x", -1.1), (0, 3, "y", -1.2), (3, 4, "c"), (4, 5, "d")], finals=[5]
    ... )
    >>> grid = LinearGrid(scales=(1, 100), ps=(0.85,), rs=(0.75,))
    >>> table = tune_linear([lattice], [["x c d"]], WER(), grid)
    >>> [(point.scale, point.score) for point in table.points], table.one_best
    ([(1.0, 0.0), (100.0, 1.0)], 1.0)
    """
    return tune_grid(spaces, references, metric, LinearGrid() if grid is None else grid)


def tune_grid(
    spaces: Iterable[Space | Sequence[Space]],
    references: Sequence[Iterable[Reference]],
    metric: Metric,
    grid: Grid,
) -> TuningTable:
    """Return what the choices of a grid score at each of its points, in one pass."""
    rows = np.zeros((1 + len(grid.points), len(metric.stat_names)))
    segments = 0
    for space in spaces:
        if segments == len(references):
            raise OptionError(f"more spaces than the {len(references)} lists of references")
        rows += grid_stats(grid, space, metric.against(references[segments]))
        segments += 1
    if segments != len(references):
        raise OptionError(f"{segments} spaces, but references for {len(references)} segments")
    return tuning_table(grid, metric, rows, segments)


def tuning_table(grid: Grid, metric: Metric, rows: FloatColumn, segments: int) -> TuningTable:
    """Return the table of a corpus from the sums of :func:`grid_stats`."""
    if not segments:
        raise OptionError("no segment to tune on")
    one, *scores = [metric.score(row) for row in rows]
    points = [grid.make_point(*each) for each in zip(grid.points, scores, strict=True)]
    points.sort(key=lambda point: -quality(metric, point.score))
    return TuningTable(tuple(points), str(metric), one, segments)


@dataclass(frozen=True)
class TuningTask:
    """The statistics of each segment at each point: a task of :func:`decoding.run`."""

    grid: Grid
    metric: Metric
    #: those of the segments themselves if None
    references: References | None = None

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metric, as tasks have them that judge by several."""
        return (self.metric,)

    def process(self, segments: Sequence[Segment]) -> list[FloatColumn]:
        """Return the statistics of each segment."""
        return [
            grid_stats(
                self.grid,
                segment.space,
                self.metric.against(segment.references(self.references, required=True)),
            )
            for segment in segments
        ]
