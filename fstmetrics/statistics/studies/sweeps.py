"""Sweeps: systems under many values of an option, and what people say of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fstmetrics.contract import Metric
from fstmetrics.references import Reference, check_references
from fstmetrics.statistics.correlation import Correlation, correlate_systems
from fstmetrics.statistics.human import HumanScores, human_coefficient
from fstmetrics.statistics.resampling import ResamplingOptions
from fstmetrics.statistics.systems import System, pair_matrices
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError
from lattices.formats.references import References
from lattices.records import PlainRecord, to_plain

if TYPE_CHECKING:
    from typing_extensions import Unpack


class SweepPoint(NamedTuple):
    """A corpus under one value.

    Attributes
    ----------
    value : float
    metric : Metric
    score : float
        Of the corpus.
    stats : float64 array
        One row a segment: enough for segment scores, intervals and tests.
    """

    value: float
    metric: Metric
    score: float
    stats: FloatColumn

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data."""
        return {name: to_plain(value) for name, value in self._asdict().items()}


def threshold_sweep(
    metric_factory: Callable[[float], Metric],
    values: Iterable[float],
    hypotheses: Sequence[str | Sequence[str]],
    references: Sequence[Iterable[Reference]],
) -> list[SweepPoint]:
    """Return the score of a corpus under each value of a threshold.

    Segments are taken one after the other and all values tried on each, so that what does
    not depend on the threshold is computed once: tBLEU's affix distances and matching, and
    the nearest n-grams of BLEU_modif.

    Parameters
    ----------
    metric_factory : callable
        Returns the metric for a value, such as ``lambda epsilon: TBLEU(epsilon=epsilon)``.
    values : iterable of float
    hypotheses, references
        As for :func:`fstmetrics.corpus_score`.

    Raises
    ------
    OptionError
        If there are no values, or not as many lists of references as hypotheses.

    Examples
    --------
    >>> from fstmetrics import TBLEU
    >>> points = threshold_sweep(
    ...     lambda epsilon: TBLEU(order=1, epsilon=epsilon), [0.0, 0.2, 0.5],
    ...     ["we walked"], [["we walks"]])
    >>> [(point.value, point.score) for point in points]
    [(0.0, 0.5), (0.2, 0.5), (0.5, 0.75)]
    """
    wanted = [float(value) for value in values]
    if not wanted:
        raise OptionError("a sweep needs at least one value")
    if len(hypotheses) != len(references):
        raise OptionError(
            f"{len(hypotheses)} hypotheses, but references for {len(references)} segments"
        )
    metrics = [metric_factory(value) for value in wanted]
    rows: list[list[FloatColumn]] = [[] for _ in metrics]
    for hypothesis, of_segment in zip(hypotheses, references, strict=True):
        shared = check_references(of_segment)
        for metric, column in zip(metrics, rows, strict=True):
            column.append(metric.stats(hypothesis, shared))
    points = []
    for value, metric, column in zip(wanted, metrics, rows, strict=True):
        stats = floats(np.array(column).reshape(len(column), len(metric.stat_names)))
        points.append(SweepPoint(value, metric, metric.score(stats.sum(axis=0)), stats))
    return points


class SystemsPoint(NamedTuple):
    """Systems under one value of an option."""

    value: float
    metric: Metric
    #: of the corpus, one a system
    scores: tuple[float, ...]
    #: with what people say of the systems
    correlation: Correlation | None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data."""
        return {name: to_plain(value) for name, value in self._asdict().items()}


def replace_option(metric: Metric, name: str, value: float) -> Metric:
    """Return the metric with another value of a numeric option."""
    changed: Metric = _replace_option(metric, str(metric).partition(":")[0], name, value)
    return changed


def _replace_option(holder: Any, label: str, name: str, value: float) -> Any:
    outer, dot, inner = name.partition(".")
    numeric, nested = _options(holder)
    if dot and outer in nested:
        part = getattr(holder, outer)
        return dataclasses.replace(
            holder, **{outer: _replace_option(part, f"{label}'s {outer}", inner, value)}
        )
    if dot or outer not in numeric:
        known = [*numeric, *(f"{one}.{two}" for one in nested for two in _options(nested[one])[0])]
        raise OptionError(
            f"{label} has no numeric option {name!r} (it has {', '.join(known) or 'none'})"
        )
    if type(getattr(holder, outer)) is int:
        if value != int(value):
            raise OptionError(f"{name} of {label} is a whole number, not {value:g}")
        value = int(value)
    return dataclasses.replace(holder, **{outer: value})


def _options(holder: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the names of the numeric options, and the options that have options."""
    if not dataclasses.is_dataclass(holder):
        return [], {}
    values = {each.name: getattr(holder, each.name) for each in dataclasses.fields(holder)}
    numeric = [name for name, value in values.items() if type(value) in (int, float)]
    nested = {name: value for name, value in values.items() if dataclasses.is_dataclass(value)}
    return numeric, nested


def sweep_systems(
    metric: Metric,
    option: str,
    values: Iterable[float],
    outputs: Mapping[str, Sequence[str | Sequence[str]]],
    references: Sequence[Iterable[Reference]],
    *,
    human: ArrayLike | None = None,
    method: str = "pearson",
    **resampling: Unpack[ResamplingOptions],
) -> list[SystemsPoint]:
    """Return the scores of systems under each value of an option.

    What does not depend on the option is computed once for each segment, as in
    :func:`fstmetrics.statistics.threshold_sweep`.
    """
    given: ResamplingOptions = {"samples": 0, **resampling}
    wanted = [float(value) for value in values]
    by_system = [
        threshold_sweep(
            lambda value: replace_option(metric, option, value), wanted, one, references
        )
        for one in outputs.values()
    ]
    if not by_system:
        raise OptionError("a sweep needs at least one system")
    return [
        _point(
            points[0].value,
            points[0].metric,
            [point.stats for point in points],
            human,
            method=method,
            **given,
        )
        for points in zip(*by_system, strict=True)
    ]


def _point(
    value: float,
    metric: Metric,
    stats: Sequence[FloatColumn],
    human: ArrayLike | None,
    **correlating: Any,
) -> SystemsPoint:
    """Return one point, from one matrix of statistics a system."""
    scores = tuple(float(metric.score(rows.sum(axis=0))) for rows in stats)
    found = None if human is None else correlate_systems(human, metric, stats, **correlating)
    return SystemsPoint(value, metric, scores, found)


@dataclass(frozen=True)
class SystemsSweep(PlainRecord):
    """Systems under many values of an option."""

    #: with its other options
    metric: Metric
    option: str
    #: their names
    systems: Sequence[str]
    #: what people say of each, if they judged systems
    human: Sequence[float] | None
    #: what the correlations are; empty where there are none
    coefficient: str
    #: one for each value
    points: Sequence[SystemsPoint]

    def notes(self) -> list[str]:
        """Return why correlations are undefined."""
        return [
            f"{self.option}={point.value:g}: the correlation is undefined: {point.correlation.note}"
            for point in self.points
            if point.correlation is not None and point.correlation.note
        ]


def sweep_over_scores(
    metric: Metric,
    option: str,
    values: Sequence[float],
    systems: Mapping[str, System],
    references: References,
    *,
    human: HumanScores | None = None,
    begin: int = 0,
    **resampling: Unpack[ResamplingOptions],
) -> SystemsSweep:
    """Return the sweep over systems that were scored under the metric with each of the values.

    ``systems`` are by their names in ``human``, which may judge systems, outputs of segments, or
    pairs of outputs (:func:`fstmetrics.statistics.human.human_coefficient`). The metrics of the
    systems from ``begin`` on are those of the values.
    """
    ordered = [*systems.values()]
    matrices = pair_matrices(ordered, references)
    points = []
    for place, value in enumerate(values, begin):
        one = ordered[0].metrics[place]
        scores = tuple(float(one.score(stats[place].sum(axis=0))) for stats in matrices)
        found = None
        if human is not None:
            found = human_coefficient(human, systems, references, place, **resampling)
        points.append(SystemsPoint(value, one, scores, found))
    said = None
    if human is not None and not human.by_segment:
        of_system = {entry.system: entry.score for entry in human.entries}
        said = [of_system[name] for name in systems]
    coefficient = points[0].correlation.method if points[0].correlation is not None else ""
    names = [one.name for one in ordered]
    return SystemsSweep(metric, option, names, said, coefficient, points)
