"""Checking all the segments of a record batch at once.

Lists of a batch stand one after the other in one column; ``*_at`` are the places where they
begin, one more than there are rows. A place is where the file says it is, but it was
checked before (``RecordBatch.validate(full=True)``): places ascend and are within the column.
"""

from __future__ import annotations

import numpy as np

from lattices.arrays import kernel


@kernel
def normal_lattices(  # type: ignore[no-untyped-def]
    wanted, label_at, src_at, src, dst_at, dst, score_at, score, final_at, final, start
):
    """Tell which rows are lattices in the normal form of :class:`lattices.Lattice`.

    Returns
    -------
    normal : bool array, one entry a row
    in_arc : int32 array, parallel to ``src``
    in_offset, out_offset : int32 arrays
        Row ``r`` has its part from ``final_at[r] + r`` up to ``final_at[r + 1] + r + 1``.
    """
    rows = len(wanted)
    normal = np.zeros(rows, np.bool_)
    in_arc = np.empty(len(src), np.int32)
    in_offset = np.zeros(len(final) + rows, np.int32)
    out_offset = np.zeros(len(final) + rows, np.int32)
    for row in range(rows):
        arcs = src_at[row + 1] - src_at[row]
        states = final_at[row + 1] - final_at[row]
        if (
            not wanted[row]
            or arcs != dst_at[row + 1] - dst_at[row]
            or arcs != score_at[row + 1] - score_at[row]
            or arcs != label_at[row + 1] - label_at[row]
            or not 0 <= start[row] < states
        ):
            continue
        ending = False
        good = True
        for place in range(final_at[row], final_at[row + 1]):
            ending |= np.isfinite(final[place])
            good &= np.isfinite(final[place]) or final[place] == -np.inf
        if not (good and ending):
            continue
        sources = src[src_at[row] : src_at[row + 1]]
        targets = dst[dst_at[row] : dst_at[row + 1]]
        scores = score[score_at[row] : score_at[row + 1]]
        base = final_at[row] + row
        entering = in_offset[base : base + states + 1]
        leaving = out_offset[base : base + states + 1]
        for arc in range(arcs):
            good &= 0 <= sources[arc] < targets[arc] < states and np.isfinite(scores[arc])
            if arc and good:
                same = sources[arc - 1] == sources[arc]
                good &= sources[arc - 1] < sources[arc] or (
                    same and targets[arc - 1] <= targets[arc]
                )
            if not good:
                break
            leaving[sources[arc] + 1] += 1
            entering[targets[arc] + 1] += 1
        if not good:
            continue
        for state in range(states):
            leaving[state + 1] += leaving[state]
            entering[state + 1] += entering[state]
        free = entering[:-1].copy()
        for arc in range(arcs):
            in_arc[src_at[row] + free[targets[arc]]] = arc
            free[targets[arc]] += 1
        normal[row] = True
    return normal, in_arc, in_offset, out_offset


@kernel
def sound_matrices(  # type: ignore[no-untyped-def]
    wanted, height_at, width_at, offset_at, offset, index_at, index, value_at, value
):
    """Tell which rows are sparse matrices as scipy wants them: sorted, without repeated entries.

    The matrix of a row is as high as its list at ``height_at`` is long, and as wide as that
    at ``width_at``.
    """
    rows = len(wanted)
    sound = np.zeros(rows, np.bool_)
    for row in range(rows):
        height = height_at[row + 1] - height_at[row]
        width = width_at[row + 1] - width_at[row]
        size = index_at[row + 1] - index_at[row]
        if (
            not wanted[row]
            or offset_at[row + 1] - offset_at[row] != height + 1
            or value_at[row + 1] - value_at[row] != size
        ):
            continue
        bounds = offset[offset_at[row] : offset_at[row + 1]]
        columns = index[index_at[row] : index_at[row + 1]]
        values = value[value_at[row] : value_at[row + 1]]
        good = bounds[0] == 0 and bounds[height] == size
        for line in range(height):
            good &= 0 <= bounds[line] <= bounds[line + 1] <= size
            if not good:
                break
            last = -1
            for place in range(bounds[line], bounds[line + 1]):
                good &= last < columns[place] < width and np.isfinite(values[place])
                last = columns[place]
        sound[row] = good
    return sound
