from .calibration import (
    Calibration as Calibration,
    expected_calibration_error as expected_calibration_error,
    fit_map as fit_map,
    normalised_cross_entropy as normalised_cross_entropy,
    read_calibration as read_calibration,
    reliability as reliability,
)
from .correlation import (
    correlate as correlate,
    correlate_systems as correlate_systems,
    graded_kappa as graded_kappa,
    kappa as kappa,
    wmt_tau as wmt_tau,
)
from .matched_pairs import MatchedPairs as MatchedPairs, matched_pairs as matched_pairs
from .pairwise import (
    CalibratedAccuracy as CalibratedAccuracy,
    calibrated_accuracy as calibrated_accuracy,
    pairwise_accuracy as pairwise_accuracy,
    soft_pairwise_accuracy as soft_pairwise_accuracy,
)
from .resampling import Interval as Interval, sum_blocks as sum_blocks
from .significance import (
    Comparison as Comparison,
    Estimate as Estimate,
    bootstrap as bootstrap,
    paired_bootstrap as paired_bootstrap,
    randomization as randomization,
    sign_test as sign_test,
    substitution_test as substitution_test,
)
from .studies.sweeps import SweepPoint as SweepPoint, threshold_sweep as threshold_sweep
from .term_detection import (
    TermSpan as TermSpan,
    TermWeightedValue as TermWeightedValue,
    term_weighted_value as term_weighted_value,
)
