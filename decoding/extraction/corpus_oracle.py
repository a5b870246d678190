"""Corpus oracles: one sentence a segment, chosen for the metric of the corpus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from decoding.extraction.corpus_selection import (
    BoundedScore,
    CorpusChoice,
    corpus_choice,
    find_undominated,
)
from decoding.extraction.oracle_search import (
    Oracle,
    oracles,
    rank_oracles,
)
from decoding.extraction.ranking import LABELS, Sentences, rank_places, ranking
from decoding.extraction.search import Search, SearchOptions
from fstmetrics import Evaluator, Metric
from fstmetrics.contract import (
    EVALUATOR,
    METRIC,
    ROUNDING,
    abilities_of,
    clipped_matches,
    for_segment,
    nbest_stats,
    scores_of,
    split_denominators,
)
from fstmetrics.references import Reference
from lattices.algorithms import best
from lattices.arrays import FloatColumn, floats, ints
from lattices.errors import OptionError
from lattices.intersection import ENGINES, RankingEngine
from lattices.spaces import Forest, Hypothesis, Lattice, NBest, Space
from lattices.spaces.arguments import GRAPH, SPACES, check_filled, takes

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from decoding.extraction.bleu_search import StatisticsFront

#: sentences that are looked through for one that scores best against the reference it was
#: found by: a few, which mostly do, and then more
_LOOKED_THROUGH = (8, 64)


@dataclass(frozen=True, kw_only=True)
class CorpusOracle(BoundedScore):
    """One sentence of each space, chosen for the metric of the corpus.

    Attributes
    ----------
    hypotheses : tuple of Hypothesis
        One for each space.
    sentence_score, first_score : float
        The metric of the corpus made of each space's best sentence under the metric, and of
        each space's sentence with the highest model score: never better than ``score``.
    score, stats, bound
        As in :class:`~decoding.extraction.corpus_selection.BoundedScore`.
    """

    hypotheses: tuple[Hypothesis, ...]
    sentence_score: float
    first_score: float


@takes(spaces=SPACES, metric=METRIC)
def corpus_oracle(
    spaces: Sequence[Space],
    references: Sequence[Iterable[Reference]],
    metric: Metric,
    **search: Unpack[SearchOptions],
) -> CorpusOracle:
    """Return the choice of one sentence from each space that makes the best corpus.

    The best sentences need not make the best corpus: under BLEU a long sentence pays for a
    short one, and with several references WER, WRR and GRR divide by the length of whichever
    was the best for the sentence. With one reference a segment the last three do decompose, and
    the sentence oracles are returned.

    Of n-best lists every entry is looked at. Under BLEU the candidates of a lattice or forest are
    the whole front of statistics that its sentences can have (:func:`statistics_front`). Under a
    metric with a machine they are the sentence oracle, the 1-best and the best sentence against
    the references of each length alone. The latter would be the answer if a sentence could choose
    its reference, so they give the bound; see :func:`candidates`.

    Costs one search of each lattice or forest under BLEU, and otherwise one for each length of its
    references and one more; then see :func:`decoding.extraction.corpus_selection.corpus_choice`.

    Parameters
    ----------
    spaces : sequence of NBest, Lattice and Forest
        No list is empty.
    references : sequence
        One list of references for each space.
    metric : Metric
        For lattices and forests, with a machine or of clipped matches, as BLEU is.
    **search
        As in :func:`decoding.oracles`.

    Examples
    --------
    The sentence oracle of the first list is the longer one. But the second segment is too
    long anyway, and the corpus does better with the shorter one:

    >>> from fstmetrics import BLEU
    >>> lists = [
    ...     NBest.from_hypotheses([Hypothesis(tuple(text.split()), 0.0) for text in texts])
    ...     for texts in (["a b x", "a b"], ["a b c d y y"])
    ... ]
    >>> found = corpus_oracle(lists, [["a b c d"], ["a b c d"]], BLEU(order=1))
    >>> found.hypotheses[0].text, found.score, round(found.sentence_score, 4), found.exact
    ('a b', 0.75, 0.6667, True)
    """
    if len(spaces) != len(references):
        kind = "lists" if all(isinstance(space, NBest) for space in spaces) else "spaces"
        raise OptionError(f"{len(spaces)} {kind}, but references for {len(references)} segments")
    check_filled(spaces)
    evaluators = [
        for_segment(metric, [space]).against(of_segment)
        for space, of_segment in zip(spaces, references, strict=True)
    ]
    found = candidates(spaces, evaluators, Search.of("corpus_oracle", search))
    choice = choose(found, metric)
    return CorpusOracle(
        hypotheses=tuple(
            [each.hypotheses[place] for each, place in zip(found, choice.places, strict=True)]
        ),
        score=choice.score,
        stats=choice.stats,
        bound=choice.bound,
        sentence_score=metric.score(sum_rows(each.rows[each.sentence] for each in found)),
        first_score=metric.score(sum_rows(each.rows[each.first] for each in found)),
    )


def sum_rows(rows: Iterable[FloatColumn]) -> FloatColumn:
    """Return the sum of rows of statistics."""
    total: FloatColumn = np.sum(list(rows), axis=0)
    return total


class FrontCandidates(NamedTuple):
    """The sentences of one segment that can be part of a corpus oracle."""

    #: those with the higher model scores first, as far as they come from one list
    hypotheses: Sequence[Hypothesis]
    #: the statistics of each
    rows: FloatColumn
    #: every row of statistics that the segment can have is one of these or dominated by one; None
    #: if that cannot be said
    outer: FloatColumn | None
    #: which one is the sentence oracle, and which the 1-best
    sentence: int
    first: int
    #: who searched
    engine: str


def choose(found: Sequence[FrontCandidates], metric: Metric) -> CorpusChoice:
    """Choose one of the candidates of each segment so that the corpus scores best."""
    outer = [each.outer for each in found if each.outer is not None]
    bounded = len(outer) == len(found)
    complete = all(each.outer is each.rows for each in found)
    choice = corpus_choice(
        [each.rows for each in found],
        metric,
        starts=([each.sentence for each in found], [each.first for each in found]),
        outer=outer if bounded and not complete else None,
    )
    return choice if bounded else replace(choice, bound=None)


def candidates(
    spaces: Sequence[Space],
    evaluators: Sequence[Evaluator],
    search: Search,
) -> list[FrontCandidates]:
    """Return the candidates of each segment, so that the spaces need not be kept.

    Of a list they are the entries that no other one dominates (:func:`find_undominated`).
    """
    ours = search.is_ours
    fronts = iter(_fronts(spaces, evaluators, search) if ours else ())
    divided = [
        None if isinstance(space, NBest) else split_denominators(evaluator)
        for space, evaluator in zip(spaces, evaluators, strict=True)
    ]
    problems = [
        (space, each)
        for space, evaluator, parts in zip(spaces, evaluators, divided, strict=True)
        if not isinstance(space, NBest) and not (ours and _has_front(evaluator))
        for each in (evaluator, *(parts if parts is not None and len(parts) > 1 else ()))
    ]
    searched = iter(
        oracles(
            [space for space, _ in problems],
            [evaluator for _, evaluator in problems],
            **asdict(search),
        )
    )
    found = []
    for space, evaluator, parts in zip(spaces, evaluators, divided, strict=True):
        if isinstance(space, NBest):
            places, front = find_list_front(space, evaluator, nbest_stats(evaluator, space))
            found.append(front._replace(hypotheses=[space[place] for place in places]))
            continue
        if ours and _has_front(evaluator):
            found.append(_find_front(space, evaluator, next(fronts)))
            continue
        sentences, own = _Sentences(evaluator), next(searched)
        sentence, first = sentences.add(own.hypothesis), sentences.add(best(space))
        outer, proven = [own.stats], own.exact and parts is not None
        if parts is not None and len(parts) > 1:
            outer = []
            for part in parts:
                against = next(searched)
                proven &= against.exact
                outer += sentences.attain(space, part, against, search)
        rows = floats(sentences.rows)
        found.append(
            FrontCandidates(
                tuple(sentences.hypotheses), rows, floats(outer) if proven else None,
                sentence, first, own.engine,
            )
        )  # fmt: skip
    return found


@takes(space=GRAPH, evaluator=EVALUATOR)
def statistics_front(
    space: Lattice | Forest, evaluator: Evaluator, **search: Unpack[SearchOptions]
) -> StatisticsFront:
    """Return the statistics that the sentences of a space can have, dominated ones left out.

    For BLEU and its kin: of sentences of one length, no row has as many matches of every order as
    another. Whatever the corpus, its best choice is made of these. They are all there within
    ``budget`` and ``memory``; beyond them ``exact`` is False, and ``outer`` has rows that dominate
    all there are.

    Parameters
    ----------
    space : Lattice or Forest
    evaluator : Evaluator
        Of a metric of clipped matches, as BLEU is.
    **search
        ``budget`` and ``memory`` of :class:`decoding.extraction.search.Search`.

    Examples
    --------
    >>> from fstmetrics import BLEU
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a"), (0, 1, "the"), (1, 2, "cat"), (2, 3, "sat"), (2, 3, "s"), (1, 3, "cat")],
    ...     finals=[3],
    ... )
    >>> front = statistics_front(lattice, BLEU(order=2).against(["the cat sat"]))
    >>> [each.text for each in front.hypotheses], front.rows[:, :2].tolist(), front.exact
    (['the cat', 'the cat sat'], [[2.0, 1.0], [3.0, 2.0]], True)
    """
    if not _has_front(evaluator):
        raise OptionError(f"{evaluator.metric} has no front of statistics: BLEU and its kin have")
    return _fronts([space], [evaluator], Search.of("statistics_front", search))[0]


def _has_front(evaluator: Evaluator) -> bool:
    """Tell whether a metric is BLEU or its kin; OptionError if it cannot search, as it is set."""
    offers = abilities_of(evaluator).clipped_matches is not None
    return offers and clipped_matches(evaluator).fronts


def _fronts(
    spaces: Sequence[Space],
    evaluators: Sequence[Evaluator],
    search: Search,
) -> list[StatisticsFront]:
    """Return the fronts of the lattices and forests under metrics that have them."""
    some = [
        (space, evaluator)
        for space, evaluator in zip(spaces, evaluators, strict=True)
        if not isinstance(space, NBest) and _has_front(evaluator)
    ]
    if not some:
        return []
    from decoding.extraction.bleu_search import statistics_fronts

    return statistics_fronts(
        [space for space, _ in some],
        [evaluator for _, evaluator in some],
        search,
    )


def _find_front(
    space: Lattice | Forest, evaluator: Evaluator, front: StatisticsFront
) -> FrontCandidates:
    """Return the front of a space and its 1-best, which a row dominates if it is none of them."""
    own, some, rows = best(space), front.hypotheses, front.rows
    nbest, length = some.nbest, len(own.tokens)
    first = next(
        (
            place
            for place in np.flatnonzero(np.diff(nbest.offset) == length).tolist()
            if nbest.tokens(place) == own.tokens
        ),
        len(rows),
    )
    if first == len(rows):
        nbest = join_lists(nbest, NBest.from_hypotheses([own], vocabulary=nbest.vocabulary))
        rows = floats(np.vstack([rows, evaluator.stats(own.tokens)]))
    model = nbest.score.copy()
    model[first] = own.score
    sentence = ranking(scores_of(evaluator.metric, rows), model, ROUNDING)[0]
    said = Sentences(nbest, lambda place: own if place == first else some[place])
    outer = rows if front.exact else front.outer
    return FrontCandidates(said, rows, outer, sentence, first, LABELS)


def join_lists(*lists: NBest) -> NBest:
    """Return the words and scores of lists of one vocabulary as one list."""
    ends = np.cumsum([0, *(len(each.label) for each in lists)])
    begins = [each.offset[:-1] + end for each, end in zip(lists, ends.tolist(), strict=False)]
    return NBest(
        lists[0].vocabulary,
        ints(np.concatenate([each.label for each in lists])),
        ints(np.append(np.concatenate(begins), ends[-1])),
        floats(np.concatenate([each.score for each in lists])),
    )


def find_list_front(
    nbest: NBest, evaluator: Evaluator, rows: FloatColumn
) -> tuple[list[int], FrontCandidates]:
    """Return the places of the entries that no other one dominates, and these without sentences.

    The sentence oracle and the 1-best are among them. ``rows`` are the statistics of all entries.
    """
    order = np.argsort(-nbest.score, kind="stable")
    (sentence,) = rank_places(nbest, evaluator, stats=rows)
    wanted = {sentence, *order[:1].tolist()}
    wanted.update(order[find_undominated(rows[order], evaluator.metric)].tolist())
    places = [place for place in order.tolist() if place in wanted]
    chosen = floats(rows[places])
    return places, FrontCandidates((), chosen, chosen, places.index(sentence), 0, "scorer")


class _Sentences:
    """Sentences of a lattice or forest, each once, with their statistics under the metric."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.hypotheses: list[Hypothesis] = []
        self.rows: list[FloatColumn] = []
        self.place: dict[tuple[str, ...], int] = {}

    def add(self, hypothesis: Hypothesis, row: FloatColumn | None = None) -> int:
        """Return the place of a sentence, with the better of its paths; ``row`` if it is scored."""
        place = self.place.setdefault(hypothesis.tokens, len(self.rows))
        if place == len(self.rows):
            self.hypotheses.append(hypothesis)
            self.rows.append(self.evaluator.stats(hypothesis.tokens) if row is None else row)
        elif hypothesis.score > self.hypotheses[place].score:
            self.hypotheses[place] = hypothesis
        return place

    def attain(
        self,
        space: Lattice | Forest,
        part: Evaluator,
        found: Oracle,
        search: Search,
    ) -> list[FloatColumn]:
        """Add the best sentence that is scored against the references of one denominator.

        Returns the row of statistics, if any, that no sentence with this denominator surpasses.
        """
        row = found.stats
        if self._add_if_attained(found):
            return [row]
        if not search.is_ours and not isinstance(ENGINES.get(search.engine), RankingEngine):
            return [row]  # it bounds them, though less tightly than the next ones
        seen = 0
        for k in _LOOKED_THROUGH:
            following = rank_oracles(space, part, k, search)
            for each in following[seen:]:
                if not each.exact:
                    return [row]
                row = each.stats
                if self._add_if_attained(each):
                    return [row]
            if len(following) < k:
                return []  # no sentence at all is scored against these references
            seen = k
        return [row]

    def _add_if_attained(self, found: Oracle) -> bool:
        metric = cast(Any, self.evaluator.metric)  # only metrics with fractions have parts
        rows = np.array([found.stats, self.evaluator.stats(found.tokens)])
        wanted, attained = metric.fractions(rows)[1].tolist()
        if wanted == attained:
            self.add(found.hypothesis)
        return bool(wanted == attained)
