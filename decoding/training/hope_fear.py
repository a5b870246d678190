"""Hope and fear: the sentences that discriminative training moves towards and away from.

With the model score ``m(e)`` and the metric ``q(e)``, turned so that higher is better,

- hope is ``argmax m(e) + scale * q(e)``: good, and within the model's reach;
- fear is ``argmax m(e) - scale * q(e)``: bad, and liked by the model. With the loss
  ``q(oracle) - q(e)`` in place of ``-q(e)`` it is the same sentence: loss-augmented inference.

Hope is a maximum over sentences of a maximum over alignments, one maximum in all, and one
intersection answers it. Fear is a maximum over sentences of the model score minus a maximum over
alignments: the intersection with negated gains would take the worst alignment of each sentence for
its metric and is wrong. Fear goes through rows (:mod:`lattices.intersection.rows`) with dominated
prefixes dropped, exact within a budget; each answer says whether it is. BLEU has no machine: hope,
fear and the oracle are then searched by labels (:mod:`decoding.extraction.bleu_search`), exact
within the same budget, and with a bound beyond it.

References
----------
D. Chiang, Y. Marton, P. Resnik. 2008. Online large-margin training of syntactic and structural
translation features. EMNLP.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from decoding.extraction.oracle_search import find_oracles, rank_oracles
from decoding.extraction.results import Oracle, score_hypothesis
from decoding.extraction.search import Search, SearchOptions
from fstmetrics import Evaluator
from fstmetrics.contract import EVALUATOR, EVALUATORS, nbest_stats, quality, scores_of
from lattices.algorithms import best
from lattices.arrays import FloatColumn
from lattices.errors import OptionError
from lattices.records import PlainRecord
from lattices.spaces import Forest, Lattice, NBest, Space
from lattices.spaces.arguments import NUMBER, SPACE, SPACES, check_filled, takes
from lattices.spaces.features import Weights

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class HopeFear(PlainRecord):
    """Four sentences of a space, each with its model score, its features and its metric.

    Attributes
    ----------
    hope, fear : Oracle
        Of the highest model score plus, and minus, the scaled metric.
    oracle : Oracle
        Of the best metric; ``oracle.score - fear.score`` is what fear loses.
    best : Oracle
        Of the highest model score: what the decoder says.
    """

    hope: Oracle
    fear: Oracle
    oracle: Oracle
    best: Oracle

    @property
    def exact(self) -> bool:
        """Whether hope and fear are proven: no sentence of the space has a higher value."""
        return self.hope.exact and self.fear.exact


@takes(space=SPACE, evaluator=EVALUATOR, scale=NUMBER)
def hope_fear(
    space: Space,
    evaluator: Evaluator,
    weights: Weights | None = None,
    *,
    scale: float = 1.0,
    **search: Unpack[SearchOptions],
) -> HopeFear:
    """Return hope, fear, the oracle and the model's best of one space.

    Parameters
    ----------
    space : Lattice, Forest or NBest
    evaluator : Evaluator
        ``metric.against(references)``. A metric with neither a machine nor clipped matches, as
        chrF, takes n-best lists only. BLEU wants a smoothing: without one, most sentences that no
        4-gram of a reference is in are worth the same, 0.
    weights : mapping or column, optional
        Weights of the features; without them the scores of the space are the model's.
    scale : float
        Of the metric against the model score; greater than 0.
    **search
        As of :func:`decoding.oracle` and :func:`decoding.worst`, for each search.

    Examples
    --------
    >>> from fstmetrics import BLEU, GRR
    >>> arcs = [
    ...     (0, 1, "a", 0.0, {"lm": -1.0}), (0, 1, "the", 0.0, {"lm": -1.5}),
    ...     (1, 2, "cat", 0.0, {"lm": -3.0}), (1, 2, "hat", 0.0, {"lm": -2.8}),
    ... ]
    >>> lattice = Lattice.from_arcs(arcs, finals=[2])
    >>> found = hope_fear(lattice, GRR().against(["the cat"]), {"lm": 1.0})
    >>> found.hope.text, found.fear.text, found.oracle.text, found.best.text
    ('the cat', 'a hat', 'the cat', 'a hat')
    >>> found.fear.hypothesis.features, found.exact
    ({'lm': -3.8}, True)
    >>> found = hope_fear(lattice, BLEU(smooth="add-k").against(["the cat"]), {"lm": 1.0})
    >>> found.hope.text, found.fear.text, found.hope.engine, found.exact
    ('a cat', 'a hat', 'labels', True)
    """
    return hope_fears([space], [evaluator], weights, scale=scale, **search)[0]


@takes(spaces=SPACES, evaluators=EVALUATORS, scale=NUMBER)
def hope_fears(
    spaces: Sequence[Space],
    evaluators: Sequence[Evaluator],
    weights: Weights | None = None,
    *,
    scale: float = 1.0,
    **search: Unpack[SearchOptions],
) -> list[HopeFear]:
    """Return :func:`hope_fear` of each space of a batch, in ``workers`` threads.

    Cost: for a lattice two intersections and one search over rows, or three searches by labels;
    for an n-best list its statistics, once.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -0.5)], finals=[1])
    >>> found = hope_fears([lattice] * 2, [WER().against([word]) for word in "ab"])
    >>> [(each.hope.text, each.fear.text) for each in found]
    [('a', 'b'), ('b', 'a')]
    """
    if len(spaces) != len(evaluators):
        raise OptionError(f"{len(spaces)} spaces, but {len(evaluators)} evaluators")
    if not 0.0 < scale < np.inf:
        raise OptionError(f"the scale of the metric is finite and greater than 0, not {scale}")
    limits = Search.of("hope_fears", search)
    if weights is not None:
        spaces = [space.reweighted(weights) for space in spaces]
    found: dict[int, HopeFear] = {}
    graphs: dict[int, Lattice | Forest] = {}
    for place, space in enumerate(spaces):
        if isinstance(space, NBest):
            found[place] = _search_list(space, evaluators[place], scale)
        else:
            graphs[place] = space
    if graphs:
        graph_evaluators = [evaluators[place] for place in graphs]
        of_graphs = _search_graphs(list(graphs.values()), graph_evaluators, scale, limits)
        found.update(zip(graphs, of_graphs, strict=True))
    return [found[place] for place in range(len(spaces))]


def _search_graphs(
    spaces: Sequence[Lattice | Forest],
    evaluators: Sequence[Evaluator],
    scale: float,
    search: Search,
) -> list[HopeFear]:
    model_weight = 1.0 / scale
    pairs = list(zip(spaces, evaluators, strict=True))
    hopes, tops = (
        find_oracles(spaces, evaluators, search, model_weight=each) for each in (model_weight, 0.0)
    )

    def fear(pair: tuple[Lattice | Forest, Evaluator]) -> Oracle:
        return rank_oracles(*pair, 1, search, worst=True, model_weight=-model_weight)[0]

    fears = _search_in_threads(fear, pairs, search.workers)
    bests = [score_hypothesis(best(space), evaluator, True, "model") for space, evaluator in pairs]
    return [HopeFear(*found) for found in zip(hopes, fears, tops, bests, strict=True)]


def _search_in_threads(function: Callable[[T], R], items: Sequence[T], workers: int) -> list[R]:
    if workers == 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, items))


def _search_list(nbest: NBest, evaluator: Evaluator, scale: float) -> HopeFear:
    check_filled([nbest])
    scores = scores_of(evaluator.metric, nbest_stats(evaluator, nbest))
    objective = scale * quality(evaluator.metric, 1.0) * scores
    values = (nbest.score + objective, nbest.score - objective, objective, nbest.score)
    return HopeFear(
        *(
            score_hypothesis(nbest[find_first_best(nbest, each)], evaluator, True, "scorer")
            for each in values
        )
    )


def find_first_best(nbest: NBest, values: FloatColumn) -> int:
    """Return the entry of the highest value; of ties the highest score, then the first."""
    chosen = np.flatnonzero(values == values.max())
    return int(chosen[np.argmax(nbest.score[chosen])])
