"""Probabilistic MBR: some of the pairs are scored, and the others follow from a low-rank matrix.

References
----------
F. Trabelsi, D. Vilar, M. Finkelstein, M. Freitag. 2024. Efficient minimum Bayes risk decoding using
low-rank matrix completion algorithms. NeurIPS.
"""

from __future__ import annotations

import math

import numpy as np

from decoding.minimum_risk.evidence import Evidence
from decoding.minimum_risk.pairs.pruning import Survivors
from decoding.minimum_risk.pairs.scores import Pairs, Search, check_expectations
from fstmetrics import Metric
from lattices.arrays import Array, FloatColumn, floats, ints
from lattices.errors import OptionError
from lattices.spaces import NBest

#: of the squared sizes of both factors, and how often each is fitted at most; the loss has
#: converged where it falls by no more
PENALTY, ROUNDS, _FALL = 0.1, 10, 1e-4


def complete_matrix(
    scores: Array, observed: Array, factor: Array, penalty: float = PENALTY, rounds: int = ROUNDS
) -> FloatColumn:
    """Return a matrix ``X @ Y.T`` near the observed entries of another.

    ``X`` and ``Y`` minimise the squared errors of observed entries plus ``penalty`` times the
    squares of their own, by least squares of the one with the other fixed, in turn. ``factor`` is
    the first ``Y``, a row a column of the matrix. Cost: O(entries x rank^2) a round.

    Examples
    --------
    >>> scores = np.outer([1.0, 2.0, 3.0], [1.0, 0.5])
    >>> observed = np.array([[1, 1], [1, 0], [0, 1]], bool)
    >>> complete_matrix(scores, observed, np.ones((2, 1)), 1e-6, 99).round(1).tolist()
    [[1.0, 0.5], [2.0, 1.0], [2.9, 1.5]]
    """
    known = np.where(observed, scores, 0.0)
    seen = observed.astype(np.float64)
    right, before = factor, 1e5
    left = right
    for _ in range(rounds):
        left = _fit(known, seen, right, penalty)
        right = _fit(known.T, seen.T, left, penalty)
        size = (left**2).sum() + (right**2).sum()
        loss = ((seen * (known - left @ right.T)) ** 2).sum() + penalty * size
        if before - loss <= _FALL:
            break
        before = loss
    return floats(left @ right.T)


def _fit(known: Array, seen: Array, factor: Array, penalty: float) -> Array:
    """Return the rows that with those of a factor are nearest to the known entries."""
    rank = factor.shape[1]
    squares = (factor[:, :, None] * factor[:, None, :]).reshape(len(factor), rank * rank)
    systems = (seen @ squares).reshape(-1, rank, rank) + penalty * np.eye(rank)
    found: Array = np.linalg.solve(systems, (known @ factor)[:, :, None])[:, :, 0]
    return found


def completed_expectations(
    candidates: NBest, evidence: Evidence, metric: Metric, calls: float, rank: int, seed: int
) -> Search[Survivors]:
    """Search for the expectations of all candidates by a share of the pairs."""
    if rank < 1:
        raise OptionError(f"a rank is at least 1, not {rank}")
    rng = np.random.default_rng(seed)
    size = len(candidates), len(evidence.nbest)
    each = max(1, math.floor(calls * size[1]))
    # the largest of log weight plus Gumbel noise are drawn by weight, without replacement
    noise = rng.gumbel(size=size) + np.log(np.maximum(evidence.weight, 1e-300))
    drawn = np.argpartition(-noise, each - 1, axis=1)[:, :each]
    places = np.repeat(np.arange(size[0]), each), drawn.ravel()
    found = check_expectations((yield Pairs(metric, candidates, evidence.nbest, places)), metric)
    scores, observed = np.zeros(size), np.zeros(size, dtype=bool)
    scores[places], observed[places] = found, True
    if each < size[1]:
        factor = rng.random((size[1], rank)) * (size[1] * rank) ** -0.5
        scores = np.where(observed, scores, complete_matrix(scores, observed, factor))
    every = ints(np.arange(len(candidates)))
    return Survivors(every, floats(scores @ evidence.weight), len(found), each == size[1])
