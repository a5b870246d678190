"""N-grams in a trie: each is known by the n-gram without its last word, and by that word.

Every n-gram also knows its suffix, the n-gram without its first word, which is in the trie too.
All n-grams that end where one ends are therefore found by following suffixes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lattices.arrays import IntColumn, column, inlined, ints, kernel

#: the columns of a row; row 0 is the empty n-gram
PREFIX, WORD, SUFFIX, LENGTH = 0, 1, 2, 3
EMPTY = 0


class Ngrams(NamedTuple):
    """N-grams as rows of (prefix, word, suffix, length), and the table that finds them.

    Row 0 is the empty n-gram. The prefix of a row stands before it, and so does its suffix or
    else right after it; ``table`` hashes (prefix, word) to rows.
    """

    row: IntColumn
    table: IntColumn

    @classmethod
    def of(cls, row: IntColumn, table: IntColumn) -> Ngrams:
        """Return n-grams of what a kernel has made, read-only."""
        return cls(ints(row), ints(table))

    @property
    def length(self) -> IntColumn:
        """How many words each n-gram has."""
        return ints(self.row[:, LENGTH])

    def matrix(self, order: int) -> IntColumn:
        """Return the words of each n-gram, a row each, zeros after the last."""
        return ints(_spelt(self.row, order))

    def rows_in(self, others: Ngrams, words: IntColumn) -> IntColumn:
        """Return the row that each n-gram has among others, or -1.

        ``words`` gives, for each number of a word here, its number there, -1 for none.
        """
        return ints(_matched(self.row, others.row, others.table, words))


@inlined
def _slot(table, row, prefix, word):  # type: ignore[no-untyped-def]
    """Return where the table holds an n-gram, or the free slot for it."""
    mixed = prefix * 6364136223846793005 + word * 2862933555777941757
    slot = (mixed ^ (mixed >> 29)) & (len(table) - 1)
    while table[slot] >= 0 and not (
        row[table[slot], PREFIX] == prefix and row[table[slot], WORD] == word
    ):
        slot = (slot + 1) & (len(table) - 1)
    return slot


@kernel
def new_trie(room):  # type: ignore[no-untyped-def]
    """Return the rows and the table of a trie with the empty n-gram, and room for others."""
    size = 16
    while size < room:
        size *= 2
    row = np.zeros((size, 4), np.int32)
    return row, np.full(2 * size, -1, np.int32)


@kernel
def grown_trie(row, table):  # type: ignore[no-untyped-def]
    """Return the same trie with twice the room."""
    larger = np.zeros((2 * len(row), 4), np.int32)
    larger[: len(row)] = row
    wider = np.full(2 * len(table), -1, np.int32)
    for found in table:
        if found >= 0:
            slot = _slot(wider, larger, np.int64(larger[found, PREFIX]), larger[found, WORD])
            wider[slot] = found
    return larger, wider


@kernel
def extended(row, table, count, context, word):  # type: ignore[no-untyped-def]
    """Return the n-gram of a context and a word, and how many n-grams there are now.

    It and its suffixes are added where they are new: there must be room for all of them.
    """
    first = before = -1
    prefix = np.int64(context)
    while True:
        slot = _slot(table, row, prefix, word)
        gram = table[slot]
        fresh = gram < 0
        if fresh:
            gram = np.int32(count)
            count += 1
            table[slot] = gram
            row[gram, PREFIX], row[gram, WORD] = prefix, word
            row[gram, SUFFIX], row[gram, LENGTH] = EMPTY, row[prefix, LENGTH] + 1
        if before >= 0:
            row[before, SUFFIX] = gram
        else:
            first = gram
        if not fresh or prefix == EMPTY:
            return first, count
        before = gram
        prefix = np.int64(row[prefix, SUFFIX])


@kernel
def _spelt(row, order):  # type: ignore[no-untyped-def]
    words = np.zeros((len(row), order), np.int32)
    for gram in range(1, len(row)):
        length = row[gram, LENGTH]
        words[gram, : length - 1] = words[row[gram, PREFIX], : length - 1]
        words[gram, length - 1] = row[gram, WORD]
    return words


@kernel
def _matched(row, other_row, other_table, words):  # type: ignore[no-untyped-def]
    match = np.full(len(row), -1, np.int32)
    match[0] = 0
    for gram in range(1, len(row)):
        prefix, word = match[row[gram, PREFIX]], words[row[gram, WORD]]
        if prefix >= 0 and word >= 0:
            match[gram] = other_table[_slot(other_table, other_row, np.int64(prefix), word)]
    return match


@kernel
def chain_sums(row, value):  # type: ignore[no-untyped-def]
    """Return, for each n-gram, the sum of the values of it and of all its suffixes."""
    total = np.empty(len(row))
    total[0] = 0.0
    done = np.zeros(len(row), np.bool_)
    done[0] = True
    stack = np.empty(64, np.int64)
    for start in range(1, len(row)):
        depth, gram = 0, start
        while not done[gram]:
            stack[depth] = gram
            depth += 1
            gram = row[gram, SUFFIX]
        while depth > 0:
            depth -= 1
            gram = stack[depth]
            total[gram] = value[gram] + total[row[gram, SUFFIX]]
            done[gram] = True
    return total


def word_numbers(words: dict[int, int], size: int) -> IntColumn:
    """Return a column of ``size`` numbers of words elsewhere, -1 where there is none."""
    numbers = np.full(size, -1, np.int32)
    for here, there in words.items():
        numbers[here] = there
    return column(numbers, np.int32)
