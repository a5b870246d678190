"""Forests from rows of Arrow tables; see :mod:`lattices.formats.arrow.schema` for the schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lattices.arrays import IntColumn, ints
from lattices.errors import SpaceError
from lattices.formats.arrow.conforming import ListColumn
from lattices.spaces import Forest
from lattices.vocabulary import EPSILON

#: the lists that forests alone have, but for words
LISTS = ("head", "tail", "tail_offset", "slot", "span")
#: the lists that a forest may not lack
NEEDED = ("label", "score", "offset", "head", "tail", "tail_offset", "slot")
NODES_WITHOUT_EDGES = 1_000_000


def forest_of(
    lists: Mapping[str, ListColumn],
    row: int,
    nodes: int,
    root: int | None,
    fields: Mapping[str, Any],
) -> Forest:
    """Return the forest of a row, checked; ``fields`` is what all kinds of segments have.

    Raises
    ------
    SpaceError
        If the columns are no forest.
    """
    head = lists["head"].of(row)
    if not 0 < nodes <= NODES_WITHOUT_EDGES + 2 * len(head):
        # one wrong bit must not ask for all the memory there is
        raise SpaceError(f"{nodes} nodes for {len(head)} edges")
    spans = None
    if lists["span"].present[row]:
        flat = lists["span"].of(row)
        if len(flat) != 2 * nodes:
            raise SpaceError(f"{len(flat)} numbers in 'span', expected two for each node")
        spans = flat.reshape(nodes, 2)
    return Forest(
        symbol=_symbols(lists["label"].of(row), lists["slot"].of(row)),
        symbol_offset=lists["offset"].of(row),
        head=head,
        tail=lists["tail"].of(row),
        tail_offset=lists["tail_offset"].of(row),
        num_nodes=nodes,
        root=nodes - 1 if root is None else root,
        categories=lists["category"].texts(row) if lists["category"].present[row] else (),
        spans=spans,
        **fields,
    )


def _symbols(label: IntColumn, slot: IntColumn) -> IntColumn:
    """Return words and slots in one column, as :class:`lattices.Forest` has them."""
    places = np.flatnonzero(label == EPSILON)
    if len(places) != len(slot):
        raise SpaceError(f"{len(slot)} in 'slot', but {len(places)} empty words in 'label'")
    if len(slot) and slot.min() < 0:
        raise SpaceError(f"{slot.min()} in 'slot', expected the index of a tail")
    symbol = label.copy()
    symbol[places] = -1 - slot
    return ints(symbol)
