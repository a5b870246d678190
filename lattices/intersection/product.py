"""The product of a space with a machine, as a space whose scores are what the machine gains.

There are two. Over *alignments*: pairs of a path of the space and a way of the machine to read it.
The best of them that say a sentence have the machine's value of it. That is enough for whatever
asks for the best, and its size is bounded: pairs of a state and a machine's state
(``native/product.hpp`` walks the same graph and keeps none of it). Over *sentences*, by rows
(:mod:`.rows`): each path of the space once, with its one value. That is what sums over paths need,
and it may be large.

Of a forest, the product over alignments (Bar-Hillel, Perles and Shamir 1961) has nodes for places
within the target side of an edge, too, so that its edges read one word or one tail.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import numpy as np

from lattices import _native
from lattices.algorithms.trimming import find_useful_states
from lattices.arrays import Array, IntColumn, floats, ints
from lattices.errors import EngineError, SpaceError
from lattices.intersection.automata import ANY, Automaton, SearchMachine, alignments
from lattices.intersection.engine import explain_too_large, name_space_in_errors
from lattices.intersection.rows import RowMachine, forest_row_product, row_product
from lattices.limits import MEMORY, Limits
from lattices.spaces import Forest, Lattice
from lattices.vocabulary import Vocabulary

S = TypeVar("S", Lattice, Forest)
#: pairs of a state or a node and a row that a product over sentences may have
MOST_PAIRS = 1_000_000
LIMITS = Limits(MOST_PAIRS)
#: bytes of an arc of a product while it is made
_ARC_BYTES = 100


class Product(NamedTuple, Generic[S]):
    """A space whose scores are the gains of a machine, and what it comes from."""

    space: S  # scores are whole numbers of the unit of the machine's automaton
    # one entry an arc or an edge of the product; the arc or edge that is taken there; -1 for none
    origin: IntColumn
    state: IntColumn  # one entry a state of the product; of a lattice, the state behind it


def lattice_product(
    lattice: Lattice, machine: SearchMachine, *, memory: int = MEMORY
) -> Product[Lattice]:
    """Return the product of a lattice with a machine over alignments: O(arcs x machine arcs)."""
    automaton = machine.automaton
    size = automaton.num_states
    src, dst, arc, gain = _pairs_of_arcs(lattice, automaton, memory)
    begins = automaton.initial[automaton.order]
    first = np.flatnonzero(begins > -np.inf)
    final = np.where(lattice.final[:, None] > -np.inf, automaton.final[automaton.order], -np.inf)
    final = final.ravel()
    state = np.repeat(np.arange(lattice.num_states), size)
    start = lattice.start * size + first
    if len(first) != 1 or begins[first[0]] != 0.0:
        # a state before all others
        src = np.concatenate((src + 1, np.zeros(len(first), np.int64)))
        dst = np.concatenate((dst + 1, start + 1))
        arc = np.concatenate((arc, np.full(len(first), -1)))
        gain = np.concatenate((gain, begins[first]))
        final, state = np.append(-np.inf, final), np.append(lattice.start, state)
        start = np.zeros(1, np.int64)
    order = np.lexsort((dst, src))
    src, dst, arc, gain = (column[order] for column in (src, dst, arc, gain))
    useful = np.zeros(1, np.bool_)
    if (final > -np.inf).any():
        useful = find_useful_states(_graph(lattice, src, dst, gain, final, int(start[0])))
    if not useful[min(start[0], len(useful) - 1)]:
        raise SpaceError(f"the machine reads no sentence of lattice {lattice.id!r}")
    kept = useful[src] & useful[dst]
    number = np.cumsum(useful) - 1
    return _lattice(
        lattice,
        (number[src[kept]], number[dst[kept]], gain[kept], final[useful], int(number[start[0]])),
        arc[kept],
        state[useful],
    )


def _pairs_of_arcs(
    lattice: Lattice, automaton: Automaton, memory: int
) -> tuple[Array, Array, Array, Array]:
    """Return source, target, lattice arc (or -1) and gain of each arc of the product.

    Pair (q, s) is ``q * states + place of s in the order of epsilon arcs``: numbers ascend.
    """
    states, size = lattice.num_states, automaton.num_states
    place = np.empty(size, np.int64)
    place[automaton.order] = np.arange(size)
    by_label = np.argsort(automaton.label, kind="stable")
    label = automaton.label[by_label]
    here, there = place[automaton.src[by_label]], place[automaton.dst[by_label]]
    # what an arc of the lattice meets: the arcs with its word, and those that read any word
    spoken = np.flatnonzero(lattice.label)
    silent = np.flatnonzero(lattice.label == 0)
    word = lattice.label[spoken]
    anything = np.searchsorted(label, ANY, "right")
    epsilon = np.searchsorted(label, 0, "right")
    low, high = np.searchsorted(label, word, "left"), np.searchsorted(label, word, "right")
    count = (high - low).sum() + len(spoken) * anything + len(silent) * size
    count += (epsilon - anything) * states
    if count * _ARC_BYTES > memory:
        raise explain_too_large(
            lattice,
            f"{states} lattice states x {size} machine states have {count} arcs, and "
            f"{_native.in_bytes(memory)} are allowed",
        )
    # pairs of an arc of the lattice and one of the machine; -1 for none of the one side
    arcs = [np.repeat(spoken, high - low), np.repeat(spoken, anything)]
    begins = np.cumsum(high - low) - (high - low)
    reads = [
        np.arange(len(arcs[0])) + np.repeat(low - begins, high - low),
        np.tile(np.arange(anything), len(spoken)),
    ]
    arc, read = np.concatenate(arcs), np.concatenate(reads)
    moves = np.arange(anything, epsilon)
    every_state, every_place = np.arange(states), np.arange(size)
    src = np.concatenate(
        (
            lattice.src[arc] * size + here[read],
            (lattice.src[silent][:, None] * size + every_place).ravel(),
            (every_state[:, None] * size + here[moves]).ravel(),
        )
    )
    dst = np.concatenate(
        (
            lattice.dst[arc] * size + there[read],
            (lattice.dst[silent][:, None] * size + every_place).ravel(),
            (every_state[:, None] * size + there[moves]).ravel(),
        )
    )
    gain = automaton.gain[by_label]
    return (
        src,
        dst,
        np.concatenate((arc, np.repeat(silent, size), np.full(states * len(moves), -1))),
        np.concatenate((gain[read], np.zeros(len(silent) * size), np.tile(gain[moves], states))),
    )


def lattice_row_product(
    lattice: Lattice, machine: SearchMachine, limits: Limits = LIMITS
) -> Product[Lattice]:
    """Return the product of a lattice with a machine over sentences, each path once."""
    rows = RowMachine(machine.automaton, lattice.num_states)
    found = row_product(lattice, rows, limits)
    if found is None:
        raise _too_many_rows(lattice, limits)
    graph = found.graph
    # every path ends once
    final = np.where(graph.final > -np.inf, found.final_gain + found.opening, -np.inf)
    return _lattice(
        lattice,
        (graph.src, graph.dst, found.gain, final, graph.start),
        found.origin,
        states_behind(graph, lattice, found.origin),
    )


def states_behind(graph: Lattice, lattice: Lattice, origin: Array) -> IntColumn:
    """Return the state of a lattice behind each state of a graph whose arcs come from its own."""
    state = np.full(graph.num_states, lattice.start)
    state[graph.src] = lattice.src[origin]
    state[graph.dst] = lattice.dst[origin]
    return ints(state)


def _too_many_rows(space: Lattice | Forest, limits: Limits) -> Exception:
    return explain_too_large(
        space,
        f"its product with rows takes more than {limits.budget} pairs, or more than "
        f"{_native.in_bytes(limits.memory)}",
    )


def _graph(
    lattice: Lattice, src: Array, dst: Array, gain: Array, final: Array, start: int
) -> Lattice:
    """Return a lattice without words."""
    nothing = ints(np.zeros(len(src)))
    return Lattice(
        lattice.vocabulary, ints(src), ints(dst), nothing, floats(gain), floats(final), start
    )


def _lattice(
    lattice: Lattice,
    graph: tuple[Array, Array, Array, Array, int],
    origin: Array,
    state: Array,
) -> Product[Lattice]:
    """Return a product of source, target, gain, final gain and start; all in normal form."""
    src, dst, gain, final, start = graph
    space = Lattice(
        vocabulary=lattice.vocabulary,
        src=ints(src),
        dst=ints(dst),
        label=ints(np.append(lattice.label, 0)[origin]),  # the last where there is none
        score=floats(gain),
        final=floats(final),
        start=start,
        times=None if lattice.times is None else floats(lattice.times[state]),
        **lattice.about,
    )
    return Product(space, ints(origin), ints(state))


def forest_product(
    forest: Forest,
    machine: SearchMachine,
    words: IntColumn | None = None,
    vocabulary: Vocabulary | None = None,
    *,
    slack: float = np.inf,
    memory: int = MEMORY,
) -> Product[Forest]:
    """Return the product of a forest with a machine made of alignments, over alignments.

    An edge of the forest is taken where the last symbol of its target side has been read.
    """
    parts = alignments(machine)
    if parts is None:
        raise EngineError(
            f"forest {forest.id!r}: the machine has other parts than alignments to sentences, and "
            "only over=sentences has a product with those"
        )
    said = forest.symbol if words is None else words
    with name_space_in_errors(forest):
        nodes, head, tail, tail_offset, symbol, symbol_offset, gain, origin, part = (
            _native.forest_product(forest.columns, said, parts, slack, min(memory, 2**62))
        )
    factor = np.array([1.0 / (each.denominator * machine.unit) for each in machine.parts])
    space = Forest(
        vocabulary=forest.vocabulary if vocabulary is None else vocabulary,
        head=ints(head),
        tail=ints(tail),
        tail_offset=ints(tail_offset),
        symbol=ints(symbol),
        symbol_offset=ints(symbol_offset),
        score=floats(np.rint(gain * factor[part])),
        num_nodes=nodes,
        root=nodes - 1,
        **forest.about,
    )
    return Product(space, ints(origin), ints([]))


def forest_row_space(
    forest: Forest, machine: SearchMachine, limits: Limits = LIMITS
) -> Product[Forest]:
    """Return the product of a forest with a machine over sentences, each derivation once."""
    found = forest_row_product(forest, machine.automaton, limits)
    if found is None:
        raise _too_many_rows(forest, limits)
    graph = found.graph
    # a node has edges, and they have the head of those of the forest
    node = np.zeros(found.pairs, np.int64)
    node[graph.head] = forest.head[graph.origin]
    space = Forest(
        vocabulary=forest.vocabulary,
        head=graph.head,
        tail=graph.tail,
        tail_offset=graph.tail_offset,
        symbol=graph.symbol,
        symbol_offset=graph.symbol_offset,
        score=graph.gain,
        num_nodes=found.pairs,
        root=graph.root,
        categories=tuple(forest.categories[each] for each in node) if forest.categories else (),
        spans=None if forest.spans is None else ints(forest.spans[node]),
        **forest.about,
    )
    return Product(space, graph.origin, ints([]))
