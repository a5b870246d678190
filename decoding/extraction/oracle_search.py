"""Oracles: the best, the worst and the k best sentences of a space under a metric."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from decoding._native import OracleTable, search_words
from decoding.extraction.results import Oracle as Oracle
from decoding.extraction.results import OracleBatch, views_of
from decoding.extraction.results import score_hypothesis as score_hypothesis
from decoding.extraction.search import OUR_ENGINES, SEARCH, Search, SearchOptions
from fstmetrics import Evaluator, Metric
from fstmetrics.contract import (
    EVALUATOR,
    EVALUATORS,
    ROUNDING,
    CompiledEvaluator,
    Prepared,
    abilities_of,
    compares_words,
    compile_for,
    has_machine,
    nbest_values,
    quality,
    rounding_of,
)
from fstmetrics.machine import Machine
from fstmetrics.vocabulary_warning import Overlap, VocabularyWarning, overlap
from lattices._native import check_sums
from lattices.algorithms import k_best
from lattices.algorithms.paths import explain_no_path
from lattices.errors import EngineError, OptionError, argument
from lattices.intersection import Engine, Found, choose
from lattices.registry import name_plugin
from lattices.spaces import Forest, Hypothesis, Lattice, NBest, Space
from lattices.spaces.arguments import (
    LATTICE,
    NUMBER,
    SPACE,
    SPACES,
    WHOLE,
    check_filled,
    takes,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from decoding.extraction.bleu_search import Labelled

#: outcomes of a native search of a space; the third: another engine is needed
_NO_PATH, _OVERFLOW = 1, 2


@takes(space=SPACE, evaluator=EVALUATOR, model_weight=NUMBER)
def oracle(
    space: Space,
    evaluator: Evaluator,
    *,
    model_weight: float = 0.0,
    **search: Unpack[SearchOptions],
) -> Oracle:
    """Return the sentence of a space that is best under a metric.

    What is maximised is ``metric + model_weight * model score``, with an error rate negated
    so that higher is better. Ties go to the higher model score; which of paths that are equal
    in both is taken is not said, but it is always the same one. With soft matches the
    ``openfst`` engine, which has single precision, may choose another of nearly equal paths.
    The k best are :func:`oracle_kbest`, the worst :func:`worst`.

    Of a lattice or forest it takes one intersection, and is exact (but see references that are
    lattices), or refused where it takes more than ``memory``; every sentence of a list is scored.
    BLEU and chrF, which have no machine, and their sums with metrics that have one, are searched by
    labels (:mod:`decoding.extraction.bleu_search`): exact within ``budget`` and ``memory``; beyond
    them the result says ``exact=False`` and has a ``bound``.

    Parameters
    ----------
    space : Lattice, NBest or Forest
    evaluator : Evaluator
        ``metric.against(references)``.
    model_weight : float
        Weight of the model score.
    **search
        ``engine``, ``budget`` and ``memory`` of :class:`decoding.extraction.search.Search`.

    Raises
    ------
    TooLargeError
        If the intersection takes more than ``memory``.

    Examples
    --------
    >>> from fstmetrics import BLEU, GRR
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -0.1), (0, 1, "the", -0.9), (1, 2, "hat", -0.2), (1, 2, "cat", -0.7)],
    ...     finals=[2],
    ... )
    >>> found = oracle(lattice, GRR().against(["the cat"]))
    >>> found.text, found.score, found.exact
    ('the cat', 1.0, True)
    >>> oracle(lattice, BLEU(smooth="add-k").against(["a cat sat"])).text
    'a cat'
    >>> oracle(lattice, (BLEU(smooth="add-k") + GRR()).against(["a cat sat"])).text
    'a cat'
    """
    _check_weight(model_weight)
    limits = Search.of("oracle", search)
    return find_oracles([space], [evaluator], limits, model_weight=model_weight)[0]


@takes(space=SPACE, evaluator=EVALUATOR, k=WHOLE, model_weight=NUMBER)
def oracle_kbest(
    space: Space,
    evaluator: Evaluator,
    k: int,
    *,
    model_weight: float = 0.0,
    **search: Unpack[SearchOptions],
) -> list[Oracle]:
    """Return the ``k`` sentences of a space that are best under a metric, each once, best first.

    What is maximised is as of :func:`oracle`. Of a lattice it takes one intersection and is
    exact; a forest goes through rows where these are few
    (:mod:`lattices.intersection.rows`), and else through the intersection, too. BLEU is searched
    by labels (:mod:`decoding.extraction.bleu_search`).

    Parameters
    ----------
    space, evaluator, model_weight
        As of :func:`oracle`.
    k : int
        How many; there are fewer if the space has fewer.
    **search
        As of :func:`worst`; the intersection of a lattice is refused beyond ``memory``.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b"), (1, 2, "c")], finals=[2])
    >>> [(each.text, each.score) for each in oracle_kbest(lattice, WER().against(["a c"]), 2)]
    [('a c', 0.0), ('b c', 0.5)]
    """
    return rank_oracles(
        space, evaluator, k, Search.of("oracle_kbest", search), model_weight=model_weight
    )


@takes(space=SPACE, evaluator=EVALUATOR, k=WHOLE, model_weight=NUMBER)
def worst(
    space: Space,
    evaluator: Evaluator,
    k: int = 1,
    *,
    model_weight: float = 0.0,
    **search: Unpack[SearchOptions],
) -> list[Oracle]:
    """Return the ``k`` sentences of a space that are worst under a metric, each once, worst first.

    What :func:`oracle` maximises is minimised; with a negative ``model_weight`` this is fear, the
    sentence that the model likes and the metric does not. It goes through rows
    (:mod:`lattices.intersection.rows`) and is exact within ``budget`` and ``memory``; beyond them
    the results say ``exact=False``. So it is for BLEU, by labels
    (:mod:`decoding.extraction.bleu_search`).

    Parameters
    ----------
    space, evaluator, model_weight
        As of :func:`oracle`.
    k : int
        How many; there are fewer if the space has fewer.
    **search
        As of :func:`oracle`. Many references make long rows, which take memory; beyond it the
        answer is that beyond the budget, and if there is room for no answer at all, an error says
        so.

    Examples
    --------
    >>> from fstmetrics import GRR
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -0.1), (0, 1, "the", -0.9), (1, 2, "hat", -0.2), (1, 2, "cat", -0.7)],
    ...     finals=[2],
    ... )
    >>> [(each.text, each.score) for each in worst(lattice, GRR().against(["the cat"]), 2)]
    [('a hat', 0.0), ('a cat', 0.3333333333333333)]
    """
    limits = Search.of("worst", search)
    return rank_oracles(space, evaluator, k, limits, worst=True, model_weight=model_weight)


def _check_weight(model_weight: float) -> None:
    if not isfinite(model_weight):
        raise OptionError(f"a model weight is a finite number, not {model_weight}")


def rank_oracles(
    space: Space,
    evaluator: Evaluator,
    k: int,
    search: Search,
    *,
    worst: bool = False,
    model_weight: float = 0.0,
) -> list[Oracle]:
    """Return the k best, or the worst: :func:`oracle_kbest` and :func:`worst`."""
    if k < 1:
        raise OptionError(f"{argument('k')} is at least 1, not {k}")
    _check_weight(model_weight)
    if k == 1 and not worst:
        return find_oracles([space], [evaluator], search, model_weight=model_weight)
    # more than the native types hold is no limit
    k = min(k, 2**31 - 1)
    if isinstance(space, NBest):
        from decoding.extraction.ranking import rank_entries

        entries = rank_entries(space, evaluator, k, worst=worst, model_weight=model_weight)
        return [
            score_hypothesis(each.hypothesis, evaluator, each.exact, each.engine)
            for each in entries
        ]
    if not has_machine(evaluator):
        if not search.is_ours or abilities_of(evaluator).clipped_matches is None:
            raise _no_machine(evaluator, search)
        from decoding.extraction.bleu_search import label_search

        (labelled,) = label_search(
            [space], [evaluator], k, search, worst=worst, model_weight=model_weight
        )
        return _make_results(labelled, evaluator, model_weight)
    from decoding.extraction.ranking import rank_sentences

    sentences = rank_sentences(space, evaluator, k, search, worst=worst, model_weight=model_weight)
    found = []
    for each in sentences:
        made = score_hypothesis(each.hypothesis, evaluator, each.exact, each.engine)
        if each.gap is not None:
            value = quality(evaluator.metric, made.score) + model_weight * made.hypothesis.score
            beyond = value - each.gap if worst else value + each.gap
            made = replace(made, bound=quality(evaluator.metric, beyond))
        found.append(made)
    # sorted by the reported scores: whole units may have been rounded
    return _sort_as_reported(found, evaluator, worst, model_weight)


def _make_results(found: Labelled, evaluator: Evaluator, model_weight: float) -> list[Oracle]:
    """Return the answers of the label search as results; none is beyond its bound by rounding."""
    results = []
    for each in found.sentences:
        bound = None if each.exact or not isfinite(found.bound) else found.bound
        made = score_hypothesis(each.hypothesis, evaluator, each.exact, each.engine, bound)
        value = made.score + model_weight * made.hypothesis.score
        if bound is not None and abs(bound - value) <= ROUNDING:
            made = replace(made, bound=value)
        results.append(made)
    return results


@takes(spaces=SPACES, evaluators=EVALUATORS, model_weight=NUMBER)
def oracles(
    spaces: Sequence[Space],
    evaluators: Sequence[Evaluator],
    *,
    model_weight: float = 0.0,
    **search: Unpack[SearchOptions],
) -> list[Oracle]:
    """Return the oracle of each space of a batch, in one call of each engine that is needed.

    Parameters
    ----------
    spaces, evaluators
        As many of one as of the other; lattices, forests and lists may be mixed.
    model_weight
        As in :func:`oracle`.
    **search
        The fields of :class:`decoding.extraction.search.Search`, ``workers`` among them: threads
        for the kernel and for labels.

    Warns
    -----
    VocabularyWarning
        If no word of the references occurs in any of the spaces, or only in another case.

    Raises
    ------
    SpaceError
        If a lattice has no complete path.
    OptionError
        If a metric is to search a lattice or a forest and cannot.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Forest, Lattice
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1])
    >>> spaces = [lattice, Forest.from_lattice(lattice)]
    >>> [found.text for found in oracles(spaces, [WER().against([w]) for w in "ab"])]
    ['a', 'b']
    """
    _check_weight(model_weight)
    limits = Search.of("oracles", search)
    found = find_oracles(spaces, evaluators, limits, model_weight=model_weight)
    shared = Overlap.UNKNOWN
    for space, evaluator in zip(spaces, evaluators, strict=True):
        if shared is Overlap.WORDS:
            break
        if compares_words(evaluator.metric):
            shared = max(shared, overlap(space.vocabulary, evaluator.references))
    if shared.problem:
        warnings.warn(shared.problem, VocabularyWarning, stacklevel=2)
    return found


def find_oracles(
    spaces: Sequence[Space],
    evaluators: Sequence[Evaluator],
    search: Search = SEARCH,
    *,
    model_weight: float = 0.0,
) -> list[Oracle]:
    """Return what :func:`oracles` does, of a part of a corpus, which says little about words."""
    return list(search_oracles(spaces, evaluators, search, model_weight=model_weight))


def search_oracles(
    spaces: Sequence[Space],
    evaluators: Sequence[Evaluator],
    search: Search = SEARCH,
    *,
    model_weight: float = 0.0,
    one_best: bool = False,
) -> OracleBatch:
    """Return the oracle of each space, in columns.

    With ``one_best`` the model's own choices are scored, too, where one native call finds all.
    """
    if len(spaces) != len(evaluators):
        kind = "lattices" if all(isinstance(each, Lattice) for each in spaces) else "spaces"
        raise OptionError(f"{len(spaces)} {kind}, but {len(evaluators)} evaluators")
    table, indexes, others = _search_by_words(spaces, evaluators, search, model_weight, one_best)
    if not others and len(indexes) == len(spaces):
        return OracleBatch(table=table, evaluators=evaluators)
    results: list[Oracle | None] = [None] * len(spaces)
    views = views_of(table, [evaluators[index] for index in indexes])
    for index, view in zip(indexes, views, strict=True):
        results[index] = view
    by_engine: dict[int, tuple[Lattice | Forest, CompiledEvaluator]] = {}
    # all of one metric go together
    by_labels: dict[Metric, dict[int, tuple[Lattice | Forest, Evaluator]]] = {}
    for index in others:
        space, evaluator = spaces[index], evaluators[index]
        if isinstance(space, NBest):
            from decoding.extraction.ranking import rank_entries

            (entry,) = rank_entries(space, evaluator, 1, worst=False, model_weight=model_weight)
            results[index] = score_hypothesis(
                entry.hypothesis, evaluator, entry.exact, entry.engine
            )
        elif has_machine(evaluator):
            by_engine[index] = space, evaluator
        elif search.is_ours and abilities_of(evaluator).clipped_matches is not None:
            by_labels.setdefault(evaluator.metric, {})[index] = space, evaluator
        else:
            raise _no_machine(evaluator, search)
    for of_metric in by_labels.values():
        from decoding.extraction.bleu_search import label_search

        labelled = label_search(
            [space for space, _ in of_metric.values()],
            [evaluator for _, evaluator in of_metric.values()],
            limits=search,
            model_weight=model_weight,
        )
        for index, sentences in zip(of_metric, labelled, strict=True):
            (results[index],) = _make_results(sentences, evaluators[index], model_weight)
    if by_engine:
        for index, each in _search_by_engine(by_engine, search, model_weight).items():
            results[index] = each
    return OracleBatch(cast(list[Oracle], results))


def _search_by_words(
    spaces: Sequence[Space],
    evaluators: Sequence[Evaluator],
    search: Search,
    model_weight: float,
    one_best: bool,
) -> tuple[OracleTable, list[int], list[int]]:
    """Search lattices and forests under metrics that align equal words.

    One native call compiles, searches and scores, and reads problems while others are searched.
    Returns the table, the places of its rows, and the places of the others: lists, what has
    to be searched by another machine or engine, and what is refused, whose own engine says why.
    """
    others: list[int] = []
    indexes: list[int] = []

    def problems() -> Iterator[Any]:
        for index, (space, evaluator) in enumerate(zip(spaces, evaluators, strict=True)):
            if not isinstance(space, NBest):
                of_words = abilities_of(evaluator).word_alignment if ours else None
                alignment = None if of_words is None else of_words(evaluator)
                if alignment is not None:
                    vocabulary = space.vocabulary
                    indexes.append(index)
                    yield (
                        space.columns, space.feature_columns,
                        vocabulary.numbers, vocabulary.strings, *alignment,
                    )  # fmt: skip
                    continue
            others.append(index)

    ours = search.is_ours
    table, trouble = search_words(
        list(problems()), model_weight, search.memory, search.workers, one_best
    )
    for place, outcome, arcs in trouble:
        lattice = cast(Lattice, spaces[indexes[place]])
        if outcome == _NO_PATH:
            raise explain_no_path(lattice)
        if outcome == _OVERFLOW:
            lattice.hypothesis(arcs)  # which says so
        others.append(indexes[place])
    return table, indexes, others


def _search_by_engine(
    problems: dict[int, tuple[Lattice | Forest, CompiledEvaluator]],
    search: Search,
    model_weight: float,
) -> dict[int, Oracle]:
    """Return the oracles of lattices and forests under the same keys, by one call of each engine.

    The kernel searches forests with the sentences of reference lattices, if they are few.
    """
    prepared: dict[int, Prepared[Any]] = {}
    machines: dict[int, Machine] = {}
    members: dict[Engine, list[int]] = {}
    for index, (space, evaluator) in problems.items():
        if isinstance(space, Forest):
            check_sums(space.columns)
            if search.is_ours:
                from decoding.extraction.ranking import expand_reference_lattices

                evaluator = expand_reference_lattices(evaluator)
        prepared[index], machines[index] = compile_for(space, evaluator)
        chosen = choose(search.engine, prepared[index].space, machines[index])
        members.setdefault(chosen, []).append(index)
    results: dict[int, Oracle] = {}
    for chosen, indexes in members.items():
        found: Sequence[Any] = chosen.best(
            [(prepared[index].space, machines[index]) for index in indexes],
            model_weight=model_weight,
            workers=search.workers,
            memory=search.memory,
        )
        for index, best in zip(indexes, found, strict=True):
            space, evaluator = problems[index]
            if best is None:
                raise explain_no_path(space)
            if not isinstance(best, Found):  # an engine of others may return anything
                what = name_plugin(chosen, f"engine {chosen.name}")
                raise EngineError(f"{what} returns {best!r:.60} for a problem, expected a Found")
            hypothesis = space.hypothesis(prepared[index].original(best.arcs))
            exact = machines[index].proves
            results[index] = score_hypothesis(hypothesis, evaluator, exact, chosen.name)
    return results


def _sort_as_reported(
    found: list[Oracle], evaluator: Evaluator, worst: bool, model_weight: float
) -> list[Oracle]:
    """Return the k best, or the worst, sorted by what is reported; what is no more than rounding
    apart stays as it was found, in exact units.
    """
    sign = 1.0 if worst else -1.0
    objective = [
        sign * (quality(evaluator.metric, each.score) + model_weight * each.hypothesis.score)
        for each in found
    ]
    order = sorted(range(len(found)), key=objective.__getitem__)
    rounding = rounding_of(evaluator)
    group, last = {}, 0
    for before, entry in pairwise([order[0], *order]):
        last += objective[entry] > objective[before] + rounding
        group[entry] = last
    return [found[entry] for entry in sorted(order, key=lambda entry: (group[entry], entry))]


def _no_machine(evaluator: Evaluator, search: Search) -> OptionError:
    if abilities_of(evaluator).clipped_matches is not None and not search.is_ours:
        return OptionError(
            f"{evaluator.metric} has no machine for engine {search.engine}: it is searched by "
            f"labels ({argument('engine')} {' or '.join(OUR_ENGINES)})"
        )
    from fstmetrics.combination import CombinedEvaluator

    if isinstance(evaluator, CombinedEvaluator):
        return OptionError(
            f"{evaluator.metric} cannot search a lattice: {evaluator.explain_refusal()}; "
            "take its n-best list (lattices.k_best)"
        )
    return OptionError(
        f"{evaluator.metric} has no machine and cannot search a lattice; "
        "take its n-best list (lattices.k_best)"
    )


class SizePoint(NamedTuple):
    """One point of what longer lists buy.

    Attributes
    ----------
    k : int
        How many sentences were asked for.
    sentences : int
        How many there are among the first ``k``.
    oracle : Oracle
        The best of them; ``exact`` is about them, too.
    """

    k: int
    sentences: int
    oracle: Oracle

    def to_dict(self) -> dict[str, Any]:
        """Return the point, and the fields of its oracle."""
        return {"k": self.k, "sentences": self.sentences, **self.oracle.to_dict()}


def check_sizes(sizes: Iterable[int]) -> list[int]:
    """Return sizes that are all at least 1."""
    asked = list(sizes)
    wrong = next((k for k in asked if k < 1), None)
    if wrong is not None:
        raise OptionError(f"sizes has {wrong}, expected whole numbers from 1 on")
    return asked


@takes(space=SPACE, evaluator=EVALUATOR)
def oracle_at(space: Space, evaluator: Evaluator, sizes: Iterable[int]) -> list[SizePoint]:
    """Return the oracle among the model's k best sentences for each k: what a longer list buys.

    Every sentence is scored once, so that any metric will do. Cost: that of the longest list.

    Parameters
    ----------
    space : NBest, Lattice or Forest
        The k best of a list are its entries of the highest scores, whatever their order in the
        file, equal ones in that order; those of a lattice or forest are different sentences.
    evaluator : Evaluator
    sizes : iterable of int
        Each at least 1; the point of one beyond the space's own is that of all sentences.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> nbest = NBest.from_hypotheses(
    ...     [Hypothesis(("a",), -1.0), Hypothesis(("the", "cat"), -3.0), Hypothesis(("cat",), -2.0)]
    ... )
    >>> [(point.k, point.oracle.text, point.oracle.score)
    ...  for point in oracle_at(nbest, WER().against(["the cat"]), [1, 2, 100])]
    [(1, 'a', 1.0), (2, 'cat', 0.5), (100, 'the cat', 0.0)]
    """
    asked = check_sizes(sizes)
    if not asked:
        return []
    found: NBest | list[Hypothesis]
    if isinstance(space, NBest):
        check_filled([space])
        found = listed = space
    else:
        found = k_best(space, max(asked), distinct=True)
        listed = NBest.from_hypotheses(Hypothesis(each.tokens, each.score) for each in found)
    by_model = np.argsort(-listed.score, kind="stable")
    rank = np.empty(len(listed), dtype=np.int64)
    rank[by_model] = np.arange(len(listed))
    objective, rounding = nbest_values(evaluator, listed)
    from decoding.extraction.ranking import ranking

    by_metric = np.array(ranking(objective, listed.score, rounding))
    points = []
    for k in asked:
        best = int(by_metric[rank[by_metric] < k][0])
        judgement = score_hypothesis(found[best], evaluator, True, "scorer")
        points.append(SizePoint(k, min(k, len(listed)), judgement))
    return points


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

    def to_dict(self) -> dict[str, Any]:
        """Return the point, and the fields of its oracle."""
        return {"density": self.density, "arcs": self.arcs, **self.oracle.to_dict()}


@takes(lattice=LATTICE, evaluator=EVALUATOR)
def density_curve(
    lattice: Lattice,
    evaluator: Evaluator,
    densities: Iterable[float],
    **search: Unpack[SearchOptions],
) -> list[DensityPoint]:
    """Return the oracle of the lattice pruned to each density: what a larger lattice buys.

    All prunings come from one forward-backward pass; each keeps the arcs whose best
    complete path is best. Cost: one intersection a density.

    Parameters
    ----------
    lattice : Lattice
    evaluator : Evaluator
    densities : iterable of float
        Arcs per word of the 1-best; the point of a density beyond the lattice's own is the
        whole lattice.
    **search
        As of :func:`oracle`.

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
    from lattices.algorithms import density_masks, max_marginals, subset
    from lattices.algorithms.counting import words_of_best

    losses = max_marginals(lattice)
    pruned = [subset(lattice, *density_masks(lattice, wanted, losses)) for wanted in asked]
    limits = Search.of("density_curve", search)
    found = find_oracles(pruned, [evaluator] * len(pruned), limits)
    words = words_of_best(lattice)
    return [
        DensityPoint(part.num_arcs / words, part.num_arcs, point)
        for part, point in zip(pruned, found, strict=True)
    ]
