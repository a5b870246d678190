"""The kernel that makes the product of a forest with the matrices of its nodes' words."""

from __future__ import annotations

import numpy as np

from lattices.arrays import kernel
from lattices.engines.forest_rows_matrices import (
    MATRIX,
    TEXT,
    WORDS,
    find_matrix,
    first_rows,
    roomy,
    undominated,
)
from lattices.engines.rows import ending_gain, grown, learn_step


@kernel
def build_product(  # type: ignore[no-untyped-def]
    tables, absent, rule_offset, classes, symbol_class,
    in_offset, tail, tail_offset, symbol, symbol_offset, score, needed, before, behind,
    sign, weight, k, budget, most_steps, most_cells,
):  # fmt: skip
    """Return the edges of the product, from the bottom up, and how many pairs and rows it has.

    A pair is beaten by another if no sentence is better with it. Pairs that ``k`` others of
    their node beat are left out, unless ``k`` is 0.

    Returns
    -------
    pairs : int
        -1 if they are more than ``budget``, or the search took more than ``most_steps`` edges
        or ``most_cells`` cells.
    rows : int
    root_pair : int
        The one pair of the last needed node.
    head, origin, gain : columns, one entry an edge
    tails, tails_offset : columns
    """
    nodes = len(in_offset) - 1
    states = len(tables.initial)
    pool, target, gained, table, rows, begin_row, begin_gain = first_rows(absent, tables, classes)
    ending = np.full(len(pool), absent, tables.initial.dtype)
    ended = np.zeros(len(pool), np.bool_)
    longest = 0
    for edge in range(len(score)):
        longest = max(longest, symbol_offset[edge + 1] - symbol_offset[edge])
    level_row = np.empty((longest + 1, states), np.int32)
    level_gain = np.empty((longest + 1, states), tables.initial.dtype)
    choice = np.empty(longest + 1, np.int64)
    pair_start = np.zeros(nodes + 1, np.int64)
    pair = np.empty((256, 3), np.int64)
    base, model, constant = np.empty(256), np.empty(256), np.empty(256)
    matrix_row = np.empty(4096, np.int32)
    matrix_gain = np.empty(4096, tables.initial.dtype)
    text = np.empty(4096, np.int32)
    head, origin = np.empty(1024, np.int64), np.empty(1024, np.int64)
    gain = np.empty(1024)
    tails, tails_offset = np.empty(1024, np.int64), np.zeros(1024, np.int64)
    pairs = cells = texted = edges = steps = 0
    nothing = (-1, rows, 0, head, origin, gain, tails, tails_offset)
    for node in range(nodes):
        pair_start[node] = first = pairs
        pair_start[node + 1] = pairs
        if not needed[node]:
            continue
        width = states if before[node] else 1
        first_cell, first_edge = cells, edges
        slots = np.full(64, -1, np.int64)
        for edge in range(in_offset[node], in_offset[node + 1]):
            begin, end = symbol_offset[edge], symbol_offset[edge + 1]
            possible = True
            for index in range(begin, end):
                if symbol[index] < 0:
                    below = tail[tail_offset[edge] - 1 - symbol[index]]
                    choice[index - begin] = pair_start[below]
                    possible = possible and pair_start[below] < pair_start[below + 1]
            if not possible:
                continue
            if before[node]:
                level_row[0], level_gain[0] = begin_row[:states], begin_gain[:states]
            else:
                level_row[0, 0], level_gain[0, 0] = begin_row[states], begin_gain[states]
            # the last tail of the target side is moved first, and what stands before it remains
            fresh = begin
            while True:
                steps += 1
                if steps > most_steps:
                    return nothing
                collapsed = False
                for index in range(fresh, end):
                    level = index - begin
                    level_row[level + 1, :width] = level_row[level, :width]
                    level_gain[level + 1, :width] = level_gain[level, :width]
                    if symbol[index] > 0:
                        text = roomy(text, texted + 1)
                        text[texted] = symbol_class[symbol[index]]
                        at, words = texted, 1
                    else:
                        below = tail[tail_offset[edge] - 1 - symbol[index]]
                        at, words = pair[choice[level], TEXT], pair[choice[level], WORDS]
                        if index == begin and before[below] == before[node]:
                            here = pair[choice[level], MATRIX]
                            for state in range(width):
                                level_row[1, state] = matrix_row[here + state]
                                level_gain[1, state] = matrix_gain[here + state]
                            words = 0
                    for place in range(at, at + words):
                        word_class = text[place]
                        for state in range(width):
                            row = level_row[level + 1, state]
                            if target[row, word_class] < 0:
                                pool, target, gained, table, rows = learn_step(
                                    row, word_class, absent, tables,
                                    pool, target, gained, table, rows,
                                )  # fmt: skip
                            level_row[level + 1, state] = target[row, word_class]
                            more = gained[row, word_class]
                            if level_gain[level + 1, state] == absent or more == absent:
                                level_gain[level + 1, state] = absent
                            else:
                                level_gain[level + 1, state] += more
                last = end - begin
                if last == 1 and symbol[begin] < 0:
                    below = tail[tail_offset[edge] - 1 - symbol[begin]]
                    collapsed = not behind[below] and before[below] == before[node]
                # read what stands at the end into the places that follow the levels
                final_row, final_gain = level_row[last].copy(), level_gain[last].copy()
                if not behind[node]:
                    if len(pool) > len(ending):
                        ending = roomy(ending, len(pool))
                        longer = np.zeros(len(ending), np.bool_)
                        longer[: len(ended)] = ended
                        ended = longer
                    for state in range(width):
                        row = final_row[state]
                        if not collapsed and final_gain[state] > absent:
                            if not ended[row]:
                                ending[row] = ending_gain(pool[row], absent, tables)
                                ended[row] = True
                            if ending[row] == absent:
                                final_gain[state] = absent
                            else:
                                final_gain[state] += ending[row]
                        final_row[state] = 0
                top = absent
                for state in range(width):
                    top = max(top, final_gain[state])
                if top > absent:
                    for state in range(width):
                        if final_gain[state] > absent:
                            final_gain[state] -= top
                        else:
                            final_row[state] = 0
                    extra, whole = np.float64(top), np.float64(top)
                    total, likelihood = sign * weight * score[edge], score[edge]
                    length = 0
                    for index in range(begin, end):
                        if symbol[index] > 0:
                            length += 1
                            continue
                        chosen = choice[index - begin]
                        length += pair[chosen, WORDS]
                        below = tail[tail_offset[edge] - 1 - symbol[index]]
                        if index == begin and before[below] == before[node]:
                            whole += constant[chosen]
                        else:
                            extra -= constant[chosen]
                    for index in range(tail_offset[edge], tail_offset[edge + 1]):
                        for slot in range(begin, end):
                            if symbol[slot] == tail_offset[edge] - 1 - index:
                                total += base[choice[slot - begin]]
                                likelihood += model[choice[slot - begin]]
                    total += sign * extra
                    place = find_matrix(
                        final_row, final_gain, width, matrix_row, matrix_gain, pair, slots
                    )
                    there = slots[place]
                    if there < 0:
                        if cells + width > most_cells or texted + length + 1 > most_cells:
                            return nothing
                        if pairs == len(base):
                            pair, base, model = grown(pair, 0), grown(base, 0), grown(model, 0)
                            constant = grown(constant, 0)
                        matrix_row = roomy(matrix_row, cells + width)
                        matrix_gain = roomy(matrix_gain, cells + width)
                        text = roomy(text, texted + length + 1)
                        there = pairs
                        pair[there, MATRIX], pair[there, TEXT] = cells, texted
                        pair[there, WORDS] = length
                        base[there], model[there], constant[there] = -np.inf, -np.inf, whole
                        matrix_row[cells : cells + width] = final_row[:width]
                        matrix_gain[cells : cells + width] = final_gain[:width]
                        cells += width
                        for index in range(begin, end):
                            if symbol[index] > 0:
                                text[texted] = symbol_class[symbol[index]]
                                texted += 1
                            else:
                                at = pair[choice[index - begin], TEXT]
                                for word in range(pair[choice[index - begin], WORDS]):
                                    text[texted] = text[at + word]
                                    texted += 1
                        slots[place] = there
                        pairs += 1
                        if 2 * (pairs - first) > len(slots):
                            slots = np.full(2 * len(slots), -1, np.int64)
                            for other in range(first, pairs):
                                at = pair[other, MATRIX]
                                slots[
                                    find_matrix(
                                        matrix_row[at : at + width], matrix_gain[at : at + width],
                                        width, matrix_row, matrix_gain, pair, slots,
                                    )
                                ] = other  # fmt: skip
                    if total > base[there]:
                        base[there], model[there] = total, likelihood
                    elif total == base[there]:
                        model[there] = max(model[there], likelihood)
                    arity = tail_offset[edge + 1] - tail_offset[edge]
                    if edges + 1 >= len(tails_offset):
                        tails_offset = grown(tails_offset, 0)
                    if edges == len(gain):
                        head, origin, gain = grown(head, 0), grown(origin, 0), grown(gain, 0)
                    tails = roomy(tails, tails_offset[edges] + arity)
                    head[edges], origin[edges], gain[edges] = there, edge, extra
                    for slot in range(begin, end):
                        if symbol[slot] < 0:
                            tails[tails_offset[edges] - 1 - symbol[slot]] = choice[slot - begin]
                    tails_offset[edges + 1] = tails_offset[edges] + arity
                    edges += 1
                fresh = -1
                for index in range(end - 1, begin - 1, -1):
                    if symbol[index] < 0:
                        below = tail[tail_offset[edge] - 1 - symbol[index]]
                        choice[index - begin] += 1
                        if choice[index - begin] < pair_start[below + 1]:
                            fresh = index
                            break
                        choice[index - begin] = pair_start[below]
                if fresh < 0:
                    break
        if k > 0 and pairs - first > k:
            keep = undominated(
                first, pairs, width, k, sign, pair, base, model, matrix_row, matrix_gain,
                pool, absent, tables, rule_offset,
            )  # fmt: skip
            number = np.full(pairs - first, -1, np.int64)
            kept = first
            cells = first_cell
            for old in range(first, pairs):
                if keep[old - first]:
                    number[old - first] = kept
                    at = pair[old, MATRIX]
                    for index in range(width):
                        matrix_row[cells + index] = matrix_row[at + index]
                        matrix_gain[cells + index] = matrix_gain[at + index]
                    pair[kept, TEXT], pair[kept, WORDS] = pair[old, TEXT], pair[old, WORDS]
                    pair[kept, MATRIX] = cells
                    base[kept], model[kept], constant[kept] = base[old], model[old], constant[old]
                    cells += width
                    kept += 1
            pairs = kept
            left = first_edge
            for old in range(first_edge, edges):
                there = number[head[old] - first]
                if there >= 0:
                    count = tails_offset[old + 1] - tails_offset[old]
                    at = tails_offset[left]
                    for index in range(count):
                        tails[at + index] = tails[tails_offset[old] + index]
                    head[left], origin[left], gain[left] = there, origin[old], gain[old]
                    tails_offset[left + 1] = at + count
                    left += 1
            edges = left
        if pairs > budget:
            return nothing
        pair_start[node + 1] = pairs
    return (
        pairs, rows, pairs - 1, head[:edges], origin[:edges], gain[:edges],
        tails[: tails_offset[edges]], tails_offset[: edges + 1],
    )  # fmt: skip
