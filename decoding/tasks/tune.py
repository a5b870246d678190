"""Weights that do best on a development set: what ``fstmetrics tune`` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from decoding.minimum_risk.tuning import TuningTable, tune_grid
from fstmetrics import Metric
from fstmetrics.references import Reference
from lattices.algorithms import best_words
from lattices.errors import OptionError
from lattices.records import PlainRecord
from lattices.spaces import Forest, Lattice, NBest, Space
from lattices.spaces.scales import WORDS, count_words, weights_of


@dataclass(frozen=True)
class Axis:
    """One side of a grid.

    Attributes
    ----------
    name : str
        What tables call it.
    values : tuple of float
    feature : str
        Whose weight it is; empty for the scale of an MBR decision.
    kind : {"weight", "inverse", "penalty"}
        The weight is the value, 1 over it, or its negative.
    """

    name: str
    values: tuple[float, ...]
    feature: str = ""
    kind: Literal["weight", "inverse", "penalty"] = "weight"

    def __post_init__(self) -> None:
        """Refuse what is no grid."""
        if not self.values:
            raise OptionError(f"no value of {self.name}, expected at least one")
        if len(set(self.values)) < len(self.values):
            raise OptionError(f"{self.name} has a value twice")
        if (self.kind == "inverse" or not self.feature) and min(self.values) <= 0:
            raise OptionError(f"{self.name}: {min(self.values):g} is not above 0")

    def weight(self, value: float) -> float:
        """Return the weight of the feature."""
        return (
            1.0 / value if self.kind == "inverse" else -value if self.kind == "penalty" else value
        )


@dataclass(frozen=True)
class WeightPoint(PlainRecord):
    """What the corpus scores at a point of a grid of weights.

    Attributes
    ----------
    values : mapping of str to float
        Of each axis.
    weights : mapping of str to float
        Of all features, as :func:`decoding.training` and ``rescore`` take them.
    score : float
    """

    values: Mapping[str, float]
    weights: Mapping[str, float]
    score: float


@dataclass(frozen=True)
class WeightGrid:
    """All combinations of some weights.

    Attributes
    ----------
    axes : tuple of Axis
        The scale of MBR decisions comes last, if there is one.
    base : mapping of str to float, optional
        The weights of the other features; by default those that the scores are made of.
    metric : Metric, optional
        What MBR decides by, where there is a scale.

    Examples
    --------
    >>> from lattices import Lattice
    >>> arcs = [(0, 1, "a", -4.0, {"acoustic": -3.0, "graph": -1.0}),
    ...         (0, 1, "b", -4.5, {"acoustic": -2.5, "graph": -2.0})]
    >>> grid = WeightGrid((Axis("lmwt", (1.0, 10.0), "acoustic", "inverse"),))
    >>> grid.choices(Lattice.from_arcs(arcs, finals=[1]))
    [('a',), ('a',)]
    """

    axes: tuple[Axis, ...]
    base: Mapping[str, float] | None = None
    metric: Metric | None = None

    def __post_init__(self) -> None:
        """Refuse two axes of one thing, and a scale without a metric."""
        features = [axis.feature for axis in self.axes]
        for feature in features:
            if features.count(feature) > 1:
                names = " and ".join(axis.name for axis in self.axes if axis.feature == feature)
                raise OptionError(f"{names} are the same weight")
        if "" in features and (features[-1] or self.metric is None):
            raise OptionError("the scale of MBR decisions is the last axis, and needs a metric")

    @property
    def points(self) -> list[tuple[float, ...]]:
        """All points, the last value changing fastest."""
        return list(product(*(axis.values for axis in self.axes)))

    def make_point(self, values: Sequence[float], score: float) -> WeightPoint:
        """Return a point with its score."""
        named = {axis.name: value for axis, value in zip(self.axes, values, strict=True)}
        weights = {
            axis.feature: axis.weight(value)
            for axis, value in zip(self.axes, values, strict=True)
            if axis.feature
        }
        return WeightPoint(named, {**(self.base or {}), **weights}, score)

    def choices(self, space: Space | Sequence[Space]) -> list[tuple[str, ...]]:
        """Return the sentence that is chosen at each point: the best, or the MBR decision."""
        if not isinstance(space, Lattice | Forest | NBest):
            raise OptionError("weights are tuned for one space a segment")
        scales = () if not self.axes or self.axes[-1].feature else self.axes[-1].values
        weighted = self.axes[:-1] if scales else self.axes
        spaces: Iterable[Space] = [space]
        if weighted:
            spaces = self._reweight(space, weighted)
        if not scales:
            return [best_words(each) for each in spaces]
        from decoding.minimum_risk.decisions import mbr

        return [mbr(each, self.metric, scale=scale).tokens for each in spaces for scale in scales]

    def _reweight(self, space: Space, axes: Sequence[Axis]) -> Iterable[Space]:
        """Return the space under the weights of each point."""
        known = {axis.feature for axis in axes} | (self.base or {}).keys()
        base = dict(self.base or {})
        if not {*space.feature_names} <= known:
            base = {**weights_of(space), **base}
        if WORDS in known:
            space = count_words(space)
        names = space.feature_names
        unknown = [axis.feature for axis in axes if axis.feature not in names]
        if unknown:
            raise OptionError(f"no feature {unknown[0]!r}; there are {', '.join(names)}")
        for values in product(*(axis.values for axis in axes)):
            changed = (axis.weight(value) for axis, value in zip(axes, values, strict=True))
            yield space.reweighted(
                base | dict(zip((axis.feature for axis in axes), changed, strict=True))
            )


def tune_weights(
    spaces: Iterable[Space],
    references: Sequence[Iterable[Reference]],
    metric: Metric,
    grid: WeightGrid,
) -> TuningTable:
    """Return what the best sentences, or MBR decisions, score at each point of a grid of weights.

    Cost: each space is reweighted and searched once for each point, in one pass over the corpus;
    statistics are computed once for each sentence that is ever chosen.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Lattice
    >>> arcs = [(0, 1, "a", -4.0, {"acoustic": -3.0, "graph": -1.0}),
    ...         (0, 1, "b", -4.5, {"acoustic": -2.0, "graph": -2.5})]
    >>> lattice = Lattice.from_arcs(arcs, finals=[1])
    >>> grid = WeightGrid((Axis("lm-scale", (0.5, 2.0), "graph"),))
    >>> table = tune_weights([lattice], [["b"]], WER(), grid)
    >>> table.one_best, table.best.values, table.best.score
    (1.0, {'lm-scale': 0.5}, 0.0)
    """
    return tune_grid(spaces, references, metric, grid)
