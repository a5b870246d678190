"""Putting the states and arcs of an automaton in order."""

from __future__ import annotations

import numpy as np

from lattices.arrays import kernel


@kernel
def topological_numbers(src, dst, states):  # type: ignore[no-untyped-def]
    """Return a new number for every state, sources first, and how many could be numbered."""
    degree = np.zeros(states, np.int32)
    offset = np.zeros(states + 1, np.int32)
    for arc in range(len(src)):
        degree[dst[arc]] += 1
        offset[src[arc] + 1] += 1
    for state in range(states):
        offset[state + 1] += offset[state]
    target = np.empty(len(src), np.int32)
    place = offset[:-1].copy()
    for arc in range(len(src)):
        target[place[src[arc]]] = dst[arc]
        place[src[arc]] += 1
    queue = np.empty(states, np.int32)
    number = np.full(states, -1, np.int32)
    filled = 0
    for state in range(states):
        if degree[state] == 0:
            queue[filled] = state
            filled += 1
    done = 0
    while done < filled:
        state = queue[done]
        number[state] = done
        done += 1
        for index in range(offset[state], offset[state + 1]):
            degree[target[index]] -= 1
            if degree[target[index]] == 0:
                queue[filled] = target[index]
                filled += 1
    return number, done


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
