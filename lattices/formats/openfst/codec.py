"""OpenFst's binary files as columns: no OpenFst is needed to read or to write them.

A whole automaton crosses the border in a handful of array operations, never arc by arc.
Weights are OpenFst's own here: costs, smaller is better, ``+inf`` for "not final". The
sign is flipped in :mod:`lattices.interop` and nowhere else.

The layout, little-endian throughout (a string is an ``int32`` length and its bytes):

=============  =======================================================================
header         ``int32`` magic, string FST type, string arc type, ``int32`` version,
               ``int32`` flags (1 input symbols, 2 output symbols, 4 aligned),
               ``uint64`` properties, ``int64`` start, ``int64`` states, ``int64`` arcs
symbol table   ``int32`` magic, string name, ``int64`` next free key, ``int64`` size,
               then that many of string symbol, ``int64`` key
``vector``     for each state: final weight, ``int64`` number of arcs, then the arcs:
               ``int32`` input label, ``int32`` output label, weight, ``int32`` target
``const``      an array of states (final weight, first arc, number of arcs, input and
               output epsilons, all ``uint32``), then an array of arcs, both as C
               structures with their padding, on 16-byte boundaries if aligned
=============  =======================================================================
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from lattices._native import fst_states, symbols_at
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.errors import FormatError, OptionError, SpaceError

#: arc types that can be read and written, and how their weights are stored
WEIGHT_TYPES = {"standard": "<f4", "log": "<f4", "log64": "<f8"}

SymbolTable = Mapping[int, str]


class FstColumns:
    """An automaton with OpenFst's weights, in columns; the arcs may stand in any order.

    Label 0 is epsilon, a weight is a cost, and a state of final cost ``+inf`` is not final.
    """

    def __init__(
        self, src: Any, ilabel: Any, olabel: Any, weight: Any, dst: Any, final: Any, start: int = 0
    ) -> None:
        self.src, self.ilabel, self.olabel, self.dst = map(ints, (src, ilabel, olabel, dst))
        self.weight, self.final, self.start = floats(weight), floats(final), int(start)

    @property
    def num_states(self) -> int:
        """How many states there are."""
        return len(self.final)

    @property
    def num_arcs(self) -> int:
        """How many arcs there are."""
        return len(self.src)


class DecodedFst(FstColumns):
    """Columns that came out of a file, with its arc type and symbol tables."""

    def __init__(
        self,
        arc_type: str,
        isymbols: SymbolTable | None,
        osymbols: SymbolTable | None,
        **columns: Any,
    ) -> None:
        super().__init__(**columns)
        self.arc_type, self.isymbols, self.osymbols = arc_type, isymbols, osymbols


def with_labels(columns: FstColumns, numbers: IntColumn) -> FstColumns:
    """Return an acceptor with other numbers for its labels, and arcs sorted by them."""
    label = numbers[columns.ilabel]
    order = np.lexsort((label, columns.src))
    return FstColumns(
        src=columns.src[order],
        ilabel=label[order],
        olabel=label[order],
        weight=columns.weight[order],
        dst=columns.dst[order],
        final=columns.final,
        start=columns.start,
    )


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


SYMBOLS_MAGIC = 2125658996
_ALIGNMENT = 16


def is_symbol_table(data: bytes) -> bool:
    """Tell whether the bytes begin like a binary symbol table."""
    return data.startswith(struct.pack("<i", SYMBOLS_MAGIC))


def decode_symbols(data: bytes, path: str = "") -> SymbolTable:
    """Return the symbols, by number, of OpenFst's binary symbol table."""
    reader = ByteReader(data, path)
    table = reader.symbols()
    if reader.left:
        raise reader.error(f"{reader.left} bytes follow the symbol table")
    return table


def encode_string(text: str) -> bytes:
    """Return a string's length and its bytes."""
    data = text.encode("utf-8")
    return struct.pack("<i", len(data)) + data


def encode_symbols(table: SymbolTable) -> bytes:
    """Return the bytes of a symbol table."""
    entries = sorted(table.items())
    head = struct.pack("<i", SYMBOLS_MAGIC) + encode_string("words")
    parts = [head, struct.pack("<qq", entries[-1][0] + 1, len(entries))]
    parts += [encode_string(symbol) + struct.pack("<q", key) for key, symbol in entries]
    return b"".join(parts)


class ByteReader:
    """A place in the bytes of one file; never goes past their end."""

    def __init__(self, data: bytes, path: str) -> None:
        self.data, self.path, self.place = data, path, 0

    @property
    def left(self) -> int:
        """How many bytes are left."""
        return len(self.data) - self.place

    def error(self, problem: str) -> FormatError:
        """Return an error that names the file and the place."""
        return FormatError(f"{problem} (byte {self.place})", self.path)

    def _take(self, size: int, what: str) -> int:
        if not 0 <= size <= self.left:
            raise self.error(f"{what} would take {size} bytes where {self.left} are left")
        place = self.place
        self.place += size
        return place

    def unpack(self, layout: str, what: str) -> tuple[Any, ...]:
        """Read numbers by a :mod:`struct` layout."""
        return struct.unpack_from(layout, self.data, self._take(struct.calcsize(layout), what))

    def string(self, what: str) -> str:
        """Read a length and as many bytes of UTF-8."""
        (size,) = self.unpack("<i", what)
        place = self._take(size, what)
        try:
            return self.data[place : place + size].decode("utf-8")
        except UnicodeDecodeError as problem:
            raise self.error(f"{what} is not UTF-8: {problem.reason}") from problem

    def symbols(self) -> dict[int, str]:
        """Read a symbol table."""
        found = symbols_at(np.frombuffer(self.data, np.uint8), self.place, SYMBOLS_MAGIC)
        if found is not None:
            symbols, keys, self.place = found
            return dict(zip(keys.tolist(), symbols, strict=True))
        # what is wrong with it takes longer to say
        magic, name_size = self.unpack("<ii", "a symbol table")
        if magic != SYMBOLS_MAGIC:
            raise self.error("a symbol table does not begin with its magic number")
        self._take(name_size, "the name of a symbol table")
        _, size = self.unpack("<qq", "a symbol table")
        if not 0 <= size <= self.left // 12:
            raise self.error(f"{size} symbols announced, which {self.left} bytes cannot hold")
        table: dict[int, str] = {}
        for _ in range(size):
            symbol = self.string("a symbol")
            (key,) = self.unpack("<q", "the key of a symbol")
            table[key] = symbol
        return table

    def align(self, wanted: bool) -> None:
        """Skip to the next boundary, if that is wanted."""
        if wanted:
            self._take(-self.place % _ALIGNMENT, "padding")

    def array(self, dtype: Any, count: int) -> Array:
        """Read ``count`` numbers or structures."""
        dtype = np.dtype(dtype)
        place = self._take(count * dtype.itemsize, "an array")
        return np.frombuffer(self.data, dtype, count, place)


FST_MAGIC = 2125659606
_VECTOR_VERSION = 2
_CONST_ALIGNED_VERSION, _CONST_VERSION = 1, 2
_HAS_ISYMBOLS, _HAS_OSYMBOLS, _IS_ALIGNED = 1, 2, 4
_EXPANDED_MUTABLE = 0x3
_KALDI_ARCS = ("lattice", "compactlattice")


def encode(
    columns: FstColumns,
    arc_type: str = "standard",
    isymbols: SymbolTable | None = None,
    osymbols: SymbolTable | None = None,
) -> bytes:
    """Return the automaton as the bytes of an OpenFst ``vector`` FST; arcs keep their order.

    Only ``log64`` has weights in double precision. Cost: O(states + arcs).
    """
    if arc_type not in WEIGHT_TYPES:
        raise OptionError(f"arc_type={arc_type!r}, expected one of {', '.join(WEIGHT_TYPES)}")
    check_columns(columns)
    columns = _group_by_source(columns)
    weight = _convert_weights(columns.weight, arc_type, "arc")
    final = _convert_weights(columns.final, arc_type, "state")
    flags = (_HAS_ISYMBOLS if isymbols else 0) | (_HAS_OSYMBOLS if osymbols else 0)
    header = b"".join(
        (
            struct.pack("<i", FST_MAGIC),
            encode_string("vector"),
            encode_string(arc_type),
            struct.pack("<iiQ", _VECTOR_VERSION, flags, _properties(columns, weight, final)),
            # OpenFst itself leaves the number of arcs of a vector FST at 0
            struct.pack("<qqq", columns.start, columns.num_states, 0),
            encode_symbols(isymbols) if isymbols else b"",
            encode_symbols(osymbols) if osymbols else b"",
        )
    )
    return header + _vector_body(columns, weight, final).tobytes()


def decode(data: bytes, path: str = "") -> DecodedFst:
    """Return the columns of a ``vector`` or ``const`` FST of the three common arc types.

    Sizes that the file announces are checked before anything is allocated. Cost: O(len(data)).
    """
    if not is_fst(data):
        raise FormatError("the file does not begin with OpenFst's magic number", path)
    reader = ByteReader(data, path)
    reader.unpack("<i", "the magic number")
    fst_type = reader.string("the FST type")
    arc_type = reader.string("the arc type")
    version, flags, _, start, states, arcs = reader.unpack("<iiQqqq", "the header")
    _check_type(fst_type, arc_type, version, path)
    begin = reader.place
    isymbols = osymbols = reader.symbols() if flags & _HAS_ISYMBOLS else None
    table = data[begin : reader.place]
    if flags & _HAS_OSYMBOLS and table and data.startswith(table, reader.place):
        # an acceptor has one table twice
        reader.place += len(table)
    else:
        osymbols = reader.symbols() if flags & _HAS_OSYMBOLS else None
    if fst_type == "vector":
        body = _vector_columns(reader, arc_type, states)
    else:
        aligned = bool(flags & _IS_ALIGNED) or version == _CONST_ALIGNED_VERSION
        body = _const_columns(reader, arc_type, states, arcs, aligned)
    for what in ("weight", "final"):
        if np.isnan(body[what]).any():
            raise reader.error(f"entry {int(np.isnan(body[what]).argmax())} of {what!r} is NaN")
    result = DecodedFst(
        **body, start=start, arc_type=arc_type, isymbols=isymbols, osymbols=osymbols
    )
    try:
        check_states(result)
    except SpaceError as problem:
        raise FormatError(str(problem), path) from problem
    return result


def is_fst(data: bytes) -> bool:
    """Tell whether the bytes begin like a binary FST."""
    return data.startswith(struct.pack("<i", FST_MAGIC))


def _check_type(fst_type: str, arc_type: str, version: int, path: str) -> None:
    if arc_type not in WEIGHT_TYPES:
        kaldi = arc_type.rstrip("0123456789") in _KALDI_ARCS
        hint = "; Kaldi lattices come in archives, format kaldi-binary" if kaldi else ""
        raise FormatError(
            f"arc type {arc_type!r}, expected one of {', '.join(WEIGHT_TYPES)}{hint}", path
        )
    versions = {
        "vector": (_VECTOR_VERSION,),
        "const": (_CONST_ALIGNED_VERSION, _CONST_VERSION),
    }
    if fst_type not in versions:
        raise FormatError(f"FST type {fst_type!r}, expected vector or const", path)
    if version not in versions[fst_type]:
        raise FormatError(f"version {version} of {fst_type} FSTs cannot be read", path)


def _group_by_source(columns: FstColumns) -> FstColumns:
    if (columns.src[1:] >= columns.src[:-1]).all():
        return columns
    # numpy sorts 16-bit integers by radix, ten times faster
    narrow = columns.src.astype(np.uint16) if columns.num_states <= 2**16 else columns.src
    order = np.argsort(narrow, kind="stable")
    per_arc = ("src", "ilabel", "olabel", "weight", "dst")
    return FstColumns(
        **{name: getattr(columns, name)[order] for name in per_arc},
        final=columns.final,
        start=columns.start,
    )


def _convert_weights(weight: FloatColumn, arc_type: str, what: str) -> Array:
    """Return the weights in the type they are stored in, or say which does not fit."""
    with np.errstate(over="ignore"):
        stored = weight.astype(WEIGHT_TYPES[arc_type])
    bad = (stored != weight) & ~np.isfinite(stored) | (weight == -np.inf)
    if bad.any():
        index = int(np.flatnonzero(bad)[0])
        raise SpaceError(
            f"{what} {index} has weight {weight[index]}, which arc type {arc_type!r} cannot hold"
        )
    return stored


def _properties(columns: FstColumns, weight: Array, final: Array) -> int:
    """Return the property bits that a glance at the columns settles.

    A graph that is known to be sorted spares OpenFst the search for an order.
    """
    ilabel, olabel = columns.ilabel, columns.olabel
    same_source = columns.src[1:] == columns.src[:-1]

    def pair(holds: Any, yes: int, no: int) -> int:
        return yes if holds else no

    def is_unsorted(label: IntColumn) -> bool:
        return bool((same_source & (label[1:] < label[:-1])).any())

    bits = _EXPANDED_MUTABLE
    bits |= pair((ilabel == olabel).all(), 0x10000, 0x20000)
    bits |= pair(((ilabel == 0) & (olabel == 0)).any(), 0x400000, 0x800000)
    bits |= pair((ilabel == 0).any(), 0x1000000, 0x2000000)
    bits |= pair((olabel == 0).any(), 0x4000000, 0x8000000)
    bits |= pair(is_unsorted(ilabel), 0x20000000, 0x10000000)
    bits |= pair(is_unsorted(olabel), 0x80000000, 0x40000000)
    weighted = ((weight != 0) & (weight < np.inf)).any() or ((final != 0) & (final < np.inf)).any()
    bits |= pair(weighted, 0x100000000, 0x200000000)
    # in topological order there are no cycles, neither anywhere nor through the start
    acyclic = 0x800000000 | 0x2000000000 | 0x4000000000 | 0x800000000000
    return bits | pair((columns.dst > columns.src).all(), acyclic, 0x8000000000)


def _vector_body(columns: FstColumns, weight: Array, final: Array) -> Array:
    """Return the states and arcs as 4-byte words: every field is one word or two."""
    per_weight = weight.itemsize // 4
    per_state, per_arc = per_weight + 2, per_weight + 3
    states, arcs = columns.num_states, columns.num_arcs
    words = np.zeros(states * per_state + arcs * per_arc, dtype="<i4")
    count = np.bincount(columns.src, minlength=states).astype("<i4")
    state_at = np.arange(states) * per_state + (np.cumsum(count) - count) * per_arc
    arc_at = (columns.src + np.int64(1)) * per_state + np.arange(arcs) * per_arc
    final_words = final.view("<i4").reshape(states, per_weight)
    weight_words = weight.view("<i4").reshape(arcs, per_weight)
    for word in range(per_weight):
        words[state_at + word] = final_words[:, word]
        words[arc_at + 2 + word] = weight_words[:, word]
    # the upper half of the 64-bit count stays zero
    words[state_at + per_weight] = count
    words[arc_at] = columns.ilabel
    words[arc_at + 1] = columns.olabel
    words[arc_at + per_arc - 1] = columns.dst
    return words


def _vector_columns(reader: ByteReader, arc_type: str, announced: int) -> dict[str, Array]:
    wide = WEIGHT_TYPES[arc_type] == "<f8"
    bound = reader.left // (16 if wide else 12)
    if not -1 <= announced <= bound:
        raise reader.error(f"{announced} states announced, which {reader.left} bytes cannot hold")
    data = np.frombuffer(reader.data, np.uint8)
    # a writer that could not go back to its header leaves -1: states up to the end
    found = fst_states(data, reader.place, announced, wide)
    complete, states, end, src, ilabel, olabel, weight, dst, final = found
    reader.place = len(data)
    if not complete:
        raise reader.error(f"state {states} has more arcs than the file holds, or is missing")
    if end < len(data):
        raise reader.error(f"{len(data) - end} bytes follow the last state")
    arcs: dict[str, Array] = {"src": src, "ilabel": ilabel, "olabel": olabel, "dst": dst}
    return {**arcs, "weight": weight, "final": final}


def _const_columns(
    reader: ByteReader, arc_type: str, states: int, arcs: int, aligned: bool
) -> dict[str, Array]:
    weight = WEIGHT_TYPES[arc_type]
    # C structures: `align` adds the padding a C++ compiler adds
    state_type = np.dtype(
        [("final", weight), ("first", "<u4"), ("arcs", "<u4"), ("epsilons", "<u4", 2)], align=True
    )
    arc_type_ = np.dtype(
        [("ilabel", "<i4"), ("olabel", "<i4"), ("weight", weight), ("dst", "<i4")], align=True
    )
    reader.align(aligned)
    state = reader.array(state_type, states)
    reader.align(aligned)
    arc = reader.array(arc_type_, arcs)
    if reader.left:
        raise reader.error(f"{reader.left} bytes follow the last arc")
    count = state["arcs"].astype(np.int64)
    if count.sum() != arcs or (state["first"] != np.cumsum(count) - count).any():
        raise reader.error("the states do not share out the arcs one after the other")
    return {
        "src": np.repeat(np.arange(states, dtype=np.int32), count),
        **{name: arc[name] for name in ("ilabel", "olabel", "weight", "dst")},
        "final": state["final"],
    }
