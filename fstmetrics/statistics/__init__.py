"""Statistics over scores: significance, correlation, studies of options."""

from __future__ import annotations

from fstmetrics.statistics.correlation import (
    correlate,
    correlate_systems,
    graded_kappa,
    kappa,
    wmt_tau,
)
from fstmetrics.statistics.significance import (
    Comparison,
    Estimate,
    Interval,
    bootstrap,
    paired_bootstrap,
    randomization,
    sign_test,
    substitution_test,
)
from fstmetrics.statistics.studies import SweepPoint, threshold_sweep

__all__ = [
    "Comparison",
    "Estimate",
    "Interval",
    "SweepPoint",
    "bootstrap",
    "correlate",
    "correlate_systems",
    "graded_kappa",
    "kappa",
    "paired_bootstrap",
    "randomization",
    "sign_test",
    "substitution_test",
    "threshold_sweep",
    "wmt_tau",
]
