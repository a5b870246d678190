"""The kernel's forward pass: the best gain of every machine state at every lattice state.

Nothing else is stored; :mod:`.tracing` finds the path by evaluating transitions again. Both
add up in the same order, so a transition that was best here is equal to the last bit there.
"""

from __future__ import annotations

import numpy as np

from lattices.arrays import inlined, kernel

#: Rows of an alignment are padded to whole vectors of this many gains. The compiler turns
#: an inner loop of a fixed length into one instruction, and leaves a short one of any other
#: length as it is.
LANES = 8


@inlined
def row_stride(length):  # type: ignore[no-untyped-def]
    """Return the cells that a row has for states without a run, padded to whole vectors."""
    return (length // LANES + 1) * LANES


@inlined
def cell_of(place, run, stride, order):  # type: ignore[no-untyped-def]
    """Return the cell of a row that holds state ``(place, run)``.

    The states without a run come first, for vectors to be read from them; the runs of one
    place stand side by side, for a match moves them all.
    """
    return place if run == 0 else stride + place * (order - 1) + run - 1


@kernel
def forward_alignment(  # type: ignore[no-untyped-def]
    rows, src, label, bias, in_arc, in_offset, start, states,
    length, order, insertion, deletion, head, follow, position, weight,
):  # fmt: skip
    """Fill ``rows`` (states x order x stride) for the automaton of alignments.

    All words cost the same as substitutions and insertions, so these are applied once a
    state, to the maximum of the rows that come in; an arc costs one vector maximum, and
    its matches only where its word stands in the reference.

    Gains are kept with ``i * deletion`` added in column ``i``. That makes deletions free,
    and closing a row under them a running maximum; every other step to the next column
    earns ``deletion`` more. Rows that are closed stay so when they are shifted and when their
    maximum is taken, so only what matches have put in is carried on to the right.
    """
    stride = row_stride(length)
    size = order * stride
    runs = order - 1
    number = rows.dtype.type
    worst = number(-np.inf)
    # one cell more in front, for what comes from the left of the first
    incoming = np.empty(stride + 1, rows.dtype)
    incoming[0] = worst
    for state in range(states):
        base = state * size
        for block in range(base, base + size, LANES):
            for lane in range(LANES):
                rows[block + lane] = worst
        begin, end = in_offset[state], in_offset[state + 1]
        # the columns that matches came to
        lowest, highest = stride, 0
        if state == start:
            rows[base] = number(0)
            lowest = 0
        elif begin == end:
            continue
        silent = True
        for index in range(begin, end):
            arc = in_arc[index]
            source = src[arc] * size
            extra = bias[arc]
            if label[arc] == 0:
                for block in range(0, size, LANES):
                    for lane in range(LANES):
                        gain = rows[source + block + lane] + extra
                        other = rows[base + block + lane]
                        rows[base + block + lane] = gain if gain > other else other
                continue
            if silent:
                silent = False
                for block in range(0, stride, LANES):
                    for lane in range(LANES):
                        incoming[block + lane + 1] = rows[source + block + lane] + extra
            else:
                for block in range(0, stride, LANES):
                    for lane in range(LANES):
                        gain = rows[source + block + lane] + extra
                        other = incoming[block + lane + 1]
                        incoming[block + lane + 1] = gain if gain > other else other
            entry = head[label[arc]]
            while entry >= 0:
                place = position[entry]
                lowest = min(lowest, place + 1)
                highest = max(highest, place + 1)
                here = source + stride + place * runs
                there = base + stride + (place + 1) * runs
                # a run may be forgotten at once, at no cost
                forgotten = base + place + 1
                best = rows[forgotten]
                gain = rows[source + place] + extra
                gain += weight[entry] + deletion
                for run in range(runs):
                    other = rows[there + run]
                    rows[there + run] = gain if gain > other else other
                    best = gain if gain > best else best
                    gain = rows[here + run] + extra
                    gain += number(run + 2) * weight[entry] + deletion
                if runs:
                    other = rows[there + runs - 1]
                    rows[there + runs - 1] = gain if gain > other else other
                rows[forgotten] = gain if gain > best else best
                entry = follow[entry]
        if not silent:
            for block in range(0, stride, LANES):
                for lane in range(LANES):
                    inserted = incoming[block + lane + 1] - insertion
                    gain = incoming[block + lane] + deletion
                    gain = gain if gain > inserted else inserted
                    other = rows[base + block + lane]
                    rows[base + block + lane] = gain if gain > other else other
        if lowest < stride:
            running = rows[base + lowest]
            for place in range(lowest + 1, length + 1):
                gain = rows[base + place]
                if gain < running:
                    rows[base + place] = running
                elif place > highest:
                    break
                else:
                    running = gain


@kernel
def forward_automaton(  # type: ignore[no-untyped-def]
    rows, src, label, bias, in_arc, in_offset, start, states,
    initial, order, out_offset, machine_src, machine_dst, machine_label, machine_gain, any_arc,
    head, follow,
):  # fmt: skip
    """Fill ``rows`` (states x machine states) for any automaton.

    ``out_offset`` cuts the machine's arcs by source, ``any_arc`` lists its ANY arcs, and
    ``head``/``follow`` chain the arcs that read a word.
    """
    size = len(initial)
    worst = rows.dtype.type(-np.inf)
    incoming = np.empty(size, rows.dtype)
    for state in range(states):
        base = state * size
        row = rows[base : base + size]
        row[:] = worst
        begin, end = in_offset[state], in_offset[state + 1]
        if state == start:
            row[:] = initial
        elif begin == end:
            continue
        incoming[:] = worst
        for index in range(begin, end):
            arc = in_arc[index]
            extra = bias[arc]
            word = label[arc]
            other = rows[src[arc] * size : (src[arc] + 1) * size]
            if word == 0:
                for place in range(size):
                    row[place] = max(row[place], other[place] + extra)
                continue
            for place in range(size):
                incoming[place] = max(incoming[place], other[place] + extra)
            entry = head[word]
            while entry >= 0:
                gain = (other[machine_src[entry]] + extra) + machine_gain[entry]
                row[machine_dst[entry]] = max(row[machine_dst[entry]], gain)
                entry = follow[entry]
        for index in range(len(any_arc)):
            entry = any_arc[index]
            gain = incoming[machine_src[entry]] + machine_gain[entry]
            row[machine_dst[entry]] = max(row[machine_dst[entry]], gain)
        for index in range(size):
            place = order[index]
            for entry in range(out_offset[place], out_offset[place + 1]):
                if machine_label[entry] == 0:
                    gain = row[place] + machine_gain[entry]
                    row[machine_dst[entry]] = max(row[machine_dst[entry]], gain)


@kernel
def expand_alignment(length, order, insertion, deletion, word, position, weight):  # type: ignore[no-untyped-def]
    """Return the arcs of an alignment by target, and the states in the order of epsilon arcs.

    ``offset[2 * s]`` is where the epsilon arcs into state s begin, ``offset[2 * s + 1]``
    where those that read a word do.

    States are numbered as the cells of a row, and gains have ``deletion`` added on every
    step to the next column, as in :func:`forward_alignment`.
    """
    stride = row_stride(length)
    size = order * stride
    most = len(word) * order + (3 + order) * (length + 1)
    src = np.empty(most, np.int32)
    dst = np.empty(most, np.int32)
    label = np.empty(most, np.int32)
    gain = np.empty(most, np.float64)
    arcs = 0
    for entry in range(len(word)):
        for run in range(order):
            src[arcs] = cell_of(position[entry], run, stride, order)
            dst[arcs] = cell_of(position[entry] + 1, min(run + 1, order - 1), stride, order)
            label[arcs] = word[entry]
            gain[arcs] = (run + 1) * weight[entry] + deletion
            arcs += 1
    for place in range(length + 1):
        src[arcs], dst[arcs], label[arcs], gain[arcs] = place, place, -1, -insertion
        arcs += 1
        if place < length:
            src[arcs], dst[arcs], label[arcs], gain[arcs] = place, place + 1, -1, deletion
            arcs += 1
            src[arcs], dst[arcs], label[arcs], gain[arcs] = place, place + 1, 0, 0.0
            arcs += 1
        for run in range(1, order):
            src[arcs] = cell_of(place, run, stride, order)
            dst[arcs], label[arcs], gain[arcs] = place, 0, 0.0
            arcs += 1
    # epsilon arcs into a state before those that read a word
    offset = np.zeros(2 * size + 1, np.int32)
    for arc in range(arcs):
        dst[arc] = 2 * dst[arc] + (label[arc] != 0)
        offset[dst[arc] + 1] += 1
    for bucket in range(2 * size):
        offset[bucket + 1] += offset[bucket]
    place_of = offset[:-1].copy()
    by_src = np.empty(arcs, np.int32)
    by_label = np.empty(arcs, np.int32)
    by_gain = np.empty(arcs, np.float64)
    for arc in range(arcs):
        slot = place_of[dst[arc]]
        by_src[slot], by_label[slot], by_gain[slot] = src[arc], label[arc], gain[arc]
        place_of[dst[arc]] += 1
    states = np.empty(order * (length + 1), np.int32)
    filled = 0
    for place in range(length + 1):
        for run in range(order - 1, -1, -1):
            states[filled] = cell_of(place, run, stride, order)
            filled += 1
    return offset, by_src, by_label, by_gain, states
