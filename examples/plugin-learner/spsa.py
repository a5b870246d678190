"""Simultaneous perturbation: weights moved by two decodings a round, whatever the metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from decoding.training.envelope import EnvelopeCorpus
from decoding.training.learner import Learner, TrainingTask
from fstmetrics.contract import quality


@dataclass(kw_only=True, eq=False)
class SPSA(Learner):
    """Simultaneous perturbation stochastic approximation (Spall 1992).

    In round ``k`` all weights are moved at once, by ``c_k`` up or down at random, ``d``; the corpus
    is scored with ``w + c_k d`` and with ``w - c_k d``, and

        w <- w + a_k (Q(w + c_k d) - Q(w - c_k d)) / (2 c_k) * d

    with the metric ``Q``, higher being better, ``a_k = a / (k + A)^0.602`` and ``c_k = c /
    k^0.101``, the exponents of Spall (1998). Nothing but the metric of the corpus is asked for, so
    that any metric will do, and any space; a round costs three best paths of each segment.
    Lambert and Banchs (2006) trained translation systems so.

    Parameters
    ----------
    rounds : int
    a, c : float
        Of the steps, and of the perturbation.
    stability : float
        ``A``: about a tenth of the rounds.
    start, seed
        As of :class:`decoding.training.learner.Learner`.

    References
    ----------
    Spall. Multivariate stochastic approximation using a simultaneous perturbation gradient
    approximation. IEEE Transactions on Automatic Control 37(3), 1992.

    Lambert and Banchs. Tuning machine translation parameters with SPSA. IWSLT 2006.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis, NBest
    >>> nbest = NBest.from_hypotheses(
    ...     [Hypothesis(("a",), 0.0, {"lm": 1.0}), Hypothesis(("b",), 0.0, {"tm": 1.0})]
    ... )
    >>> learner = SPSA(start={"lm": 1.0, "tm": 0.9}, c=0.2).fit([nbest], [["b"]], WER())
    >>> learner.weights["tm"] > learner.weights["lm"], learner.chosen.score
    (True, 0.0)
    """

    name: ClassVar[str] = "spsa"

    rounds: int = 50
    a: float = 1.0
    c: float = 0.1
    stability: float = 5.0

    def __post_init__(self) -> None:
        """Refuse options that mean nothing."""
        super().__post_init__()
        self.check_options(from_one=("rounds",), from_zero=("stability",), above_zero=("a", "c"))
        # made once a task; a checkpoint need not have it
        self._scored: tuple[str, EnvelopeCorpus] | None = None

    def begin(self, task: TrainingTask) -> float:
        """Begin with the present weights."""
        corpus = self._corpus(task)
        self.weights = self.initial_weights(corpus.names)
        self.state = {"done": 0}
        return corpus.score(self._values(corpus.names))

    def round(self, task: TrainingTask) -> tuple[float, dict[str, Any]]:
        """Do one step."""
        corpus = self._corpus(task)
        number = self.state["done"] + 1
        a = self.a / (number + self.stability) ** 0.602
        c = self.c / number**0.101
        now = self._values(corpus.names)
        direction = self.random.choice([-1.0, 1.0], len(now))
        above, below = (
            quality(task.metric, corpus.score((now + step * direction).tolist()))
            for step in (c, -c)
        )
        slope = (above - below) / (2.0 * c)
        self.weights |= zip(corpus.names, (now + a * slope * direction).tolist(), strict=True)
        self.state["done"] = number
        self.finished = number == self.rounds
        return corpus.score(self._values(corpus.names)), {"slope": slope}

    def _values(self, names: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array([self.weights[name] for name in names])

    def _corpus(self, task: TrainingTask) -> EnvelopeCorpus:
        if self._scored is None or self._scored[0] != task.digest:
            self._scored = task.digest, EnvelopeCorpus(task.spaces, task.evaluators)
        return self._scored[1]
