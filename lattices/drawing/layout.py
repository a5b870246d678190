"""Layered layout of a graph: layers, an order within each, and places (Sugiyama et al. 1981).

1. Layers: the longest path from where nothing comes in; arcs that would close a cycle are turned.
2. A link over several layers is cut by a point in each, so that links join neighbours only.
3. Order: barycentre sweeps to and fro; the order with the fewest crossings is kept.
4. Places: the sum of the squared heights of all links is made small, one layer at a time, by
   isotonic regression, which keeps the order and the distances. Straight where it matters: links
   within a long one, and those that are marked, weigh more (Gansner et al. 1993).
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lattices.arrays import isotonic

_SWEEPS, _PATIENCE = 24, 4
_ROUNDS = 40
#: what a distance of layers grows by, of the height of its steepest link, and by how much at most
_SLOPE, _WIDEST = 0.1, 36.0
#: weight of a link by how many of its ends are points of a long one
_STRAIGHT = (1.0, 2.0, 8.0)


@dataclass(frozen=True)
class Size:
    """How much room something takes: its width, and from its middle up and down."""

    width: float
    above: float
    below: float


#: a point where a long link passes a layer
PASSING = Size(0.0, 5.0, 5.0)


@dataclass(frozen=True)
class Layout:
    """Where things are."""

    layer: list[int]  # one entry a thing
    y: list[float]  # one entry a thing and then one a passing point; of its middle
    # one entry a link; what the link passes, its ends included: things and passing points, a layer
    # each
    routes: list[list[int]]
    # one entry a layer; where it begins and ends
    left: list[float]
    right: list[float]
    top: float
    bottom: float


def find_turned_arcs(count: int, arcs: Sequence[tuple[int, int]]) -> list[bool]:
    """Return which arcs to turn around so that no cycle is left: those back up a depth-first walk.

    Arcs from a node to itself are not turned.
    """
    outgoing: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    incoming = [0] * count
    for number, (source, target) in enumerate(arcs):
        if source != target:
            outgoing[source].append((number, target))
            incoming[target] += 1
    turned = [False] * len(arcs)
    # 0: not met, 1: on the way, 2: done
    state = [0] * count
    for root in sorted(range(count), key=lambda node: incoming[node] > 0):
        if state[root]:
            continue
        state[root] = 1
        stack = [(root, iter(outgoing[root]))]
        while stack:
            node, rest = stack[-1]
            for number, target in rest:
                if state[target] == 1:
                    turned[number] = True
                elif state[target] == 0:
                    state[target] = 1
                    stack.append((target, iter(outgoing[target])))
                    break
            else:
                state[node] = 2
                stack.pop()
    return turned


def layers(count: int, arcs: Sequence[tuple[int, int]]) -> list[int]:
    """Return the layer of each node of an acyclic graph: every arc leads to a later one.

    It is the longest path to the node; a node with more arcs out than in is then put as late as
    its arcs allow, which makes them shorter.
    """
    outgoing: list[list[int]] = [[] for _ in range(count)]
    incoming = [0] * count
    for source, target in arcs:
        outgoing[source].append(target)
        incoming[target] += 1
    waiting = list(incoming)
    found = [0] * count
    order = [node for node in range(count) if not waiting[node]]
    for node in order:
        for target in outgoing[node]:
            found[target] = max(found[target], found[node] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                order.append(target)
    for node in reversed(order):
        if len(outgoing[node]) > incoming[node]:
            found[node] = min(found[target] for target in outgoing[node]) - 1
    first = min(found, default=0)
    return [layer - first for layer in found]


def place_nodes(
    sizes: Sequence[Size],
    layer: Sequence[int],
    links: Sequence[tuple[int, int, float]],
    *,
    across: float,
    between: float,
) -> Layout:
    """Return where things are, from left to right in their layers."""
    rooms, depth, routes, joints = _cut(sizes, layer, links)
    order = _order_layers(depth, joints, len(rooms))
    y = _place_in_layers(rooms, order, joints, between)
    left, right = _columns(rooms, order, _gaps(depth, y, joints, across))
    top = min((y[one] - rooms[one].above for one in range(len(rooms))), default=0.0)
    bottom = max((y[one] + rooms[one].below for one in range(len(rooms))), default=0.0)
    return Layout(list(layer), y, routes, left, right, top, bottom)


def _cut(
    sizes: Sequence[Size], layer: Sequence[int], links: Sequence[tuple[int, int, float]]
) -> tuple[list[Size], list[int], list[list[int]], list[tuple[int, int, float]]]:
    """Return sizes and layers with passing points, the routes, and the pieces of all links."""
    rooms, depth = list(sizes), list(layer)
    routes: list[list[int]] = []
    joints: list[tuple[int, int, float]] = []
    for source, target, weight in links:
        route = [source]
        for between in range(layer[source] + 1, layer[target]):
            route.append(len(rooms))
            rooms.append(PASSING)
            depth.append(between)
        route.append(target)
        routes.append(route)
        for one, next_one in pairwise(route):
            points = (one >= len(sizes)) + (next_one >= len(sizes))
            joints.append((one, next_one, weight * _STRAIGHT[points]))
    return rooms, depth, routes, joints


_Neighbours = list[list[tuple[int, float]]]


def _neighbours(
    count: int, joints: Sequence[tuple[int, int, float]]
) -> tuple[_Neighbours, _Neighbours]:
    before: _Neighbours = [[] for _ in range(count)]
    after: _Neighbours = [[] for _ in range(count)]
    for one, next_one, weight in joints:
        after[one].append((next_one, weight))
        before[next_one].append((one, weight))
    return before, after


def _order_layers(
    depth: Sequence[int], joints: Sequence[tuple[int, int, float]], count: int
) -> list[list[int]]:
    """Return the things of each layer from top to bottom."""
    before, after = _neighbours(count, joints)
    order: list[list[int]] = [[] for _ in range(1 + max(depth, default=-1))]
    # a walk in depth puts what belongs together side by side
    seen = [False] * count
    for root in sorted(range(count), key=lambda one: bool(before[one])):
        stack = [root]
        while stack:
            one = stack.pop()
            if not seen[one]:
                seen[one] = True
                order[depth[one]].append(one)
                stack.extend(other for other, _ in reversed(after[one]))
    best, fewest, idle = [list(row) for row in order], _crossings(order, after), 0
    for sweep in range(_SWEEPS):
        if not fewest or idle == _PATIENCE:
            break
        down = sweep % 2 == 0
        for row in order if down else reversed(order):
            _sort(row, order, depth, before if down else after, down)
        crossings = _crossings(order, after)
        idle = 0 if crossings < fewest else idle + 1
        if crossings < fewest:
            best, fewest = [list(row) for row in order], crossings
    return best


def _sort(
    row: list[int], order: list[list[int]], depth: Sequence[int], beside: _Neighbours, down: bool
) -> None:
    """Sort a layer by the mean place of what each thing is linked to on one side."""
    if not row:
        return
    other = depth[row[0]] + (-1 if down else 1)
    if not 0 <= other < len(order):
        return
    position = {one: place for place, one in enumerate(order[other])}
    keys = {}
    for place, one in enumerate(row):
        found = [position[near] for near, _ in beside[one]]
        # what has no link there keeps its place, in the measure of the other layer
        keys[one] = sum(found) / len(found) if found else place * len(position) / max(1, len(row))
    row.sort(key=keys.__getitem__)


def _crossings(order: Sequence[Sequence[int]], after: _Neighbours) -> int:
    """Return how many pairs of links cross between neighbouring layers."""
    total = 0
    for row, next_row in pairwise(order):
        position = {one: place for place, one in enumerate(next_row)}
        ends: list[int] = []
        for one in row:
            mine = [position[near] for near, _ in after[one]]
            total += sum(len(ends) - bisect_right(ends, end) for end in mine)
            for end in mine:
                insort(ends, end)
    return total


def _place_in_layers(
    rooms: Sequence[Size],
    order: Sequence[Sequence[int]],
    joints: Sequence[tuple[int, int, float]],
    between: float,
) -> list[float]:
    """Return where each thing is from top to bottom, in its order and with its distances."""
    before, after = _neighbours(len(rooms), joints)
    y = [0.0] * len(rooms)
    offsets: list[np.ndarray] = []
    for row in order:
        steps = [rooms[one].below + between + rooms[other].above for one, other in pairwise(row)]
        offset = np.concatenate(([0.0], np.cumsum(steps))) if row else np.zeros(0)
        offsets.append(offset)
        middle = offset[-1] / 2 if row else 0.0
        for one, where in zip(row, offset.tolist(), strict=True):
            y[one] = where - middle

    def settle(number: int, sides: Sequence[_Neighbours]) -> None:
        row, offset = order[number], offsets[number]
        wanted, weights = [], []
        for one in row:
            near = [pair for side in sides for pair in side[one]]
            share = sum(weight for _, weight in near)
            if share:
                wanted.append(sum(y[other] * weight for other, weight in near) / share)
            else:
                wanted.append(y[one])
            # what is linked to nothing gives way
            weights.append(share or 0.01)
        if row:
            for one, where in zip(
                row, (isotonic(np.array(wanted) - offset, weights) + offset).tolist(), strict=True
            ):
                y[one] = where

    rows = range(len(order))
    for number in rows:
        settle(number, (before,))
    for number in reversed(rows):
        settle(number, (after,))
    for sweep in range(_ROUNDS):
        for number in rows if sweep % 2 == 0 else reversed(rows):
            settle(number, (before, after))
    return y


def _gaps(
    depth: Sequence[int],
    y: Sequence[float],
    joints: Sequence[tuple[int, int, float]],
    across: float,
) -> list[float]:
    """Return the distance after each layer: wider where links are steep, for the eye to follow."""
    steepest = [0.0] * (1 + max(depth, default=-1))
    for one, next_one, _ in joints:
        steepest[depth[one]] = max(steepest[depth[one]], abs(y[one] - y[next_one]))
    return [across + min(_WIDEST, height * _SLOPE) for height in steepest]


def _columns(
    rooms: Sequence[Size], order: Sequence[Sequence[int]], gaps: Sequence[float]
) -> tuple[list[float], list[float]]:
    left, right = [], []
    x = 0.0
    for row, gap in zip(order, gaps, strict=True):
        left.append(x)
        x += max((rooms[one].width for one in row), default=0.0)
        right.append(x)
        x += gap
    return left, right
