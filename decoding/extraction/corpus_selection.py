"""Choice of one row of statistics for each segment, so that the corpus is best.

A *front* holds the rows of statistics that one segment can have. The score of a corpus is that
of the sum of one row from each front, and for most metrics the best sum is not made of the best
rows. Where the score is a sum over a sum (``fractions`` of a metric) the answer is
exact; for BLEU a search is bounded from above by Lagrange multipliers
(:mod:`decoding.extraction.bleu_bound`); for other metrics it is a search without a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeGuard

import numpy as np

from fstmetrics import BLEU, Metric
from fstmetrics.contract import ROUNDING, metric_abilities_of, quality, scores_of
from lattices.arrays import FloatColumn, IntColumn, ints
from lattices.errors import OptionError
from lattices.records import PlainRecord

#: as many selections are all tried
_MOST_SELECTIONS = 4096
#: selections that are improved by single changes
_IMPROVED = 3
#: the steps of one linearised search
_MOST_STEPS = 20


@dataclass(frozen=True, kw_only=True)
class BoundedScore(PlainRecord):
    """The score of a corpus, and how good it could be."""

    #: the metric of the corpus
    score: float
    #: the summed statistics
    stats: FloatColumn
    #: no choice has a better score than this; None where no bound is known
    bound: float | None

    @property
    def gap(self) -> float | None:
        """How far the score may be from the best; None without a bound."""
        return None if self.bound is None else abs(self.bound - self.score)

    @property
    def exact(self) -> bool:
        """Whether no choice is better, as far as rounding allows."""
        return self.gap is not None and self.gap <= ROUNDING


@dataclass(frozen=True, kw_only=True)
class CorpusChoice(BoundedScore):
    """One row from each front.

    Attributes
    ----------
    places : int column
        Which row, for each front.
    score, stats, bound
        As in :class:`BoundedScore`.
    """

    places: IntColumn


def find_undominated(rows: FloatColumn, metric: Metric) -> IntColumn:
    """Return the places of the rows that can be part of a best corpus, the first of equal ones.

    A row is left out if another one makes the corpus no worse, whatever the other segments are.
    Of a fraction that is a better numerator over the same denominator; in BLEU, with the same
    lengths, no fewer matches of any order.
    """
    # dictionaries take a fifth of the time that sorting rows takes
    distinct: dict[tuple[float, ...], int] = {}
    for place, row in enumerate(map(tuple, rows.tolist())):
        distinct.setdefault(row, place)
    first = np.array(list(distinct.values()))
    fractions = metric_abilities_of(metric).fractions
    if fractions is not None:
        numerator, denominator = fractions(metric, rows[first])
        objective = numerator if metric.higher_is_better else -numerator
        order = np.lexsort((-objective, denominator))  # stable: the first of equals stays first
        starts = np.flatnonzero(np.diff(denominator[order], prepend=-1.0))
        return ints(first[np.sort(order[starts])])
    if not _grows_with_matches(metric, rows):
        return ints(first)
    groups: dict[tuple[float, ...], list[int]] = {}
    for row, place in distinct.items():
        groups.setdefault(row[metric.order :], []).append(place)
    kept: list[int] = []
    for members in groups.values():
        some = rows[members, : metric.order]
        covers = (some[:, None, :] >= some[None, :, :]).all(axis=2)
        # all are distinct, and each covers itself
        kept += [
            place for place, by in zip(members, covers.sum(axis=0).tolist(), strict=True) if by == 1
        ]
    return ints(sorted(kept))


def _grows_with_matches(metric: Metric, rows: FloatColumn) -> TypeGuard[BLEU]:
    """Tell whether more matches never make the corpus worse."""
    if not is_bleu(metric):
        return False
    if metric.smooth in ("none", "add-k"):
        return True
    # what stands for no match must not be more than the fewest matches there can be
    matches = rows[:, : metric.order]
    return metric.smooth_value <= 1.0 and bool((matches == np.rint(matches)).all())


def is_bleu(metric: Metric) -> TypeGuard[BLEU]:
    """Tell whether a metric makes its score of matches, totals and lengths as BLEU does."""
    return isinstance(metric, BLEU) and all(
        getattr(type(metric), name) is getattr(BLEU, name)
        for name in ("score", "scores", "scoring")
    )


def corpus_choice(
    fronts: Sequence[FloatColumn],
    metric: Metric,
    *,
    starts: Iterable[Sequence[int]] = (),
    outer: Sequence[FloatColumn] | None = None,
) -> CorpusChoice:
    """Choose a row from each front so that the corpus scores best."""
    if not len(fronts) or not all(map(len, fronts)):
        raise OptionError("a corpus needs at least one segment, and each segment a row to choose")
    corpus = Corpus(fronts, metric)
    given = [ints(start) for start in starts]
    bound: float | None
    fractions = metric_abilities_of(metric).fractions
    if fractions is not None:
        places = _best_ratio(corpus, *fractions(metric, corpus.rows))
        bound = corpus.score(places)
    elif prod(map(len, fronts)) <= _MOST_SELECTIONS:
        places = _search_exhaustively(corpus)
        bound = corpus.score(places)
    else:
        places, bound = _search(corpus, given)
    if outer is not None:
        bound = corpus_choice(outer, metric).bound
    # of equals what was given first: a start may be better than a search by rounding alone
    some = [*given, places]
    objective = [quality(metric, corpus.score(each)) for each in some]
    places = next(
        each for each, one in zip(some, objective, strict=True) if one >= max(objective) - ROUNDING
    )
    score = corpus.score(places)
    if bound is not None and quality(metric, bound) < quality(metric, score):
        bound = score  # by rounding
    return CorpusChoice(places=places, score=score, stats=corpus.total(places), bound=bound)


class Corpus:
    """The fronts of a corpus in one array, and selections from them.

    Attributes
    ----------
    rows : float64 array
        All rows, front after front.
    begin : int column
        Where each front begins.
    segment : int column
        The front of each row.
    """

    def __init__(self, fronts: Sequence[FloatColumn], metric: Metric) -> None:
        self.metric = metric
        self.rows: FloatColumn = np.concatenate(list(fronts), dtype=np.float64)
        sizes = np.array([len(front) for front in fronts])
        self.begin = np.cumsum(sizes) - sizes
        self.sizes = sizes
        self.segment = np.repeat(np.arange(len(sizes)), sizes)

    def __len__(self) -> int:
        """Return the number of segments."""
        return len(self.begin)

    def best(self, objective: FloatColumn) -> IntColumn:
        """Return where the highest objective of each front is, the first of equals."""
        top = np.maximum.reduceat(objective, self.begin)
        ties = np.flatnonzero(objective == top[self.segment])
        first = ties[np.searchsorted(self.segment[ties], np.arange(len(self)))]
        return ints(first - self.begin)

    def total(self, places: IntColumn) -> FloatColumn:
        """Return the sum of the chosen rows."""
        summed: FloatColumn = self.rows[self.begin + places].sum(axis=0)
        return summed

    def score(self, places: IntColumn) -> float:
        """Return the metric of a selection."""
        return self.metric.score(self.total(places))

    def evaluate(self, totals: FloatColumn) -> FloatColumn:
        """Return the metric of sums, turned so that higher is better."""
        scores = scores_of(self.metric, totals)
        return scores if self.metric.higher_is_better else -scores


def _best_ratio(corpus: Corpus, numerator: FloatColumn, denominator: FloatColumn) -> IntColumn:
    """Return the selection with the best ratio of summed numerators and denominators.

    ``max of G / D`` over selections with D > 0, each step from q to the ratio of the selection that
    is best under ``G - q D``: ratios rise until they stay, which takes a few steps.
    """
    metric = corpus.metric
    gain = numerator if metric.higher_is_better else -numerator
    candidates = []
    none = np.where(denominator == 0, gain, -np.inf)
    if np.isfinite(np.maximum.reduceat(none, corpus.begin)).all():
        candidates.append(corpus.best(none))
    if denominator.any():
        places, ratio = corpus.best(denominator), -np.inf
        while True:
            chosen = corpus.begin + places
            better = gain[chosen].sum() / denominator[chosen].sum()
            if better <= ratio:
                break
            ratio = better
            candidates.append(places)
            objective = gain - ratio * denominator
            places = corpus.best(objective)
            if not denominator[corpus.begin + places].any():
                loss = np.where(
                    denominator > 0,
                    objective - objective[corpus.begin + places][corpus.segment],
                    -np.inf,
                )
                row = int(np.argmax(loss))
                places = places.copy()
                places[corpus.segment[row]] = row - corpus.begin[corpus.segment[row]]
    # the last step may differ from the one before by rounding alone
    return max(
        candidates[-2:] + candidates[:1], key=lambda each: quality(metric, corpus.score(each))
    )


def _search_exhaustively(corpus: Corpus) -> IntColumn:
    """Return the best of all selections, the first of equals."""
    totals = np.zeros((1, corpus.rows.shape[1]))
    for front in np.split(corpus.rows, corpus.begin[1:]):
        totals = (totals[:, None] + front).reshape(-1, front.shape[1])
    best = int(np.argmax(corpus.evaluate(totals)))
    return ints(np.unravel_index(best, corpus.sizes))


def _search(corpus: Corpus, starts: Sequence[IntColumn]) -> tuple[IntColumn, float | None]:
    """Return the best selection that is found, and a bound if there is one."""
    if is_bleu(corpus.metric) and (narrowed := _drop_absent_orders(corpus, corpus.metric)):
        inner, kept = narrowed
        where = [{place: at for at, place in enumerate(some.tolist())} for some in kept]
        found, bound = _search(inner, [
            ints([at[place] for at, place in zip(where, start.tolist(), strict=True)])
            for start in starts
            if all(place in at for at, place in zip(where, start.tolist(), strict=True))
        ])  # fmt: skip
        return ints([some[at] for some, at in zip(kept, found.tolist(), strict=True)]), bound
    pool = _CandidatePool(corpus)
    for start in [*starts, ints(np.zeros(len(corpus)))]:
        pool.add(start)
        _linearise(corpus, start, pool.add)
    pool.improve()
    bound = None
    if is_bleu(corpus.metric):
        from decoding.extraction.bleu_bound import bleu_bound

        bound = bleu_bound(corpus, corpus.metric, pool.best, pool.add)
        pool.improve()
    return pool.best, bound


def _drop_absent_orders(corpus: Corpus, metric: BLEU) -> tuple[Corpus, list[IntColumn]] | None:
    """Return the corpus that an effective order leaves, and which rows of each front are in it.

    An order of which a corpus has no n-grams is left out of the mean. So where no row matches
    n-grams of some order, and nothing stands for a match, selections that have any score 0, and
    the others are scored by the orders below. None if that is no difference.
    """
    if not metric.effective_order or metric.smooth == "add-k":
        return None
    order, rows = metric.order, corpus.rows
    matches, totals = rows[:, :order], rows[:, order : 2 * order]
    lacking = ~totals.any(axis=0)
    if metric.smooth == "none":
        lacking |= ~matches.any(axis=0) & (metric.scoring[0] > 0)
    below = int(np.argmax(lacking))
    weights = metric.scoring[0][:below]
    if not lacking.any() or not weights.any():
        return None
    fronts = np.split(rows, corpus.begin[1:])
    kept = [ints(np.flatnonzero(front[:, order + below] == 0)) for front in fronts]
    if not all(map(len, kept)):
        return None
    columns = [*range(below), *range(order, order + below), -2, -1]
    shorter = replace(metric, order=below, weights=weights.tolist())
    inner = Corpus([front[some][:, columns] for front, some in zip(fronts, kept, strict=True)],
                   shorter)  # fmt: skip
    return inner, kept


class _CandidatePool:
    """Selections that a search has come by, the best first."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.found: dict[bytes, tuple[float, IntColumn]] = {}
        self.improved: set[bytes] = set()

    def add(self, places: IntColumn) -> float:
        """Take a selection in, and return its objective."""
        key = places.tobytes()
        if key not in self.found:
            objective = quality(self.corpus.metric, self.corpus.score(places))
            self.found[key] = objective, places
        return self.found[key][0]

    def _rank(self) -> list[tuple[float, IntColumn]]:
        return sorted(self.found.values(), key=lambda each: -each[0])

    @property
    def best(self) -> IntColumn:
        """The best so far."""
        return self._rank()[0][1]

    def improve(self) -> None:
        """Change single rows of the best few until no change is an improvement."""
        for _, places in self._rank()[:_IMPROVED]:
            if places.tobytes() not in self.improved:
                end = _ascend(self.corpus, places)
                self.improved |= {places.tobytes(), end.tobytes()}
                self.add(end)


def _linearise(corpus: Corpus, start: IntColumn, add: Callable[[IntColumn], float]) -> None:
    """Follow the metric's gradient: choose for each segment what is best where the sums are."""
    places, before = start, -np.inf
    for _ in range(_MOST_STEPS):
        objective = add(places)
        if not objective > before:
            return
        before = objective
        total = corpus.total(places)
        steps = np.diag(np.maximum(1e-4 * np.abs(total), 1e-4))
        rise = corpus.evaluate(total + steps) - corpus.evaluate(total - steps)
        slope = rise / (2 * steps.diagonal())
        if not np.isfinite(slope).all():
            return
        places = corpus.best(corpus.rows @ slope)


def _ascend(corpus: Corpus, start: IntColumn) -> IntColumn:
    """Improve a selection by single changes until none helps."""
    now: IntColumn = start.copy()
    changed = True
    fronts = np.split(corpus.rows, corpus.begin[1:])
    while changed:
        changed = False
        total = corpus.total(now)
        for segment, front in enumerate(fronts):
            if len(front) == 1:
                continue
            objective = corpus.evaluate(total - front[now[segment]] + front)
            place = int(np.argmax(objective))
            if objective[place] > objective[now[segment]] + ROUNDING:
                total = total - front[now[segment]] + front[place]
                now[segment] = place
                changed = True
    return now
