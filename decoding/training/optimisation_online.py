"""What learners share that go from segment to segment: epochs, constraints and averages."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from decoding.oracle import DEFAULT_BUDGET
from decoding.training.feature_index import LearnerCorpus
from decoding.training.hope_fear import HopeFear, first_best
from decoding.training.learner_task import TrainingTask
from decoding.training.pair_updates import Constraint, PairLearner, constraint, margin
from fstmetrics import quality
from lattices.arrays import FloatColumn
from lattices.errors import OptionError
from lattices.spaces import NBest

__all__ = ["Constraint", "OnlineLearner", "Wanted", "constraint", "highest_entries", "margin"]


class Wanted(NamedTuple):
    """The constraints of one segment, and whether its sentences are proven to be the right ones."""

    constraints: list[Constraint]
    exact: bool


def highest_entries(nbest: NBest, values: FloatColumn, count: int) -> list[int]:
    """Return the entries of the highest values, ties as of :func:`~.hope_fear.first_best`.

    Examples
    --------
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses([Hypothesis((word,), 0.0) for word in "bac"])
    >>> highest_entries(nbest, np.array([1.0, 1.0, 0.0]), 2)
    [0, 1]
    """
    left = values.copy()
    found: list[int] = []
    while len(found) < min(count, len(nbest)):
        found.append(first_best(nbest, left))
        left[found[-1]] = -np.inf
    return found


@dataclass(kw_only=True, eq=False)
class OnlineLearner(PairLearner):
    """A learner whose weights move after every segment.

    A round is an epoch: all segments in an order drawn anew. Its score is the metric of the
    corpus, under the average of the weights if ``averaged``.

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
        How many prefixes the search for fear may keep.
    judge, scaled
        As of :class:`decoding.training.feature_index.CorpusLearner`. A feature of deviation
        ``s`` moves by ``1 / s ** 2`` of what it would.
    start, seed
        As of :class:`decoding.training.learner.Learner`.

    References
    ----------
    Rakhlin, Shamir and Sridharan. Making gradient descent optimal for strongly convex stochastic
    optimization. ICML 2012.
    """

    epochs: int = 10
    batch: int = 1
    workers: int = 1
    averaged: bool = True
    settling: float = 0.5
    scale: float = 1.0
    budget: int = DEFAULT_BUDGET

    def __post_init__(self) -> None:
        """Refuse options that mean nothing."""
        super().__post_init__()
        for name in ("epochs", "batch", "workers", "budget"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name} is at least 1, not {getattr(self, name)}")
        if not 0.0 < self.scale < np.inf:
            raise OptionError(f"scale is finite and greater than 0, not {self.scale}")
        if not 0.0 <= self.settling < 1.0:
            raise OptionError(f"settling is from 0 to below 1, not {self.settling}")

    @abstractmethod
    def wanted(
        self, corpus: LearnerCorpus, places: Sequence[int], weights: FloatColumn
    ) -> list[Wanted]:
        """Return the constraints of some segments under the weights."""

    @abstractmethod
    def constraints_of(self, pair: HopeFear, higher_is_better: bool = True) -> list[Constraint]:
        """Return the constraints that the sentences of a segment give."""

    def average(self) -> dict[str, float]:
        """Return the mean of the weights after each update since averaging began, or the fit."""
        return super().average() if self.state.get("updates", 0) else dict(self.weights)

    def begin(self, task: TrainingTask) -> None:
        """Begin with the present weights."""
        corpus = self.ready(task)
        self.weights = self.initial_weights(corpus.names)
        self.state = {"epoch": 0, "updates": 0, "drift": {}, "squares": self.squares()}

    def round(self, task: TrainingTask) -> tuple[float, dict[str, Any]]:
        """Go over all segments once."""
        corpus = self.ready(task)
        if self.state["epoch"] == math.floor(self.settling * self.epochs):
            self.state.update({"updates": 0, "drift": {}})
        order = self.random.permutation(len(task.spaces)).tolist()
        vector = corpus.vector(self.weights)
        moves, exact, hinge = 0, 0, 0.0
        for begin in range(0, len(order), self.batch):
            for wanted in self.wanted(corpus, order[begin : begin + self.batch], vector):
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
        weights = self.average() if self.averaged else dict(self.weights)
        details = {
            "moves": moves, "loss": hinge / len(order), "exact": exact / len(order),
        }  # fmt: skip
        if self.state["epoch"] == self.epochs:
            self.finished = True
            self.weights = weights
            if self.averaged:
                self.state.update({"updates": 0, "drift": {}})
        return corpus.score(corpus.vector(weights)), details

    def gain(self, corpus: LearnerCorpus, better: float, worse: float) -> float:
        """Return how much better one score of the judge is than another."""
        return quality(corpus.metric, better) - quality(corpus.metric, worse)
