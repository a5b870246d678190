"""Paths and derivations in columns, and the sentences they spell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from lattices._native import paths_fields
from lattices.arrays import IntColumn, ints
from lattices.errors import SpaceError
from lattices.spaces import Forest, Hypothesis, Lattice


class Paths(NamedTuple):
    """Several complete paths: path ``i`` is ``arcs[offset[i]:offset[i + 1]]``.

    Of a forest these are derivations: edges from the top down, left to right.
    """

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


def explain_no_path(space: Lattice | Forest) -> SpaceError:
    """Return the error that the space has no complete path."""
    if isinstance(space, Forest):
        return SpaceError(f"forest {space.id!r} has no derivation of its root, node {space.root}")
    return SpaceError(
        f"lattice {space.id!r} has no complete path: "
        f"none of its {len(space.finals)} final states can be reached from start state "
        f"{space.start}"
    )


def hypotheses(space: Lattice | Forest, paths: Paths) -> list[Hypothesis]:
    """Return the sentences of many paths or derivations in columns.

    As :meth:`Lattice.hypothesis` or :meth:`Forest.hypothesis` of each. Cost: O(total length of
    the paths, words and features).

    Raises
    ------
    SpaceError
        If one of them is no complete path or derivation, or if its scores add up to infinity.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -2.0)], finals=[1])
    >>> [found.text for found in hypotheses(lattice, Paths.of([[1], [0]]))]
    ['b', 'a']
    >>> forest = Forest.from_edges([(0, [], ["a"], -1.0), (1, [0], [0, "b"]), (1, [], ["c"])])
    >>> [found.text for found in hypotheses(forest, Paths.of([[2], [1, 0]]))]
    ['c', 'a b']
    """
    strings = space.vocabulary.strings
    rows = paths_fields(space.columns, space.feature_columns, strings, paths.arcs, paths.offset)
    return [Hypothesis(*fields) for fields in rows]
