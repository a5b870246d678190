"""The product of a forest with a machine, as a hypergraph, from the links that were found."""

from __future__ import annotations

import numpy as np

from lattices.arrays import kernel
from lattices.engines.forest_tight import (
    BEGIN,
    DONE,
    EDGE,
    END,
    FROM,
    JOB_FIELDS,
    LEVEL,
    LINK_FIELDS,
    NONE,
    STATE,
    TO,
    WHAT,
    WORD,
    room,
)


@kernel
def product_edges(  # type: ignore[no-untyped-def]
    jobs, links, earned, items, head, score, symbol, symbol_offset, size, stride, offset
):
    """Return the hypergraph of the links: its nodes, the root, and its edges in columns.

    Nodes are numbered from ``offset``: bottom-up, for every node of the forest the states
    between the symbols of its jobs, then its items. An edge has one or two tails, the state
    before and the item that is read, and at most one word, the last of its target side. The
    model score of an edge of the forest stands where its job begins, so that scores are added
    up in the order of the target side, as :func:`~.forest_tracing.choose_derivation` does.

    Returns
    -------
    nodes, root : int
    rows : int32 array
        For each edge: head, first tail, second tail, word, origin; -1 where there is none.
    gain, model : float64 arrays
    """
    longest = 0
    for edge in range(len(head)):
        longest = max(longest, symbol_offset[edge + 1] - symbol_offset[edge])
    count = len(jobs) // JOB_FIELDS
    total = count
    for job in range(count):
        total += (jobs[job * JOB_FIELDS + END] - jobs[job * JOB_FIELDS + BEGIN]) // LINK_FIELDS
    rows = np.full((total, 5), NONE, np.int32)
    gain, model = np.zeros(total), np.zeros(total)
    item_node = np.full(items, NONE, np.int32)
    dot = np.full((longest + 1) * size, NONE, np.int32)
    nodes, filled = offset, 0
    ending = np.empty(256, np.int64)
    job = count - 1
    while job >= 0:
        node = head[jobs[job * JOB_FIELDS + EDGE]]
        group_end = job
        while group_end >= 0 and head[jobs[group_end * JOB_FIELDS + EDGE]] == node:
            group_end -= 1
        endings = 0
        # in the order in which they were found, so that equals go to the smaller edge
        for member in range(group_end + 1, job + 1):
            edge, state = jobs[member * JOB_FIELDS + EDGE], jobs[member * JOB_FIELDS + STATE]
            levels = symbol_offset[edge + 1] - symbol_offset[edge] + 1
            dot[: levels * size] = NONE
            dot[state] = dot[state % stride] = nodes
            rows[filled, 0] = nodes
            model[filled] = score[edge]
            nodes += 1
            filled += 1
            link = jobs[member * JOB_FIELDS + END]
            while link > jobs[member * JOB_FIELDS + BEGIN]:
                link -= LINK_FIELDS
                level, what = links[link + LEVEL], links[link + WHAT]
                source = dot[(level - 1) * size + links[link + FROM]]
                # rounding may have cut all that leads to a link which only just reached the bound
                if source == NONE or (what >= 0 and item_node[what] == NONE):
                    continue
                rows[filled, 1] = source
                if what == DONE:
                    # items are numbered after all that they are made of
                    rows[filled, 0], rows[filled, 4] = links[link + TO], edge
                    ending = room(ending, endings + 1)
                    ending[endings] = filled
                    endings += 1
                else:
                    target = level * size + links[link + TO]
                    if dot[target] == NONE:
                        dot[target] = nodes
                        nodes += 1
                    rows[filled, 0] = dot[target]
                    if what == WORD:
                        rows[filled, 3] = symbol[symbol_offset[edge] + level - 1]
                    else:
                        rows[filled, 2] = item_node[what]
                gain[filled] = earned[link // LINK_FIELDS]
                filled += 1
        for index in range(endings):
            item = rows[ending[index], 0]
            if item_node[item] == NONE:
                item_node[item] = nodes
                nodes += 1
            rows[ending[index], 0] = item_node[item]
        job = group_end
    return nodes, item_node[0], rows[:filled], gain[:filled], model[:filled]
