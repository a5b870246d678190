"""The k best and the worst sentences of lattices, forests and lists under a metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fstmetrics import CompiledEvaluator, Evaluator, nbest_stats, quality, scores_of
from fstmetrics.machines import Machine
from fstmetrics.metric import PreparedLattice
from lattices.algorithms import k_best
from lattices.engines.ranked import best_sentences, worst_sentences
from lattices.engines.row_search import cut_lowest_path, lowest_path
from lattices.engines.rows import MEMORY, RowMachine
from lattices.errors import OptionError
from lattices.spaces import Forest, Hypothesis, Lattice, NBest

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
        from decoding.forest_ranked import ranked_derivations

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
    entries = [(each.tokens, each.score) for each in some]
    scores = [evaluator.score(each.tokens) for each in some]
    chosen = ranked_places(entries, scores, evaluator, k, worst, model_weight)
    return [RankedSentence(some[place], False, "scorer") for place in chosen]


def compiled(lattice: Lattice, evaluator: CompiledEvaluator) -> tuple[PreparedLattice, Machine]:
    """Return a lattice in the units of a metric, and the metric's machine over its words."""
    prepared = evaluator.prepare(lattice)
    return prepared, evaluator.machine(prepared.lattice.vocabulary, prepared.lattice.label)


def _k_best(
    lattice: Lattice, evaluator: CompiledEvaluator, k: int, model_weight: float
) -> list[RankedSentence]:
    prepared, machine = compiled(lattice, evaluator)
    paths = best_sentences(prepared.lattice, machine.automaton, k, model_weight / machine.unit)
    exact = machine.relation == "exact"
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
    exact = machine.relation == "exact"
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
        ranked = worst_sentences(prepared.lattice, rows, k, weight, budget, memory=memory)
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
    entries = [(nbest.tokens(entry), score) for entry, score in enumerate(nbest.score.tolist())]
    scores = scores_of(evaluator.metric, nbest_stats(evaluator, nbest)).tolist()
    chosen = ranked_places(entries, scores, evaluator, k, worst, model_weight)
    return [RankedSentence(nbest[entry], True, "scorer") for entry in chosen]


def ranked_places(
    entries: Sequence[tuple[tuple[str, ...], float]],
    scores: Sequence[float],
    evaluator: Evaluator,
    k: int,
    worst: bool,
    model_weight: float,
) -> list[int]:
    """Return the places of the k best or worst sentences; of equal ones the best entry counts."""
    sign = 1.0 if worst else -1.0
    first: dict[tuple[str, ...], tuple[float, float, tuple[str, ...], int]] = {}
    for place, ((tokens, model), score) in enumerate(zip(entries, scores, strict=True)):
        worth = quality(evaluator.metric, score) + model_weight * model
        key = (sign * worth, -model, tokens, place)
        first[tokens] = min(key, first.get(tokens, key))
    return [place for *_, place in sorted(first.values())[:k]]
