"""Semirings: what one pass over a lattice means.

Every value is a log-score, higher is better, and zero, the weight of what cannot
happen, is a real ``-inf`` (COUNT, which is not a log, has 0).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from lattices.arrays import FloatColumn
from lattices.errors import OptionError


@dataclass(frozen=True)
class Semiring:
    """Two operations on floats: ``plus`` joins alternatives, ``times`` joins steps.

    Attributes
    ----------
    name : str
    zero, one : float
        The neutral elements of ``plus`` and ``times``; ``zero`` also annihilates.
    plus, times : numpy.ufunc
    code : int
        The number by which compiled kernels know the semiring.
    scored : bool
        Whether the weight of an arc is its score; if not, every arc weighs ``one``.
    """

    name: str
    zero: float
    one: float
    plus: np.ufunc = field(repr=False)
    times: np.ufunc = field(repr=False)
    code: int = field(repr=False)
    scored: bool = field(repr=False, default=True)

    def weights(self, scores: ArrayLike, scale: float = 1.0) -> FloatColumn:
        """Return the weights of steps with these log-scores, multiplied by ``scale``.

        A score of ``-inf`` is a step that cannot be taken: its weight is ``zero``
        whatever the scale, so that a scale of 0 or below does not bring it to life.
        """
        if not math.isfinite(scale):
            raise OptionError(f"the scale is {scale}, expected a finite number")
        scores = np.asarray(scores, dtype=np.float64)
        possible = scores > -np.inf
        weights = np.full(scores.shape, self.zero)
        if self.scored:
            np.multiply(scores, scale, out=weights, where=possible)
        else:
            weights[possible] = self.one
        return weights


#: the score of the best path
VITERBI = Semiring("VITERBI", -np.inf, 0.0, np.maximum, np.add, code=0)
#: the log of the sum of the exponentials of all paths
LOG = Semiring("LOG", -np.inf, 0.0, np.logaddexp, np.add, code=1)
#: the number of paths, as a float: exact up to 2**53, ``inf`` beyond 1.8e308
COUNT = Semiring("COUNT", 0.0, 1.0, np.add, np.multiply, code=2, scored=False)
