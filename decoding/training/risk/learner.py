"""Minimum risk training: weights that minimise the expected loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np

from decoding.training.learner import TrainingTask
from decoding.training.margin_updates import Constraint, PairLearner, risk_pulls
from decoding.training.online import Descent, minimise
from decoding.training.risk.corpus_risk import (
    Kind,
    RiskSettings,
    RiskTerms,
    RiskValue,
    denominators,
    has_denominator,
)
from decoding.training.risk.problem import Beyond, Estimation
from decoding.training.training_corpus import LearnerCorpus
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError

OPTIMISERS = ("lbfgs", "adagrad", "sgd")
WEIGHTINGS = ("auto", "denominator", "segment")


@dataclass(kw_only=True, eq=False)
class Risk(PairLearner):
    """Minimum risk training (Smith & Eisner 2006; Li & Eisner 2009).

    Minimises the expected loss over the corpus,

        mean over segments i of (-E_i - entropy * H_i) + l2 / 2 * |w| ** 2 + l1 * sum(abs(w))

    where ``E_i`` is the expected metric of a random sentence
    (:func:`decoding.training.risk.expected.risk`), turned so that higher is better, and ``H_i``
    the entropy of the paths. Weights are measured by the deviations of their features if
    ``scaled``.

    The loss is smooth but not convex. Its temperature may fall from round to round: at a high one
    all sentences have a say and there are few minima, at a low one the loss is nearly that of
    the best sentences.

    A round is a run of L-BFGS from the present weights, of at most ``iterations``, or one epoch of
    AdaGrad or SGD; each temperature has ``rounds`` of them, fewer if one changes the loss by less
    than ``epsilon`` of itself. L-BFGS forgets its curvature between rounds, so that a checkpoint
    after a round is all that a fit depends on. Segments beyond the budget are represented by their
    ``k`` best paths under the weights at the beginning of a run of L-BFGS, together with those of
    all runs before; AdaGrad and SGD take new ones, or new samples, at every step.

    The score of a round is the metric of the corpus. Its details have the temperature, the loss,
    the expected metric, and the share of segments that were enumerated (``list``), exact by
    ``rows``, represented by their ``k-best`` and by ``samples``; ``exact`` is the share of those
    whose expectation is over all paths.

    Cost of an iteration: O(edges of all products), 20 million of which are kept.

    Parameters
    ----------
    temperatures : sequence of float
    rounds, iterations : int
    epsilon : float
    entropy : float
        How much a nat of entropy is worth, against the metric; negative to sharpen.
    optimiser : {"lbfgs", "adagrad", "sgd"}
    batch : int
        Segments of one step of AdaGrad and SGD.
    rate : float
        Of AdaGrad, whose first step is of that length in every weight, and of SGD, whose steps
        are as small as the gradients of a mean are, and want a higher one; also of
        :meth:`update`.
    l2, l1 : float
    weighting : {"auto", "denominator", "segment"}
        Whether segments count by the denominator of the metric, so that the mean is the WER,
        WRR, CER or GRR of a random corpus (:func:`~.risk_terms.denominators`), or all the same;
        ``auto`` is by the denominator wherever the metric has one.
    budget : int
        Pairs of a state and a row, or of a node and a matrix, of one segment.
    beyond : {"k-best", "sample", "raise"}
        What to do beyond it; samples are for AdaGrad and SGD, since L-BFGS needs a function.
    k, samples : int
    workers : int
        Threads. The weights do not depend on it.
    judge, scaled
        As of :class:`decoding.training.training_corpus.CorpusLearner`.
    start, seed
        As of :class:`decoding.training.learner.Learner`.

    References
    ----------
    Smith and Eisner. Minimum risk annealing for training log-linear models. ACL 2006.

    Li and Eisner. First- and second-order expectation semirings with applications to minimum-risk
    training on translation forests. EMNLP 2009.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis, NBest
    >>> nbest = NBest.from_hypotheses(
    ...     [Hypothesis(("a",), 0.0, {"lm": 1.0}), Hypothesis(("b",), 0.0, {"tm": 1.0})]
    ... )
    >>> learner = Risk(start={"lm": 1.0, "tm": 0.0}).fit([nbest], [["b"]], WER())
    >>> learner.weights["tm"] > learner.weights["lm"], learner.history[-1].score
    (True, 0.0)
    """

    name: ClassVar[str] = "risk"
    in_shards: ClassVar[bool] = True
    temperatures: Sequence[float] = (1.0,)
    rounds: int = 10
    iterations: int = 20
    epsilon: float = 1e-4
    entropy: float = 0.0
    optimiser: str = "lbfgs"
    batch: int = 8
    rate: float = 2.0
    l2: float = 1e-4
    l1: float = 0.0
    weighting: str = "auto"
    budget: int = 100_000
    beyond: Beyond = "k-best"
    k: int = 1000
    samples: int = 1000
    workers: int = 1
    _terms: RiskTerms | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse options that mean nothing."""
        super().__post_init__()
        self.temperatures = [float(each) for each in self.temperatures]
        if not self.temperatures:
            raise OptionError("at least one temperature is needed")
        for temperature in self.temperatures:
            self._estimation(temperature)
        self.check_options(
            ("rounds", "iterations", "batch", "workers"),
            ("epsilon", "l2", "l1"),
            ("rate",),
            optimiser=OPTIMISERS,
            weighting=WEIGHTINGS,
        )
        if not np.isfinite(self.entropy):
            raise OptionError(f"entropy is finite, not {self.entropy}")
        if self.optimiser == "lbfgs" and self.beyond == "sample":
            raise OptionError("samples are for adagrad and sgd; lbfgs needs a function: k-best")

    def _estimation(self, temperature: float) -> Estimation:
        return Estimation(
            temperature=temperature, budget=self.budget, beyond=self.beyond, k=self.k,
            samples=self.samples,
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        """Pickle what a checkpoint has."""
        return {**super().__getstate__(), "_terms": None}

    def ready(self, task: TrainingTask) -> LearnerCorpus:
        """Return the task in columns, its segments ready to be weighted."""
        before = self._corpus
        corpus = super().ready(task)
        if corpus is not before or self._terms is None:
            by_segment = self.weighting == "segment" or (
                self.weighting == "auto" and not has_denominator(corpus.metric)
            )
            share = np.ones(len(corpus.spaces)) if by_segment else denominators(corpus.evaluators)
            settings = RiskSettings(self.entropy, self.budget, self.workers)
            self._terms = RiskTerms(corpus, floats(share), settings)
        return corpus

    def begin(self, task: TrainingTask) -> float:
        """Begin with the present weights, at the first temperature."""
        corpus = self.ready(task)
        self.weights = self.initial_weights(corpus.names)
        self.state = {
            "temperature": 0, "round": 0, "loss": None, "descent": {}, "decoded": [],
            "squares": self.square_units(),
        }  # fmt: skip
        return corpus.score(corpus.vector(self.weights))

    def step(self, constraints: Sequence[Constraint]) -> dict[str, float]:
        """Return a step of SGD, for a sentence and its rivals as if they were all there is.

        At the temperature that a fit has come to; before any, the first.
        """
        place = min(self.state.get("temperature", 0), len(self.temperatures) - 1)
        pulls = risk_pulls(*self.margins(constraints), self.temperatures[place])
        return self.pull(constraints, pulls, self.rate)

    def round(self, task: TrainingTask) -> tuple[float, dict[str, Any]]:
        """Run L-BFGS, or go over all segments once."""
        corpus, state = self.ready(task), self.state
        temperature = self.temperatures[state["temperature"]]
        here, units = corpus.vector(self.weights), self.measure(corpus)
        moves = np.flatnonzero(units > 0.0)
        run = self._run if self.optimiser == "lbfgs" else self._epoch
        loss, expected, shares = run(here, moves, units[moves], temperature)
        self.weights = {**self.weights, **corpus.mapping(here)}
        before = state["loss"]
        still = before is not None and abs(before - loss) <= self.epsilon * abs(before)
        state.update({"round": state["round"] + 1, "loss": loss})
        if still or state["round"] == self.rounds:
            state.update({"temperature": state["temperature"] + 1, "round": 0, "loss": None})
            self.finished = state["temperature"] == len(self.temperatures)
        details = {
            "temperature": temperature, "loss": loss, "expected": expected, **shares,
            "judge": str(corpus.metric),
        }  # fmt: skip
        return corpus.score(here), details

    def _run(
        self,
        here: FloatColumn,
        moves: Any,
        units: FloatColumn,
        temperature: float,
    ) -> tuple[float, float, dict[str, float]]:
        """Move the weights by L-BFGS; return loss, expected metric and shares of estimators."""
        terms = self._ready_terms
        everyone, how = range(len(terms)), self._estimation(temperature)
        kinds: list[Kind] = []
        if any(inexact for _, inexact in terms.look()):
            self.state["decoded"].append(here.tolist())
            kinds = terms.accumulate(self.state["decoded"], self._estimation(1.0))

        def loss(point: FloatColumn) -> tuple[float, FloatColumn]:
            here[moves] = point / units
            found, _ = terms.value(here, everyone, how)
            return found.loss, found.gradient[moves] / units

        found = minimise(
            loss, here[moves] * units, l2=self.l2, l1=self.l1, most_iterations=self.iterations
        )
        here[moves] = found.point / units
        reached, _ = terms.value(here, everyone, how)
        return found.value, reached.expected, self._shares(kinds)

    def _epoch(
        self,
        here: FloatColumn,
        moves: Any,
        units: FloatColumn,
        temperature: float,
    ) -> tuple[float, float, dict[str, float]]:
        """Move the weights after every batch; the loss is the mean of what the steps met."""
        state, terms = self.state, self._ready_terms
        descent = Descent(self.optimiser, self.rate, self.l2, self.l1, state["descent"])
        order = self.random.permutation(len(terms)).tolist()
        seed = int(self.random.integers(2**63))
        point = here[moves] * units
        met: list[tuple[int, RiskValue]] = []
        kinds: list[Kind] = []
        how = self._estimation(temperature)
        for first in range(0, len(order), self.batch):
            places = order[first : first + self.batch]
            found, some = terms.value(here, places, how, [seed, first])
            point = descent.step(point, found.gradient[moves] / units)
            here[moves] = point / units
            met.append((len(places), found))
            kinds.extend(some)
        state["descent"] = descent.state
        loss = sum(size * found.loss for size, found in met) / len(order)
        loss += 0.5 * self.l2 * float(point @ point) + self.l1 * float(np.abs(point).sum())
        expected = sum(size * found.expected for size, found in met) / len(order)
        return loss, expected, self._shares(kinds)

    @property
    def _ready_terms(self) -> RiskTerms:
        return cast(RiskTerms, self._terms)

    def _shares(self, kinds: Sequence[Kind]) -> dict[str, float]:
        """Return the share of segments that each estimator had, and of those that are exact."""
        looked = self._ready_terms.look()
        listed = [kind for kind in kinds if kind is not None]
        drawn = sum(is_drawn for is_drawn, _ in listed)
        lists = sum(is_list for is_list, _ in looked)
        counts = {
            "exact": len(looked) - sum(not complete for _, complete in listed),
            "list": lists, "rows": len(looked) - len(listed) - lists,
            "k-best": len(listed) - drawn, "samples": drawn,
        }  # fmt: skip
        return {name: count / len(looked) for name, count in counts.items()}
