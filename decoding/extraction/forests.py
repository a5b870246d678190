"""The search of forests for the sentence that is best under a metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fstmetrics import CompiledEvaluator
from fstmetrics.machine import Machine
from fstmetrics.references import Reference
from lattices import _native
from lattices._native import check_sums
from lattices.algorithms import path_count
from lattices.algorithms.characters import forest_to_characters
from lattices.arrays import IntColumn, ints
from lattices.intersection import ENGINES
from lattices.intersection.engine import Found
from lattices.intersection.expanded import ranked_lattice_sentences, search_expanded
from lattices.intersection.forest_rows import ranked_forest_sentences
from lattices.intersection.forests import ENGINE, best_forest_sentences
from lattices.intersection.rows import MEMORY
from lattices.spaces import Forest, Hypothesis, Lattice

#: the most sentences of reference lattices that are searched for as references of their own
MOST_REFERENCE_SENTENCES = 64


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
    ('a', 'b', ' ')
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

    A reference that is a lattice stands for its sentences, up to
    :data:`MOST_REFERENCE_SENTENCES` of them. Beyond that, and with any other engine than the
    kernel, the forest is expanded to a lattice (:mod:`lattices.intersection.expanded`).

    Parameters
    ----------
    forests, evaluators
        As many of one as of the other.
    model_weight : float
        Weight of the model score.
    engine : {"auto", "kernel", "openfst"}
        Who searches; ``auto`` is the kernel.
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
    >>> best_derivations([forest], [WER().against(["the dog"])], engine="openfst")[0].engine
    'openfst'
    """
    name = ENGINE.name if engine == "auto" else ENGINES.get(engine).name
    for forest in forests:
        check_sums(forest.columns)
    problems = [
        _compiled(forest, evaluator, name)
        for forest, evaluator in zip(forests, evaluators, strict=True)
    ]
    searched = [
        index
        for index, problem in enumerate(problems)
        if name == ENGINE.name and ENGINE.can_run(problem.prepared.forest, problem.machine) is True
    ]
    found: dict[int, Found] = dict(
        zip(
            searched,
            ENGINE.best(
                [problems[index].prepared.forest for index in searched],
                [problems[index].machine for index in searched],
                model_weight=model_weight,
                workers=workers,
            ),
            strict=True,
        )
    )
    for index, (prepared, machine) in enumerate(problems):
        if index not in found:
            found[index] = search_expanded(
                prepared.forest, machine, ENGINES.get(name), model_weight=model_weight
            )
    return [
        FoundDerivation(
            forest.hypothesis(problem.prepared.original(found[index].arcs)),
            problem.machine.proves,
            name,
        )
        for index, (forest, problem) in enumerate(zip(forests, problems, strict=True))
    ]


class _Problem(NamedTuple):
    prepared: PreparedForest
    machine: Machine


def _compiled(forest: Forest, evaluator: CompiledEvaluator, engine: str) -> _Problem:
    prepared = prepare_forest(forest, evaluator)
    if engine == ENGINE.name:
        evaluator = _spelled_out(evaluator)
    symbol = prepared.forest.symbol
    words = ints(symbol[symbol > 0])
    return _Problem(prepared, evaluator.machine(prepared.forest.vocabulary, words))


def _spelled_out(evaluator: CompiledEvaluator) -> CompiledEvaluator:
    """Return the evaluator with the sentences of reference lattices, if they are few.

    The best of a reference lattice's sentences counts, as does the best of the references.
    """
    some = evaluator.references
    counts = [path_count(reference) for reference in some if isinstance(reference, Lattice)]
    if not counts or min(counts) == 0 or sum(counts) > MOST_REFERENCE_SENTENCES:
        return evaluator
    spelled: list[Reference] = []
    for reference in some:
        if isinstance(reference, Lattice):
            spelled.extend(dict.fromkeys(path.tokens for path in reference.paths()))
        else:
            spelled.append(reference)
    compiled: CompiledEvaluator = evaluator.metric.against(spelled)  # type: ignore[assignment]
    return compiled


#: pairs of a node and a matrix with which rows are the quicker way to the k best
QUICK_PAIRS = 20_000
#: states of a lattice that may stand for a forest which has too many matrices
MOST_STATES = 100_000


def ranked_derivations(
    forest: Forest,
    evaluator: CompiledEvaluator,
    k: int,
    *,
    worst: bool,
    model_weight: float,
    budget: int,
    memory: int = MEMORY,
) -> list[FoundDerivation] | None:
    """Return the k best or worst sentences of a forest, each once; None beyond the budget.

    Rows (:mod:`lattices.intersection.forest_rows`) answer both. Where a forest has too many
    matrices, the k best come from the intersection with the machine
    (:mod:`lattices.intersection.forests`), which always answers for references that are
    sentences; the others from the rows of the forest's lattice, if that is small.

    Parameters
    ----------
    budget : int
        How many pairs of a node and a matrix may be kept.
    memory : int
        How many bytes they may take.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> forest = Forest.from_edges(
    ...     [(0, [], ["cat"], 0.5), (0, [], ["dog"]), (1, [0], ["the", 0]), (1, [0], [0], 0.1)]
    ... )
    >>> evaluator = WER().against(["the dog"])
    >>> found = ranked_derivations(
    ...     forest, evaluator, 2, worst=True, model_weight=0.0, budget=100
    ... )
    >>> [(each.hypothesis.text, each.engine) for each in found]
    [('cat', 'rows'), ('the cat', 'rows')]
    """
    check_sums(forest.columns)
    units = prepare_forest(forest, evaluator)
    used = units.forest.symbol[units.forest.symbol > 0]
    machine = evaluator.machine(units.forest.vocabulary, ints(np.unique(used)))
    by_kernel = not worst and ENGINE.can_run(units.forest, machine) is True
    weight = model_weight / machine.unit
    words = None
    if units.origin is not None:
        words = ints(_native.words_said(units.forest.columns, forest.columns, units.origin))
    engine = "rows"
    found = ranked_forest_sentences(
        units.forest,
        machine.automaton,
        k,
        weight,
        min(budget, QUICK_PAIRS) if by_kernel else budget,
        worst=worst,
        words=words,
        memory=memory,
    )
    if found is None and by_kernel:
        engine = "product"
        found = best_forest_sentences(units.forest, machine, k, model_weight, words)
    elif found is None:
        engine = "lattice-rows"
        found = ranked_lattice_sentences(
            units.forest,
            machine.automaton,
            k,
            weight,
            budget,
            worst=worst,
            max_states=min(budget, MOST_STATES),
            words=words,
            memory=memory,
        )
    return None if found is None else _hypotheses(forest, units, machine, found, engine)


def _hypotheses(
    forest: Forest,
    units: PreparedForest,
    machine: Machine,
    found: list[IntColumn],
    engine: str,
) -> list[FoundDerivation]:
    exact = machine.proves
    return [
        FoundDerivation(forest.hypothesis(units.original(edges)), exact, engine) for edges in found
    ]
