"""Statistics over scores: significance, correlation, calibration, studies of options."""

from __future__ import annotations

from fstmetrics.statistics.calibration import (
    Calibration,
    expected_calibration_error,
    fit_map,
    normalised_cross_entropy,
    read_calibration,
    reliability,
)
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
    "Calibration",
    "Comparison",
    "Estimate",
    "Interval",
    "SweepPoint",
    "bootstrap",
    "correlate",
    "correlate_systems",
    "expected_calibration_error",
    "fit_map",
    "graded_kappa",
    "kappa",
    "normalised_cross_entropy",
    "paired_bootstrap",
    "randomization",
    "read_calibration",
    "reliability",
    "sign_test",
    "substitution_test",
    "threshold_sweep",
    "wmt_tau",
]
