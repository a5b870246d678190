r"""Kaldi's posterior archives, as lattice-mbr-decode writes sausages: text and binary.

One confusion network for each key. As text (``ark,t:``) it is one line::

    key [ id p id p ] [ id p ] ...

where each pair of brackets is a slot, and an id of 0 is the empty word. As binary (``ark:``)
the key and a blank are followed by ``\0B`` and the same in numbers of 4 bytes, each of which
has the byte 4 before it: how many slots there are, and for each slot how many pairs, and the pairs
of an id and a probability in single precision. A reader is told which of the two it is by the
bytes after the key.

**Scores.** The score of an arc is the natural logarithm of its probability. An alternative of
probability 0 is left out, for no path can take it; ``zeros=error`` refuses it.

**Labels.** Where all ids of a network are whole numbers they are looked up in the table
``symbols=FILE``, Kaldi's ``words.txt``; without it they are an error, unless ``labels=numbers``
makes words of the digits. Where they are not all numbers (``utils/int2sym.pl`` makes such files),
or with ``labels=words``, they are themselves the words, and ``<eps>`` is the empty one.

Only a lattice that is a chain of slots can be written, with ``exp(score)`` as probabilities, the
most probable alternative first. Text has all digits; Kaldi reads whole numbers only, which
``symbols=FILE`` writes, and binary files need it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from lattices.arrays import floats, ints
from lattices.errors import FormatError, OptionError, argument
from lattices.formats.base import (
    BYTE_ORDER_MARK,
    Format,
    Record,
    Unsupported,
    note_losses,
    require_kind,
)
from lattices.formats.confusion.slots import (
    READ_OPTIONS,
    Alternatives,
    SlotError,
    lattice_of,
    list_alternatives,
)
from lattices.formats.fields import (
    LABEL_OPTIONS,
    TABLE_OPTION,
    label_names,
    label_words,
    number_column,
)
from lattices.formats.kaldi.costs import choose_key
from lattices.options import Option
from lattices.spaces import Lattice, Space
from lattices.vocabulary import Vocabulary

_BLOCK = 1 << 18
_KEY = re.compile(rb"[^ \t\n\v\f\r]+")
_BINARY = b" \0B"
_OPEN, _CLOSE = b"[", b"]"
_COUNT = struct.Struct("<bi")
_PAIR = np.dtype([("four", "i1"), ("id", "<i4"), ("also_four", "i1"), ("p", "<f4")])


class Sausages(Format):
    """See the module."""

    name = "sausages"
    description = "Kaldi posterior archives of lattice-mbr-decode (sausages), text or binary"
    kind = "lattice"
    suffixes = (".sau", ".sau.ark")
    options: Mapping[str, str] = {
        **READ_OPTIONS,
        **LABEL_OPTIONS,
    }
    write_options: Mapping[str, str] = {
        "binary": Option("whether it is, or text", bool, False),
        **TABLE_OPTION,
    }
    appendable = True

    def sniff(self, head: bytes) -> bool:
        """Tell whether slots follow the first keys."""
        key = _KEY.match(head)
        if key is not None and head.startswith(_BINARY, key.end()):
            return _looks_binary(head[key.end() + len(_BINARY) :])
        lines = head.split(b"\n")
        rows = [row for line in lines[:-1] or lines if (row := line.split()[:4])]
        # a network without a slot is a key alone, so one line at least has to tell
        return all(len(row) == 1 or _looks_like_slots(row) for row in rows) and any(
            map(_looks_like_slots, rows)
        )

    def records(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Walk over binary networks to find their ends, and cut text at line ends."""
        rest, number, line, complete = b"", 0, 1, False
        while not complete:
            block = stream.read(max(_BLOCK, len(rest)))
            complete = not block
            rest += block if line != 1 or rest else block.removeprefix(BYTE_ORDER_MARK)
            place = 0
            while (key := _KEY.search(rest, place)) is not None:
                line += rest.count(b"\n", place, key.start()) if line else 0
                place = key.start()
                if not complete and key.end() + len(_BINARY) > len(rest):
                    break
                if rest.startswith(_BINARY, key.end()):
                    end = _end_of_binary(rest, key.end() + len(_BINARY), path, complete)
                    line = 0  # line numbers have no meaning from here on
                else:
                    end = rest.find(b"\n", key.end()) + 1
                    end = len(rest) if complete and not end else end
                if not end:
                    break
                yield Record(rest[place:end], path, line, number)
                number += 1
                line += 1 if line else 0
                place = end
            rest = rest[place:]

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Lattice:
        """Return the lattice, in time linear in the record."""
        drop_zeros = options.get("zeros") != "error"
        key = _KEY.match(record.payload)
        if key is None:
            raise record.error("no key")
        try:
            name = key.group().decode("utf-8")
        except UnicodeDecodeError as problem:
            raise record.error(f"the key is not UTF-8: {problem.reason}") from problem
        if record.payload.startswith(_BINARY, key.end()):
            labels, probability, bounds = _binary_slots(record, key.end() + len(_BINARY))
        else:
            labels, probability, bounds = _text_slots(record)
        words = label_words(labels, options)
        if not words.keys() >= set(labels):
            shown = next(label for label in labels if label not in words).decode("utf-8")
            raise record.error(f"the label {shown} of {name!r} is not in the symbol table")
        numbers = dict(zip(words, vocabulary.add_all(words.values()), strict=True))
        column = ints([numbers[label] for label in labels])
        try:
            found = Alternatives(column, floats(probability), bounds)
            return lattice_of(found, vocabulary, drop_zeros, id=name)
        except SlotError as problem:
            raise record.error(f"slot {problem.slot} of {name!r}: {problem.problem}") from problem

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Unsupported, **options: Any
    ) -> None:
        """Write one network after the other, as Kaldi does."""
        binary = options.get("binary", False)
        table = options.get("symbols")
        if binary and table is None:
            needed = argument("write.symbols", "FILE")
            raise OptionError(f"binary=true needs {needed}, where the words are kept")
        for number, lattice in enumerate(require_kind(Lattice, spaces, losses)):
            note_losses(lattice, losses)
            slots = list_alternatives(lattice, losses, single=binary)
            names = label_names(lattice, table, (_CLOSE.decode(),))
            write = _binary_network if binary else _text_network
            stream.write(f"{choose_key(lattice, number)} ".encode() + write(slots, names))


FORMAT = Sausages()


def _looks_like_slots(row: list[bytes]) -> bool:
    if len(row) < 3 or row[1] != _OPEN:
        return False
    return row[2] == _CLOSE or (len(row) == 4 and number_column(row[3:])[1] < 0)


def _looks_binary(body: bytes) -> bool:
    """Tell the first counts from those of a vector, whose numbers have no byte 4 before them."""
    fours = [0] if len(body) >= 1 else []
    if len(body) > 10 and _COUNT.unpack_from(body)[1] > 0:
        fours += [5, 10] if _COUNT.unpack_from(body, 5)[1] > 0 else [5]
    return bool(fours) and all(body[place] == 4 for place in fours)


def _count(data: bytes, place: int) -> int:
    """Return the count at a place in the bytes; -1 if it is cut short, -2 if it is no count."""
    if place + _COUNT.size > len(data):
        return -1
    four, count = _COUNT.unpack_from(data, place)
    return count if four == 4 and count >= 0 else -2


def _end_of_binary(data: bytes, place: int, path: str, complete: bool) -> int:
    """Return where a binary network ends; 0 if there is more to come."""
    slots = _count(data, place)
    while slots > 0:
        place += _COUNT.size
        pairs = _count(data, place)
        if pairs < 0:
            slots = pairs
            break
        place += pairs * _PAIR.itemsize
        slots -= 1
    end = place + _COUNT.size
    if slots == -2:
        raise FormatError(f"no count after byte {place} of a network, or a negative one", path)
    if slots == -1 or end > len(data):
        if complete:
            raise FormatError("the file ends within a network", path)
        return 0
    return end


def _binary_slots(record: Record, place: int) -> tuple[list[bytes], list[float], list[int]]:
    data = record.payload
    labels: list[bytes] = []
    probability: list[float] = []
    bounds = [0]
    for slot in range(_count(data, place)):
        place += _COUNT.size
        pairs = np.frombuffer(data, _PAIR, _count(data, place), place + _COUNT.size)
        if (pairs["four"] != 4).any() or (pairs["also_four"] != 4).any():
            raise record.error(f"a number of slot {slot} is not of 4 bytes")
        if (pairs["id"] < 0).any():
            raise record.error(f"a negative label in slot {slot}")
        labels += [b"%d" % key for key in pairs["id"].tolist()]
        probability += pairs["p"].tolist()
        bounds.append(len(labels))
        place += pairs.nbytes
    return labels, probability, bounds


def _text_slots(record: Record) -> tuple[list[bytes], list[float], list[int]]:
    record.text()  # raises if it is none; bytes are cut at ASCII blanks only, unlike text
    if not record.payload.endswith(b"\n"):
        raise record.error("the file ends within a line")
    tokens = record.payload.split()
    labels: list[bytes] = []
    texts: list[bytes] = []
    bounds = [0]
    place = 1
    while place < len(tokens):
        slot = len(bounds) - 1
        if tokens[place] != _OPEN:
            shown = tokens[place].decode("utf-8")
            raise record.error(f"{shown!r:.40} where slot {slot} should open by [")
        try:
            end = tokens.index(_CLOSE, place)
        except ValueError:
            raise record.error(f"slot {slot} is not closed by ]") from None
        if (end - place) % 2 == 0:
            raise record.error(f"slot {slot} is no list of pairs of a label and a probability")
        labels += tokens[place + 1 : end : 2]
        texts += tokens[place + 2 : end : 2]
        bounds.append(len(labels))
        place = end + 1
    probability, bad = number_column(texts)
    if bad >= 0:
        slot = int(np.searchsorted(bounds, bad, side="right")) - 1
        shown = texts[bad].decode("utf-8")
        raise record.error(f"probability {shown!r:.40} in slot {slot}, expected a number")
    return labels, probability.tolist(), bounds


def _text_network(slots: Alternatives, names: Mapping[int, str]) -> bytes:
    entries = [
        f"{names[label]} {probability!r} "
        for label, probability in zip(slots.label.tolist(), slots.probability.tolist(), strict=True)
    ]
    parts = [
        f"[ {''.join(entries[start:end])}] "
        for start, end in zip(slots.bounds[:-1], slots.bounds[1:], strict=True)
    ]
    return ("".join(parts) + "\n").encode("utf-8")


def _binary_network(slots: Alternatives, names: Mapping[int, str]) -> bytes:
    pairs = np.empty(len(slots.label), _PAIR)
    pairs["four"] = pairs["also_four"] = 4
    pairs["id"] = [int(names[label]) for label in slots.label.tolist()]
    pairs["p"] = slots.probability
    data = [_BINARY[1:], _COUNT.pack(4, len(slots.bounds) - 1)]
    for start, end in zip(slots.bounds[:-1], slots.bounds[1:], strict=True):
        data += [_COUNT.pack(4, end - start), pairs[start:end].tobytes()]
    return b"".join(data)
