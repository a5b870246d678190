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

from lattices import _native
from lattices.engines.automata import Automaton
from lattices.engines.row_units import fitting, largest_total
from lattices.errors import OptionError

#: bytes that the rows of one search, its pairs and their arcs may take
MEMORY = 2 * 10**9
#: gains whose sums stay below this are kept in 32 bits
_SMALL = 2.0**26


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
        self.native = _native.RowTables(self.automaton.row_columns, small)
