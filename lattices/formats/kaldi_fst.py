"""Kaldi's lattices as OpenFst binaries: where one begins and ends, its columns, its symbols.

The layout, in 4-byte words after the header of :mod:`lattices.openfst_codec`: for each state
the final weight, the number of arcs (two words) and the arcs, each an input label, an output
label, a weight and a target. A weight is a graph cost and an acoustic cost; in compact
lattices the number of transition-ids and the ids themselves follow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lattices._native import kaldi_end, kaldi_states, symbols_end
from lattices.arrays import Array, FloatColumn, IntColumn
from lattices.errors import SpaceError
from lattices.formats.kaldi_costs import Costs
from lattices.openfst_bytes import ByteReader
from lattices.openfst_codec import FST_MAGIC, SymbolTable
from lattices.spaces import Lattice

FST_VERSION = 2
HAS_ISYMBOLS, HAS_OSYMBOLS = 1, 2
_LONGEST_KEY = 4096


@dataclass(frozen=True)
class Layout:
    """What an arc type says: whether weights have transition-ids, and how wide a cost is."""

    compact: bool
    cost: str

    @property
    def cost_words(self) -> int:
        return np.dtype(self.cost).itemsize // 4

    @property
    def wide(self) -> bool:
        return self.cost_words == 2


ARC_TYPES = {
    "compactlattice44": Layout(compact=True, cost="<f4"),
    "compactlattice84": Layout(compact=True, cost="<f8"),
    "lattice4": Layout(compact=False, cost="<f4"),
    "lattice8": Layout(compact=False, cost="<f8"),
}


@dataclass(frozen=True, eq=False)
class FoundFst:
    """One FST within bytes.

    Attributes
    ----------
    key : str
    layout : Layout
    start, states : int
        The start state, -1 if there is none, and how many states there are.
    tables : tuple of int
        Where symbol tables begin; the last one is that of the output side.
    body, end : int
        Where the states begin, and the place behind the last one.
    """

    key: str
    layout: Layout
    start: int
    states: int
    tables: tuple[int, ...]
    body: int
    end: int

    def symbols(self, reader: ByteReader) -> SymbolTable | None:
        """Return the table of the output side, or of the only side that has one."""
        if not self.tables:
            return None
        reader.place = self.tables[-1]
        return reader.symbols()


def read_key(reader: ByteReader, place: int) -> str:
    """Return the key that begins at a place in the bytes; the reader is then behind its blank.

    Examples
    --------
    >>> reader = ByteReader(b"utt-1 ...", "lat.ark")
    >>> read_key(reader, 0), reader.place
    ('utt-1', 6)
    """
    blank = reader.data.find(b" ", place, place + _LONGEST_KEY)
    if blank <= place:
        raise reader.error(f"no key before the blank after byte {place}, or no blank")
    reader.place = blank + 1
    key = reader.data[place:blank]
    if key.split() != [key]:
        raise reader.error(f"a line end or tab in the key after byte {place}")
    try:
        return key.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise reader.error(f"the key after byte {place} is not UTF-8") from problem


def read_fst(reader: ByteReader, key: str) -> FoundFst:
    """Return where the FST is that begins at the reader's place; all sizes are checked."""
    if reader.unpack("<i", "the magic number") != (FST_MAGIC,):
        raise reader.error(f"no OpenFst binary follows the key {key!r}")
    fst_type, arc_type = reader.string("the FST type"), reader.string("the arc type")
    version, flags, _, start, states, _ = reader.unpack("<iiQqqq", "the header")
    if fst_type != "vector" or version != FST_VERSION or arc_type not in ARC_TYPES:
        raise reader.error(
            f"{key!r} is a {fst_type!r} FST, version {version}, of arc type {arc_type!r}, expected "
            f"'vector', version {FST_VERSION}, of {', '.join(ARC_TYPES)}"
        )
    layout = ARC_TYPES[arc_type]
    data = np.frombuffer(reader.data, np.uint8)
    tables = []
    for flag in (HAS_ISYMBOLS, HAS_OSYMBOLS):
        if flags & flag:
            tables.append(reader.place)
            end = symbols_end(data, reader.place)
            if end is None:
                raise reader.error(f"a symbol table of {key!r} is damaged or cut short")
            reader.place = end
    if not 0 <= states <= reader.left // (8 * layout.cost_words + 8 + 4 * layout.compact):
        raise reader.error(
            f"{states} states announced in {key!r}, which {reader.left} bytes cannot hold"
        )
    if not -1 <= start < states:
        raise reader.error(f"start state {start} of {key!r}, which has {states} states")
    body = reader.place
    end = kaldi_end(data, body, states, layout.compact, layout.wide)
    if end is None:
        raise reader.error(f"the states of {key!r} have more arcs than the file holds")
    return FoundFst(key, layout, start, states, tuple(tables), body, end)


@dataclass(frozen=True, eq=False)
class FstColumns:
    """The arcs and final states of an FST.

    Attributes
    ----------
    src, dst, label, frames : int32 columns, one entry an arc
        ``label`` is that of the output side, ``frames`` the number of transition-ids.
    costs : Costs
    sound : bool
        Whether all costs are finite, or infinite together where a state is not final, and all
        targets are states.
    """

    src: IntColumn
    dst: IntColumn
    label: IntColumn
    frames: IntColumn
    costs: Costs
    sound: bool


def fst_columns(found: FoundFst, data: bytes) -> FstColumns:
    """Return the columns of an FST within some bytes."""
    layout = found.layout
    sound, src, dst, label, frames, *costs = kaldi_states(
        np.frombuffer(data, np.uint8), found.body, found.states, layout.compact, layout.wide
    )
    return FstColumns(
        src=src,
        dst=dst,
        label=label,
        frames=frames,
        costs=Costs(*costs),
        sound=sound,
    )


def fst_body(lattice: Lattice, label: IntColumn, costs: Costs, layout: Layout) -> Array:
    """Return the states and arcs as 4-byte words; there are no transition-ids."""
    states, arcs, ids = lattice.num_states, lattice.num_arcs, int(layout.compact)
    weight = 2 * layout.cost_words + ids
    per_state, per_arc = weight + 2, weight + 3
    words = np.zeros(per_state * states + per_arc * arcs, dtype="<i4")
    state_at = per_state * np.arange(states) + per_arc * lattice.out_offset[:-1].astype(np.int64)
    arc_at = per_state * (lattice.src.astype(np.int64) + 1) + per_arc * np.arange(arcs)
    two = np.arange(2 * layout.cost_words)
    words[np.add.outer(state_at, two)] = _bits(
        costs.final_graph, costs.final_acoustic, lattice, layout
    )
    words[state_at + weight] = np.diff(lattice.out_offset)
    if layout.compact:
        words[arc_at] = label
    words[arc_at + 1] = label
    words[np.add.outer(arc_at + 2, two)] = _bits(costs.graph, costs.acoustic, lattice, layout)
    words[arc_at + 2 + weight] = lattice.dst
    return words


def _bits(graph: FloatColumn, acoustic: FloatColumn, lattice: Lattice, layout: Layout) -> Array:
    """Return the bits of pairs of costs, one row a pair."""
    pairs = np.column_stack((graph, acoustic))
    with np.errstate(over="ignore"):
        stored = pairs.astype(layout.cost)
    if (np.isfinite(pairs) & ~np.isfinite(stored)).any():
        raise SpaceError(f"a cost of segment {lattice.id!r} is too large for single precision")
    return stored.view("<i4")
