"""Batches of spaces whose scores stand end to end: what losses for neural networks are made of.

Scores are packed: those of the arcs of the first lattice (edges of a forest, entries of a list),
then those of the second. All that does not depend on scores is computed once, and expectations of
all spaces in one native call, on threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from decoding import _native
from decoding.extraction.oracle_search import find_oracles
from decoding.extraction.search import DEFAULT_BUDGET, Search
from decoding.training.envelope import feature_names_of
from decoding.training.hope_fear import find_first_best
from decoding.training.risk.expected import expectation
from decoding.training.risk.problem import Estimation, RiskProblem
from decoding.training.risk.sentence_lists import best_list, draw_list, list_expectation
from fstmetrics import Evaluator
from fstmetrics.contract import quality
from lattices.algorithms import best
from lattices.arrays import FloatColumn, floats
from lattices.caching import cached_property
from lattices.errors import OptionError
from lattices.spaces import Hypothesis, Lattice, NBest, Space
from lattices.spaces.features import FeatureMatrix, widen_rows

Estimator = Literal["exact", "kbest", "samples"]


class Values(NamedTuple):
    """A number for each space, and its gradient by all slots, end to end."""

    value: FloatColumn
    gradient: FloatColumn


class RiskBatch:
    """Spaces with their evaluators, ready for many scores.

    Parameters
    ----------
    spaces : sequence of Lattice, Forest or NBest
    evaluators : sequence of Evaluator
        The metric against the references of each space.
    budget : int
        The most pairs of a state and a row of one space.
    workers : int
        Threads.

    Attributes
    ----------
    sizes : list of int
        How many scores each space has.
    names : tuple of str
        The features of all spaces, in the order of their first occurrence.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1])
    >>> batch = RiskBatch([lattice] * 2, [WER().against([word]) for word in "ab"])
    >>> batch.sizes, batch.risk(batch.slots(floats([0.0] * 4)), Estimation()).value.tolist()
    ([2, 2], [0.5, 0.5])
    """

    def __init__(
        self,
        spaces: Sequence[Space],
        evaluators: Sequence[Evaluator],
        *,
        budget: int = DEFAULT_BUDGET,
        workers: int = 1,
    ) -> None:
        if len(spaces) != len(evaluators):
            raise OptionError(f"{len(spaces)} spaces, but {len(evaluators)} evaluators")
        problems = [
            RiskProblem(space, evaluator, budget=budget)
            for space, evaluator in zip(spaces, evaluators, strict=True)
        ]
        self._set_up(problems, workers)

    @classmethod
    def of(cls, problems: Sequence[RiskProblem], workers: int = 1) -> RiskBatch:
        """Return a batch of problems that are there already."""
        batch = cls.__new__(cls)
        batch._set_up(problems, workers)
        return batch

    def _set_up(self, problems: Sequence[RiskProblem], workers: int) -> None:
        if not problems:
            raise OptionError("a batch has at least one space")
        if workers < 1:
            raise OptionError(f"at least 1 worker, not {workers}")
        self._workers, self.problems = workers, list(problems)
        spaces = [problem.space for problem in problems]
        self.sizes = [len(space.score) for space in spaces]
        self.names = feature_names_of(spaces)
        self._offset = np.cumsum([0, *(each.slots for each in self.problems)], dtype=np.int64)
        # where the scores that are given stand among slots, and the ends of lattices
        starts = self._offset[:-1]
        self._arcs = np.concatenate(
            [np.arange(size) + start for size, start in zip(self.sizes, starts, strict=True)]
        )
        ends, own = [], []
        for problem, start, size in zip(self.problems, starts, self.sizes, strict=True):
            if isinstance(problem.space, Lattice):
                ends.append(np.arange(start + size, start + problem.slots))
                own.append(problem.space.final)
        self._ends = np.concatenate(ends) if ends else np.empty(0, np.int64)
        finals = np.concatenate(own) if own else np.empty(0)
        self._is_final = finals > -np.inf
        self._own_finals = np.where(self._is_final, finals, 0.0)

    @property
    def num_finals(self) -> int:
        """How many states the lattices have."""
        return len(self._ends)

    def slots(self, scores: FloatColumn, finals: FloatColumn | None = None) -> FloatColumn:
        """Return packed scores, and those of ends, as the scores of slots."""
        if len(scores) != len(self._arcs):
            raise OptionError(f"{len(scores)} scores, expected {len(self._arcs)} in a row")
        if finals is not None and len(finals) != len(self._ends):
            raise OptionError(f"{len(finals)} finals, expected {len(self._ends)}: one a state")
        found = np.zeros(int(self._offset[-1]))
        found[self._arcs] = scores
        found[self._ends] = (
            self._own_finals if finals is None else np.where(self._is_final, finals, 0.0)
        )
        if not np.isfinite(found).all():
            raise OptionError(f"score {int(np.flatnonzero(~np.isfinite(found))[0])} is not finite")
        return floats(found)

    def unpack(self, gradient: FloatColumn) -> tuple[FloatColumn, FloatColumn]:
        """Return a gradient by slots as one by scores and one by finals."""
        return floats(gradient[self._arcs]), floats(gradient[self._ends] * self._is_final)

    @property
    def space_of_scores(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The space of each score."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @property
    def space_of_finals(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The space of each final score."""
        counts = [
            problem.slots - size for problem, size in zip(self.problems, self.sizes, strict=True)
        ]
        return np.repeat(np.arange(len(self.sizes)), counts)

    @cached_property
    def feature_blocks(self) -> list[FeatureMatrix]:
        """The features of the slots of each space, in the columns of :attr:`names`."""
        column = {name: place for place, name in enumerate(self.names)}
        return [
            widen_rows(each.features, each.space.feature_names, column, each.slots)
            for each in self.problems
        ]

    def weighted(self, slots: FloatColumn, weights: FloatColumn) -> FloatColumn:
        """Return the scores of slots with those that weights of features give added."""
        parts = [block @ weights for block in self.feature_blocks]
        found = floats(slots + np.concatenate(parts))
        if not np.isfinite(found).all():
            raise OptionError("features times weights overflow")
        return found

    def feature_gradients(self, gradient: FloatColumn) -> FloatColumn:
        """Return a gradient by slots as one by the weights of features, a row for each space."""
        return floats(
            [block.T @ self.own(place, gradient) for place, block in enumerate(self.feature_blocks)]
        )

    def own(self, place: int, packed: FloatColumn) -> FloatColumn:
        """Return the part of one space."""
        begin, end = self._offset[place : place + 2]
        return floats(packed[begin:end])

    def risk(self, slots: FloatColumn, how: Estimation, estimator: Estimator = "exact") -> Values:
        """Return the expected metric of each space, in the metric's own direction.

        Over all paths (``exact``; beyond the budget ``how`` says what), the ``k`` best, or as many
        random ones, which are unbiased. Of a list always over all entries.
        """
        if estimator not in get_args(Estimator):
            known = ", ".join(get_args(Estimator))
            raise OptionError(f"estimator is one of {known}, not {estimator!r}")
        if estimator == "exact" and how.beyond == "raise":
            _, mean, gradient, _ = self._expectations(slots, how.temperature)
            return Values(mean, gradient)

        def one(place: int) -> tuple[float, FloatColumn]:
            problem, score = self.problems[place], self.own(place, slots)
            scale = problem.scale(score, how.temperature)
            space: Any = problem.rescore(score)
            if estimator == "exact" or problem.is_list:
                within = problem.list_substitutes(score, how, (how.seed, place))
                if within is None:
                    exact = expectation(problem.exact_graph(), score, scale=scale)
                    return exact.mean, exact.gradient
                some = within
            elif estimator == "kbest":
                some = best_list(space, problem.evaluator, how.k)
            else:
                rng = np.random.default_rng((how.seed, place))
                some = draw_list(space, problem.evaluator, how.samples, rng, scale)
            found = list_expectation(some, score, scale=scale)
            return found.mean, found.gradient

        places = range(len(self.problems))
        if self._workers == 1:
            found = list(map(one, places))
        else:
            with ThreadPoolExecutor(self._workers) as pool:
                found = list(pool.map(one, places))
        means, gradients = zip(*found, strict=True)
        return Values(floats(means), floats(np.concatenate(gradients)))

    def softmax_margin(
        self, slots: FloatColumn, cost_scale: float, towards: Literal["oracle", "hope"]
    ) -> Values:
        """Return the softmax-margin loss of each space."""
        sign = quality(self.problems[0].evaluator.metric, 1.0)
        total, _, _, count = self._expectations(slots, 1.0, -sign * cost_scale)
        use, values = self.targets(slots, cost_scale if towards == "hope" else None)
        loss = total + sign * cost_scale * values - self._sums(use * slots)
        return Values(floats(loss), floats(count - use))

    def perceptron(
        self, slots: FloatColumn, scale: float | None, towards: Literal["oracle", "hope"]
    ) -> Values:
        """Return by how much the best path of each space scores higher than its target."""
        use, _ = self.targets(slots, scale if towards == "hope" else None)
        rivals = [
            self._use(place, self._best(place, self.own(place, slots)))
            for place in range(len(self.problems))
        ]
        apart = np.concatenate(rivals) - use
        return Values(self._sums(apart * slots), floats(apart))

    def targets(self, slots: FloatColumn, scale: float | None) -> tuple[FloatColumn, FloatColumn]:
        """Return how often the path to move towards uses each slot, and its metric, of each space.

        The path of the best metric if ``scale`` is None, else of the best score plus scaled metric.
        """
        places = range(len(self.problems))
        chosen: dict[int, Any] = {}
        graphs: list[int] = []
        values = np.zeros(len(self.problems))
        for place in places:
            problem, own = self.problems[place], self.own(place, slots)
            if isinstance(problem.space, NBest):
                metrics = problem.exact_graph().gain
                objective = quality(problem.evaluator.metric, 1.0) * metrics
                if scale is not None:
                    objective = own + scale * objective
                entry = find_first_best(problem.space.replaced(score=own), floats(objective))
                chosen[place], values[place] = entry, metrics[entry]
            elif scale == 0.0:
                chosen[place] = self._best(place, own)
            else:
                graphs.append(place)
        if graphs:
            spaces: list[Any] = [
                self.problems[place].rescore(self.own(place, slots)) for place in graphs
            ]
            found = find_oracles(
                spaces, [self.problems[place].evaluator for place in graphs],
                Search(workers=self._workers),
                model_weight=0.0 if scale is None else 1.0 / scale,
            )  # fmt: skip
            chosen.update(zip(graphs, [each.hypothesis for each in found], strict=True))
        for place, each in chosen.items():
            if isinstance(each, Hypothesis):
                values[place] = self.problems[place].evaluator.score(each.tokens)
        use = np.concatenate([self._use(place, chosen[place]) for place in places])
        return floats(use), floats(values)

    def _best(self, place: int, own: FloatColumn) -> Any:
        problem = self.problems[place]
        space = problem.rescore(own)
        return find_first_best(space, own) if isinstance(space, NBest) else best(space)

    def _use(self, place: int, chosen: Any) -> FloatColumn:
        """Return how often a path, or the one entry, uses each slot of its space."""
        problem = self.problems[place]
        use = np.zeros(problem.slots)
        if not isinstance(chosen, Hypothesis):
            use[chosen] = 1.0
            return floats(use)
        arcs = list(chosen.arcs)
        np.add.at(use, arcs, 1.0)
        space = problem.space
        if isinstance(space, Lattice):
            use[space.num_arcs + (space.dst[arcs[-1]] if arcs else space.start)] = 1.0
        return floats(use)

    def _sums(self, packed: FloatColumn) -> FloatColumn:
        """Return the sum of each space's slots."""
        places = range(len(self.problems))
        return floats([float(self.own(place, packed).sum()) for place in places])

    def _expectations(
        self, slots: FloatColumn, temperature: float, tilt: float = 0.0
    ) -> tuple[FloatColumn, FloatColumn, FloatColumn, FloatColumn]:
        graphs = [problem.exact_graph() for problem in self.problems]
        scale = self.problems[0].scale(slots, temperature)
        total, mean, gradient, count = _native.expectations(
            [graph.columns for graph in graphs], self._offset, slots, scale, tilt, self._workers
        )
        base = floats([graph.base for graph in graphs])
        return floats(total + tilt * base), floats(mean + base), floats(gradient), floats(count)
