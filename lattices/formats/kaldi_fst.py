"""Kaldi's lattices as OpenFst binaries: where one begins and ends, and its symbols.

The layout, in 4-byte words after the header of :mod:`lattices.openfst_codec`: for each state
the final weight, the number of arcs (two words) and the arcs, each an input label, an output
label, a weight and a target. A weight is a graph cost and an acoustic cost; in compact
lattices the number of transition-ids and the ids themselves follow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lattices.arrays import column, kernel
from lattices.formats.byte_kernels import byte_kernel
from lattices.openfst_bytes import SYMBOLS_MAGIC, ByteReader
from lattices.openfst_codec import FST_MAGIC, SymbolTable

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
    start, states, arcs : int
        The start state, -1 if there is none, and the numbers of states and arcs.
    tables : tuple of int
        Where symbol tables begin; the last one is that of the output side.
    body, end : int
        Where the states begin, and the place behind the last one.
    """

    key: str
    layout: Layout
    start: int
    states: int
    arcs: int
    tables: tuple[int, ...]
    body: int
    end: int

    def symbols(self, reader: ByteReader) -> SymbolTable | None:
        """Return the table of the output side, or of the only side that has one."""
        if not self.tables:
            return None
        data = reader.data
        known, bounds, keys = _symbol_places(
            column(np.frombuffer(data, np.uint8), np.uint8), self.tables[-1]
        )
        try:
            words = [data[begin:end].decode("utf-8") for begin, end in bounds.tolist()]
        except UnicodeDecodeError:
            known = False
        if not known:
            # this reader takes longer, but can say what is wrong
            reader.place = self.tables[-1]
            return reader.symbols()
        return dict(zip(keys.tolist(), words, strict=True))


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
    data = column(np.frombuffer(reader.data, np.uint8), np.uint8)
    tables = []
    for flag in (HAS_ISYMBOLS, HAS_OSYMBOLS):
        if flags & flag:
            tables.append(reader.place)
            end = _behind_symbols(data, reader.place)
            if end < 0:
                raise reader.error(f"a symbol table of {key!r} is damaged or cut short")
            reader.place = end
    if not 0 <= states <= reader.left // (8 * layout.cost_words + 8 + 4 * layout.compact):
        raise reader.error(
            f"{states} states announced in {key!r}, which {reader.left} bytes cannot hold"
        )
    if not -1 <= start < states:
        raise reader.error(f"start state {start} of {key!r}, which has {states} states")
    body = reader.place
    end, arcs = _behind_states(data, body, states, layout.compact, layout.cost_words)
    if end < 0:
        raise reader.error(f"the states of {key!r} have more arcs than the file holds")
    return FoundFst(key, layout, start, states, arcs, tuple(tables), body, end)


@byte_kernel
def _int32(data, place):  # type: ignore[no-untyped-def]
    """Return the number in four bytes, which need not be aligned."""
    value = np.int64(data[place]) | np.int64(data[place + 1]) << 8
    value |= np.int64(data[place + 2]) << 16 | np.int64(data[place + 3]) << 24
    return value - ((value >> 31) << 32)


@byte_kernel
def _behind_symbols(data, place):  # type: ignore[no-untyped-def]
    """Return the place behind a symbol table, -1 if the bytes end before."""
    size = len(data)
    if place + 8 > size or _int32(data, place + 4) < 0:
        return -1
    place += 8 + _int32(data, place + 4)
    if place + 16 > size or _int32(data, place + 12) != 0:
        return -1
    count = _int32(data, place + 8)
    place += 16
    for _ in range(count):
        if place + 12 > size or _int32(data, place) < 0:
            return -1
        place += 12 + _int32(data, place)
    return place if place <= size else -1


@kernel
def _symbol_places(data, place):  # type: ignore[no-untyped-def]
    """Return whether this is a symbol table, where the symbols stand, and their keys.

    All sizes in it are those that :func:`_behind_symbols` has found to be right.
    """
    known = _int32(data, place) == SYMBOLS_MAGIC
    place += 8 + _int32(data, place + 4)
    count = _int32(data, place + 8)
    if count < 0 or not known:
        known, count = False, 0
    bounds, keys = np.empty((count, 2), np.int64), np.empty(count, np.int64)
    place += 16
    for symbol in range(count):
        size = _int32(data, place)
        bounds[symbol, 0] = place + 4
        place += 4 + size
        bounds[symbol, 1] = place
        keys[symbol] = _int32(data, place + 4) << 32 | _int32(data, place) & 0xFFFFFFFF
        place += 8
    return known, bounds, keys


@byte_kernel
def _behind_states(data, place, states, compact, cost_words):  # type: ignore[no-untyped-def]
    """Return the place behind the states, -1 if the bytes end before, and how many arcs."""
    size, total = len(data), 0
    costs = 8 * cost_words
    for _ in range(states):
        place += costs
        if compact:
            if place + 4 > size or _int32(data, place) < 0:
                return -1, total
            place += 4 + 4 * _int32(data, place)
        # the upper half of the 64-bit count is zero in any file that fits in memory
        if place + 8 > size or _int32(data, place + 4) != 0 or _int32(data, place) < 0:
            return -1, total
        arcs = _int32(data, place)
        place += 8
        if compact:
            for _ in range(arcs):
                place += 8 + costs
                if place + 4 > size or _int32(data, place) < 0:
                    return -1, total
                place += 8 + 4 * _int32(data, place)
        else:
            place += (12 + costs) * arcs
        if place > size:
            return -1, total
        total += arcs
    return place, total
