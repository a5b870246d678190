"""Updates of weights by pairs of sentences, with averaging."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, cast

import numpy as np

from decoding.training.hope_fear import HopeFear
from decoding.training.training_corpus import CorpusLearner, LearnerCorpus
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError
from lattices.spaces import Hypothesis


class Constraint(NamedTuple):
    """What the weights should come to: a sentence scores higher than its rival by the loss."""

    #: the features of the sentence minus those of its rival
    difference: Mapping[str, float]
    #: how much better the sentence is by the metric; 0 or less where there is nothing to want
    loss: float


def constraint(
    better: Hypothesis, rival: Hypothesis, loss: float, *, least: float = 1e-12
) -> Constraint:
    """Return the constraint that one sentence should beat another.

    Differences that are rounding are none: below ``least`` of what was subtracted.
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


@dataclass(kw_only=True, eq=False)
class PairLearner(CorpusLearner):
    """A learner that can be given single pairs of sentences.

    ``update(pair)`` moves the weights for one segment. A learner has :meth:`step`, what to add to
    them for some constraints. Features have the units of the last fit; before any, 1.
    """

    @abstractmethod
    def step(self, constraints: Sequence[Constraint]) -> dict[str, float]:
        """Return what to add to the weights."""

    def constraints_of(self, pair: HopeFear, higher_is_better: bool = True) -> list[Constraint]:
        """Return that hope should beat fear, and the model's best if it is another sentence."""
        sign = 1.0 if higher_is_better else -1.0
        rivals = [pair.fear]
        if pair.best.hypothesis.tokens != pair.fear.hypothesis.tokens:
            rivals.append(pair.best)
        return [
            constraint(
                pair.hope.hypothesis, rival.hypothesis, sign * (pair.hope.score - rival.score)
            )
            for rival in rivals
        ]

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
            Several constraints are of one better sentence and its rivals.
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
        """Return the mean of the weights after each update by hand, or else after each round."""
        updates = self.state.get("updates", 0)
        if not updates:
            return super().average()
        # a change made at the i-th of n updates is missing from i - 1 of the n weights
        drift = self.state["drift"]
        return {
            name: value - drift.get(name, 0.0) / updates for name, value in self.weights.items()
        }

    def inverse(self, name: str) -> float:
        """Return how far the weight of a feature goes: one over its squared unit."""
        square = self.state.get("squares", {}).get(name, 1.0)
        return 1.0 / square if square else 0.0

    def square_units(self) -> dict[str, float]:
        """Return the squared unit of each feature of the present task, for the state of a fit."""
        corpus = cast(LearnerCorpus, self._corpus)
        units = self.measure(corpus).tolist()
        return {name: unit * unit for name, unit in zip(corpus.names, units, strict=True)}

    def pull(
        self, constraints: Sequence[Constraint], pulls: FloatColumn, rate: float
    ) -> dict[str, float]:
        """Return the gradient step: the differences, weighted by the derivative of the loss."""
        moved: dict[str, float] = {}
        for each, pull in zip(constraints, pulls.tolist(), strict=True):
            if pull:
                for name, value in each.difference.items():
                    change = rate * self.inverse(name) * pull * value
                    moved[name] = moved.get(name, 0.0) + change
        return moved

    def margins(self, constraints: Sequence[Constraint]) -> tuple[FloatColumn, FloatColumn]:
        """Return the margin of each constraint under the present weights, and its loss."""
        return (
            floats([margin(self.weights, each.difference) for each in constraints]),
            floats([each.loss for each in constraints]),
        )


@dataclass(kw_only=True, eq=False)
class DocumentLearner(PairLearner):
    """A learner that can judge sentences within a document of what the model says.

    For learners that follow the model a little at a time. One that went all the way for a document
    as it stands would swing: where that is long enough short sentences cost nothing, and where it
    is short long ones are wanted.

    Parameters
    ----------
    document : float, optional
        Where the judge is BLEU: above 0, sentences are judged within a document of what the model
        says (:class:`fstmetrics.DocumentBLEU`), of ``document / (1 - document)`` segments; 9 for
        0.9, the decay of Chiang et al. (2008). Lattices and forests are then searched by its
        linear form. It begins with the mean over all segments under the first weights. Learners
        that move after every segment then add what the model says of that segment to it, and
        multiply all by ``document``; PRO takes the mean anew at the beginning of every round.
        0 judges every sentence by itself. By default that is so, but for PRO, which has 0.9
        wherever the metric is BLEU and no ``judge`` is given.
    """

    #: what ``document`` is for BLEU if it is not given
    own_document: ClassVar[float] = 0.0
    document: float | None = None

    def __post_init__(self) -> None:
        """Refuse options that mean nothing."""
        super().__post_init__()
        if self.document is not None and not 0.0 <= self.document < 1.0:
            raise OptionError(f"document is from 0 to below 1, not {self.document}")

    def decay(self, corpus: LearnerCorpus) -> float:
        """Return what is left of a document after a segment; 0 if there is none."""
        if self.document is not None:
            return self.document
        return self.own_document if self.judge is None and corpus.has_documents else 0.0

    def open_document(self, corpus: LearnerCorpus, weights: FloatColumn) -> None:
        """Judge sentences within what the model says under the weights, if that is asked for."""
        decay = self.decay(corpus)
        if decay:
            size = decay / (1.0 - decay)
            rows = corpus.score_best(range(len(corpus.spaces)), weights)
            corpus.judge_within(size * rows.mean(axis=0), size)


def logistic_pulls(margins: FloatColumn, losses: FloatColumn) -> FloatColumn:
    """Return how hard PRO pulls at pairs: minus the slope of ``log(1 + exp(-margin))``.

    A pair whose loss is 0 or less has no better sentence, and is not pulled at.

    Examples
    --------
    >>> logistic_pulls(floats([0.0, 0.0]), floats([0.1, 0.0])).tolist()
    [0.5, 0.0]
    """
    return floats(np.where(losses > 0.0, np.exp(-np.logaddexp(0.0, margins)), 0.0))


def softmax_margin_pulls(margins: FloatColumn, losses: FloatColumn, scale: float) -> FloatColumn:
    """Return minus the slopes of ``log(1 + sum of exp(scale * loss - margin))`` in the margins.

    That is the loss of softmax-margin if the sentence and its rivals are all there is.

    Examples
    --------
    >>> softmax_margin_pulls(floats([0.0]), floats([0.0]), 1.0).tolist()
    [0.5]
    """
    inner = np.append(scale * losses - margins, 0.0)
    return floats(np.exp(inner - np.logaddexp.reduce(inner))[:-1])


def risk_pulls(margins: FloatColumn, losses: FloatColumn, temperature: float) -> FloatColumn:
    """Return minus the slopes of the expected loss in the margins.

    The sentence, without loss, and its rivals are all there is: rival ``e`` has the probability
    ``p_e`` in proportion to ``exp(-margin_e / temperature)``, and the slope is
    ``p_e * (expected - loss_e) / temperature``.

    Examples
    --------
    >>> risk_pulls(floats([0.0]), floats([1.0]), 1.0).tolist()
    [0.25]
    """
    inner = np.append(-margins / temperature, 0.0)
    chance = np.exp(inner - np.logaddexp.reduce(inner))[:-1]
    return floats(chance * (losses - chance @ losses) / temperature)
