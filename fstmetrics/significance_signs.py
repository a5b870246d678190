"""Sign tests: of how many segments one system is better, of how many the other."""

from __future__ import annotations

import numpy as np

from fstmetrics.metric import Metric
from fstmetrics.significance_resampling import (
    ROUNDING,
    checked_alternative,
    checked_pair,
    qualities_of,
)
from fstmetrics.significance_results import Comparison
from lattices.arrays import FloatColumn
from lattices.errors import OptionError

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
    one, other = checked_pair(metric, stats_a, stats_b)
    scores = qualities_of(metric, one), qualities_of(metric, other)
    return _compared(metric, one, other, *scores, "sign", ties, alternative)


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
    metric
        What scores.
    stats_a, stats_b
        Statistics of the system and of the baseline, row by row of the same segments.
    ties : {"drop", "split"}
        Whether segments that change nothing are left out, or go to both sides by halves; one that
        is left over is left out.
    alternative : {"two-sided", "better", "worse"}
        What is tested for: that a and b differ, that a is better, that it is worse.

    Raises
    ------
    OptionError
        For different numbers of segments, fewer than two, or an unknown option.

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
    one, other = checked_pair(metric, stats_a, stats_b)
    total = other.sum(axis=0)
    substituted = qualities_of(metric, total + (one - other))
    unchanged = np.repeat(qualities_of(metric, total[np.newaxis]), len(one))
    return _compared(
        metric, one, other, substituted, unchanged, "sign-substitution", ties, alternative
    )


def _compared(
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
    checked_alternative(alternative)
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
