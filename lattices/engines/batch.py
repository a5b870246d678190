"""The kernel's searches: all the parts of a machine against a lattice, the best one kept."""

from __future__ import annotations

import numpy as np

from lattices.arrays import kernel
from lattices.engines.forward import (
    expand_alignment,
    forward_alignment,
    forward_automaton,
    row_stride,
)
from lattices.engines.tracing import POOL_COLUMNS, trace


@kernel
def path_comes_first(  # type: ignore[no-untyped-def]
    value, model, path, steps, best_value, best_model, best_path, best_steps, label, rank
):
    """Tell whether one part's path stands before another's: value, model score, words, arcs."""
    if value != best_value:
        return value > best_value
    if model != best_model:
        return model > best_model
    here = there = 0
    while True:
        while here < steps and label[path[here]] == 0:
            here += 1
        while there < best_steps and label[best_path[there]] == 0:
            there += 1
        if here == steps or there == best_steps:
            break
        if label[path[here]] != label[best_path[there]]:
            return rank[label[path[here]]] < rank[label[best_path[there]]]
        here += 1
        there += 1
    if (here == steps) != (there == best_steps):
        return here == steps
    for index in range(min(steps, best_steps)):
        if path[index] != best_path[index]:
            return path[index] < best_path[index]
    return steps < best_steps


@kernel
def search_alignments(  # type: ignore[no-untyped-def]
    like, arc_start, state_start, starts, src, label, score, in_arc, in_offset, final,
    rank, part_start, numbers, entry_start, word, position, weight, model_weight,
    values, parts, paths, steps,
):  # fmt: skip
    """Search every problem of a batch, each a lattice and the parts of a machine.

    Columns of lattices and of parts stand end to end; ``*_start`` say where each begins. The
    ``numbers`` of a part are its length and order, what insertion and deletion cost, its
    denominator and its bonus. ``like`` has the precision of the rows.
    """
    problems = len(starts)
    exact = like.dtype.type
    cells = most_states = most_arcs = most_entries = 0
    for problem in range(problems):
        states = state_start[problem + 1] - state_start[problem]
        most_states = max(most_states, states)
        most_arcs = max(most_arcs, arc_start[problem + 1] - arc_start[problem])
        for part in range(part_start[problem], part_start[problem + 1]):
            length, order = int(numbers[part, 0]), int(numbers[part, 1])
            cells = max(cells, states * order * row_stride(length))
            most_entries = max(most_entries, entry_start[part + 1] - entry_start[part])
    rows = np.empty(cells, like.dtype)
    slot = np.empty(cells, np.int32)
    pool = np.empty((cells, POOL_COLUMNS), np.int32)
    worth = np.empty(cells, np.float64)
    spelled = np.empty(cells, np.uint64)
    head = np.full(len(rank), -1, np.int32)
    follow = np.empty(most_entries, np.int32)
    bias = np.zeros(most_arcs, like.dtype)
    final_bias = np.zeros(most_states, like.dtype)
    path = np.empty(most_states, np.int32)
    for problem in range(problems):
        states = state_start[problem + 1] - state_start[problem]
        arcs = slice(arc_start[problem], arc_start[problem + 1])
        ends = slice(state_start[problem], state_start[problem + 1])
        ways = in_offset[state_start[problem] + problem : state_start[problem + 1] + problem + 1]
        values[problem] = -np.inf
        best_model = 0.0
        best_path = paths[state_start[problem] : state_start[problem + 1]]
        for part in range(part_start[problem], part_start[problem + 1]):
            length, order = int(numbers[part, 0]), int(numbers[part, 1])
            insertion, deletion = numbers[part, 2], numbers[part, 3]
            denominator, bonus = numbers[part, 4], numbers[part, 5]
            entries = slice(entry_start[part], entry_start[part + 1])
            for entry in range(entry_start[part + 1] - 1, entry_start[part] - 1, -1):
                follow[entry - entry_start[part]] = head[word[entry]]
                head[word[entry]] = entry - entry_start[part]
            if model_weight != 0.0:
                scaled = model_weight * denominator
                for arc in range(arc_start[problem], arc_start[problem + 1]):
                    bias[arc - arc_start[problem]] = scaled * score[arc]
                for state in range(states):
                    if final[state_start[problem] + state] > -np.inf:
                        final_bias[state] = scaled * final[state_start[problem] + state]
            forward_alignment(
                rows, src[arcs], label[arcs], bias, in_arc[arcs], ways, starts[problem], states,
                length, order, exact(insertion), exact(deletion),
                head, follow, position[entries], weight[entries],
            )  # fmt: skip
            for entry in range(entry_start[part], entry_start[part + 1]):
                head[word[entry]] = -1
            size = order * row_stride(length)
            # takes back what the columns of a row carry for deletions
            ending = -length * deletion
            gain = exact(-np.inf)
            for state in range(states):
                if final[state_start[problem] + state] > -np.inf:
                    total = rows[state * size + length] + final_bias[state] + exact(ending)
                    gain = max(gain, total)
            if gain == -np.inf:
                continue
            value = (np.float64(gain) + bonus) / denominator
            if value < values[problem]:
                continue
            offset, machine_src, machine_label, machine_gain, machine_order = expand_alignment(
                length, order, insertion, deletion,
                word[entries], position[entries], weight[entries],
            )  # fmt: skip
            machine_initial = np.full(size, -np.inf)
            machine_final = np.full(size, -np.inf)
            machine_initial[0] = 0.0
            machine_final[length] = ending
            count, model = trace(
                rows, gain, src[arcs], label[arcs], score[arcs], bias, in_arc[arcs], ways,
                starts[problem], states, final[ends], final_bias, rank,
                machine_initial, machine_final,
                offset, machine_src, machine_label, machine_gain, machine_order,
                slot, pool, worth, spelled, path,
            )  # fmt: skip
            if values[problem] == -np.inf or path_comes_first(
                value, model, path, count,
                values[problem], best_model, best_path, steps[problem], label[arcs], rank,
            ):  # fmt: skip
                values[problem] = value
                parts[problem] = part - part_start[problem]
                best_model = model
                steps[problem] = count
                best_path[:count] = path[:count]


@kernel
def search_automaton(  # type: ignore[no-untyped-def]
    start, src, label, score, in_arc, in_offset, final, rank, scaled_weight,
    initial, machine_final, order, out_offset, out_src, out_dst, out_label, out_gain,
    in_machine_offset, in_machine_src, in_machine_label, in_machine_gain, path,
):  # fmt: skip
    """Search one lattice with one explicit automaton; return gain, path length, model score.

    ``out_*`` are the machine's arcs by source, ``in_machine_*`` the same by target.
    """
    states, size = len(final), len(initial)
    bias = scaled_weight * score
    final_bias = np.zeros(states)
    for state in range(states):
        if final[state] > -np.inf:
            final_bias[state] = scaled_weight * final[state]
    head = np.full(len(rank), -1, np.int32)
    follow = np.empty(len(out_src), np.int32)
    for entry in range(len(out_src)):
        if out_label[entry] > 0:
            follow[entry] = head[out_label[entry]]
            head[out_label[entry]] = entry
    any_arc = np.flatnonzero(out_label == -1)
    rows = np.empty(states * size)
    forward_automaton(
        rows, src, label, bias, in_arc, in_offset, start, states,
        initial, order, out_offset, out_src, out_dst, out_label, out_gain, any_arc, head, follow,
    )  # fmt: skip
    best = -np.inf
    for state in range(states):
        if final[state] > -np.inf:
            for place in range(size):
                ending = rows[state * size + place] + final_bias[state]
                best = max(best, ending + machine_final[place])
    if best == -np.inf:
        return best, 0, 0.0
    slot = np.empty(states * size, np.int32)
    pool = np.empty((states * size, POOL_COLUMNS), np.int32)
    worth = np.empty(states * size, np.float64)
    spelled = np.empty(states * size, np.uint64)
    count, model = trace(
        rows, best, src, label, score, bias, in_arc, in_offset, start, states,
        final, final_bias, rank, initial, machine_final,
        in_machine_offset, in_machine_src, in_machine_label, in_machine_gain, order,
        slot, pool, worth, spelled, path,
    )  # fmt: skip
    return best, count, model
