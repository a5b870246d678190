"""What a test of significance says: an effect, how sure it is, and how that was found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """A confidence interval.

    Examples
    --------
    >>> print(Interval(0.25, 0.5, 0.95))
    [0.2500, 0.5000]
    """

    low: float
    high: float
    level: float

    def __str__(self) -> str:
        """Return the two ends."""
        return f"[{self.low:.4f}, {self.high:.4f}]"


@dataclass(frozen=True)
class Estimate:
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
class Comparison:
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
