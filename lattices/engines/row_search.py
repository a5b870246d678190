"""The worst sentence, and fear: one search over rows, with prefixes that cannot win dropped.

At one lattice state, a prefix beats another if it stands no higher in any state of the row:
whatever follows, it ends no higher. Of two that may still tie, the tie rule must find the
one it wants; so a prefix is dropped only for one with the higher model score, or for one
that stands lower everywhere.
"""

from __future__ import annotations

import numpy as np

from lattices.algorithms.paths import no_complete_path
from lattices.algorithms.trimming import useful_states
from lattices.arrays import Array, ints, kernel
from lattices.engines.rows import (
    RowMachine,
    absent_gain,
    ending_gain,
    first_row,
    grown,
    learn_step,
)
from lattices.engines.tracing import NO_NODE, POOL_COLUMNS, end_here, relax, unroll
from lattices.spaces import Lattice

#: how many prefixes of the same state a prefix is compared with
RIVALS = 64


@kernel
def _stands(base, row, other_base, other, absent, tables, rule_offset):  # type: ignore[no-untyped-def]
    """Return 0 if a prefix may end higher than another, 1 if it cannot, 2 if it ends lower."""
    answer = 2
    for place in range(len(row)):
        if row[place] == absent:
            continue
        height = base + row[place]
        if other[place] > absent and height <= other_base + other[place]:
            if height == other_base + other[place]:
                answer = 1
            continue
        answered = False
        for rule in range(rule_offset[place], rule_offset[place + 1]):
            rival = other[tables.kept[rule]]
            if rival > absent and height + tables.lead[rule] <= other_base + rival:
                answered = True
                answer = 1
                break
        if not answered:
            return 0
    return answer


@kernel
def _keep_undominated(  # type: ignore[no-untyped-def]
    first, nodes, node_row, base, model, tight, pool, absent, tables, rule_offset, widest, rivals
):
    """Drop prefixes of one state that cannot win; close the gaps; return the new end."""
    count = nodes - first
    order = np.argsort(base[first:nodes])
    kept = np.empty(count, np.int64)
    keeping = 0
    for index in range(count):
        node = first + order[index]
        beaten = widest > 0 and keeping == widest
        for rival in range(min(keeping, rivals)):
            if beaten:
                break
            other = kept[rival]
            stands = _stands(
                base[other], pool[node_row[other]], base[node], pool[node_row[node]],
                absent, tables, rule_offset,
            )  # fmt: skip
            beaten = stands == 2 or (stands == 1 and model[other] > model[node])
        if not beaten:
            kept[keeping] = node
            keeping += 1
    # ascending, so that closing the gaps overwrites nothing that is still needed
    survivors = np.sort(kept[:keeping])
    for index in range(keeping):
        node, place = survivors[index], first + index
        node_row[place], base[place] = node_row[node], base[node]
        model[place], tight[place] = model[node], tight[node]
    return first + keeping


@kernel
def _search(  # type: ignore[no-untyped-def]
    tables, rule_offset, absent, start, alive, src, label, score, final, in_arc, in_offset,
    arc_class, classes, rank, model_weight, budget, widest, rivals, path,
):  # fmt: skip
    """Write the path of the lowest value; return whether the budget sufficed, value and length.

    The value is the gain plus ``model_weight`` times the model score. ``widest`` is the most
    prefixes that one state may keep, 0 for all.
    """
    states = len(alive)
    opening, pool, target, gained, table = first_row(absent, tables, classes)
    rows = 1
    node_of = np.full(len(pool), -1, np.int64)
    node_row = np.empty(1024, np.int32)
    base = np.empty(1024, np.float64)
    model = np.empty(1024, np.float64)
    # the ways into a node that attain its value are a chain of links
    tight = np.empty(1024, np.int32)
    link_node = np.empty(4096, np.int32)
    link_arc = np.empty(4096, np.int32)
    link_next = np.empty(4096, np.int32)
    links = 0
    node_start = np.zeros(states + 1, np.int64)
    nodes = 0
    for state in range(states):
        node_start[state + 1] = nodes
        if not alive[state]:
            continue
        first = nodes
        if state == start:
            node_row[0], base[0], model[0], tight[0], node_of[0] = 0, opening, 0.0, -1, 0
            nodes = 1
        for index in range(in_offset[state], in_offset[state + 1]):
            arc = in_arc[index]
            if not alive[src[arc]]:
                continue
            word_class = arc_class[arc]
            for node in range(node_start[src[arc]], node_start[src[arc] + 1]):
                row = node_row[node]
                total = base[node] + model_weight * score[arc]
                if word_class >= 0:
                    if target[row, word_class] < 0:
                        pool, target, gained, table, rows = learn_step(
                            row, word_class, absent, tables, pool, target, gained, table, rows
                        )
                        if len(pool) > len(node_of):
                            node_of = grown(node_of, -1)
                    total += gained[row, word_class]
                    row = target[row, word_class]
                there = node_of[row]
                # a row may remember a node of an earlier state, or one that was dropped there
                if there < first or there >= nodes or node_row[there] != row:
                    if nodes == len(base):
                        node_row = grown(node_row, 0)
                        base = grown(base, 0)
                        model = grown(model, 0)
                        tight = grown(tight, 0)
                    there = nodes
                    nodes += 1
                    node_of[row], node_row[there], tight[there] = there, row, -1
                    base[there], model[there] = np.inf, -np.inf
                if total > base[there]:
                    continue
                if total < base[there]:
                    base[there], model[there], tight[there] = total, -np.inf, -1
                model[there] = max(model[there], model[node] + score[arc])
                if links == len(link_node):
                    link_node = grown(link_node, 0)
                    link_arc = grown(link_arc, 0)
                    link_next = grown(link_next, 0)
                link_node[links], link_arc[links], link_next[links] = node, arc, tight[there]
                tight[there] = links
                links += 1
        if nodes - first > 1:
            nodes = _keep_undominated(
                first, nodes, node_row, base, model, tight, pool,
                absent, tables, rule_offset, widest, rivals,
            )  # fmt: skip
        if nodes > budget:
            return False, 0.0, 0
        node_start[state + 1] = nodes
    lowest = np.inf
    for state in range(states):
        if final[state] > -np.inf:
            for node in range(node_start[state], node_start[state + 1]):
                ending = base[node] + ending_gain(pool[node_row[node]], absent, tables)
                lowest = min(lowest, ending + model_weight * final[state])
    slot = np.full(nodes, NO_NODE, np.int32)
    suffixes = np.empty((nodes, POOL_COLUMNS), np.int32)
    worth = np.empty(nodes, np.float64)
    spelled = np.empty(nodes, np.uint64)
    used = 0
    for state in range(states):
        if final[state] > -np.inf:
            for node in range(node_start[state], node_start[state + 1]):
                ending = base[node] + ending_gain(pool[node_row[node]], absent, tables)
                if ending + model_weight * final[state] == lowest:
                    used = end_here(node, final[state], slot, suffixes, worth, spelled, used)
    for node in range(nodes - 1, -1, -1):
        here = slot[node]
        link = tight[node] if here != NO_NODE else -1
        while link >= 0:
            arc = link_arc[link]
            used = relax(
                link_node[link], here, arc, score[arc],
                slot, suffixes, worth, spelled, used, label, rank,
            )  # fmt: skip
            link = link_next[link]
    return True, lowest, unroll(slot[0], suffixes, path)


def lowest_path(
    lattice: Lattice, machine: RowMachine, *, model_weight: float, budget: int
) -> tuple[float, Array] | None:
    """Return the lowest gain plus weighted model score of a sentence, and the arcs of its path.

    The model weight is in units of the automaton's gain. None if more than ``budget`` prefixes
    have to be kept.
    """
    enough, lowest, path = _searched(lattice, machine, model_weight, budget, 0)
    return (lowest, path) if enough else None


def cut_lowest_path(
    lattice: Lattice, machine: RowMachine, *, model_weight: float, widest: int
) -> tuple[float, Array]:
    """Return the lowest value found with at most ``widest`` prefixes kept at a lattice state."""
    _, lowest, path = _searched(lattice, machine, model_weight, 2**62, widest)
    return lowest, path


def _searched(
    lattice: Lattice, machine: RowMachine, model_weight: float, budget: int, widest: int
) -> tuple[bool, float, Array]:
    alive = useful_states(lattice)
    if not alive[lattice.start]:
        raise no_complete_path(lattice)
    classes = machine.classes(lattice.vocabulary)
    arc_class = ints(np.where(lattice.label == 0, -1, classes[lattice.label]))
    forgotten = machine.tables.forgotten
    rule_offset = np.searchsorted(forgotten, np.arange(machine.automaton.num_states + 1))
    path = np.empty(lattice.num_states, np.int32)
    enough, lowest, steps = _search(
        machine.tables, ints(rule_offset), machine.dtype.type(absent_gain(machine.dtype)),
        lattice.start, alive, lattice.src, lattice.label, lattice.score, lattice.final,
        lattice.in_arc, lattice.in_offset, arc_class, len(machine.words) + 1,
        lattice.vocabulary.ranks(), float(model_weight) / machine.unit, budget, widest, RIVALS,
        path,
    )  # fmt: skip
    return enough, float(lowest) * machine.unit, path[:steps]
