"""The k best and the worst sentences of a forest under a metric."""

from __future__ import annotations

import numpy as np

from decoding.forest_oracle import FoundDerivation, PreparedForest, prepare_forest
from fstmetrics import CompiledEvaluator
from fstmetrics.machines import Machine
from lattices import _native
from lattices._native import check_sums
from lattices.arrays import IntColumn, ints
from lattices.engines.forest_kernel import ENGINE
from lattices.engines.forest_ranked import best_forest_sentences
from lattices.engines.forest_rows import ranked_forest_sentences
from lattices.engines.forest_rows_lattice import ranked_lattice_sentences
from lattices.engines.rows import MEMORY
from lattices.spaces import Forest

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

    Rows (:mod:`lattices.engines.forest_rows`) answer both. Where a forest has too many
    matrices, the k best come from the intersection with the machine
    (:mod:`lattices.engines.forest_ranked`), which always answers for references that are
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
