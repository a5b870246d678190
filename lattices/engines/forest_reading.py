"""The forest kernel's step: the target side of an edge, read from many machine states at once."""

from __future__ import annotations

import numpy as np

from lattices.arrays import inlined, kernel
from lattices.engines.forest_vectors import copy_vector, fill_vector, raise_vector
from lattices.engines.forward import LANES


@inlined
def _whole(place):  # type: ignore[no-untyped-def]
    """Return the end of the vector in which the cell before a place stands."""
    return (place + LANES - 1) // LANES * LANES


@inlined
def _clear(levels, start, low, high, order, stride):  # type: ignore[no-untyped-def]
    """Make the states of one row unreachable, in the vectors of ``low`` up to ``high``."""
    worst = levels.dtype.type(-np.inf)
    for layer in range(order):
        for cell in range(low // LANES * LANES, high, LANES):
            fill_vector(levels, start + layer * stride + cell, worst)


@kernel
def _read_word(  # type: ignore[no-untyped-def]
    levels, before, after, keep, lows, highs, limits, rows, length, order, stride,
    insertion, deletion, entry, follow, position, weight,
):  # fmt: skip
    """Read one word: from the gains at ``levels[before:]`` to those at ``levels[after:]``."""
    number = levels.dtype.type
    worst = number(-np.inf)
    size = order * stride
    for row in range(rows):
        low, high = lows[row], highs[row]
        if low < high:
            there_high = min(high + 1, limits[row])
            match = entry
            while match >= 0:
                if low <= position[match] < limits[row] - 1:
                    there_high = max(there_high, position[match] + 2)
                match = follow[match]
            if keep:
                there_high = stride
            _clear(levels, after, low, there_high, order, stride)
            for place in range(low // LANES * LANES, high, LANES):
                raise_vector(levels, after + place, levels, before + place, -insertion)
                raise_vector(levels, after + place + 1, levels, before + place, deletion)
            # there is no word left to substitute after the last
            levels[after + length + 1] = worst
            end = _whole(high)
            match = entry
            while match >= 0:
                place = position[match]
                if low <= place < limits[row] - 1:
                    there = forgotten = after + place + 1
                    gain = worst
                    for earlier in range(low, min(place + 1, high)):
                        other = levels[before + earlier]
                        gain = other if other > gain else gain
                    for run in range(order if place < end else 1):
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
            highs[row] = there_high
        before += size
        after += size


@kernel
def _read_node(  # type: ignore[no-untyped-def]
    levels, before, after, keep, begins, runs, lows, highs, limits, rows, at_start,
    length, order, stride, table, quiet, base, columns, left_place, right_place, gathered,
    row_low, row_high,
):  # fmt: skip
    """Read the words of a node: a maximum over the states in between.

    With ``at_start`` there is but one, that of the row which is made. Columns of ``(j, 0)``
    are made in place, the others in ``gathered``. ``row_low`` and ``row_high`` tell where the
    rows of the node have any items.
    """
    worst = levels.dtype.type(-np.inf)
    size = order * stride
    layers = order - 1
    for row in range(rows):
        low, high, limit = lows[row], highs[row], limits[row]
        if low >= high:
            before += size
            after += size
            continue
        there_low, there_high = np.int32(stride), np.int32(0)
        if quiet > worst:
            there_low, there_high = low, high
        start_row = begins[row]
        if at_start:
            if runs[row] > 0:
                for index in range(len(left_place)):
                    if left_place[index] == begins[row]:
                        start_row = length + index * layers + runs[row]
            there_low = min(there_low, row_low[start_row])
            there_high = max(there_high, min(row_high[start_row], limit))
        else:
            for place in range(low, min(high, length + 1)):
                if levels[before + place] > worst:
                    there_low = min(there_low, row_low[place])
                    there_high = max(there_high, row_high[place])
            for index in range(len(left_place)):
                if low <= left_place[index] < high:
                    for layer in range(1, order):
                        if levels[before + layer * stride + left_place[index]] > worst:
                            source_row = length + index * layers + layer
                            there_low = min(there_low, row_low[source_row])
                            there_high = max(there_high, row_high[source_row])
            there_high = min(there_high, limit)
        if keep:
            there_low, there_high = np.int32(begins[row]), np.int32(stride)
        lows[row], highs[row] = there_low, there_high
        if there_low >= there_high:
            before += size
            after += size
            continue
        _clear(levels, after, there_low, there_high, order, stride)
        for cell in range(0, columns - stride, LANES):
            fill_vector(gathered, cell, worst)
        if at_start:
            source = base + start_row * columns
            for cell in range(there_low // LANES * LANES, there_high, LANES):
                copy_vector(levels, after + cell, table, source + cell)
            for cell in range(0, columns - stride, LANES):
                copy_vector(gathered, cell, table, source + stride + cell)
        else:
            for place in range(low, min(high, length + 1)):
                gain = levels[before + place]
                if gain > worst:
                    source = base + place * columns
                    end = min(row_high[place], there_high)
                    for cell in range(row_low[place] // LANES * LANES, end, LANES):
                        raise_vector(levels, after + cell, table, source + cell, gain)
                    for cell in range(0, columns - stride, LANES):
                        raise_vector(gathered, cell, table, source + stride + cell, gain)
            for index in range(len(left_place)):
                place = left_place[index]
                if not low <= place < high:
                    continue
                for layer in range(1, order):
                    gain = levels[before + layer * stride + place]
                    if gain > worst:
                        source_row = length + index * layers + layer
                        source = base + source_row * columns
                        end = min(row_high[source_row], there_high)
                        for cell in range(row_low[source_row] // LANES * LANES, end, LANES):
                            raise_vector(levels, after + cell, table, source + cell, gain)
                        for cell in range(0, columns - stride, LANES):
                            raise_vector(gathered, cell, table, source + stride + cell, gain)
        column = 0
        for index in range(len(right_place)):
            there = after + right_place[index]
            if not there_low <= right_place[index] < there_high:
                column += layers
                continue
            for _ in range(layers):
                there += stride
                levels[there] = gathered[column]
                column += 1
        if quiet > worst:
            for layer in range(0, size, stride):
                for cell in range(layer + low // LANES * LANES, layer + high, LANES):
                    raise_vector(levels, after + cell, levels, before + cell, quiet)
        before += size
        after += size


@kernel
def read_edge(  # type: ignore[no-untyped-def]
    levels, keep, edge, begins, runs, lows, highs, limits, rows,
    tail, tail_offset, symbol, symbol_offset,
    length, order, stride, insertion, deletion, chain, follow, position, weight,
    table, silent, base, width, left_offset, left_place, right_offset, right_place, gathered,
    row_offset, row_low, row_high,
):  # fmt: skip
    """Read the target side of an edge, from the state ``(begins[r], runs[r])`` for each row r.

    With ``keep``, ``levels[((k * rows + r) * order + m) * stride + j]`` becomes the best gain
    with which row ``r`` reaches state ``(j, m)`` after ``k`` symbols. Without it only the last
    two levels are kept, in turns, and of these only the vectors of the places ``lows[r]`` up
    to ``highs[r]``, at most ``limits[r]``: there is nothing elsewhere. Returns where the last
    level begins.
    """
    size = order * stride
    number = levels.dtype.type
    for row in range(rows):
        start = row * size
        lows[row], highs[row] = begins[row], stride if keep else begins[row] + 1
        _clear(levels, start, lows[row], highs[row], order, stride)
        levels[start + begins[row]] = number(0)
        levels[start + runs[row] * stride + begins[row]] = number(0)
    here = 0
    first = symbol_offset[edge]
    for index in range(first, symbol_offset[edge + 1]):
        there = here + rows * size if keep else rows * size - here
        if symbol[index] > 0:
            _read_word(
                levels, here, there, keep, lows, highs, limits, rows, length, order, stride,
                insertion, deletion, chain[symbol[index]], follow, position, weight,
            )  # fmt: skip
        else:
            node = tail[tail_offset[edge] - 1 - symbol[index]]
            _read_node(
                levels, here, there, keep, begins, runs, lows, highs, limits, rows,
                index == first, length, order, stride,
                table, silent[node], base[node], width[node],
                left_place[left_offset[node] : left_offset[node + 1]],
                right_place[right_offset[node] : right_offset[node + 1]], gathered,
                row_low[row_offset[node] : row_offset[node + 1]],
                row_high[row_offset[node] : row_offset[node + 1]],
            )  # fmt: skip
        here = there
    return here
