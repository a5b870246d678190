"""The matrices of forest rows: how they are stored, found again, and compared.

A *matrix* has a row, and a gain before it, for every state in which its words may be begun. A
word takes each row to its next one, which is looked up. The words of a node are read by a
*representative*: a string of classes of words whose matrix is that of all the strings which
the pair of the node and the matrix stands for, up to a constant.
"""

from __future__ import annotations

import numpy as np

from lattices.arrays import kernel
from lattices.engines.rows import (
    close_row,
    find_row,
    grown,
)

#: how many rivals a pair is compared with, beyond those that it takes to drop it
RIVALS = 64
# the columns of the store of pairs: where the matrix and the representative stand
MATRIX, TEXT, WORDS = range(3)


@kernel
def anchors(in_offset, tail, tail_offset, symbol, symbol_offset, root):  # type: ignore[no-untyped-def]
    """Tell which nodes are needed, and which have words before or behind them in a sentence."""
    nodes = len(in_offset) - 1
    needed = np.zeros(nodes, np.bool_)
    before, behind = np.zeros(nodes, np.bool_), np.zeros(nodes, np.bool_)
    needed[root] = True
    for node in range(nodes - 1, -1, -1):
        if not needed[node]:
            continue
        for edge in range(in_offset[node], in_offset[node + 1]):
            first, last = symbol_offset[edge], symbol_offset[edge + 1]
            for index in range(first, last):
                if symbol[index] < 0:
                    below = tail[tail_offset[edge] - 1 - symbol[index]]
                    needed[below] = True
                    before[below] |= before[node] or index > first
                    behind[below] |= behind[node] or index < last - 1
    return needed, before, behind


@kernel
def first_rows(absent, tables, classes):  # type: ignore[no-untyped-def]
    """Return the stores of rows with the rows of all beginnings, and those beginnings.

    The stores are those of :func:`~.rows.first_row`. Beginning ``s`` is to be in state ``s``;
    the last one is to begin a sentence.
    """
    states = len(tables.initial)
    space = 256
    while space <= states:
        space *= 2
    pool = np.full((space, states), absent, tables.initial.dtype)
    target = np.full((space, classes), -1, np.int32)
    gained = np.zeros((space, classes), tables.initial.dtype)
    table = np.full(4 * space, -1, np.int32)
    begin_row = np.empty(states + 1, np.int32)
    begin_gain = np.empty(states + 1, tables.initial.dtype)
    rows = 0
    for state in range(states + 1):
        row = np.full(states, absent, tables.initial.dtype)
        if state == states:
            row[:] = tables.initial
        else:
            row[state] = 0
        begin_gain[state] = close_row(row, absent, tables)
        place = find_row(row, pool, table)
        if table[place] < 0:
            pool[rows] = row
            table[place] = rows
            rows += 1
        begin_row[state] = table[place]
    return pool, target, gained, table, rows, begin_row, begin_gain


@kernel
def find_matrix(rows, gains, width, matrix_row, matrix_gain, pair, table):  # type: ignore[no-untyped-def]
    """Return the place of a matrix in the hash table of a node: an equal one's, or a free one."""
    value = np.uint64(1469598103934665603)
    for index in range(width):
        value = (value ^ np.uint64(rows[index])) * np.uint64(1099511628211)
        value ^= value >> np.uint64(29)
        value = (value ^ np.uint64(gains[index])) * np.uint64(1099511628211)
        value ^= value >> np.uint64(29)
    mask = np.uint64(len(table) - 1)
    place = value & mask
    while table[place] >= 0:
        at = pair[table[place], MATRIX]
        equal = True
        for index in range(width):
            if rows[index] != matrix_row[at + index] or gains[index] != matrix_gain[at + index]:
                equal = False
                break
        if equal:
            break
        place = (place + np.uint64(1)) & mask
    return place


@kernel
def _stands(  # type: ignore[no-untyped-def]
    low, low_height, high, high_height, width, pair, matrix_row, matrix_gain,
    pool, absent, tables, rule_offset,
):  # fmt: skip
    """Return 0 if one pair may end higher than another, 1 if it cannot, 2 if it ends lower."""
    answer = 2
    low_at, high_at = pair[low, MATRIX], pair[high, MATRIX]
    for index in range(width):
        if matrix_gain[low_at + index] == absent:
            continue
        if matrix_gain[high_at + index] == absent:
            return 0
        mine = low_height + matrix_gain[low_at + index]
        yours = high_height + matrix_gain[high_at + index]
        if matrix_row[low_at + index] == matrix_row[high_at + index]:
            if mine > yours:
                return 0
            if mine == yours:
                answer = 1
            continue
        row, other = pool[matrix_row[low_at + index]], pool[matrix_row[high_at + index]]
        for place in range(len(row)):
            if row[place] == absent:
                continue
            height = mine + row[place]
            if other[place] > absent and height <= yours + other[place]:
                if height == yours + other[place]:
                    answer = 1
                continue
            answered = False
            for rule in range(rule_offset[place], rule_offset[place + 1]):
                rival = other[tables.kept[rule]]
                if rival > absent and height + tables.lead[rule] <= yours + rival:
                    answered = True
                    answer = 1
                    break
            if not answered:
                return 0
    return answer


@kernel
def undominated(  # type: ignore[no-untyped-def]
    first, pairs, width, k, sign, pair, base, model, matrix_row, matrix_gain,
    pool, absent, tables, rule_offset,
):  # fmt: skip
    """Tell which pairs of a node are kept: those that not ``k`` others beat in every sentence."""
    count = pairs - first
    keep = np.zeros(count, np.bool_)
    order = np.argsort(-base[first:pairs])
    kept = np.empty(count, np.int64)
    keeping = 0
    for index in range(count):
        mine = first + order[index]
        beaten = 0
        for rival in range(min(keeping, RIVALS + k)):
            other = kept[rival]
            low, high = (other, mine) if sign < 0 else (mine, other)
            stands = _stands(
                low, sign * base[low], high, sign * base[high], width,
                pair, matrix_row, matrix_gain, pool, absent, tables, rule_offset,
            )  # fmt: skip
            if stands == 2 or (stands == 1 and model[other] > model[mine]):
                beaten += 1
                if beaten == k:
                    break
        if beaten < k:
            keep[order[index]] = True
            kept[keeping] = mine
            keeping += 1
    return keep


@kernel
def roomy(array, needed):  # type: ignore[no-untyped-def]
    """Return the array with room for ``needed`` entries, copied only where it has less."""
    while len(array) < needed:
        array = grown(array, 0)
    return array
