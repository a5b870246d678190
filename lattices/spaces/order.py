"""Putting the states and arcs of an automaton in order."""

from __future__ import annotations

import numpy as np

from lattices.arrays import kernel


@kernel
def counting_sort(keys, order, states):  # type: ignore[no-untyped-def]
    """Sort ``order`` stably by ``keys[order]``; also return where each key's run begins."""
    offset = np.zeros(states + 1, np.int32)
    for arc in range(len(keys)):
        offset[keys[arc] + 1] += 1
    for state in range(states):
        offset[state + 1] += offset[state]
    place = offset[:-1].copy()
    result = np.empty(len(keys), np.int32)
    for index in range(len(order)):
        key = keys[order[index]]
        result[place[key]] = order[index]
        place[key] += 1
    return result, offset
