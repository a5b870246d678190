"""The pieces of OpenFst's binary files: strings, arrays and symbol tables."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from lattices._native import symbols_at
from lattices.arrays import Array
from lattices.errors import FormatError
from lattices.openfst_columns import SymbolTable

SYMBOLS_MAGIC = 2125658996
_ALIGNMENT = 16


def is_symbol_table(data: bytes) -> bool:
    """Tell whether the bytes begin like a binary symbol table."""
    return data.startswith(struct.pack("<i", SYMBOLS_MAGIC))


def decode_symbols(data: bytes, path: str = "") -> SymbolTable:
    """Return the symbols, by number, of OpenFst's binary symbol table.

    Raises
    ------
    FormatError
        If the bytes are not such a table, or something follows it.
    """
    reader = ByteReader(data, path)
    table = reader.symbols()
    if reader.left:
        raise reader.error(f"{reader.left} bytes follow the symbol table")
    return table


def encoded_string(text: str) -> bytes:
    """Return a string's length and its bytes."""
    data = text.encode("utf-8")
    return struct.pack("<i", len(data)) + data


def encoded_symbols(table: SymbolTable) -> bytes:
    """Return the bytes of a symbol table."""
    entries = sorted(table.items())
    head = struct.pack("<i", SYMBOLS_MAGIC) + encoded_string("words")
    parts = [head, struct.pack("<qq", entries[-1][0] + 1, len(entries))]
    parts += [encoded_string(symbol) + struct.pack("<q", key) for key, symbol in entries]
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
