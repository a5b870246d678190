"""The exact line search of minimum error rate training: all turns, no grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from decoding.training.envelope import EnvelopeCorpus
from fstmetrics import Evaluator, Metric, scores_of
from lattices.arrays import FloatColumn
from lattices.errors import OptionError
from lattices.spaces import Space
from lattices.spaces.features import Weights

#: an interval narrower than this, as a share of the steps around it, is not aimed at
NARROWEST = 1e-9
#: how far an infinite interval goes beyond its turn, as a share of what its step is measured by
CUT = 0.2


@dataclass(frozen=True)
class LineOptimum:
    """The best step along a line of weights.

    Attributes
    ----------
    step : float
        Take ``weights + step * direction``.
    score : float
        The metric of the corpus there.
    interval : tuple of float
        The steps with these statistics; its ends may be infinite.
    start_score : float
        The metric at step 0; where statistics change just there, on the right of it.
    turns : int
        How many sentences, over all segments, give way to others with other statistics.
    intervals : int
        How many intervals were scored.
    """

    step: float
    score: float
    interval: tuple[float, float]
    start_score: float
    turns: int
    intervals: int


def line_search(
    spaces: Sequence[Space] | EnvelopeCorpus,
    evaluators: Sequence[Evaluator] | None,
    weights: Weights,
    direction: Weights,
    metric: Metric | None = None,
    *,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> LineOptimum:
    """Return the best step along a line, over all steps there are.

    Between two turns of the envelopes the corpus does not change, so that one score for each
    interval says all; statistics are carried from each to the next by differences. The score
    returned is that of statistics added up anew.

    Of the intervals with the best score the widest is taken, then the one nearest to 0, then
    the left one; the step is its middle. The unit of width is the length of the weights in steps,
    ``|weights| / |direction|`` (Euclidean norms; of weights 0, that of a weight of 1). An infinite
    interval is cut off where it has gone a fifth of its turn or of the unit, whichever is larger,
    beyond its turn: far enough to be clear of it, and not so far that weights which no longer
    matter grow without bound. Intervals narrower than ``1e-9`` of the unit or of their own steps
    are passed over: rounding may well miss them.

    Cost: an envelope for each space (:func:`decoding.training.envelope.envelope`), O(t log t)
    for t turns in all, one score for each, and the statistics of sentences not seen before.

    Parameters
    ----------
    spaces : sequence of Lattice, NBest or Forest, or EnvelopeCorpus
        A corpus made ready remembers statistics; then ``evaluators`` is None.
    evaluators : sequence of Evaluator
        Of any metric: statistics are additive.
    weights, direction : mapping of str to float, or array
    metric : Metric, optional
        What is optimised; that of the evaluators by default. Another one must read the same
        statistics.
    bounds : tuple of float
        Steps that are allowed, with 0 among them.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis, NBest
    >>> nbest = NBest.from_hypotheses(
    ...     [Hypothesis(("a",), 0.0, {"lm": 1.0}), Hypothesis(("b",), 0.0, {"tm": 1.0})]
    ... )
    >>> found = line_search([nbest], [WER().against(["b"])], [2.0, 0.0], [0.0, 1.0])
    >>> found.step, found.score, found.interval, found.start_score
    (2.2, 0.0, (2.0, inf), 1.0)
    """
    if isinstance(spaces, EnvelopeCorpus):
        if evaluators is not None:
            raise OptionError("a corpus made ready has its evaluators already")
        corpus = spaces
    elif evaluators is None:
        raise OptionError("spaces need an evaluator each")
    else:
        corpus = EnvelopeCorpus(spaces, evaluators)
    if not bounds[0] <= 0.0 <= bounds[1]:
        raise OptionError(f"steps from {bounds[0]} to {bounds[1]} leave out step 0")
    judge = corpus.metric if metric is None else metric
    here, along = corpus.vector(weights), corpus.vector(direction)
    base, step, change = corpus.turns(here, along)
    rows = np.concatenate((base[None], change)).cumsum(axis=0)
    # of turns at one step the last one says what follows
    last = np.concatenate((step[1:] > step[:-1], [True])) if len(step) else np.empty(0, np.bool_)
    rows = rows[np.concatenate(([True], last))]
    edges = np.concatenate(([-np.inf], step[last], [np.inf]))
    left, right = edges[:-1], edges[1:]
    scores = scores_of(judge, rows)
    if np.isnan(scores).any():
        raise OptionError(f"{judge} gives no number for some sentences of the spaces")
    length = np.linalg.norm(along)
    unit = float(np.linalg.norm(here) / length) if length else 1.0
    best, middle = _chosen(judge, scores, left, right, unit or 1.0 / length, bounds)
    now = int(np.searchsorted(left, 0.0, side="right")) - 1
    turned = int(np.searchsorted(step, left[best], side="right"))
    total = base + change[:turned].sum(axis=0)
    return LineOptimum(
        middle,
        judge.score(total),
        (float(left[best]), float(right[best])),
        float(scores[now]),
        len(step),
        len(scores),
    )


def _chosen(
    metric: Metric,
    scores: FloatColumn,
    left: FloatColumn,
    right: FloatColumn,
    unit: float,
    bounds: tuple[float, float],
) -> tuple[int, float]:
    """Return the best interval and its middle; step 0 if no interval is wide enough."""
    first, last = (left[1], right[-2]) if len(left) > 1 else (0.0, 0.0)
    low, high = left.copy(), right.copy()
    low[0] = first - CUT * max(unit, abs(first))
    high[-1] = last + CUT * max(unit, abs(last))
    low, high = np.maximum(low, bounds[0]), np.minimum(high, bounds[1])
    width = high - low
    middle = low + width / 2
    wide = width > NARROWEST * np.maximum(unit, np.abs(middle))
    if not wide.any():
        now = int(np.searchsorted(left, 0.0, side="right")) - 1
        return now, 0.0
    worth = np.where(wide, scores if metric.higher_is_better else -scores, -np.inf)
    best = np.flatnonzero(wide & (worth == worth.max()))
    order = np.lexsort((middle[best], np.abs(middle[best]), -width[best]))
    chosen = int(best[order[0]])
    return chosen, float(middle[chosen])
