"""Forests as lattices."""

from __future__ import annotations

from lattices import Forest
from lattices.algorithms import (
    path_count,
    to_lattice,
)


def test_left_and_right_branches_both_stay_small_as_lattices():
    for side in ([0, 1], [1, 0]):
        words = [(0, [], [word]) for word in "abc"]
        rows = [*words, *((node + 1, [node, 0], side) for node in range(40))]
        lattice = to_lattice(Forest.from_edges(rows))
        assert path_count(lattice) == 3**41
        assert lattice.num_states < 200
