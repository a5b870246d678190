"""Moses' SLF (``-output-search-graph-slf``): links without nodes, and running totals.

``OutputSearchGraphAsSLF`` in ``moses/Manager.cpp`` numbers the nodes without writing them, starts
in node 0 and ends in the last one. It gives every hypothesis a node of its own, also those that
were recombined into others, from which nothing goes on: so the lattice is a tree but for its end,
with dead ends in it, and has far fewer sentences than the search graph (``moses-graph``) has.

``x1``, ``x2`` and so on are totals since the start of the sentence, on the first word of a phrase;
its other words have zeros. What a phrase adds is its total less that of the phrase before it, and
that is what a link has here, so that the header's formula gives the score of a path.

A hypothesis without words has no link, and the node of another; there is no telling where.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lattices.arrays import Array, FloatColumn, floats
from lattices.formats.htk.lines import Tables

_NAME = "Sentence_"


def is_search_graph(tables: Tables) -> bool:
    """Tell whether Moses wrote it: nodes that are announced, but not there."""
    named = tables.header.get("UTTERANCE", "").startswith(_NAME)
    return named and "NODES" in tables.header and not len(tables.nodes)


def boundaries(tables: Tables, index: Mapping[int, int]) -> tuple[int, int]:
    """Return the start and the end, which are the first number and the last."""
    last = tables.header_number("NODES", 0.0) - 1
    if 0 not in index or last not in index:
        raise tables.error(f"no link at node 0 or none at node {last:g}, the start and the end")
    return index[0], index[int(last)]


def differences(
    tables: Tables,
    columns: Mapping[str, FloatColumn],
    src: Array,
    dst: Array,
    start: int,
    end: int,
) -> dict[str, FloatColumn]:
    """Return what each link adds, given totals; in time linear in the links."""
    if not columns:
        return {}
    totals = np.nan_to_num(np.stack(list(columns.values()), axis=1), nan=0.0)
    filled = np.count_nonzero(totals, axis=1) > 0
    # the link that has the total of a node, the one that comes before all links at the start
    holder = {start: len(totals)}
    before = []
    for link, (tail, head) in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        if tail not in holder or (head in holder and head != end):
            raise tables.error(
                "not a tree whose links come in order, so totals say nothing of links: Moses has "
                "numbered a node twice, or the file is damaged",
                tables.links.lines[link],
            )
        before.append(holder[tail])
        if head != end:
            holder[head] = link if filled[link] else holder[tail]
    known = np.vstack([totals, np.zeros(len(columns))])
    added = np.where(filled[:, np.newaxis], totals - known[before], 0.0)
    return {name: floats(added[:, place]) for place, name in enumerate(columns)}
