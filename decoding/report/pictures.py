"""What a page draws of a search space: the lattice around the oracle, or the best sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lattices.algorithms import k_best, posteriors
from lattices.algorithms.kbest import best_path
from lattices.algorithms.ngrams import list_weights
from lattices.arrays import FloatColumn, floats
from lattices.spaces import Forest, Lattice, NBest

#: arcs of ways around the oracle, and its own
MOST_ARCS = 48
MOST_SENTENCES = 10
#: marks of arcs
ORACLE, ONE_BEST, MBR = 1, 2, 4


def select_neighbourhood(
    lattice: Lattice,
    oracle: Sequence[int],
    chosen: Sequence[int] = (),
    *,
    scale: float = 1.0,
    most: int = MOST_ARCS,
) -> dict[str, Any]:
    """Return the part of a lattice that is nearest to a path, with the posteriors of its arcs.

    A way around the oracle leaves it in one state and comes back in another, and is worth the score
    that it has more than the oracle between the two. Cost: O(arcs * log(arcs)).

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -0.1), (0, 1, "the", -0.9), (1, 2, "cat"), (1, 2, "hat", -9.0)], [2]
    ... )
    >>> found = select_neighbourhood(lattice, [1, 2], most=3)
    >>> for arc in found["arcs"]:
    ...     print(*arc)
    0 1 a 0.69 2
    0 1 the 0.31 1
    1 2 cat 0.9999 3
    """
    best = best_path(lattice)
    path = np.asarray(oracle, dtype=np.int64)
    objective = _detours(lattice, path.tolist())
    keep = objective > -np.inf
    if keep.sum() > most:
        # arcs of equal value, rounding aside, are added together, so whole detours are
        least = np.sort(objective)[-most - 1]
        keep = objective > least + 1e-9 * (1.0 + abs(least))
    marks = np.zeros(lattice.num_arcs, dtype=np.int64)
    for arcs, mark in ((path, ORACLE), (best, ONE_BEST), (np.asarray(chosen, np.int64), MBR)):
        marks[arcs] |= mark
    keep |= marks > 0
    posterior = posteriors(lattice, scale).arcs
    merged: dict[tuple[int, int, int], list[float]] = {}
    for arc in np.flatnonzero(keep).tolist():
        place = (int(lattice.src[arc]), int(lattice.dst[arc]), int(lattice.label[arc]))
        found = merged.setdefault(place, [0.0, 0])
        found[0] += float(posterior[arc])
        found[1] = int(found[1]) | int(marks[arc])
    used = sorted({state for src, dst, _ in merged for state in (src, dst)} | {lattice.start})
    number = {state: place for place, state in enumerate(used)}
    word = lattice.vocabulary.word
    return {
        "states": len(used),
        "start": number[lattice.start],
        "finals": [number[state] for state in lattice.finals.tolist() if state in number],
        "arcs": [
            [number[src], number[dst], word(label), round(min(mass, 1.0), 4), int(mark)]
            for (src, dst, label), (mass, mark) in merged.items()
        ],
        "all": lattice.num_arcs,
    }


def _detours(lattice: Lattice, oracle: Sequence[int]) -> FloatColumn:
    """Return the score of the best way around a path through each arc, less the path's own.

    The scores from the start to the states of the path and from there to the end are those of the
    path, whatever else leads there.
    """
    src, dst, score = lattice.src.tolist(), lattice.dst.tolist(), lattice.score.tolist()
    before, after = [-math.inf] * lattice.num_states, lattice.final.tolist()
    spine = [lattice.start, *(dst[arc] for arc in oracle)]
    before[lattice.start] = 0.0
    for arc in oracle:
        before[dst[arc]] = before[src[arc]] + score[arc]
    for arc in reversed(oracle):
        after[src[arc]] = score[arc] + after[dst[arc]]
    total, fixed = after[lattice.start], set(spine)
    # arcs are sorted by their sources, and states are in topological order
    for arc in range(lattice.num_arcs):
        if dst[arc] not in fixed:
            before[dst[arc]] = max(before[dst[arc]], before[src[arc]] + score[arc])
    for arc in reversed(range(lattice.num_arcs)):
        if src[arc] not in fixed:
            after[src[arc]] = max(after[src[arc]], score[arc] + after[dst[arc]])
    return floats(
        [
            before[one] + own + after[other] - total
            for one, own, other in zip(src, score, dst, strict=True)
        ]
    )


def sentences(
    space: NBest | Forest, *, scale: float = 1.0, most: int = MOST_SENTENCES
) -> dict[str, Any]:
    """Return the best sentences of a list or forest by the model, with their probabilities.

    Those of a list are entries, in the order of their scores, and their probabilities are among
    all entries; of a forest they are different sentences, with probabilities among those that
    are returned.

    Examples
    --------
    >>> from lattices import Hypothesis
    >>> some = [Hypothesis(("a",), 0.0), Hypothesis(("b", "c"), -1.0)]
    >>> sentences(NBest.from_hypotheses(some), most=1)
    {'rows': [['a', 0.7311, 0.0]], 'all': 2, 'among': 2}
    """
    if isinstance(space, NBest):
        order = np.argsort(-space.score, kind="stable")[:most].tolist()
        weight = list_weights(space, scale)
        rows = [
            [" ".join(space.tokens(at)), round(float(weight[at]), 4), float(space.score[at])]
            for at in order
        ]
        return {"rows": rows, "all": len(space), "among": len(space)}
    found = k_best(space, most, distinct=True)
    share = np.exp(scale * (np.array([each.score for each in found]) - found[0].score))
    share /= share.sum()
    rows = [
        [each.text, round(float(part), 4), each.score]
        for each, part in zip(found, share, strict=True)
    ]
    return {"rows": rows, "all": None, "among": len(found)}
