"""Labels: the search of lattices and forests under BLEU and chrF, and sums with them.

For a fixed length BLEU grows with the clipped matches of each order, and chrF against one
reference, too. So of all beginnings of a
sentence that end in the same state with the same length, and whose last words can be continued to
the same matches, those count that no other one surpasses in the matches of every order. They are
followed through the space; see ``decoding/native/bleu_search.hpp`` for how matches are clipped, and
why what is found is proven to be the best.

In a sum with metrics that have a machine, such as ``0.5*bleu + 0.5*grr``, a label has the row of
the machine (:mod:`lattices.intersection.rows`) beside its matches, and makes another one needless
where it is nowhere below in either. What it can become is bounded by the sum of both bounds.
Forests are then searched as lattices, if these are not too large.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from math import isinf
from typing import Any, NamedTuple, cast

import numpy as np

from decoding._native import search_bleu
from decoding.extraction.ranking import (
    KBEST_FALLBACK,
    LABELS,
    RankedSentence,
    Sentences,
    kbest_fallback,
    list_paths,
    rank_places,
)
from decoding.extraction.search import SEARCH, Search
from fstmetrics.contract import (
    ROUNDING,
    ClippedMatches,
    CompiledEvaluator,
    Evaluator,
    Prepared,
    clipped_matches,
    nbest_stats,
    quality,
)
from lattices import _native
from lattices.algorithms import best, k_best, k_best_paths, to_characters
from lattices.algorithms.characters import to_pieces
from lattices.algorithms.paths import explain_no_path
from lattices.arrays import FloatColumn, IntColumn, ints
from lattices.errors import OptionError, SpaceError
from lattices.intersection.forest_as_lattice import as_lattice, best_parse
from lattices.intersection.rows import fitting
from lattices.spaces import Forest, Hypothesis, Lattice, NBest
from lattices.vocabulary import Vocabulary

#: a machine as the native search takes it: rows, columns, the value of a unit, what arcs read
Added = tuple[_native.RowTables, _native.RowAutomatonColumns, float, IntColumn]
#: a problem as the native search takes it: columns, units, words, references and their offsets,
#: the weight of their score, and a machine that is added to it
Given = tuple[
    _native.LatticeColumns | _native.ForestColumns,
    IntColumn, IntColumn, IntColumn, IntColumn, float, Added | None,
]  # fmt: skip

#: labels searched without a bound: making the bound costs about as much
QUICK = 30_000
#: stands for words of references that no space has
_UNKNOWN = 2**31 - 1


class Labelled(NamedTuple):
    """What a search by labels found."""

    #: the best first
    sentences: list[RankedSentence]
    #: no sentence surpasses this (with ``worst``: none falls below it): the metric, with the model
    #: score times its weight added (subtracted from an error rate)
    bound: float


class StatisticsFront(NamedTuple):
    """The rows of statistics of a segment that no other sentence's dominate.

    Under a metric for which some matches make no difference (an order of weight 0), also those of
    sentences with a higher model score than all that dominate them.
    """

    #: the statistics of each sentence
    rows: FloatColumn
    #: a sentence for each row, that with the highest model score
    hypotheses: Sentences
    #: every row that the segment can have is one of these or dominated by one: the same as ``rows``
    #: where the front is exact
    outer: FloatColumn
    #: whether nothing is missing
    exact: bool


def label_search(
    spaces: Sequence[Lattice | Forest],
    evaluators: Sequence[Evaluator],
    k: int = 1,
    limits: Search = SEARCH,
    *,
    worst: bool = False,
    model_weight: float = 0.0,
) -> list[Labelled]:
    """Return the k best or worst sentences of each space, each once, with a bound.

    They are proven within the budget of labels and of bytes. Beyond it they are the best that were
    found, or if there are none, the best of the sentences that the model likes best; then they are
    labelled as such.
    """
    problems = [each.alternatives() for each in make_problems(spaces, evaluators)]
    wanted = WantedFront(k, worst, False, model_weight)
    answers = iter(search([each for some in problems for each in some], wanted, limits))
    return [_collect_labelled(some, [next(answers) for _ in some], wanted) for some in problems]


def _collect_labelled(
    problems: Sequence[Problem], answers: Sequence[Answer], wanted: WantedFront
) -> Labelled:
    """Return what was found for a space, against one reference after the other.

    A sentence has the score of the reference that it fits best. So the k best are among the k best
    against each, and none is worse than the worst against any one.
    """
    problem, (k, worst, _, model_weight) = problems[0], wanted
    space, evaluator, matches = problem.space, problem.evaluator, problem.matches
    most = max(each.bound for each in answers)
    if not (model_weight or matches.added):
        most = max(0.0, most) if worst else min(matches.weight, most)
    elif isinf(most) and not matches.added and (model_weight > 0) != worst:
        # the best of both parts, each by itself
        most = (0.0 if worst else matches.weight) + model_weight * best(space).score
    bound = quality(evaluator.metric, most - problem.constant)
    if not all(each.complete for each in answers):
        some = kbest_fallback(space, evaluator, k, worst=worst, model_weight=model_weight)
        return Labelled(some, bound)
    exact = problem.proves and all(each.exact for each in answers)
    paths = dict.fromkeys(tuple(path) for each in answers for path in each.paths)
    lowest = model_weight * (-1 if worst else 1) < 0
    found = [problem.hypothesis(path, lowest) for path in paths]
    if not exact and (k > 1 or worst):
        some = kbest_fallback(space, evaluator, k, worst=worst, model_weight=model_weight)
        found += [each.hypothesis for each in some]
    if len(problems) > 1 or not exact:
        listed = NBest.from_hypotheses(found)
        places = rank_places(listed, evaluator, k, worst=worst, model_weight=model_weight)
        found = [found[place] for place in places]
        if worst and exact:
            value = quality(evaluator.metric, evaluator.score(found[0].tokens))
            value = quality(evaluator.metric, value + model_weight * found[0].score)
            exact &= k == 1 and abs(value - bound) <= ROUNDING
    return Labelled([RankedSentence(each, exact, LABELS) for each in found], bound)


def statistics_fronts(
    spaces: Sequence[Lattice | Forest],
    evaluators: Sequence[Evaluator],
    limits: Search = SEARCH,
) -> list[StatisticsFront]:
    """Return the front of each space; see :func:`decoding.statistics_front`."""
    problems = make_problems(spaces, evaluators)
    fronts = []
    for problem, answer in zip(
        problems, search(problems, WantedFront(front=True), limits), strict=True
    ):
        rows = answer.rows
        if answer.complete:
            some = problem.sentences(answer.paths)
        else:
            some = _list_best(problem.space)
            rows = nbest_stats(problem.evaluator, some.nbest)
        fronts.append(StatisticsFront(rows, some, answer.outer, answer.exact))
    return fronts


def _list_best(space: Lattice | Forest) -> Sentences:
    """Return the sentences that the model likes best."""
    if isinstance(space, Lattice):
        return list_paths(space, *k_best_paths(space, KBEST_FALLBACK, distinct=True)[:2])
    return _list_hypotheses(space, k_best(space, KBEST_FALLBACK, distinct=True))


def _list_hypotheses(space: Forest, found: Sequence[Hypothesis]) -> Sentences:
    return Sentences(NBest.from_hypotheses(found, vocabulary=space.vocabulary), found.__getitem__)


class WantedFront(NamedTuple):
    """What is searched for: the k best, or the worst, or the whole front of statistics."""

    k: int = 1
    worst: bool = False
    front: bool = False
    model_weight: float = 0.0


class Problem(NamedTuple):
    """A space and an evaluator, and both as the native search takes them."""

    space: Lattice | Forest
    evaluator: Evaluator
    matches: ClippedMatches
    #: the space in the evaluator's units
    prepared: Prepared[Any]
    #: columns of that, the unit and the word of each arc or symbol, the units of the references,
    #: and where each reference begins, the weight of the score, and what is added to it
    given: Given
    #: whether what is best for the search is sure to be best under the metric
    proves: bool = True
    #: of the lattice that is searched, which may be that of a forest: the words of its arcs
    words: IntColumn | None = None

    @property
    def constant(self) -> float:
        """By how much the value that is searched for exceeds the metric.

        The value of a machine is 1 less an error rate.
        """
        higher = self.matches.added is None or self.evaluator.metric.higher_is_better
        return 0.0 if higher else 1.0

    def alternatives(self) -> list[Problem]:
        """Return a problem for each reference where the best of them counts, else the one."""
        references = self.matches.references
        if self.matches.f_score is None or len(references) < 2:
            return [self]
        columns, unit, word, reference, offset, weight, added = self.given
        alone = [
            (reference[begin:end], ints([0, end - begin]))
            for begin, end in pairwise(offset.tolist())
        ]
        return [self._replace(given=(columns, unit, word, *one, weight, added)) for one in alone]

    def hypothesis(self, path: Sequence[int], lowest: bool = False) -> Hypothesis:
        """Return the sentence of a path or derivation of the prepared space.

        Of a forest that is searched as a lattice, its best derivation by the model, or the lowest.
        """
        found = self.prepared.original(ints(path))
        if isinstance(self.space, Forest) and isinstance(self.prepared.space, Lattice):
            label = cast(IntColumn, self.words)[list(found)]
            words = [word for word in label.tolist() if word]
            found = tuple(best_parse(self.space, words, lowest))
        return self.space.hypothesis(found)

    def sentences(self, paths: Sequence[Sequence[int]]) -> Sentences:
        """Return the sentences of some paths."""
        space = self.space
        if isinstance(space, Forest):
            return _list_hypotheses(space, [self.hypothesis(path) for path in paths])
        # all at once: what is asked for later are the words of all, and few of the sentences
        ends = np.cumsum([0, *map(len, paths)])
        arcs = np.fromiter(chain.from_iterable(paths), np.int64, int(ends[-1]))
        origin = self.prepared.origins(ints(arcs))
        kept = origin >= 0
        return list_paths(space, ints(origin[kept]), ints(np.append(0, np.cumsum(kept))[ends]))


class Answer(NamedTuple):
    """What the native search found for a problem."""

    #: of the prepared space, the best first
    paths: list[list[int]]
    #: the statistics of each
    rows: FloatColumn
    #: of a front, rows that dominate whatever the space has
    outer: FloatColumn
    #: as of :class:`Labelled`
    bound: float
    #: whether a search came to its end, and whether that proves the answer
    complete: bool
    exact: bool
    #: how many were kept
    labels: int


def make_problems(
    spaces: Sequence[Lattice | Forest], evaluators: Sequence[Evaluator]
) -> list[Problem]:
    """Return problems for :func:`search`."""
    problems = []
    for space, evaluator in zip(spaces, evaluators, strict=True):
        if isinstance(space, Forest):
            _native.check_sums(space.columns)
        matches = clipped_matches(evaluator)
        searched, added, proves = space, None, True
        if matches.added is not None and isinstance(space, Forest):
            # a part of a sentence has no row: the whole lattice is made, or refused
            searched = as_lattice(space)
        prepared = _prepare(searched, matches)
        if matches.added is not None:
            added, proves = _add_machine(cast(Lattice, searched), prepared, matches.added)
        given = (*_to_native(searched, prepared, matches), matches.weight, added)
        words = searched.label if isinstance(searched, Lattice) else None
        problems.append(Problem(space, evaluator, matches, prepared, given, proves, words))
    return problems


def search(
    problems: Sequence[Problem], wanted: WantedFront, limits: Search = SEARCH
) -> list[Answer]:
    """Return the answers to problems of one metric, by one native call."""
    if not problems:
        return []
    matches = problems[0].matches
    # more than the native types hold is no limit
    wanted = wanted._replace(k=min(wanted.k, 2**31 - 1))
    found = search_bleu(
        [problem.given for problem in problems],
        matches.weights,
        matches.f_score or (*matches.smoothing, *matches.lengths),
        wanted,
        (limits.budget, limits.memory, QUICK),
        limits.workers,
    )
    answers = []
    for problem, each in zip(problems, found, strict=True):
        answer = Answer(*each)
        if answer.complete and not answer.paths:
            if isinstance(problem.space, Lattice):
                raise explain_no_path(problem.space)
            raise SpaceError(f"forest {problem.space.id!r} has no derivation")
        answers.append(answer)
    return answers


def _prepare(space: Lattice | Forest, matches: ClippedMatches) -> Prepared[Any]:
    """Return the space in the units of the metric: words, characters, or tokens."""
    if matches.units is not None:
        between = " " if matches.characters and matches.spaces else ""
        return Prepared(*to_pieces(space, matches.units, between=between))
    if not matches.characters:
        return Prepared(space)
    return Prepared(*to_characters(space, matches.spaces))


def _add_machine(
    space: Lattice, prepared: Prepared[Any], added: CompiledEvaluator
) -> tuple[Added, bool]:
    """Return the machine whose value is added, and whether it is exact."""
    words = prepared.words(space)
    if added.prepare(space).space is space:
        machine = added.machine(space.vocabulary, space.label)
        label = space.label if words is None else cast(IntColumn, words)
    else:  # characters, which are those of the other part
        machine = added.machine(prepared.space.vocabulary, prepared.labels())
        label = prepared.space.label
    automaton, unit = fitting(machine.automaton, prepared.space.num_states)
    rows = _native.RowTables(automaton.row_columns, False)
    return (rows, automaton.row_columns, machine.unit * unit, label), machine.proves


def _to_native(
    space: Lattice | Forest, prepared: Prepared[Any], matches: ClippedMatches
) -> tuple[Any, ...]:
    """Return a problem as the native search takes it, but for weights and machines."""
    inside: Lattice | Forest = prepared.space
    labels = inside.label if isinstance(inside, Lattice) else inside.symbol
    unit, numbers = labels, inside.vocabulary.numbers
    if matches.lowercase and matches.units is None:
        unit, numbers = _lower_case(labels, inside.vocabulary, matches.characters)
    reference = [numbers.get(each, _UNKNOWN) for some in matches.references for each in some]
    offset = np.cumsum([0, *map(len, matches.references)])
    word = cast("IntColumn | None", prepared.words(space))  # a word has at least one unit
    return inside.columns, unit, labels if word is None else word, ints(reference), ints(offset)


def _lower_case(
    labels: IntColumn, vocabulary: Vocabulary, characters: bool
) -> tuple[IntColumn, dict[str, int]]:
    """Return the units of words in lower case, and the number of each."""
    used, place = np.unique(labels, return_inverse=True)
    numbers: dict[str, int] = {}
    units = []
    for label in used.tolist():
        lower = vocabulary.word(label).lower() if label > 0 else ""
        if characters and label > 0 and (len(lower) != 1 or lower == "σ"):
            raise OptionError(
                f"characters of lower case depend on their word for {vocabulary.word(label)!r}; "
                "take an n-best list (lattices.k_best)"
            )
        units.append(numbers.setdefault(lower, len(numbers) + 1) if label > 0 else label)
    return ints(np.array(units)[place]), numbers
