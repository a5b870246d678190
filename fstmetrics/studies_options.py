"""Systems under many values of an option of a metric."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fstmetrics.correlation import correlate_systems
from fstmetrics.correlation_results import Correlation
from fstmetrics.metric import Metric
from fstmetrics.references import Reference
from fstmetrics.sweeps import threshold_sweep
from lattices.arrays import FloatColumn
from lattices.errors import OptionError


class SystemsPoint(NamedTuple):
    """Systems under one value of an option.

    Attributes
    ----------
    value : float
    metric : Metric
    scores : tuple of float
        Of the corpus, one a system.
    correlation : Correlation or None
        With what people say of the systems.
    """

    value: float
    metric: Metric
    scores: tuple[float, ...]
    correlation: Correlation | None


def with_option(metric: Metric, name: str, value: float) -> Metric:
    """Return the metric with another value of a numeric option.

    Parameters
    ----------
    metric
        A dataclass, as all built-in metrics are.
    name
        Of the option; one of its similarity's is ``similarity.epsilon``.
    value
        A whole number where the option is one.

    Raises
    ------
    OptionError
        If there is no such option, it is no number, or the metric refuses the value.

    Examples
    --------
    >>> from fstmetrics import GRR, WRR, AffixSimilarity
    >>> str(with_option(GRR(), "alpha", 0.5)), str(with_option(GRR(), "n", 2))
    ('grr:n=4,alpha=0.5,beta=0', 'grr:n=2,alpha=1,beta=0')
    >>> soft = WRR(similarity=AffixSimilarity())
    >>> str(with_option(soft, "similarity.epsilon", 0.3))
    'wrr:similarity=affix(epsilon=0.3)'
    """
    changed: Metric = _with_option(metric, str(metric).partition(":")[0], name, value)
    return changed


def _with_option(holder: Any, label: str, name: str, value: float) -> Any:
    outer, dot, inner = name.partition(".")
    numeric, nested = _options(holder)
    if dot and outer in nested:
        part = getattr(holder, outer)
        return dataclasses.replace(
            holder, **{outer: _with_option(part, f"{label}'s {outer}", inner, value)}
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
    samples: int = 0,
    level: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> list[SystemsPoint]:
    """Return the scores of systems under each value of an option.

    What does not depend on the option is computed once for each segment, as in
    :func:`fstmetrics.threshold_sweep`.

    Parameters
    ----------
    metric
        With its other options.
    option
        The name of a numeric one; see :func:`with_option`.
    values
        To be tried.
    outputs
        For each system its hypotheses.
    references
        One list for each segment.
    human
        What people say, one number a system in the same order, higher is better.
    method, samples, level, seed
        Of the correlation, whose interval is about other systems; see
        :func:`fstmetrics.correlate_systems`. No interval by default.

    Examples
    --------
    >>> from fstmetrics import TBLEU
    >>> outputs = {"a": ["we walked", "no"], "b": ["we walk", "no"], "c": ["walking", "no"]}
    >>> points = sweep_systems(
    ...     TBLEU(order=1), "epsilon", [0.0, 0.5], outputs, [["we walks"], ["no"]],
    ...     human=[0.4, 0.6, 0.1])
    >>> for point in points:
    ...     print(point.value, [round(score, 3) for score in point.scores], point.correlation)
    0.0 [0.667, 0.667, 0.303] 0.9177
    0.5 [0.833, 0.917, 0.303] 0.9602
    """
    wanted = [float(value) for value in values]
    by_system = [
        threshold_sweep(lambda value: with_option(metric, option, value), wanted, one, references)
        for one in outputs.values()
    ]
    if not by_system:
        raise OptionError("a sweep needs at least one system")
    return [
        systems_point(
            points[0].value,
            points[0].metric,
            [point.stats for point in points],
            human=human,
            method=method,
            samples=samples,
            level=level,
            seed=seed,
        )
        for points in zip(*by_system, strict=True)
    ]


def systems_point(
    value: float,
    metric: Metric,
    stats: Sequence[FloatColumn],
    *,
    human: ArrayLike | None = None,
    **correlating: Any,
) -> SystemsPoint:
    """Return one point of :func:`sweep_systems`, from one matrix of statistics a system."""
    scores = tuple(float(metric.score(rows.sum(axis=0))) for rows in stats)
    correlation = None
    if human is not None:
        correlation = correlate_systems(human, metric, stats, **correlating)
    return SystemsPoint(value, metric, scores, correlation)
