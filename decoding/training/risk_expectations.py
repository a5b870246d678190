"""Expectations over all derivations of a graph, and their gradients, in one pass up and one down.

A derivation ``d`` of score ``s(d)``, the sum over its edges, and value ``v(d)`` has the probability

    p(d) = exp(scale * s(d) + tilt * v(d)) / Z

and the gradient is the covariance of the value with the use of each edge,

    d E[v] / d s_e = scale * (E[v n_e] - E[v] E[n_e])

with ``n_e`` for how often the edge is used. decoding/native/expectation.hpp has the recurrence.

References
----------
Z. Li and J. Eisner. First- and second-order expectation semirings with applications to
minimum-risk training on translation forests. EMNLP 2009.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoding import _native
from decoding.training.risk_graphs import DerivationGraph
from lattices.arrays import FloatColumn, floats


@dataclass(frozen=True, eq=False)
class Expectation:
    """What is known of a random derivation.

    Attributes
    ----------
    log_total : float
        The logarithm of Z.
    mean, variance : float
        Of the value.
    gradient : float64 column, one entry a slot
        The derivative of the mean by the score there.
    count : float64 column, one entry a slot
        How often the score is used, on average; times the scale, the derivative of
        :attr:`log_total`.
    """

    log_total: float
    mean: float
    variance: float
    gradient: FloatColumn
    count: FloatColumn


def expectation(
    graph: DerivationGraph,
    score: FloatColumn,
    *,
    scale: float = 1.0,
    tilt: float = 0.0,
    surprise: bool = False,
) -> Expectation:
    """Return what to expect of the value of a random derivation.

    Parameters
    ----------
    graph : DerivationGraph
    score : float64 column, one entry a slot
    scale : float
        Of the scores.
    tilt : float
        The weight of the value itself in the exponent: for softmax-margin, the cost.
    surprise : bool
        Expect the logarithm of one over the probability, in the place of the value; its mean
        is the entropy of the distribution over derivations, in nats.

    Returns
    -------
    Expectation
        Cost: O(edges and tails).

    Examples
    --------
    >>> from decoding.training.risk_graphs import list_graph
    >>> graph, score = list_graph(floats([1.0, 0.0])), floats([2.0, 2.0])
    >>> found = expectation(graph, score)
    >>> found.mean, found.variance, found.gradient.tolist()
    (0.5, 0.25, [0.25, -0.25])
    >>> round(expectation(graph, score, surprise=True).mean, 4)
    0.6931
    """
    total, mean, variance, gradient, count = _native.expectation(
        graph.columns, floats(score), float(scale), float(tilt), surprise
    )
    base = 0.0 if surprise else graph.base
    return Expectation(total + tilt * base, mean + base, variance, floats(gradient), floats(count))
