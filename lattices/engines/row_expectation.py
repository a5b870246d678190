"""The expected value of a machine over all paths of a lattice, its variance and its gradient.

Under LOG a machine counts alignments, not sentences; so the lattice is multiplied with rows
first, where a path has one value. On that product the value of a path is a sum over its arcs,
and the mean, the variance and what each arc adds to the mean come from one pass forward and
one backward, in the expectation semiring (Li and Eisner 2009).

With ``p`` for the probability of a path, ``v`` for its value and ``s_a`` for the score of an arc,
the gradient is a covariance:

    d E[v] / d s_a = scale * (E[v; a on the path] - P(a) * E[v])
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lattices.algorithms.inside_outside import inside, outside
from lattices.arrays import Array, FloatColumn, floats, kernel
from lattices.engines.row_product import RowProduct, row_product
from lattices.engines.rows import RowMachine
from lattices.semirings import LOG
from lattices.spaces import Lattice


class RowExpectation(NamedTuple):
    """What is known of the value of a random path.

    Attributes
    ----------
    log_total : float
        The logarithm of the sum of ``exp(scale * score)`` over all paths.
    mean, variance : float
        Of the value, in units of the machine's gains and their square.
    gradient : float64 column, one entry an arc of the lattice
        The derivative of the mean by the arc's score.
    final_gradient : float64 column, one entry a state
        The derivative of the mean by the score of ending there.
    probability : float64 column, one entry an arc of the lattice
        How probable it is to pass the arc: the gradient of ``log_total``, but for the scale.
    pairs : int
        The size of the product.
    """

    log_total: float
    mean: float
    variance: float
    gradient: FloatColumn
    final_gradient: FloatColumn
    probability: FloatColumn
    pairs: int


@kernel
def _moments_behind(src, in_arc, in_offset, taken, gain, opening, moments):  # type: ignore[no-untyped-def]
    """Write the mean of the gain, and of its square, over all ways to each state.

    ``taken`` is the probability that the way to an arc's target came by the arc.
    """
    for state in range(len(moments)):
        begin, end = in_offset[state], in_offset[state + 1]
        if begin == end:
            moments[state, 0], moments[state, 1] = opening, opening * opening
            continue
        one = two = 0.0
        for index in range(begin, end):
            arc = in_arc[index]
            before, added = moments[src[arc]], gain[arc]
            one += taken[arc] * (before[0] + added)
            two += taken[arc] * (before[1] + added * (2.0 * before[0] + added))
        moments[state, 0], moments[state, 1] = one, two


@kernel
def _means_ahead(dst, out_offset, taken, gain, stop, ending, mean):  # type: ignore[no-untyped-def]
    """Write the mean of what is still gained from each state; ``taken`` is given its source."""
    for state in range(len(mean) - 1, -1, -1):
        total = stop[state] * ending[state] if stop[state] > 0.0 else 0.0
        for arc in range(out_offset[state], out_offset[state + 1]):
            if taken[arc] > 0.0:
                total += taken[arc] * (gain[arc] + mean[dst[arc]])
        mean[state] = total


def row_expectation(
    lattice: Lattice, machine: RowMachine, *, scale: float = 1.0, budget: int = 1_000_000
) -> RowExpectation | None:
    """Return the expected value of a sentence, with its variance and its gradient by arc scores.

    Parameters
    ----------
    lattice : Lattice
        A path has probability ``exp(scale * score)`` over the sum of that over all paths.
    machine : RowMachine
    scale : float
    budget : int
        The most pairs of a lattice state and a row.

    Returns
    -------
    RowExpectation or None
        None if there are more pairs. Cost: that of the product, and O(its arcs).

    Raises
    ------
    SpaceError
        If the lattice has no complete path.

    References
    ----------
    Z. Li and J. Eisner, First- and Second-Order Expectation Semirings with Applications to
    Minimum-Risk Training on Translation Forests, EMNLP 2009.

    Examples
    --------
    >>> from lattices.engines import Alignment
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "c"), (1, 2, "b")], finals=[2])
    >>> word, position = lattice.vocabulary.encode(["a", "b"]), np.arange(2)
    >>> right = Alignment(2, 1, 0.0, 0.0, word, position, np.ones(2), 1.0)
    >>> found = row_expectation(lattice, RowMachine(right.automaton, 2))
    >>> found.mean, found.variance, found.gradient.tolist()
    (1.5, 0.25, [0.25, -0.25, 0.0])
    """
    product = row_product(lattice, machine, budget)
    return None if product is None else product_expectation(lattice, product, scale)


def product_expectation(
    lattice: Lattice, product: RowProduct, scale: float = 1.0
) -> RowExpectation:
    """Return the expectations over a product that is there already; its scores are used."""
    graph = product.graph
    forward, backward = inside(graph, LOG, scale), outside(graph, LOG, scale)
    total = float(backward[graph.start])
    weight, last = LOG.weights(graph.score, scale), LOG.weights(graph.final, scale)
    # given the target, given the source, and given nothing
    came = np.exp(forward[graph.src] + weight - forward[graph.dst])
    left = np.exp(weight + backward[graph.dst] - backward[graph.src])
    passed = np.exp(forward[graph.src] + weight + backward[graph.dst] - total)
    stop = np.exp(last - backward)
    ended = np.exp(forward + last - total)
    behind = np.empty((graph.num_states, 2))
    ahead = np.empty(graph.num_states)
    _moments_behind(
        graph.src, graph.in_arc, graph.in_offset, floats(came), product.gain, product.opening,
        behind,
    )  # fmt: skip
    _means_ahead(
        graph.dst, graph.out_offset, floats(left), product.gain, floats(stop),
        product.final_gain, ahead,
    )  # fmt: skip
    ends = np.flatnonzero(ended > 0.0)
    added = product.final_gain[ends]
    whole = behind[ends, 0] + added
    mean = float(ended[ends] @ whole)
    square = behind[ends, 1] + added * (2.0 * behind[ends, 0] + added)
    variance = max(0.0, float(ended[ends] @ square) - mean * mean)
    through = behind[graph.src, 0] + product.gain + ahead[graph.dst]
    arcs, states = lattice.num_arcs, lattice.num_states
    gradient = np.bincount(product.origin, passed * (through - mean), minlength=arcs)
    final_gradient = np.bincount(
        _lattice_states(lattice, product)[ends], ended[ends] * (whole - mean), minlength=states
    )
    probability = np.bincount(product.origin, passed, minlength=arcs)
    return RowExpectation(
        total,
        mean,
        variance,
        floats(scale * gradient),
        floats(scale * final_gradient),
        floats(np.minimum(probability, 1.0)),
        graph.num_states,
    )


def _lattice_states(lattice: Lattice, product: RowProduct) -> Array:
    """Return the lattice state of every pair: where the arcs into it lead, or the start."""
    state = np.full(product.graph.num_states, lattice.start)
    state[product.graph.dst] = lattice.dst[product.origin]
    return state
