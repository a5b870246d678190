"""Reliability of confidences: how often words of a confidence are right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class ReliabilityBin(NamedTuple):
    """Words of nearly one confidence: how many, their mean confidence, how many are right."""

    words: int
    confidence: float
    right: int


class Reliability(NamedTuple):
    """How far confidences can be believed.

    Attributes
    ----------
    bins : tuple of ReliabilityBin
        Of equal width, from 0 to 1; those without words have a confidence in their middle.
    error : float
        The expected calibration error: the mean over words of how far the mean confidence of
        their bin is from its share of right words.
    cross_entropy : float or None
        The normalised cross entropy of NIST, ``1 - H(words | confidences) / H(words)``: 1 is
        perfect, 0 as good as saying the same of all words; None where all or none are right.
    """

    bins: tuple[ReliabilityBin, ...]
    error: float
    cross_entropy: float | None


def reliability(
    confidences: Sequence[float], right: Sequence[bool], bins: int = 10
) -> Reliability | None:
    """Return how often words are right that have a confidence, or None without words.

    Parameters
    ----------
    confidences : sequence of float
        From 0 to 1, one for each word.
    right : sequence of bool
        Whether the word was said.
    bins : int

    References
    ----------
    Siu and Gish. Evaluation of word confidence for speech recognition systems. Computer Speech
    and Language 13(4), 1999 (normalised cross entropy). Naeini, Cooper and Hauskrecht. Obtaining
    well calibrated probabilities using Bayesian binning. AAAI 2015 (expected calibration error).

    Examples
    --------
    >>> found = reliability([0.9, 0.9, 0.9, 0.9, 0.5], [True, True, True, False, True], bins=2)
    >>> [tuple(each) for each in found.bins], round(found.error, 2)
    ([(0, 0.25, 0), (5, 0.82, 4)], 0.02)
    """
    if not len(confidences):
        return None
    value = np.clip(np.asarray(confidences, dtype=np.float64), 0.0, 1.0)
    truth = np.asarray(right, dtype=bool)
    place = np.minimum((value * bins).astype(np.int64), bins - 1)
    found, error = [], 0.0
    for number in range(bins):
        inside = place == number
        words, good = int(inside.sum()), int(truth[inside].sum())
        mean = float(value[inside].mean()) if words else (number + 0.5) / bins
        error += abs(words * mean - good) / len(value)
        found.append(ReliabilityBin(words, mean, good))
    return Reliability(tuple(found), error, _cross_entropy(value, truth))


def _cross_entropy(value: np.ndarray, truth: np.ndarray) -> float | None:
    share = float(truth.mean())
    if not 0.0 < share < 1.0:
        return None
    # a certainty that is wrong would be worth minus infinity
    chance = np.clip(np.where(truth, value, 1.0 - value), 1e-6, 1.0)
    prior = share * math.log(share) + (1.0 - share) * math.log(1.0 - share)
    return 1.0 - float(np.log(chance).mean()) / prior
