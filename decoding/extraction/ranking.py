"""The k best and the worst sentences of lattices, forests and lists under a metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from decoding.extraction.search import OUR_ENGINES, Search
from fstmetrics import Evaluator
from fstmetrics.contract import ROUNDING, CompiledEvaluator, compile_for, nbest_values, rounding_of
from fstmetrics.references import Reference
from lattices._native import check_sums, path_list
from lattices.algorithms import k_best
from lattices.arrays import FloatColumn, IntColumn
from lattices.errors import EngineError, argument
from lattices.intersection import RankingEngine, choose, kernel
from lattices.spaces import Forest, Hypothesis, Lattice, NBest
from lattices.spaces.arguments import check_filled

#: name of the label search in results (:mod:`decoding.extraction.bleu_search`)
LABELS = "labels"
#: length of the k-best list used where the rows of a space are beyond the budget
KBEST_FALLBACK = 1000
#: the most sentences of reference lattices that are searched for as references of their own
MOST_REFERENCE_SENTENCES = 64


class RankedSentence(NamedTuple):
    """A sentence, whether it is proven to be in its place, and who found it."""

    hypothesis: Hypothesis
    exact: bool
    engine: str
    #: by how much the value of another may surpass it, if something is known
    gap: float | None = None


def rank_sentences(
    space: Lattice | Forest,
    evaluator: CompiledEvaluator,
    k: int,
    search: Search,
    *,
    worst: bool,
    model_weight: float,
) -> list[RankedSentence]:
    """Return the k best or worst sentences of a lattice or forest, each once.

    Beyond the budget of prefixes and of bytes, they are the best or worst of the ``KBEST_FALLBACK``
    sentences that the model likes best, and labelled as such.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -0.1), (0, 1, "the", -0.9)], finals=[1])
    >>> found = rank_sentences(
    ...     lattice, WER().against(["the"]), 2, Search(budget=100), worst=False, model_weight=0.0
    ... )
    >>> [(each.hypothesis.text, each.exact, each.engine) for each in found]
    [('the', True, 'product'), ('a', True, 'product')]
    """
    found = _rank(space, evaluator, k, search, worst, model_weight)
    spelt = (
        expand_reference_lattices(evaluator)
        if isinstance(space, Forest) and not worst
        else evaluator
    )
    if found is None and spelt is not evaluator:
        # the product of a forest is that with sentences
        found = _rank(space, spelt, k, search, worst, model_weight)
    if found is not None:
        return found
    return kbest_fallback(space, evaluator, k, worst=worst, model_weight=model_weight)


def kbest_fallback(
    space: Lattice | Forest, evaluator: Evaluator, k: int, *, worst: bool, model_weight: float
) -> list[RankedSentence]:
    """Return the best or worst of the sentences that the model likes best."""
    some = k_best(space, max(k, KBEST_FALLBACK), distinct=True)
    listed = NBest.from_hypotheses(some)
    chosen = rank_places(listed, evaluator, k, worst=worst, model_weight=model_weight)
    return [RankedSentence(some[place], False, "scorer") for place in chosen]


def _rank(
    space: Lattice | Forest,
    evaluator: CompiledEvaluator,
    k: int,
    search: Search,
    worst: bool,
    model_weight: float,
) -> list[RankedSentence] | None:
    """Return what an engine finds, or None beyond the budget."""
    if isinstance(space, Forest):
        check_sums(space.columns)
    prepared, machine = compile_for(space, evaluator)
    engine = search.engine
    chosen = kernel.ENGINE if engine == "auto" else choose(engine, prepared.space, machine)
    if not isinstance(chosen, RankingEngine):
        raise EngineError(
            f"{argument('engine')} {engine} finds the best sentence alone; the k best and the "
            f"worst are found by {' or '.join(OUR_ENGINES)}"
        )
    rank = chosen.worst if worst else chosen.k_best
    found = rank(
        (prepared.space, machine),
        k,
        model_weight=model_weight,
        budget=search.budget,
        memory=search.memory,
        words=prepared.words(space),
    )
    if found is None:
        return None
    exact = found.proven and machine.proves
    # a machine that is like the metric bounds nothing
    gap = None if exact or not machine.proves else found.gap
    return [
        RankedSentence(space.hypothesis(prepared.original(path)), exact, found.method, gap)
        for path in found.paths
    ]


def expand_reference_lattices(evaluator: CompiledEvaluator) -> CompiledEvaluator:
    """Return the evaluator with the sentences of reference lattices, if they are few.

    The best of a reference lattice's sentences counts, as does the best of the references; and
    forests are searched with sentences.
    """
    lattices = [each for each in evaluator.references if isinstance(each, Lattice)]
    from lattices.algorithms import path_count

    counts = [path_count(lattice) for lattice in lattices]
    if not counts or min(counts) == 0 or sum(counts) > MOST_REFERENCE_SENTENCES:
        return evaluator
    spelled: list[Reference] = []
    for reference in evaluator.references:
        if isinstance(reference, Lattice):
            spelled.extend(dict.fromkeys(path.tokens for path in reference.paths()))
        else:
            spelled.append(reference)
    return cast(CompiledEvaluator, evaluator.metric.against(spelled))


class Sentences(Sequence[Hypothesis]):
    """Sentences of a space, each made when it is asked for; ``nbest`` has their words."""

    def __init__(self, nbest: NBest, make: Callable[[int], Hypothesis]) -> None:
        self.nbest, self._make = nbest, make

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.nbest)

    def __getitem__(self, place: Any) -> Any:
        """Return one of them, or some."""
        if isinstance(place, slice):
            return [self._make(each) for each in range(len(self))[place]]
        return self._make(range(len(self))[place])


def list_paths(lattice: Lattice, arcs: IntColumn, offset: IntColumn) -> Sentences:
    """Return the sentences of paths, which stand one after the other."""
    nbest = NBest(
        lattice.vocabulary,
        *path_list(lattice.columns, None, arcs, offset)[:3],
        id=lattice.id,
        references=lattice.references,
    )
    bounds = offset.tolist()
    return Sentences(
        nbest, lambda place: lattice.hypothesis(arcs[bounds[place] : bounds[place + 1]].tolist())
    )


def rank_entries(
    nbest: NBest, evaluator: Evaluator, k: int, *, worst: bool, model_weight: float
) -> list[RankedSentence]:
    """Return the k best or worst sentences of an n-best list, each once, by scoring all."""
    check_filled([nbest])
    chosen = rank_places(nbest, evaluator, k, worst=worst, model_weight=model_weight)
    return [RankedSentence(nbest[entry], True, "scorer") for entry in chosen]


def rank_places(
    nbest: NBest,
    evaluator: Evaluator,
    k: int = 1,
    *,
    worst: bool = False,
    model_weight: float = 0.0,
    stats: FloatColumn | None = None,
) -> list[int]:
    """Return the places of the k best or worst sentences; of equal ones the best entry counts."""
    objective, rounding = nbest_values(evaluator, nbest, stats)
    if model_weight:
        objective = objective + model_weight * nbest.score
        if rounding_of(evaluator):
            # a fraction and a model score do not add up without rounding, as whole units do
            rounding = ROUNDING * max(1.0, float(np.abs(objective).max(initial=0.0)))
    first: dict[tuple[str, ...], int] = {}
    for place in ranking(-objective if worst else objective, nbest.score, rounding):
        if len(first) == k:
            break
        first.setdefault(nbest.tokens(place), place)
    return list(first.values())


def ranking(objective: FloatColumn, model: FloatColumn, rounding: float) -> list[int]:
    """Return all places, the highest objective first.

    Of those that differ by no more than rounding the higher model score comes first, and then the
    first place.
    """
    order = np.argsort(-objective, kind="stable")
    falls = -np.diff(objective[order], prepend=objective[order[:1]])
    group = np.empty(len(order), np.int64)
    group[order] = np.cumsum(falls > rounding)
    places: list[int] = np.lexsort((-model, group)).tolist()
    return places
