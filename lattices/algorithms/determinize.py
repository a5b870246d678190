"""Determinization, minimization and weight pushing of lattices.

The first two are OpenFst's, whose tropical weights are single precision: coarse for scores of
-100 and more. What crosses the border are therefore not scores but losses against the best path
(:func:`push_scores`), which are small where it matters and exactly zero on the best path; the
best score itself stays here, in double precision.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lattices import _native
from lattices.arrays import FloatColumn
from lattices.errors import OptionError, TooLargeError
from lattices.interop import from_fst, to_fst
from lattices.optional import require_pynini
from lattices.spaces import Lattice
from lattices.spaces.arguments import LATTICE, takes


class PushedScores(NamedTuple):
    """The scores of arcs and of ends with what lies ahead taken out, and what was taken out."""

    arcs: FloatColumn
    final: FloatColumn
    total: float


def push_scores(lattice: Lattice) -> PushedScores:
    """Return each arc's and each end's loss against the best that can be done from its source.

    Cost: O(arcs).
    """
    return PushedScores(*_native.push(lattice.columns, "ahead"))


@takes(lattice=LATTICE)
def push(lattice: Lattice, to_final: bool = False) -> Lattice:
    """Return the lattice with its scores moved as near to the start, or to the end, as they go.

    Every complete path keeps its score, up to rounding; states, arcs, words, features and
    times stay what they are. Pushed to the start, the best way on from any later state adds
    0 to the score; pushed to the end, the best way to any state has score 0. This is weight
    pushing in the tropical semiring (Mohri 2009, "Weighted automata algorithms"), in double
    precision. Cost: O(arcs).

    Parameters
    ----------
    lattice
        The lattice. Arcs that lead to no final state keep their scores, and so do, pushed
        to the end, arcs that no path from the start comes to.
    to_final
        Whether to push to the final states instead of the start.

    Raises
    ------
    SpaceError
        If the lattice has no complete path, or if scores overflow.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -1.0), (1, 2, "b", -2.0), (1, 2, "c", -3.0)], finals={2: -4.0}
    ... )
    >>> push(lattice).score.tolist(), push(lattice).final.tolist()
    ([-7.0, 0.0, -1.0], [-inf, -inf, 0.0])
    >>> push(lattice, to_final=True).score.tolist(), push(lattice, to_final=True).final.tolist()
    ([0.0, 0.0, -1.0], [-inf, -inf, -7.0])
    """
    score, final, _ = _native.push(lattice.columns, "final" if to_final else "start")
    return lattice.replaced(score=score, final=final)


#: losses that differ by less count as equal when states are merged
DELTA = 2.0**-20
#: OpenFst has delta in single precision
_MOST_DELTA = float(np.finfo(np.float32).max)


@takes(lattice=LATTICE)
def determinize(lattice: Lattice, *, delta: float = DELTA, drop_features: bool = False) -> Lattice:
    """Return a lattice that spells every sentence of ``lattice`` on exactly one path.

    A sentence keeps the best of the scores it has in ``lattice``. There are no epsilons
    and no two arcs with one word leave a state; dead states are gone. Words, ``id``,
    ``source``, ``references`` and ``metadata`` are kept; features and times cannot be,
    as one arc stands for several.

    The best sentence keeps its score to within ``delta``; one that is worse by ``d`` keeps it to
    within ``1e-6 * d`` plus ``delta`` for each of its words and for its end.

    Cost: that of the result, which is exponential in the worst case (Mohri 1997,
    "Finite-state transducers in language and speech processing") and smaller than the
    lattice in most real ones.

    Parameters
    ----------
    lattice
        The lattice.
    delta
        Unsupported that differ by less count as equal. A smaller value gives exacter scores and,
        through rounding, more states.
    drop_features
        Whether a lattice with features or times may lose them.

    Raises
    ------
    OptionError
        If the lattice has features or times and ``drop_features`` is False.
    SpaceError
        If it has no complete path.
    MissingDependencyError
        If pynini is not installed.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -1.0), (0, 2, "a", -2.0), (1, 3, "b", -1.0), (2, 3, "c", -1.0)], finals=[3]
    ... )
    >>> [(path.text, path.score) for path in determinize(lattice).paths()]
    [('a b', -2.0), ('a c', -3.0)]
    """
    _check(lattice, delta, drop_features, "determinize")
    return _determinize(lattice, delta, minimal=False)


@takes(lattice=LATTICE)
def minimize(lattice: Lattice, *, delta: float = DELTA, drop_features: bool = False) -> Lattice:
    """Return the smallest deterministic lattice with the sentences and best scores of ``lattice``.

    The lattice is determinized first; parameters, precision, errors and what is kept are
    those of :func:`determinize`. Scores are pushed to the start, as they have to be before
    states can be told to be equivalent (Mohri 2000, "Minimization algorithms for
    sequential transducers"). Cost: that of determinization.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -1.0), (0, 2, "b", -2.0), (1, 3, "c", -1.0), (2, 3, "c", -2.0)], finals=[3]
    ... )
    >>> minimize(lattice)
    <Lattice '' of 3 states, 3 arcs>
    """
    _check(lattice, delta, drop_features, "minimize")
    return _determinize(lattice, delta, minimal=True)


#: states beyond which a deterministic lattice is refused: there may be exponentially many, and
#: OpenFst ends the interpreter where an allocation fails
MOST_STATES = 1_000_000


def _check(lattice: Lattice, delta: float, drop_features: bool, verb: str) -> None:
    if not 0 < delta <= _MOST_DELTA:
        raise OptionError(f"delta={delta}, expected a positive number up to {_MOST_DELTA}")
    carried = {
        "features": lattice.features is not None or lattice.final_features is not None,
        "times": lattice.times is not None,
    }
    lost = " and ".join(name for name, present in carried.items() if present)
    if lost and not drop_features:
        raise OptionError(
            f"{verb} would lose the {lost} of lattice {lattice.id!r}; "
            "drop_features=True leaves them out"
        )


def _determinize(lattice: Lattice, delta: float, minimal: bool) -> Lattice:
    pynini = require_pynini()
    pushed = push_scores(lattice)
    alive = pushed.arcs > -np.inf
    # what the dead arcs weigh is of no account: they go when the automaton is connected
    losses = lattice.replaced(score=np.where(alive, pushed.arcs, 0.0), final=pushed.final)
    fst = pynini.determinize(to_fst(losses).connect().rmepsilon(), delta=delta, nstate=MOST_STATES)
    if fst.num_states() >= MOST_STATES:
        raise TooLargeError(
            f"lattice {lattice.id!r} takes {MOST_STATES:,} states or more to be deterministic; "
            "prune it"
        )
    if minimal:
        fst.minimize(delta=delta)
    found = from_fst(
        fst,
        lattice.vocabulary,
        **lattice.about,
    )
    # nothing enters the start of a connected acyclic automaton, so every path gets it once
    score, final = found.score.copy(), found.final.copy()
    score[found.src == found.start] += pushed.total
    final[found.start] += pushed.total
    return found.replaced(score=score, final=final)
