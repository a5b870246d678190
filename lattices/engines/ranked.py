"""The k best or worst sentences of a lattice under a machine, each once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lattices.algorithms.kbest import k_best_ranked
from lattices.algorithms.trimming import useful_states
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints, kernel
from lattices.engines.automata import ANY, Automaton
from lattices.engines.row_product import row_product
from lattices.engines.rows import MEMORY, RowMachine, grown
from lattices.spaces import Lattice


class _Graph(NamedTuple):
    """A product of a lattice with a machine, as a lattice, and where its arcs come from."""

    lattice: Lattice
    gain: FloatColumn
    final_gain: FloatColumn
    origin: IntColumn


def best_sentences(
    lattice: Lattice, automaton: Automaton, k: int, model_weight: float
) -> list[IntColumn]:
    """Return the paths of the ``k`` sentences of the highest gain plus weighted model score.

    One path a sentence, best first, ties as in :mod:`.found`. A maximum over sentences of a
    maximum over alignments is one maximum, so the plain product serves, whatever its size:
    O(arcs x machine arcs), and O(k x arcs x log(arcs)) of the product for the rest.
    """
    return _ranked(_plain_product(lattice, automaton), lattice, k, 1.0, model_weight)


def worst_sentences(
    lattice: Lattice,
    machine: RowMachine,
    k: int,
    model_weight: float,
    budget: int,
    *,
    memory: int = MEMORY,
) -> list[IntColumn] | None:
    """Return the paths of the ``k`` sentences of the lowest gain plus weighted model score.

    None if the product with rows has more than ``budget`` pairs, or takes more than ``memory``
    bytes.
    """
    product = row_product(lattice, machine, budget, memory=memory)
    if product is None:
        return None
    graph = _Graph(product.graph, product.gain, product.final_gain, product.origin)
    return _ranked(graph, lattice, k, -1.0, model_weight)


def _ranked(
    graph: _Graph, lattice: Lattice, k: int, sign: float, model_weight: float
) -> list[IntColumn]:
    """Rank the sentences of a product by signed value, then by model score, then by words."""
    product = graph.lattice
    value = sign * (graph.gain + model_weight * product.score)
    ending = product.final > -np.inf
    last = np.where(ending, product.final, 0.0)
    final_value = np.where(ending, sign * (graph.final_gain + model_weight * last), -np.inf)
    paths = k_best_ranked(product, floats(value), floats(final_value), k)
    return [_original(path, graph.origin) for path in paths]


def _original(path: Array, origin: IntColumn) -> IntColumn:
    arcs = origin[path]
    return ints(arcs[arcs >= 0])


def _plain_product(lattice: Lattice, automaton: Automaton) -> _Graph:
    """Return the product whose states are pairs of a lattice and a machine state.

    State 0 begins; pair ``(q, s)`` is 1 + q * size + the place of s in the order of the
    machine's epsilon arcs.
    """
    size = automaton.num_states
    by_src = np.argsort(automaton.src, kind="stable")
    offset = np.searchsorted(automaton.src[by_src], np.arange(size + 1))
    place = np.empty(size, np.int32)
    place[automaton.order] = np.arange(size)
    src, dst, origin, gain = _join(
        lattice.start, useful_states(lattice), lattice.out_offset, lattice.dst, lattice.label,
        automaton.initial, automaton.order, ints(place), ints(offset),
        ints(automaton.dst[by_src]), ints(automaton.label[by_src]),
        floats(automaton.gain[by_src]),
    )  # fmt: skip
    order = np.lexsort((dst, src))
    src, dst, origin, gain = src[order], dst[order], origin[order], gain[order]
    final_gain = np.tile(automaton.final[automaton.order], lattice.num_states)
    ending = np.where(final_gain > -np.inf, np.repeat(lattice.final, size), -np.inf)
    graph = Lattice(
        vocabulary=lattice.vocabulary,
        src=ints(src),
        dst=ints(dst),
        # arcs of the machine alone have origin -1, the last entry
        label=ints(np.append(lattice.label, 0)[origin]),
        score=floats(np.append(lattice.score, 0.0)[origin]),
        final=floats(np.append(-np.inf, ending)),
        id=lattice.id,
    )
    return _Graph(graph, floats(gain), floats(np.append(-np.inf, final_gain)), ints(origin))


@kernel
def _join(  # type: ignore[no-untyped-def]
    start, alive, out_offset, dst, label, initial, order, place, machine_offset,
    machine_dst, machine_label, machine_gain,
):  # fmt: skip
    """Return the arcs of the plain product that begin in a state which can be reached."""
    size, states = len(initial), len(alive)
    reached = np.zeros(1 + states * size, np.bool_)
    arc_src = np.empty(4096, np.int32)
    arc_dst = np.empty(4096, np.int32)
    origin = np.empty(4096, np.int32)
    gain = np.empty(4096, np.float64)
    arcs = 0
    for state in range(size):
        if initial[state] > -np.inf:
            there = 1 + start * size + place[state]
            arc_src[arcs], arc_dst[arcs], origin[arcs], gain[arcs] = 0, there, -1, initial[state]
            reached[there] = True
            arcs += 1
            if arcs == len(gain):
                arc_src, arc_dst = grown(arc_src, 0), grown(arc_dst, 0)
                origin, gain = grown(origin, 0), grown(gain, 0)
    for state in range(states):
        if not alive[state]:
            continue
        for index in range(size):
            here = 1 + state * size + index
            if not reached[here]:
                continue
            # the machine's epsilon arcs first, then every arc out of the lattice state
            for arc in range(out_offset[state] - 1, out_offset[state + 1]):
                silent = arc < out_offset[state]
                if not silent and not alive[dst[arc]]:
                    continue
                word = 0 if silent else label[arc]
                target = state if silent else dst[arc]
                first, last = machine_offset[order[index]], machine_offset[order[index] + 1]
                if not silent and word == 0:
                    first, last = -1, 0  # the machine stays where it is
                for entry in range(first, last):
                    if (
                        entry >= 0
                        and machine_label[entry] != word
                        and (silent or machine_label[entry] != ANY)
                    ):
                        continue
                    there = 1 + target * size
                    there += index if entry < 0 else place[machine_dst[entry]]
                    if arcs == len(gain):
                        arc_src, arc_dst = grown(arc_src, 0), grown(arc_dst, 0)
                        origin, gain = grown(origin, 0), grown(gain, 0)
                    arc_src[arcs], arc_dst[arcs] = here, there
                    origin[arcs] = -1 if silent else arc
                    gain[arcs] = 0.0 if entry < 0 else machine_gain[entry]
                    reached[there] = True
                    arcs += 1
    return arc_src[:arcs], arc_dst[:arcs], origin[:arcs], gain[:arcs]
