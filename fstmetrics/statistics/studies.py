"""Studies of metrics: which order in characters is like one in words, what a threshold does.

==============================  ==================================================================
:func:`char_bleu_study`         BLEU in characters against BLEU in words (Denoual and Lepage 2005)
:func:`char_bleu_equivalents`   the same from statistics that are there already
:func:`sweep_systems`           systems under many values of an option, and what people say of them
:func:`replace_option`             a metric with another value of a numeric option
==============================  ==================================================================
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fstmetrics.contract import Metric, corpus_stats
from fstmetrics.ngram.bleu import BLEU, UNIFORM
from fstmetrics.references import Reference, check_references
from fstmetrics.statistics.correlation import (
    Correlation,
    correlate,
    correlate_systems,
    graded_kappa,
)
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
        systems_point(
            points[0].value,
            points[0].metric,
            [point.stats for point in points],
            human=human,
            method=method,
            **given,
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


@dataclass(frozen=True)
class SystemsSweep(PlainRecord):
    """Systems under many values of an option."""

    #: with its other options
    metric: Metric
    option: str
    #: their names
    systems: Sequence[str]
    #: what people say of each
    human: Sequence[float] | None
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
    systems: Sequence[System],
    references: References,
    *,
    human: Sequence[float] | None = None,
    **correlating: Any,
) -> SystemsSweep:
    """Return the sweep over systems that were scored under the metric with each of the values."""
    matrices = pair_matrices(systems, references)
    points = [
        systems_point(
            value, one, [of_system[place] for of_system in matrices], human=human, **correlating
        )
        for place, (value, one) in enumerate(zip(values, systems[0].metrics, strict=True))
    ]
    return SystemsSweep(metric, option, [one.name for one in systems], human, points)


#: scores this close to each other are the same
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Equivalents(PlainRecord):
    """What BLEU of one order in words has to do with BLEU of each order in characters."""

    #: N, in words
    order: int
    #: of segment scores, for M = 1, 2, ...; NaN where undefined
    pearson: tuple[float, ...]
    kappa: tuple[float, ...]
    #: the share of segments whose score in M characters is at most that in N - 1 words, as the
    #: score in N words nearly always is; none for N = 1
    below: tuple[float, ...]
    #: how many have to be below
    share: float

    @property
    def best_pearson(self) -> int | None:
        """The M of the highest correlation, the smallest of equals."""
        return _argmax(self.pearson)

    @property
    def best_kappa(self) -> int | None:
        """The M of the highest agreement, the smallest of equals."""
        return _argmax(self.kappa)

    @property
    def first_below(self) -> int | None:
        """The smallest M that has enough segments below."""
        return next((m for m, part in enumerate(self.below, 1) if part >= self.share), None)


def _argmax(values: Sequence[float]) -> int | None:
    known = [value for value in values if not math.isnan(value)]
    return values.index(max(known)) + 1 if known else None


def char_bleu_metrics(
    base: BLEU, *, max_n: int = 4, max_m: int = 20, spaces: bool = True
) -> tuple[BLEU, BLEU]:
    """Return the metrics whose statistics the study is made of, in words and in characters."""
    if base.unit != "word":
        raise OptionError(f"unit={base.unit}: the study compares words with characters by itself")
    if base.weights != UNIFORM:
        raise OptionError(f"weights={base.weights}: orders weigh the same in the study")
    words = dataclasses.replace(base, order=max_n)
    return words, dataclasses.replace(base, order=max_m, unit="char", spaces=spaces)


def char_bleu_study(
    hypotheses: Sequence[str | Sequence[str]],
    references: Sequence[Iterable[Reference]],
    *,
    base: BLEU | None = None,
    max_n: int = 4,
    max_m: int = 20,
    spaces: bool = True,
    share: float = 0.9,
) -> list[Equivalents]:
    """Return for each order in words how BLEU in characters compares with it.

    Costs one count of n-grams in words and one in characters, whatever the number of orders, and
    O(segments) for each pair of orders.
    """
    metrics = char_bleu_metrics(
        BLEU() if base is None else base, max_n=max_n, max_m=max_m, spaces=spaces
    )
    rows = [corpus_stats(metric, hypotheses, references) for metric in metrics]
    return char_bleu_equivalents(metrics, rows, share=share)


def char_bleu_equivalents(
    metrics: tuple[BLEU, BLEU], stats: Sequence[FloatColumn], *, share: float = 0.9
) -> list[Equivalents]:
    """Return what :func:`char_bleu_study` returns, from statistics."""
    if not 0 < share <= 1:
        raise OptionError(f"share={share}, expected more than 0 and at most 1")
    words, characters = (
        _scores_by_order(metric, rows) for metric, rows in zip(metrics, stats, strict=True)
    )
    found = []
    for n, of_words in enumerate(words, 1):
        pearson = [correlate(of_words, of_characters).value for of_characters in characters]
        kappa = [graded_kappa(of_words, of_characters).value for of_characters in characters]
        below = [
            float(np.mean(of_characters <= words[n - 2] + _ROUNDING))
            for of_characters in (characters if n > 1 else ())
        ]
        found.append(Equivalents(n, tuple(pearson), tuple(kappa), tuple(below), share))
    return found


def _scores_by_order(metric: BLEU, rows: FloatColumn) -> FloatColumn:
    """Return the segment scores for each order up to the metric's own: lower ones are in it."""
    top = metric.order
    matches, totals, lengths = rows[:, :top], rows[:, top : 2 * top], rows[:, 2 * top :]
    scores = [
        dataclasses.replace(metric, order=order).scores(
            floats(np.hstack((matches[:, :order], totals[:, :order], lengths)))
        )
        for order in range(1, top + 1)
    ]
    return np.array(scores)
