"""The search of forests for the sentence that is best under a metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fstmetrics import CompiledEvaluator
from lattices.arrays import IntColumn, ints
from lattices.engines import ENGINES
from lattices.engines.forest_characters import forest_to_characters
from lattices.engines.forest_kernel import ENGINE
from lattices.errors import EngineError
from lattices.spaces import Forest, Hypothesis


class PreparedForest(NamedTuple):
    """A forest in the units of a metric, and the way back to the original edges."""

    forest: Forest
    origin: IntColumn | None = None

    def original(self, edges: IntColumn) -> list[int]:
        """Return a derivation of the prepared forest as one of the original."""
        found = edges if self.origin is None else self.origin[edges]
        numbers: list[int] = found.tolist()
        return numbers


def prepare_forest(forest: Forest, evaluator: CompiledEvaluator) -> PreparedForest:
    """Return the forest in the units of a metric: words, or characters.

    Examples
    --------
    >>> from fstmetrics import CER
    >>> forest = Forest.from_edges([(0, [], ["a", "b"])])
    >>> prepare_forest(forest, CER().against(["ab"])).forest.vocabulary.decode([1, 2, 3])
    (' ', 'a', 'b')
    """
    if not getattr(evaluator.metric, "characters", False):
        return PreparedForest(forest)
    spaces = getattr(evaluator.metric, "spaces", True)
    return PreparedForest(*forest_to_characters(forest, spaces))


class FoundDerivation(NamedTuple):
    """A sentence of a forest, whether it is proven to be the best, and who found it."""

    hypothesis: Hypothesis
    exact: bool
    engine: str


def best_derivations(
    forests: Sequence[Forest],
    evaluators: Sequence[CompiledEvaluator],
    *,
    model_weight: float = 0.0,
    engine: str = "auto",
    workers: int = 1,
) -> list[FoundDerivation]:
    """Return the derivation of each forest that is best under its metric.

    Parameters
    ----------
    forests, evaluators
        As many of one as of the other.
    model_weight : float
        Weight of the model score.
    engine : {"auto", "kernel"}
    workers : int
        Threads for the kernel.

    Raises
    ------
    EngineError
        If the engine cannot search a forest with such a machine.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> forest = Forest.from_edges(
    ...     [(0, [], ["cat"]), (0, [], ["dog"]), (1, [0], ["the", 0]), (1, [0], [0])]
    ... )
    >>> found, = best_derivations([forest], [WER().against(["the dog"])])
    >>> found.hypothesis.text, found.hypothesis.arcs, found.exact
    ('the dog', (2, 1), True)
    """
    if engine != "auto" and ENGINES.get(engine).name != ENGINE.name:
        raise EngineError(f"engine {engine!r} searches lattices; for forests there is the kernel")
    prepared = [
        prepare_forest(forest, evaluator)
        for forest, evaluator in zip(forests, evaluators, strict=True)
    ]
    machines = [
        evaluator.machine(
            units.forest.vocabulary, ints(np.unique(units.forest.symbol[units.forest.symbol > 0]))
        )
        for units, evaluator in zip(prepared, evaluators, strict=True)
    ]
    found = ENGINE.best(
        [units.forest for units in prepared], machines, model_weight=model_weight, workers=workers
    )
    return [
        FoundDerivation(
            forest.hypothesis(units.original(each.arcs)), machine.relation == "exact", ENGINE.name
        )
        for forest, units, machine, each in zip(forests, prepared, machines, found, strict=True)
    ]
