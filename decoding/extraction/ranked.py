"""The k best and the worst sentences of lattices, forests and lists under a metric."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fstmetrics import CompiledEvaluator, Evaluator
from fstmetrics.contract import ROUNDING, PreparedLattice, nbest_values
from fstmetrics.machine import Machine
from lattices.algorithms import k_best
from lattices.arrays import FloatColumn, IntColumn, ints
from lattices.errors import OptionError
from lattices.intersection.ranked import best_sentences, worst_sentences
from lattices.intersection.rows import MEMORY, RowMachine, cut_lowest_path, lowest_path
from lattices.spaces import Forest, Hypothesis, Lattice, NBest

#: who finds sentences by labels (:mod:`decoding.extraction.labels`)
LABELS = "labels"
#: sentences that stand in for a space whose rows are beyond the budget
STAND_INS = 1000


class RankedSentence(NamedTuple):
    """A sentence, whether it is proven to be in its place, and who found it."""

    hypothesis: Hypothesis
    exact: bool
    engine: str


def ranked_sentences(
    space: Lattice | Forest,
    evaluator: CompiledEvaluator,
    k: int,
    *,
    worst: bool,
    model_weight: float,
    budget: int,
    memory: int = MEMORY,
) -> list[RankedSentence]:
    """Return the k best or worst sentences of a lattice or forest, each once.

    Beyond the budget of prefixes and of bytes, they are the best or worst of the ``STAND_INS``
    sentences that the model likes best, and labelled as such.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -0.1), (0, 1, "the", -0.9)], finals=[1])
    >>> found = ranked_sentences(
    ...     lattice, WER().against(["the"]), 2, worst=False, model_weight=0.0, budget=100
    ... )
    >>> [(each.hypothesis.text, each.exact, each.engine) for each in found]
    [('the', True, 'product'), ('a', True, 'product')]
    """
    if isinstance(space, Forest):
        from decoding.extraction.forests import ranked_derivations

        found = ranked_derivations(
            space,
            evaluator,
            k,
            worst=worst,
            model_weight=model_weight,
            budget=budget,
            memory=memory,
        )
        if found is not None:
            return [RankedSentence(*each) for each in found]
    elif worst:
        paths = _worst(space, evaluator, k, model_weight, budget, memory)
        if paths is not None:
            return paths
    else:
        return _k_best(space, evaluator, k, model_weight)
    some = k_best(space, max(k, STAND_INS), distinct=True)
    listed = NBest.from_hypotheses(some)
    chosen = ranked_places(listed, evaluator, k, worst=worst, model_weight=model_weight)
    return [RankedSentence(some[place], False, "scorer") for place in chosen]


def compiled(lattice: Lattice, evaluator: CompiledEvaluator) -> tuple[PreparedLattice, Machine]:
    """Return a lattice in the units of a metric, and the metric's machine over its words."""
    prepared = evaluator.prepare(lattice)
    return prepared, evaluator.machine(prepared.lattice.vocabulary, prepared.lattice.label)


def words_of(lattice: Lattice, prepared: PreparedLattice) -> IntColumn | None:
    """Return the word that each arc of a prepared lattice begins, if its labels are no words."""
    if prepared.origin is None:
        return None
    return ints(np.where(prepared.origin < 0, 0, lattice.label[prepared.origin]))


def _k_best(
    lattice: Lattice, evaluator: CompiledEvaluator, k: int, model_weight: float
) -> list[RankedSentence]:
    prepared, machine = compiled(lattice, evaluator)
    paths = best_sentences(
        prepared.lattice,
        machine.automaton,
        k,
        model_weight / machine.unit,
        words_of(lattice, prepared),
    )
    exact = machine.proves
    return [
        RankedSentence(lattice.hypothesis(prepared.original(path)), exact, "product")
        for path in paths
    ]


def _worst(
    lattice: Lattice,
    evaluator: CompiledEvaluator,
    k: int,
    model_weight: float,
    budget: int,
    memory: int,
) -> list[RankedSentence] | None:
    """Return the worst of a lattice; None if more than one are asked for beyond the budget."""
    prepared, machine = compiled(lattice, evaluator)
    rows = RowMachine(machine.automaton, prepared.lattice.num_states)
    weight = model_weight / machine.unit
    exact = machine.proves
    if k == 1:
        found = lowest_path(
            prepared.lattice, rows, model_weight=weight, budget=budget, memory=memory
        )
        if found is None:
            exact = False
            widest = max(1, budget // prepared.lattice.num_states)
            found = cut_lowest_path(
                prepared.lattice, rows, model_weight=weight, widest=widest, memory=memory
            )
        paths = [found[1]]
    else:
        words = words_of(lattice, prepared)
        ranked = worst_sentences(prepared.lattice, rows, k, weight, budget, words, memory=memory)
        if ranked is None:
            return None
        paths = list(ranked)
    return [
        RankedSentence(lattice.hypothesis(prepared.original(path)), exact, "rows") for path in paths
    ]


def ranked_entries(
    nbest: NBest, evaluator: Evaluator, k: int, *, worst: bool, model_weight: float
) -> list[RankedSentence]:
    """Return the k best or worst sentences of an n-best list, each once, by scoring all.

    Raises
    ------
    OptionError
        If the list is empty.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> nbest = NBest.from_hypotheses([Hypothesis(("a",), -1.0), Hypothesis(("the",), -2.0)])
    >>> found = ranked_entries(
    ...     nbest, WER().against(["the"]), 1, worst=True, model_weight=0.0
    ... )
    >>> found[0].hypothesis.text
    'a'
    """
    if not len(nbest):
        raise OptionError(f"n-best list {nbest.id!r} is empty")
    chosen = ranked_places(nbest, evaluator, k, worst=worst, model_weight=model_weight)
    return [RankedSentence(nbest[entry], True, "scorer") for entry in chosen]


def ranked_places(
    nbest: NBest, evaluator: Evaluator, k: int, *, worst: bool, model_weight: float
) -> list[int]:
    """Return the places of the k best or worst sentences; of equal ones the best entry counts."""
    worth, rounding = nbest_values(evaluator, nbest)
    if model_weight:
        worth = worth + model_weight * nbest.score
        if not getattr(evaluator, "rounded", False):
            # a fraction and a model score do not add up without rounding, as whole units do
            rounding = ROUNDING * max(1.0, float(np.abs(worth).max(initial=0.0)))
    first: dict[tuple[str, ...], int] = {}
    for place in ranking(-worth if worst else worth, nbest.score, rounding):
        if len(first) == k:
            break
        first.setdefault(nbest.tokens(place), place)
    return list(first.values())


def ranking(worth: FloatColumn, model: FloatColumn, rounding: float) -> list[int]:
    """Return all places, the highest worth first.

    Of those whose worth differs by no more than rounding the higher model score comes first, and
    then the first place.

    Examples
    --------
    >>> ranking(np.array([0.5, 0.9, 0.5 + 1e-15]), np.array([-1.0, -3.0, -2.0]), 1e-12)
    [1, 0, 2]
    """
    order = np.argsort(-worth, kind="stable")
    falls = -np.diff(worth[order], prepend=worth[order[:1]])
    group = np.empty(len(order), np.int64)
    group[order] = np.cumsum(falls > rounding)
    places: list[int] = np.lexsort((-model, group)).tolist()
    return places
