r"""Kaldi's lattices as text archives (``ark,t:``): CompactLattice and Lattice.

A key on a line of its own, one arc or final state a line, and an empty line at the end::

    src dst word graph,acoustic,ids      an arc of a CompactLattice; ids such as 3_1_1, or none
    src dst id word graph,acoustic       an arc of a Lattice; id is a transition-id
    state graph,acoustic,ids             a final state of a CompactLattice
    state graph,acoustic                 a final state of a Lattice

A weight left out is 0. The start is the first state of the first line. Lines tell which of
the two a lattice is: 3 columns, 4 with a comma in the last, or a final weight with two commas
make a CompactLattice; 5 columns, 4 without, or a final weight without two a Lattice.
One with nothing that tells is a CompactLattice. The end of the file ends a lattice as well.

**Scores.** ``score = -(lm_scale * graph + acoustic_scale * acoustic)``, both scales 1 by
default. The costs, negated, are the features ``graph`` and ``acoustic``, so that
``lattice.reweighted({"graph": lm_scale, "acoustic": acoustic_scale})`` scales them anew. A
final weight of ``Infinity,Infinity`` is a state that is not final; no other may be infinite.

**Times.** The number of transition-ids on an arc is its length in frames of ``frame_shift``
seconds. Where all paths to each state agree the lattice has times, otherwise none. The
transition-ids themselves are dropped.

**Labels.** Where all labels of a lattice are whole numbers they are looked up in the table
``symbols=FILE``, Kaldi's ``words.txt``; without it the digits are the words. 0 is epsilon.
Where they are not all numbers (``int2sym.pl -f 3`` makes such files) they are themselves
the words, and ``<eps>`` is epsilon.

A CompactLattice is written, without transition-ids: the features ``graph`` and
``acoustic`` if the lattice has both, otherwise the negated score as graph cost. Costs have
all their digits, though Kaldi reads them in single precision. Kaldi reads numbers only:
``symbols=FILE`` writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from lattices.arrays import FloatColumn, floats, ints
from lattices.errors import FormatError
from lattices.formats.base import BYTE_ORDER_MARK, Format, Losses, Record
from lattices.formats.kaldi_costs import (
    READ_OPTIONS,
    Costs,
    KaldiArcs,
    costs_of,
    key_of,
    lattice_of,
)
from lattices.formats.symbols import check_symbol, extended_symbols, read_symbols
from lattices.openfst_codec import SymbolTable
from lattices.spaces import Lattice, Space
from lattices.vocabulary import EPSILON, EPSILON_NAME, Vocabulary

Row: TypeAlias = "list[bytes]"

_BLOCK = 1 << 18
_EMPTY_LINE = re.compile(rb"\n[ \t\v\f\r]*\n")
_KINDS = {True: "a CompactLattice", False: "a Lattice"}


class KaldiText(Format):
    """See the module."""

    name = "kaldi"
    description = "Kaldi lattice archive as text; features graph and acoustic"
    kind = "lattice"
    suffixes = (".ark.txt", ".lat.txt")
    options: Mapping[str, str] = READ_OPTIONS
    write_options: Mapping[str, str] = {
        "symbols": "a file with the symbol table, made or extended: labels become its numbers",
    }

    def sniff(self, head: bytes) -> bool:
        """Tell whether a key and lines with Kaldi's weights stand at the top."""
        lines = head.lstrip().split(b"\n")
        rows: list[Row] = []
        for line in lines[:-1] or lines:
            if not line.strip():
                break
            rows.append(line.split())
        if len(rows) < 2 or len(rows[0]) != 1:
            return False
        body = rows[1:]
        return all(
            len(row) <= 5 and all(map(bytes.isdigit, row[: 2 if len(row) > 2 else 1]))
            for row in body
        ) and any(len(row) > 1 and _is_weight(row[-1]) for row in body)

    def records(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Cut at empty lines; a block is searched at a time, not line by line."""
        rest, line, number = b"", 1, 0
        while block := stream.read(max(_BLOCK, len(rest))):
            if line == 1 and not rest:
                block = block.removeprefix(BYTE_ORDER_MARK)
            rest += block
            place = 0
            for end in _EMPTY_LINE.finditer(rest):
                text = rest[place : end.end()]
                if not text.isspace():
                    yield _record(rest[place : end.start() + 1], path, line, number)
                    number += 1
                line += text.count(b"\n")
                place = end.end()
            rest = rest[place:]
        if rest and not rest.isspace():
            yield _record(rest, path, line, number)

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Lattice:
        """Return the lattice; linear in the size of the record."""
        record.text()  # raises if it is none; bytes are cut at ASCII blanks only, unlike text
        if not record.payload.endswith(b"\n"):
            raise record.error("the file ends within a line", record.payload.count(b"\n"))
        rows = [line.split() for line in record.payload.split(b"\n")[:-1]]
        if len(rows[0]) != 1:
            raise record.error(f"{len(rows[0])} columns, expected a key alone on its line")
        if len(rows) == 1:
            raise record.error("the lattice is empty: no line follows the key")
        compact = _is_compact(record, rows)
        one, full = (b"0,0,", 4) if compact else (b"0,0", 5)
        arcs = [row for row in rows if len(row) > 2]
        ends = [row for row in rows[1:] if len(row) < 3]
        count = len(arcs)
        labels = [row[full - 2] for row in arcs]
        if full - 1 in map(len, arcs):
            arcs = [row if len(row) == full else [*row, one] for row in arcs]
        weights = [row[-1] for row in arcs]
        weights += [row[1] if len(row) == 2 else one for row in ends]
        graph, acoustic, ids = _weights(record, rows, weights, compact, count)
        frames = (
            _compact_frames(record, rows, ids)[:count]
            if compact
            else _single_frames(record, rows, [row[2] for row in arcs])
        )
        states = [row[0] for row in arcs] + [row[1] for row in arcs] + [row[0] for row in ends]
        if not b"".join(states).isdigit() or not all(map(bytes.isdigit, states)):
            raise _bad_state(record, rows)
        known, state = np.unique(np.array(list(map(int, states)), np.int64), return_inverse=True)
        final_graph, final_acoustic = np.full((2, len(known)), np.inf)
        # of several final weights of one state the last counts, as in OpenFst
        final_graph[state[2 * count :]] = graph[count:]
        final_acoustic[state[2 * count :]] = acoustic[count:]
        costs = Costs(graph[:count], acoustic[:count], floats(final_graph), floats(final_acoustic))
        symbols = read_symbols(options["symbols"]) if "symbols" in options else None
        numbers = _vocabulary_numbers(record, rows, labels, symbols, vocabulary)
        columns = KaldiArcs(
            src=ints(state[:count]),
            dst=ints(state[count : 2 * count]),
            frames=ints(frames),
            costs=costs,
            start=int(np.searchsorted(known, int(rows[1][0]))),
        )
        key = rows[0][0].decode("utf-8")
        return lattice_of(columns, ints(numbers), vocabulary, key, options)

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Losses, **options: Any
    ) -> None:
        """Write CompactLattices: the start state first, then the others in order."""
        for number, lattice in enumerate(spaces):
            if not isinstance(lattice, Lattice):
                raise FormatError(f"kaldi holds lattices, not {type(lattice).__name__}")
            key, costs = key_of(lattice, number), costs_of(lattice, losses)
            names = _names(lattice, options.get("symbols"))
            lines = [f"{key} \n", *_lines(lattice, costs, names), "\n"]
            stream.write("".join(lines).encode("utf-8"))


FORMAT = KaldiText()


def _record(text: bytes, path: str, line: int, number: int) -> Record:
    payload = text.lstrip()
    above = text.count(b"\n", 0, len(text) - len(payload))
    return Record(payload, path, line + above, number)


def _is_weight(text: bytes) -> bool:
    parts = text.split(b",")
    return len(parts) in (2, 3) and all(map(_is_number, parts[:2]))


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    # Python's grouping of digits is nobody else's
    return b"_" not in text


def _tells(row: Row) -> bool | None:
    """Return whether a line is one of a CompactLattice; None if it may be of either."""
    if len(row) == 1:
        return None
    if len(row) == 4:
        return b"," in row[3]
    return row[1].count(b",") == 2 if len(row) == 2 else len(row) == 3


def _is_compact(record: Record, rows: Sequence[Row]) -> bool:
    """Decide which kind of lattice it is, and raise if its lines disagree."""
    body = rows[1:]
    widths = set(map(len, body))
    odd = widths - {1, 2, 3, 4, 5}
    if odd:
        place = next(place for place, row in enumerate(body, start=1) if len(row) in odd)
        raise record.error(f"{len(rows[place])} columns, expected 1 to 5", place)
    compact = next((kind for kind in map(_tells, body) if kind is not None), True)
    # what is no weight of a CompactLattice is found when weights are read, but words of a
    # Lattice may be anything
    if {3, 4, 5}.isdisjoint(widths) or widths.isdisjoint((5,) if compact else (3, 4)):
        return compact
    told = [_tells(row) for row in body]
    if True not in told or False not in told:
        return compact
    raise record.error(
        f"a line of {_KINDS[not compact]}, where those above are of {_KINDS[compact]}",
        1 + told.index(not compact),
    )


def _place(rows: Sequence[Row], index: int) -> int:
    """Return how many lines stand above an arc, or above a final state, counted after all arcs."""
    places = range(1, len(rows))
    return sorted(places, key=lambda place: len(rows[place]) < 3)[index]


def _weights(
    record: Record, rows: Sequence[Row], texts: list[bytes], compact: bool, arcs: int
) -> tuple[FloatColumn, FloatColumn, list[bytes]]:
    """Return graph costs, acoustic costs and transition-ids of weights, all at once."""
    commas = 2 if compact else 1
    # no weight has a newline in it, so one after each shows whether all have their commas
    parts = b",\n,".join([*texts, b""]).split(b",")
    step = commas + 2
    marks = parts[commas + 1 :: step]
    good = len(parts) == step * len(texts) + 1 and marks == [b"\n"] * len(texts)
    if not good:
        odd = next(index for index, text in enumerate(texts) if text.count(b",") != commas)
        raise _bad_weight(record, texts[odd], _place(rows, odd), compact)
    numbers = parts[0:-1:step] + parts[1:-1:step]
    try:
        values = floats(list(map(float, numbers)))
    except ValueError:
        values = floats([float(text) if _is_number(text) else np.nan for text in numbers])
    graph, acoustic = values[: len(texts)], values[len(texts) :]
    fine = np.isfinite(graph) & np.isfinite(acoustic)
    fine[arcs:] |= (graph[arcs:] == np.inf) & (acoustic[arcs:] == np.inf)
    if b"_" in b"".join(numbers):
        grouped = np.array([b"_" in text for text in numbers]).reshape(2, -1)
        fine &= ~grouped.any(axis=0)
    if not fine.all():
        odd = int(np.flatnonzero(~fine)[0])
        raise _bad_weight(record, texts[odd], _place(rows, odd), compact)
    return graph, acoustic, parts[2:-1:step] if compact else []


def _bad_weight(record: Record, text: bytes, place: int, compact: bool) -> FormatError:
    shown, wanted = text.decode("utf-8"), "graph,acoustic,ids" if compact else "graph,acoustic"
    return record.error(f"weight {shown!r}, expected {wanted} with finite costs", place)


def _compact_frames(record: Record, rows: Sequence[Row], ids: list[bytes]) -> list[int]:
    """Return how many transition-ids, joined by underscores, each weight has."""
    if not any(ids):
        return [0] * len(ids)
    if b"".join(ids).translate(None, b"0123456789_"):
        odd = next(i for i, text in enumerate(ids) if text.translate(None, b"0123456789_"))
        shown = ids[odd].decode("utf-8")
        raise record.error(
            f"transition-ids {shown!r}, expected numbers joined by _", _place(rows, odd)
        )
    return [text.count(b"_") + 1 if text else 0 for text in ids]


def _single_frames(record: Record, rows: Sequence[Row], ids: list[bytes]) -> list[int]:
    """Return 1 for every transition-id, 0 for epsilon."""
    for odd, text in enumerate(ids):
        if not text.isdigit() and text != b"<eps>":
            shown = text.decode("utf-8")
            raise record.error(
                f"transition-id {shown!r}, expected a number from 0", _place(rows, odd)
            )
    return [text not in (b"0", b"<eps>") for text in ids]


def _bad_state(record: Record, rows: Sequence[Row]) -> FormatError:
    """Return the error of the first state that is no number."""
    place, text = next(
        (place, text)
        for place, row in enumerate(rows)
        if place
        for text in row[: 2 if len(row) > 2 else 1]
        if not text.isdigit()
    )
    return record.error(f"state {text.decode('utf-8')!r}, expected a number from 0", place)


def _vocabulary_numbers(
    record: Record,
    rows: Sequence[Row],
    labels: list[bytes],
    symbols: SymbolTable | None,
    vocabulary: Vocabulary,
) -> list[int]:
    """Return the numbers of the words that the labels stand for."""
    distinct = list(dict.fromkeys(labels))
    words: list[str] = []
    if all(map(bytes.isdigit, distinct)):
        for label in distinct:
            key = int(label)
            word = "" if key == EPSILON else str(key) if symbols is None else symbols.get(key)
            if word is None:
                problem = f"the label {key} is not in the symbol table"
                raise record.error(problem, _place(rows, labels.index(label)))
            words.append(word)
    else:
        epsilon = EPSILON_NAME if symbols is None else symbols.get(EPSILON, EPSILON_NAME)
        names = (label.decode("utf-8") for label in distinct)
        words = ["" if name in (epsilon, EPSILON_NAME) else name for name in names]
    number = dict(zip(distinct, vocabulary.add_all(words), strict=True))
    return [number[label] for label in labels]


def _names(lattice: Lattice, table: str | None) -> Mapping[int, str]:
    """Return how each label of the lattice is written."""
    used = np.unique(lattice.label).tolist()
    words = {label: lattice.vocabulary.word(label) for label in used if label != EPSILON}
    if table is not None:
        numbers = extended_symbols(table, words.values())
        return {EPSILON: str(EPSILON)} | {key: str(numbers[word]) for key, word in words.items()}
    for word in words.values():
        check_symbol(word)
    names = {label: EPSILON_NAME if label == EPSILON else words[label] for label in used}
    digits = [name for name in names.values() if name.encode("utf-8").isdigit()]
    if len(digits) == len(names) and any(name != str(int(name)) or name == "0" for name in digits):
        raise FormatError(
            f"the words of segment {lattice.id!r} are whole numbers, and 0 or leading zeros "
            "would be read as others; symbols=FILE keeps them"
        )
    return names


def _lines(lattice: Lattice, costs: Costs, names: Mapping[int, str]) -> list[str]:
    targets, labels = lattice.dst.tolist(), lattice.label.tolist()
    graph, acoustic = costs.graph.tolist(), costs.acoustic.tolist()
    final_graph, final_acoustic = costs.final_graph.tolist(), costs.final_acoustic.tolist()
    bounds = lattice.out_offset.tolist()
    lines: list[str] = []
    for state in [lattice.start, *(q for q in range(lattice.num_states) if q != lattice.start)]:
        arcs = range(bounds[state], bounds[state + 1])
        lines += [
            f"{state}\t{targets[a]}\t{names[labels[a]]}\t{graph[a]!r},{acoustic[a]!r},\n"
            for a in arcs
        ]
        if final_graph[state] < np.inf:
            lines.append(f"{state}\t{final_graph[state]!r},{final_acoustic[state]!r},\n")
        elif not arcs:
            lines.append(f"{state}\tInfinity,Infinity,\n")
    return lines
