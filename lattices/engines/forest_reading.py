"""The forest kernel's step: the target side of an edge, read from many machine states at once.

A row has vectors from the place where it begins up to the last one it reaches. What stands
behind is neither read nor cleared.
"""

from __future__ import annotations

import numpy as np

from lattices.arrays import inlined, kernel
from lattices.engines.forest_vectors import copy_vector, fill_vector, raise_vector, step_vector
from lattices.engines.forward import LANES

# columns of the fronts, one for each row: the state from which it is read, the end of the places
# that it has reached, and the end of those that it may reach
START, RUN, HIGH, LIMIT = range(4)
FRONT_FIELDS = 4


@inlined
def _floor(place):  # type: ignore[no-untyped-def]
    """Return the begin of the vector in which a place stands."""
    return place & -LANES


@inlined
def _whole(place):  # type: ignore[no-untyped-def]
    """Return the end of the vector in which the cell before a place stands."""
    return (place + (LANES - 1)) & -LANES


@inlined
def _clear(levels, start, low, high, order, stride):  # type: ignore[no-untyped-def]
    """Make the states of one row unreachable, in the vectors of ``low`` up to ``high``."""
    worst = levels.dtype.type(-np.inf)
    for layer in range(order):
        for cell in range(low, high, LANES):
            fill_vector(levels, start + layer * stride + cell, worst)


@kernel
def _read_word(  # type: ignore[no-untyped-def]
    levels, before, after, fronts, rows, length, order, stride,
    insertion, substitution, deletion, entry, follow, position, weight,
):  # fmt: skip
    """Read one word: from the gains at ``levels[before:]`` to those at ``levels[after:]``."""
    number = levels.dtype.type
    worst = number(-np.inf)
    size = order * stride
    further = 1 if substitution > worst else 0
    for row in range(rows):
        begin, high = np.int64(fronts[row, START]), np.int64(fronts[row, HIGH])
        limit = np.int64(fronts[row, LIMIT])
        if begin < high:
            there_high = min(high + further, limit)
            match = entry
            while match >= 0:
                if begin <= position[match] < limit - 1:
                    there_high = max(there_high, np.int64(position[match] + 2))
                match = follow[match]
            if begin >= LANES:
                # nothing comes from before the first vector, which is not cleared
                levels[before + _floor(begin) - 1] = worst
            end = _whole(high)
            for place in range(_floor(begin), end, LANES):
                step_vector(levels, after + place, before + place, -insertion, substitution)
            _clear(levels, after, end, there_high, 1, stride)
            _clear(levels, after + stride, _floor(begin), there_high, order - 1, stride)
            if end == high < there_high:
                levels[after + high] = levels[before + high - 1] + substitution
            # there is no word left to substitute after the last
            levels[after + length + 1] = worst
            match = entry
            best, seen = worst, begin
            while match >= 0:
                place = np.int64(position[match])
                if begin <= place < limit - 1:
                    if seen > place + 1:
                        best, seen = worst, begin
                    for earlier in range(seen, min(place + 1, high)):
                        other = levels[before + earlier]
                        best = other if other > best else best
                    seen = place + 1
                    there = forgotten = after + place + 1
                    gain = best
                    for run in range(order if place < high else 1):
                        if run > 0:
                            gain = levels[before + run * stride + place]
                        gain += number(run + 1) * weight[match] + deletion
                        if run + 1 < order:
                            there += stride
                        if gain > levels[there]:
                            levels[there] = gain
                            # a run may be forgotten at once, at no cost
                            if gain > levels[forgotten]:
                                levels[forgotten] = gain
                match = follow[match]
            fronts[row, HIGH] = there_high
        before += size
        after += size


@kernel
def _copy_node(  # type: ignore[no-untyped-def]
    levels, before, after, fronts, rows, length, order, stride,
    table, quiet, base, columns, lefts, lefts_end, left_place, rights, rights_end, right_place,
    first_row, row_high,
):  # fmt: skip
    """Read the words of a node that an edge begins with: the rows of its table."""
    worst = levels.dtype.type(-np.inf)
    size = order * stride
    layers = order - 1
    for row in range(rows):
        begin, run = np.int64(fronts[row, START]), np.int64(fronts[row, RUN])
        source_row = begin
        if run > 0:
            for index in range(lefts, lefts_end):
                if left_place[index] == begin:
                    source_row = length + (index - lefts) * layers + run
        source = base + source_row * columns
        high = min(np.int64(row_high[first_row + source_row]), np.int64(fronts[row, LIMIT]))
        for cell in range(_floor(begin), high, LANES):
            copy_vector(levels, after + cell, table, source + cell)
        if quiet > worst and high <= begin:
            fill_vector(levels, after + _floor(begin), worst)
            high = begin + 1
        _clear(levels, after + stride, _floor(begin), high, layers, stride)
        source += stride
        for index in range(rights, rights_end):
            there = after + right_place[index]
            if not begin < right_place[index] < high:
                source += layers
                continue
            for _ in range(layers):
                there += stride
                levels[there] = table[source]
                source += 1
        if quiet > worst:
            for layer in range(order):
                here = layer * stride + begin
                gain = levels[before + here] + quiet
                if gain > levels[after + here]:
                    levels[after + here] = gain
        fronts[row, HIGH] = high
        before += size
        after += size


@kernel
def _read_node(  # type: ignore[no-untyped-def]
    levels, before, after, fronts, rows, length, order, stride,
    table, quiet, base, columns, lefts, lefts_end, left_place, rights, rights_end, right_place,
    gathered, first_row, row_high,
):  # fmt: skip
    """Read the words of a node: a maximum over the states in between.

    Columns of ``(j, 0)`` are made in place, the others in ``gathered``. ``row_high`` tells up
    to where the rows of the node have any items.
    """
    worst = levels.dtype.type(-np.inf)
    size = order * stride
    layers = order - 1
    extra = columns - stride
    for row in range(rows):
        begin, high = np.int64(fronts[row, START]), np.int64(fronts[row, HIGH])
        limit = np.int64(fronts[row, LIMIT])
        if begin >= high:
            before += size
            after += size
            continue
        for cell in range(0, extra, LANES):
            fill_vector(gathered, cell, worst)
        # vectors from here on are not cleared yet
        cleared = _floor(begin)
        there_high = np.int64(0)
        # runs end behind the place where the node begins
        behind = rights
        for place in range(begin, high):
            gain = levels[before + place]
            if gain > worst:
                end = min(np.int64(row_high[first_row + place]), limit)
                there_high = max(there_high, end)
                if cleared < end:
                    _clear(levels, after, cleared, end, order, stride)
                    cleared = _whole(end)
                source = base + place * columns
                for cell in range(_floor(place), end, LANES):
                    raise_vector(levels, after + cell, table, source + cell, gain)
                while behind < rights_end and right_place[behind] <= place:
                    behind += 1
                source += stride
                for cell in range(_floor((behind - rights) * layers), extra, LANES):
                    raise_vector(gathered, cell, table, source + cell, gain)
        for index in range(lefts, lefts_end):
            place = np.int64(left_place[index])
            if not begin <= place < high:
                continue
            for layer in range(1, order):
                gain = levels[before + layer * stride + place]
                if gain > worst:
                    source_row = length + (index - lefts) * layers + layer
                    end = min(np.int64(row_high[first_row + source_row]), limit)
                    there_high = max(there_high, end)
                    if cleared < end:
                        _clear(levels, after, cleared, end, order, stride)
                        cleared = _whole(end)
                    source = base + source_row * columns
                    for cell in range(_floor(place), end, LANES):
                        raise_vector(levels, after + cell, table, source + cell, gain)
                    for cell in range(0, extra, LANES):
                        raise_vector(gathered, cell, table, source + stride + cell, gain)
        column = 0
        for index in range(rights, rights_end):
            there = after + right_place[index]
            if not begin < right_place[index] < there_high:
                column += layers
                continue
            for _ in range(layers):
                there += stride
                levels[there] = gathered[column]
                column += 1
        if quiet > worst:
            _clear(levels, after, cleared, high, order, stride)
            there_high = max(there_high, high)
            for layer in range(0, size, stride):
                for cell in range(layer + _floor(begin), layer + high, LANES):
                    raise_vector(levels, after + cell, levels, before + cell, quiet)
        fronts[row, HIGH] = there_high
        before += size
        after += size


@kernel
def read_edge(  # type: ignore[no-untyped-def]
    levels, keep, edge, fronts, rows,
    tail, tail_offset, symbol, symbol_offset,
    length, order, stride, insertion, substitution, deletion, chain, follow, position, weight,
    table, silent, base, width, left_offset, left_place, right_offset, right_place, gathered,
    row_offset, row_high,
):  # fmt: skip
    """Read the target side of an edge, from the state ``(START, RUN)`` for each row of fronts.

    With ``keep``, ``levels[((k * rows + r) * order + m) * stride + j]`` becomes the best gain
    with which row ``r`` reaches state ``(j, m)`` after ``k`` symbols. Without it only the last
    two levels are kept, in turns, and of these only the vectors from the place where the row
    begins up to ``HIGH``, at most ``LIMIT``. Returns where the last level begins. There has to
    be a vector of which nothing is used before the first.

    No more than 30 arguments are passed: a call with more makes a tuple of them first, which
    takes longer than a short edge does.
    """
    size = order * stride
    number = levels.dtype.type
    worst = number(-np.inf)
    first, last = symbol_offset[edge], symbol_offset[edge + 1]
    here = 0
    if keep:
        for cell in range(0, (last - first + 1) * rows * size, LANES):
            fill_vector(levels, cell, worst)
    start = here
    for row in range(rows):
        begin = np.int64(fronts[row, START])
        _clear(levels, start, _floor(begin), begin + 1, order, stride)
        levels[start + begin] = number(0)
        levels[start + fronts[row, RUN] * stride + begin] = number(0)
        fronts[row, HIGH] = begin + 1
        start += size
    for index in range(first, last):
        there = here + rows * size if keep else rows * size - here
        what = symbol[index]
        if what > 0:
            _read_word(
                levels, here, there, fronts, rows, length, order, stride,
                insertion, substitution, deletion, chain[what], follow, position, weight,
            )  # fmt: skip
        else:
            node = tail[tail_offset[edge] - 1 - what]
            if index == first:
                _copy_node(
                    levels, here, there, fronts, rows, length, order, stride,
                    table, silent[node], base[node], width[node],
                    left_offset[node], left_offset[node + 1], left_place,
                    right_offset[node], right_offset[node + 1], right_place,
                    row_offset[node], row_high,
                )  # fmt: skip
            else:
                _read_node(
                    levels, here, there, fronts, rows, length, order, stride,
                    table, silent[node], base[node], width[node],
                    left_offset[node], left_offset[node + 1], left_place,
                    right_offset[node], right_offset[node + 1], right_place,
                    gathered, row_offset[node], row_high,
                )  # fmt: skip
        here = there
    return here
