r"""Calibration of word confidences: how true they are, and a map that makes them truer.

A confidence is calibrated if of all words with confidence :math:`p` the share :math:`p` is right.
With :math:`n` right words of :math:`N`, :math:`\bar p = n / N`, the normalised cross entropy is

.. math::

    \mathrm{NCE} = \frac{H - \sum_{right} -\log_2 p_i - \sum_{wrong} -\log_2 (1 - p_i)}{H}, \qquad
    H = -n \log_2 \bar p - (N - n) \log_2 (1 - \bar p)

It is 1 for a confidence that knows, 0 for one that says :math:`\bar p` of every word, and less than
0 for one that misleads. Confidences are taken to be at least 1e-7 away from 0 and 1, which is what
sclite does. The expected calibration error is the mean distance between the confidences and the
share of right words, over bins of equal width.

References
----------
M. Siu and H. Gish, Evaluation of word confidence for speech recognition systems, Computer Speech
and Language 13(4), 1999, and NIST's sclite: NCE. M. Naeini, G. Cooper and M. Hauskrecht, Obtaining
well calibrated probabilities using Bayesian binning, AAAI 2015: the expected calibration error.
G. Evermann and P. Woodland, Large vocabulary decoding and confidence estimation using word
posterior probabilities, ICASSP 2000: a piecewise linear map of word posteriors. B. Zadrozny and
C. Elkan, Transforming classifier scores into accurate multiclass probability estimates, KDD 2002:
isotonic regression.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lattices.arrays import FloatColumn, floats
from lattices.errors import FormatError, OptionError
from lattices.formats.streams import display_name, open_input, open_output
from lattices.records import PlainRecord
from lattices.spaces.arguments import WHOLE

#: how near confidences come to 0 and 1 in logarithms
NEAREST = 1e-7
#: of a reliability diagram and of the expected calibration error
BINS, MOST_BINS = 10, 1_000_000
#: to which confidences are told apart, and written
DIGITS = 6
#: the map has as many pieces at most, each from as many words at least
PIECES, WORDS = 100, 20


class ReliabilityBin(NamedTuple):
    """The words whose confidences fall into an interval."""

    #: its ends; 1 is in the last one, and any other high end in the next
    low: float
    high: float
    words: int
    #: their mean confidence; NaN if there are none
    confidence: float
    #: the share of them that is right; NaN if there are none
    correct: float

    def to_dict(self) -> dict[str, float]:
        """Return the fields."""
        return self._asdict()


def reliability(
    confidences: ArrayLike, correct: ArrayLike, bins: int = BINS
) -> tuple[ReliabilityBin, ...]:
    """Return the words by their confidence, in bins of equal width: a reliability diagram.

    Parameters
    ----------
    confidences
        From 0 to 1, one for each word.
    correct
        Whether each word is right.
    bins
        How many.

    Examples
    --------
    >>> for each in reliability([0.25, 0.75, 1.0, 1.0], [False, True, True, False], bins=2):
    ...     print(each.words, round(each.confidence, 3), round(each.correct, 3))
    1 0.25 0.0
    3 0.917 0.667
    """
    given, right = _check(confidences, correct)
    WHOLE.check("reliability", "bins", bins)
    if not 1 <= bins <= MOST_BINS:
        raise OptionError(f"{bins} bins, expected from 1 to {MOST_BINS}")
    # the ends as they are told: given * bins may round to the bin below
    place = np.searchsorted(np.arange(1, bins) / bins, given, side="right")
    counts, sums, rights = (
        np.bincount(place, weights=each, minlength=bins)
        for each in (np.ones(len(given)), given, right)
    )
    return tuple(
        ReliabilityBin(
            index / bins,
            (index + 1) / bins,
            int(count),
            total / count if count else math.nan,
            good / count if count else math.nan,
        )
        for index, (count, total, good) in enumerate(
            zip(counts.tolist(), sums.tolist(), rights.tolist(), strict=True)
        )
    )


def cross_entropy(confidences: ArrayLike, correct: ArrayLike) -> float:
    """Return the bits that the confidences leave to be told of which words are right, in all."""
    given, right = _check(confidences, correct)
    given = np.clip(given, NEAREST, 1.0 - NEAREST)
    return float(-np.log2(np.where(right, given, 1.0 - given)).sum())


def normalised_cross_entropy(confidences: ArrayLike, correct: ArrayLike) -> float:
    """Return NIST's NCE, see this module; NaN where all words are right, or all are wrong.

    Examples
    --------
    >>> round(normalised_cross_entropy([0.9, 0.8, 0.3, 1.0, 0.0], [1, 1, 0, 1, 0]), 3)
    0.796
    """
    given, right = _check(confidences, correct)
    share = float(right.mean()) if len(right) else math.nan
    if not 0.0 < share < 1.0:
        return math.nan
    most = cross_entropy(np.full(len(given), share), right)
    return (most - cross_entropy(given, right)) / most


def expected_calibration_error(
    confidences: ArrayLike, correct: ArrayLike, bins: int = BINS
) -> float:
    """Return the mean distance of confidence and share of right words; NaN without words.

    Examples
    --------
    >>> expected_calibration_error([0.25, 0.75, 0.75], [False, True, False], bins=2)
    0.25
    """
    found = [each for each in reliability(confidences, correct, bins) if each.words]
    words = sum(each.words for each in found)
    if not words:
        return math.nan
    return sum(each.words * abs(each.confidence - each.correct) for each in found) / words


def _check(
    confidences: ArrayLike, correct: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    try:
        given, told = np.asarray(confidences, dtype=np.float64), np.asarray(correct)
    except (TypeError, ValueError) as problem:
        raise OptionError(f"confidences that are no numbers: {problem}") from None
    if told.size and not np.isin(told, (False, True)).all():
        raise OptionError(f"correct has {told.ravel()[:3].tolist()}, expected True or False each")
    right = told.astype(np.bool_)
    if given.ndim != 1 or given.shape != right.shape:
        raise OptionError(
            f"confidences of shape {given.shape} for words of shape {right.shape}, expected one "
            "for each word"
        )
    outside = ~((given >= 0.0) & (given <= 1.0))
    if outside.any():
        raise OptionError(f"a confidence of {given[outside][0]}, expected one from 0 to 1")
    return given, right


@dataclass(frozen=True)
class Quality(PlainRecord):
    """How good the confidences of some words are."""

    words: int
    #: how many of them are right
    correct: int
    #: their normalised cross entropy and expected calibration error
    nce: float
    ece: float
    bins: tuple[ReliabilityBin, ...]


def measure_quality(confidences: ArrayLike, correct: ArrayLike, bins: int = BINS) -> Quality:
    """Return all that this module measures."""
    given, right = _check(confidences, correct)
    return Quality(
        len(given),
        int(right.sum()),
        normalised_cross_entropy(given, right),
        expected_calibration_error(given, right, bins),
        reliability(given, right, bins),
    )


@dataclass(frozen=True)
class Calibration(PlainRecord):
    """What makes the confidences of a system true: a scale of its scores, and a map.

    Attributes
    ----------
    scale : float or None
        What model scores are multiplied by before they become posteriors, the inverse of a
        temperature; None where confidences came without scores.
    points : tuple of (float, float)
        Confidences and what they become, both rising; between two points the map is a straight
        line, and outside of them it is constant. Without points it changes nothing.

    Examples
    --------
    >>> Calibration(0.5, ((0.25, 0.5), (0.75, 0.75)))([0.0, 0.5, 1.0]).tolist()
    [0.5, 0.625, 0.75]
    """

    scale: float | None = None
    points: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        """Refuse what is no calibration."""
        if self.scale is not None and not (math.isfinite(self.scale) and self.scale >= 0.0):
            raise OptionError(f"a scale of {self.scale}, expected one that is finite and from 0")
        inside = all(0.0 <= value <= 1.0 for point in self.points for value in point)
        rising = all(a[0] < b[0] and a[1] <= b[1] for a, b in pairwise(self.points))
        if not inside or not rising:
            raise OptionError("points of a calibration that do not rise from 0 to 1")

    def __call__(self, confidences: ArrayLike) -> FloatColumn:
        """Return what confidences become."""
        given = np.asarray(confidences, dtype=np.float64)
        if not self.points:
            return floats(given)
        return floats(np.interp(given, *np.transpose(self.points)))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, as JSON."""
        with open_output(os.fspath(path)) as stream:
            stream.write(self.to_json().encode("utf-8"))

    def to_json(self) -> str:
        r"""Return it as the text of a file.

        Examples
        --------
        >>> Calibration(0.5, ((0.25, 0.5),)).to_json()
        '{"scale": 0.5, "points": [[0.25, 0.5]]}\n'
        """
        return json.dumps(self.to_dict()) + "\n"


def read_calibration(path: str | os.PathLike[str]) -> Calibration:
    """Return the calibration of a file.

    Raises
    ------
    FormatError
        If it is none.
    """
    name = display_name(os.fspath(path))
    with open_input(os.fspath(path)) as (_, stream):
        text = stream.read()
    try:
        found: Any = json.loads(text)
        if {*found} != {"scale", "points"}:
            raise ValueError("expected an object with scale and points")
        scale = found["scale"]
        points = tuple((_number(each), _number(becomes)) for each, becomes in found["points"])
        return Calibration(None if scale is None else _number(scale), points)
    # what is in the file may be anything
    except (ValueError, TypeError) as problem:
        raise FormatError(f"no calibration: {problem}", name) from None


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r}, expected a number")
    return float(value)


def fit_map(
    confidences: ArrayLike, correct: ArrayLike, *, pieces: int = PIECES, words: int = WORDS
) -> tuple[tuple[float, float], ...]:
    r"""Return the points of a rising, piecewise linear map of confidences to shares of right words.

    Words are put into groups of about equal size, those of one confidence, to six digits, into the
    same. A group of :math:`k` right words among :math:`n` has the value :math:`(k + \bar p) /
    (n + 1)`, as if it had one more word that is right as often as words are on average: while some
    words are right and some are wrong, no confidence becomes 0 or 1.
    Isotonic regression, weighted by the sizes, makes the values rise; groups that it gives one
    value are one point, at their mean confidence.

    Cost: a sort.

    Parameters
    ----------
    confidences, correct
        As of :func:`reliability`.
    pieces
        The most groups.
    words
        The least words of a group, unless there are fewer.

    Raises
    ------
    OptionError
        Without words.

    Examples
    --------
    >>> points = fit_map([0.2] * 20 + [0.9] * 40, [True] * 8 + [False] * 12 + [True] * 40)
    >>> [(round(each, 2), round(becomes, 3)) for each, becomes in points]
    [(0.2, 0.419), (0.9, 0.995)]
    """
    # takes long to import, and who applies a map does not fit one
    from scipy.optimize import isotonic_regression

    given, right = _check(confidences, correct)
    if not len(given):
        raise OptionError("no word to fit a map of confidences to")
    # 1 and what rounding makes of it are the same
    values, place = np.unique(given.round(DIGITS), return_inverse=True)
    counts = np.bincount(place)
    rights = np.bincount(place, weights=right)
    least = max(words, -(-len(given) // pieces))
    starts, size = [0], 0
    for index, count in enumerate(counts.tolist()):
        if size >= least:
            starts.append(index)
            size = 0
        size += count
    if size < least and len(starts) > 1:
        # what is left over is too little for a group of its own
        starts.pop()
    sizes, good, sums = (
        np.add.reduceat(each, starts) for each in (counts, rights, values * counts)
    )
    risen = isotonic_regression((good + right.mean()) / (sizes + 1), weights=sizes)
    # values that differ by rounding are one
    blocks = np.flatnonzero(np.diff(risen.x.round(2 * DIGITS), prepend=-1.0))
    at = np.add.reduceat(sums, blocks) / np.add.reduceat(sizes, blocks)
    return tuple(zip(at.tolist(), np.clip(risen.x[blocks], 0.0, 1.0).tolist(), strict=True))


def fit_scale(entropies: Sequence[float], scales: Sequence[float]) -> float:
    """Return the scale of the least cross entropy; of equals, the one nearest to 1."""
    pairs = zip(entropies, scales, strict=True)
    return min(pairs, key=lambda pair: (pair[0], abs(math.log(pair[1]))))[1]
