"""MIRA: the smallest step after which better sentences score higher by their margin."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from decoding.extraction.oracle_search import find_oracles, rank_oracles
from decoding.training.hope_fear import HopeFear, find_first_best, hope_fears
from decoding.training.margin_updates import Constraint, constraint, margin
from decoding.training.online import Constraints, OnlineLearner, highest_entries
from decoding.training.training_corpus import LearnerCorpus
from lattices.algorithms import best
from lattices.arrays import Array, FloatColumn, floats
from lattices.spaces import Forest, Lattice, NBest

#: how often each multiplier may enter the active set
_PATIENCE = 100


def multipliers(gram: FloatColumn, lacking: FloatColumn, most: float) -> FloatColumn:
    """Return how far to go along each of several constraints.

    One constraint has ``min(most, max(0, lacking / gram))``. (Two at a time, as Platt 1998 does,
    hardly move where constraints contradict.)

    Examples
    --------
    >>> multipliers(floats([[2.0]]), floats([1.0]), 9.0).tolist()
    [0.5]
    >>> multipliers(floats([[2.0, 0.0], [0.0, 1.0]]), floats([1.0, -1.0]), 0.25).round(9).tolist()
    [0.25, 0.0]
    """
    count = len(lacking)
    if count == 1 and gram[0][0] > 0.0:
        return floats([min(most, max(0.0, float(lacking[0] / gram[0][0])))])
    unit = max(
        most * float(np.diag(gram).max(initial=0.0)), float(np.abs(lacking).max(initial=0.0))
    )
    if not unit:
        return floats(np.zeros(count))
    # shares of the whole; the last one is the slack variable
    square = np.zeros((count + 1, count + 1))
    square[:count, :count] = most / unit * gram
    wanted = np.append(lacking / unit, 0.0)
    share = np.append(np.zeros(count), 1.0)
    near = 1e-10 * float(np.abs(wanted).max())
    for _ in range(_PATIENCE * (count + 1)):
        slope = wanted - square @ share
        held = share > 0.0
        best = int(np.argmax(slope))
        if held[best] or slope[best] - slope[held].max() <= near:
            break
        held[best] = True
        moved = True
        while moved and held[best]:
            moved, held = _move(share, held, square, wanted)
        if not held[best]:
            break
    return floats(most * share[:count])


def _move(
    share: FloatColumn, held: Array, square: FloatColumn, wanted: FloatColumn
) -> tuple[bool, Array]:
    """Go towards the best that those which are held can do, until one of them has nothing left.

    Tell whether one of them stopped it, and who is still held. Where there is no best, because
    differences cancel out and more of all these is ever better, go that way.
    """
    some = np.flatnonzero(held)
    size = len(some)
    system = np.ones((size + 1, size + 1))
    system[:size, :size] = square[np.ix_(some, some)]
    system[size, size] = 0.0
    goal = np.append(wanted[some], 1.0)
    solved = np.linalg.lstsq(system, goal, rcond=1e-13)[0]
    # the residual is orthogonal to the column space
    left = (goal - system @ solved)[:size]
    endless = float(np.abs(left).max()) > 1e-13 * max(1.0, float(np.abs(solved).max()))
    way = left if endless else solved[:size] - share[some]
    falls = way < 0.0
    steps = np.full(size, np.inf)
    steps[falls] = share[some][falls] / -way[falls]
    far = float(steps.min())
    if far >= 1.0 and not endless:
        share[some] = solved[:size]
        return False, held
    share[some] += far * way
    share[some[steps <= far]] = 0.0
    held = held.copy()
    held[some[steps <= far]] = False
    return True, held


@dataclass(kw_only=True, eq=False)
class MIRA(OnlineLearner):
    """The margin-infused relaxed algorithm, with hope and fear.

    For every segment, with hope ``h`` and each rival ``e``, the weights ``w`` become those that
    minimise

        |w - before| ** 2 / 2 + C * max(0, max over e of loss(e) - w @ (features(h) - features(e)))

    where ``loss(e)`` is how much worse than hope ``e`` is by the metric. The rivals are fear,
    more of its kind, and the model's best. ``C`` bounds the step. Lengths are those of features
    measured by their deviations if ``scaled``.

    Cost of an update: two intersections and one search over rows, or under BLEU three searches by
    labels; more for several fears.

    Parameters
    ----------
    C : float
        The most that one segment may move the weights, in units of its difference.
    fears : int
        How many of the sentences with the highest model score minus metric are rivals.
    against_best : bool
        Whether the model's best is a rival, too.
    epochs, batch, workers, averaged, settling, scale, budget, memory, judge, scaled, document,
    start, seed
        As of :class:`decoding.training.online.OnlineLearner`.

    References
    ----------
    Crammer and Singer. Ultraconservative online algorithms for multiclass problems. JMLR 3,
    2003.

    Chiang, Marton and Resnik. Online large-margin training of syntactic and structural
    translation features. EMNLP 2008.

    Chiang. Hope and fear for discriminative training of statistical translation models. JMLR
    13, 2012.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses(
    ...     [Hypothesis(("a",), 0.0, {"lm": 1.0}), Hypothesis(("b",), 0.0, {"tm": 1.0})]
    ... )
    >>> learner = MIRA(start={"lm": 1.0, "tm": 0.0}, C=1.0, scale=3.0).fit([nbest], [["b"]], WER())
    >>> learner.weights["tm"] > learner.weights["lm"], learner.history[-1].score
    (True, 0.0)
    """

    name: ClassVar[str] = "mira"
    C: float = 0.03
    fears: int = 1
    against_best: bool = True

    def __post_init__(self) -> None:
        """Refuse options that mean nothing."""
        super().__post_init__()
        self.check_options(("fears",), above_zero=("C",))

    def constraints_of(self, pair: HopeFear, higher_is_better: bool = True) -> list[Constraint]:
        """Return the constraints that hope beats fear, and the model's best."""
        sign = 1.0 if higher_is_better else -1.0
        rivals = [pair.fear, *([pair.best] if self.against_best else [])]
        return [
            constraint(
                pair.hope.hypothesis, rival.hypothesis, sign * (pair.hope.score - rival.score)
            )
            for rival in rivals
        ]

    def step(self, constraints: Sequence[Constraint]) -> dict[str, float]:
        """Return the least change that satisfies the constraints, but for the slack."""
        lacking = [each.loss - margin(self.weights, each.difference) for each in constraints]
        if not lacking or max(lacking) <= 0.0:
            return {}
        ways = [
            {name: self.inverse(name) * value for name, value in each.difference.items()}
            for each in constraints
        ]
        gram = [[margin(way, each.difference) for each in constraints] for way in ways]
        moved: dict[str, float] = {}
        for far, way in zip(
            multipliers(floats(gram), floats(lacking), self.C).tolist(), ways, strict=True
        ):
            if far > 0.0:
                for name, value in way.items():
                    moved[name] = moved.get(name, 0.0) + far * value
        return moved

    def search_list(self, nbest: NBest, objective: FloatColumn) -> Constraints:
        """Return that the hope of a list should beat its rivals."""
        hope = find_first_best(nbest, nbest.score + self.scale * objective)
        rivals = highest_entries(nbest, nbest.score - self.scale * objective, self.fears)
        if self.against_best:
            rivals.append(find_first_best(nbest, nbest.score))
        better = nbest[hope]
        constraints = [
            constraint(better, nbest[rival], float(objective[hope] - objective[rival]))
            for rival in dict.fromkeys(rivals)
        ]
        return Constraints(constraints, True)

    def search_graphs(
        self, corpus: LearnerCorpus, graphs: dict[int, Lattice | Forest]
    ) -> dict[int, Constraints]:
        """Return that hope should beat its rivals."""
        if self.fears > 1:
            return self._search_fears(corpus, graphs)
        evaluators = [corpus.evaluator(place) for place in graphs]
        pairs = hope_fears(
            list(graphs.values()), evaluators,
            scale=self.scale, budget=self.budget, memory=self.memory, workers=self.workers,
        )  # fmt: skip
        up = corpus.metric.higher_is_better
        return {
            place: Constraints(self.constraints_of(pair, up), pair.exact)
            for place, pair in zip(graphs, pairs, strict=True)
        }

    def _search_fears(
        self, corpus: LearnerCorpus, spaces: dict[int, Lattice | Forest]
    ) -> dict[int, Constraints]:
        """Return the same with several fears each."""
        evaluators = [corpus.evaluator(place) for place in spaces]
        model_weight = 1.0 / self.scale
        hopes = find_oracles(
            list(spaces.values()), evaluators, self.search, model_weight=model_weight
        )

        def fears(place: int) -> tuple[list[Constraint], bool]:
            space, evaluator, hope = spaces[place], corpus.evaluator(place), found[place]
            rivals = rank_oracles(
                space, evaluator, self.fears, self.search, worst=True, model_weight=-model_weight
            )
            scored = [(rival.hypothesis, rival.score) for rival in rivals]
            if self.against_best:
                liked = best(space)
                scored.append((liked, evaluator.score(liked.tokens)))
            constraints = [
                constraint(hope.hypothesis, each, self.gain(corpus, hope.score, score))
                for each, score in scored
            ]
            return constraints, hope.exact and all(rival.exact for rival in rivals)

        found = dict(zip(spaces, hopes, strict=True))
        with ThreadPoolExecutor(self.workers) as pool:
            results = list(pool.map(fears, spaces))
        return {place: Constraints(*each) for place, each in zip(spaces, results, strict=True)}
