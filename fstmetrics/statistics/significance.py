"""Significance tests and confidence intervals of differences between systems.

All tests take matrices of additive statistics, one row a segment, as
:func:`fstmetrics.corpus_stats` gives them: any metric will do, and nothing is scored twice. In a
comparison ``a`` is the system and ``b`` the baseline, over the same segments in the same order.

============================  ==================================================================
:func:`bootstrap`             confidence interval of one system
:func:`paired_bootstrap`      interval and p-value of a difference (Koehn 2004)
:func:`paired_bootstraps`     the same of all pairs of several systems
:func:`randomization`         p-value of a difference (Noreen 1989, Riezler and Maxwell 2005)
:func:`sign_test`             p-value from the signs of segment differences
:func:`substitution_test`     the sign test of Collins et al. 2005, which BLEU breaks
:func:`matched_pairs`         NIST's test of word errors, from alignments (Gillick and Cox 1989)
============================  ==================================================================

P-values are of one comparison; who makes many must expect some to look significant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from fstmetrics.contract import Metric, quality, scores_of
from fstmetrics.signature import SIGNIFICANCE_TESTS
from fstmetrics.statistics.resampling import (
    Interval,
    OnDrawn,
    Resampling,
    ResamplingOptions,
    Seed,
    check_samples,
    make_generator,
    percentiles,
    shuffle_sums,
)
from lattices.arrays import FloatColumn
from lattices.errors import OptionError
from lattices.records import PlainRecord
from lattices.registry import name_plugin
from lattices.spaces.arguments import WHOLE, takes

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class Estimate(PlainRecord):
    """The score of one system, and how much it depends on the choice of segments.

    Attributes
    ----------
    score : float
        On the corpus as it is.
    interval : Interval
        Percentiles of the scores of the resamples.
    standard_error : float
        Their standard deviation.
    samples : int
    method : str
    """

    score: float
    interval: Interval
    standard_error: float
    samples: int
    method: str = "bootstrap"

    def __str__(self) -> str:
        """Return score and interval."""
        return f"{self.score:.4f} {self.interval}"


@dataclass(frozen=True)
class Comparison(PlainRecord):
    """One system against another.

    Attributes
    ----------
    effect : float
        Score of a minus score of b, as the metric gives them: an error rate that falls has a
        negative effect.
    p_value : float
        How often chance alone would do as much; never 0 where it is estimated by sampling.
    method : str
        ``bootstrap``, ``randomization``, ``sign`` or ``sign-substitution``.
    alternative : str
        What was tested for: that a and b differ (``two-sided``), that a is ``better`` or that it
        is ``worse``.
    samples : int
        Resamples, shuffles, or, for sign tests, segments that were counted.
    interval : Interval or None
        Of the effect, where the method gives one.
    wins, losses, ties : int or None
        In how many resamples (``bootstrap``) or segments (sign tests) a was better than b,
        worse, or the same.

    Examples
    --------
    >>> print(Comparison(-0.0125, 0.012, "bootstrap", "two-sided", 1000,
    ...                  Interval(-0.02, -0.005, 0.95), 990, 8, 2))
    -0.0125 [-0.0200, -0.0050], p = 0.012 (bootstrap of 1000, two-sided)
    """

    effect: float
    p_value: float
    method: str
    alternative: str
    samples: int
    interval: Interval | None = None
    wins: int | None = None
    losses: int | None = None
    ties: int | None = None

    def __str__(self) -> str:
        """Return effect, interval and p-value in one line."""
        interval = "" if self.interval is None else f" {self.interval}"
        return (
            f"{self.effect:+.4f}{interval}, p = {self.p_value:.2g} "
            f"({self.method} of {self.samples}, {self.alternative})"
        )


#: differences this much smaller than the scores come from rounding
ROUNDING = 1e-10
#: options of tests that resample, which one may take by ``**``
_RESAMPLING = ("samples", "level", "seed", "on_drawn")
ALTERNATIVES = ("two-sided", "better", "worse")


def significance_test(
    name: str, **options: Any
) -> Callable[[Metric, FloatColumn, FloatColumn], Comparison]:
    """Return a test by its name, a plug-in's too, with those of the options that it takes.

    Options that are None are left to the test. One that takes any by ``**`` is given ``samples``,
    ``level``, ``seed`` and ``on_drawn``.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> test = significance_test("sign", ties="split", samples=100)
    >>> test(WER(), [[2, 0, 0, 0, 2], [2, 0, 0, 0, 2]], [[1, 1, 0, 0, 2], [2, 0, 0, 0, 2]]).wins
    1
    """
    test = SIGNIFICANCE_TESTS.get(name)
    parameters = signature(test).parameters.values()
    names = {each.name for each in parameters}
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        names |= {*_RESAMPLING}
    taken = {key: value for key, value in options.items() if key in names and value is not None}

    def run(metric: Metric, stats_a: FloatColumn, stats_b: FloatColumn) -> Comparison:
        found = test(metric, stats_a, stats_b, **taken)
        if not isinstance(found, Comparison):
            what = name_plugin(test, f"the significance test {name!r}")
            raise OptionError(
                f"{what} returns {found!r:.60}, expected a fstmetrics.statistics.Comparison"
            )
        return found

    return run


def check_scores(metric: Metric, rows: FloatColumn) -> FloatColumn:
    """Return the score of each row of statistics, or raise OptionError if one is no number."""
    scores = scores_of(metric, rows)
    if np.isnan(scores).any():
        raise OptionError(f"{metric} gives no number for some of the resamples")
    return scores


def qualities_of(metric: Metric, rows: FloatColumn) -> FloatColumn:
    """Return the scores of rows, turned so that higher is better."""
    scores = check_scores(metric, rows)
    return scores if metric.higher_is_better else -scores


def check_stats(metric: Metric, stats: FloatColumn) -> FloatColumn:
    """Return statistics of two segments or more as a matrix, or raise OptionError."""
    columns = len(metric.stat_names)
    try:
        matrix = np.asarray(stats, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise OptionError(f"statistics that are no numbers: {problem}") from None
    if matrix.ndim != 2 or matrix.shape[1] != columns:
        raise OptionError(
            f"statistics of shape {matrix.shape}, expected one row a segment of {columns} columns"
        )
    if len(matrix) < 2:
        raise OptionError(f"{len(matrix)} segments, expected 2 or more: one has nothing to vary")
    if not np.isfinite(matrix).all():
        raise OptionError("statistics that are not finite")
    return matrix


def check_pair(
    metric: Metric, stats_a: FloatColumn, stats_b: FloatColumn
) -> tuple[FloatColumn, FloatColumn]:
    """Return the statistics of two systems over the same segments, or raise OptionError."""
    one, other = check_stats(metric, stats_a), check_stats(metric, stats_b)
    if len(one) != len(other):
        raise OptionError(
            f"{len(one)} segments of one system, but {len(other)} of the other: "
            "a paired test needs the same segments in the same order"
        )
    return one, other


def check_alternative(alternative: str) -> str:
    """Return what is tested for, or raise OptionError if it is unknown."""
    if alternative not in ALTERNATIVES:
        raise OptionError(f"alternative={alternative!r}, expected one of {', '.join(ALTERNATIVES)}")
    return alternative


def exceedance(null: FloatColumn, effect: float, alternative: str, rounding: float) -> float:
    """Return the p-value of an effect, (c + 1) / (n + 1), c of n null effects being as large.

    ``null`` and ``effect`` are in quality, higher is better. Effects that differ by
    ``rounding`` at most are equal.
    """
    if alternative == "two-sided":
        null, effect = np.abs(null), abs(effect)
    elif alternative == "worse":
        null, effect = -null, -effect
    as_large = int(np.count_nonzero(null >= effect - rounding))
    return (as_large + 1) / (len(null) + 1)


TIES = ("drop", "split")
_SIDES = {"two-sided": "two-sided", "better": "greater", "worse": "less"}


def sign_test(
    metric: Metric,
    stats_a: FloatColumn,
    stats_b: FloatColumn,
    *,
    ties: str = "drop",
    alternative: str = "two-sided",
) -> Comparison:
    """Compare two systems by the number of segments of which each has the better score.

    If chance alone decides, better and worse are as likely as heads and tails, and the p-value is
    the exact tail of the binomial distribution. Sound for metrics that are defined on segments
    and decompose over them, such as WER or GRR; the BLEU of a segment is mostly zero, which makes
    ties of nearly everything. It asks how often, not how much: the effect, which is that of the
    corpus, may point the other way.

    Cost: the scores of twice the segments.

    Parameters
    ----------
    metric
        What scores.
    stats_a, stats_b
        Statistics of the system and of the baseline, row by row of the same segments.
    ties : {"drop", "split"}
        Whether segments of equal score are left out, or go to both sides by halves; one that is
        left over is left out.
    alternative : {"two-sided", "better", "worse"}
        What is tested for: that a and b differ, that a is better, that it is worse.

    Raises
    ------
    OptionError
        For different numbers of segments, fewer than two, or an unknown option.

    Examples
    --------
    >>> from fstmetrics import WER, corpus_stats
    >>> references = [["the cat"], ["sat down"], ["on the mat"]] * 4
    >>> b = corpus_stats(WER(), ["a cat", "sat", "on the mat"] * 4, references)
    >>> a = corpus_stats(WER(), ["the cat", "sat down", "on the mat"] * 4, references)
    >>> result = sign_test(WER(), a, b)
    >>> result.wins, result.losses, result.ties, result.p_value
    (8, 0, 4, 0.0078125)
    """
    one, other = check_pair(metric, stats_a, stats_b)
    scores = qualities_of(metric, one), qualities_of(metric, other)
    return _compare(metric, one, other, *scores, "sign", ties, alternative)


def substitution_test(
    metric: Metric,
    stats_a: FloatColumn,
    stats_b: FloatColumn,
    *,
    ties: str = "drop",
    alternative: str = "two-sided",
) -> Comparison:
    """Compare two systems by putting single segments of a into the output of b.

    Collins et al. (2005) call segment i better if the corpus score of b rises when its output
    b_i gives way to a_i, all others staying as they are, and make a sign test of that. For metrics
    that decompose it is the sound test. For others the verdict on a segment depends on
    the rest of the corpus: with BLEU, where one output is too long and the other too short,
    each system can be significantly better than the other (Chiang et al. 2008, section 3.1). It
    is here to show that; swap a and b to see it.

    Cost: the scores of as many rows as there are segments.

    Parameters
    ----------
    metric, stats_a, stats_b, ties, alternative
        As of :func:`sign_test`; ties are segments that change nothing.

    References
    ----------
    Collins, Koehn and Kučerová. Clause restructuring for statistical machine translation. ACL 2005.
    Chiang, DeNeefe, Chan and Ng. Decomposability of translation metrics for improved evaluation
    and efficient algorithms. EMNLP 2008.

    Examples
    --------
    >>> from fstmetrics import WER, corpus_stats
    >>> references = [["the cat"], ["sat down"], ["on the mat"]] * 4
    >>> b = corpus_stats(WER(), ["a cat", "sat", "on the mat"] * 4, references)
    >>> a = corpus_stats(WER(), ["the cat", "sat down", "on the mat"] * 4, references)
    >>> result = substitution_test(WER(), a, b)
    >>> result.wins, result.losses, result.ties, result.p_value
    (8, 0, 4, 0.0078125)
    """
    one, other = check_pair(metric, stats_a, stats_b)
    total = other.sum(axis=0)
    substituted = qualities_of(metric, total + (one - other))
    unchanged = np.repeat(qualities_of(metric, total[np.newaxis]), len(one))
    return _compare(
        metric, one, other, substituted, unchanged, "sign-substitution", ties, alternative
    )


def _compare(
    metric: Metric,
    one: FloatColumn,
    other: FloatColumn,
    quality_a: FloatColumn,
    quality_b: FloatColumn,
    method: str,
    ties: str,
    alternative: str,
) -> Comparison:
    """Return the test of the signs of the differences between qualities."""
    check_alternative(alternative)
    if ties not in TIES:
        raise OptionError(f"ties={ties!r}, expected one of {', '.join(TIES)}")
    difference = quality_a - quality_b
    rounding = ROUNDING * np.maximum(np.abs(quality_a), np.abs(quality_b))
    wins = int(np.count_nonzero(difference > rounding))
    losses = int(np.count_nonzero(difference < -rounding))
    equal = len(one) - wins - losses
    half = equal // 2 if ties == "split" else 0
    counted = wins + losses + 2 * half
    p_value = 1.0
    if counted:
        # a second to import, which the other tests should not wait for
        from scipy.stats import binomtest

        p_value = float(binomtest(wins + half, counted, alternative=_SIDES[alternative]).pvalue)
    effect = float(metric.score(one.sum(axis=0))) - float(metric.score(other.sum(axis=0)))
    return Comparison(
        effect, p_value, method, alternative, counted, wins=wins, losses=losses, ties=equal
    )


def bootstrap(
    metric: Metric, stats: FloatColumn, **resampling: Unpack[ResamplingOptions]
) -> Estimate:
    """Return the score of a system with a confidence interval.

    The interval is from percentiles of the scores of ``samples`` corpora that are drawn from the
    segments with replacement, each as large as the original (Efron 1979).

    Cost: ``samples * segments``.

    Parameters
    ----------
    metric
        What scores.
    stats
        One row of statistics a segment.
    **resampling
        ``samples``, ``level``, ``seed`` and ``on_drawn`` of
        :class:`fstmetrics.statistics.resampling.Resampling`.

    Raises
    ------
    OptionError
        For fewer than two segments, or numbers outside their range.

    Examples
    --------
    >>> from fstmetrics import WER, corpus_stats
    >>> outputs = ["a cat", "sat", "on the mat", "and slept"]
    >>> references = [["the cat"], ["sat down"], ["on the mat"], ["and slept"]]
    >>> print(bootstrap(WER(), corpus_stats(WER(), outputs, references)))
    0.2222 [0.0000, 0.5000]
    """
    rows = check_stats(metric, stats)
    how = Resampling.of("bootstrap", resampling)
    scores = check_scores(metric, how.sums(rows))
    spread = float(scores.std(ddof=1)) if how.samples > 1 else float("nan")
    score = float(metric.score(rows.sum(axis=0)))
    return Estimate(score, percentiles(scores, how.level), spread, how.samples)


def paired_bootstrap(
    metric: Metric,
    stats_a: FloatColumn,
    stats_b: FloatColumn,
    *,
    alternative: str = "two-sided",
    **resampling: Unpack[ResamplingOptions],
) -> Comparison:
    """Compare two systems on resamples of the segments that they share.

    The interval of the effect is from its percentiles d_1 ... d_n over the resamples, and
    ``wins / samples`` is how often a beats b, the number Koehn (2004) reads as confidence. For the
    p-value the distribution is moved to where it would be if there were no effect (Noreen 1989;
    Riezler and Maxwell 2005): with mean m and observed effect d,

        p = (1 + #{i: abs(d_i - m) >= abs(d)}) / (n + 1)

    and without the absolute values, in the direction of ``alternative``, if one-sided. Interval
    and p-value agree but for the skew of the distribution and for chance.

    Resamples of few segments vary too little: of 400 pairs of systems that are alike, under WER,
    p was at most 0.05 in 12 % with 10 segments, in 8 % with 20 and in 5 % with 50.
    :func:`randomization` and :func:`sign_test` were below 5 % with 10 to 150.

    Cost: ``samples * segments``; 1,000 resamples of 3,000 segments take about 50 ms, and what it
    takes to score 2,000 rows.

    Parameters
    ----------
    metric
        What scores.
    stats_a, stats_b
        Statistics of the system and of the baseline, row by row of the same segments.
    alternative : {"two-sided", "better", "worse"}
        What the p-value is for: that a and b differ, that a is better, that it is worse.
    **resampling
        ``samples``, ``level``, ``seed`` and ``on_drawn`` of
        :class:`fstmetrics.statistics.resampling.Resampling`.

    Raises
    ------
    OptionError
        For different numbers of segments, fewer than two, or numbers outside their range.

    References
    ----------
    Koehn. Statistical significance tests for machine translation evaluation. EMNLP 2004.

    Examples
    --------
    >>> from fstmetrics import WER, corpus_stats
    >>> references = [["the cat"], ["sat down"], ["on the mat"]] * 20
    >>> b = corpus_stats(WER(), ["a cat", "sat", "on the mat"] * 20, references)
    >>> a = corpus_stats(WER(), ["the cat", "sat down", "on mat"] * 20, references)
    >>> result = paired_bootstrap(WER(), a, b)
    >>> print(result)
    -0.1429 [-0.2556, -0.0408], p = 0.019 (bootstrap of 1000, two-sided)
    >>> result.wins / result.samples
    0.991
    """
    both = check_pair(metric, stats_a, stats_b)
    check_alternative(alternative)
    how = Resampling.of("paired_bootstrap", resampling)
    (found,) = _compare_pairs(metric, both, alternative, how).values()
    return found


def paired_bootstraps(
    metric: Metric, stats: Sequence[FloatColumn], **resampling: Unpack[ResamplingOptions]
) -> dict[tuple[int, int], Comparison]:
    """Compare each of several systems with all that come after it, on the same resamples.

    The numbers are those of :func:`paired_bootstrap`, two-sided, pair by pair; the resamples are
    drawn once. Cost: ``samples * (segments + systems ** 2)``.

    Parameters
    ----------
    metric
        What scores.
    stats
        Of each system one row of statistics a segment, the same segments in the same order.
    **resampling
        As of :func:`paired_bootstrap`.

    Examples
    --------
    >>> from fstmetrics import WER, corpus_stats
    >>> references = [["the cat"], ["sat down"], ["on the mat"]] * 20
    >>> texts = [["a cat", "sat", "on the mat"], ["the cat", "sat down", "on mat"], ["a"] * 3]
    >>> stats = [corpus_stats(WER(), each * 20, references) for each in texts]
    >>> found = paired_bootstraps(WER(), stats)
    >>> list(found), found[0, 1] == paired_bootstrap(WER(), *stats[:2])
    ([(0, 1), (0, 2), (1, 2)], True)
    """
    rows = [check_pair(metric, stats[0], each)[1] for each in stats]
    how = Resampling.of("paired_bootstraps", resampling)
    return _compare_pairs(metric, rows, "two-sided", how)


def _compare_pairs(
    metric: Metric, stats: Sequence[FloatColumn], alternative: str, how: Resampling
) -> dict[tuple[int, int], Comparison]:
    """Return the comparisons of all pairs of matrices of statistics, on the same resamples."""
    sums = np.split(how.sums(np.hstack(stats)), len(stats), axis=1)
    qualities = [qualities_of(metric, each) for each in sums]
    scores = [float(metric.score(each.sum(axis=0))) for each in stats]
    found = {}
    for one, other in combinations(range(len(stats)), 2):
        better = qualities[one] - qualities[other]
        rounding = ROUNDING * max(abs(scores[one]), abs(scores[other]))
        effect = scores[one] - scores[other]
        wins = int(np.count_nonzero(better > rounding))
        losses = int(np.count_nonzero(better < -rounding))
        gain = quality(metric, effect)
        found[one, other] = Comparison(
            effect,
            exceedance(better - better.mean(), gain, alternative, rounding),
            "bootstrap",
            alternative,
            how.samples,
            percentiles(better if metric.higher_is_better else -better, how.level),
            wins,
            losses,
            how.samples - wins - losses,
        )
    return found


@takes(trials=WHOLE)
def randomization(
    metric: Metric,
    stats_a: FloatColumn,
    stats_b: FloatColumn,
    *,
    trials: int = 10_000,
    alternative: str = "two-sided",
    seed: Seed = 0,
    on_drawn: OnDrawn | None = None,
) -> Comparison:
    """Compare two systems with shuffles: in each, a coin for each segment swaps the two outputs.

    If the systems were alike, the labels a and b would mean nothing, and the effect would be one of
    those that shuffles have. With d_1 ... d_n the effects of the shuffles and d the observed one,

        p = (1 + #{i: abs(d_i) >= abs(d)}) / (n + 1)

    and without the absolute values, in the direction of ``alternative``, if one-sided. Adding one
    keeps the share of false alarms at or below the level whatever n is.

    Cost: ``trials * segments``.

    Parameters
    ----------
    trials
        Number of shuffles.
    metric, stats_a, stats_b, alternative, seed, on_drawn
        As of :func:`paired_bootstrap`.

    References
    ----------
    Noreen. Computer-intensive methods for testing hypotheses. Wiley 1989.
    Riezler and Maxwell. On some pitfalls in automatic evaluation and significance testing for MT.
    ACL 2005 workshop on intrinsic and extrinsic evaluation measures.

    Examples
    --------
    >>> from fstmetrics import WER, corpus_stats
    >>> references = [["the cat"], ["sat down"], ["on the mat"]] * 20
    >>> b = corpus_stats(WER(), ["a cat", "sat", "on the mat"] * 20, references)
    >>> a = corpus_stats(WER(), ["the cat", "sat down", "on mat"] * 20, references)
    >>> print(randomization(WER(), a, b))
    -0.1429, p = 0.013 (randomization of 10000, two-sided)
    """
    one, other = check_pair(metric, stats_a, stats_b)
    check_alternative(alternative)
    rng = make_generator(seed)
    moved = shuffle_sums(one - other, check_samples(trials), rng, on_drawn)
    shuffled_a = qualities_of(metric, one.sum(axis=0) - moved)
    shuffled_b = qualities_of(metric, other.sum(axis=0) + moved)
    scores = _corpus_scores(metric, one, other)
    effect = scores[0] - scores[1]
    rounding = ROUNDING * max(map(abs, scores))
    p_value = exceedance(shuffled_a - shuffled_b, quality(metric, effect), alternative, rounding)
    return Comparison(effect, p_value, "randomization", alternative, trials)


def _corpus_scores(metric: Metric, one: FloatColumn, other: FloatColumn) -> tuple[float, float]:
    return float(metric.score(one.sum(axis=0))), float(metric.score(other.sum(axis=0)))
