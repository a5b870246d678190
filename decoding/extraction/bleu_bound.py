"""BLEU of a corpus bounded from above, by Lagrange multipliers and for each total length.

With matches m_n, totals t_n, length c and reference length r, all summed over the corpus,

    log BLEU = sum over n of w_n (log m_n - log t_n) + min(0, 1 - r / c).

For any multipliers x this is at most

    sum over segments of max over rows s of x . s  +  max over sums S of (log BLEU(S) - x . S),

where the second maximum is over a box around all sums there can be. It falls apart: log m_n is
concave and its part has a closed form; -log t_n is convex, so its maximum is at an end of the
interval of t_n. That would be loose for the interval of all lengths, so the total length t_1 is
branched on: every length, or short interval of lengths, has a bound of its own, the lowest that
any of the multipliers tried gives to it. The bound of the corpus is the highest of these.

The multipliers for one length are found by Newton's method on the first formula with each
maximum over rows replaced by its soft version, at falling temperatures. What the maxima choose
under them are good selections, too: the duality gap shrinks with the number of segments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fstmetrics import BLEU
from lattices.arrays import FloatColumn, IntColumn

if TYPE_CHECKING:
    from decoding.extraction.corpus_selection import Corpus

#: intervals of the total length at first
_INTERVALS = 4096
#: how many lengths get multipliers of their own
_MOST_LENGTHS = 40
#: log BLEU is bounded closely enough
_CLOSE = 1e-7
#: temperatures of the soft maxima, by the number of segments, and Newton's steps at each
_TEMPERATURES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
_MOST_STEPS = 8
#: no multiplier, in relation to its sum, moves further in a step
_LONGEST_STEP = 0.25


def bleu_bound(
    corpus: Corpus, metric: BLEU, start: IntColumn, add: Callable[[IntColumn], float]
) -> float | None:
    """Return what no selection of a corpus can surpass, or None where this is not known."""
    if metric.mean != "geometric":
        return None
    problem = _Problem(corpus, metric)
    if not problem.whole_lengths:
        return None
    if problem.hopeless:
        return 0.0
    best = add(start)
    low, high = problem.intervals()
    bounds = problem.bounds(low, high)
    target = float(corpus.total(start)[metric.order])
    tried: set[float] = set()
    while len(tried) < _MOST_LENGTHS and target not in tried:
        tried.add(target)
        known = len(problem.points)
        for selection in problem.solve(target):
            best = max(best, add(selection))
        bounds = np.minimum(bounds, problem.bounds(low, high, known))
        limit = np.log(best) + _CLOSE if best > 0 else -np.inf
        while high[top := int(np.argmax(bounds))] > low[top] and bounds[top] > limit:
            # all intervals that matter are halved together
            wide = (high > low) & (bounds > limit)
            middle = np.floor((low[wide] + high[wide]) / 2)
            kept = len(bounds) - int(wide.sum())
            low = np.concatenate([low[~wide], low[wide], middle + 1])
            high = np.concatenate([high[~wide], middle, high[wide]])
            halves = problem.bounds(low[kept:], high[kept:])
            bounds = np.concatenate([bounds[~wide], halves])
        if bounds[top] <= limit:
            break
        target = float(low[top])
    return float(np.exp(bounds.max()))


class _Point(NamedTuple):
    """Multipliers, and the part of the bound that is the same for all lengths."""

    #: the sum over segments, and what is bounded by closed forms
    constant: float
    #: the multipliers of the total length and of the reference length
    length: float
    reference: float
    #: those of the totals of each order, 0 for unigrams
    slopes: FloatColumn


class _Problem:
    """Log BLEU of a corpus, with its multipliers in relation to the size of the sums."""

    def __init__(self, corpus: Corpus, metric: BLEU) -> None:
        self.corpus, self.order = corpus, metric.order
        weights = metric.scoring[0]
        self.used = np.flatnonzero(weights > 0)
        self.weight = weights
        self.added = np.zeros(self.order)
        self.floor = -np.inf
        if metric.smooth == "add-k":
            self.added[1:] = metric.smooth_value
        elif metric.smooth != "none":
            # what counts in place of no match, at most
            self.floor = np.log(metric.smooth_value if metric.smooth == "floor" else 0.5)
        rows = corpus.rows
        matches, totals = rows[:, : self.order], rows[:, self.order : 2 * self.order]
        self.totals, length, reference = totals, rows[:, -2], rows[:, -1]
        self.whole_lengths = bool((totals[:, 0] == np.rint(totals[:, 0])).all())
        most = self._sums(np.maximum, matches)
        # without any match the score is 0, whatever the weights and the smoothing
        self.unmatched = not most.any()
        self.most = most[self.used]
        # no order surpasses 1, or what stands for no match
        self.trivial = max(0.0, self.floor)
        self.shortest, self.longest = self._range(totals[:, 0])
        fewer = totals[:, :1] - totals
        self.fewer = self._sums(np.minimum, fewer), self._sums(np.maximum, fewer)
        self.references = self._range(reference)
        self.lengths = self._range(length)
        self.one_reference = self.references[0] == self.references[1]
        self.own_length = not np.array_equal(length, totals[:, 0])
        parts = [matches[:, self.used], totals[:, :1]]
        if self.own_length:
            parts.append(length[:, None])
        elif not self.one_reference:
            parts.append(reference[:, None])
        features = np.concatenate(parts, axis=1)
        self.scale = np.maximum(self._sums(np.maximum, features), 1.0)
        self.features = features / self.scale
        # (r - r_lo) / c is at least (r - r_lo) / c_hi: with a length of its own, r is linear
        self.by_reference = (
            -1.0 / max(self.lengths[1], 1.0) if self.own_length and not self.one_reference else 0.0
        )
        self.fixed = self.by_reference * reference
        self.points: list[_Point] = []

    def _sums(self, extreme: np.ufunc, values: FloatColumn) -> FloatColumn:
        """Return the sum over segments of the least or largest values."""
        summed: FloatColumn = extreme.reduceat(values, self.corpus.begin, axis=0).sum(axis=0)
        return summed

    def _range(self, values: FloatColumn) -> tuple[float, float]:
        """Return what the sum of a column is at least and at most."""
        return float(self._sums(np.minimum, values)), float(self._sums(np.maximum, values))

    @property
    def hopeless(self) -> bool:
        """Whether there are no words, no matches, or none of some order and nothing instead."""
        none = self.most + self.added[self.used] == 0
        empty = self.longest == 0 or (self.lengths[1] == 0 and self.references[0] > 0)
        return self.unmatched or empty or bool(none.any() and np.isneginf(self.floor))

    def intervals(self) -> tuple[FloatColumn, FloatColumn]:
        """Return the ends of intervals that have all total lengths in them."""
        step = max(1.0, ceil((self.longest - self.shortest + 1) / _INTERVALS))
        low = np.arange(self.shortest, self.longest + 1, step)
        return low, np.minimum(low + step - 1, self.longest)

    def solve(self, target: float) -> Iterator[IntColumn]:
        """Find multipliers for one total length, and iterate over what they select.

        Each time from the beginning: those for a length at an end of the range grow without
        limit, and are no place to start from.
        """
        slopes = self._chords(target)
        fixed = self.fixed + self.totals @ slopes
        x = np.concatenate([self.weight[self.used], np.zeros(len(self.scale) - len(self.used))])
        for temperature in _TEMPERATURES:
            soft = temperature / len(self.corpus)
            value, slope, curve = self._soft(x, fixed, target, soft)
            for _ in range(_MOST_STEPS):
                ridge = 1e-10 * max(np.trace(curve), 1e-10)
                step = -np.linalg.solve(curve + ridge * np.eye(len(x)), slope)
                step *= min(1.0, _LONGEST_STEP / max(np.abs(step).max(), 1e-300))
                promised = slope @ step
                while True:
                    after = self._soft(x + step, fixed, target, soft)
                    if after[0] <= value + 0.1 * promised or -promised < 1e-14:
                        break
                    step, promised = step / 2, promised / 2
                if after[0] >= value:
                    break
                x = x + step
                value, slope, curve = after
                if -promised < 1e-10:
                    break
            yield self._enter(x, fixed, slopes)

    def _chords(self, target: float) -> FloatColumn:
        """Return the slopes of -w_n log t_n over what t_n can be, for n above 1."""
        low = np.maximum(target - self.fewer[1], 1.0) + self.added
        high = np.maximum(target - self.fewer[0], 1.0) + self.added
        wide = high > low
        rise = np.log(high) - np.log(low)
        slopes = -self.weight * np.where(wide, rise / np.where(wide, high - low, 1.0), 1.0 / high)
        slopes[0] = 0.0
        return slopes

    def _matches(self, x: FloatColumn) -> tuple[FloatColumn, FloatColumn, FloatColumn]:
        """Return the maximum of w_n log(m + k_n) - x m for each order, its slope and curvature."""
        weight, added = self.weight[self.used], self.added[self.used]
        with np.errstate(divide="ignore"):
            wanted = np.where(x > 0, weight / np.where(x > 0, x, 1.0) - added, np.inf)
            chosen = np.clip(wanted, 0.0, self.most)
            value = weight * np.log(chosen + added) - x * chosen
        inside = (wanted > 0) & (wanted < self.most)
        return value, -chosen, np.where(inside, weight / np.where(inside, x, 1.0) ** 2, 0.0)

    def _penalty(self, x: float) -> tuple[float, float, float]:
        """Return the maximum of the penalty's logarithm - x c over c, its slope and curvature."""
        reference = self.references[0]
        wanted = np.sqrt(reference / x) if x > 0 else np.inf
        if self.one_reference and x >= 0:
            wanted = min(wanted, reference)
        chosen = float(np.clip(wanted, *self.lengths))
        value = 1.0 - (reference / chosen if reference > 0 else 0.0)
        if self.one_reference:
            value = min(0.0, value)
        value -= self.by_reference * reference
        inside = x > 0 and chosen == wanted < reference
        return value - x * chosen, -chosen, 0.5 * chosen / x if inside else 0.0

    def _soft(
        self, x: FloatColumn, fixed: FloatColumn, target: float, soft: float
    ) -> tuple[float, FloatColumn, FloatColumn]:
        """Return the bound for one length with soft maxima, its gradient and its Hessian."""
        count, scale = len(self.used), self.scale
        begin, segment = self.corpus.begin, self.corpus.segment
        objective = self.features @ x + fixed
        top = np.maximum.reduceat(objective, begin)
        share = np.exp((objective - top[segment]) / soft)
        summed = np.add.reduceat(share, begin)
        share /= summed[segment]
        value = float(top.sum() + soft * np.log(summed).sum())
        weighted = share[:, None] * self.features
        mean = np.add.reduceat(weighted, begin, axis=0)
        slope = mean.sum(axis=0)
        curve = (weighted.T @ self.features - mean.T @ mean) / soft
        part, down, bend = self._matches(x[:count] / scale[:count])
        value += part[np.isfinite(part)].sum()
        slope[:count] += down / scale[:count]
        curve[range(count), range(count)] += bend / scale[:count] ** 2
        value -= x[count] * target / scale[count]
        slope[count] -= target / scale[count]
        if self.own_length:
            one, down_one, bend_one = self._penalty(x[-1] / scale[-1])
            value += one
            slope[-1] += down_one / scale[-1]
            curve[-1, -1] += bend_one / scale[-1] ** 2
        elif not self.one_reference:
            r = np.array([*self.references, np.clip(target, *self.references)])
            z = np.minimum(0.0, 1.0 - r / max(target, 1.0)) - x[-1] / scale[-1] * r
            share = np.exp((z - z.max()) / soft)
            value += float(z.max() + soft * np.log(share.sum()))
            share /= share.sum()
            mean_one = float(share @ r)
            slope[-1] -= mean_one / scale[-1]
            curve[-1, -1] += float(share @ (r - mean_one) ** 2) / soft / scale[-1] ** 2
        return value, slope, curve

    def _enter(self, x: FloatColumn, fixed: FloatColumn, slopes: FloatColumn) -> IntColumn:
        """Keep multipliers for the bounds, and return what they select."""
        count, multipliers = len(self.used), x / self.scale
        objective = self.features @ x + fixed
        constant = float(np.maximum.reduceat(objective, self.corpus.begin).sum())
        part = self._matches(multipliers[:count])[0]
        constant += float(np.maximum(part, self.weight[self.used] * self.floor).sum())
        reference = 0.0
        if self.own_length:
            constant += self._penalty(float(multipliers[-1]))[0]
        elif not self.one_reference:
            reference = float(multipliers[-1])
        self.points.append(_Point(constant, float(multipliers[count]), reference, slopes))
        return self.corpus.best(objective)

    def bounds(self, low: FloatColumn, high: FloatColumn, known: int = 0) -> FloatColumn:
        """Return a bound of log BLEU for each interval of total lengths.

        Multipliers are looked at but for the first few, which are ``known``.
        """
        least = self.references[0]
        longest = self.lengths[1] if self.own_length else high
        with np.errstate(divide="ignore", invalid="ignore"):
            short = np.where(longest < least, 1.0 - least / np.maximum(longest, 1e-9), 0.0)
        found = self.trivial + short
        for point in self.points[known:]:
            ends = [self._at(point, length) for length in (low, high)]
            bound = point.constant + np.maximum(*ends)
            if not self.own_length:
                bound += self._brevity(point, high)
            found = np.minimum(found, bound)
        return found

    def _at(self, point: _Point, length: FloatColumn) -> FloatColumn:
        """Return the part of a bound that comes from totals, at one length for each interval."""
        value = -point.length * length
        for order in self.used.tolist():
            ends = []
            for fewer in {float(each[order]) for each in self.fewer}:
                total = length - fewer
                with np.errstate(divide="ignore", invalid="ignore"):
                    logarithm = np.log(total + self.added[order])
                end = -self.weight[order] * logarithm - point.slopes[order] * total
                ends.append(np.where(total + self.added[order] > 0, end, np.inf))
            value = value + np.maximum.reduce(ends)
        return value

    def _brevity(self, point: _Point, length: FloatColumn) -> FloatColumn:
        """Return the highest that the penalty and the reference length's multiplier can add."""
        found = np.full(len(length), -np.inf)
        for end in (*self.references, np.clip(length, *self.references)):
            with np.errstate(divide="ignore", invalid="ignore"):
                short = np.where(length < end, 1.0 - end / np.maximum(length, 1e-9), 0.0)
            found = np.maximum(found, short - point.reference * end)
        return found
