"""What a page draws of a search space: the lattice around the oracle, or the best sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lattices.algorithms import density_masks, k_best, posteriors
from lattices.algorithms.counting import words_of_best
from lattices.algorithms.kbest import best_path
from lattices.algorithms.ngrams import list_weights
from lattices.spaces import Forest, Lattice, NBest

#: arcs beside those of the oracle and of the 1-best
MOST_ARCS = 40
MOST_SENTENCES = 10
#: marks of arcs
ORACLE, ONE_BEST, MBR = 1, 2, 4


def neighbourhood(
    lattice: Lattice,
    oracle: Sequence[int],
    chosen: Sequence[int] = (),
    *,
    scale: float = 1.0,
    most: int = MOST_ARCS,
) -> dict[str, Any]:
    """Return the part of a lattice that is nearest to a path, with the posteriors of its arcs.

    Arcs are taken in the order of what the best complete path through them loses, if the score
    that the oracle lacks to the model's best were given back to its arcs, in equal shares: so
    what is drawn are the ways around both of them. The paths themselves are always there.

    Cost: O(arcs * log(arcs)).

    Parameters
    ----------
    lattice : Lattice
    oracle : sequence of int
        The arcs of the path to look around.
    chosen : sequence of int
        The arcs of another path to keep, such as that of an MBR decision.
    scale : float
        Of the posteriors, see :func:`lattices.posteriors`.
    most : int
        Arcs that are taken beside those of the paths.

    Returns
    -------
    dict
        ``arcs``, rows of source, target, word, posterior, and the sum of 1 (oracle), 2 (1-best)
        and 4 (chosen); parallel arcs of one word are one. ``states``, ``start``, ``finals``; and
        ``all``, how many arcs the lattice has.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -0.1), (0, 1, "the", -0.9), (1, 2, "cat"), (1, 2, "hat", -9.0)], [2]
    ... )
    >>> found = neighbourhood(lattice, [1, 2], most=3)
    >>> for arc in found["arcs"]:
    ...     print(*arc)
    0 1 a 0.69 2
    0 1 the 0.31 1
    1 2 cat 0.9999 3
    """
    best = best_path(lattice)
    path = np.asarray(oracle, dtype=np.int64)
    own = path[~np.isin(path, best)]
    score = lattice.score.copy()
    if len(own):
        lacking = lattice.hypothesis(best.tolist()).score - lattice.hypothesis(path.tolist()).score
        score[own] += max(0.0, lacking) / len(own)
    raised = lattice.replaced(score=score)
    keep = density_masks(raised, most / words_of_best(raised))[0].copy()
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
