"""Minimisation of smooth losses with regularisers: all at once, or a few terms at a time."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from decoding.extraction.search import DEFAULT_BUDGET, Search
from decoding.training.hope_fear import HopeFear, find_first_best
from decoding.training.learner import Round, TrainingTask
from decoding.training.margin_updates import Constraint, DocumentLearner, margin
from decoding.training.training_corpus import LearnerCorpus
from fstmetrics.contract import quality
from lattices.arrays import FloatColumn
from lattices.errors import OptionError
from lattices.limits import MEMORY
from lattices.spaces import Forest, Lattice, NBest

#: a loss with its gradient
Loss = Callable[[FloatColumn], tuple[float, FloatColumn]]


class Minimum(NamedTuple):
    """Where a search ended."""

    point: FloatColumn
    #: the loss with its regularisers
    value: float
    #: how often the loss was computed
    evaluations: int


def minimise(
    loss: Loss,
    start: FloatColumn,
    *,
    l2: float = 0.0,
    l1: float = 0.0,
    most_iterations: int = 100,
) -> Minimum:
    """Return the minimum of ``loss(x) + l2 / 2 * |x| ** 2 + l1 * sum(abs(x))``, by L-BFGS.

    With ``l1`` the variables are split, ``x = p - n`` with ``p, n >= 0``, which makes the
    regulariser linear and is exact: zeros come out as zeros. Always the same for the same
    arguments.

    Examples
    --------
    >>> def bowl(x):
    ...     return float(np.square(x - [2.0, 0.1]).sum() / 2.0), x - [2.0, 0.1]
    >>> minimise(bowl, np.zeros(2), l2=1.0).point.round(6).tolist()
    [1.0, 0.05]
    >>> minimise(bowl, np.zeros(2), l1=0.5).point.round(6).tolist()
    [1.5, 0.0]
    """
    from scipy.optimize import minimize

    options = {"maxiter": most_iterations, "maxcor": 10, "ftol": 1e-9, "gtol": 1e-7}

    def regularise(x: FloatColumn) -> tuple[float, FloatColumn]:
        value, gradient = loss(x)
        return value + 0.5 * l2 * float(x @ x), gradient + l2 * x

    if not l1:
        found = minimize(regularise, start, jac=True, method="L-BFGS-B", options=options)
        return Minimum(np.asarray(found.x), float(found.fun), int(found.nfev))

    size = len(start)

    def split(both: FloatColumn) -> tuple[float, FloatColumn]:
        value, gradient = regularise(both[:size] - both[size:])
        return value + l1 * float(both.sum()), np.concatenate((gradient + l1, l1 - gradient))

    found = minimize(
        split,
        np.concatenate((np.maximum(start, 0.0), np.maximum(-start, 0.0))),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * (2 * size),
        options=options,
    )
    return Minimum(np.asarray(found.x[:size] - found.x[size:]), float(found.fun), int(found.nfev))


class Descent:
    """Steps against gradients, with a rate for each variable if AdaGrad.

    SGD goes ``rate / sqrt(step number)`` times the gradient, AdaGrad ``rate`` over the root of
    the sum of all squared gradients of the variable so far (Duchi et al. 2011). The regularisers
    follow each step as its proximal operator, so that ``l1`` gives zeros.

    Examples
    --------
    >>> descent = Descent("adagrad", 1.0, 0.0, 0.0, {})
    >>> descent.step(np.zeros(2), np.array([4.0, 0.0])).tolist()
    [-1.0, 0.0]
    """

    def __init__(
        self, method: str, rate: float, l2: float, l1: float, state: dict[str, Any]
    ) -> None:
        if method not in ("adagrad", "sgd"):
            raise OptionError(f"a method of descent is adagrad or sgd, not {method!r}")
        self._method, self._rate, self._l2, self._l1 = method, rate, l2, l1
        self._steps: int = state.get("steps", 0)
        squares = state.get("squares")
        self._squares = None if squares is None else np.array(squares, dtype=np.float64)

    @property
    def state(self) -> dict[str, Any]:
        """All that a later step depends on, as JSON."""
        squares = None if self._squares is None else self._squares.tolist()
        return {"steps": self._steps, "squares": squares}

    def step(self, point: FloatColumn, gradient: FloatColumn) -> FloatColumn:
        """Return where a step leads."""
        self._steps += 1
        if self._method == "sgd":
            rates = np.full(len(point), self._rate / np.sqrt(self._steps))
        else:
            before = np.zeros(len(point)) if self._squares is None else self._squares
            self._squares = before + np.square(gradient)
            roots = np.sqrt(self._squares)
            # a variable that was never pulled at is regularised at the full rate
            rates = self._rate / np.where(roots > 0.0, roots, 1.0)
        moved = point - rates * gradient
        moved = np.sign(moved) * np.maximum(0.0, np.abs(moved) - rates * self._l1)
        return np.asarray(moved / (1.0 + rates * self._l2))


class Constraints(NamedTuple):
    """The constraints of one segment, and whether its sentences are proven to be the right ones."""

    constraints: list[Constraint]
    exact: bool


def highest_entries(nbest: NBest, values: FloatColumn, count: int) -> list[int]:
    """Return the entries of the highest values, ties as of :func:`~.hope_fear.first_best`."""
    left = values.copy()
    found: list[int] = []
    while len(found) < min(count, len(nbest)):
        found.append(find_first_best(nbest, left))
        left[found[-1]] = -np.inf
    return found


def _find_constraints(
    corpus: LearnerCorpus, places: Sequence[int], learner: OnlineLearner, weights: FloatColumn
) -> list[Constraints]:
    return learner.find_constraints(corpus, places, weights)


@dataclass(kw_only=True, eq=False)
class OnlineLearner(DocumentLearner):
    """A learner whose weights move after every segment.

    A round is an epoch: all segments in an order drawn anew. Its score is the metric of the
    corpus, under the average of the weights if ``averaged``. Its details have the number of moves,
    the mean hinge loss, the share of segments whose sentences are proven (``exact``), and the
    metric by which sentences were searched and scored (``judge``).

    Parameters
    ----------
    epochs : int
    batch : int
        How many segments are searched under the same weights, together, before the weights
        move for each of them. Larger ones keep several workers busy, but the moves are made
        by what was wanted under older weights.
    workers : int
        Threads that search a batch. The weights do not depend on it.
    averaged : bool
        Whether the weights after the fit are the average over updates (Freund & Schapire 1999;
        Collins 2002), not those after the last.
    settling : float
        The share of the epochs that comes before averaging begins, from 0 to below 1. An average
        over all updates keeps a part of the start however long it is; the average over the last
        part of a run of gradient steps, its suffix, forgets it and is as steady (Rakhlin, Shamir
        & Sridharan 2012). 0 is the average of Collins (2002).
    scale : float
        Of the metric against the model score, in hope and fear.
    budget : int
        How many prefixes the search for fear may keep; under BLEU, labels of each search.
    memory : int
        How many bytes each search may take.
    document
        As of :class:`decoding.training.margin_updates.DocumentLearner`.
    judge, scaled
        As of :class:`decoding.training.training_corpus.CorpusLearner`. A feature of deviation
        ``s`` moves by ``1 / s ** 2`` of what it would.
    start, seed
        As of :class:`decoding.training.learner.Learner`.

    References
    ----------
    Rakhlin, Shamir and Sridharan. Making gradient descent optimal for strongly convex stochastic
    optimization. ICML 2012.
    """

    in_shards: ClassVar[bool] = True
    epochs: int = 10
    batch: int = 1
    workers: int = 1
    averaged: bool = True
    settling: float = 0.5
    scale: float = 1.0
    budget: int = DEFAULT_BUDGET
    memory: int = MEMORY

    def __post_init__(self) -> None:
        """Refuse options that mean nothing."""
        super().__post_init__()
        self.check_options(
            ("epochs", "batch", "workers", "budget", "memory"), above_zero=("scale",)
        )
        if not 0.0 <= self.settling < 1.0:
            raise OptionError(f"settling is from 0 to below 1, not {self.settling}")

    @property
    def search(self) -> Search:
        """How hope and fear are searched for."""
        return Search(budget=self.budget, memory=self.memory, workers=self.workers)

    def find_constraints(
        self, corpus: LearnerCorpus, places: Sequence[int], weights: FloatColumn
    ) -> list[Constraints]:
        """Return the constraints of some segments under the weights."""
        found: dict[int, Constraints] = {}
        graphs: dict[int, Lattice | Forest] = {}
        for place in places:
            space = corpus.reweight(place, weights)
            if isinstance(space, NBest):
                found[place] = self.search_list(space, corpus.qualities(place))
            else:
                graphs[place] = space
        if graphs:
            found.update(self.search_graphs(corpus, graphs))
        return [found[place] for place in places]

    @abstractmethod
    def search_list(self, nbest: NBest, objective: FloatColumn) -> Constraints:
        """Return the constraints of a list, whose entries the metric values so."""

    @abstractmethod
    def search_graphs(
        self, corpus: LearnerCorpus, graphs: dict[int, Lattice | Forest]
    ) -> dict[int, Constraints]:
        """Return the constraints of lattices or forests, by their places."""

    @abstractmethod
    def constraints_of(self, pair: HopeFear, higher_is_better: bool = True) -> list[Constraint]:
        """Return the constraints that the sentences of a segment give."""

    def average(self) -> dict[str, float]:
        """Return the mean of the weights after each update since averaging began, or a fit.

        After a fit, that of all updates since averaging began: if ``averaged``, what the fit
        itself would end with after the last round, and so the same as :attr:`weights` unless an
        earlier round was better.
        """
        if self.state.get("updates", 0):
            return super().average()
        return dict(self.state.get("average", self.weights))

    def result(self) -> dict[str, float]:
        """Return the average so far, or the weights."""
        return self.average() if self.averaged else dict(self.weights)

    def finish(self, chosen: Round) -> None:
        """End with the weights of the best round; updates by hand are averaged from there."""
        self.state.update({"average": self.average(), "updates": 0, "drift": {}})
        super().finish(chosen)

    def begin(self, task: TrainingTask) -> float:
        """Begin with the present weights."""
        corpus = self.ready(task)
        self.weights = self.initial_weights(corpus.names)
        self.state = {"epoch": 0, "updates": 0, "drift": {}, "squares": self.square_units()}
        self.open_document(corpus, corpus.vector(self.weights))
        if corpus.document is not None:
            self.state["document"] = corpus.document.statistics.tolist()
        return corpus.score(corpus.vector(self.weights))

    def round(self, task: TrainingTask) -> tuple[float, dict[str, Any]]:
        """Go over all segments once."""
        corpus = self.ready(task)
        if self.state["epoch"] == math.floor(self.settling * self.epochs):
            self.state.update({"updates": 0, "drift": {}})
        order = self.random.permutation(len(task.spaces)).tolist()
        vector = corpus.vector(self.weights)
        moves, exact, hinge = 0, 0, 0.0
        decay = self.decay(corpus)
        if decay:
            corpus.judge_within(self.state["document"], decay / (1.0 - decay))
        for begin in range(0, len(order), self.batch):
            places = order[begin : begin + self.batch]
            found = corpus.spread(_find_constraints, places, type(self)(**self.options()), vector)
            if corpus.document is not None:
                for row in corpus.score_best(places, vector):
                    corpus.document = corpus.document.moved(row, decay)
            for wanted in found:
                exact += wanted.exact
                hinge += max(
                    (each.loss - margin(self.weights, each.difference))
                    for each in (*wanted.constraints, Constraint({}, 0.0))
                )
                moved = self.update(wanted.constraints)
                moves += bool(moved)
                for name in moved:
                    vector[corpus.number[name]] = self.weights[name]
        self.state["epoch"] += 1
        if corpus.document is not None:
            self.state["document"] = corpus.document.statistics.tolist()
        details = {
            "moves": moves, "loss": hinge / len(order), "exact": exact / len(order),
            "judge": str(corpus.metric),
        }  # fmt: skip
        self.finished = self.state["epoch"] == self.epochs
        return corpus.score(corpus.vector(self.result())), details

    def gain(self, corpus: LearnerCorpus, better: float, worse: float) -> float:
        """Return how much better one score of the judge is than another."""
        return quality(corpus.metric, better) - quality(corpus.metric, worse)
