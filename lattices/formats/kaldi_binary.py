"""Kaldi's lattices as binary archives (``ark:``): a key, a blank, an OpenFst ``vector`` FST.

Arc types are ``compactlattice44`` and ``lattice4``, both in single precision. Scores,
features, times and the options are those of :mod:`lattices.formats.kaldi`.

Words come from the symbol table of the file ``symbols=FILE``, Kaldi's ``words.txt``; from
the table that is attached to the FST, as none of Kaldi's own is; or else the digits of the
labels are the words. Label 0 is epsilon.

``compactlattice44`` is written, without transition-ids, with the words attached as
output symbols, or with the numbers of ``symbols=FILE`` and nothing attached.

The layout, in 4-byte words after the header of :mod:`lattices.openfst_codec`: for each state
the final weight, the number of arcs (two words) and the arcs, each an input label, an output
label, a weight and a target. A weight is a graph cost and an acoustic cost; in
``compactlattice44`` the number of transition-ids and the ids themselves follow.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints, kernel
from lattices.errors import FormatError, SpaceError
from lattices.formats.base import Format, Losses, Record
from lattices.formats.kaldi_costs import (
    READ_OPTIONS,
    Costs,
    KaldiArcs,
    costs_of,
    key_of,
    lattice_of,
)
from lattices.formats.symbols import extended_symbols, read_symbols
from lattices.interop import symbol_table
from lattices.openfst_bytes import ByteReader, encoded_string, encoded_symbols
from lattices.openfst_codec import FST_MAGIC, SymbolTable, is_fst
from lattices.spaces import Lattice, Space
from lattices.vocabulary import EPSILON, Vocabulary

_ARC_TYPES = ("compactlattice44", "lattice4")
_VERSION = 2
_HAS_ISYMBOLS, _HAS_OSYMBOLS = 1, 2
#: expanded, mutable, an acceptor
_PROPERTIES = 0x10003
_BLOCK = 1 << 18
_LONGEST_KEY = 4096


class KaldiBinary(Format):
    """See the module."""

    name = "kaldi-binary"
    description = "Kaldi lattice archive, binary; features graph and acoustic"
    kind = "lattice"
    suffixes = (".ark",)
    options: Mapping[str, str] = READ_OPTIONS
    write_options: Mapping[str, str] = {
        "symbols": "a file with the symbol table, made or extended; by default it is attached",
    }

    def sniff(self, head: bytes) -> bool:
        """Tell whether an FST of Kaldi's arc types follows a key."""
        _, _, fst = head.partition(b" ")
        # the type of the FST is a short string, and that of the arcs follows it
        return is_fst(fst) and any(name.encode() in fst[:64] for name in _ARC_TYPES)

    def records(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Walk over each FST to find its end; no more than one, and a block, is held."""
        rest, number, complete = b"", 0, False
        while not complete:
            block = stream.read(max(_BLOCK, len(rest)))
            complete = not block
            rest += block
            place = 0
            while place < len(rest):
                try:
                    end = _read_fst(ByteReader(rest, path), place).end
                except FormatError:
                    # what is missing may come with the next block
                    if complete:
                        raise
                    break
                yield Record(rest[place:end], path, 0, number)
                number += 1
                place = end
            rest = rest[place:]

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Lattice:
        """Return the lattice; linear in the size of the record."""
        found = _read_fst(ByteReader(record.payload, record.path), 0)
        if found.start < 0:
            raise record.error(f"the lattice {found.key!r} is empty: it has no start state")
        arcs, label = _decoded(found, record)
        numbers = _vocabulary_numbers(record, found, label, vocabulary, options)
        return lattice_of(arcs, numbers, vocabulary, found.key, options)

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Losses, **options: Any
    ) -> None:
        """Write acceptors whose states and arcs stand in the order of the lattice."""
        for number, lattice in enumerate(spaces):
            if not isinstance(lattice, Lattice):
                raise FormatError(f"kaldi-binary holds lattices, not {type(lattice).__name__}")
            key, costs = key_of(lattice, number), costs_of(lattice, losses)
            stream.write(f"{key} ".encode())
            stream.write(_encoded(lattice, costs, options.get("symbols")))


FORMAT = KaldiBinary()


@dataclass(frozen=True, eq=False)
class _Fst:
    """The header of one FST, its body in 4-byte words, and where in the bytes it ends."""

    key: str
    compact: bool
    start: int
    states: int
    arcs: int
    symbols: SymbolTable | None
    words: IntColumn
    end: int


def _read_fst(reader: ByteReader, place: int) -> _Fst:
    """Return the FST that begins, with its key, at a place in the bytes; all sizes are checked."""
    blank = reader.data.find(b" ", place, place + _LONGEST_KEY)
    if blank <= place:
        raise reader.error(f"no key before the blank after byte {place}, or no blank")
    try:
        key = reader.data[place:blank].decode("utf-8")
    except UnicodeDecodeError as problem:
        raise reader.error(f"the key after byte {place} is not UTF-8") from problem
    reader.place = blank + 1
    if reader.unpack("<i", "the magic number") != (FST_MAGIC,):
        raise reader.error(f"no OpenFst binary follows the key {key!r}")
    fst_type, arc_type = reader.string("the FST type"), reader.string("the arc type")
    version, flags, _, start, states, _ = reader.unpack("<iiQqqq", "the header")
    if fst_type != "vector" or version != _VERSION or arc_type not in _ARC_TYPES:
        raise reader.error(
            f"{key!r} is a {fst_type!r} FST, version {version}, of arc type {arc_type!r}, expected "
            f"'vector', version {_VERSION}, of {' or '.join(_ARC_TYPES)}"
        )
    isymbols = reader.symbols() if flags & _HAS_ISYMBOLS else None
    symbols = reader.symbols() if flags & _HAS_OSYMBOLS else isymbols
    compact = arc_type == _ARC_TYPES[0]
    if not 0 <= states <= reader.left // (20 if compact else 16):
        raise reader.error(
            f"{states} states announced in {key!r}, which {reader.left} bytes cannot hold"
        )
    if not -1 <= start < states:
        raise reader.error(f"start state {start} of {key!r}, which has {states} states")
    body = reader.place
    # a copy, so that the numbers are aligned wherever the key ends
    words = ints(np.frombuffer(reader.data, "<i4", reader.left // 4, body).copy())
    size, arcs = _measured(words, states, compact)
    if size < 0:
        raise reader.error(f"the states of {key!r} have more arcs than the file holds")
    return _Fst(key, compact, start, states, arcs, symbols, words[:size], body + 4 * size)


@kernel
def _measured(words, states, compact):  # type: ignore[no-untyped-def]
    """Return how many words the states take, -1 if more than there are, and how many arcs."""
    place = np.int64(0)
    total = np.int64(0)
    for _ in range(states):
        if compact:
            if place + 2 >= len(words) or words[place + 2] < 0:
                return np.int64(-1), total
            place += 1 + np.int64(words[place + 2])
        # the upper half of the 64-bit count is zero in any file that fits in memory
        if place + 4 > len(words) or words[place + 3] != 0 or words[place + 2] < 0:
            return np.int64(-1), total
        arcs = np.int64(words[place + 2])
        place += 4
        if arcs * 5 > len(words) - place:
            return np.int64(-1), total
        if compact:
            for _ in range(arcs):
                if place + 4 >= len(words) or words[place + 4] < 0:
                    return np.int64(-1), total
                place += 6 + np.int64(words[place + 4])
        else:
            place += 5 * arcs
        if place > len(words):
            return np.int64(-1), total
        total += arcs
    return place, total


@kernel
def _columns(words, states, arcs, compact):  # type: ignore[no-untyped-def]
    """Return per arc (source, target, input, output, graph, acoustic, frames), per state costs.

    The words are those of :func:`_measured`, so that nothing is checked here; costs are the
    bits of single-precision numbers.
    """
    arc = np.empty((7, arcs), np.int32)
    final = np.empty((2, states), np.int32)
    place = np.int64(0)
    filled = 0
    for state in range(states):
        final[0, state] = words[place]
        final[1, state] = words[place + 1]
        if compact:
            place += 1 + np.int64(words[place + 2])
        following = filled + words[place + 2]
        place += 4
        while filled < following:
            arc[0, filled] = state
            arc[2, filled] = words[place]
            arc[3, filled] = words[place + 1]
            arc[4, filled] = words[place + 2]
            arc[5, filled] = words[place + 3]
            if compact:
                arc[6, filled] = words[place + 4]
                place += 1 + np.int64(words[place + 4])
            else:
                # the input label of a Lattice is a transition-id
                arc[6, filled] = 1 if words[place] != 0 else 0
            arc[1, filled] = words[place + 4]
            place += 5
            filled += 1
    return arc, final


def _decoded(found: _Fst, record: Record) -> tuple[KaldiArcs, IntColumn]:
    """Return the columns and the labels, the output side, of the arcs."""
    arc, final = _columns(found.words, found.states, found.arcs, found.compact)
    # converting some of the many NaNs there are would warn; all are refused below
    with np.errstate(invalid="ignore"):
        graph, acoustic = floats(arc[4:6].view(np.float32))
        final_graph, final_acoustic = floats(final.view(np.float32))
    bad = ~(np.isfinite(graph) & np.isfinite(acoustic))
    if bad.any():
        odd = int(np.flatnonzero(bad)[0])
        raise record.error(
            f"arc {odd} of {found.key!r} has the weight {graph[odd]},{acoustic[odd]}, "
            "expected finite costs"
        )
    ending = np.isfinite(final_graph) & np.isfinite(final_acoustic)
    bad = ~ending & ((final_graph != np.inf) | (final_acoustic != np.inf))
    if bad.any():
        odd = int(np.flatnonzero(bad)[0])
        raise record.error(
            f"state {odd} of {found.key!r} has the final weight {final_graph[odd]},"
            f"{final_acoustic[odd]}, expected finite costs, or both infinite"
        )
    # both here, and not in the lattice: topological order is asked for before it is built
    if found.arcs and not 0 <= arc[1].min() <= arc[1].max() < found.states:
        raise record.error(f"an arc of {found.key!r} leads out of its {found.states} states")
    costs = Costs(graph, acoustic, final_graph, final_acoustic)
    columns = KaldiArcs(ints(arc[0]), ints(arc[1]), ints(arc[6]), costs, found.start)
    return columns, ints(arc[3])


def _vocabulary_numbers(
    record: Record,
    found: _Fst,
    label: IntColumn,
    vocabulary: Vocabulary,
    options: Mapping[str, Any],
) -> IntColumn:
    """Return the numbers of the words that the labels stand for."""
    symbols = read_symbols(options["symbols"]) if "symbols" in options else found.symbols
    distinct, place = np.unique(label, return_inverse=True)
    words = []
    for key in distinct.tolist():
        word = "" if key == EPSILON else str(key) if symbols is None else symbols.get(key)
        if word is None or key < 0:
            wrong = "not in the symbol table" if key >= 0 else "negative"
            raise record.error(f"the label {key} in {found.key!r} is {wrong}")
        words.append(word)
    return ints(np.array(vocabulary.add_all(words), dtype=np.int32)[place])


def _encoded(lattice: Lattice, costs: Costs, table: str | None) -> bytes:
    used = np.unique(lattice.label).tolist()
    label, flags, attached = lattice.label, 0, b""
    if table is None:
        flags, attached = _HAS_OSYMBOLS, encoded_symbols(symbol_table(lattice.vocabulary, used))
    else:
        words = {key: lattice.vocabulary.word(key) for key in used if key != EPSILON}
        numbers = extended_symbols(table, words.values())
        keys = [numbers[words[key]] if key != EPSILON else EPSILON for key in used]
        label = ints(np.array(keys, dtype=np.int32)[np.searchsorted(used, lattice.label)])
    header = (
        struct.pack("<i", FST_MAGIC),
        encoded_string("vector"),
        encoded_string(_ARC_TYPES[0]),
        # OpenFst itself leaves the number of arcs of a vector FST at 0
        struct.pack("<iiQ", _VERSION, flags, _PROPERTIES),
        struct.pack("<qqq", lattice.start, lattice.num_states, 0),
        attached,
    )
    return b"".join(header) + _body(lattice, label, costs).tobytes()


def _body(lattice: Lattice, label: IntColumn, costs: Costs) -> Array:
    """Return the states and arcs as 4-byte words, all numbers of transition-ids being 0."""
    states, arcs = lattice.num_states, lattice.num_arcs
    words = np.zeros(5 * states + 6 * arcs, dtype="<i4")
    state_at = 5 * np.arange(states) + 6 * lattice.out_offset[:-1].astype(np.int64)
    arc_at = 5 * (lattice.src.astype(np.int64) + 1) + 6 * np.arange(arcs)
    words[state_at] = _bits(costs.final_graph, lattice)
    words[state_at + 1] = _bits(costs.final_acoustic, lattice)
    words[state_at + 3] = np.diff(lattice.out_offset)
    words[arc_at] = words[arc_at + 1] = label
    words[arc_at + 2] = _bits(costs.graph, lattice)
    words[arc_at + 3] = _bits(costs.acoustic, lattice)
    words[arc_at + 5] = lattice.dst
    return words


def _bits(cost: FloatColumn, lattice: Lattice) -> Array:
    """Return the bits of the costs in single precision."""
    with np.errstate(over="ignore"):
        stored = cost.astype("<f4")
    if (np.isfinite(cost) & ~np.isfinite(stored)).any():
        raise SpaceError(f"a cost of segment {lattice.id!r} is too large for single precision")
    return stored.view("<i4")
