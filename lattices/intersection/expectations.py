"""Expectations of many alignments over all paths of a lattice, or over weighted sentences.

A candidate's automaton reads the evidence by rows (:mod:`.rows`): paths that meet in a state with
equal rows have the same future, so that one pass over the pairs of a state and a row settles the
mean and the variance of what they are worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lattices import _native
from lattices._native import AlignmentSet, LengthGraph
from lattices.algorithms.paths import explain_no_path
from lattices.algorithms.posteriors import outside
from lattices.algorithms.semirings import LOG
from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError
from lattices.intersection.automata import Alignment, list_columns
from lattices.intersection.engine import name_space_in_errors
from lattices.limits import MEMORY, Limits
from lattices.spaces import Lattice


class Expectations(NamedTuple):
    """What was found out about each alignment."""

    # of the value over all paths; ``nan`` where the budget did not suffice
    mean: FloatColumn
    variance: FloatColumn
    lost: FloatColumn  # the probability of the paths that were not followed to their end
    # how many pairs of a state and a row there were, -1 where they were not all looked at
    pairs: IntColumn


def length_graph(lattice: Lattice, scale: float = 1.0, *, memory: int = MEMORY) -> LengthGraph:
    """Return a lattice with its states split by the number of words behind them.

    All that end in one state have one denominator. Cost: O(arcs x lengths of prefixes).
    """
    backward = outside(lattice, LOG, scale)
    if backward[lattice.start] == -np.inf:
        raise explain_no_path(lattice)
    with name_space_in_errors(lattice):
        return _native.length_graph(lattice.columns, scale, backward, min(memory, 2**62))


def list_graph(label: IntColumn, offset: IntColumn, weight: FloatColumn) -> LengthGraph:
    """Return the prefix tree of weighted sentences ``label[offset[i]:offset[i + 1]]``.

    Weights of a sentence that comes several times are added. Cost: O(words).
    """
    return _native.list_graph(ints(label), ints(offset), floats(weight))


def alignment_set(alignments: Sequence[Alignment], words: IntColumn, steps: int) -> AlignmentSet:
    """Return alignments ready to be read by rows over some words."""
    first = alignments[0]
    order, heaviest = first.order, first.heaviest
    weight = np.concatenate([each.weight for each in alignments])
    whole = np.array([first.insertion, first.deletion, heaviest])
    if (whole != np.rint(whole)).any() or (weight != np.rint(weight)).any():
        raise OptionError("rows need gains that are whole numbers")
    length = [each.length for each in alignments]
    # what the longest run can earn more than none with the next words
    lead = heaviest * order * (order - 1) / 2
    largest = first.largest_gain * (steps + max(length) + 2) + lead
    return AlignmentSet(list_columns(alignments), ints(words), largest)


def expectations(
    graph: LengthGraph,
    alignments: Sequence[Alignment],
    constant: FloatColumn,
    factor: FloatColumn,
    limits: Limits,
    negligible: float = 0.0,
) -> Expectations:
    """Return mean and variance of ``constant[l] + factor[l] * gain`` of paths of ``l`` words.

    Cost of each alignment: O(pairs x arcs into a state), O(order x length) for a new row.
    """
    if not alignments:
        return Expectations(floats([]), floats([]), floats([]), ints([]))
    columns = alignment_set(alignments, graph.words, graph.longest)
    return Expectations(
        *_native.value_moments(
            graph,
            columns,
            floats(constant),
            floats(factor),
            limits.budget,
            min(limits.memory, 2**62),
            negligible,
        )
    )
