"""Expansion of a forest or a list to a lattice of the same sentences."""

from __future__ import annotations

from operator import index

import numpy as np

from lattices import _native
from lattices.algorithms.trimming import trim
from lattices.arrays import floats, ints
from lattices.errors import OptionError, SpaceError
from lattices.spaces import Forest, Lattice, NBest, Space
from lattices.spaces.arguments import SPACE, check_filled, takes
from lattices.spaces.features import make_rows, reorder_rows


@takes(space=SPACE)
def to_lattice(space: Space, max_states: int = 1_000_000) -> Lattice:
    """Return a lattice with one path for each derivation or entry: its words, score and features.

    A lattice comes back as it is. The paths of a list share nothing but their two ends; score and
    features are on the last arc.

    Of a forest, the scores and features of an edge are those of one arc, the words of its target
    side are others without a score; the sums along a path are those of the derivation, up to the
    order of adding. A state is a list of what is still to be read, words and nodes, and whatever
    has the same future shares it; read from the other end, whatever has the same past. The forest
    is expanded from both ends, and the smaller lattice is returned. The cost is its number of arcs.
    A forest can have exponentially many states even where it is small: prune it, or work on the
    forest.

    Parameters
    ----------
    space : Forest, NBest or Lattice
    max_states : int
        The most states that the lattice of a forest may have.

    Raises
    ------
    SpaceError
        If it would have more.
    OptionError
        If a list is empty.

    Examples
    --------
    >>> forest = Forest.from_edges(
    ...     [(0, [], ["a"], -1.0), (0, [], ["b"], -2.0), (1, [0, 0], [1, "or", 0], -0.5)]
    ... )
    >>> lattice = to_lattice(forest)
    >>> sorted((path.text, path.score) for path in lattice.paths())[:2]
    [('a or a', -2.5), ('a or b', -3.5)]
    >>> to_lattice(forest, max_states=3)
    Traceback (most recent call last):
        ...
    lattices.errors.SpaceError: forest '' takes more than 3 states as a lattice: ...
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses([Hypothesis(("a",), -1.0), Hypothesis(("b", "c"), -2.0)])
    >>> sorted((path.text, path.score) for path in to_lattice(nbest).paths())
    [('a', -1.0), ('b c', -2.0)]
    """
    if index(max_states) < 1:
        raise OptionError(f"max_states is {max_states}, expected at least 1")
    if isinstance(space, Forest):
        return _expand(space, max_states)
    return _parallel_paths(space) if isinstance(space, NBest) else space


def _parallel_paths(nbest: NBest) -> Lattice:
    check_filled([nbest])
    words = np.diff(nbest.offset)
    # an entry without words has one arc that says nothing
    size = np.maximum(words, 1)
    behind = np.cumsum(size)
    entry = np.repeat(np.arange(len(nbest)), size)
    ends = np.zeros(behind[-1], np.bool_)
    ends[behind - 1] = True
    last = int((~ends).sum()) + 1
    dst = np.where(ends, last, np.cumsum(~ends))
    src = np.where(np.append(True, ends[:-1]), 0, np.append(0, dst[:-1]))
    label = np.zeros(len(ends), np.int32)
    label[words[entry] > 0] = nbest.label
    final = np.full(last + 1, -np.inf)
    final[last] = 0.0
    given = make_rows(nbest)
    return Lattice(
        vocabulary=nbest.vocabulary,
        src=ints(src),
        dst=ints(dst),
        label=ints(label),
        score=floats(np.where(ends, nbest.score[entry], 0.0)),
        final=floats(final),
        features=None if given is None else reorder_rows(given, ints(np.where(ends, entry, -1))),
        feature_names=nbest.feature_names,
        **nbest.about,
    )


def _expand(forest: Forest, max_states: int) -> Lattice:
    trimmed = trim(forest).space
    found = _native.expand(trimmed.columns, min(index(max_states), 2**31 - 1))
    if found is None:
        raise SpaceError(
            f"forest {forest.id!r} takes more than {max_states} states as a lattice: "
            "prune it, or raise max_states"
        )
    src, dst, label, edge, states, backwards = found
    first, last = (0, 1) if backwards else (1, 0)
    final = np.full(states, -np.inf)
    final[last] = 0.0
    given = make_rows(trimmed)
    features = None if given is None else reorder_rows(given, edge)
    return Lattice(
        vocabulary=forest.vocabulary,
        src=ints(src),
        dst=ints(dst),
        label=ints(label),
        score=floats(np.where(edge >= 0, trimmed.score[edge], 0.0)),
        final=floats(final),
        start=first,
        features=features,
        feature_names=forest.feature_names,
        **forest.about,
    )
