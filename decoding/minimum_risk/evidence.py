"""What the metric is averaged over: weighted sentences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError
from lattices.spaces import NBest


@dataclass(frozen=True, eq=False)
class Evidence:
    """Sentences with the probability of each.

    Attributes
    ----------
    nbest : NBest
        The sentences, each once.
    weight : float64 column, one entry a sentence
        Not negative; the sum is one.

    Examples
    --------
    >>> from lattices import Hypothesis
    >>> evidence = Evidence(NBest.from_hypotheses([Hypothesis(("a",)), Hypothesis(("b",))]), [3, 1])
    >>> evidence.weight.tolist()
    [0.75, 0.25]
    """

    nbest: NBest
    weight: FloatColumn

    def __post_init__(self) -> None:
        """Check the weights and make them sum to one."""
        weight = floats(self.weight)
        if weight.shape != (len(self.nbest),):
            raise OptionError(f"{weight.size} weights for {len(self.nbest)} sentences of evidence")
        if not len(weight):
            raise OptionError(f"there is no evidence in {self.nbest.id!r}")
        if not np.isfinite(weight).all() or (weight < 0.0).any():
            wrong = weight[~(np.isfinite(weight) & (weight >= 0.0))][0]
            raise OptionError(f"a weight of evidence is finite and not negative, not {wrong}")
        if weight.sum() <= 0.0:
            raise OptionError("the weights of the evidence are all zero")
        self.__dict__["weight"] = floats(weight / weight.sum())
