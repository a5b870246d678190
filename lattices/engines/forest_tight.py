"""Links and jobs: what the search for the k best of forests writes on its way down.

An item is a cell of a node's table: the words of the node, from one machine state to another.
"""

from __future__ import annotations

import numpy as np

from lattices.arrays import inlined, kernel

NONE = -1
# A link leads from a state to another over one symbol, at the level of that symbol (from 1);
# its last field is the item of the tail that is read, or one of these.
LEVEL, FROM, TO, WHAT = range(4)
LINK_FIELDS = 4
WORD = -1
#: such a link leads from the last level to the item in ``TO``
DONE = -2
# A job is the target side of one edge, read from one state: its links are ``links[begin:end]``.
EDGE, STATE, BEGIN, END = range(4)
JOB_FIELDS = 4


@kernel
def room(rows, needed):  # type: ignore[no-untyped-def]
    """Return the array, or a longer copy if it has fewer than ``needed`` entries."""
    if needed <= len(rows):
        return rows
    grown = np.empty(max(needed, 2 * len(rows)), rows.dtype)
    grown[: len(rows)] = rows
    return grown


@inlined
def put_link(links, linked, level, source, target, what):  # type: ignore[no-untyped-def]
    """Write a link and return where the next one goes."""
    links[linked + LEVEL], links[linked + FROM] = level, source
    links[linked + TO], links[linked + WHAT] = target, what
    return linked + LINK_FIELDS


@kernel
def with_job(jobs, done, edge, state, begin, end):  # type: ignore[no-untyped-def]
    """Return the jobs, of which there are ``done``, and one more."""
    jobs = room(jobs, JOB_FIELDS * (done + 1))
    job = JOB_FIELDS * done
    jobs[job + EDGE], jobs[job + STATE] = edge, state
    jobs[job + BEGIN], jobs[job + END] = begin, end
    return jobs


@kernel
def chained_cells(newest, behind, cell_of):  # type: ignore[no-untyped-def]
    """Return the cells of an entry and of all that stand behind it, in ascending order."""
    count, entry = 0, newest
    while entry != NONE:
        count += 1
        entry = behind[entry]
    cells = np.empty(count, np.int64)
    entry = newest
    for index in range(count):
        cells[index] = cell_of[entry]
        entry = behind[entry]
    cells.sort()
    return cells
