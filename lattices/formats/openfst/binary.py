"""OpenFst's binary format: ``vector`` and ``const`` FSTs of the arc types everybody has.

Weights are costs, and scores their negatives. ``standard`` (tropical) and ``log`` weights
are single precision, so that scores come back to within a relative 6e-8; ``log64`` keeps
doubles as they are. See :mod:`lattices.formats.openfst.codec` for the layout.

Words come from the symbol table of the file ``symbols=FILE``, or else from the one that is
attached to the FST; ``labels=numbers`` does without, and makes words of the digits. Label 0
is epsilon. Arcs of infinite cost, which no path can take, are left out.

A file is written as a ``vector`` FST with its own words attached, or with the numbers of
``symbols=FILE`` and nothing attached. Features, times and metadata have no place in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from lattices.errors import OptionError, argument
from lattices.formats.base import Format, Record, Unsupported, note_losses, require_kind
from lattices.formats.fields import SIDE_OPTION
from lattices.formats.openfst.codec import DecodedFst, SymbolTable, decode, encode, is_fst
from lattices.formats.openfst.symbols import explain_missing_table, read_symbols, table_labels
from lattices.interop import from_columns, symbol_table, to_columns
from lattices.options import Option
from lattices.spaces import Lattice, Space
from lattices.vocabulary import Vocabulary


class OpenFstBinary(Format):
    """See the module."""

    name = "openfst"
    description = "OpenFst binary (vector, const), one lattice a file; cost = -score"
    kind = "lattice"
    suffixes = (".fst",)
    options: Mapping[str, str] = {
        "labels": Option(
            "numbers make words of the digits, and use no symbol table",
            ("words", "numbers"),
        ),
        **SIDE_OPTION,
        "symbols": "a file with the symbol table; by default that of the FST",
    }
    write_options: Mapping[str, str] = {
        "arc_type": Option(
            "OpenFst's type of arcs; log64 is exact",
            ("standard", "log", "log64"),
        ),
        "symbols": "a file with the symbol table, made or extended; by default it is attached",
    }
    single = True

    def sniff(self, head: bytes) -> bool:
        """Tell whether the magic number is there."""
        return is_fst(head)

    def records(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Take the whole file."""
        yield Record(stream.read(), path, 0, 0)

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Lattice:
        """Return the lattice; linear in the size of the file."""
        side = options.get("side", "output")
        found = decode(record.payload, record.path)
        symbols = _symbols(found, side, options)
        return from_columns(found, vocabulary, side=side, symbols=symbols)

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Unsupported, **options: Any
    ) -> None:
        """Write an acceptor whose states and arcs stand in the order of the lattice."""
        arc_type = options.get("arc_type", "standard")
        for lattice in require_kind(Lattice, spaces, losses):
            note_losses(lattice, losses)
            stream.write(_encode(lattice, arc_type, options.get("symbols")))


FORMAT = OpenFstBinary()


def _symbols(found: DecodedFst, side: str, options: Mapping[str, Any]) -> SymbolTable:
    if options.get("labels") == "numbers":
        if "symbols" in options:
            raise OptionError(f"labels=numbers makes no use of {argument('read.symbols', 'FILE')}")
        used = found.olabel if side == "output" else found.ilabel
        return {label: str(label) for label in np.unique(used).tolist() if label > 0}
    if "symbols" in options:
        return read_symbols(options["symbols"])
    attached = found.osymbols if side == "output" else found.isymbols
    if attached is None:
        raise explain_missing_table(f"the FST has no table of {side} symbols")
    return attached


def _encode(lattice: Lattice, arc_type: str, table: str | None) -> bytes:
    columns = to_columns(lattice)
    if table is None:
        attached = symbol_table(lattice.vocabulary, np.unique(lattice.label).tolist())
        return encode(columns, arc_type, isymbols=attached, osymbols=attached)
    columns.ilabel = columns.olabel = table_labels(lattice, table)
    return encode(columns, arc_type)
