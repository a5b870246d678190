"""An automaton with OpenFst's labels and weights, in columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.errors import SpaceError

#: arc types that can be read and written, and how their weights are stored
WEIGHT_TYPES = {"standard": "<f4", "log": "<f4", "log64": "<f8"}

SymbolTable = Mapping[int, str]


@dataclass(frozen=True, eq=False)
class FstColumns:
    """An automaton with OpenFst's weights, in columns; the arcs may stand in any order.

    Attributes
    ----------
    src, ilabel, olabel, dst : int32 columns, one entry an arc
        Label 0 is epsilon.
    weight : float64 column, one entry an arc
        Costs: smaller is better.
    final : float64 column, one entry a state
        The cost of ending there, ``+inf`` where a path may not end.
    start : int
        The initial state, -1 if there is none.
    """

    src: IntColumn
    ilabel: IntColumn
    olabel: IntColumn
    weight: FloatColumn
    dst: IntColumn
    final: FloatColumn
    start: int = 0

    def __post_init__(self) -> None:
        """Turn the columns into read-only arrays of their types."""
        put = self.__dict__.__setitem__
        for name in ("src", "ilabel", "olabel", "dst"):
            put(name, ints(getattr(self, name)))
        for name in ("weight", "final"):
            put(name, floats(getattr(self, name)))
        put("start", int(self.start))

    @property
    def num_states(self) -> int:
        """How many states there are."""
        return len(self.final)

    @property
    def num_arcs(self) -> int:
        """How many arcs there are."""
        return len(self.src)


@dataclass(frozen=True, eq=False)
class DecodedFst(FstColumns):
    """Columns that came out of a file, with what else it said.

    Attributes
    ----------
    arc_type : str
        One of ``standard``, ``log``, ``log64``.
    isymbols, osymbols : mapping of int to str, or None
        The attached symbol tables.
    """

    arc_type: str = "standard"
    isymbols: SymbolTable | None = None
    osymbols: SymbolTable | None = None


def check_columns(columns: FstColumns) -> None:
    """Raise a SpaceError if the columns disagree in length or name a state that is not there."""
    arcs = columns.num_arcs
    for name in ("ilabel", "olabel", "weight", "dst"):
        if getattr(columns, name).shape != (arcs,):
            raise SpaceError(f"{len(getattr(columns, name))} entries in {name!r} for {arcs} arcs")
    check_states(columns)


def check_states(columns: FstColumns) -> None:
    """Raise a SpaceError if the start or an arc names a state that is not there."""
    states = columns.num_states
    known = f"0..{states - 1}" if states else "any: there are no states"
    if not -1 <= columns.start < states:
        raise SpaceError(f"start state {columns.start} is not one of {known}")
    for what, states_named in (("source", columns.src), ("target", columns.dst)):
        if len(states_named) and (states_named.min() < 0 or states_named.max() >= states):
            arc = int(np.flatnonzero((states_named < 0) | (states_named >= states))[0])
            raise SpaceError(f"{what} state {states_named[arc]} of arc {arc} is not one of {known}")
