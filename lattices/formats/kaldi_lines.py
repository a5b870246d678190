"""The lines of one lattice of a Kaldi text archive, cut and read all at once.

Kernels read what lines usually look like. A line with anything else in it, such as an
infinite cost or a number of thirty digits, is read by :func:`_careful`, which also knows
what is wrong with a line that is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from lattices.arrays import Array, FloatColumn, IntColumn, column, ints, kernel
from lattices.errors import FormatError
from lattices.formats.base import Record
from lattices.formats.byte_kernels import byte_kernel, numbered, slots_for
from lattices.formats.decimal_numbers import decimal

Row: TypeAlias = "list[bytes]"

_COLUMNS = 5
_MOST_DIGITS = 18
_KINDS = {True: "a CompactLattice", False: "a Lattice"}


@dataclass(frozen=True, eq=False)
class Lines:
    """Where the columns of each line stand.

    Attributes
    ----------
    record : Record
    data : uint8 column
        The payload.
    width : int32 column, one entry a line
        How many columns it has.
    commas : int32 column, one entry a line
        How many commas the last column has.
    bounds : int64 array of lines, 5 columns and 2
        Where a column begins, and the place behind it.
    """

    record: Record
    data: Array
    width: IntColumn
    commas: IntColumn
    bounds: Array

    def row(self, line: int) -> Row:
        """Return the columns of a line, five at most."""
        begin_end = self.bounds[line, : self.width[line]].tolist()
        return [self.record.payload[begin:end] for begin, end in begin_end]


@dataclass(frozen=True, eq=False)
class LineColumns:
    """What the lines below the key say, one entry a line; a line with a label is an arc.

    Attributes
    ----------
    arc : bool column
    src, dst : int64 columns
        ``dst`` is 0 for a final state.
    graph, acoustic : float64 columns
    frames : int32 column
    """

    arc: Array
    src: Array
    dst: Array
    graph: FloatColumn
    acoustic: FloatColumn
    frames: IntColumn


def cut_lines(record: Record) -> Lines:
    r"""Return where the columns of each line stand, cut at ASCII blanks.

    Examples
    --------
    >>> lines = cut_lines(Record(b"key \n0 1\tcat 1,2,\n1\n", "f", 1, 0))
    >>> lines.width.tolist(), lines.commas.tolist(), lines.row(1)
    ([1, 4, 1], [0, 2, 0], [b'0', b'1', b'cat', b'1,2,'])
    """
    data = column(np.frombuffer(record.payload, np.uint8), np.uint8)
    width, commas, bounds = _cut(data, record.payload.count(b"\n"))
    return Lines(record, data, ints(width), ints(commas), column(bounds, np.int64))


@kernel
def _cut(data, lines):  # type: ignore[no-untyped-def]
    width = np.zeros(lines, np.int32)
    commas = np.zeros(lines, np.int32)
    bounds = np.zeros((lines, _COLUMNS, 2), np.int64)
    line = 0
    inside = False
    for place in range(len(data)):
        byte = data[place]
        if byte == 32 or 9 <= byte <= 13:
            if inside:
                inside = False
                if width[line] <= _COLUMNS:
                    bounds[line, width[line] - 1, 1] = place
            if byte == 10:
                line += 1
                if line == lines:
                    break
        else:
            if not inside:
                inside = True
                commas[line] = 0
                if width[line] < _COLUMNS:
                    bounds[line, width[line], 0] = place
                width[line] += 1
            if byte == 44:
                commas[line] += 1
    return width, commas, bounds


def is_compact(lines: Lines) -> bool:
    """Decide which kind of lattice it is, and raise if its lines disagree."""
    width, commas = lines.width[1:], lines.commas[1:]
    odd = (width < 1) | (width > _COLUMNS)
    if odd.any():
        place = 1 + int(np.argmax(odd))
        raise lines.record.error(f"{lines.width[place]} columns, expected 1 to 5", place)
    told_compact = (width == 3) | (((width == 4) & (commas > 0)) | ((width == 2) & (commas == 2)))
    told = width > 1
    compact = bool(told_compact[np.argmax(told)]) if told.any() else True
    # what is no weight of a CompactLattice is found when weights are read, but words of a
    # Lattice may be anything
    if (width < 3).all() or not (width == 5 if compact else (width == 3) | (width == 4)).any():
        return compact
    other = told & (told_compact != compact)
    if other.any():
        raise lines.record.error(
            f"a line of {_KINDS[not compact]}, where those above are of {_KINDS[compact]}",
            1 + int(np.argmax(other)),
        )
    return compact


def read_lines(lines: Lines, compact: bool) -> LineColumns:
    """Return the numbers of all lines below the key.

    Raises
    ------
    FormatError
        Of the first line that is wrong.
    """
    src, dst, graph, acoustic, frames, odd = _plain_lines(
        lines.data, lines.width, lines.bounds, compact
    )
    for line in np.flatnonzero(odd).tolist():
        found = _careful(lines.record, line, lines.row(line), compact)
        src[line], dst[line], graph[line], acoustic[line], frames[line] = found
    return LineColumns(lines.width[1:] > 2, src[1:], dst[1:], graph[1:], acoustic[1:], frames[1:])


@kernel
def _plain_lines(data, width, bounds, compact):  # type: ignore[no-untyped-def]
    """Return, for every line, (source, target, graph, acoustic, frames, whether it is odd)."""
    lines = len(width)
    src, dst = np.zeros(lines, np.int64), np.zeros(lines, np.int64)
    graph, acoustic = np.zeros(lines), np.zeros(lines)
    frames, odd = np.zeros(lines, np.int32), np.zeros(lines, np.bool_)
    bits = np.zeros(1, np.uint64)
    full = 4 if compact else 5
    for line in range(1, lines):
        arc = width[line] > 2
        src[line], good = _whole_number(data, bounds[line, 0, 0], bounds[line, 0, 1])
        if arc:
            dst[line], sure = _whole_number(data, bounds[line, 1, 0], bounds[line, 1, 1])
            good &= sure
            if not compact:
                number, sure = _whole_number(data, bounds[line, 2, 0], bounds[line, 2, 1])
                frames[line] = 1 if number else 0
                good &= sure
        last = np.int64(width[line]) - 1
        if last == full - 1 or last == 1:
            graph[line], acoustic[line], count, sure = _weight(
                data, bounds[line, last, 0], bounds[line, last, 1], compact, bits
            )
            if compact:
                frames[line] = count
            good &= sure
        odd[line] = not good
    return src, dst, graph, acoustic, frames, odd


@byte_kernel
def _whole_number(data, begin, end):  # type: ignore[no-untyped-def]
    """Return a number without sign, and whether it is one."""
    value = 0
    for place in range(begin, end):
        if not 48 <= data[place] <= 57:
            return 0, False
        value = 10 * value + np.int64(data[place] - 48)
    return value, 0 < end - begin <= _MOST_DIGITS


@byte_kernel
def _comma(data, begin, end):  # type: ignore[no-untyped-def]
    """Return the place of the first comma, or the end."""
    place = begin
    while place < end and data[place] != 44:
        place += 1
    return place


@byte_kernel
def _weight(data, begin, end, compact, bits):  # type: ignore[no-untyped-def]
    """Return both costs, the number of transition-ids, and whether all is as usual."""
    first = _comma(data, begin, end)
    second = _comma(data, first + 1, end)
    if first >= end or (second < end) != compact:
        return 0.0, 0.0, 0, False
    graph, sure = decimal(data, begin, first, bits)
    acoustic, also = decimal(data, first + 1, second, bits)
    count = 1 if second + 1 < end else 0
    for place in range(second + 1, end):
        if data[place] == 95:
            count += 1
        elif not 48 <= data[place] <= 57:
            return 0.0, 0.0, 0, False
    return graph, acoustic, count, sure and also


def _careful(
    record: Record, line: int, row: Row, compact: bool
) -> tuple[int, int, float, float, int]:
    """Return what one line says: (source, target, graph, acoustic, frames)."""
    arc, full = len(row) > 2, 4 if compact else 5
    graph = acoustic = 0.0
    frames = 0
    if len(row) in (2, full):
        graph, acoustic, frames = _careful_weight(record, line, row[-1], compact, arc)
    if arc and not compact:
        if not row[2].isdigit() and row[2] != b"<eps>":
            raise _error(record, line, "transition-id", row[2], "a number from 0")
        frames = 1 if row[2].strip(b"0") not in (b"", b"<eps>") else 0
    states = [0, 0]
    for place, text in enumerate(row[: 2 if arc else 1]):
        if not text.isdigit() or len(text) > _MOST_DIGITS:
            raise _error(record, line, "state", text, "a number from 0")
        states[place] = int(text)
    return states[0], states[1], graph, acoustic, frames


def _careful_weight(
    record: Record, line: int, text: bytes, compact: bool, arc: bool
) -> tuple[float, float, int]:
    """Return the costs and the number of transition-ids of one weight."""
    wanted = ("graph,acoustic,ids" if compact else "graph,acoustic") + " with finite costs"
    parts = text.split(b",")
    if len(parts) != (3 if compact else 2) or not all(map(is_number, parts[:2])):
        raise _error(record, line, "weight", text, wanted)
    graph, acoustic = float(parts[0]), float(parts[1])
    infinite = not arc and graph == acoustic == np.inf
    if not infinite and not (np.isfinite(graph) and np.isfinite(acoustic)):
        raise _error(record, line, "weight", text, wanted)
    ids = parts[2] if compact else b""
    if ids.translate(None, b"0123456789_"):
        raise _error(record, line, "transition-ids", ids, "numbers joined by _")
    return graph, acoustic, ids.count(b"_") + 1 if ids else 0


def is_number(text: bytes) -> bool:
    """Tell whether this is a number as C reads it.

    Examples
    --------
    >>> is_number(b"-1.5e3"), is_number(b"Infinity"), is_number(b"1_000")
    (True, True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    # Python's grouping of digits is nobody else's
    return b"_" not in text


def _error(record: Record, line: int, what: str, text: bytes, wanted: str) -> FormatError:
    return record.error(f"{what} {text.decode('utf-8')!r}, expected {wanted}", line)


def distinct_labels(lines: Lines, arc: Array, compact: bool) -> tuple[list[bytes], IntColumn]:
    """Return the labels of the arcs, each once in the order of the file, and which each has."""
    bounds = lines.bounds[1:][arc, 2 if compact else 3]
    places, which = _distinct(lines.data, column(bounds, np.int64))
    payload = lines.record.payload
    return [payload[begin:end] for begin, end in places.tolist()], ints(which)


@kernel
def _distinct(data, bounds):  # type: ignore[no-untyped-def]
    """Return where the different strings are, and the number of each among them."""
    slots = np.full(slots_for(len(bounds)), -1, np.int32)
    places = np.empty((len(bounds), 2), np.int64)
    which = np.empty(len(bounds), np.int32)
    found = 0
    for index in range(len(bounds)):
        which[index], found = numbered(
            data, bounds[index, 0], bounds[index, 1], slots, places, found
        )
    return places[:found].copy(), which
