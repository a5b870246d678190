"""The expected metric of a random sentence of a model, with its gradient: what risk is made of.

A model says path ``d`` of a space with probability ``p(d)``, in proportion to
``exp(score / temperature)``. The metric of what it says is expected to be

    E = sum over d of p(d) * metric(words of d)

Unlike the metric of the best path, that is smooth in the weights, and can be trained by its
gradient (Smith and Eisner 2006). Several paths may have the same words; each is counted.

Lists are enumerated. On lattices and forests the sum is over all paths, through rows, as long as
the product is within a budget; beyond that it is over the ``k`` best paths or over random ones,
and the result says so. Entropy is always that of all paths, since it does not need the metric.

Expectations and gradients over a graph take one pass up and one down. A derivation ``d`` of score
``s(d)``, the sum over its edges, and value ``v(d)`` has the probability

    p(d) = exp(scale * s(d) + tilt * v(d)) / Z

and the gradient is the covariance of the value with the use of each edge,

    d E[v] / d s_e = scale * (E[v n_e] - E[v] E[n_e])

with ``n_e`` for how often the edge is used. decoding/native/expectation.hpp has the recurrence.

References
----------
D. A. Smith and J. Eisner. Minimum risk annealing for training log-linear models. ACL 2006.

Z. Li and J. Eisner. First- and second-order expectation semirings with applications to
minimum-risk training on translation forests. EMNLP 2009.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from decoding import _native
from decoding.training.risk.graphs import DerivationGraph
from decoding.training.risk.problem import Estimation, EstimationOptions, RiskProblem
from decoding.training.risk.sentence_lists import DerivationList, list_expectation
from fstmetrics import Evaluator
from fstmetrics.contract import EVALUATOR, EVALUATORS
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError
from lattices.spaces import Lattice, Space
from lattices.spaces.arguments import SPACE, SPACES, takes
from lattices.spaces.features import Weights

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True, eq=False)
class Expectation:
    """What is known of a random derivation."""

    #: the logarithm of Z
    log_total: float
    #: of the value
    mean: float
    variance: float
    #: the derivative of the mean by the score there
    gradient: FloatColumn
    #: how often the score is used, on average; times the scale, the derivative of :attr:`log_total`
    count: FloatColumn


def expectation(
    graph: DerivationGraph,
    score: FloatColumn,
    *,
    scale: float = 1.0,
    tilt: float = 0.0,
    surprise: bool = False,
) -> Expectation:
    """Return what to expect of the value of a random derivation."""
    total, mean, variance, gradient, count = _native.expectation(
        graph.columns, floats(score), float(scale), float(tilt), surprise
    )
    base = 0.0 if surprise else graph.base
    return Expectation(total + tilt * base, mean + base, variance, floats(gradient), floats(count))


Estimator = Literal["rows", "list", "k-best", "samples"]


@dataclass(frozen=True, eq=False)
class RiskEstimate:
    """What to expect of a model on one segment."""

    #: the expected metric, in the metric's own direction: of an error rate less is better
    expected: float
    #: of the metric of a random sentence
    variance: float
    #: of the distribution over all paths, derivations or entries, in nats; always exact
    entropy: float
    #: the derivative of ``expected`` by the score of each arc of a lattice, edge of a forest or
    #: entry of a list
    arc_gradient: FloatColumn
    #: by the score of ending in each state of a lattice; empty for other spaces
    final_gradient: FloatColumn
    #: by the weights, in the order of the space's ``feature_names``
    gradient: FloatColumn
    #: the derivative of ``entropy`` by the weights
    entropy_gradient: FloatColumn
    #: whether ``expected`` is over all of the space
    exact: bool
    #: what it is over
    estimator: Estimator
    #: of ``expected``: 0 if it is exact, what chance leaves open if paths were drawn, and NaN for
    #: the k best, whose error is not known
    standard_error: float
    #: the probability of the paths that were looked at, each counted once
    coverage: float
    #: the size of the product with rows; 0 if there was none
    pairs: int


@takes(space=SPACE, evaluator=EVALUATOR)
def risk(
    space: Space,
    evaluator: Evaluator,
    weights: Weights | None = None,
    **options: Unpack[EstimationOptions],
) -> RiskEstimate:
    """Return the expected metric of a random sentence of a space, and its gradient.

    Cost: for a lattice its product with rows (typically some thousand pairs for some hundred
    arcs, a few milliseconds), then a pass up and one down; for a list, one pass of the scorer.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", 0.0, {"lm": 1.0}), (0, 1, "b"), (1, 2, "c")], finals=[2]
    ... )
    >>> found = risk(lattice, WER().against(["a c"]), {"lm": 0.0})
    >>> found.expected, found.variance, round(found.entropy, 4), found.exact
    (0.25, 0.0625, 0.6931, True)
    >>> found.gradient.tolist(), found.arc_gradient.tolist(), found.estimator
    ([-0.125], [-0.125, 0.125, 0.0], 'rows')
    """
    return risks([space], [evaluator], weights, **options)[0]


@takes(spaces=SPACES, evaluators=EVALUATORS)
def risks(
    spaces: Sequence[Space],
    evaluators: Sequence[Evaluator],
    weights: Weights | None = None,
    *,
    workers: int = 1,
    **options: Unpack[EstimationOptions],
) -> list[RiskEstimate]:
    """Return :func:`risk` of each space of a batch, in ``workers`` threads.

    Random numbers depend on the seed and the place in the batch alone.

    Examples
    --------
    >>> from collections import Counter
    >>> from fstmetrics import BLEU, WER
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -0.5)], finals=[1])
    >>> found = risks([lattice] * 2, [WER().against(["a"]), BLEU().against(["a"])])
    >>> Counter(each.estimator for each in found)
    Counter({'rows': 1, 'k-best': 1})
    """
    if len(spaces) != len(evaluators):
        raise OptionError(f"{len(spaces)} spaces, but {len(evaluators)} evaluators")
    if workers < 1:
        raise OptionError(f"at least 1 worker, not {workers}")
    how = Estimation(**options)

    def one(place: int) -> RiskEstimate:
        problem = RiskProblem(spaces[place], evaluators[place], budget=how.budget)
        score = problem.scores(weights)
        some = problem.list_substitutes(score, how, (how.seed, place))
        return estimate(problem, score, how.temperature, some)

    places = range(len(spaces))
    if workers == 1:
        return [one(place) for place in places]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(one, places))


def estimate(
    problem: RiskProblem,
    score: FloatColumn,
    temperature: float = 1.0,
    some: DerivationList | None = None,
) -> RiskEstimate:
    """Return the risk of a space that is ready, under the scores in its slots."""
    scale = problem.scale(score, temperature)
    whole = expectation(problem.plain, score, scale=scale, surprise=True)
    estimator: Estimator
    if some is not None:
        listed = list_expectation(some, score, scale=scale)
        mean, variance, gradient = listed.mean, listed.variance, listed.gradient
        error, exact, pairs = listed.error, some.complete, 0
        estimator = "k-best" if some.times is None else "samples"
        coverage = 1.0 if exact else min(1.0, float(np.exp(listed.log_mass - whole.log_total)))
    else:
        graph = problem.exact_graph()
        found = expectation(graph, score, scale=scale)
        mean, variance, gradient = found.mean, found.variance, found.gradient
        error, exact, coverage = 0.0, True, 1.0
        estimator = "list" if problem.is_list else "rows"
        pairs = 0 if problem.is_list else graph.num_nodes
    arcs = problem.space.num_arcs if isinstance(problem.space, Lattice) else problem.slots
    return RiskEstimate(
        expected=mean,
        variance=variance,
        entropy=whole.mean,
        arc_gradient=floats(gradient[:arcs]),
        final_gradient=floats(gradient[arcs:]),
        gradient=problem.to_feature_gradient(gradient),
        entropy_gradient=problem.to_feature_gradient(whole.gradient),
        exact=exact,
        estimator=estimator,
        standard_error=error,
        coverage=coverage,
        pairs=pairs,
    )
