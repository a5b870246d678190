"""Rows of many alignments over the words of one lattice.

:mod:`.rows` reads any automaton, from tables that are built arc by arc. Minimum-risk decoding
reads a lattice against a hundred sentences, and building a hundred tables would cost more than
reading. Here the shape of :class:`Alignment` is known: the columns of all sentences are made in
one pass, and a step of a row is a shift, a few matches and two running maxima.

Rows have the same normal form as there: closed under epsilon arcs, without states that a rule
of ``Automaton.dominated`` calls useless, and with 0 for the largest gain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lattices.arrays import Array, IntColumn, column, inlined, ints, kernel
from lattices.engines.automata import Alignment
from lattices.engines.rows import row_hash
from lattices.errors import OptionError

#: gains whose sums stay below this are kept in 32 bits
_SMALL = 2.0**29
#: gains whose sums stay below this are kept in 64 bits
_LARGE = 2.0**60


class AlignmentColumns(NamedTuple):
    """Several alignments of one order and with the same costs, as the kernels read them.

    Words are numbered 0.. as in the column that they were made for. A word has a class in each
    alignment, 0 if it matches nowhere; ``head[e, c]`` is the first possible match of class
    ``c`` in alignment ``e``, ``follow`` the one after each, -1 at the end. Cell ``(i, m)`` of a
    row stands at ``m * width + i``.

    ``lead[t, m, s]`` is how much more than a run of ``s`` a run of ``m`` can earn with ``t``
    more words of the reference.
    """

    length: IntColumn
    order: int
    width: int
    insertion: Any
    deletion: Any
    word_class: Array
    head: Array
    follow: IntColumn
    position: IntColumn
    weight: Array
    lead: Array


class RowStore(NamedTuple):
    """Rows, each once: what they are and where they lead.

    ``target[row, class]`` is the row after a word of that class, -1 while it is not known, and
    ``gained`` what the step gains; ``owner`` is the alignment a row belongs to; ``table`` the
    hash table of all rows.
    """

    pool: Array
    owner: Array
    target: Array
    gained: Array
    table: Array


def alignment_columns(
    alignments: Sequence[Alignment], words: IntColumn, steps: int
) -> AlignmentColumns:
    """Return the columns of alignments over some words.

    Parameters
    ----------
    alignments : sequence of Alignment
        All of one order, with the same costs and the same heaviest match.
    words : int32 column
        Numbers of the vocabulary, ascending: the words that will be read.
    steps : int
        How many words a sentence may have; decides how wide the integers are.

    Raises
    ------
    OptionError
        If gains are no whole numbers, or if they might overflow.
    """
    first = alignments[0]
    order, insertion, deletion = first.order, first.insertion, first.deletion
    offset = np.cumsum([0, *(len(each.word) for each in alignments)])
    word = np.concatenate([each.word for each in alignments])
    position = np.concatenate([each.position for each in alignments])
    weight = np.concatenate([each.weight for each in alignments])
    whole = np.array([insertion, deletion, first.heaviest])
    if (whole != np.rint(whole)).any() or (weight != np.rint(weight)).any():
        raise OptionError("rows need gains that are whole numbers")
    length = np.array([each.length for each in alignments])
    lead = _leads(order, first.heaviest)
    largest = first.largest_gain * (steps + int(length.max()) + 2) + float(lead.max())
    if largest >= _LARGE:
        raise OptionError(f"gains up to {largest:g} units are too large for rows")
    dtype = np.dtype(np.int32 if largest < _SMALL else np.int64)
    place = np.minimum(np.searchsorted(words, word), max(0, len(words) - 1))
    known = words[place] == word if len(words) else np.zeros(len(word), np.bool_)
    place = np.where(known, place, -1)
    word_class, head, follow = _classes(ints(place), ints(offset), len(words))
    return AlignmentColumns(
        ints(length), order, int(length.max()) + 1, dtype.type(insertion), dtype.type(deletion),
        column(word_class, np.int32), column(head, np.int32), ints(follow), ints(position),
        column(weight, dtype), column(lead, dtype),
    )  # fmt: skip


def _leads(order: int, heaviest: float) -> Array:
    ahead = np.arange(1, order + 1)
    earned = np.minimum(np.arange(order)[:, None] + ahead, order).cumsum(axis=1)
    earned = np.concatenate([np.zeros((order, 1)), earned], axis=1).T * heaviest
    leads: Array = earned[:, :, None] - earned[:, None, :]
    return leads


@kernel
def _classes(word, offset, words):  # type: ignore[no-untyped-def]
    """Return the class of each word in each alignment, and the matches of each class as chains."""
    alignments = len(offset) - 1
    word_class = np.zeros((alignments, words), np.int32)
    most = 0
    for alignment in range(alignments):
        classes = 0
        for entry in range(offset[alignment], offset[alignment + 1]):
            if word[entry] >= 0 and word_class[alignment, word[entry]] == 0:
                classes += 1
                word_class[alignment, word[entry]] = classes
        most = max(most, classes)
    head = np.full((alignments, most + 1), -1, np.int32)
    follow = np.full(len(word), -1, np.int32)
    for alignment in range(alignments):
        for entry in range(offset[alignment + 1] - 1, offset[alignment] - 1, -1):
            if word[entry] >= 0:
                number = word_class[alignment, word[entry]]
                follow[entry] = head[alignment, number]
                head[alignment, number] = entry
    return word_class, head, follow


@inlined
def absent_of(alignments):  # type: ignore[no-untyped-def]
    """Return what stands for minus infinity in the rows of these alignments."""
    return alignments.weight.dtype.type(-(2**30) if alignments.weight.itemsize == 4 else -(2**62))


@inlined
def close_alignment_row(row, number, alignments, absent):  # type: ignore[no-untyped-def]
    """Close a row under forgetting and deletions, drop what is dominated; return the maximum."""
    order, width = alignments.order, alignments.width
    length = alignments.length[number]
    top = absent
    for place in range(length + 1):
        best = row[place]
        for run in range(1, order):
            best = max(best, row[run * width + place])
        row[place] = best
        if place < length and best > absent:
            row[place + 1] = max(row[place + 1], best - alignments.deletion)
        top = max(top, best)
    for place in range(length + 1):
        ahead = min(order, length - place)
        for run in range(1, order):
            gain = row[run * width + place]
            if gain == absent:
                continue
            useless = False
            for longer in range(run + 1, order):
                useless |= gain <= row[longer * width + place]
            for shorter in range(run):
                rival = row[shorter * width + place]
                if rival > absent:
                    useless |= gain + alignments.lead[ahead, run, shorter] <= rival
            if useless:
                row[run * width + place] = absent
    for cell in range(len(row)):
        if row[cell] > absent:
            row[cell] -= top
    return top


@inlined
def step_alignment_row(row, number, word_class, alignments, absent, result):  # type: ignore[no-untyped-def]
    """Read a word into ``result``; return what the step gains."""
    order, width = alignments.order, alignments.width
    length = alignments.length[number]
    result[:] = absent
    before = absent
    for place in range(length + 1):
        here = row[place]
        gain = before
        if here > absent:
            gain = max(gain, here - alignments.insertion)
        result[place] = gain
        before = here
    entry = alignments.head[number, word_class] if word_class > 0 else -1
    while entry >= 0:
        place = alignments.position[entry]
        for run in range(order):
            gain = row[run * width + place]
            if gain > absent:
                gain += (run + 1) * alignments.weight[entry]
                there = min(run + 1, order - 1) * width + place + 1
                result[there] = max(result[there], gain)
        entry = alignments.follow[entry]
    return close_alignment_row(result, number, alignments, absent)


@inlined
def ending_of(row, number, alignments):  # type: ignore[no-untyped-def]
    """Return the gain of ending with this row."""
    return row[alignments.length[number]]


@inlined
def opening_row(number, alignments, absent, row):  # type: ignore[no-untyped-def]
    """Write the row before the first word; return its gain."""
    row[:] = absent
    row[0] = 0
    return close_alignment_row(row, number, alignments, absent)


@inlined
def row_slot(row, number, store):  # type: ignore[no-untyped-def]
    """Return the place of a row in the hash table: that of the equal row, or an empty one."""
    mask = np.uint64(len(store.table) - 1)
    mixed = row_hash(row) + np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    place = (mixed ^ (mixed >> np.uint64(31))) & mask
    while store.table[place] >= 0:
        other = store.table[place]
        if store.owner[other] == number:
            equal = True
            for cell in range(len(row)):
                if row[cell] != store.pool[other, cell]:
                    equal = False
                    break
            if equal:
                break
        place = (place + np.uint64(1)) & mask
    return place


@kernel
def new_store(alignments, room):  # type: ignore[no-untyped-def]
    """Return an empty store; ``room`` is a power of two."""
    cells = alignments.order * alignments.width
    classes = alignments.head.shape[1]
    dtype = alignments.weight.dtype
    return RowStore(
        np.empty((room, cells), dtype), np.empty(room, np.int32),
        np.full((room, classes), -1, np.int32), np.empty((room, classes), dtype),
        np.full(4 * room, -1, np.int32),
    )  # fmt: skip


@kernel
def with_room(store, rows):  # type: ignore[no-untyped-def]
    """Return a store of twice the size with the same rows."""
    room, cells = store.pool.shape
    classes = store.target.shape[1]
    larger = RowStore(
        np.empty((2 * room, cells), store.pool.dtype), np.empty(2 * room, np.int32),
        np.full((2 * room, classes), -1, np.int32),
        np.empty((2 * room, classes), store.gained.dtype),
        np.full(2 * len(store.table), -1, np.int32),
    )  # fmt: skip
    larger.pool[:room] = store.pool
    larger.owner[:room] = store.owner
    larger.target[:room] = store.target
    larger.gained[:room] = store.gained
    for row in range(rows):
        larger.table[row_slot(store.pool[row], store.owner[row], larger)] = row
    return larger


@inlined
def intern_last(number, store, rows):  # type: ignore[no-untyped-def]
    """Return the number of the row that stands at ``rows`` in the pool, and the rows there are."""
    slot = row_slot(store.pool[rows], number, store)
    found = store.table[slot]
    if found < 0:
        found = rows
        store.owner[rows] = number
        store.table[slot] = rows
        rows += 1
    return found, rows


@kernel
def intern_opening(number, alignments, absent, store, rows):  # type: ignore[no-untyped-def]
    """Put the row before the first word into the store; return its number, gain and the rows.

    There must be room for one more row, as for :func:`learn_alignment_step`.
    """
    gain = opening_row(number, alignments, absent, store.pool[rows])
    found, rows = intern_last(number, store, rows)
    return found, gain, rows


@kernel
def learn_alignment_step(row, word_class, alignments, absent, store, rows):  # type: ignore[no-untyped-def]
    """Find out where a row leads by a class of words; return the number of rows.

    The store does not grow here: loops that give their arrays new names spend most of their
    time counting references.
    """
    number = store.owner[row]
    gained = step_alignment_row(
        store.pool[row], number, word_class, alignments, absent, store.pool[rows]
    )
    found, rows = intern_last(number, store, rows)
    store.target[row, word_class] = found
    store.gained[row, word_class] = gained
    return rows
