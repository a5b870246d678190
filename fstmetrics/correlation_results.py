"""What a coefficient of agreement says."""

from __future__ import annotations

from dataclasses import dataclass

from fstmetrics.significance_results import Interval


@dataclass(frozen=True)
class Correlation:
    """A coefficient, and how sure it is.

    Attributes
    ----------
    value : float
        NaN where a side has one value only: it says nothing then.
    method : str
    points : int
    p_value : float
        That of scipy: how often a coefficient as far from 0 would be chance; NaN for kappa.
    interval : Interval or None
        None if there was no resampling, or too little to vary.
    samples : int
        Resamples in which both sides vary; the others have no coefficient and are left out.
    note : str
        Why the value is NaN.
    """

    value: float
    method: str
    points: int
    p_value: float
    interval: Interval | None = None
    samples: int = 0
    note: str = ""

    def __str__(self) -> str:
        """Return coefficient and interval."""
        if self.note:
            return f"undefined ({self.note})"
        return f"{self.value:.4f}" + ("" if self.interval is None else f" {self.interval}")
