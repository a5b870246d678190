"""Minimum error rate training: weights that are best by the metric itself, one line at a time.

The line search is exact: it knows all turns of the envelopes, without a grid.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from decoding.training.envelope import EnvelopeCorpus, LineCorpus
from decoding.training.learner import Learner, TrainingTask
from fstmetrics import Evaluator, Metric
from fstmetrics.contract import quality, scores_of
from lattices.arrays import FloatColumn
from lattices.errors import OptionError
from lattices.spaces import Space
from lattices.spaces.features import Weights

#: least width of an interval, relative to its steps, for it to be chosen
NARROWEST = 1e-9
#: step into an infinite interval, relative to the scale of the line
CUT = 0.2


@dataclass(frozen=True)
class LineOptimum:
    """The best step along a line of weights."""

    #: take ``weights + step * direction``
    step: float
    #: the metric of the corpus there
    score: float
    #: the steps with these statistics; its ends may be infinite
    interval: tuple[float, float]
    #: the metric at step 0; where statistics change just there, on the right of it
    start_score: float
    #: how many sentences, over all segments, give way to others with other statistics
    turns: int
    #: how many intervals were scored
    intervals: int


def line_search(
    spaces: Sequence[Space] | LineCorpus,
    evaluators: Sequence[Evaluator] | None,
    weights: Weights,
    direction: Weights,
    metric: Metric | None = None,
    *,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> LineOptimum:
    """Return the best step along a line, over all steps there are.

    Between two turns of the envelopes the corpus does not change, so that one score for each
    interval says all; statistics are carried from each to the next by differences.

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
    if isinstance(spaces, LineCorpus):
        if evaluators is not None:
            raise OptionError("a corpus made ready has its evaluators already")
        corpus: LineCorpus = spaces
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
    # of several turns at one step the last one is valid
    last = np.concatenate((step[1:] > step[:-1], [True])) if len(step) else np.empty(0, np.bool_)
    rows = rows[np.concatenate(([True], last))]
    edges = np.concatenate(([-np.inf], step[last], [np.inf]))
    left, right = edges[:-1], edges[1:]
    scores = scores_of(judge, rows)
    if np.isnan(scores).any():
        raise OptionError(f"{judge} gives no number for some sentences of the spaces")
    length = np.linalg.norm(along)
    unit = float(np.linalg.norm(here) / length) if length else 1.0
    best, middle = _choose(judge, scores, left, right, unit or 1.0 / length, bounds)
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


def _choose(
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
    objective = np.where(wide, scores if metric.higher_is_better else -scores, -np.inf)
    best = np.flatnonzero(wide & (objective == objective.max()))
    order = np.lexsort((middle[best], np.abs(middle[best]), -width[best]))
    chosen = int(best[order[0]])
    return chosen, float(middle[chosen])


#: what a weight may be: from the first up to the second, None for no bound
Bounds = tuple[float | None, float | None]


@dataclass(kw_only=True, eq=False)
class MERT(Learner):
    """Minimum error rate training, for any metric with additive statistics.

    From each of several starts, passes over directions of search: each weight alone, and a few
    random directions, drawn anew for every pass. Along each, the best step of all is found
    exactly (:func:`line_search`) and taken if it improves the
    corpus. A start has ended when a pass gains no more than ``epsilon``; the best end wins. The
    first start is that of the present weights, so the result is never worse than they are.

    On lattices and forests the search knows all their paths, not just those that were best
    under some earlier weights. A round is one pass; its score is the metric of the best weights
    so far, its details are about the pass.

    Only the direction of the weights matters for what is best. After each pass they are
    multiplied by a power of two, which changes no comparison, so that their length stays near
    that of the start; not so if any weight is fixed or bounded.

    Parameters
    ----------
    restarts : int
        How many random starts follow the first: its weights plus normal deviates.
    spread : float
        The deviates' standard deviation, in units of the root mean square of the weights, all
        of them measured by how much their features vary.
    random_directions : int
        How many for each pass: normal deviates, each divided by the deviation of its feature
        among the hypotheses of a space, so that all features have their say. A start ends where
        no direction of a pass gains, which may be at an edge that no single weight leads over
        (Cer et al. 2008 go in random directions alone).
    powell : bool
        Whether the way that a whole pass went takes the place of the direction that gained
        most (Powell's method), so that long oblique valleys are followed.
    epsilon : float
        The least gain of the metric for which another pass is worth while.
    most_passes : int
        The most passes of one start.
    fixed : iterable of str
        Features whose weights stay as they are.
    bounds : mapping of str to pair
        The least and the greatest weight of a feature, None for no bound. Weights outside are
        moved to the bound at the start.
    workers : int
        Threads that search lines. The weights do not depend on it.
    start, seed
        As of :class:`decoding.training.learner.Learner`.

    References
    ----------
    Och. Minimum error rate training in statistical machine translation. ACL 2003.

    Macherey, Och, Thayer and Uszkoreit. Lattice-based minimum error rate training for
    statistical machine translation. EMNLP 2008.

    Cer, Jurafsky and Manning. Regularization and search for minimum error rate training. WMT 2008.

    Foster and Kuhn. Stabilizing minimum error rate training. WMT 2009.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis, NBest
    >>> nbest = NBest.from_hypotheses(
    ...     [Hypothesis(("a",), 0.0, {"lm": 1.0}), Hypothesis(("b",), 0.0, {"tm": 1.0})]
    ... )
    >>> learner = MERT(start={"lm": 1.0, "tm": 0.0}, restarts=0).fit([nbest], [["b"]], WER())
    >>> learner.weights["tm"] > learner.weights["lm"], learner.history[-1].score
    (True, 0.0)
    """

    name: ClassVar[str] = "mert"
    in_shards: ClassVar[bool] = True
    restarts: int = 4
    spread: float = 1.0
    random_directions: int = 20
    powell: bool = False
    epsilon: float = 1e-5
    most_passes: int = 30
    fixed: Iterable[str] = ()
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    workers: int = 1
    _corpus: LineCorpus | None = field(init=False, default=None, repr=False)
    _evaluators: Any = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse options that mean nothing."""
        super().__post_init__()
        self.check_options(
            ("most_passes", "workers"), ("restarts", "random_directions", "epsilon", "spread")
        )
        if isinstance(self.fixed, str):
            raise OptionError(f"fixed is a list of names, not the text {self.fixed!r}")
        self.fixed = sorted(self.fixed)
        if not isinstance(self.bounds, Mapping):
            raise OptionError(
                f"bounds has two numbers for each name, it is not {self.bounds!r:.60}"
            )
        self.bounds = {name: _check_bounds(name, pair) for name, pair in self.bounds.items()}

    def __getstate__(self) -> dict[str, Any]:
        """Pickle what a checkpoint has."""
        return {**self.__dict__, "_corpus": None, "_evaluators": None}

    def begin(self, task: TrainingTask) -> float:
        """Begin with the present weights, as far as bounds allow."""
        corpus = self._ready(task)
        for what, names in (("fixed", self.fixed), ("bounded", self.bounds)):
            unknown = [name for name in names if name not in {*corpus.names, *self.weights}]
            if unknown:
                raise OptionError(f"no space has the {what} features {', '.join(unknown)}")
        self.weights = self.initial_weights(corpus.names)
        here = self._clip_to_bounds(corpus, corpus.vector(self.weights))
        self.weights = {**self.weights, **corpus.mapping(here)}
        score = corpus.score(here)
        self.state = {
            "first": here.tolist(),
            "start": 0,
            "pass": 0,
            "here": here.tolist(),
            "score": score,
            "best": score,
            "ends": [],
            "directions": self._coordinates(corpus).tolist(),
        }
        return score

    def round(self, task: TrainingTask) -> tuple[float, dict[str, Any]]:
        """Do one pass over all directions."""
        corpus, state, metric = self._ready(task), self.state, task.metric
        begun = here = np.array(state["here"])
        score = before = state["score"]
        gains, searches = [], 0
        for direction in self._directions(corpus, state["directions"]):
            moved, reached = self._step(corpus, here, score, direction)
            searches += 1
            gain = quality(metric, reached) - quality(metric, score)
            gains.append(max(0.0, gain))
            if gain > 0.0:
                here, score = moved, reached
        gained = quality(metric, score) - quality(metric, before)
        if self.powell and gained > 0.0:
            self._turn(state["directions"], gains, here - begun)
        here = self._rescale(here, np.array(state["first"]))
        state.update({"here": here.tolist(), "score": score, "pass": state["pass"] + 1})
        details = {
            "start": state["start"], "pass": state["pass"], "pass_score": score,
            "gain": gained, "searches": searches,
        }  # fmt: skip
        if quality(metric, score) > quality(metric, state["best"]):
            state["best"] = score
            self.weights = {**self.weights, **corpus.mapping(here)}
        if gained <= self.epsilon or state["pass"] == self.most_passes:
            self._end_start(corpus)
        return state["best"], details

    def average(self) -> dict[str, float]:
        """Return the mean of where the starts of the last fit ended, each at length 1.

        Scaled to the length of the best; features that no space has keep their weights.
        """
        ends = [np.array(list(end.values())) for end in self.state.get("ends", [])]
        lengths = [float(np.linalg.norm(end)) for end in ends]
        if not ends or not all(lengths):
            return dict(self.weights)
        names = list(self.state["ends"][0])
        mean = np.mean([end / length for end, length in zip(ends, lengths, strict=True)], axis=0)
        mean *= np.linalg.norm([self.weights[name] for name in names])
        return {**self.weights, **dict(zip(names, mean.tolist(), strict=True))}

    def _ready(self, task: TrainingTask) -> LineCorpus:
        if self._corpus is None or self._evaluators is not task.evaluators:
            self._corpus = task.lines(self._corpus, self.workers)
            self._evaluators = task.evaluators
        return self._corpus

    def _coordinates(self, corpus: LineCorpus) -> FloatColumn:
        """Return one direction for each weight that is free to move."""
        free = [name not in self.fixed for name in corpus.names]
        return np.eye(len(free))[np.array(free, dtype=np.bool_)]

    def _scale(self, corpus: LineCorpus) -> FloatColumn:
        """Return how far each weight must go to matter: one over its feature's deviation.

        0 for weights that are fixed and for features that do not vary.
        """
        deviations = corpus.deviations
        matters = self._coordinates(corpus).any(axis=0) & (deviations > 0.0)
        return np.divide(1.0, deviations, out=np.zeros(len(deviations)), where=matters)

    def _directions(
        self, corpus: LineCorpus, kept: Sequence[Sequence[float]]
    ) -> Iterator[FloatColumn]:
        yield from (np.array(direction) for direction in kept)
        scale = self._scale(corpus)
        if scale.any():
            for _ in range(self.random_directions):
                yield scale * self.random.standard_normal(len(scale))

    def _step(
        self, corpus: LineCorpus, here: FloatColumn, score: float, direction: FloatColumn
    ) -> tuple[FloatColumn, float]:
        """Return better weights along a direction, with the metric that they really have."""
        steps = self._bound_steps(corpus, here, direction)
        found = line_search(corpus, None, here, direction, bounds=steps)
        if quality(corpus.metric, found.score) <= quality(corpus.metric, score):
            return here, score
        moved = self._clip_to_bounds(corpus, here + found.step * direction)
        return moved, corpus.score(moved)

    def _limits(self, corpus: LineCorpus) -> tuple[FloatColumn, FloatColumn]:
        pairs = [self.bounds.get(name, (None, None)) for name in corpus.names]
        low = [-np.inf if pair[0] is None else pair[0] for pair in pairs]
        high = [np.inf if pair[1] is None else pair[1] for pair in pairs]
        return np.array(low), np.array(high)

    def _clip_to_bounds(self, corpus: LineCorpus, weights: FloatColumn) -> FloatColumn:
        fixed = np.array([name in self.fixed for name in corpus.names], dtype=np.bool_)
        return np.where(fixed, weights, np.clip(weights, *self._limits(corpus)))

    def _bound_steps(
        self, corpus: LineCorpus, here: FloatColumn, direction: FloatColumn
    ) -> tuple[float, float]:
        """Return the least and the greatest step that keep all weights within their bounds."""
        low, high = self._limits(corpus)
        moving = direction != 0.0
        if not moving.any():
            return 0.0, 0.0
        one = (low[moving] - here[moving]) / direction[moving]
        other = (high[moving] - here[moving]) / direction[moving]
        least, most = np.minimum(one, other).max(), np.maximum(one, other).min()
        # a weight at its bound may be there but for rounding
        return min(0.0, float(least)), max(0.0, float(most))

    def _turn(
        self, directions: list[list[float]], gains: Sequence[float], way: FloatColumn
    ) -> None:
        """Put the way of a whole pass in the place of the direction that gained most."""
        own = gains[: len(directions)]
        length = np.linalg.norm(way)
        if own and length:
            directions.pop(int(np.argmax(own)))
            directions.append((way / length).tolist())

    def _rescale(self, here: FloatColumn, first: FloatColumn) -> FloatColumn:
        length, wanted = np.linalg.norm(here), np.linalg.norm(first)
        if self.fixed or self.bounds or not length or not wanted:
            return here
        factor: float = 2.0 ** np.rint(np.log2(wanted / length))
        return here * factor

    def _end_start(self, corpus: LineCorpus) -> None:
        """Note where a start ended, and draw the next, or finish."""
        state = self.state
        state["ends"].append(corpus.mapping(np.array(state["here"])))
        if state["start"] == self.restarts:
            self.finished = True
            return
        first, scale = np.array(state["first"]), self._scale(corpus)
        measured = (first * corpus.deviations)[scale > 0.0]
        size = float(np.sqrt(np.square(measured).sum() / max(1, len(measured)))) or 1.0
        deviates = self.random.standard_normal(len(first))
        drawn = first + self.spread * size * scale * deviates
        here = self._clip_to_bounds(corpus, drawn)
        state.update(
            {
                "start": state["start"] + 1,
                "pass": 0,
                "here": here.tolist(),
                "score": corpus.score(here),
                "directions": self._coordinates(corpus).tolist(),
            }
        )


def _check_bounds(name: str, pair: Sequence[float | None]) -> Bounds:
    if (
        not isinstance(pair, Sequence)
        or len(pair) != 2
        or not all(each is None or isinstance(each, Real) for each in pair)
        or any(each is not None and math.isnan(each) for each in pair)
    ):
        raise OptionError(f"the bounds of {name} are {pair!r}, expected two numbers")
    low = -math.inf if pair[0] is None else float(pair[0])
    high = math.inf if pair[1] is None else float(pair[1])
    if low > high or low == math.inf or high == -math.inf:
        raise OptionError(f"the weight of {name} cannot be from {low} to {high}")
    return None if math.isinf(low) else low, None if math.isinf(high) else high
