"""Kendall's tau as the WMT metrics tasks count it: over pairs of outputs of one segment.

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

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from fstmetrics.significance_resampling import checked_samples, percentiles, resampled_sums
from fstmetrics.significance_results import Interval
from lattices.arrays import Array, FloatColumn
from lattices.errors import OptionError

#: what a tie of the metric adds above and below
VARIANTS = {"wmt12": (-1, 1), "wmt13": (0, 0), "wmt14": (0, 1)}


@dataclass(frozen=True)
class PairCounts:
    """A tau, and the pairs it is made of.

    Attributes
    ----------
    value : float
        NaN if there is no pair to count.
    variant : str
    concordant, discordant : int
        Pairs that people and metric see in the same order, or in opposite orders.
    metric_ties, human_ties : int
        Pairs that only the metric sees as equal, and all that people do (or nearly, see ``gap``).
    interval : Interval or None
        From resampling segments, if that was asked for.
    samples : int
        Resamples that have a pair to count.
    """

    value: float
    variant: str
    concordant: int
    discordant: int
    metric_ties: int
    human_ties: int
    interval: Interval | None = None
    samples: int = 0

    def __str__(self) -> str:
        """Return tau and interval."""
        return f"{self.value:.4f}" + ("" if self.interval is None else f" {self.interval}")


def pair_counts(human: ArrayLike, metric: ArrayLike, *, gap: float = 0.0) -> Array:
    """Return for each segment the pairs of systems: concordant, discordant, ties of either side.

    Parameters
    ----------
    human, metric
        Matrices of qualities, one row a system and one column a segment, NaN where there is no
        judgement; pairs with one are left out.
    gap
        Differences between what people say that are smaller than this count as ties.

    Returns
    -------
    matrix of int64
        One row a segment: concordant, discordant, tied by the metric only, tied by people.

    Examples
    --------
    >>> pair_counts([[0.1, 0.3], [0.2, 0.3], [0.4, 0.1]], [[1, 5], [1, 6], [3, 4]]).tolist()
    [[2, 0, 1, 0], [2, 0, 0, 1]]
    """
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
        agreement = order * np.sign(scored[one] - scored[other])
        known = ~np.isnan(agreement)
        tied = known & (order == 0)
        counts[:, 0] += known & (agreement > 0)
        counts[:, 1] += known & (agreement < 0)
        counts[:, 2] += known & (agreement == 0) & ~tied
        counts[:, 3] += tied
    return counts


def wmt_tau(
    human: ArrayLike,
    metric: ArrayLike,
    *,
    variant: str = "wmt14",
    gap: float = 0.0,
    samples: int = 0,
    level: float = 0.95,
    seed: int | np.random.Generator = 0,
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
    samples
        Resamples of the segments for the interval; none by default.
    level
        Of the interval.
    seed
        A whole number, or a numpy generator.

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
    if variant not in VARIANTS:
        raise OptionError(f"variant={variant!r}, expected one of {', '.join(VARIANTS)}")
    counts = pair_counts(human, metric, gap=gap)
    totals = counts.sum(axis=0)
    interval, known = None, 0
    if samples and len(counts):
        rng = np.random.default_rng(seed)
        sums = resampled_sums(counts.astype(np.float64), checked_samples(samples), rng)
        values = _taus(sums, variant)
        values = values[~np.isnan(values)]
        known = len(values)
        interval = percentiles(values, level) if known else None
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
