"""Several candidates that differ, chosen greedily, with a bound of what any choice could reach.

References
----------
G. Nemhauser, L. Wolsey, M. Fisher. 1978. An analysis of approximations for maximizing submodular
set functions. Mathematical Programming.
Y. Jinnai, U. Honda, T. Morimura, P. Zhang. 2024. Generating diverse and high-quality texts by
minimum Bayes risk decoding. Findings of ACL.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lattices.arrays import Array


class Selection(NamedTuple):
    """Candidates chosen together."""

    chosen: list[int]
    #: what was maximised, and what no choice of as many exceeds
    objective: float
    bound: float


def choose_apart(quality: Array, similarity: Array, k: int, weight: float) -> Selection:
    """Return ``k`` candidates of high quality that are not like one another.

    ``mean of quality - weight * mean over pairs of similarity``, each time by the candidate that
    makes it highest. The bound adds up, of the ``k`` best candidates, the quality and the ``k - 1``
    least similarities of each. Cost: O(k x candidates).

    Examples
    --------
    >>> alike = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> choose_apart(np.array([1.0, 0.75, 0.5]), alike, 2, 0.5)
    Selection(chosen=[0, 2], objective=0.75, bound=0.875)
    """
    k = min(k, len(quality))
    both = (similarity + similarity.T) / 2.0
    chosen: list[int] = []
    near = np.zeros(len(quality))
    for count in range(k):
        gain = quality - 2.0 * weight * near / max(1, count)
        gain[chosen] = -np.inf
        chosen.append(int(np.argmax(gain)))
        near = near + both[chosen[-1]]
    others = both + np.where(np.eye(len(both)), np.inf, 0.0)
    least = np.sort(others, axis=1)[:, : k - 1].mean(axis=1) if k > 1 else np.zeros(len(both))
    bound = np.sort(quality - weight * least)[-k:].mean()
    pairs = both[np.ix_(chosen, chosen)]
    alike = (pairs.sum() - np.trace(pairs)) / max(1, k * (k - 1))
    return Selection(chosen, float(quality[chosen].mean() - weight * alike), float(bound))


def choose_covering(scores: Array, weight: Array, k: int) -> Selection:
    """Return ``k`` candidates, of which the best for each sentence of evidence is best on average.

    ``sum over e of weight(e) * max over chosen c of scores[e, c]``, each time by the candidate that
    raises it most. That grows with each candidate, by less and less (it is submodular), so at least
    1 - 1/e of the most above the worst scores is reached; the bound, what is reached after some
    choices plus the ``k`` largest gains there, is often closer. Cost: O(k x pairs).

    Examples
    --------
    >>> scores = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.6]])
    >>> choose_covering(scores, np.array([0.5, 0.5]), 2)
    Selection(chosen=[2, 0], objective=0.8, bound=1.0)
    """
    k = min(k, scores.shape[1])
    reached = scores.min(axis=1)
    chosen: list[int] = []
    bound = np.inf
    for step in range(k + 1):
        gain = weight @ np.maximum(scores - reached[:, None], 0.0)
        bound = min(bound, weight @ reached + np.sort(gain)[-k:].sum())
        if step < k:
            gain[chosen] = -np.inf
            chosen.append(int(np.argmax(gain)))
            reached = np.maximum(reached, scores[:, chosen[-1]])
    return Selection(chosen, float(weight @ reached), float(bound))
