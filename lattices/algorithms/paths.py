"""Paths in columns, and the sentences they spell."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from lattices.arrays import IntColumn, ints
from lattices.errors import SpaceError
from lattices.spaces import Hypothesis, Lattice


class Paths(NamedTuple):
    """Several complete paths: path ``i`` is ``arcs[offset[i]:offset[i + 1]]``."""

    arcs: IntColumn
    offset: IntColumn

    @classmethod
    def of(cls, paths: Iterable[Iterable[int]]) -> Paths:
        """Return the columns of paths given one by one.

        Examples
        --------
        >>> Paths.of([[0, 2], [], [1]]).offset.tolist()
        [0, 2, 2, 3]
        """
        rows = [list(path) for path in paths]
        return cls(
            ints([arc for row in rows for arc in row]),
            ints(np.cumsum([0, *map(len, rows)])),
        )


def no_complete_path(lattice: Lattice) -> SpaceError:
    """Return the error that says that no sentence can be read off the lattice."""
    return SpaceError(
        f"lattice {lattice.id!r} has no complete path: "
        f"none of its {len(lattice.finals)} final states can be reached from start state "
        f"{lattice.start}"
    )


def hypotheses(lattice: Lattice, paths: Paths) -> list[Hypothesis]:
    """Return the sentences of many complete paths, as :meth:`Lattice.hypothesis` of each.

    The paths are trusted to be complete. All features come from one sparse product, which
    is what makes long k-best lists affordable. Cost: O(total length of the paths).

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -2.0)], finals=[1])
    >>> [found.text for found in hypotheses(lattice, Paths.of([[1], [0]]))]
    ['b', 'a']
    """
    bounds = paths.offset.tolist()
    count = len(bounds) - 1
    arcs = paths.arcs.tolist()
    labels = lattice.label[paths.arcs].tolist()
    scores = lattice.score[paths.arcs].tolist()
    last = [
        int(lattice.dst[arcs[end - 1]]) if end > begin else lattice.start
        for begin, end in pairwise(bounds)
    ]
    features = _summed_features(lattice, paths, last)
    found = []
    for number in range(count):
        begin, end = bounds[number], bounds[number + 1]
        score = float(lattice.final[last[number]])
        for step in scores[begin:end][::-1]:
            score += step
        found.append(
            Hypothesis(
                tokens=lattice.vocabulary.decode(labels[begin:end]),
                score=score,
                features=features[number],
                arcs=tuple(arcs[begin:end]),
            )
        )
    return found


def _summed_features(lattice: Lattice, paths: Paths, last: list[int]) -> list[dict[str, float]]:
    count = len(last)
    if lattice.features is None or count == 0:
        return [{} for _ in range(count)]
    ones = np.ones(len(paths.arcs))
    rows = csr_array((ones, paths.arcs, paths.offset), shape=(count, lattice.num_arcs))
    total = rows @ lattice.features
    if lattice.final_features is not None:
        total = total + lattice.final_features[last]
    total = csr_array(total)
    total.sort_indices()
    total.eliminate_zeros()
    names = lattice.feature_names
    columns, values, bounds = total.indices.tolist(), total.data.tolist(), total.indptr.tolist()
    return [
        {names[columns[entry]]: values[entry] for entry in range(begin, end)}
        for begin, end in pairwise(bounds)
    ]
