"""Lattices read by a machine that writes other words: exact, path by path, with the way back.

The machine is a function from its state and a word to the states it may go to and the words it
writes. A state of the result is a pair of both states. There is one path for every path of the
lattice and every run of the machine over it, with the same score; what leads nowhere is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.errors import SpaceError
from lattices.spaces import Lattice
from lattices.spaces.features import reordered_rows
from lattices.vocabulary import Vocabulary

Place = TypeVar("Place", bound=Hashable)
#: where the machine goes, the words it writes, and what is to be added to the score
Move: TypeAlias = "tuple[Place, tuple[str, ...], float]"
#: the words that are written at the end, and what is to be added
End: TypeAlias = "tuple[tuple[str, ...], float]"


class Transduced(NamedTuple):
    """What a machine has made of a lattice.

    Attributes
    ----------
    lattice : Lattice
        With the scores and features of the original; ``gain`` and ``final_gain`` are not in them.
    origin : int32 column, one entry an arc
        The arc of the original that was read there, -1 where a word before has more than one word:
        a path is the path ``origin[path][origin[path] >= 0]`` of the original.
    gain, final_gain : float64 columns, of arcs and of states
        What the machine says is to be added.
    """

    lattice: Lattice
    origin: IntColumn
    gain: FloatColumn
    final_gain: FloatColumn


def transduce(
    lattice: Lattice,
    begin: Place,
    moves: Callable[[Place, str], Iterable[Move[Place]]],
    ending: Callable[[Place], End | None],
    vocabulary: Vocabulary,
) -> Transduced:
    """Return the lattice of what a machine writes.

    Parameters
    ----------
    lattice : Lattice
    begin
        The first state of the machine.
    moves
        From a state and a word to what may follow; epsilon arcs leave the machine where it is.
    ending
        What is written and added at the end; None where the machine may not end.
    vocabulary : Vocabulary
        Grows by the words that are written.

    Raises
    ------
    SpaceError
        If no path is left.
    """
    numbers: list[dict[Place, int]] = [{} for _ in range(lattice.num_states)]
    numbers[lattice.start][begin] = 0
    under = [lattice.start]  # the state of the original, and 1 for states within chains of words
    within = [0]
    rows: list[tuple[int, int, str, int, float]] = []
    ends: dict[int, float] = {}
    words = lattice.vocabulary.strings
    bounds, targets, labels = (
        part.tolist() for part in (lattice.out_offset, lattice.dst, lattice.label)
    )
    # states are in topological order: all pairs of one are known when its turn comes
    for state in range(lattice.num_states):
        for place, source in list(numbers[state].items()):
            if lattice.final[state] > -np.inf:
                end = ending(place)
                if end is not None:
                    last = source
                    for out in end[0]:
                        rows.append((last, len(under), out, -1, 0.0))
                        last = len(under)
                        under.append(state)
                        within.append(1)
                    ends[last] = end[1]
            for arc in range(bounds[state], bounds[state + 1]):
                word = words[labels[arc]]
                options = moves(place, word) if word else ((place, (), 0.0),)
                for after, written, gain in options:
                    target = numbers[targets[arc]].setdefault(after, len(under))
                    if target == len(under):
                        under.append(targets[arc])
                        within.append(0)
                    last = source
                    origin = arc
                    for out in written[:-1]:
                        rows.append((last, len(under), out, origin, gain))
                        last, origin, gain = len(under), -1, 0.0
                        under.append(state)
                        within.append(1)
                    rows.append((last, target, written[-1] if written else "", origin, gain))
    if not ends:
        raise SpaceError(f"no path of lattice {lattice.id!r} is left")
    return _built(lattice, np.array(under), np.array(within), rows, ends, vocabulary)


def _built(
    lattice: Lattice,
    under: Any,
    within: Any,
    rows: list[tuple[int, int, str, int, float]],
    ends: dict[int, float],
    vocabulary: Vocabulary,
) -> Transduced:
    # in topological order, so that building the lattice changes no order and origins stay
    count = len(under)
    order = np.lexsort((np.arange(count), within, under))
    place = np.empty(count, np.int64)
    place[order] = np.arange(count)
    src = place[np.array([row[0] for row in rows], np.int64)]
    dst = place[np.array([row[1] for row in rows], np.int64)]
    final = np.zeros(count, bool)
    final[place[list(ends)]] = True

    # only what leads to an end
    alive = final.tolist()
    pairs = sorted(zip(src.tolist(), dst.tolist(), strict=True), reverse=True)
    for source, target in pairs:
        if alive[target]:
            alive[source] = True
    kept_states = np.flatnonzero(alive)
    number = np.full(count, -1)
    number[kept_states] = np.arange(len(kept_states))
    kept = np.flatnonzero((number[src] >= 0) & (number[dst] >= 0))
    kept = kept[np.lexsort((kept, dst[kept], src[kept]))]
    origin = ints(np.array([row[3] for row in rows], np.int64)[kept])
    gain = floats(np.array([row[4] for row in rows])[kept])
    old = under[order][kept_states]
    final = final[kept_states]
    final_gain = np.zeros(len(kept_states))
    for each, extra in ends.items():
        final_gain[number[place[each]]] = extra
    label = vocabulary.add_all(rows[row][2] for row in kept.tolist())
    # a place of -1, the last entry, is overwritten
    score = np.where(origin >= 0, lattice.score[origin], 0.0) if len(origin) else np.empty(0)
    features, last = lattice.features, lattice.final_features
    made = Lattice(
        vocabulary=vocabulary,
        src=ints(number[src[kept]]),
        dst=ints(number[dst[kept]]),
        label=ints(label),
        score=floats(score),
        final=floats(np.where(final, lattice.final[old], -np.inf)),
        start=0,
        features=None if features is None else reordered_rows(features, origin),
        final_features=(
            None if last is None else reordered_rows(last, ints(np.where(final, old, -1)))
        ),
        feature_names=lattice.feature_names,
        times=None if lattice.times is None else floats(lattice.times[old]),
        **lattice.about,
    )
    return Transduced(made, origin, gain, floats(final_gain))
