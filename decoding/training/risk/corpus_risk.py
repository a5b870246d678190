"""The expected loss of a corpus, as a function of weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from decoding.training.risk.expected import expectation
from decoding.training.risk.problem import Estimation, RiskProblem
from decoding.training.risk.sentence_lists import DerivationList, join_lists, list_expectation
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


@dataclass(frozen=True)
class RiskSettings:
    """What the problems of a corpus depend on, but for the corpus."""

    #: how much a nat of entropy is worth
    entropy: float
    #: of each problem
    budget: int
    #: threads
    workers: int


#: whether a list in place of a segment was drawn, and whether it has all derivations; None of no
#: list
Kind: TypeAlias = "tuple[bool, bool] | None"


class _Problems:
    """The problems of spaces that are in this process."""

    def __init__(self, corpus: LearnerCorpus, settings: RiskSettings) -> None:
        self.settings = settings
        self.problems = [
            RiskProblem(space, evaluator, budget=settings.budget)
            for space, evaluator in zip(corpus.spaces, corpus.evaluators, strict=True)
        ]
        self._rows = [
            corpus.widen(problem.features, problem.space.feature_names) for problem in self.problems
        ]
        self._sign = quality(corpus.metric, 1.0)
        self._beyond: dict[int, bool] = {}
        self._kept: dict[int, int] = {}
        self._keeping = Lock()
        self._lists: dict[int, DerivationList] = {}
        self._decoded: list[list[float]] = []

    @classmethod
    def of(cls, corpus: LearnerCorpus, settings: RiskSettings) -> _Problems:
        """Return the problems of a corpus, which keeps them."""
        known: _Problems | None = corpus.kept.get("risk")
        if known is None or known.settings != settings:
            known = corpus.kept["risk"] = cls(corpus, settings)
        return known

    def scores(self, place: int, weights: FloatColumn) -> FloatColumn:
        """Return the scores of a segment's slots."""
        return floats(self._rows[place] @ weights)

    def are_inexact(self, places: Sequence[int]) -> list[bool]:
        """Tell which of the segments are not exact within the budget."""
        unknown = [place for place in places if place not in self._beyond]

        def look(place: int) -> bool:
            found = self.problems[place].graph is None
            self._keep(place)
            return found

        self._beyond.update(zip(unknown, self._in_threads(look, unknown), strict=True))
        return [self._beyond[place] for place in places]

    def find_substitutes(
        self, weights: FloatColumn, places: Mapping[int, int], how: Estimation, seed: Sequence[int]
    ) -> dict[int, DerivationList]:
        """Return lists in place of segments beyond the budget, under the weights.

        ``places`` says which of the whole corpus each of them is, for random numbers.
        """
        found = {}
        for (place, number), inexact in zip(
            places.items(), self.are_inexact(list(places)), strict=True
        ):
            if inexact:
                some = self.problems[place].list_substitutes(
                    self.scores(place, weights), how, [*seed, number]
                )
                if some is not None:
                    found[place] = some
        return found

    def accumulate(
        self, places: Sequence[int], decoded: Sequence[list[float]], how: Estimation
    ) -> dict[int, DerivationList]:
        """Return the best paths under all these weights, for segments that need it."""
        if self._decoded != decoded[: len(self._decoded)]:
            self._lists, self._decoded = {}, []
        for weights in decoded[len(self._decoded) :]:
            found = self.find_substitutes(
                floats(weights), {place: place for place in places}, how, []
            )
            for place, some in found.items():
                old = self._lists.get(place)
                self._lists[place] = some if old is None else join_lists(old, some)
            self._decoded.append(weights)
        return self._lists

    def terms(
        self,
        weights: FloatColumn,
        places: Sequence[int],
        temperature: float,
        lists: Mapping[int, DerivationList],
    ) -> list[tuple[float, float, FloatColumn]]:
        """Return the expected metric of each segment, its entropy, and the slope of its loss."""

        def one(place: int) -> tuple[float, float, FloatColumn]:
            problem, score = self.problems[place], self.scores(place, weights)
            scale = problem.scale(score, temperature)
            if place in lists:
                listed = list_expectation(lists[place], score, scale=scale)
                mean, slope = listed.mean, listed.gradient
            else:
                found = expectation(problem.exact_graph(), score, scale=scale)
                mean, slope = found.mean, found.gradient
                self._keep(place)
            slope = -self._sign * slope
            nats = 0.0
            if self.settings.entropy:
                whole = expectation(problem.plain, score, scale=scale, surprise=True)
                nats, slope = whole.mean, slope - self.settings.entropy * whole.gradient
            return mean, nats, self._rows[place].T @ slope

        return self._in_threads(one, places)

    def _in_threads(self, function: Callable[[int], T], items: Sequence[int]) -> list[T]:
        if self.settings.workers == 1:
            return [function(item) for item in items]
        with ThreadPoolExecutor(self.settings.workers) as pool:
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


def _look(
    corpus: LearnerCorpus, places: Sequence[int], settings: RiskSettings
) -> list[tuple[bool, bool]]:
    """Tell of segments whether they are lists, and whether they are beyond the budget."""
    known = _Problems.of(corpus, settings)
    lists = [known.problems[place].is_list for place in places]
    return list(zip(lists, known.are_inexact(places), strict=True))


def _accumulate(
    corpus: LearnerCorpus,
    places: Sequence[int],
    settings: RiskSettings,
    decoded: Sequence[list[float]],
    how: Estimation,
) -> list[Kind]:
    found = _Problems.of(corpus, settings).accumulate(places, decoded, how)
    return [_kind(found.get(place)) for place in places]


def _terms(
    corpus: LearnerCorpus,
    places: Sequence[int],
    numbers: Sequence[int],
    settings: RiskSettings,
    weights: FloatColumn,
    how: Estimation,
    seed: Sequence[int] | None,
) -> list[tuple[Kind, tuple[float, float, FloatColumn]]]:
    """Return the terms of segments, by the lists that are kept or, with a seed, by new ones."""
    known = _Problems.of(corpus, settings)
    if seed is None:
        lists = known._lists
    else:
        pairs = dict(zip(places, numbers, strict=True))
        lists = known.find_substitutes(weights, pairs, how, seed)
    found = known.terms(weights, places, how.temperature, lists)
    return [(_kind(lists.get(place)), each) for place, each in zip(places, found, strict=True)]


def _kind(some: DerivationList | None) -> Kind:
    return None if some is None else (some.times is not None, some.complete)


class RiskTerms:
    """The segments of a corpus with their shares of the objective

        sum over i of share_i * (-quality_i(w) - entropy * H_i(w)) / sum over i of share_i

    where ``quality_i`` is the expected metric of segment ``i``, turned so that higher is better,
    and ``H_i`` the entropy of its paths. Segments beyond the budget are represented by lists.
    """

    def __init__(self, corpus: LearnerCorpus, share: FloatColumn, settings: RiskSettings) -> None:
        self._corpus, self._settings = corpus, settings
        self._share = share / share.mean()
        self._sign = quality(corpus.metric, 1.0)
        self._looked: list[tuple[bool, bool]] | None = None

    def __len__(self) -> int:
        """Return how many segments there are."""
        return len(self._share)

    def look(self) -> list[tuple[bool, bool]]:
        """Tell of each segment whether it is a list, and whether it is beyond the budget."""
        if self._looked is None:
            self._looked = self._corpus.spread(_look, range(len(self)), self._settings)
        return self._looked

    def accumulate(self, decoded: Sequence[list[float]], how: Estimation) -> list[Kind]:
        """Keep the best paths under all these weights in place of segments beyond the budget."""
        return self._corpus.spread(_accumulate, range(len(self)), self._settings, decoded, how)

    def value(
        self,
        weights: FloatColumn,
        places: Sequence[int],
        how: Estimation,
        seed: Sequence[int] | None = None,
    ) -> tuple[RiskValue, list[Kind]]:
        """Return the objective of some segments, and how they are represented.

        By the lists that are kept, or, if there is a ``seed``, by new ones. Cost: O(edges of their
        products).
        """
        found = self._corpus.spread(
            _terms, places, self._settings, weights, how, seed, each=list(places)
        )
        kinds, results = zip(*found, strict=True)
        share = self._share[list(places)]
        means, nats, slopes = zip(*results, strict=True)
        # divided by the number of segments, the mean over batches is the whole
        expected = float(share @ np.array(means)) / len(places)
        entropy = float(share @ np.array(nats)) / len(places)
        gradient = share @ np.array(slopes) / len(places)
        loss = -self._sign * expected - self._settings.entropy * entropy
        return RiskValue(loss, floats(gradient), expected, entropy), list(kinds)
