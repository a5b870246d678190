"""Scores of pairs: whole matrices, expectations, and searches that ask for some pairs at a time.

A search is a generator. It yields what it asks for, :class:`Pairs` or :class:`Vectors`, is sent the
answer, and returns what it has found. So one search does not say when a utility is called: those of
many segments run side by side, and each call gets a full batch of what they ask for.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from decoding.extraction.ranking import ranking
from decoding.minimum_risk.evidence import Evidence, rows
from fstmetrics import Metric
from fstmetrics.contract import ROUNDING, metric_abilities_of, nbest_stats, scores_of
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError
from lattices.spaces import NBest

if TYPE_CHECKING:
    from fstmetrics import Utility
    from fstmetrics.external.utility import Asked

T = TypeVar("T")

#: scores of pairs that are in memory at once
_PAIRS = 1 << 22


class Pairs(NamedTuple):
    """The pairs that a search asks for, to be answered by their scores.

    Of all pairs by a matrix of evidence (rows) and candidates (columns); by a column, where
    ``places`` has the candidate and the sentence of evidence of each pair.
    """

    metric: Metric
    candidates: NBest
    evidence: NBest
    places: tuple[Array, Array] | None = None


class Vectors(NamedTuple):
    """The texts that a search asks for, to be answered by a matrix with the vector of each."""

    utility: Utility
    texts: list[str]


Search: TypeAlias = Generator["Pairs | Vectors", Array, T]


def score_matrix(candidates: NBest, evidence: NBest, metric: Metric) -> FloatColumn:
    """Return the metric of each candidate against each sentence of evidence as its reference.

    Entry ``[e, c]`` is ``metric.against([evidence e]).score(candidate c)``. WER, WRR, CER, GRR,
    PER, TER, BLEU, BLEU-SBP, chrF and METEOR score all pairs at once (``metric.pair_scores``); any
    other prepares each sentence of evidence as a reference and scores the list of candidates.
    """
    if not (len(candidates) and len(evidence)):
        return np.empty((len(evidence), len(candidates)))
    pair_scores = metric_abilities_of(metric).pair_scores
    if pair_scores is not None:
        return pair_scores(metric, candidates, evidence)
    return np.array([_score_row(metric, candidates, evidence, row) for row in range(len(evidence))])


def _score_row(metric: Metric, candidates: NBest, evidence: NBest, row: int) -> FloatColumn:
    return scores_of(metric, nbest_stats(metric.against([evidence.tokens(row)]), candidates))


def has_kernel(metric: Metric) -> bool:
    """Tell whether whole matrices of the metric's scores are computed at once."""
    return metric_abilities_of(metric).pair_scores is not None


@dataclass(eq=False)
class _Waiting:
    """A search that waits for a utility."""

    place: int
    search: Search[Any]
    utility: Utility
    asked: Asked
    found: dict[Any, Any] = field(default_factory=dict)


def run_together(searches: Iterable[Search[T]]) -> list[T]:
    """Return what each search finds; one that is under way waits while others fill a batch.

    A utility with a ``batch``, the same for all, is called with fewer items only where all searches
    wait for those. Searches begin as they are needed, so that few are under way at a time.

    Examples
    --------
    >>> from fstmetrics import Utility
    >>> from lattices import from_hypotheses
    >>> utility = Utility(lambda pairs: [len(pairs)] * len(pairs), batch=4)
    >>> lists = [from_hypotheses([(text, 0.0) for text in some]) for some in ("ab", "cdef", "g")]
    >>> def search(one):
    ...     scores = yield Pairs(utility, one, one)
    ...     return int(scores.sum())
    >>> run_together(map(search, lists)), utility.calls.calls
    ([16, 64, 1], 6)
    """
    results: dict[int, T] = {}
    queue: dict[Any, list[_Waiting]] = {}
    rest = enumerate(searches)

    def advance(place: int, search: Search[T], answer: Any = None) -> None:
        """Send a search answers until it has to wait."""
        while True:
            try:
                request = search.send(answer)
            except StopIteration as done:
                results[place] = done.value
                return
            asked = _ask(request)
            if asked is None:
                answer = _score(request)
            elif asked[0].batch is None or not asked[1].items:
                answer = asked[1].finish(asked[0].compute(asked[1].items))
            else:
                waiting = _Waiting(place, search, *asked)
                for item in waiting.asked.items:
                    queue.setdefault(item, []).append(waiting)
                return

    def fill() -> Utility | None:
        """Begin searches until there is a batch; return the utility that is to be called."""
        while True:
            utility = next(iter(queue.values()))[0].utility if queue else None
            if utility is not None and len(queue) >= (utility.batch or 1):
                return utility
            another = next(rest, None)
            if another is None:
                return utility
            advance(*another)

    while (utility := fill()) is not None:
        for item, value in utility.compute([*islice(queue, utility.batch)]).items():
            for waiting in queue.pop(item):
                waiting.found[item] = value
                if len(waiting.found) == len(waiting.asked.items):
                    answer = waiting.asked.finish(waiting.found)
                    advance(waiting.place, waiting.search, answer)
    return [results[place] for place in range(len(results))]


def run(search: Search[T]) -> T:
    """Return what one search finds."""
    [found] = run_together([search])
    return found


def _ask(request: Pairs | Vectors) -> tuple[Utility, Asked] | None:
    """Return what a utility has to compute; None if something else scores the pairs."""
    from fstmetrics import Normalised, Utility
    from fstmetrics.external.utility import texts_of

    if isinstance(request, Vectors):
        return request.utility, request.utility.ask_vectors(request.texts)
    metric, candidates, evidence, places = request
    while isinstance(metric, Normalised):
        candidates, evidence = metric.nbest(candidates), metric.nbest(evidence)
        metric = metric.metric
    if not isinstance(metric, Utility):
        return None
    said, expected = texts_of(candidates), texts_of(evidence)
    if places is None:
        asked = metric.ask([(one, other) for other in expected for one in said])
        shape = len(expected), len(said)
        finish = asked.finish
        return metric, asked._replace(finish=lambda found: finish(found).reshape(shape))
    one, other = (place.tolist() for place in places)
    return metric, metric.ask([(said[c], expected[e]) for c, e in zip(one, other, strict=True)])


def _score(request: Any) -> FloatColumn:
    """Return the scores of pairs; a kernel computes all, whichever are asked for."""
    metric, candidates, evidence, places = request
    if places is None:
        return score_matrix(candidates, evidence, metric)
    one, other = places
    if has_kernel(metric):
        return floats(score_matrix(candidates, evidence, metric)[other, one])
    found = np.empty(len(one))
    for row in np.unique(other).tolist():
        some = other == row
        found[some] = _score_row(metric, rows(candidates, one[some]), evidence, row)
    return floats(found)


def expected_scores(
    candidates: NBest, evidence: Evidence, metric: Metric, *, power: int = 1
) -> FloatColumn:
    """Return the expected metric of each candidate, or that of a power of it.

    ``sum over e of weight(e) * metric(candidate, e) ** power``: the average of sentence scores in
    the metric's own definition, each normalised by its own sentence of evidence.
    """
    return run(expect_scores(candidates, evidence, metric, power))


def expect_scores(
    candidates: NBest, evidence: Evidence, metric: Metric, power: int = 1
) -> Search[FloatColumn]:
    """Search for :func:`expected_scores`."""
    step = max(1, _PAIRS // max(1, len(candidates)))
    total = np.zeros(len(candidates))
    for first in range(0, len(evidence.nbest), step):
        some, weight = evidence.nbest, evidence.weight[first : first + step]
        if step < len(some):
            some = rows(some, ints(np.arange(first, first + len(weight))))
        total += weight @ (yield Pairs(metric, candidates, some)) ** power
    return check_expectations(total, metric)


def check_expectations(expected: FloatColumn, metric: Metric) -> FloatColumn:
    """Return expectations that can be compared, or raise OptionError."""
    if np.isnan(expected).any():
        raise OptionError(f"{metric} gives a sentence of evidence no score: its mean is no number")
    return floats(expected)


def rank(nbest: NBest, expected: FloatColumn, metric: Metric, k: int = 1) -> IntColumn:
    """Return the places of the ``k`` candidates with the best expectations, best first.

    Expectations that differ by no more than 1e-12 are equal. Ties go to the higher model score,
    then to the first in the list.
    """
    objective = expected if metric.higher_is_better else -expected
    return ints(ranking(objective, nbest.score, ROUNDING)[:k])
