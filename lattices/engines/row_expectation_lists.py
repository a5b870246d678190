"""What to expect of many alignments over all paths of one lattice.

The row of a prefix says what the prefix has earned, and how it stands. Paths that meet in a
state with equal rows have the same future, so it is enough to know how probable they are
together, and the first two moments of what they have earned. One pass over the pairs of a
state and a row settles an alignment; nothing is stored but the pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lattices.arrays import FloatColumn, IntColumn, floats, ints, kernel
from lattices.engines.automata import Alignment
from lattices.engines.row_alignments import (
    absent_of,
    alignment_columns,
    ending_of,
    intern_opening,
    learn_alignment_step,
    new_store,
    with_room,
)
from lattices.engines.row_expectation_graphs import LengthGraph
from lattices.engines.rows import grown

#: why a walk ended
_DONE, _BEYOND, _MORE_ROWS, _MORE_PAIRS = range(4)


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


@kernel
def _walk(  # type: ignore[no-untyped-def]
    state, pairs, rows, number, alignments, store, pair_of, pair_row, mass, first,
    in_offset, source, word, taken, stop, constant, factor, budget, negligible, sums,
):  # fmt: skip
    """Go on from a state as far as there is room; return why it ended, where, pairs and rows.

    The state that is returned has to be gone through again. ``sums`` collects the first two
    moments of the value, and the probability that was not followed.
    """
    absent = absent_of(alignments)
    pool, target, gained = store.pool, store.target, store.gained
    classes = alignments.word_class
    for here in range(state, len(stop)):
        begin = pairs
        first[here] = begin
        dropped = 0.0
        if here == 0:
            # the only state without a way in
            pair_row[0], pair_of[0] = 0, 0
            pairs = 1
        for arc in range(in_offset[here], in_offset[here + 1]):
            before, share = source[arc], taken[arc]
            word_class = -1 if word[arc] < 0 else classes[number, word[arc]]
            for pair in range(first[before], first[before + 1]):
                m0, m1, m2 = mass[pair, 0], mass[pair, 1], mass[pair, 2]
                if m0 < negligible:
                    dropped += share * m0
                    continue
                row = pair_row[pair]
                gain = 0.0
                if word_class >= 0:
                    if target[row, word_class] < 0:
                        if rows == len(pool):
                            return _MORE_ROWS, here, begin, rows
                        rows = learn_alignment_step(
                            row, word_class, alignments, absent, store, rows
                        )
                    gain = float(gained[row, word_class])
                    row = target[row, word_class]
                there = pair_of[row]
                # a row may remember a pair of an earlier state, or of an earlier attempt
                if there < begin or there >= pairs or pair_row[there] != row:
                    if pairs == budget:
                        return _BEYOND, here, begin, rows
                    if pairs == len(pair_row):
                        return _MORE_PAIRS, here, begin, rows
                    there = pairs
                    pair_row[pairs], pair_of[row] = row, pairs
                    mass[pairs, 0] = mass[pairs, 1] = mass[pairs, 2] = 0.0
                    pairs += 1
                mass[there, 0] += share * m0
                mass[there, 1] += share * (m1 + gain * m0)
                mass[there, 2] += share * (m2 + gain * (2.0 * m1 + gain * m0))
        sums[2] += dropped
        if stop[here] > 0.0:
            a, b = constant[here], factor[here]
            for pair in range(begin, pairs):
                gain = float(ending_of(pool[pair_row[pair]], number, alignments))
                m0, m1, m2 = mass[pair, 0], mass[pair, 1], mass[pair, 2]
                m2 += gain * (2.0 * m1 + gain * m0)
                m1 += gain * m0
                sums[0] += stop[here] * (a * m0 + b * m1)
                sums[1] += stop[here] * (a * a * m0 + b * (2.0 * a * m1 + b * m2))
        first[here + 1] = pairs
    return _DONE, len(stop), pairs, rows


@kernel
def _expectations(  # type: ignore[no-untyped-def]
    alignments, in_offset, source, word, taken, stop, constant, factor, budget,
    negligible, mean, variance, lost, needed,
):  # fmt: skip
    """Write mean, variance and number of pairs of every alignment.

    A path that ends in a state is worth ``constant + factor * gain``, both the state's own.
    The first alignment beyond the budget ends it.
    """
    store = new_store(alignments, 256)
    pair_of = np.full(len(store.pool), -1, np.int64)
    pair_row = np.empty(1024, np.int32)
    mass = np.empty((1024, 3), np.float64)
    first = np.zeros(len(stop) + 1, np.int64)
    sums = np.empty(3, np.float64)
    for number in range(len(alignments.length)):
        _, opening, rows = intern_opening(number, alignments, absent_of(alignments), store, 0)
        mass[0, 0], mass[0, 1], mass[0, 2] = 1.0, float(opening), float(opening) ** 2
        sums[:] = 0.0
        ended, state, pairs = _MORE_ROWS, 0, 0
        while True:
            ended, state, pairs, rows = _walk(
                state, pairs, rows, number, alignments, store, pair_of, pair_row, mass, first,
                in_offset, source, word, taken, stop, constant, factor, budget, negligible, sums,
            )  # fmt: skip
            if ended == _MORE_ROWS:
                store = with_room(store, rows)
                pair_of = grown(pair_of, -1)
            elif ended == _MORE_PAIRS:
                pair_row = grown(pair_row, 0)
                mass = grown(mass, 0.0)
            else:
                break
        if ended == _BEYOND:
            break
        # of what was not followed nothing better is known than the rest
        followed = max(1.0 - sums[2], 1e-300)
        one, two = sums[0] / followed, sums[1] / followed
        mean[number], variance[number] = one, max(0.0, two - one * one)
        lost[number], needed[number] = sums[2], pairs
        pair_of[:rows] = -1
        store.target[:rows] = -1
        store.table[:] = -1


def expectations(
    graph: LengthGraph,
    alignments: Sequence[Alignment],
    constant: FloatColumn,
    factor: FloatColumn,
    budget: int,
    negligible: float = 0.0,
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
        The most pairs of a state and a row for one alignment. The first that has more ends
        the work: the others are likely to have as many.
    negligible : float
        Prefixes of one state and row that have less probability together are not followed.

    Examples
    --------
    How many words of "a b" a lattice gets right, on average:

    >>> from lattices import Lattice
    >>> from lattices.engines.row_expectation_graphs import length_graph
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "c"), (1, 2, "b")], finals=[2])
    >>> word, position = lattice.vocabulary.encode(["a", "b"]), np.arange(2)
    >>> alignment = Alignment(2, 1, 0.0, 0.0, word, position, np.ones(2), 1.0)
    >>> found = expectations(length_graph(lattice), [alignment], np.zeros(3), np.ones(3), 100)
    >>> found.mean.tolist(), found.variance.tolist()
    ([1.5], [0.25])
    """
    count = len(alignments)
    mean, variance, lost = np.full(count, np.nan), np.full(count, np.nan), np.ones(count)
    pairs = np.full(count, -1, np.int32)
    if count:
        _expectations(
            alignment_columns(alignments, graph.words, graph.longest),
            graph.in_offset, graph.source, graph.word, graph.taken, graph.stop,
            floats(constant[graph.length]), floats(factor[graph.length]), budget, negligible,
            mean, variance, lost, pairs,
        )  # fmt: skip
    return Expectations(floats(mean), floats(variance), floats(lost), ints(pairs))
