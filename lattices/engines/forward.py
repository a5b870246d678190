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
    """Return how far apart the layers of a row are, for a reference of ``length`` words."""
    return (length // LANES + 1) * LANES


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
    earns ``deletion`` more.
    """
    stride = row_stride(length)
    size = order * stride
    number = rows.dtype.type
    worst = number(-np.inf)
    incoming = np.empty(stride, rows.dtype)
    rows[: states * size] = worst
    for state in range(states):
        base = state * size
        begin, end = in_offset[state], in_offset[state + 1]
        if state == start:
            rows[base] = number(0)
        elif begin == end:
            continue
        for place in range(stride):
            incoming[place] = worst
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
            for block in range(0, stride, LANES):
                for lane in range(LANES):
                    gain = rows[source + block + lane] + extra
                    other = incoming[block + lane]
                    incoming[block + lane] = gain if gain > other else other
            entry = head[label[arc]]
            while entry >= 0:
                here = source + position[entry]
                there = base + position[entry] + 1
                forgotten = there
                for run in range(order):
                    gain = rows[here + run * stride] + extra
                    gain += number(run + 1) * weight[entry] + deletion
                    if run + 1 < order:
                        there += stride
                    if gain > rows[there]:
                        rows[there] = gain
                        # a run may be forgotten at once, at no cost
                        if gain > rows[forgotten]:
                            rows[forgotten] = gain
                entry = follow[entry]
        before = running = worst
        for place in range(length + 1):
            inserted = incoming[place] - insertion
            gain = before + deletion
            gain = gain if gain > inserted else inserted
            other = rows[base + place]
            gain = gain if gain > other else other
            running = running if running > gain else gain
            rows[base + place] = running
            before = incoming[place]


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
            src[arcs] = run * stride + position[entry]
            dst[arcs] = min(run + 1, order - 1) * stride + position[entry] + 1
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
            src[arcs], dst[arcs], label[arcs], gain[arcs] = run * stride + place, place, 0, 0.0
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
            states[filled] = run * stride + place
            filled += 1
    return offset, by_src, by_label, by_gain, states
