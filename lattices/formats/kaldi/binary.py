"""Kaldi's lattices as binary archives (``ark:``): a key, a blank, an OpenFst ``vector`` FST.

Arc types are ``compactlattice44`` and ``lattice4`` with costs in single precision, and
``compactlattice84`` and ``lattice8`` in double. Scores, features, times and the options are
those of :mod:`lattices.formats.kaldi.text`.

Words come from the symbol table of the file ``symbols=FILE``, Kaldi's ``words.txt``; from
the table that is attached to the FST, as none of Kaldi's own is; or else, with ``labels=numbers``,
the digits of the labels are the words. Label 0 is epsilon.

``arc_type``, by default ``compactlattice44``, is written without transition-ids, with the
words attached as output symbols, or with the numbers of ``symbols=FILE`` and nothing attached.

The layout, in 4-byte words after the header of :mod:`lattices.formats.openfst.codec`: for each
state the final weight, the number of arcs (two words) and the arcs, each an input label, an output
label, a weight and a target. A weight is a graph cost and an acoustic cost; in compact lattices
the number of transition-ids and the ids themselves follow.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from lattices._native import (
    distinct_labels,
    kaldi_end,
    kaldi_ends,
    kaldi_lattice,
    kaldi_states,
    symbols_end,
)
from lattices.arrays import Array, FloatColumn, IntColumn, ints
from lattices.errors import FormatError, SpaceError
from lattices.formats.base import Format, Record, Unsupported, require_kind
from lattices.formats.kaldi.costs import (
    FEATURES,
    READ_OPTIONS,
    Costs,
    KaldiArcs,
    choose_key,
    costs_of,
    lattice_of,
    scales_of,
)
from lattices.formats.openfst.codec import (
    FST_MAGIC,
    ByteReader,
    SymbolTable,
    encode_string,
    encode_symbols,
    is_fst,
)
from lattices.formats.openfst.symbols import explain_missing_table, read_symbols, table_labels
from lattices.options import Option
from lattices.spaces import Lattice, Space
from lattices.vocabulary import EPSILON, Vocabulary

FST_VERSION = 2
HAS_ISYMBOLS, HAS_OSYMBOLS = 1, 2
_LONGEST_KEY = 4096


class LatticeLayout(NamedTuple):
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
    "compactlattice44": LatticeLayout(compact=True, cost="<f4"),
    "compactlattice84": LatticeLayout(compact=True, cost="<f8"),
    "lattice4": LatticeLayout(compact=False, cost="<f4"),
    "lattice8": LatticeLayout(compact=False, cost="<f8"),
}


class FoundFst(NamedTuple):
    """One FST within bytes."""

    key: str
    layout: LatticeLayout
    # the start state, -1 if there is none, and how many states there are
    start: int
    states: int
    tables: tuple[int, ...]  # where symbol tables begin; the last one is that of the output side
    # where the states begin, and the place behind the last one
    body: int
    end: int

    def symbols(self, reader: ByteReader) -> SymbolTable | None:
        """Return the table of the output side, or of the only side that has one."""
        if not self.tables:
            return None
        reader.place = self.tables[-1]
        return reader.symbols()


def read_key(reader: ByteReader, place: int) -> str:
    """Return the key that begins at a place in the bytes; the reader is then behind its blank."""
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


def fst_body(lattice: Lattice, label: IntColumn, costs: Costs, layout: LatticeLayout) -> Array:
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


def _bits(
    graph: FloatColumn, acoustic: FloatColumn, lattice: Lattice, layout: LatticeLayout
) -> Array:
    """Return the bits of pairs of costs, one row a pair."""
    pairs = np.column_stack((graph, acoustic))
    with np.errstate(over="ignore"):
        stored = pairs.astype(layout.cost)
    if (np.isfinite(pairs) & ~np.isfinite(stored)).any():
        raise SpaceError(f"a cost of segment {lattice.id!r} is too large for single precision")
    return stored.view("<i4")


_EXPANDED_MUTABLE, _ACCEPTOR = 0x3, 0x10000
_BLOCK = 1 << 18


class KaldiBinary(Format):
    """See the module."""

    name = "kaldi-binary"
    description = "Kaldi lattice archive, binary; features graph and acoustic"
    kind = "lattice"
    suffixes = (".ark",)
    appendable = True
    options: Mapping[str, str] = READ_OPTIONS
    write_options: Mapping[str, str] = {
        "arc_type": Option("Kaldi's type of lattices", tuple(ARC_TYPES)),
        "symbols": "a file with the symbol table, made or extended; by default it is attached",
    }

    def sniff(self, head: bytes) -> bool:
        """Tell whether an FST of Kaldi's arc types follows a key."""
        _, _, fst = head.partition(b" ")
        # the type of the FST is a short string, and that of the arcs follows it
        return is_fst(fst) and any(name.encode() in fst[:64] for name in ARC_TYPES)

    def records(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Walk over each FST to find its end; no more than one, and a block, is held."""
        rest, number, complete = b"", 0, False
        while not complete:
            block = stream.read(max(_BLOCK, len(rest)))
            complete = not block
            rest += block
            place = 0
            for end in kaldi_ends(rest):
                yield Record(rest[place:end], path, 0, number)
                number += 1
                place = end
            rest = rest[place:]
        if rest:
            reader = ByteReader(rest, path)
            read_fst(reader, read_key(reader, 0))  # which says what is wrong
            raise FormatError(f"{len(rest)} bytes after the last lattice are no lattice", path)

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Lattice:
        """Return the lattice; linear in the size of the record.

        Native code reads all but symbol tables, states in no topological order, and errors.
        """
        scales = scales_of(options)
        table = _find_given_table(options)
        if table is not None and (
            made := kaldi_lattice(
                record.payload, *vocabulary.labels_of(table), vocabulary.strings, FEATURES, *scales
            )
        ):
            key, columns, features, times = made
            return Lattice.from_columns(
                columns, features, vocabulary, feature_names=FEATURES, id=key, times=times
            )
        reader = ByteReader(record.payload, record.path)
        found = read_fst(reader, read_key(reader, 0))
        if found.start < 0:
            raise record.error(f"the lattice {found.key!r} is empty: it has no start state")
        arcs, label = _arcs(found, record)
        symbols = _symbols(found, reader, label, options)
        numbers = _vocabulary_numbers(record, found.key, label, symbols, vocabulary)
        return lattice_of(arcs, numbers, vocabulary, found.key, options)

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Unsupported, **options: Any
    ) -> None:
        """Write vector FSTs whose states and arcs stand in the order of the lattice."""
        arc_type = options.get("arc_type", next(iter(ARC_TYPES)))
        for number, lattice in enumerate(require_kind(Lattice, spaces, losses)):
            key, costs = choose_key(lattice, number), costs_of(lattice, losses)
            stream.write(f"{key} ".encode())
            stream.write(_encode(lattice, costs, arc_type, options.get("symbols")))


FORMAT = KaldiBinary()


def _arcs(found: FoundFst, record: Record) -> tuple[KaldiArcs, IntColumn]:
    """Return the arcs and their labels, or say what is wrong in them.

    Final costs are ``inf`` where a path cannot end.
    """
    layout, data = found.layout, np.frombuffer(record.payload, np.uint8)
    sound, src, dst, label, frames, *columns = kaldi_states(
        data, found.body, found.states, layout.compact, layout.wide
    )
    costs = Costs(*columns)
    if sound:
        return KaldiArcs(src, dst, frames, costs, found.start), label
    good = np.isfinite(costs.graph) & np.isfinite(costs.acoustic)
    if not good.all():
        odd = int(np.argmin(good))
        raise record.error(
            f"arc {odd} of {found.key!r} has the weight {costs.graph[odd]},{costs.acoustic[odd]}, "
            "expected finite costs"
        )
    both = np.stack((costs.final_graph, costs.final_acoustic))
    good = np.isfinite(both).all(axis=0) | (both == np.inf).all(axis=0)
    if not good.all():
        odd = int(np.argmin(good))
        raise record.error(
            f"state {odd} of {found.key!r} has the final weight {both[0, odd]},{both[1, odd]}, "
            "expected finite costs, or both infinite"
        )
    # checked here: the lattice requires topological order
    raise record.error(f"an arc of {found.key!r} leads out of its {found.states} states")


def _symbols(
    found: FoundFst, reader: ByteReader, label: IntColumn, options: Mapping[str, Any]
) -> SymbolTable:
    """Return the words of the labels: those of the file given, of the FST, or the digits."""
    symbols = _find_given_table(options)
    if symbols is None:
        symbols = found.symbols(reader)
    if symbols is None and (label > 0).any():
        raise explain_missing_table()
    return {} if symbols is None else symbols


class _Digits(dict[int, str]):
    """The symbol table in which every label is its own digits."""

    def __missing__(self, label: int) -> str:
        return str(label)

    def __contains__(self, label: object) -> bool:
        return True


_DIGITS = _Digits()


def _find_given_table(options: Mapping[str, Any]) -> SymbolTable | None:
    """Return the words of labels, where they do not depend on what is attached to the FST."""
    if "symbols" in options:
        return read_symbols(options["symbols"])
    return _DIGITS if options.get("labels") == "numbers" else None


def _vocabulary_numbers(
    record: Record,
    segment: str,
    label: IntColumn,
    symbols: SymbolTable,
    vocabulary: Vocabulary,
) -> IntColumn:
    """Return the numbers of the words that the labels stand for."""
    distinct, which = distinct_labels(label)
    order = np.argsort(distinct)
    keys = distinct[order].tolist()
    unknown = [key for key in keys if key < 0 or (key != EPSILON and key not in symbols)]
    if unknown:
        wrong = "not in the symbol table" if unknown[0] >= 0 else "negative"
        raise record.error(f"the label {unknown[0]} in {segment!r} is {wrong}")
    words = [symbols[key] if key != EPSILON else "" for key in keys]
    numbers = np.empty(len(words), np.int32)
    numbers[order] = vocabulary.add_all(words)
    return ints(numbers[which])


def _encode(lattice: Lattice, costs: Costs, arc_type: str, table: str | None) -> bytes:
    layout = ARC_TYPES[arc_type]
    label, flags, attached = lattice.label, 0, b""
    if table is None:
        from lattices.interop import symbol_table

        used = symbol_table(lattice.vocabulary, np.unique(lattice.label).tolist())
        flags, attached = HAS_OSYMBOLS, encode_symbols(used)
    else:
        label = table_labels(lattice, table)
    header = (
        struct.pack("<i", FST_MAGIC),
        encode_string("vector"),
        encode_string(arc_type),
        # OpenFst itself leaves the number of arcs of a vector FST at 0
        struct.pack("<iiQ", FST_VERSION, flags, _EXPANDED_MUTABLE | _ACCEPTOR * layout.compact),
        struct.pack("<qqq", lattice.start, lattice.num_states, 0),
        attached,
    )
    return b"".join(header) + fst_body(lattice, label, costs, layout).tobytes()
