"""Kaldi's lattices as binary archives (``ark:``): a key, a blank, an OpenFst ``vector`` FST.

Arc types are ``compactlattice44`` and ``lattice4`` with costs in single precision, and
``compactlattice84`` and ``lattice8`` in double. Scores, features, times and the options are
those of :mod:`lattices.formats.kaldi`.

Words come from the symbol table of the file ``symbols=FILE``, Kaldi's ``words.txt``; from
the table that is attached to the FST, as none of Kaldi's own is; or else, with ``labels=numbers``,
the digits of the labels are the words. Label 0 is epsilon.

``arc_type``, by default ``compactlattice44``, is written without transition-ids, with the
words attached as output symbols, or with the numbers of ``symbols=FILE`` and nothing attached.

The layout of the FST is that of :mod:`lattices.formats.kaldi_fst`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from lattices._native import distinct_labels
from lattices.arrays import IntColumn, ints
from lattices.errors import FormatError
from lattices.formats.base import Format, Losses, Record, choice
from lattices.formats.kaldi_costs import (
    READ_OPTIONS,
    Costs,
    KaldiArcs,
    costs_of,
    key_of,
    lattice_of,
)
from lattices.formats.kaldi_fst import (
    ARC_TYPES,
    FST_VERSION,
    HAS_OSYMBOLS,
    FoundFst,
    FstColumns,
    fst_body,
    fst_columns,
    read_fst,
    read_key,
)
from lattices.formats.symbols import extended_symbols, no_table, read_symbols
from lattices.interop import symbol_table
from lattices.openfst_bytes import ByteReader, encoded_string, encoded_symbols
from lattices.openfst_codec import FST_MAGIC, SymbolTable, is_fst
from lattices.spaces import Lattice, Space
from lattices.vocabulary import EPSILON, Vocabulary

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
        "arc_type": "compactlattice44 (the default), compactlattice84, lattice4 or lattice8",
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
            while place < len(rest):
                try:
                    reader = ByteReader(rest, path)
                    end = read_fst(reader, read_key(reader, place)).end
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
        reader = ByteReader(record.payload, record.path)
        found = read_fst(reader, read_key(reader, 0))
        if found.start < 0:
            raise record.error(f"the lattice {found.key!r} is empty: it has no start state")
        columns = _checked(found, record)
        symbols = _symbols(found, reader, columns.label, options)
        numbers = _vocabulary_numbers(record, found.key, columns.label, symbols, vocabulary)
        arcs = KaldiArcs(columns.src, columns.dst, columns.frames, columns.costs, found.start)
        return lattice_of(arcs, numbers, vocabulary, found.key, options)

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Losses, **options: Any
    ) -> None:
        """Write vector FSTs whose states and arcs stand in the order of the lattice."""
        arc_type = choice(options, "arc_type", tuple(ARC_TYPES))
        for number, lattice in enumerate(spaces):
            if not isinstance(lattice, Lattice):
                raise FormatError(f"kaldi-binary holds lattices, not {type(lattice).__name__}")
            key, costs = key_of(lattice, number), costs_of(lattice, losses)
            stream.write(f"{key} ".encode())
            stream.write(_encoded(lattice, costs, arc_type, options.get("symbols")))


FORMAT = KaldiBinary()


def _checked(found: FoundFst, record: Record) -> FstColumns:
    """Return the columns, or say what is wrong in them."""
    columns = fst_columns(found, record.payload)
    if columns.sound:
        return columns
    costs = columns.costs
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
    # here, and not in the lattice: topological order is asked for before it is built
    raise record.error(f"an arc of {found.key!r} leads out of its {found.states} states")


def _symbols(
    found: FoundFst, reader: ByteReader, label: IntColumn, options: Mapping[str, Any]
) -> SymbolTable:
    """Return the words of the labels: those of the file given, of the FST, or the digits."""
    kind = choice(options, "labels", ("auto", "words", "numbers"))
    symbols = read_symbols(options["symbols"]) if "symbols" in options else None
    if symbols is None and kind != "numbers":
        symbols = found.symbols(reader)
    if symbols is None and kind != "numbers" and (label > 0).any():
        raise no_table()
    return {key: str(key) for key in np.unique(label).tolist()} if symbols is None else symbols


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


def _encoded(lattice: Lattice, costs: Costs, arc_type: str, table: str | None) -> bytes:
    layout = ARC_TYPES[arc_type]
    used = np.unique(lattice.label).tolist()
    label, flags, attached = lattice.label, 0, b""
    if table is None:
        flags, attached = HAS_OSYMBOLS, encoded_symbols(symbol_table(lattice.vocabulary, used))
    else:
        words = {key: lattice.vocabulary.word(key) for key in used if key != EPSILON}
        numbers = extended_symbols(table, words.values())
        keys = [numbers[words[key]] if key != EPSILON else EPSILON for key in used]
        label = ints(np.array(keys, dtype=np.int32)[np.searchsorted(used, lattice.label)])
    header = (
        struct.pack("<i", FST_MAGIC),
        encoded_string("vector"),
        encoded_string(arc_type),
        # OpenFst itself leaves the number of arcs of a vector FST at 0
        struct.pack("<iiQ", FST_VERSION, flags, _EXPANDED_MUTABLE | _ACCEPTOR * layout.compact),
        struct.pack("<qqq", lattice.start, lattice.num_states, 0),
        attached,
    )
    return b"".join(header) + fst_body(lattice, label, costs, layout).tobytes()
