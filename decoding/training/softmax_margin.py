"""Softmax-margin: log loss with a margin for the cost of each sentence."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from scipy.sparse import csr_array, vstack

from decoding.extraction.oracle_search import find_oracles
from decoding.extraction.search import Search
from decoding.training.envelope import feature_rows
from decoding.training.hope_fear import find_first_best
from decoding.training.learner import TrainingTask
from decoding.training.loop import extend_list
from decoding.training.margin_updates import Constraint, PairLearner, softmax_margin_pulls
from decoding.training.online import Descent, minimise
from decoding.training.risk.expected import expectation
from decoding.training.risk.graphs import DerivationGraph, forest_graph, lattice_graph, list_graph
from decoding.training.training_corpus import LearnerCorpus, row_qualities
from fstmetrics.contract import can_search, has_machine, nbest_stats, quality
from lattices.algorithms import k_best
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError
from lattices.limits import Limits
from lattices.spaces import Forest, Hypothesis, Lattice, NBest
from lattices.spaces.features import FeatureMatrix


class MarginTerms:
    """The terms of the loss for some segments, whose targets and graphs are fixed.

    The loss of a segment with target ``t`` is

        log(sum over derivations d of exp(score(d) - score(t) + scale * (q(t) - q(d))))

    with the metric ``q``, higher is better: never below 0, and at least the largest violation
    of the margin that a loss wants. It is convex in the weights.

    Examples
    --------
    >>> from decoding.training.risk.graphs import list_graph
    >>> graph, rows = list_graph(floats([1.0, 0.0])), csr_array([[1.0], [0.0]])
    >>> terms = MarginTerms([graph], [rows], [(np.array([1.0]), 1.0)], 2.0, 1.0)
    >>> value, gradient = terms.loss(np.array([0.5]), [0])
    >>> round(value, 4), gradient.round(4).tolist()
    (1.7014, [-0.8176])
    """

    def __init__(
        self,
        graphs: Sequence[DerivationGraph],
        features: Sequence[FeatureMatrix],
        targets: Sequence[tuple[FloatColumn, float]],
        scale: float,
        sign: float,
        workers: int = 1,
    ) -> None:
        self._graphs, self._features, self._targets = graphs, features, targets
        self._scale, self._sign, self._workers = scale, sign, workers
        self._all: tuple[FeatureMatrix, FeatureMatrix] | None = None

    def loss(self, weights: FloatColumn, places: Sequence[int]) -> tuple[float, FloatColumn]:
        """Return the mean loss of some segments, and its gradient. Cost: O(edges of the graphs)."""
        rows, columns = self._rows(places)
        scores = rows @ weights
        bounds = np.cumsum([0, *(self._graphs[place].slots for place in places)]).tolist()

        def expect(part: tuple[int, tuple[int, int]]) -> tuple[float, FloatColumn]:
            place, (begin, end) = part
            found = expectation(
                self._graphs[place], floats(scores[begin:end]), tilt=-self._sign * self._scale
            )
            return found.log_total, found.count

        parts = list(zip(places, pairwise(bounds), strict=True))
        if self._workers == 1:
            results = [expect(part) for part in parts]
        else:
            with ThreadPoolExecutor(self._workers) as pool:
                results = list(pool.map(expect, parts))
        gradient = columns @ np.concatenate([count for _, count in results])
        value = sum(total for total, _ in results)
        for place in places:
            features, objective = self._targets[place]
            value += self._scale * objective - float(features @ weights)
            gradient = gradient - features
        return value / len(places), np.asarray(gradient / len(places))

    def _rows(self, places: Sequence[int]) -> tuple[FeatureMatrix, FeatureMatrix]:
        """Return the features of some segments, and their transpose; those of all are kept."""
        if len(places) == len(self._graphs) and self._all is not None:
            return self._all
        rows = csr_array(vstack([self._features[place] for place in places], format="csr"))
        found = rows, csr_array(rows.T)
        if len(places) == len(self._graphs):
            self._all = found
        return found


#: what may stand in the numerator
TARGETS = ("hope", "oracle")
OPTIMISERS = ("lbfgs", "adagrad", "sgd")


class MarginTarget(NamedTuple):
    """The sentence whose probability is to rise, and how good it is."""

    hypothesis: Hypothesis
    quality: float


@dataclass(kw_only=True, eq=False)
class SoftmaxMargin(PairLearner):
    """Softmax-margin training of a log-linear model (Gimpel & Smith 2010).

    Minimises the mean of :class:`~.softmax_margin_terms.MarginTerms` over the segments plus
    ``l2 / 2 * |w| ** 2 + l1 * sum(abs(w))``, weights measured by the deviations of their
    features if ``scaled``. The sum over all derivations of a lattice or forest is exact, by its
    product with rows, up to ``budget`` pairs; beyond that, and for metrics that have no exact
    machine, it is over a list: the ``size`` best sentences under the weights at the beginning of
    this round and of all before, and their targets, for which BLEU searches the whole space by
    labels (:mod:`decoding.extraction.bleu_search`). The details of each round have the share of
    segments that are exact, and the metric of single sentences, as ``judge``. Where that is BLEU
    smoothed for single sentences, its brevity penalty is, too: sums over sentences shorten
    otherwise.

    A round finds targets under the present weights and then takes ``iterations`` of L-BFGS, or
    one epoch of AdaGrad or SGD, towards them. Its score is the metric of the corpus, its
    details have the loss. The fit ends early when a round lowers the loss by less than
    ``epsilon`` of itself. Cost of an iteration: O(edges of all products).

    Parameters
    ----------
    towards : {"hope", "oracle"}
        What stands in the numerator: the sentence of the highest model score plus scaled
        metric, or that of the highest metric (references are not always in the space).
    scale : float
        Of the metric in the cost, and in hope.
    optimiser : {"lbfgs", "adagrad", "sgd"}
    rounds, iterations : int
    epsilon : float
    batch : int
        Segments of one step of AdaGrad and SGD.
    rate : float
        Of AdaGrad and SGD, and of :meth:`update`.
    l2, l1 : float
    budget : int
        Pairs of a lattice state and a row, or of a node and a matrix, of one segment. Products
        are kept, at about 40 bytes for each of their arcs.
    size : int
        Most sentences that a round adds to the list used in place of a segment.
    workers : int
        Threads. The weights do not depend on it.
    judge, scaled
        As of :class:`decoding.training.training_corpus.CorpusLearner`.
    start, seed
        As of :class:`decoding.training.learner.Learner`.

    References
    ----------
    Gimpel and Smith. Softmax-margin CRFs: training log-linear models with cost functions.
    NAACL 2010.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses(
    ...     [Hypothesis(("a",), 0.0, {"lm": 1.0}), Hypothesis(("b",), 0.0, {"tm": 1.0})]
    ... )
    >>> learner = SoftmaxMargin(start={"lm": 1.0, "tm": 0.0}).fit([nbest], [["b"]], WER())
    >>> learner.weights["tm"] > learner.weights["lm"], learner.history[-1].score
    (True, 0.0)
    """

    name: ClassVar[str] = "softmax-margin"
    brevity: ClassVar[str] = "smooth"
    towards: str = "hope"
    scale: float = 100.0
    optimiser: str = "lbfgs"
    rounds: int = 20
    iterations: int = 5
    epsilon: float = 1e-4
    batch: int = 8
    rate: float = 0.1
    l2: float = 1e-3
    l1: float = 0.0
    budget: int = 100_000
    size: int = 100
    workers: int = 1
    _graphs: list[DerivationGraph | None] = field(init=False, default_factory=list, repr=False)
    _lists: dict[int, NBest] = field(init=False, default_factory=dict, repr=False)
    _decoded: int = field(init=False, default=0, repr=False)

    def __post_init__(self) -> None:
        """Refuse options that mean nothing."""
        super().__post_init__()
        self.check_options(
            ("rounds", "iterations", "batch", "budget", "size", "workers"),
            ("epsilon", "l2", "l1"),
            ("scale", "rate"),
            towards=TARGETS,
            optimiser=OPTIMISERS,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Pickle what a checkpoint has."""
        return {**super().__getstate__(), "_graphs": [], "_lists": {}, "_decoded": 0}

    def begin(self, task: TrainingTask) -> float:
        """Begin with the present weights."""
        corpus = self.ready(task)
        self.weights = self.initial_weights(corpus.names)
        self._lists, self._decoded = {}, 0
        self.state = {
            "round": 0, "loss": None, "descent": {}, "decoded": [], "squares": self.square_units(),
        }  # fmt: skip
        return corpus.score(corpus.vector(self.weights))

    def step(self, constraints: Sequence[Constraint]) -> dict[str, float]:
        """Return a step of SGD, for a sentence and its rivals as if they were all there is."""
        pulls = softmax_margin_pulls(*self.margins(constraints), self.scale)
        return self.pull(constraints, pulls, self.rate)

    def ready(self, task: TrainingTask) -> LearnerCorpus:
        """Return the task in columns, its products made."""
        before = self._corpus
        corpus = super().ready(task)
        if corpus is not before:
            self._graphs = [self._product(corpus, place) for place in range(len(corpus.spaces))]
            self._lists, self._decoded = {}, 0
        return corpus

    def _product(self, corpus: LearnerCorpus, place: int) -> DerivationGraph | None:
        """Return the graph of a segment that does not depend on weights, or None."""
        space, evaluator = corpus.spaces[place], corpus.evaluator(place)
        if isinstance(space, NBest):
            return list_graph(quality(corpus.metric, 1.0) * corpus.qualities(place))
        if not has_machine(evaluator):
            return None
        if isinstance(space, Forest):
            return forest_graph(space, evaluator, Limits(self.budget))
        return lattice_graph(space, evaluator, Limits(self.budget))

    def round(self, task: TrainingTask) -> tuple[float, dict[str, Any]]:
        """Go towards the targets of the present weights."""
        corpus = self.ready(task)
        here = corpus.vector(self.weights)
        terms, exact = self.terms(corpus, here)
        units = self.measure(corpus)
        moves = np.flatnonzero(units > 0.0)
        everyone = range(len(corpus.spaces))

        def loss(point: FloatColumn, places: Sequence[int]) -> tuple[float, FloatColumn]:
            weights = here.copy()
            weights[moves] = point / units[moves]
            value, gradient = terms.loss(weights, places)
            return value, gradient[moves] / units[moves]

        point = here[moves] * units[moves]
        if self.optimiser == "lbfgs":
            found = minimise(
                lambda each: loss(each, everyone), point,
                l2=self.l2, l1=self.l1, most_iterations=self.iterations,
            )  # fmt: skip
            point, value = found.point, found.value
        else:
            state = self.state["descent"]
            descent = Descent(self.optimiser, self.rate, self.l2, self.l1, state)
            order = self.random.permutation(len(everyone)).tolist()
            value = 0.0
            for first in range(0, len(order), self.batch):
                places = order[first : first + self.batch]
                part, gradient = loss(point, places)
                value += part * len(places) / len(order)
                point = descent.step(point, gradient)
            value += 0.5 * self.l2 * float(point @ point) + self.l1 * float(np.abs(point).sum())
            self.state["descent"] = descent.state
        here[moves] = point / units[moves]
        self.weights = {**self.weights, **corpus.mapping(here)}
        before = self.state["loss"]
        self.state.update({"round": self.state["round"] + 1, "loss": value})
        still = before is not None and abs(before - value) <= self.epsilon * abs(before)
        self.finished = still or self.state["round"] == self.rounds
        details = {"loss": value, "exact": exact, "judge": str(corpus.metric)}
        return corpus.score(here), details

    def terms(self, corpus: LearnerCorpus, weights: FloatColumn) -> tuple[MarginTerms, float]:
        """Return the terms of the loss around some weights, and the share that is exact."""
        graphs, features, targets = [], [], []
        searched = self._decode(corpus, weights)
        for place, graph in enumerate(self._graphs):
            space, target = corpus.spaces[place], searched.get(place)
            if graph is None:
                space = self._lists[place].reweighted(corpus.mapping(weights))
                objective = row_qualities(
                    corpus.metric, nbest_stats(corpus.evaluator(place), space)
                )
                graph = list_graph(quality(corpus.metric, 1.0) * objective)
                target = target or self._of_list(space, objective)
            elif isinstance(space, NBest):
                space = space.reweighted(corpus.mapping(weights))
                target = self._of_list(space, corpus.qualities(place))
            if target is None:
                raise OptionError(f"{corpus.metric} finds no target in space {space.id!r}")
            graphs.append(graph)
            features.append(corpus.widen(feature_rows(space), space.feature_names))
            targets.append((corpus.feature_vector(target.hypothesis.features), target.quality))
        sign = quality(corpus.metric, 1.0)
        terms = MarginTerms(graphs, features, targets, self.scale, sign, self.workers)
        return terms, 1.0 - len(self._lists) / len(graphs)

    def _decode(self, corpus: LearnerCorpus, weights: FloatColumn) -> dict[int, MarginTarget]:
        """Bring lists up to date with all weights so far; return the targets under the last.

        A list has its targets: without, the loss of its segment would have no minimum.
        """
        stood_for = [place for place, graph in enumerate(self._graphs) if graph is None]
        if not stood_for:
            return self._search(corpus, weights)
        decoded = self.state.setdefault("decoded", [])
        decoded.append(weights.tolist())
        for each in map(floats, decoded[self._decoded :]):
            targets = self._search(corpus, each)
            for place in stood_for:
                space = cast("Lattice | Forest", corpus.reweight(place, each))
                found = {each.tokens: each for each in k_best(space, self.size, distinct=True)}
                if place in targets:
                    # as it was found: another derivation of it has other features
                    target = targets[place].hypothesis
                    found[target.tokens] = target
                self._lists[place] = extend_list(self._lists.get(place), space, found.values())
        self._decoded = len(decoded)
        return targets

    def _search(self, corpus: LearnerCorpus, weights: FloatColumn) -> dict[int, MarginTarget]:
        """Return the targets of lattices and forests, for metrics that can search."""
        places = [
            place
            for place, space in enumerate(corpus.spaces)
            if not isinstance(space, NBest) and can_search(corpus.evaluator(place))
        ]
        if not places:
            return {}
        found = find_oracles(
            [corpus.reweight(place, weights) for place in places],
            [corpus.evaluator(place) for place in places],
            Search(workers=self.workers),
            model_weight=1.0 / self.scale if self.towards == "hope" else 0.0,
        )
        return {
            place: MarginTarget(each.hypothesis, quality(corpus.metric, each.score))
            for place, each in zip(places, found, strict=True)
        }

    def _of_list(self, nbest: NBest, objective: FloatColumn) -> MarginTarget:
        aim = objective if self.towards == "oracle" else nbest.score + self.scale * objective
        chosen = find_first_best(nbest, floats(aim))
        return MarginTarget(nbest[chosen], float(objective[chosen]))
