"""Cuts of lattices at the states that every path passes."""

from __future__ import annotations

from typing import Any

import numpy as np

from lattices.algorithms.trimming import trim
from lattices.arrays import IntColumn, floats, ints
from lattices.errors import OptionError
from lattices.spaces import Lattice
from lattices.spaces.arguments import LATTICE, WHOLE, takes
from lattices.spaces.features import make_rows, reorder_rows


@takes(lattice=LATTICE, words=WHOLE)
def cut(lattice: Lattice, words: int = 1) -> list[Lattice]:
    """Return the stretches of a lattice between states that every complete path passes.

    :func:`concatenate` of them has the sentences of the lattice, with its scores, features and
    times. Each is named by the lattice and its number, ``talk-01`` and so on. References, and a
    source, are of the whole: stretches have none. A lattice without such a state is one stretch.
    Cost: O(arcs).

    Parameters
    ----------
    lattice
        What no complete path uses is left out.
    words
        So many words, or more, has every sentence of a stretch, but maybe of the last one.

    Raises
    ------
    SpaceError
        If the lattice has no complete path.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [
    ...         (0, 1, "good"), (0, 1, "bad"), (1, 2, "day"),
    ...         (2, 3, "to"), (2, 4, "all"), (3, 4, "you"),
    ...     ],
    ...     finals=[4], id="talk",
    ... )
    >>> [(part.id, part.num_arcs) for part in cut(lattice)]
    [('talk-1', 2), ('talk-2', 1), ('talk-3', 3)]
    >>> [(part.id, part.num_arcs) for part in cut(lattice, words=2)]
    [('talk-1', 3), ('talk-2', 3)]
    """
    if words < 1:
        raise OptionError(f"words is at least 1, not {words}")
    whole = trim(lattice).space
    bounds = _bounds(whole, words)
    ends = [*bounds[1:], whole.num_states - 1]
    digits = len(str(len(bounds)))
    rows = make_rows(whole), make_rows(whole, "final_features")
    return [
        _stretch(whole, rows, begin, end, f"{lattice.id}-{number:0{digits}d}")
        for number, (begin, end) in enumerate(zip(bounds, ends, strict=True), start=1)
    ]


def cut_states(lattice: Lattice) -> IntColumn:
    """Return the states that every path passes, of a lattice where each state is on one."""
    # an arc passes over the states between its ends, and an end over all that come later
    passed = np.zeros(lattice.num_states + 2, np.int64)
    np.add.at(passed, lattice.src + 1, 1)
    np.add.at(passed, lattice.dst, -1)
    np.add.at(passed, lattice.finals + 1, 1)
    return ints(np.flatnonzero(np.cumsum(passed)[: lattice.num_states] == 0))


def _bounds(lattice: Lattice, words: int) -> list[int]:
    """Return where stretches begin."""
    candidates = set(cut_states(lattice).tolist()) - {lattice.num_states - 1}
    # the fewest words from the last bound
    fewest = [words] * lattice.num_states
    bounds = [lattice.start]
    fewest[lattice.start] = 0
    src, spoken = lattice.src.tolist(), (lattice.label > 0).tolist()
    for before, after, word in zip(src, lattice.dst.tolist(), spoken, strict=True):
        # arcs come by source
        if before > bounds[-1] and before in candidates and fewest[before] >= words:
            bounds.append(before)
            fewest[before] = 0
        fewest[after] = min(fewest[after], fewest[before] + word)
    return bounds


def _stretch(lattice: Lattice, rows: tuple[Any, Any], begin: int, end: int, name: str) -> Lattice:
    last = end == lattice.num_states - 1
    first, stop = np.searchsorted(lattice.src, [begin, lattice.num_states if last else end])
    final = lattice.final[begin : end + 1].copy()
    of_arcs, of_ends = rows
    if not last:
        final[:] = -np.inf
        final[-1] = 0.0
    picked = None if of_arcs is None else reorder_rows(of_arcs, ints(np.arange(first, stop)))
    ends = reorder_rows(of_ends, ints(np.arange(begin, end + 1))) if last and of_ends else None
    return Lattice(
        vocabulary=lattice.vocabulary,
        src=ints(lattice.src[first:stop] - begin),
        dst=ints(lattice.dst[first:stop] - begin),
        label=lattice.label[first:stop],
        score=lattice.score[first:stop],
        final=floats(final),
        features=picked,
        final_features=ends,
        feature_names=lattice.feature_names,
        times=None if lattice.times is None else lattice.times[begin : end + 1],
        id=name,
        metadata=lattice.metadata,
    )
