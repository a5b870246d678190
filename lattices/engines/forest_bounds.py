"""What a beam and a band leave out of the forest kernel's tables, and what that could have earned.

An item is a cell of a node's table: the words of the node, from reference place ``i`` to ``j``.

**Promise.** What stands before the node can earn no more than a match of every reference word
before ``i`` that any word of the forest matches, each at the end of the longest run it can
have; nor more than as many matches as there can be words. It pays for the words and places
that must be left over. The same holds behind ``j``. An item's gain plus both bounds, and plus
the best weighted model score of all that is not below the node, is its promise: no derivation
that uses it is worth more.

**Beam.** Items that promise less than the best of their node, by more than the beam, are
dropped as soon as the node is done.

**Band.** In proportion to the length of the reference a node can begin in a range of places
and cover a range of words; ``L / sqrt(shortest x longest sentence)`` is the proportion. Items
that begin, or cover, more than ``band`` words outside of its range are not computed at all.

A derivation that uses dropped items uses one below which nothing is dropped, and that one's
promise was noted; so what is found is the best if no promise that was given up exceeds it.
"""

from __future__ import annotations

import numpy as np

from lattices.arrays import kernel
from lattices.engines.forest_reading import RUN, START
from lattices.engines.forward import LANES

#: sentences can have more words than numbers hold; beyond this it makes no difference
_MANY = 1e9
# columns of the ranges: words of a node, before it, and behind it
FEWEST, MOST, FEWEST_BEFORE, MOST_BEFORE, FEWEST_BEHIND, MOST_BEHIND = range(6)
# columns of the windows: first and last place to begin, fewest and most places to cover
FIRST_PLACE, LAST_PLACE, LEAST_SPAN, MOST_SPAN = range(4)


@kernel
def word_ranges(in_offset, tail, tail_offset, symbol, symbol_offset, root, bias):  # type: ignore[no-untyped-def]
    """Return for each node how many words it has, and can have before and behind it.

    The second and third results are the best model score below it, and around it, weighted
    as in ``bias``. Nodes that no derivation uses have infinite ranges.
    """
    nodes = len(in_offset) - 1
    ranges = np.empty((nodes, 6))
    ranges[:, ::2], ranges[:, 1::2] = np.inf, -np.inf
    below, around = np.full(nodes, -np.inf), np.full(nodes, -np.inf)
    for node in range(nodes):
        for edge in range(in_offset[node], in_offset[node + 1]):
            fewest, most, worth = 0.0, 0.0, np.float64(bias[edge])
            for index in range(symbol_offset[edge], symbol_offset[edge + 1]):
                if symbol[index] > 0:
                    fewest += 1.0
                    most += 1.0
                else:
                    child = tail[tail_offset[edge] - 1 - symbol[index]]
                    fewest += ranges[child, FEWEST]
                    most += ranges[child, MOST]
                    worth += below[child]
            if worth > -np.inf:
                ranges[node, FEWEST] = min(ranges[node, FEWEST], min(fewest, _MANY))
                ranges[node, MOST] = max(ranges[node, MOST], min(most, _MANY))
                below[node] = max(below[node], worth)
    ranges[root, FEWEST_BEFORE:] = 0.0
    around[root] = 0.0
    for node in range(nodes - 1, -1, -1):
        if around[node] == -np.inf:
            continue
        for edge in range(in_offset[node], in_offset[node + 1]):
            worth = np.float64(bias[edge]) + around[node]
            fewest, most = 0.0, 0.0
            for index in range(symbol_offset[edge], symbol_offset[edge + 1]):
                if symbol[index] > 0:
                    fewest += 1.0
                    most += 1.0
                else:
                    child = tail[tail_offset[edge] - 1 - symbol[index]]
                    fewest += ranges[child, FEWEST]
                    most += ranges[child, MOST]
                    worth += below[child]
            if worth == -np.inf:
                continue
            before, most_before = 0.0, 0.0
            for index in range(symbol_offset[edge], symbol_offset[edge + 1]):
                if symbol[index] > 0:
                    before += 1.0
                    most_before += 1.0
                    continue
                child = tail[tail_offset[edge] - 1 - symbol[index]]
                own, most_own = ranges[child, FEWEST], ranges[child, MOST]
                around[child] = max(around[child], worth - below[child])
                low = ranges[node, FEWEST_BEFORE] + before
                high = ranges[node, MOST_BEFORE] + most_before
                ranges[child, FEWEST_BEFORE] = min(ranges[child, FEWEST_BEFORE], low)
                ranges[child, MOST_BEFORE] = max(ranges[child, MOST_BEFORE], min(high, _MANY))
                low = ranges[node, FEWEST_BEHIND] + max(0.0, fewest - before - own)
                high = ranges[node, MOST_BEHIND] + max(0.0, most - most_before - most_own)
                ranges[child, FEWEST_BEHIND] = min(ranges[child, FEWEST_BEHIND], low)
                ranges[child, MOST_BEHIND] = max(ranges[child, MOST_BEHIND], min(high, _MANY))
                before += own
                most_before += most_own
    return ranges, below, around


@kernel
def match_bounds(symbol, length, order, chain, follow, position, weight):  # type: ignore[no-untyped-def]
    """Return what the first words of the reference can earn, for each number of them."""
    heaviest = np.zeros(length)
    seen = np.zeros(len(chain), np.bool_)
    for number in symbol:
        if number > 0 and not seen[number]:
            seen[number] = True
            entry = chain[number]
            while entry >= 0:
                heaviest[position[entry]] = max(heaviest[position[entry]], weight[entry])
                entry = follow[entry]
    earned = np.zeros(length + 1)
    run = 0
    for place in range(length):
        run = min(run + 1, order) if heaviest[place] > 0.0 else 0
        earned[place + 1] = earned[place] + run * heaviest[place]
    return earned


@kernel
def span_bound(earned, places, fewest, most, per_word, insertion, deletion):  # type: ignore[no-untyped-def]
    """Return what ``fewest`` to ``most`` words can gain over some places, the deletions added.

    ``earned`` is what the matches of all these places would gain, ``per_word`` what one
    match does. As in the tables, every place carries the price of a deletion.
    """
    bound = min(earned, most * per_word) + max(0.0, deletion) * min(places, most)
    return bound - max(0.0, insertion) * max(0.0, fewest - places) + max(0.0, -insertion) * most


@kernel
def outer_bounds(ranges, node, earned, per_word, insertion, deletion):  # type: ignore[no-untyped-def]
    """Return what can be gained before each place, by words before a node, and behind it."""
    length = len(earned) - 1
    before, behind = np.empty(length + 1), np.empty(length + 1)
    for place in range(length + 1):
        before[place] = span_bound(
            earned[place], place, ranges[node, FEWEST_BEFORE], ranges[node, MOST_BEFORE],
            per_word, insertion, deletion,
        )  # fmt: skip
        behind[place] = span_bound(
            earned[length] - earned[place], length - place,
            ranges[node, FEWEST_BEHIND], ranges[node, MOST_BEHIND],
            per_word, insertion, deletion,
        )  # fmt: skip
    return before, behind


@kernel
def band_windows(ranges, root, length, band):  # type: ignore[no-untyped-def]
    """Return the places at which each node may begin, and how many it may cover."""
    nodes = len(ranges)
    windows = np.zeros((nodes, 4), np.int64)
    middle = np.sqrt(max(1.0, ranges[root, FEWEST]) * max(1.0, ranges[root, MOST]))
    stretch = length / middle
    for node in range(nodes):
        if ranges[node, MOST_BEFORE] < 0.0:
            continue
        first = np.floor(ranges[node, FEWEST_BEFORE] * stretch) - band
        last = np.ceil(ranges[node, MOST_BEFORE] * stretch) + band
        least = np.floor(ranges[node, FEWEST] * stretch) - band
        most = np.ceil(ranges[node, MOST] * stretch) + band
        windows[node, FIRST_PLACE] = np.int64(min(max(first, 0.0), length))
        windows[node, LAST_PLACE] = np.int64(min(max(last, 0.0), length))
        windows[node, LEAST_SPAN] = np.int64(min(max(least, 0.0), length))
        windows[node, MOST_SPAN] = np.int64(min(max(most, 0.0), length))
    return windows


@kernel
def band_promise(  # type: ignore[no-untyped-def]
    ranges, below, around, windows, use, earned, per_word, insertion, deletion
):
    """Return the most that any item outside of its window promises; ``use`` is 2 for any place."""
    length = len(earned) - 1
    promise = -np.inf
    for node in range(len(ranges)):
        if use[node] == 0 or ranges[node, MOST_BEFORE] < 0.0 or below[node] == -np.inf:
            continue
        model = below[node] + around[node]
        before, behind = outer_bounds(ranges, node, earned, per_word, insertion, deletion)
        fewest, most = ranges[node, FEWEST], ranges[node, MOST]
        for begin in range(length + 1 if use[node] == 2 else 1):
            # what follows has the words of the node and those behind it
            rest = span_bound(
                earned[length] - earned[begin], length - begin,
                fewest + ranges[node, FEWEST_BEHIND], most + ranges[node, MOST_BEHIND],
                per_word, insertion, deletion,
            )  # fmt: skip
            if before[begin] + rest + model <= promise:
                continue
            inside = windows[node, FIRST_PLACE] <= begin <= windows[node, LAST_PLACE]
            for end in range(begin, length + 1):
                span = end - begin
                if inside and windows[node, LEAST_SPAN] <= span <= windows[node, MOST_SPAN]:
                    continue
                gain = span_bound(
                    earned[end] - earned[begin], span, fewest, most,
                    per_word, insertion, deletion,
                )  # fmt: skip
                promise = max(promise, before[begin] + gain + behind[end] + model)
    return promise


@kernel
def cut_spans(  # type: ignore[no-untyped-def]
    table, base, columns, fronts, numbers, rows, length, order, stride,
    first_row, row_high, least, most, right_place,
):  # fmt: skip
    """Drop the items of a node that cover fewer or more places than they may."""
    worst = table.dtype.type(-np.inf)
    for row in range(rows):
        reached = first_row + numbers[row]
        cell = base + numbers[row] * columns
        begin = fronts[row, START]
        low = np.int32(begin + least)
        high = min(row_high[reached], np.int32(begin + most + 1))
        for end in range(begin, (row_high[reached] + LANES - 1) // LANES * LANES):
            if not low <= end < high:
                table[cell + end] = worst
        cell += stride
        for index in range(len(right_place)):
            if not low <= right_place[index] < high:
                for layer in range(order - 1):
                    table[cell + index * (order - 1) + layer] = worst
        row_high[reached] = high


@kernel
def cut_promises(  # type: ignore[no-untyped-def]
    table, base, columns, fronts, numbers, rows, length, order, stride,
    first_row, row_high, right_place, before, behind, beam, earned,
):  # fmt: skip
    """Drop the items of a node that promise too little; return the most that one promises.

    Promises are those without the model score around the node, which is the same for all.
    A run of matches goes with the item that forgets it: that one never promises less. Rows
    that no run of matches can lead to are no measure for the others.
    """
    worst = table.dtype.type(-np.inf)
    layers = order - 1
    best = dropped = -np.inf
    for row in range(rows):
        reached = first_row + numbers[row]
        cell = base + numbers[row] * columns
        begin, run = fronts[row, START], 0
        while run < min(fronts[row, RUN], begin):
            if earned[begin - run] == earned[begin - run - 1]:
                break
            run += 1
        if run < fronts[row, RUN]:
            continue
        for end in range(begin, row_high[reached]):
            best = max(best, before[begin] + table[cell + end] + behind[end])
    for row in range(rows):
        reached = first_row + numbers[row]
        cell = base + numbers[row] * columns
        begin, high = fronts[row, START], np.int32(0)
        for end in range(begin, row_high[reached]):
            promise = before[begin] + table[cell + end] + behind[end]
            if promise < best - beam:
                table[cell + end] = worst
                dropped = max(dropped, promise)
            elif promise > -np.inf:
                high = np.int32(end + 1)
        row_high[reached] = high
        for index in range(len(right_place)):
            if table[cell + right_place[index]] == worst:
                for layer in range(layers):
                    table[cell + stride + index * layers + layer] = worst
    return dropped
