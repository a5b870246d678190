"""The recursion for edit distance over a lattice, compiled.

A sentence of ``L`` words has ``2 L + 1`` bins: one for each word, and an empty one before, between
and after them, in which words that it lacks find a place. Cell ``c`` of a row stands for the first
``c`` bins: bin ``c - 1`` lies between the cells ``c - 1`` and ``c``, and the bins of even number
are the empty ones.
"""

from __future__ import annotations

import numpy as np

from lattices.arrays import inlined, kernel
from lattices.vocabulary import EPSILON

#: what a word costs, on top of its edit, that is put into no bin: with it a word of the lattice
#: goes into a bin wherever that costs nothing
UNPLACED = 1e-9
#: costs and posteriors that differ by less are equal, in whatever order they were added up
TIE = 1e-12
#: a word of the sentence is replaced by one that saves more edits than this
GAIN = 1e-7

# what becomes of a word at a cell: it stands in the last bin; it is in no bin; the bin is without.
# In the order of preference, which the arithmetic below relies on: branches would take longer
_PLACED, _LEFT_OUT, _SKIPPED = 0, 1, 2


@kernel
def _choices(src, dst, label, share, states, start, words):  # type: ignore[no-untyped-def]
    """Return, for each arc and cell, what becomes of the arc's word.

    ``cost[state, cell]`` is the expected cost of aligning what leads to the state with the first
    bins. It is complete when the arcs out of the state are reached: they come in topological
    order.
    """
    cells = 2 * len(words) + 2
    cost = np.zeros((states, cells))
    for cell in range(cells):
        cost[start, cell] = cell // 2
    choice = np.empty((len(src), cells), np.uint8)
    for arc in range(len(src)):
        part = share[arc]
        if part == 0.0:
            continue
        source, target = src[arc], dst[arc]
        word = label[arc]
        if word == EPSILON:
            cost[target, 0] += part * cost[source, 0]
            for cell in range(1, cells):
                value = cost[source, cell]
                cost[target, cell] += part * value
                # bins are emptied where that costs nothing: no word is what the arc has for them
                lack = cost[source, cell - 1] + (cell % 2 == 0)
                choice[arc, cell] = _SKIPPED if lack <= value + TIE else _LEFT_OUT
            continue
        value = cost[source, 0] + (1.0 + UNPLACED)
        cost[target, 0] += part * value
        for place in range(len(words)):
            cell = 2 * place + 1
            # beside an empty bin a word is never left out: to put it there costs less
            placed = cost[source, cell - 1] + 1.0
            choice[arc, cell] = _SKIPPED * (placed > value + TIE)
            value = min(placed, value)
            cost[target, cell] += part * value
            cell += 1
            placed = cost[source, cell - 1] + (word != words[place])
            left_out = cost[source, cell] + (1.0 + UNPLACED)
            value = min(placed, min(left_out, value + 1.0))
            cost[target, cell] += part * value
            least = value + TIE
            choice[arc, cell] = (placed > least) * (_LEFT_OUT + (left_out > least))
        placed = cost[source, cells - 2] + 1.0
        choice[arc, cells - 1] = _SKIPPED * (placed > value + TIE)
        cost[target, cells - 1] += part * min(placed, value)
    return choice


@inlined
def _slot(table, key, wanted):  # type: ignore[no-untyped-def]
    """Return where the table holds the wanted key, or the free slot for it."""
    mixed = wanted * 6364136223846793005
    slot = (mixed ^ (mixed >> 29)) & (len(table) - 1)
    while table[slot] >= 0 and key[table[slot]] != wanted:
        slot = (slot + 1) & (len(table) - 1)
    return slot


@kernel
def _grown(key, value):  # type: ignore[no-untyped-def]
    """Return the entries with room for as many again, and a table for them."""
    count = len(key)
    keys, values = np.empty(2 * count, np.int64), np.zeros((2 * count, 3))
    keys[:count], values[:count] = key, value
    table = np.full(4 * count, -1, np.int32)
    for entry in range(count):
        table[_slot(table, keys, key[entry])] = entry
    return table, keys, values


@kernel
def _posteriors(src, dst, label, share, ending, start, times, choice):  # type: ignore[no-untyped-def]
    """Return who stands in which bin, how probably, and from when to when; masses go backwards.

    Returns
    -------
    key : int64 array, one entry a word of a bin
        The bin times 2**32, plus the word.
    value : float64 array of three columns
        The posterior, and the times of begin and end, both multiplied by it.
    empty : float64 array of three columns, one row a bin
        The same for no word.
    left_out : float
        How many words stand in no bin, on average.
    """
    bins = choice.shape[1] - 1
    mass = np.zeros((len(ending), bins + 1))
    mass[:, bins] = ending
    # between which cells there is any: those near the diagonal
    low, high = np.full(len(ending), bins, np.int32), np.full(len(ending), -1, np.int32)
    for state in range(len(ending)):
        if ending[state] > 0.0:
            high[state] = bins
    table = np.full(512, -1, np.int32)
    key, value = np.empty(256, np.int64), np.zeros((256, 3))
    empty = np.zeros((bins, 3))
    count = 0
    left_out = begin = end = moment = 0.0
    timed = len(times) > 0
    for arc in range(len(src) - 1, -1, -1):
        part = share[arc]
        source, target = src[arc], dst[arc]
        if part == 0.0 or high[target] < 0:
            continue
        high[source] = max(high[source], high[target])
        lowest = low[target]
        word = label[arc]
        if timed:
            begin, end = times[source], times[target]
        skipping = 0.0
        for cell in range(high[target], 0, -1):
            here = part * mass[target, cell] + skipping
            if skipping == 0.0:
                moment = end
            skipping = 0.0
            if here == 0.0:
                if cell <= lowest:
                    break
                continue
            low[source] = min(low[source], cell - 1)
            if choice[arc, cell] == _PLACED:
                mass[source, cell - 1] += here
                wanted = np.int64(cell - 1) << 32 | np.int64(word)
                slot = _slot(table, key, wanted)
                entry = table[slot]
                if entry < 0:
                    if count == len(key):
                        table, key, value = _grown(key, value)
                        slot = _slot(table, key, wanted)
                    entry = table[slot] = count
                    key[entry] = wanted
                    count += 1
                value[entry, 0] += here
                value[entry, 1] += here * begin
                value[entry, 2] += here * end
            elif choice[arc, cell] == _LEFT_OUT:
                mass[source, cell] += here
                left_out += here * (word != EPSILON)
            else:
                # a bin is passed when the arc has been, and not before it as printed in the paper;
                # an arc without a word takes the place, and the time, of a word that is lacking
                skipping = here
                empty[cell - 1, 0] += here
                empty[cell - 1, 2] += here * moment
                if word == EPSILON and cell % 2 == 0:
                    moment = begin
                empty[cell - 1, 1] += here * moment
        here = part * mass[target, 0] + skipping
        if here > 0.0:
            low[source] = 0
            mass[source, 0] += here
            left_out += here * (word != EPSILON)
    here = 0.0
    for cell in range(bins, 0, -1):
        here += mass[start, cell]
        empty[cell - 1, 0] += here
        empty[cell - 1, 1:] += here * (times[start] if timed else 0.0)
    return key[:count], value[:count], empty, left_out


@kernel
def _expected(words, key, value, empty, left_out):  # type: ignore[no-untyped-def]
    """Return the expected edits of the alignment: words left out, and bins with another word."""
    edits = left_out + len(empty)
    for place in range(0, len(empty), 2):
        edits -= empty[place, 0]
    for entry in range(len(key)):
        place, word = key[entry] >> 32, key[entry] & 0xFFFFFFFF
        if place % 2 == 1 and words[place // 2] == word:
            edits -= value[entry, 0]
    return max(0.0, edits)


@kernel
def _improved(words, key, value, empty, rank):  # type: ignore[no-untyped-def]
    """Return the most probable words of all bins, and whether one is not the sentence's own.

    A bin keeps its word unless another one is more probable by ``GAIN``. Equals among those
    that replace it: no word, then the first in the order of ``rank``.
    """
    bins = len(empty)
    most, best, own = empty[:, 0].copy(), np.zeros(bins, np.int32), np.zeros(bins)
    for place in range(0, bins, 2):
        own[place] = empty[place, 0]
    for entry in range(len(key)):
        place, word = key[entry] >> 32, key[entry] & 0xFFFFFFFF
        most[place] = max(most[place], value[entry, 0])
        if place % 2 == 1 and words[place // 2] == word:
            own[place] = value[entry, 0]
    first = np.full(bins, -1, np.int64)
    for place in range(bins):
        if empty[place, 0] >= most[place] - TIE:
            first[place] = 0
    for entry in range(len(key)):
        place, word = key[entry] >> 32, key[entry] & 0xFFFFFFFF
        if value[entry, 0] >= most[place] - TIE and (
            first[place] < 0 or rank[word] < rank[first[place]]
        ):
            first[place] = word
    changed = False
    count = 0
    for place in range(bins):
        best[place] = words[place // 2] if place % 2 == 1 else EPSILON
        if most[place] > own[place] + GAIN:
            best[place] = first[place]
            changed = True
        if best[place] != EPSILON:
            best[count] = best[place]
            count += 1
    return best[:count].copy(), changed


@kernel
def minimise(src, dst, label, share, ending, start, times, rank, words, changes):  # type: ignore[no-untyped-def]
    """Change the words of a sentence as long as that lowers its expected edits.

    Parameters
    ----------
    src, dst, label, start
        The lattice, arcs sorted by source.
    share, ending
        See :class:`decoding.minimum_risk.edit_spaces.EditSpace`.
    times : float column, one entry a state, or empty
    rank : int column, one entry a word of the vocabulary
    words : int column
        The sentence to begin with.
    changes : int
        How often the sentence may change.

    Returns
    -------
    words : int32 array
        The last sentence.
    objectives : float64 array
        The expected edits of all the sentences.
    key, value, empty
        See :func:`_posteriors`; of the last sentence.
    settled : bool
        Whether no change is left that lowers the expected edits.
    """
    words = words.copy()
    objectives = np.empty(8)
    states = len(ending)
    choice = _choices(src, dst, label, share, states, start, words)
    found = _posteriors(src, dst, label, share, ending, start, times, choice)
    objectives[0] = _expected(words, *found)
    count = 1
    settled = False
    while True:
        other, changed = _improved(words, found[0], found[1], found[2], rank)
        if not changed:
            settled = True
        if not changed or count > changes:
            break
        choice = _choices(src, dst, label, share, states, start, other)
        others = _posteriors(src, dst, label, share, ending, start, times, choice)
        edits = _expected(other, *others)
        if edits >= objectives[count - 1]:
            # words left out are cheap, not free: a gain that is no more than that is none
            settled = True
            break
        if count == len(objectives):
            objectives = np.concatenate((objectives, objectives))
        objectives[count] = edits
        count += 1
        words, found = other, others
    return words, objectives[:count], found[0], found[1], found[2], settled
