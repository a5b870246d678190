"""Expectations over all derivations of a graph, and their gradients, in one pass up and one down.

A derivation ``d`` of score ``s(d)``, the sum over its edges, and value ``v(d)`` has the probability

    p(d) = exp(scale * s(d) + tilt * v(d)) / Z

Going up, every node has the logarithm of its sum over derivations, and the mean and variance of
the value of a random derivation of its own. Tails are independent given the edge, so that these
follow from those below, and the variance, by the law of total variance, without a difference of
large numbers. Going down, the derivative of the root's mean is handed from nodes to edges to tails:
the gradient is the covariance of the value with the use of each edge,

    d E[v] / d s_e = scale * (E[v n_e] - E[v] E[n_e])

with ``n_e`` for how often the edge is used. This is what the second-order expectation semiring
computes (Li and Eisner 2009), as reverse-mode differentiation of the first-order one. All sums
are over probabilities given the head, so scores of any size neither overflow nor lose digits.

References
----------
Z. Li and J. Eisner. First- and second-order expectation semirings with applications to
minimum-risk training on translation forests. EMNLP 2009.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from decoding.training.risk_graphs import DerivationGraph
from lattices.arrays import FloatColumn, floats, kernel


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


@kernel
def _expected(in_offset, tail, tail_offset, slot, gain, root, score, scale, tilt, surprise):  # type: ignore[no-untyped-def]
    """Return the logarithm of the sum, mean, variance, and gradient and count of every slot.

    With ``surprise`` the value of an edge is minus the logarithm of its probability given its
    head, whose mean over derivations is the entropy. That value depends on the scores itself;
    but the mean of its derivative is 0 at every node, so the gradient is right nevertheless.
    """
    nodes, edges = len(in_offset) - 1, len(slot)
    inside = np.empty(nodes)
    mean, variance = np.zeros(nodes), np.zeros(nodes)
    share, value = np.empty(edges), np.empty(edges)
    for node in range(nodes):
        begin, end = in_offset[node], in_offset[node + 1]
        best = -np.inf
        for edge in range(begin, end):
            weight = scale * score[slot[edge]] + tilt * gain[edge]
            for place in range(tail_offset[edge], tail_offset[edge + 1]):
                weight += inside[tail[place]]
            share[edge] = weight
            best = max(best, weight)
        if best == -np.inf:
            inside[node] = best
            share[begin:end] = 0.0
            value[begin:end] = 0.0
            continue
        total = 0.0
        for edge in range(begin, end):
            total += np.exp(share[edge] - best)
        inside[node] = best + np.log(total)
        average = 0.0
        for edge in range(begin, end):
            known = share[edge] - best - np.log(total) if surprise else 0.0
            share[edge] = np.exp(share[edge] - best) / total
            value[edge] = 0.0
            if share[edge] > 0.0:
                value[edge] = -known if surprise else gain[edge]
                for place in range(tail_offset[edge], tail_offset[edge + 1]):
                    value[edge] += mean[tail[place]]
                average += share[edge] * value[edge]
        mean[node] = average
        spread = 0.0
        for edge in range(begin, end):
            if share[edge] > 0.0:
                term = (value[edge] - average) ** 2
                for place in range(tail_offset[edge], tail_offset[edge + 1]):
                    term += variance[tail[place]]
                spread += share[edge] * term
        variance[node] = spread
    gradient, count = np.zeros(len(score)), np.zeros(len(score))
    used, pull = np.zeros(nodes), np.zeros(nodes)
    used[root] = 1.0
    for node in range(root, -1, -1):
        if used[node] == 0.0:
            continue
        for edge in range(in_offset[node], in_offset[node + 1]):
            if share[edge] == 0.0:
                continue
            times = used[node] * share[edge]
            change = times * (value[edge] - mean[node]) + share[edge] * pull[node]
            count[slot[edge]] += times
            gradient[slot[edge]] += change
            for place in range(tail_offset[edge], tail_offset[edge + 1]):
                used[tail[place]] += times
                pull[tail[place]] += change
    return inside[root], mean[root], variance[root], gradient, count


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
    total, mean, variance, gradient, count = _expected(
        graph.in_offset, graph.tail, graph.tail_offset, graph.slot, graph.gain, graph.root,
        # the slot behind the last is that of edges without a score
        floats(np.append(score, 0.0)), float(scale), float(tilt), surprise,
    )  # fmt: skip
    base = 0.0 if surprise else graph.base
    return Expectation(
        float(total + tilt * base),
        float(mean + base),
        float(variance),
        floats(scale * gradient[: graph.slots]),
        floats(count[: graph.slots]),
    )
