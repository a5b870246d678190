"""What learners share that go from segment to segment: epochs, constraints and averages."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from decoding.oracle import DEFAULT_BUDGET
from decoding.training.feature_index import CorpusLearner, LearnerCorpus
from decoding.training.hope_fear import HopeFear, first_best
from decoding.training.learner_task import TrainingTask
from fstmetrics import quality
from lattices.arrays import FloatColumn
from lattices.errors import OptionError
from lattices.spaces import Hypothesis, NBest


class Constraint(NamedTuple):
    """What the weights should come to: a sentence scores higher than its rival by the loss.

    Attributes
    ----------
    difference : mapping of str to float
        The features of the sentence minus those of its rival.
    loss : float
        How much better the sentence is by the metric; 0 or less where there is nothing to want.
    """

    difference: Mapping[str, float]
    loss: float


class Wanted(NamedTuple):
    """The constraints of one segment, and whether its sentences are proven to be the right ones."""

    constraints: list[Constraint]
    exact: bool


def constraint(
    better: Hypothesis, rival: Hypothesis, loss: float, *, least: float = 1e-12
) -> Constraint:
    """Return the constraint that one sentence should beat another.

    Differences that are rounding are none: below ``least`` of what was subtracted.

    Examples
    --------
    >>> one, other = (Hypothesis((), 0.0, {"lm": value, "wp": 1.0}) for value in (2.0, 1.5))
    >>> constraint(one, other, 0.1)
    Constraint(difference={'lm': 0.5}, loss=0.1)
    """
    ours, theirs = better.features, rival.features
    difference = {}
    for name in dict.fromkeys((*ours, *theirs)):
        one, other = ours.get(name, 0.0), theirs.get(name, 0.0)
        if abs(one - other) > least * max(abs(one), abs(other)):
            difference[name] = one - other
    return Constraint(difference, loss)


def margin(weights: Mapping[str, float], difference: Mapping[str, float]) -> float:
    """Return by how much a sentence beats its rival under the weights."""
    return sum(weights.get(name, 0.0) * value for name, value in difference.items())


def highest_entries(nbest: NBest, values: FloatColumn, count: int) -> list[int]:
    """Return the entries of the highest values, ties as of :func:`~.hope_fear.first_best`.

    Examples
    --------
    >>> nbest = NBest.from_hypotheses([Hypothesis((word,), 0.0) for word in "bac"])
    >>> highest_entries(nbest, np.array([1.0, 1.0, 0.0]), 2)
    [1, 0]
    """
    left = values.copy()
    found: list[int] = []
    while len(found) < min(count, len(nbest)):
        found.append(first_best(nbest, left))
        left[found[-1]] = -np.inf
    return found


@dataclass(kw_only=True, eq=False)
class OnlineLearner(CorpusLearner):
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
        Whether the weights after the fit are the average over all updates (Freund & Schapire
        1999; Collins 2002), not those after the last.
    scale : float
        Of the metric against the model score, in hope and fear.
    budget : int
        How many prefixes the search for fear may keep.
    judge, scaled
        As of :class:`decoding.training.feature_index.CorpusLearner`. A feature of deviation
        ``s`` moves by ``1 / s ** 2`` of what it would.
    start, seed
        As of :class:`decoding.training.learner.Learner`.
    """

    epochs: int = 10
    batch: int = 1
    workers: int = 1
    averaged: bool = True
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

    @abstractmethod
    def wanted(
        self, corpus: LearnerCorpus, places: Sequence[int], weights: FloatColumn
    ) -> list[Wanted]:
        """Return the constraints of some segments under the weights."""

    @abstractmethod
    def constraints_of(self, pair: HopeFear, higher_is_better: bool = True) -> list[Constraint]:
        """Return the constraints that the sentences of a segment give."""

    @abstractmethod
    def step(self, constraints: Sequence[Constraint]) -> dict[str, float]:
        """Return what to add to the weights."""

    def update(
        self,
        pair: HopeFear | Constraint | Sequence[Constraint],
        *,
        higher_is_better: bool = True,
    ) -> dict[str, float]:
        """Move the weights for one segment; return what was added to them.

        Parameters
        ----------
        pair : HopeFear, Constraint or sequence of Constraint
        higher_is_better : bool
            Of the metric that the scores of a ``HopeFear`` are of.
        """
        if isinstance(pair, HopeFear):
            constraints = self.constraints_of(pair, higher_is_better)
        else:
            constraints = [pair] if isinstance(pair, Constraint) else list(pair)
        moved = self.step([each for each in constraints if each.difference])
        behind, drift = self.state.get("updates", 0), self.state.setdefault("drift", {})
        for name, change in moved.items():
            self.weights[name] = self.weights.get(name, 0.0) + change
            drift[name] = drift.get(name, 0.0) + behind * change
        self.state["updates"] = behind + 1
        return moved

    def average(self) -> dict[str, float]:
        """Return the mean of the weights after each update of the present fit, or since."""
        updates = self.state.get("updates", 0)
        if not updates:
            return dict(self.weights)
        # a change made at the i-th of n updates is missing from i - 1 of the n weights
        drift = self.state["drift"]
        return {
            name: value - drift.get(name, 0.0) / updates for name, value in self.weights.items()
        }

    def begin(self, task: TrainingTask) -> None:
        """Begin with the present weights."""
        corpus = self.ready(task)
        self.weights = self.initial_weights(corpus.names)
        units = self.measure(corpus).tolist()
        squares = {name: unit * unit for name, unit in zip(corpus.names, units, strict=True)}
        self.state = {"epoch": 0, "updates": 0, "drift": {}, "squares": squares}

    def round(self, task: TrainingTask) -> tuple[float, dict[str, Any]]:
        """Go over all segments once."""
        corpus = self.ready(task)
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

    def inverse(self, name: str) -> float:
        """Return how far the weight of a feature goes: one over its squared unit."""
        square = self.state.get("squares", {}).get(name, 1.0)
        return 1.0 / square if square else 0.0

    def gain(self, corpus: LearnerCorpus, better: float, worse: float) -> float:
        """Return how much better one score of the judge is than another."""
        return quality(corpus.metric, better) - quality(corpus.metric, worse)
