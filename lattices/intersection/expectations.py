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
from lattices.algorithms.paths import no_complete_path
from lattices.algorithms.posteriors import outside
from lattices.algorithms.semirings import LOG
from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError
from lattices.intersection.automata import Alignment, list_columns
from lattices.intersection.engine import sized
from lattices.limits import MEMORY
from lattices.spaces import Lattice


class Expectations(NamedTuple):
    """What was found out about each alignment.

    Attributes
    ----------
    mean, variance : float64 columns
        Of the value over all paths; ``nan`` where the budget did not suffice.
    lost : float64 column
        The probability of the paths that were not followed to their end.
    pairs : int32 column
        How many pairs of a state and a row there were, -1 where they were not all looked at.
    """

    mean: FloatColumn
    variance: FloatColumn
    lost: FloatColumn
    pairs: IntColumn


def length_graph(lattice: Lattice, scale: float = 1.0, *, memory: int = MEMORY) -> LengthGraph:
    """Return a lattice with its states split by the number of words behind them.

    A path is taken in proportion to ``exp(scale * score)``. Metrics divide by the length of the
    sentence that plays the reference, and a quotient does not decompose over arcs; here all that
    end in one state have one denominator. Cost: O(arcs x lengths of the prefixes of a state).

    Raises
    ------
    SpaceError
        If the lattice has no complete path.
    TooLargeError
        If that takes more than ``memory`` bytes.
    """
    backward = outside(lattice, LOG, scale)
    if backward[lattice.start] == -np.inf:
        raise no_complete_path(lattice)
    with sized(lattice):
        return _native.length_graph(lattice.columns, scale, backward, min(memory, 2**62))


def list_graph(label: IntColumn, offset: IntColumn, weight: FloatColumn) -> LengthGraph:
    """Return the prefix tree of weighted sentences ``label[offset[i]:offset[i + 1]]``.

    Sentences may come several times; their weights, not negative and not all zero, are added.
    Cost: O(words).

    Examples
    --------
    >>> graph = list_graph(ints([1, 2, 1]), ints([0, 2, 3]), floats([1.0, 3.0]))
    >>> graph.taken.tolist(), graph.stop.tolist(), graph.length.tolist()
    ([1.0, 0.25], [0.0, 0.75, 1.0], [0, 1, 2])
    """
    return _native.list_graph(ints(label), ints(offset), floats(weight))


def alignment_set(alignments: Sequence[Alignment], words: IntColumn, steps: int) -> AlignmentSet:
    """Return alignments ready to be read by rows over some words.

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
    budget: int,
    negligible: float = 0.0,
    *,
    memory: int = MEMORY,
) -> Expectations:
    """Return mean and variance of a value under each of several alignments, over all paths.

    A path of ``l`` words that gains ``g`` units is worth ``constant[l] + factor[l] * g``.
    Cost for each alignment: O(pairs x arcs into a state), and O(order x length) for each new
    pair of a row and a word class.

    Parameters
    ----------
    graph : LengthGraph
    alignments : sequence of Alignment
        All of one order, with the same costs; words are numbers of the lattice's vocabulary.
    constant, factor : float64 columns
        One entry for each length from 0 to ``graph.longest``.
    budget : int
        The most pairs of a state and a row for one alignment. The first that has more, or whose
        rows take more than ``memory`` bytes, ends the work: the others are likely to need as much.
    negligible : float
        Prefixes of one state and row that have less probability together are not followed.

    Examples
    --------
    How many words of "a b" a lattice gets right, on average:

    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "c"), (1, 2, "b")], finals=[2])
    >>> word, position = lattice.vocabulary.encode(["a", "b"]), np.arange(2)
    >>> alignment = Alignment(2, 1, 0.0, 0.0, word, position, np.ones(2), 1.0)
    >>> found = expectations(length_graph(lattice), [alignment], np.zeros(3), np.ones(3), 100)
    >>> found.mean.tolist(), found.variance.tolist()
    ([1.5], [0.25])
    """
    if not alignments:
        return Expectations(floats([]), floats([]), floats([]), ints([]))
    columns = alignment_set(alignments, graph.words, graph.longest)
    return Expectations(
        *_native.value_moments(
            graph, columns, floats(constant), floats(factor), budget, min(memory, 2**62), negligible
        )
    )
