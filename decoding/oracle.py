"""Oracles: the best, the worst and the k best sentences of a space under a metric."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np

from decoding.forest_oracle import best_derivations
from fstmetrics import (
    CompiledEvaluator,
    Edit,
    Evaluator,
    has_machine,
    nbest_stats,
    quality,
    scores_of,
)
from fstmetrics.machines import Machine
from fstmetrics.metric import PreparedLattice
from lattices.algorithms import density_masks, k_best, max_marginals, subset
from lattices.algorithms.counting import words_of_best
from lattices.algorithms.paths import no_complete_path
from lattices.arrays import FloatColumn
from lattices.engines import choose
from lattices.engines.ranked import best_sentences, worst_sentences
from lattices.engines.row_search import cut_lowest_path, lowest_path
from lattices.engines.rows import RowMachine
from lattices.errors import OptionError
from lattices.spaces import Forest, Hypothesis, Lattice, NBest, Space

#: prefixes that a search over rows may keep before it settles for less than a proof
DEFAULT_BUDGET = 1_000_000
#: sentences that stand in for a lattice whose rows are beyond the budget
_STAND_INS = 1000


@dataclass(frozen=True)
class Oracle:
    """A sentence chosen for its metric.

    Attributes
    ----------
    hypothesis : Hypothesis
        The sentence with its model score, its features and its path.
    score : float
        The metric of the sentence, computed by the metric itself.
    stats : float64 column
        Its statistics; their sum over segments gives the corpus score.
    reference : int
        The reference it was scored against; -1 if the metric does not tell.
    edits : tuple of Edit
        The alignment to that reference; empty if the metric has none.
    exact : bool
        Whether no sentence of the space is better (or worse, where the worst was asked for).
    engine : str
        Who found it: an engine, ``product`` for the k best, ``rows`` for the worst, or
        ``scorer`` where every sentence of a list was scored.
    """

    hypothesis: Hypothesis
    score: float
    stats: FloatColumn
    reference: int
    edits: tuple[Edit, ...]
    exact: bool
    engine: str

    @property
    def tokens(self) -> tuple[str, ...]:
        """The words."""
        return self.hypothesis.tokens

    @property
    def text(self) -> str:
        """The words, joined by blanks."""
        return self.hypothesis.text


@overload
def oracle(
    space: Space,
    evaluator: Evaluator,
    *,
    k: None = None,
    worst: bool = False,
    model_weight: float = 0.0,
    engine: str = "auto",
    budget: int = DEFAULT_BUDGET,
) -> Oracle: ...
@overload
def oracle(
    space: Space,
    evaluator: Evaluator,
    *,
    k: int,
    worst: bool = False,
    model_weight: float = 0.0,
    engine: str = "auto",
    budget: int = DEFAULT_BUDGET,
) -> list[Oracle]: ...
def oracle(
    space: Space,
    evaluator: Evaluator,
    *,
    k: int | None = None,
    worst: bool = False,
    model_weight: float = 0.0,
    engine: str = "auto",
    budget: int = DEFAULT_BUDGET,
) -> Oracle | list[Oracle]:
    """Return the sentence of a space that is best under a metric, or the ``k`` best.

    What is maximised is ``metric + model_weight * model score``, with an error rate negated
    so that higher is better. With ``worst`` it is minimised; the worst with a negative
    ``model_weight`` is fear, the sentence that the model likes and the metric does not.
    Ties go to the higher model score, then to the smaller sentence in the order of its
    words, then to the smaller arc numbers, on every engine; but with soft matches the
    ``openfst`` engine, which has single precision, may choose another of nearly equal paths.

    The best of a lattice takes one intersection, and the ``k`` best no more than that in
    kind; both are always exact. The worst goes through rows (:mod:`lattices.engines.rows`)
    and is exact within ``budget``; beyond it the result says ``exact=False``.

    Parameters
    ----------
    space : Lattice, NBest or Forest
        Of a forest the best sentence is found, not the k best or the worst.
    evaluator : Evaluator
        ``metric.against(references)``.
    k : int, optional
        Return a list of that many sentences, each once, best first; fewer if there are fewer.
    worst : bool
        Look for the worst instead.
    model_weight : float
        Weight of the model score.
    engine : {"auto", "kernel", "openfst"}
        Who intersects; ``auto`` is the kernel wherever it can run.
    budget : int
        How many prefixes the search for the worst may keep.

    Examples
    --------
    >>> from fstmetrics import GRR
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -0.1), (0, 1, "the", -0.9), (1, 2, "hat", -0.2), (1, 2, "cat", -0.7)],
    ...     finals=[2],
    ... )
    >>> evaluator = GRR().against(["the cat"])
    >>> found = oracle(lattice, evaluator)
    >>> found.text, found.score, found.exact
    ('the cat', 1.0, True)
    >>> [(each.text, each.score) for each in oracle(lattice, evaluator, k=2, worst=True)]
    [('a hat', 0.0), ('a cat', 0.3333333333333333)]
    """
    if k is not None and k < 1:
        raise OptionError(f"k is at least 1, not {k}")
    if not np.isfinite(model_weight):
        raise OptionError(f"a model weight is a finite number, not {model_weight}")
    if isinstance(space, NBest):
        found = _of_nbest(space, evaluator, k or 1, worst, model_weight)
    elif not has_machine(evaluator):
        raise OptionError(
            f"{evaluator.metric} has no machine and cannot search a lattice; "
            "take its n-best list (lattices.k_best)"
        )
    elif isinstance(space, Forest):
        if worst or k not in (None, 1):
            raise OptionError(
                f"of forest {space.id!r} the best sentence is searched for, not the k best "
                "or the worst; take its n-best list"
            )
        best = best_derivations([space], [evaluator], model_weight=model_weight, engine=engine)
        found = [_judged(each.hypothesis, evaluator, each.exact, each.engine) for each in best]
    elif not worst and k in (None, 1):
        found = oracles([space], [evaluator], model_weight=model_weight, engine=engine)
    elif worst:
        found = _worst(space, evaluator, k or 1, model_weight, budget)
    else:
        found = _k_best(space, evaluator, k or 1, model_weight)
    return found if k is not None else found[0]


def oracles(
    lattices: Sequence[Lattice],
    evaluators: Sequence[CompiledEvaluator],
    *,
    model_weight: float = 0.0,
    engine: str = "auto",
    workers: int = 1,
) -> list[Oracle]:
    """Return the oracle of each lattice of a batch, in one call of the engine.

    Parameters
    ----------
    lattices, evaluators
        As many of one as of the other.
    workers : int
        Threads for the kernel.

    Raises
    ------
    SpaceError
        If a lattice has no complete path.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1])
    >>> [found.text for found in oracles([lattice] * 2, [WER().against([w]) for w in "ab"])]
    ['a', 'b']
    """
    if len(lattices) != len(evaluators):
        raise OptionError(f"{len(lattices)} lattices, but {len(evaluators)} evaluators")
    compiled = [
        _compiled(lattice, evaluator)
        for lattice, evaluator in zip(lattices, evaluators, strict=True)
    ]
    by_engine: dict[Any, list[int]] = {}
    for index, (prepared, machine) in enumerate(compiled):
        by_engine.setdefault(choose(engine, prepared.lattice, machine), []).append(index)
    results: dict[int, Oracle] = {}
    for chosen, members in by_engine.items():
        found = chosen.best(
            [compiled[index][0].lattice for index in members],
            [compiled[index][1] for index in members],
            model_weight=model_weight,
            workers=workers,
        )
        for index, path in zip(members, found, strict=True):
            if path is None:
                raise no_complete_path(lattices[index])
            arcs = compiled[index][0].original(path.arcs)
            exact = compiled[index][1].relation == "exact"
            results[index] = _judged(
                lattices[index].hypothesis(arcs), evaluators[index], exact, chosen.name
            )
    return [results[index] for index in range(len(lattices))]


def _compiled(lattice: Lattice, evaluator: CompiledEvaluator) -> tuple[PreparedLattice, Machine]:
    prepared = evaluator.prepare(lattice)
    return prepared, evaluator.machine(prepared.lattice.vocabulary, prepared.lattice.label)


def _judged(hypothesis: Hypothesis, evaluator: Evaluator, exact: bool, engine: str) -> Oracle:
    """Score a sentence by the metric itself: machines search, scorers report."""
    judge = getattr(evaluator, "judge", None)
    if judge is None:
        stats = evaluator.stats(hypothesis.tokens)
        return Oracle(hypothesis, evaluator.metric.score(stats), stats, -1, (), exact, engine)
    verdict = judge(hypothesis.tokens)
    return Oracle(
        hypothesis, verdict.score, verdict.stats, verdict.reference, verdict.edits, exact, engine
    )


def _k_best(
    lattice: Lattice, evaluator: CompiledEvaluator, k: int, model_weight: float
) -> list[Oracle]:
    prepared, machine = _compiled(lattice, evaluator)
    paths = best_sentences(prepared.lattice, machine.automaton, k, model_weight / machine.unit)
    exact = machine.relation == "exact"
    return [
        _judged(lattice.hypothesis(prepared.original(path)), evaluator, exact, "product")
        for path in paths
    ]


def _worst(
    lattice: Lattice, evaluator: CompiledEvaluator, k: int, model_weight: float, budget: int
) -> list[Oracle]:
    prepared, machine = _compiled(lattice, evaluator)
    rows = RowMachine(machine.automaton, prepared.lattice.num_states)
    weight = model_weight / machine.unit
    exact = machine.relation == "exact"
    if k == 1:
        found = lowest_path(prepared.lattice, rows, model_weight=weight, budget=budget)
        if found is None:
            exact = False
            widest = max(1, budget // prepared.lattice.num_states)
            found = cut_lowest_path(prepared.lattice, rows, model_weight=weight, widest=widest)
        paths = [found[1]]
    else:
        ranked = worst_sentences(prepared.lattice, rows, k, weight, budget)
        if ranked is None:
            some = k_best(lattice, max(k, _STAND_INS), distinct=True)
            entries = [(each.tokens, each.score) for each in some]
            scores = [evaluator.score(each.tokens) for each in some]
            chosen = _ranked(entries, scores, evaluator, k, True, model_weight)
            return [_judged(some[place], evaluator, False, "scorer") for place in chosen]
        paths = list(ranked)
    return [
        _judged(lattice.hypothesis(prepared.original(path)), evaluator, exact, "rows")
        for path in paths
    ]


def _of_nbest(
    nbest: NBest, evaluator: Evaluator, k: int, worst: bool, model_weight: float
) -> list[Oracle]:
    if not len(nbest):
        raise OptionError(f"n-best list {nbest.id!r} is empty")
    entries = [(nbest.tokens(entry), score) for entry, score in enumerate(nbest.score.tolist())]
    scores = scores_of(evaluator.metric, nbest_stats(evaluator, nbest)).tolist()
    chosen = _ranked(entries, scores, evaluator, k, worst, model_weight)
    return [_judged(nbest[entry], evaluator, True, "scorer") for entry in chosen]


def _ranked(
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


class DensityPoint(NamedTuple):
    """One point of a density curve.

    Attributes
    ----------
    density : float
        Arcs per word of the 1-best that the pruned lattice has, at most what was asked for.
    arcs : int
    oracle : Oracle
    """

    density: float
    arcs: int
    oracle: Oracle


def density_curve(
    lattice: Lattice,
    evaluator: CompiledEvaluator,
    densities: Iterable[float],
    *,
    engine: str = "auto",
) -> list[DensityPoint]:
    """Return the oracle of the lattice pruned to each density: what a larger lattice buys.

    All prunings come from one forward-backward pass; each keeps the arcs whose best
    complete path is best. Cost: one intersection a density.

    Parameters
    ----------
    lattice : Lattice
    evaluator : CompiledEvaluator
    densities : iterable of float
        Arcs per word of the 1-best; the point of a density beyond the lattice's own is the
        whole lattice.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", 0.0), (0, 1, "the", -1.0), (1, 2, "cat", 0.0), (1, 2, "hat", -2.0)],
    ...     finals=[2],
    ... )
    >>> [(point.density, point.oracle.score)
    ...  for point in density_curve(lattice, WER().against(["the hat"]), [1, 1.5, 9])]
    [(1.0, 1.0), (1.5, 0.5), (2.0, 0.0)]
    """
    asked = list(densities)
    losses = max_marginals(lattice)
    pruned = [subset(lattice, *density_masks(lattice, wanted, losses)) for wanted in asked]
    found = oracles(pruned, [evaluator] * len(pruned), engine=engine)
    words = words_of_best(lattice)
    return [
        DensityPoint(part.num_arcs / words, part.num_arcs, point)
        for part, point in zip(pruned, found, strict=True)
    ]
