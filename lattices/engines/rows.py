"""Rows: an automaton made deterministic as it is read.

An automaton of a metric is nondeterministic: a sentence has many alignments, and its value
is the best of them. That is harmless while sentences are maximised over, too. The worst
sentence, the k best sentences and expectations need one value for each sentence. The row of
a prefix, the best gain with which each state is reached, settles that: it is a function of
the prefix, and the value of the whole sentence a function of its last row.

Rows are kept in a normal form: the largest gain is taken out and added to the arc, and
states that no suffix can bring back to the lead are dropped (``Automaton.dominated``). Equal
rows are then one row, transitions are looked up, and the pairs of a lattice state and a row
are the states of a lattice again, on which a path is a sentence with its one value.

Gains are whole numbers, so equal rows are equal. Where their sums might not fit, they are whole
numbers of a coarser unit (:mod:`.row_units`).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from lattices import _native
from lattices.arrays import Array, IntColumn, column, ints, kernel
from lattices.engines.automata import ANY, Automaton
from lattices.engines.row_units import fitting, largest_total
from lattices.errors import OptionError
from lattices.vocabulary import Vocabulary

#: bytes that the rows of one search, its pairs and their arcs may take
MEMORY = 2 * 10**9
#: gains whose sums stay below this are kept in 32 bits
_SMALL = 2.0**26


class RowTables(NamedTuple):
    """The automaton as the kernels read it; gains are integers, ``absent`` is minus infinity."""

    initial: Array
    final: Array
    any_src: IntColumn
    any_dst: IntColumn
    any_gain: Array
    class_offset: IntColumn
    class_src: IntColumn
    class_dst: IntColumn
    class_gain: Array
    silent_src: IntColumn
    silent_dst: IntColumn
    silent_gain: Array
    forgotten: IntColumn
    kept: IntColumn
    lead: Array


class RowMachine:
    """The deterministic reading of an automaton.

    Parameters
    ----------
    automaton : Automaton
        Gains are whole numbers.
    steps : int
        How many words a sentence may have; decides how wide the integers are.

    Attributes
    ----------
    automaton : Automaton
        The one that is read: the given one, or that in a coarser unit.
    unit : float
        What one unit of gain of the rows is in units of the given automaton: 1 but where totals
        would grow too large, a power of two there.
    dtype : dtype
        Of the gains in rows.
    native : RowTables
        The handle that native searches take.

    Examples
    --------
    >>> automaton = Automaton([0], [0], [3], [2.0**40], [0.0], [0.0])
    >>> RowMachine(automaton, 100).unit, RowMachine(automaton, 2**20).unit
    (1.0, 512.0)
    """

    def __init__(self, automaton: Automaton, steps: int) -> None:
        if not automaton.row_columns.has_whole_gains():
            raise OptionError("rows need gains that are whole numbers")
        self.automaton, self.unit = fitting(automaton, steps)
        small = largest_total(self.automaton, steps) < _SMALL
        self.dtype = np.dtype(np.int32 if small else np.int64)
        self.native = _native.RowTables(self.automaton.row_columns, small)

    @cached_property
    def words(self) -> IntColumn:
        """The words that some arc reads; each is a class, numbered from 1. All others are 0."""
        labels = self.automaton.label
        return ints(np.unique(labels[labels > 0]))

    def classes(self, vocabulary: Vocabulary) -> IntColumn:
        """Return the class of every number of a vocabulary."""
        result = np.zeros(len(vocabulary), np.int32)
        result[self.words] = np.arange(1, len(self.words) + 1)
        return ints(result)

    @cached_property
    def tables(self) -> RowTables:
        """The columns for the kernels."""
        automaton = self.automaton
        anything = np.flatnonzero(automaton.label == ANY)
        silent = np.flatnonzero(automaton.label == 0)
        place = np.empty(automaton.num_states, np.int64)
        place[automaton.order] = np.arange(automaton.num_states)
        silent = silent[np.argsort(place[automaton.src[silent]], kind="stable")]
        spoken = np.flatnonzero(automaton.label > 0)
        spoken = spoken[np.argsort(automaton.label[spoken], kind="stable")]
        offset = np.searchsorted(automaton.label[spoken], np.append(self.words, 2**31 - 1))
        forgotten, kept, lead = automaton.dominated
        # grouped by the state that is forgotten; the order within a group stays
        rules = np.argsort(forgotten, kind="stable")
        return RowTables(
            self._gains(automaton.initial),
            self._gains(automaton.final),
            *self._arcs(anything),
            # class 0, the other words, reads nothing but ANY
            ints(np.append(0, offset)),
            *self._arcs(spoken),
            *self._arcs(silent),
            ints(forgotten[rules]),
            ints(kept[rules]),
            self._gains(lead[rules]),
        )

    def _gains(self, gains: Array) -> Array:
        absent = absent_gain(self.dtype)
        return column(np.where(gains == -np.inf, absent, np.maximum(gains, absent)), self.dtype)

    def _arcs(self, arcs: Array) -> tuple[IntColumn, IntColumn, Array]:
        automaton = self.automaton
        return (
            ints(automaton.src[arcs]),
            ints(automaton.dst[arcs]),
            self._gains(automaton.gain[arcs]),
        )


def absent_gain(dtype: np.dtype[Any]) -> int:
    """Return what stands for minus infinity; twice that does not overflow."""
    return int(np.iinfo(dtype).min // 2)


@kernel
def close_row(row, absent, tables):  # type: ignore[no-untyped-def]
    """Close a row under epsilon arcs, drop what is dominated, normalise; return the maximum."""
    for arc in range(len(tables.silent_src)):
        gain = row[tables.silent_src[arc]]
        if gain > absent:
            gain += tables.silent_gain[arc]
            if gain > row[tables.silent_dst[arc]]:
                row[tables.silent_dst[arc]] = gain
    for rule in range(len(tables.forgotten)):
        gain = row[tables.forgotten[rule]]
        if gain > absent and gain + tables.lead[rule] <= row[tables.kept[rule]]:
            row[tables.forgotten[rule]] = absent
    top = absent
    for place in range(len(row)):
        top = max(top, row[place])
    if top > absent:
        for place in range(len(row)):
            if row[place] > absent:
                row[place] -= top
    return top


@kernel
def step_row(row, word_class, absent, tables, result):  # type: ignore[no-untyped-def]
    """Read a word of ``word_class`` from ``row`` into ``result``; return what the arc gains."""
    result[:] = absent
    for arc in range(len(tables.any_src)):
        gain = row[tables.any_src[arc]]
        if gain > absent:
            gain += tables.any_gain[arc]
            if gain > result[tables.any_dst[arc]]:
                result[tables.any_dst[arc]] = gain
    for arc in range(tables.class_offset[word_class], tables.class_offset[word_class + 1]):
        gain = row[tables.class_src[arc]]
        if gain > absent:
            gain += tables.class_gain[arc]
            if gain > result[tables.class_dst[arc]]:
                result[tables.class_dst[arc]] = gain
    return close_row(result, absent, tables)


@kernel
def ending_gain(row, absent, tables):  # type: ignore[no-untyped-def]
    """Return the best gain of ending with this row."""
    best = absent
    for place in range(len(row)):
        if row[place] > absent and tables.final[place] > absent:
            best = max(best, row[place] + tables.final[place])
    return best


@kernel
def row_hash(row):  # type: ignore[no-untyped-def]
    """Return a hash of a row's gains."""
    value = np.uint64(1469598103934665603)
    for place in range(len(row)):
        value = (value ^ np.uint64(row[place])) * np.uint64(1099511628211)
        value ^= value >> np.uint64(29)
    return value


@kernel
def grown(array, fill):  # type: ignore[no-untyped-def]
    """Return the array with twice the room in its first dimension."""
    result = np.full((2 * array.shape[0], *array.shape[1:]), fill, array.dtype)
    result[: array.shape[0]] = array
    return result
