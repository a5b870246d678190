"""How large the sums of gains may grow, and a coarser unit for those that would grow too large.

Rows are integers, and sums of gains are kept in double precision around them. Both are exact
as long as no total reaches 2**52. Where one might, the automaton is put on a coarser grid.
"""

from __future__ import annotations

import math

import numpy as np

from lattices.arrays import floats
from lattices.engines.automata import Automaton

#: totals stay below this: whole numbers in double precision, and far from the end of 64 bits
WIDEST = 2.0**52


def largest_total(automaton: Automaton, steps: int) -> float:
    """Return a bound of what any alignment of a sentence of up to ``steps`` words gains or loses.

    An arc that reads a word counts once for each word. An epsilon arc counts once if it lies on
    no cycle, as a deletion of a reference word, and otherwise once before each word and at the
    end.

    Examples
    --------
    >>> from lattices.engines.automata import Alignment
    >>> word, position = np.arange(1, 3), np.arange(2)
    >>> wer = Alignment(2, 1, 1.0, 1.0, word, position, np.ones(2), 1.0)
    >>> largest_total(wer.automaton, 10)
    12.0
    """
    return automaton.row_columns.largest_total(steps)


def fitting(automaton: Automaton, steps: int) -> tuple[Automaton, float]:
    """Return the automaton in a unit in which every total is below 2**52, and that unit.

    The unit is 1 wherever the gains fit as they are, and otherwise the least power of two that
    makes them fit. Gains are then rounded to the nearest: each is wrong by at most half a
    unit, which is less than 2**-51 of the largest total, and sentences whose values differ by
    less than the sum of these may change places.

    Parameters
    ----------
    automaton : Automaton
    steps : int
        How many words a sentence may have.

    Examples
    --------
    >>> automaton = Automaton([0], [0], [3], [2.0**40], [0.0], [0.0])
    >>> fitting(automaton, 100)[1], fitting(automaton, 2**20)[1]
    (1.0, 512.0)
    """
    total = largest_total(automaton, steps)
    if total < WIDEST:
        return automaton, 1.0
    # one bit more: rounding up must not reach the bound
    unit = 2.0 ** (math.floor(math.log2(total / WIDEST)) + 1)
    gain, initial, final = (
        floats(np.rint(each / unit))
        for each in (automaton.gain, automaton.initial, automaton.final)
    )
    forgotten, kept, lead = automaton.dominated
    # rounding may not make a state look more useless than it is
    rules = (forgotten, kept, floats(np.ceil(lead / unit)))
    coarse = Automaton(automaton.src, automaton.dst, automaton.label, gain, initial, final, rules)
    return coarse, unit
