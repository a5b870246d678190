"""What each n-gram is worth to lattice MBR: the linear approximation of the BLEU score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lattices.algorithms.ngram_contexts import checked_order
from lattices.algorithms.ngram_trie import Ngrams
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError
from lattices.spaces import Hypothesis

#: gains are multiples of the largest factor over this power of two
_STEPS = 36


class Ranked(NamedTuple):
    """A sentence and what it gains."""

    hypothesis: Hypothesis
    gain: float


class Factors(NamedTuple):
    """What a word costs or gains by itself, and what an n-gram of each length gains.

    Attributes
    ----------
    word : float
    ngram : tuple of float
        For lengths 1, 2, ...
    """

    word: float
    ngram: tuple[float, ...]

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return len(self.ngram)

    @property
    def unit(self) -> float:
        """What all gains are multiples of, a power of two: sums of them have no rounding."""
        largest = max(abs(self.word), *map(abs, self.ngram))
        # of the smallest floats there are no fractions
        return math.ldexp(1.0, max(math.frexp(largest)[1] - _STEPS, -1000)) if largest else 1.0


def linear_factors(
    p: float = 0.85,
    r: float = 0.75,
    T: float = 10.0,
    order: int = 4,
    *,
    theta: Sequence[float] | None = None,
    word_penalty: float | None = None,
) -> Factors:
    """Return the factors ``theta`` of Tromble et al. 2008.

    ``theta_0 = -1 / T`` and ``theta_n = 1 / (N T p r^(n-1))``, where ``N`` is the order (4 in
    the paper), ``p`` the unigram precision, ``r`` the ratio between the precisions of one order
    and the one before, and ``T`` the number of unigrams. As ``T`` divides all of them, it only
    changes which sentence is best if there is a ``word_penalty`` besides. (HiFST divides by 4
    whatever its highest order.)

    Parameters
    ----------
    p, r, T : float
        Positive.
    order : int
        The longest n-grams.
    theta : sequence of float, optional
        ``theta_0, theta_1, ..., theta_N`` themselves, instead.
    word_penalty : float, optional
        Taken off for each word, besides ``theta_0``: HiFST's ``--wps``.

    Examples
    --------
    >>> linear_factors(p=0.5, r=0.5, T=10, order=2)
    Factors(word=-0.1, ngram=(0.1, 0.2))
    >>> linear_factors(theta=[-1, 1, 1], word_penalty=0.5)
    Factors(word=-1.5, ngram=(1.0, 1.0))
    """
    if theta is None:
        order = checked_order(order)
        for name, value in (("p", p), ("r", r), ("T", T)):
            if not 0.0 < value < math.inf:
                raise OptionError(f"{name} is a positive number, not {value}")
        factors = [-1.0 / T, *(1.0 / (order * T * p * r**n) for n in range(order))]
    else:
        factors = [float(value) for value in theta]
        if len(factors) < 2:
            raise OptionError(f"theta has one number for words and others for n-grams: {theta}")
        checked_order(len(factors) - 1)
    factors[0] -= word_penalty or 0.0
    for value in factors:
        if not math.isfinite(value):
            raise OptionError(f"the factors of words and n-grams are finite numbers: {factors}")
    return Factors(factors[0], tuple(factors[1:]))


def ngram_gains(factors: Factors, ngrams: Ngrams, value: FloatColumn) -> FloatColumn:
    """Return ``theta_|u| * P(u)`` for each n-gram, to the nearest multiple of the unit.

    Rounded so, equal sums are equal numbers in whatever order they are made, and ties are ties.
    What is lost is less than 1e-10 of the largest factor.
    """
    by_length = np.array([0.0, *factors.ngram])
    return floats(_rounded(by_length[ngrams.length] * value, factors.unit))


def word_gain(factors: Factors) -> float:
    """Return what a word gains by itself, to the nearest multiple of the unit."""
    return float(_rounded(np.array(factors.word), factors.unit))


def _rounded(gain: FloatColumn, unit: float) -> FloatColumn:
    return np.rint(gain / unit) * unit
