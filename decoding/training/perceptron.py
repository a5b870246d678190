"""Structured perceptron: a step from the model's best sentence towards a better one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

from decoding.extraction.oracle_search import find_oracles, rank_oracles
from decoding.extraction.results import Oracle, score_hypothesis
from decoding.training.hope_fear import HopeFear, find_first_best
from decoding.training.margin_updates import Constraint, constraint
from decoding.training.online import Constraints, OnlineLearner
from decoding.training.training_corpus import LearnerCorpus
from lattices.algorithms import best
from lattices.arrays import FloatColumn, floats
from lattices.spaces import Forest, Lattice, NBest

#: what may be moved towards, and away from
TOWARDS = ("hope", "oracle")
AGAINST = ("fear", "best")


@dataclass(kw_only=True, eq=False)
class Perceptron(OnlineLearner):
    """The averaged structured perceptron, towards hope and away from fear.

    Where the metric of the rival ``r`` is below that of the sentence ``h`` to be moved towards,
    the weights move by ``rate * (features(h) - features(r))``; nothing else does.

    The rival of Collins (2002) is the model's best sentence, ``against="best"``. That is sound
    where some weights put the target first. Where none do, as in translation, the move from the
    best is one that never lengthens the weights along themselves, ``w @ (features(h) -
    features(best)) <= 0``: what it descends is lowest at weights of 0, where everything is the
    best, and only the noise of the moves keeps the weights away from there. Fear in place of the
    best pushes the other way, and what is descended is the ramp loss (Gimpel & Smith 2012; Chiang
    2012 takes the same two sentences).

    Cost of an update: one intersection, and one search over rows or, against the best, one best
    path; under BLEU both searches are by labels.

    Parameters
    ----------
    towards : {"hope", "oracle"}
        ``hope`` has the highest model score plus metric and is within the model's reach; the
        oracle has the highest metric of all and may be far away: the bold update of Liang et
        al. (2006), where hope is a local one.
    against : {"fear", "best"}
        ``fear`` has the highest model score minus metric.
    rate : float
        The length of a step. Against ``scale`` it sets how noisy the moves are.
    epochs, batch, workers, averaged, settling, scale, budget, memory, judge, scaled, document,
    start, seed
        As of :class:`decoding.training.online.OnlineLearner`.

    References
    ----------
    Collins. Discriminative training methods for hidden Markov models: theory and experiments
    with perceptron algorithms. EMNLP 2002.

    Freund and Schapire. Large margin classification using the perceptron algorithm. Machine
    Learning 37, 1999.

    Chiang. Hope and fear for discriminative training of statistical translation models. JMLR
    13, 2012.

    Gimpel and Smith. Structured ramp loss minimization for machine translation. NAACL 2012.

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
    against: str = "fear"
    rate: float = 0.1
    scale: float = 10.0

    def __post_init__(self) -> None:
        """Refuse options that mean nothing."""
        super().__post_init__()
        self.check_options(above_zero=("rate",), towards=TOWARDS, against=AGAINST)

    def constraints_of(self, pair: HopeFear, higher_is_better: bool = True) -> list[Constraint]:
        """Return the one constraint that the sentence moved towards beats its rival."""
        target = pair.hope if self.towards == "hope" else pair.oracle
        rival = pair.fear if self.against == "fear" else pair.best
        loss = target.score - rival.score
        loss = loss if higher_is_better else -loss
        return [constraint(target.hypothesis, rival.hypothesis, loss)]

    def step(self, constraints: Sequence[Constraint]) -> dict[str, float]:
        """Return the sum of the differences whose loss is positive."""
        moved: dict[str, float] = {}
        for difference, loss in constraints:
            if loss > 0.0:
                for name, value in difference.items():
                    change = self.rate * self.inverse(name) * value
                    moved[name] = moved.get(name, 0.0) + change
        return moved

    def search_graphs(
        self, corpus: LearnerCorpus, graphs: dict[int, Lattice | Forest]
    ) -> dict[int, Constraints]:
        """Return that the better sentence of each should beat its rival."""
        targets = find_oracles(
            list(graphs.values()),
            [corpus.evaluator(place) for place in graphs],
            self.search,
            model_weight=1.0 / self.scale if self.towards == "hope" else 0.0,
        )
        found = {}
        rivals = self._rivals(corpus, graphs)
        for place, target, rival in zip(graphs, targets, rivals, strict=True):
            loss = self.gain(corpus, target.score, rival.score)
            wanted = constraint(target.hypothesis, rival.hypothesis, loss)
            found[place] = Constraints([wanted], target.exact and rival.exact)
        return found

    def _rivals(
        self, corpus: LearnerCorpus, graphs: Mapping[int, Lattice | Forest]
    ) -> list[Oracle]:
        """Return what to move away from, one sentence for each lattice or forest."""

        def rival(place: int) -> Oracle:
            space, evaluator = graphs[place], corpus.evaluator(place)
            if self.against == "best":
                return score_hypothesis(best(space), evaluator, True, "model")
            return rank_oracles(
                space, evaluator, 1, self.search, worst=True, model_weight=-1.0 / self.scale
            )[0]

        with ThreadPoolExecutor(self.workers) as pool:
            return list(pool.map(rival, graphs))

    def search_list(self, nbest: NBest, objective: FloatColumn) -> Constraints:
        """Return that the better sentence of a list should beat its rival."""
        aim = objective if self.towards == "oracle" else nbest.score + self.scale * objective
        feared = nbest.score - self.scale * objective if self.against == "fear" else nbest.score
        target, rival = find_first_best(nbest, floats(aim)), find_first_best(nbest, floats(feared))
        loss = float(objective[target] - objective[rival])
        return Constraints([constraint(nbest[target], nbest[rival], loss)], True)
