"""The structured perceptron: from what the model says to what it should say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from decoding.oracle import oracles
from decoding.training.feature_index import LearnerCorpus
from decoding.training.hope_fear import HopeFear, first_best
from decoding.training.optimisation_online import Constraint, OnlineLearner, Wanted, constraint
from lattices.algorithms import best
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError
from lattices.spaces import Forest, Lattice, NBest

#: what may be moved towards
TOWARDS = ("hope", "oracle")


@dataclass(kw_only=True, eq=False)
class Perceptron(OnlineLearner):
    """The averaged structured perceptron.

    Where the metric of the model's best sentence ``b`` is below that of the sentence ``h`` to be
    moved towards, the weights move by ``rate * (features(h) - features(b))``; nothing else does.
    Cost of an update: one intersection and one best path.

    Parameters
    ----------
    towards : {"hope", "oracle"}
        ``hope`` has the highest model score plus metric and is within the model's reach; the
        oracle has the highest metric of all and may be far away: the bold update of Liang et
        al. (2006), where hope is a local one.
    rate : float
        The length of a step. It sets how fast the weights grow, and the longer they are, the
        nearer hope is to what the model says already.
    epochs, batch, workers, averaged, scale, budget, judge, scaled, start, seed
        As of :class:`decoding.training.optimisation_online.OnlineLearner`.

    References
    ----------
    Collins. Discriminative training methods for hidden Markov models: theory and experiments
    with perceptron algorithms. EMNLP 2002.

    Freund and Schapire. Large margin classification using the perceptron algorithm. Machine
    Learning 37, 1999.

    Liang, Bouchard-Côté, Klein and Taskar. An end-to-end discriminative approach to machine
    translation. ACL 2006.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses(
    ...     [Hypothesis(("a",), 0.0, {"lm": 1.0}), Hypothesis(("b",), 0.0, {"tm": 1.0})]
    ... )
    >>> learner = Perceptron(start={"lm": 1.0, "tm": 0.0}, scale=3.0)
    >>> learner = learner.fit([nbest], [["b"]], WER())
    >>> learner.weights["tm"] > learner.weights["lm"], learner.history[-1].score
    (True, 0.0)
    """

    name: ClassVar[str] = "perceptron"
    epochs: int = 20
    towards: str = "hope"
    rate: float = 0.1

    def __post_init__(self) -> None:
        """Refuse options that mean nothing."""
        super().__post_init__()
        if self.towards not in TOWARDS:
            raise OptionError(f"towards is one of {', '.join(TOWARDS)}, not {self.towards!r}")
        if not 0.0 < self.rate < np.inf:
            raise OptionError(f"rate is finite and greater than 0, not {self.rate}")

    def constraints_of(self, pair: HopeFear, higher_is_better: bool = True) -> list[Constraint]:
        """Return the one constraint that the sentence moved towards beats the model's best."""
        target = pair.hope if self.towards == "hope" else pair.oracle
        loss = target.score - pair.best.score
        loss = loss if higher_is_better else -loss
        return [constraint(target.hypothesis, pair.best.hypothesis, loss)]

    def step(self, constraints: Sequence[Constraint]) -> dict[str, float]:
        """Return the sum of the differences whose loss is positive."""
        moved: dict[str, float] = {}
        for difference, loss in constraints:
            if loss > 0.0:
                for name, value in difference.items():
                    change = self.rate * self.inverse(name) * value
                    moved[name] = moved.get(name, 0.0) + change
        return moved

    def wanted(
        self, corpus: LearnerCorpus, places: Sequence[int], weights: FloatColumn
    ) -> list[Wanted]:
        """Return for each segment that its better sentence should beat the model's best."""
        found: dict[int, Wanted] = {}
        graphs: dict[int, Lattice | Forest] = {}
        for place in places:
            space = corpus.reweighted(place, weights)
            if isinstance(space, NBest):
                found[place] = self._of_list(space, corpus.qualities(place))
            else:
                graphs[place] = space
        if graphs:
            targets = oracles(
                list(graphs.values()),
                [corpus.evaluators[place] for place in graphs],
                model_weight=1.0 / self.scale if self.towards == "hope" else 0.0,
                workers=self.workers,
            )
            for (place, space), target in zip(graphs.items(), targets, strict=True):
                rival = best(space)
                judged = corpus.evaluators[place].score(rival.tokens)
                loss = self.gain(corpus, target.score, judged)
                found[place] = Wanted([constraint(target.hypothesis, rival, loss)], target.exact)
        return [found[place] for place in places]

    def _of_list(self, nbest: NBest, worth: FloatColumn) -> Wanted:
        aim = worth if self.towards == "oracle" else nbest.score + self.scale * worth
        target, rival = first_best(nbest, floats(aim)), first_best(nbest, nbest.score)
        loss = float(worth[target] - worth[rival])
        return Wanted([constraint(nbest[target], nbest[rival], loss)], True)
