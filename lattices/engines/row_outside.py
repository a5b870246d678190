"""The best that can still be gained: completions of alignments, from every state of a lattice.

For one alignment the best completion is exact: a maximum over suffixes of a maximum over
alignments is one maximum. For a weighted sum of several it is a bound, since each may want
another suffix; never too low, which is what a search over prefixes needs.
"""

from __future__ import annotations

import numpy as np

from lattices.arrays import Array, kernel
from lattices.engines.row_alignments import AlignmentColumns, absent_of
from lattices.spaces import Lattice


@kernel
def _completions(alignments, alive, final, dst, out_offset, arc_word, result):  # type: ignore[no-untyped-def]
    """Write ``result[state, e, cell]``: the best gain from the cell of alignment e to the end.

    As in the forward pass, all words cost the same as substitutions and insertions, so these
    are applied once a state, to the maximum over the arcs that have a word.
    """
    absent = absent_of(alignments)
    order, width = alignments.order, alignments.width
    onward = np.empty(width, result.dtype)
    result[:] = absent
    for state in range(len(alive) - 1, -1, -1):
        if not alive[state]:
            continue
        for number in range(len(alignments.length)):
            length = alignments.length[number]
            here = result[state, number]
            onward[:] = absent
            if final[state] > -np.inf:
                here[length] = 0
            for arc in range(out_offset[state], out_offset[state + 1]):
                if not alive[dst[arc]]:
                    continue
                there = result[dst[arc], number]
                if arc_word[arc] < 0:
                    for cell in range(len(here)):
                        here[cell] = max(here[cell], there[cell])
                    continue
                for place in range(length + 1):
                    onward[place] = max(onward[place], there[place])
                word_class = alignments.word_class[number, arc_word[arc]]
                entry = alignments.head[number, word_class] if word_class > 0 else -1
                while entry >= 0:
                    place = alignments.position[entry]
                    for run in range(order):
                        after = there[min(run + 1, order - 1) * width + place + 1]
                        if after > absent:
                            cell = run * width + place
                            gain = after + (run + 1) * alignments.weight[entry]
                            here[cell] = max(here[cell], gain)
                    entry = alignments.follow[entry]
            for place in range(length, -1, -1):
                best = here[place]
                if onward[place] > absent:
                    best = max(best, onward[place] - alignments.insertion)
                if place < length:
                    best = max(best, onward[place + 1])
                    if here[place + 1] > absent:
                        best = max(best, here[place + 1] - alignments.deletion)
                here[place] = best
                for run in range(1, order):
                    cell = run * width + place
                    here[cell] = max(here[cell], best)


def completions(
    lattice: Lattice, alignments: AlignmentColumns, arc_word: Array, alive: Array
) -> Array:
    """Return the best gain of every alignment from every lattice state and cell of a row.

    Parameters
    ----------
    lattice : Lattice
    alignments : AlignmentColumns
    arc_word : int32 column, one entry an arc
        The place of the word among those that the alignments were made for, -1 for epsilon.
    alive : bool, one entry a state
        Whether the state lies on a complete path.

    Returns
    -------
    int array of shape (states, alignments, order x width)
        What stands for minus infinity where nothing can follow. Cost: O(arcs x width) for
        each alignment, in time and, but for the arcs, in space.
    """
    shape = (lattice.num_states, len(alignments.length), alignments.order * alignments.width)
    result = np.empty(shape, alignments.weight.dtype)
    _completions(
        alignments, alive, lattice.final, lattice.dst, lattice.out_offset, arc_word, result
    )
    return result


@kernel
def best_completion(row, onward, absent):  # type: ignore[no-untyped-def]
    """Return the best gain of finishing from a row; ``onward`` is that of each of its cells."""
    best = absent
    for cell in range(len(row)):
        if row[cell] > absent and onward[cell] > absent:
            best = max(best, row[cell] + onward[cell])
    return best
