"""The loss of softmax-margin, with its gradient, over graphs whose derivations carry the metric."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array, vstack

from decoding.training.risk_expectations import expectation
from decoding.training.risk_graphs import DerivationGraph
from lattices.arrays import FloatColumn, floats
from lattices.spaces.features import FeatureMatrix


class MarginTerms:
    """The terms of the loss for some segments, whose targets and graphs are fixed.

    The loss of a segment with target ``t`` is

        log(sum over derivations d of exp(score(d) - score(t) + scale * (q(t) - q(d))))

    with the metric ``q``, higher is better: never below 0, and at least the largest violation
    of the margin that a loss wants. It is convex in the weights.

    Parameters
    ----------
    graphs : sequence of DerivationGraph
        Whose derivations carry the metric.
    features : sequence of csr_array
        One row for each slot of a graph, in the columns of the weights.
    targets : sequence of vector and quality
    scale : float
        Of the cost.
    sign : float
        1 if a higher metric is better, else -1.

    Examples
    --------
    >>> from decoding.training.risk_graphs import list_graph
    >>> graph, rows = list_graph(floats([1.0, 0.0])), csr_array([[1.0], [0.0]])
    >>> terms = MarginTerms([graph], [rows], [(np.array([1.0]), 1.0)], 2.0, 1.0)
    >>> value, gradient = terms.loss(np.array([0.5]), [0])
    >>> round(value, 4), gradient.round(4).tolist()
    (1.7014, [-0.8176])
    """

    def __init__(
        self,
        graphs: Sequence[DerivationGraph],
        features: Sequence[FeatureMatrix],
        targets: Sequence[tuple[FloatColumn, float]],
        scale: float,
        sign: float,
        workers: int = 1,
    ) -> None:
        self._graphs, self._features, self._targets = graphs, features, targets
        self._scale, self._sign, self._workers = scale, sign, workers
        self._all: tuple[FeatureMatrix, FeatureMatrix] | None = None

    def loss(self, weights: FloatColumn, places: Sequence[int]) -> tuple[float, FloatColumn]:
        """Return the mean loss of some segments, and its gradient. Cost: O(edges of the graphs)."""
        rows, columns = self._rows(places)
        scores = rows @ weights
        bounds = np.cumsum([0, *(self._graphs[place].slots for place in places)]).tolist()

        def expected(part: tuple[int, tuple[int, int]]) -> tuple[float, FloatColumn]:
            place, (begin, end) = part
            found = expectation(
                self._graphs[place], floats(scores[begin:end]), tilt=-self._sign * self._scale
            )
            return found.log_total, found.count

        parts = list(zip(places, pairwise(bounds), strict=True))
        if self._workers == 1:
            results = [expected(part) for part in parts]
        else:
            with ThreadPoolExecutor(self._workers) as pool:
                results = list(pool.map(expected, parts))
        gradient = columns @ np.concatenate([count for _, count in results])
        value = sum(total for total, _ in results)
        for place in places:
            features, worth = self._targets[place]
            value += self._scale * worth - float(features @ weights)
            gradient = gradient - features
        return value / len(places), np.asarray(gradient / len(places))

    def _rows(self, places: Sequence[int]) -> tuple[FeatureMatrix, FeatureMatrix]:
        """Return the features of some segments, and their transpose; those of all are kept."""
        if len(places) == len(self._graphs) and self._all is not None:
            return self._all
        rows = csr_array(vstack([self._features[place] for place in places], format="csr"))
        found = rows, csr_array(rows.T)
        if len(places) == len(self._graphs):
            self._all = found
        return found
