"""Weighted sentences as a graph to walk, every step with its probability and its length.

The metrics divide by the length of the sentence that plays the reference, and a quotient does
not decompose over arcs. So states are split by the number of words behind them, and all that
end in one state have one denominator.

Arcs carry the probability of being taken once at their source. Sums over paths are then plain
probabilities, and what underflows is nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lattices.algorithms.inside_outside import outside
from lattices.algorithms.paths import no_complete_path
from lattices.arrays import FloatColumn, IntColumn, floats, ints, kernel
from lattices.semirings import LOG
from lattices.spaces import Lattice


class LengthGraph(NamedTuple):
    """A lattice whose states know how many words are behind them, ready to be walked.

    States are in topological order, the first one is the start. Arcs are grouped by target:
    those into ``q`` are ``in_offset[q]`` up to ``in_offset[q + 1]``.

    Attributes
    ----------
    words : int32 column
        The words that occur, numbers of the vocabulary, ascending.
    in_offset, source : int32 columns
    word : int32 column, one entry an arc
        The place of the word in :attr:`words`, -1 for epsilon.
    taken : float64 column, one entry an arc
        The probability of taking the arc once at its source.
    stop : float64 column, one entry a state
        The probability of ending once there.
    length : int32 column, one entry a state
        How many words are behind.
    """

    words: IntColumn
    in_offset: IntColumn
    source: IntColumn
    word: IntColumn
    taken: FloatColumn
    stop: FloatColumn
    length: IntColumn

    @property
    def longest(self) -> int:
        """How many words the longest sentence has."""
        return int(self.length.max(initial=0))


@kernel
def _expand(src, word, in_arc, in_offset, start, taken, alive, longest):  # type: ignore[no-untyped-def]
    """Return the states with their lengths, and the arcs between these, grouped by target."""
    states = len(alive)
    number = np.full((states, longest + 1), -1, np.int32)
    nodes = 0
    arcs = 0
    # what can be reached is marked by 0 first, arcs into a state being looked at before it
    for state in range(states):
        if not alive[state]:
            continue
        if state == start:
            number[state, 0] = 0
        for index in range(in_offset[state], in_offset[state + 1]):
            arc = in_arc[index]
            if taken[arc] > 0.0:
                more = 1 if word[arc] >= 0 else 0
                for length in range(longest + 1 - more):
                    if number[src[arc], length] >= 0:
                        number[state, length + more] = 0
                        arcs += 1
        for length in range(longest + 1):
            if number[state, length] >= 0:
                number[state, length] = nodes
                nodes += 1
    node_state = np.empty(nodes, np.int32)
    node_length = np.empty(nodes, np.int32)
    node_offset = np.zeros(nodes + 1, np.int32)
    source = np.empty(arcs, np.int32)
    origin = np.empty(arcs, np.int32)
    arcs = 0
    for state in range(states):
        for length in range(longest + 1):
            node = number[state, length]
            if node < 0:
                continue
            node_state[node], node_length[node] = state, length
            for index in range(in_offset[state], in_offset[state + 1]):
                arc = in_arc[index]
                before = length - (1 if word[arc] >= 0 else 0)
                if taken[arc] > 0.0 and before >= 0 and number[src[arc], before] >= 0:
                    source[arcs], origin[arcs] = number[src[arc], before], arc
                    arcs += 1
            node_offset[node + 1] = arcs
    return node_state, node_length, node_offset, source, origin


def length_graph(lattice: Lattice, scale: float = 1.0) -> LengthGraph:
    """Return a lattice with its states split by the number of words behind them.

    A path is taken in proportion to ``exp(scale * score)``. Cost: O(arcs x lengths of the
    prefixes of a state).

    Raises
    ------
    SpaceError
        If the lattice has no complete path.
    """
    backward = outside(lattice, LOG, scale)
    if backward[lattice.start] == -np.inf:
        raise no_complete_path(lattice)
    alive = backward > -np.inf
    ahead = np.where(alive, backward, 0.0)
    taken = np.exp(LOG.weights(lattice.score, scale) + backward[lattice.dst] - ahead[lattice.src])
    stop = np.exp(LOG.weights(lattice.final, scale) - ahead)
    words = np.unique(lattice.label)
    words = words[words > 0]
    word = np.where(lattice.label == 0, -1, np.searchsorted(words, lattice.label))
    spoken = (lattice.label != 0).astype(np.float64)
    behind = np.zeros(lattice.num_states)
    longest = _longest(lattice.src, lattice.dst, spoken, behind)
    state, length, offset, source, origin = _expand(
        lattice.src, ints(word), lattice.in_arc, lattice.in_offset, lattice.start,
        floats(taken), alive, longest,
    )  # fmt: skip
    return LengthGraph(
        ints(words), ints(offset), ints(source), ints(word[origin]), floats(taken[origin]),
        floats(stop[state]), ints(length),
    )  # fmt: skip


@kernel
def _longest(src, dst, spoken, behind):  # type: ignore[no-untyped-def]
    """Return how many words any path has at most."""
    longest = 0
    for arc in range(len(src)):
        behind[dst[arc]] = max(behind[dst[arc]], behind[src[arc]] + spoken[arc])
        longest = max(longest, int(behind[dst[arc]]))
    return longest


@kernel
def _tree(word, offset, weight, order):  # type: ignore[no-untyped-def]
    """Return depth, parent, word, weight behind and weight ending of each node of a prefix tree.

    ``order`` sorts the sentences, so that those with a common beginning stand together.
    """
    room = len(word) + 1
    length = np.zeros(room, np.int32)
    parent = np.full(room, -1, np.int32)
    said = np.full(room, -1, np.int32)
    passing = np.zeros(room, np.float64)
    ending = np.zeros(room, np.float64)
    path = np.zeros(len(word) + 1, np.int32)
    nodes = 1
    deep = 0
    for index in range(len(order)):
        sentence = order[index]
        begin, words = offset[sentence], offset[sentence + 1] - offset[sentence]
        common = 0
        while common < min(words, deep) and said[path[common + 1]] == word[begin + common]:
            common += 1
        for place in range(common, words):
            length[nodes], parent[nodes], said[nodes] = place + 1, path[place], word[begin + place]
            path[place + 1] = nodes
            nodes += 1
        deep = words
        for place in range(words + 1):
            passing[path[place]] += weight[sentence]
        ending[path[words]] += weight[sentence]
    return length[:nodes], parent[:nodes], said[:nodes], passing[:nodes], ending[:nodes]


def list_graph(label: IntColumn, offset: IntColumn, weight: FloatColumn) -> LengthGraph:
    """Return the prefix tree of weighted sentences ``label[offset[i]:offset[i + 1]]``.

    Sentences may come several times; their weights, not negative and not all zero, are added.
    Cost: O(words x log(sentences)).

    Examples
    --------
    >>> graph = list_graph(ints([1, 2, 1]), ints([0, 2, 3]), floats([1.0, 3.0]))
    >>> graph.taken.tolist(), graph.stop.tolist(), graph.length.tolist()
    ([1.0, 0.25], [0.0, 0.75, 1.0], [0, 1, 2])
    """
    words = np.unique(label)
    word = np.searchsorted(words, label)
    bounds = offset.tolist()
    spelt = word.tolist()
    kept = np.flatnonzero(weight > 0.0).tolist()
    order = sorted(kept, key=lambda entry: spelt[bounds[entry] : bounds[entry + 1]])
    length, parent, said, passing, ending = _tree(
        ints(word), ints(offset), floats(weight), ints(order)
    )
    # a node has one way in, the root none
    return LengthGraph(
        ints(words), ints(np.maximum(np.arange(-1, len(length)), 0)), ints(parent[1:]),
        ints(said[1:]), floats(passing[1:] / passing[parent[1:]]), floats(ending / passing),
        ints(length),
    )  # fmt: skip
