"""The expected loss of a corpus, as a function of weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import NamedTuple, TypeVar

import numpy as np

from decoding.training.risk.expected import expectation
from decoding.training.risk.problem import RiskProblem
from decoding.training.risk.sentence_lists import DerivationList, list_expectation
from decoding.training.training_corpus import LearnerCorpus
from fstmetrics import Evaluator, Metric
from fstmetrics.alignment.metric import AlignmentMetric
from fstmetrics.contract import quality
from fstmetrics.references import split_tokens
from lattices.algorithms import best
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError
from lattices.spaces import Lattice

T = TypeVar("T")

#: edges of products that are kept between evaluations, at 20 bytes each; others are made again
MOST_EDGES = 20_000_000


class RiskValue(NamedTuple):
    """The objective of some segments."""

    #: what is minimised: the weighted mean of the negated quality, less the entropy's part
    loss: float
    #: of the loss, in the weights
    gradient: FloatColumn
    #: the weighted mean of the metric, in its own direction, and the mean entropy in nats (0 if it
    #: has no part in the loss)
    expected: float
    entropy: float


def has_denominator(metric: Metric) -> bool:
    """Tell whether the corpus score is the mean of sentence scores weighted by denominators."""
    return isinstance(metric, AlignmentMetric)


def denominators(evaluators: Iterable[Evaluator]) -> FloatColumn:
    """Return what the metric of each segment is divided by.

    With these as weights, the mean of the sentences' WER, WRR, CER or GRR is that of the corpus:
    exactly with one reference each; of several, which may be of different lengths, the mean is
    taken, and a reference without words counts as one.

    Examples
    --------
    >>> from fstmetrics import GRR, WER
    >>> denominators([WER().against(["a b c"]), WER().against(["a", "a b"])]).tolist()
    [3.0, 1.5]
    >>> denominators([GRR(n=2).against(["a b c"])]).tolist()
    [5.0]
    """
    found = []
    for evaluator in evaluators:
        metric = evaluator.metric
        if not isinstance(metric, AlignmentMetric):
            raise OptionError(f"{metric} has no denominator that the model does not change")
        lengths = [
            len(
                metric.units(best(each).tokens if isinstance(each, Lattice) else split_tokens(each))
            )
            for each in evaluator.references
        ]
        found.append(np.mean([max(1, metric.possible(length)) for length in lengths]))
    return floats(found)


class RiskTerms:
    """The segments of a corpus with their shares of the objective

        sum over i of share_i * (-quality_i(w) - entropy * H_i(w)) / sum over i of share_i

    where ``quality_i`` is the expected metric of segment ``i``, turned so that higher is better,
    and ``H_i`` the entropy of its paths.
    """

    def __init__(
        self,
        corpus: LearnerCorpus,
        share: FloatColumn,
        *,
        entropy: float = 0.0,
        budget: int,
        workers: int = 1,
    ) -> None:
        self.problems = [
            RiskProblem(space, evaluator, budget=budget)
            for space, evaluator in zip(corpus.spaces, corpus.evaluators, strict=True)
        ]
        self._rows = [
            corpus.widen(problem.features, problem.space.feature_names) for problem in self.problems
        ]
        self._share = share / share.mean()
        self._sign = quality(corpus.metric, 1.0)
        self._entropy, self._workers = entropy, workers
        self._beyond: dict[int, bool] = {}
        self._kept: dict[int, int] = {}
        self._keeping = Lock()

    def scores(self, place: int, weights: FloatColumn) -> FloatColumn:
        """Return the scores of a segment's slots."""
        return floats(self._rows[place] @ weights)

    def find_inexact(self, places: Sequence[int]) -> list[int]:
        """Return those of the segments that are not exact within the budget."""
        unknown = [place for place in places if place not in self._beyond]

        def look(place: int) -> bool:
            found = self.problems[place].graph is None
            self._keep(place)
            return found

        self._beyond.update(zip(unknown, self._in_threads(look, unknown), strict=True))
        return [place for place in places if self._beyond[place]]

    def value(
        self,
        weights: FloatColumn,
        places: Sequence[int],
        temperature: float,
        kbest_fallback: Mapping[int, DerivationList],
    ) -> RiskValue:
        """Return the objective of some segments. Cost: O(edges of their products)."""

        def one(place: int) -> tuple[float, float, FloatColumn]:
            problem, score = self.problems[place], self.scores(place, weights)
            scale = problem.scale(score, temperature)
            if place in kbest_fallback:
                listed = list_expectation(kbest_fallback[place], score, scale=scale)
                mean, slope = listed.mean, listed.gradient
            else:
                found = expectation(problem.exact_graph(), score, scale=scale)
                mean, slope = found.mean, found.gradient
                self._keep(place)
            slope = -self._sign * slope
            nats = 0.0
            if self._entropy:
                whole = expectation(problem.plain, score, scale=scale, surprise=True)
                nats, slope = whole.mean, slope - self._entropy * whole.gradient
            return mean, nats, self._rows[place].T @ slope

        results = self._in_threads(one, places)
        share = self._share[list(places)]
        means, nats, slopes = zip(*results, strict=True)
        # divided by the number of segments, the mean over batches is the whole
        expected = float(share @ np.array(means)) / len(places)
        entropy = float(share @ np.array(nats)) / len(places)
        gradient = share @ np.array(slopes) / len(places)
        loss = -self._sign * expected - self._entropy * entropy
        return RiskValue(loss, floats(gradient), expected, entropy)

    def _in_threads(self, function: Callable[[int], T], items: Sequence[int]) -> list[T]:
        if self._workers == 1:
            return [function(item) for item in items]
        with ThreadPoolExecutor(self._workers) as pool:
            return list(pool.map(function, items))

    def _keep(self, place: int) -> None:
        """Keep the product of a segment if there is room, forget it if not."""
        graph = self.problems[place].graph
        size = 0 if graph is None else len(graph.slot)
        with self._keeping:
            if place not in self._kept:
                if sum(self._kept.values()) + size <= MOST_EDGES:
                    self._kept[place] = size
                else:
                    self.problems[place].forget()
