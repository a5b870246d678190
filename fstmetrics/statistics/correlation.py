"""Correlation of scores with human judgements.

Two levels: systems, where a point is a system, and segments, where it is one output of one.
Everywhere the first argument is what people said and the second what a metric said, and both are
qualities, higher is better: negate error rates (:func:`fstmetrics.contract.quality`), and a good
metric has a correlation near 1.

==========================  ======================================================================
:func:`correlate`           Pearson, Spearman or Kendall's tau-b, with a confidence interval
:func:`correlate_systems`   the same of a metric over systems, by resampling systems or segments
:func:`wmt_tau`             the taus of the WMT metrics tasks, over pairs of outputs of a segment
:func:`graded_kappa`        Cohen's :func:`kappa` over :func:`grades`, into which scores are cut
==========================  ======================================================================

Kendall's tau as the WMT metrics tasks count it: over pairs of outputs of one segment.

A pair of systems is compared by people and by the metric; what is counted is how often they agree,
disagree, or see no difference. People's ties are left out in every year. The years differ in what
becomes of a tie of the metric where people see a difference:

=========  ========================================  =============================================
``wmt12``  disagreement: -1 above, 1 below           2012, and from 2017 on over pairs that differ
                                                     by 25 points or more (``gap=25``)
``wmt13``  left out                                  2013
``wmt14``  no agreement: 0 above, 1 below            2014, 2015 and 2016
=========  ========================================  =============================================

with tau = (sum above) / (sum below).

References
----------
Macháček and Bojar. Results of the WMT14 metrics shared task. WMT 2014, section 4.
Stanojević, Kamran, Koehn and Bojar. Results of the WMT15 metrics shared task. WMT 2015.
Ma, Bojar and Graham. Results of the WMT18 metrics shared task. WMT 2018.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fstmetrics.contract import Metric
from fstmetrics.statistics.resampling import (
    Interval,
    Resampling,
    ResamplingOptions,
    check_samples,
    make_generator,
)
from fstmetrics.statistics.significance import check_stats, qualities_of
from lattices.arrays import Array, FloatColumn
from lattices.errors import OptionError
from lattices.records import PlainRecord

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class Correlation(PlainRecord):
    """A coefficient, and how sure it is."""

    #: NaN where a side has one value only: it says nothing then
    value: float
    method: str
    points: int
    #: that of scipy: how often a coefficient as far from 0 would be chance; NaN for kappa
    p_value: float
    #: none if there was no resampling, or too little to vary
    interval: Interval | None = None
    #: resamples in which both sides vary; the others have no coefficient and are left out
    samples: int = 0
    #: why the value is NaN
    note: str = ""

    def __str__(self) -> str:
        """Return coefficient and interval."""
        if self.note:
            return f"undefined ({self.note})"
        return f"{self.value:.4f}" + ("" if self.interval is None else f" {self.interval}")


WEIGHTS = ("none", "linear", "quadratic")


def grades(scores: ArrayLike, *, k: int = 10, low: float = 0.0, high: float = 1.0) -> Array:
    """Return scores as grades 0 .. k - 1, which cut [low, high] into k equal intervals.

    An interval has its lower end and not its upper one, except the last, which has both: with ten
    grades of [0, 1], 0.435 has grade 4 and 1.0 has grade 9 (Denoual and Lepage 2005).
    """
    if k < 2:
        raise OptionError(f"k={k}, expected 2 grades or more")
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise OptionError(f"grades of [{low}, {high}], expected two numbers, the lower one first")
    values = np.asarray(scores, dtype=np.float64)
    # written so that it is true of NaN
    outside = ~((values >= low) & (values <= high))
    if outside.any():
        raise OptionError(f"a score of {values[outside][0]:g}, expected [{low:g}, {high:g}]")
    # the same ends that a person would write down: 0.3 is the lower end of grade 3, though
    # 0.3 * 10 and 0.1 * 3 may fall on either side of it
    ends = np.array([low + (high - low) * grade / k for grade in range(1, k)])
    return np.searchsorted(ends, values, side="right")


def kappa(one: ArrayLike, other: ArrayLike, *, weights: str = "none") -> float:
    """Return Cohen's kappa of two columns of grades.

    With disagreement w(i, j), observed shares p and the product q of the shares of each judge,

        kappa = 1 - (sum over i, j of w p) / (sum over i, j of w q)

    where w is 1 unless i = j (``none``), abs(i - j) (``linear``) or (i - j)^2 (``quadratic``). It
    is NaN if both judges give the same one grade only: chance alone would agree as well.

    Parameters
    ----------
    one, other
        Whole numbers from 0 on, one a point; see :func:`grades`.
    weights : {"none", "linear", "quadratic"}
        How bad it is to be some grades apart.

    Raises
    ------
    OptionError
        For columns of different lengths or without points, for what is not a grade, or unknown
        weights.

    References
    ----------
    Cohen. A coefficient of agreement for nominal scales. Educational and Psychological
    Measurement 20, 1960; weighted: Psychological Bulletin 70, 1968.

    Examples
    --------
    >>> kappa([0, 0, 1, 1], [0, 0, 1, 0])
    0.5
    >>> kappa([0, 0, 1, 2], [0, 1, 1, 2], weights="quadratic")
    0.8
    """
    if weights not in WEIGHTS:
        raise OptionError(f"weights={weights!r}, expected one of {', '.join(WEIGHTS)}")
    a, b = np.asarray(one), np.asarray(other)
    if a.ndim != 1 or a.shape != b.shape or not len(a):
        raise OptionError(
            f"columns of shapes {a.shape} and {b.shape}, expected two of the same length, not empty"
        )
    both = np.stack((a, b))
    if not np.issubdtype(both.dtype, np.integer) or both.min() < 0:
        raise OptionError("grades that are not whole numbers from 0 on")
    size = int(both.max()) + 1
    table = np.bincount(a * size + b, minlength=size * size)
    return float(_kappas(table.reshape(1, size, size), weights)[0])


def _kappas(tables: Array, weights: str) -> FloatColumn:
    """Return the kappa of each table of counts, NaN where chance agrees always."""
    points = tables.sum(axis=(1, 2), keepdims=True)
    observed = tables / points
    expected = observed.sum(axis=2, keepdims=True) * observed.sum(axis=1, keepdims=True)
    steps = np.arange(tables.shape[1])
    distance = np.abs(np.subtract.outer(steps, steps)).astype(np.float64)
    power = {"none": 0, "linear": 1, "quadratic": 2}[weights]
    disagreement = np.where(distance == 0, 0.0, distance**power)
    by_chance = (disagreement * expected).sum(axis=(1, 2))
    ratio = np.full(len(tables), np.nan)
    np.divide((disagreement * observed).sum(axis=(1, 2)), by_chance, out=ratio, where=by_chance > 0)
    return 1.0 - ratio


def graded_kappa(
    one: ArrayLike,
    other: ArrayLike,
    *,
    k: int = 10,
    low: float | None = 0.0,
    high: float | None = 1.0,
    weights: str = "none",
    **resampling: Unpack[ResamplingOptions],
) -> Correlation:
    """Return Cohen's kappa of two columns of scores, after cutting them into k grades.

    Parameters
    ----------
    one, other
        Scores, one a point.
    k
        The number of grades.
    low, high
        The ends of the scale, by default [0, 1]; None for the lowest or highest score of each
        column, where the two have scales of their own.
    weights : {"none", "linear", "quadratic"}
        See :func:`kappa`.
    **resampling
        Of :class:`fstmetrics.statistics.resampling.Resampling`: ``samples``, ``level``, ``seed``
        and ``on_drawn``. Resamples of the points for the interval, none by default, keep their
        grades: one is a draw of a k by k table.

    Raises
    ------
    OptionError
        As :func:`grades` and :func:`kappa` do.

    References
    ----------
    Denoual and Lepage. BLEU in characters: towards automatic MT evaluation in languages without
    word delimiters. IJCNLP 2005.

    Examples
    --------
    >>> words, characters = [0.12, 0.33, 0.51, 0.58], [0.18, 0.36, 0.49, 0.55]
    >>> print(graded_kappa(words, characters))
    0.6667
    """
    how = Resampling.of("graded_kappa", resampling, 0)
    columns = [
        _cut_into_grades(np.asarray(column, np.float64), k, low, high) for column in (one, other)
    ]
    value = kappa(*columns, weights=weights)
    points = len(columns[0])
    if math.isnan(value):
        note = "both give one grade only, and the same"
        return Correlation(value, "kappa", points, float("nan"), note=note)
    interval, known = None, 0
    if how.samples:
        shares = np.bincount(columns[0] * k + columns[1], minlength=k * k) / points
        rng = make_generator(how.seed)
        tables = rng.multinomial(points, shares, size=check_samples(how.samples))
        interval, known = how.interval(_kappas(tables.reshape(-1, k, k), weights))
    return Correlation(value, "kappa", points, float("nan"), interval, known)


def _cut_into_grades(values: FloatColumn, k: int, low: float | None, high: float | None) -> Array:
    """Return the grades of one column, on its own scale where an end is not given."""
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise OptionError("expected a column of finite scores, not empty")
    bottom = float(values.min()) if low is None else low
    top = float(values.max()) if high is None else high
    if bottom == top and None in (low, high):
        # one value, and no scale that says where it stands
        return np.zeros(len(values), dtype=np.int64)
    return grades(values, k=k, low=bottom, high=top)


#: what a tie of the metric adds above and below
VARIANTS = {"wmt12": (-1, 1), "wmt13": (0, 0), "wmt14": (0, 1)}


@dataclass(frozen=True)
class PairCounts(PlainRecord):
    """A tau, and the pairs it is made of."""

    #: NaN if there is no pair to count
    value: float
    variant: str
    #: pairs that people and metric see in the same order, or in opposite orders
    concordant: int
    discordant: int
    #: pairs that only the metric sees as equal, and all that people do (or nearly, see ``gap``)
    metric_ties: int
    human_ties: int
    #: from resampling segments, if that was asked for
    interval: Interval | None = None
    #: resamples that have a pair to count
    samples: int = 0

    def __str__(self) -> str:
        """Return tau and interval."""
        return f"{self.value:.4f}" + ("" if self.interval is None else f" {self.interval}")


def pair_counts(human: ArrayLike, metric: ArrayLike, *, gap: float = 0.0) -> Array:
    """Return for each segment the pairs of systems: concordant, discordant, ties of either side."""
    said = np.asarray(human, dtype=np.float64)
    scored = np.asarray(metric, dtype=np.float64)
    if said.ndim != 2 or said.shape != scored.shape:
        raise OptionError(
            f"matrices of shapes {said.shape} and {scored.shape}, expected two of the same"
        )
    if gap < 0:
        raise OptionError(f"gap={gap}, expected 0 or more")
    counts = np.zeros((said.shape[1], 4), dtype=np.int64)
    for one, other in combinations(range(len(said)), 2):
        difference = said[one] - said[other]
        order = np.where(np.abs(difference) < gap, 0.0, np.sign(difference))
        counts += _kinds_of_pairs(order, scored[one] - scored[other])
    return counts


def _kinds_of_pairs(order: FloatColumn, difference: FloatColumn) -> Array:
    """Return for each pair which of the four counts it adds to; NaN is no judgement."""
    agreement = order * np.sign(difference)
    known = ~np.isnan(agreement)
    tied = known & (order == 0)
    kinds = known & (agreement > 0), known & (agreement < 0), known & (agreement == 0) & ~tied, tied
    return np.stack(kinds, axis=1).astype(np.int64)


def ranking_counts(order: ArrayLike, difference: ArrayLike, segments: ArrayLike) -> Array:
    """Return the counts of :func:`pair_counts` from single judgements of pairs of outputs.

    Parameters
    ----------
    order
        One a judgement: 1 if people prefer the first output, -1 if the second, 0 for a tie.
    difference
        The quality of the first output less that of the second.
    segments
        The number of the segment, from 0 on.
    """
    kinds = _kinds_of_pairs(np.asarray(order, float), np.asarray(difference, float))
    places = np.asarray(segments, np.int64)
    counts = np.zeros((int(places.max(initial=-1)) + 1, 4), dtype=np.int64)
    np.add.at(counts, places, kinds)
    return counts


def wmt_tau(
    human: ArrayLike,
    metric: ArrayLike,
    *,
    variant: str = "wmt14",
    gap: float = 0.0,
    **resampling: Unpack[ResamplingOptions],
) -> PairCounts:
    """Return the Kendall's tau of a WMT metrics task.

    Cost: pairs of systems times segments; resampling reuses the counts.

    Parameters
    ----------
    human, metric
        Matrices of qualities, one row a system and one column a segment, NaN where there is no
        judgement.
    variant : {"wmt14", "wmt13", "wmt12"}
        What becomes of ties of the metric; see the top of the module.
    gap
        Differences between what people say that are smaller than this count as ties.
    **resampling
        Of :class:`fstmetrics.statistics.resampling.Resampling`: ``samples``, ``level``, ``seed``
        and ``on_drawn``. Resamples of the segments for the interval; none by default.

    Raises
    ------
    OptionError
        For matrices of different shapes, an unknown variant, or numbers outside their range.

    Examples
    --------
    >>> human = [[0.1, 0.3], [0.2, 0.3], [0.4, 0.1]]
    >>> metric = [[1, 5], [1, 6], [3, 4]]
    >>> [wmt_tau(human, metric, variant=one).value for one in ("wmt12", "wmt13", "wmt14")]
    [0.6, 1.0, 0.8]
    """
    counts = pair_counts(human, metric, gap=gap)
    return tau_of_counts(counts, variant=variant, **resampling)


def tau_of_counts(
    counts: Array, *, variant: str = "wmt14", **resampling: Unpack[ResamplingOptions]
) -> PairCounts:
    """Return the tau of the pairs of each segment, as :func:`pair_counts` counts them."""
    if variant not in VARIANTS:
        raise OptionError(f"variant={variant!r}, expected one of {', '.join(VARIANTS)}")
    how = Resampling.of("wmt_tau", resampling, 0)
    totals = counts.sum(axis=0)
    interval, known = None, 0
    if how.samples and len(counts):
        interval, known = how.interval(_taus(how.sums(counts.astype(np.float64)), variant))
    value = float(_taus(totals[np.newaxis].astype(np.float64), variant)[0])
    concordant, discordant, metric_ties, human_ties = totals.tolist()
    return PairCounts(
        value, variant, concordant, discordant, metric_ties, human_ties, interval, known
    )


def _taus(counts: FloatColumn, variant: str) -> FloatColumn:
    """Return the tau of each row of counts, NaN where nothing counts."""
    above, below = VARIANTS[variant]
    concordant, discordant, ties, _ = counts.T
    compared = concordant + discordant + below * ties
    values = np.full(len(counts), np.nan)
    np.divide(concordant - discordant + above * ties, compared, out=values, where=compared > 0)
    return values


FEWEST_POINTS = 3
# up to this many points, looking at all pairs of many rows at once is faster than scipy's tau
_ALL_PAIRS = 100


def correlate(
    human: ArrayLike,
    metric: ArrayLike,
    *,
    method: str = "pearson",
    groups: ArrayLike | None = None,
    **resampling: Unpack[ResamplingOptions],
) -> Correlation:
    """Return the correlation between two columns of numbers.

    Parameters
    ----------
    human, metric
        Numbers, one a point; higher is better.
    method : {"pearson", "spearman", "kendall"}
        ``kendall`` is tau-b, (C - D) / sqrt((C + D + T_h) (C + D + T_m)), with T the pairs that are
        tied on one side only.
    groups
        Which points belong together, one name or number a point: they are drawn together, as
        outputs of several systems for one segment should be. By default each is on its own.
    **resampling
        Of :class:`fstmetrics.statistics.resampling.Resampling`: ``samples``, ``level``, ``seed``
        and ``on_drawn``. Resamples of the points for the interval; none by default.

    Raises
    ------
    OptionError
        For columns of different lengths, fewer than three points, numbers that are not finite, or
        an unknown method.

    Examples
    --------
    >>> human, metric = [0.1, 0.5, 0.4, 0.9], [0.2, 0.3, 0.4, 0.6]
    >>> print(correlate(human, metric, method="kendall"))
    0.6667
    >>> print(correlate(human, metric, samples=1000))
    0.9304 [-1.0000, 1.0000]
    >>> print(correlate(human, [0.5, 0.5, 0.5, 0.5]))
    undefined (the metric says 0.5 for all)
    """
    measure, how = _method(method), Resampling.of("correlate", resampling, 0)
    one, other = _check(human, metric)
    note = _constant(one, "people say") or _constant(other, "the metric says")
    if note:
        return Correlation(float("nan"), method, len(one), float("nan"), note=note)
    value, p_value = measure.with_p_value(one, other)
    if not how.samples:
        return Correlation(value, method, len(one), p_value)
    drawn = (
        how.draws(len(one)) if groups is None else _group_draws(np.asarray(groups), len(one), how)
    )
    values = np.concatenate([measure.of_rows(one[rows], other[rows]) for rows in drawn])
    return Correlation(value, method, len(one), p_value, *how.interval(values))


def correlate_systems(
    human: ArrayLike,
    metric: Metric,
    stats: Sequence[FloatColumn],
    *,
    method: str = "pearson",
    resample: str = "systems",
    **resampling: Unpack[ResamplingOptions],
) -> Correlation:
    """Return the correlation of corpus scores with what people say of systems.

    Parameters
    ----------
    human
        One number a system, higher is better.
    metric
        Its scores are turned so that higher is better.
    stats
        For each system its matrix of statistics, over the same segments.
    method : {"pearson", "spearman", "kendall"}
        See :func:`correlate`.
    resample : {"systems", "segments"}
        What the interval is about: other systems of the kind, which the few there are say little
        of, or the same systems on other segments, with what people say as it is.
    **resampling
        Of :class:`fstmetrics.statistics.resampling.Resampling`: ``samples``, ``level``, ``seed``
        and ``on_drawn``. Resamples for the interval; none if 0.

    Raises
    ------
    OptionError
        For numbers of systems or segments that differ, fewer than three systems, or an unknown
        option.

    Examples
    --------
    >>> from fstmetrics import WER, corpus_stats
    >>> references = [["the cat"], ["sat down"]]
    >>> outputs = [["the cat", "sat down"], ["the hat", "sat down"], ["a hat", "sat"]]
    >>> stats = [corpus_stats(WER(), output, references) for output in outputs]
    >>> print(correlate_systems([0.9, 0.7, 0.2], WER(), stats, resample="segments"))
    0.9986 [0.9608, 0.9986]
    """
    if resample not in ("systems", "segments"):
        raise OptionError(f"resample={resample!r}, expected one of systems, segments")
    matrices = [check_stats(metric, one) for one in stats]
    lengths = {len(matrix) for matrix in matrices}
    if len(lengths) > 1:
        raise OptionError(
            f"systems of {min(lengths)} to {max(lengths)} segments, expected the same"
        )
    columns = len(metric.stat_names)
    scores = qualities_of(metric, np.reshape([m.sum(axis=0) for m in matrices], (-1, columns)))
    how = Resampling.of("correlate_systems", resampling)
    of_systems = how.samples if resample == "systems" else 0
    given: ResamplingOptions = {**resampling, "samples": of_systems}
    found = correlate(human, scores, method=method, **given)
    if found.note or of_systems or not how.samples:
        return found
    rows = how.sums(np.hstack(matrices)).reshape(-1, columns)
    resampled = qualities_of(metric, rows).reshape(how.samples, len(matrices))
    fixed = np.broadcast_to(np.asarray(human, dtype=np.float64), resampled.shape)
    values = _method(method).of_rows(fixed, resampled)
    return Correlation(found.value, method, found.points, found.p_value, *how.interval(values))


def _group_draws(groups: Array, points: int, how: Resampling) -> Iterator[Array]:
    """Iterate over resamples of whole groups, each a block of one row."""
    if groups.shape != (points,):
        raise OptionError(f"groups of shape {groups.shape} for {points} points")
    _, numbers = np.unique(groups, return_inverse=True)
    members = np.split(np.argsort(numbers, kind="stable"), np.cumsum(np.bincount(numbers))[:-1])
    for block in how.draws(len(members)):
        for chosen in block:
            yield np.concatenate([members[group] for group in chosen])[np.newaxis]


@dataclass(frozen=True)
class _Method:
    """One coefficient: of two columns with its p-value, and of many pairs of rows at once."""

    with_p_value: Callable[[FloatColumn, FloatColumn], tuple[float, float]]
    of_rows: Callable[[FloatColumn, FloatColumn], FloatColumn]


def _pearson_of_rows(one: FloatColumn, other: FloatColumn) -> FloatColumn:
    """Return Pearson's coefficient of each pair of rows, NaN where a row is constant."""
    varies = (np.ptp(one, axis=1) > 0) & (np.ptp(other, axis=1) > 0)
    x = one - one.mean(axis=1, keepdims=True)
    y = other - other.mean(axis=1, keepdims=True)
    product = np.sqrt((x * x).sum(axis=1)) * np.sqrt((y * y).sum(axis=1))
    values = np.full(len(one), np.nan)
    # numbers that differ by less than their squares can say leave a product of zero
    np.divide((x * y).sum(axis=1), product, out=values, where=varies & (product > 0))
    clipped: FloatColumn = np.clip(values, -1.0, 1.0)
    return clipped


def _spearman_of_rows(one: FloatColumn, other: FloatColumn) -> FloatColumn:
    from scipy.stats import rankdata

    return _pearson_of_rows(rankdata(one, axis=1), rankdata(other, axis=1))


def _kendall_of_rows(one: FloatColumn, other: FloatColumn) -> FloatColumn:
    """Return tau-b of each pair of rows, NaN where a row is constant."""
    if one.shape[1] > _ALL_PAIRS:
        from scipy.stats import kendalltau

        # n log n for each row
        return np.array([kendalltau(x, y).statistic for x, y in zip(one, other, strict=True)])
    first, second = np.triu_indices(one.shape[1], 1)
    x = np.sign(one[:, first] - one[:, second])
    y = np.sign(other[:, first] - other[:, second])
    untied = np.sqrt(np.abs(x).sum(axis=1) * np.abs(y).sum(axis=1))
    values = np.full(len(one), np.nan)
    np.divide((x * y).sum(axis=1), untied, out=values, where=untied > 0)
    return values


def _of_scipy(
    name: str,
) -> Callable[[FloatColumn, FloatColumn], tuple[float, float]]:
    def measure(one: FloatColumn, other: FloatColumn) -> tuple[float, float]:
        # a second to import, which who computes no correlation should not wait for
        from scipy import stats

        found = getattr(stats, name)(one, other)
        return float(found.statistic), float(found.pvalue)

    return measure


METHODS = ("pearson", "spearman", "kendall")
_METHODS = {
    "pearson": _Method(_of_scipy("pearsonr"), _pearson_of_rows),
    "spearman": _Method(_of_scipy("spearmanr"), _spearman_of_rows),
    "kendall": _Method(_of_scipy("kendalltau"), _kendall_of_rows),
}


def _method(name: str) -> _Method:
    if name not in _METHODS:
        raise OptionError(f"method={name!r}, expected one of {', '.join(METHODS)}")
    return _METHODS[name]


def _check(human: ArrayLike, metric: ArrayLike) -> tuple[FloatColumn, FloatColumn]:
    one, other = (np.asarray(side, dtype=np.float64) for side in (human, metric))
    if one.ndim != 1 or one.shape != other.shape:
        raise OptionError(
            f"columns of shapes {one.shape} and {other.shape}, expected two of the same length"
        )
    if len(one) < FEWEST_POINTS:
        raise OptionError(f"{len(one)} points, expected {FEWEST_POINTS} or more")
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        raise OptionError("numbers that are not finite have no correlation")
    return one, other


def _constant(column: FloatColumn, who: str) -> str:
    # adding zero takes the sign off a negative one
    return f"{who} {column[0] + 0.0:g} for all" if np.ptp(column) == 0 else ""
