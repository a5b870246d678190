r"""SRILM's word meshes, or confusion networks, as nbest-lattice and lattice-tool write them.

One line for each fact, in the words of wlat-format(5) and of SRILM's ``WordMesh.cc``::

    name s                        begins a mesh; without it, the name of the file is the id
    numaligns N                   how many slots there are
    posterior P                   the probability mass of the whole; 1 if it is left out
    align a w1 p1 w2 p2 ...       slot a, from 0: words with their posterior probabilities
    reference a w                 the reference has w in slot a
    time a t                      slot a begins at t seconds
    info a w start dur ...        the word w in slot a begins at start and takes dur seconds
    hyps a w h ...
    posterior a p
    transposterior a p

Slots come in any order, each of them once. ``*DELETE*`` is the empty word. Blank lines and
lines that begin with ``##`` are nothing, and meshes may follow one another.

**Scores.** The score of an arc is the natural logarithm of its posterior. An alternative of
posterior 0 is left out: SRILM aligns the reference to a mesh as a hypothesis of weight 0, and
its words are no output of the recognizer. ``zeros=error`` refuses them. A mass other than 1
is kept in ``metadata["posterior"]``.

**References.** If there are reference lines, one for each slot, their words are the reference.

**Times.** A slot begins at its ``time``, or else at the earliest start of its words; the last one
ends where the last of its words does. Where that does not give every state a time, in
ascending order, there are none. Scores and phones of ``info``, the numbers of ``hyps`` and the
masses of single slots are not kept.

Only a lattice that is a chain of slots can be written, with ``exp(score)`` as posteriors; a slot
holds a word once. Times and references are not written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from lattices.arrays import FloatColumn, floats, ints
from lattices.errors import FormatError
from lattices.formats.base import (
    BLANKS,
    Format,
    Record,
    Unsupported,
    cut_lines,
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
from lattices.formats.fields import finite_number, is_whole, number_column
from lattices.formats.kaldi.costs import choose_key
from lattices.formats.streams import file_id
from lattices.spaces import Lattice, Space
from lattices.vocabulary import EPSILON, Vocabulary

DELETE = "*DELETE*"

_TOP = re.compile(rb"(?:[ \t\r]*(?:##[^\n]*)?\n)*(?:name[ \t][^\n]*\n\s*)?numaligns[ \t]+[0-9]")
_COMMENT = b"##"
_LONGEST_NUMBER = 9


class Mesh(Format):
    """See the module."""

    name = "mesh"
    description = "SRILM word meshes (confusion networks), wlat-format(5)"
    kind = "lattice"
    suffixes = (".mesh", ".cn")
    options: Mapping[str, str] = READ_OPTIONS
    appendable = True

    def sniff(self, head: bytes) -> bool:
        """Tell whether the number of slots stands at the top, or next to the name."""
        return _TOP.match(head) is not None

    def records(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Cut before each name, and before a number of slots where there has been one."""
        counted = False

        def begins(text: bytes) -> bool:
            nonlocal counted
            keyword = text.split(None, 1)[0]
            counts = keyword == b"numaligns"
            new = keyword == b"name" or (counts and counted)
            counted = counts or (counted and not new)
            return new

        return cut_lines(stream, path, begins)

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Lattice:
        """Return the lattice, in time linear in the mesh."""
        drop_zeros = options.get("zeros") != "error"
        record.text()  # raises if it is none; bytes are cut at ASCII blanks only, unlike text
        found = _MeshReader(record)
        fallback = file_id(record.path, record.number, self.suffixes)
        try:
            return lattice_of(
                found.alternatives(vocabulary),
                vocabulary,
                drop_zeros,
                id=found.name or fallback,
                times=found.times(),
                references=found.references(),
                metadata={} if found.mass == 1.0 else {"posterior": found.mass},
            )
        except SlotError as problem:
            raise record.error(problem.problem, found.slots[problem.slot][0]) from problem

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Unsupported, **options: Any
    ) -> None:
        """Write each mesh with a name, the most probable words of a slot first."""
        for number, lattice in enumerate(require_kind(Lattice, spaces, losses)):
            stream.write("\n".join([*_mesh_lines(lattice, number, losses), ""]).encode("utf-8"))


FORMAT = Mesh()


class _MeshReader:
    """The lines of one mesh, by what they say."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.name = ""
        self.mass = 1.0
        self.count, self.counted_at = -1, 0
        self.slots: dict[int, tuple[int, list[bytes]]] = {}
        self._mentioned: dict[int, int] = {}
        self._reference: dict[int, bytes] = {}
        self._begins: dict[int, float] = {}
        self._word_begins: dict[int, float] = {}
        self._word_ends: dict[int, float] = {}
        self._read()

    def _read(self) -> None:
        known: dict[bytes, tuple[int, Callable[[list[bytes], int], object]]] = {
            b"name": (2, self._read_name),
            b"numaligns": (2, self._read_count),
            b"posterior": (2, self._read_mass),
            b"align": (2, self._read_slot),
            b"reference": (3, self._read_reference),
            b"time": (3, self._read_time),
            b"info": (5, self._read_info),
            b"hyps": (3, self._slot),
            b"transposterior": (3, self._slot),
        }
        for place, line in enumerate(self.record.payload.split(b"\n")):
            row = line.split()
            if not row or line.startswith(_COMMENT):
                continue
            if row[0] not in known:
                shown = row[0].decode("utf-8")
                raise self.record.error(f"{shown!r:.40} is no keyword of a mesh", place)
            least, read = known[row[0]]
            if len(row) < least:
                problem = f"{len(row)} columns, expected {least} or more"
                raise self.record.error(problem, place)
            read(row, place)
        self._check_count()
        for slot, place in self._mentioned.items():
            if slot not in self.slots:
                raise self.record.error(f"slot {slot}, beyond the {self.count} there are", place)

    def _check_count(self) -> None:
        if self.count < 0:
            raise self.record.error("no numaligns: not a whole mesh")
        count, found = self.count, len(self.slots)
        if found != count or (found and max(self.slots) >= count):
            missing = next(slot for slot in range(found + 1) if slot not in self.slots)
            problem = f"{found} slots of {count} announced"
            if missing < count:
                problem += f", slot {missing} is missing"
            raise self.record.error(problem, self.counted_at)

    def _read_name(self, row: list[bytes], place: int) -> None:
        self.name = b" ".join(row[1:]).decode("utf-8")

    def _read_count(self, row: list[bytes], place: int) -> None:
        self.count, self.counted_at = self._whole(row[1], place), place

    def _read_mass(self, row: list[bytes], place: int) -> None:
        if len(row) > 2:
            self._slot(row, place)
            return
        self.mass = self._number(row[1], place)
        if self.mass <= 0.0:
            raise self.record.error(f"posterior {self.mass:g}, expected a number above 0", place)

    def _read_slot(self, row: list[bytes], place: int) -> None:
        slot = self._whole(row[1], place)
        if slot in self.slots:
            raise self.record.error(f"a second slot {slot}", place)
        if len(row) % 2:
            raise self.record.error("a word without a probability", place)
        self.slots[slot] = place, row

    def _read_reference(self, row: list[bytes], place: int) -> None:
        slot = self._slot(row, place)
        if slot in self._reference:
            raise self.record.error(f"a second reference of slot {slot}", place)
        self._reference[slot] = row[2]

    def _read_time(self, row: list[bytes], place: int) -> None:
        self._begins[self._slot(row, place)] = self._number(row[2], place)

    def _read_info(self, row: list[bytes], place: int) -> None:
        slot = self._slot(row, place)
        start, duration = self._number(row[3], place), self._number(row[4], place)
        # SRILM marks times that are not known by a duration of 0
        if duration > 0.0:
            self._word_begins[slot] = min(self._word_begins.get(slot, math.inf), start)
            self._word_ends[slot] = max(self._word_ends.get(slot, -math.inf), start + duration)

    def _slot(self, row: list[bytes], place: int) -> int:
        slot = self._whole(row[1], place)
        self._mentioned.setdefault(slot, place)
        return slot

    def _whole(self, text: bytes, place: int) -> int:
        if not is_whole(text, _LONGEST_NUMBER):
            shown = text.decode("utf-8")
            raise self.record.error(
                f"{shown!r:.40}, expected a whole number of {_LONGEST_NUMBER} digits at most", place
            )
        return int(text)

    def _number(self, text: bytes, place: int) -> float:
        value = finite_number(text)
        if value is None:
            shown = text.decode("utf-8")
            raise self.record.error(f"{shown!r:.40}, expected a finite number", place)
        return value

    def alternatives(self, vocabulary: Vocabulary) -> Alternatives:
        """Return the words and probabilities of all slots, in order."""
        rows = [self.slots[slot][1] for slot in range(self.count)]
        bounds = np.cumsum([0, *(len(row) // 2 - 1 for row in rows)]).tolist()
        probability, bad = number_column([text for row in rows for text in row[3::2]])
        if bad >= 0:
            slot = int(np.searchsorted(bounds, bad, side="right")) - 1
            shown = rows[slot][3 + 2 * (bad - bounds[slot])].decode("utf-8")
            raise SlotError(f"probability {shown!r:.40}, expected a number", slot)
        for slot, row in enumerate(rows):
            words = row[2::2]
            if len(set(words)) < len(words):
                raise SlotError(f"a word stands twice in slot {slot}", slot)
        texts = [word.decode("utf-8") for row in rows for word in row[2::2]]
        numbers = vocabulary.add_all("" if word == DELETE else word for word in texts)
        return Alternatives(ints(numbers), probability, bounds)

    def times(self) -> FloatColumn | None:
        """Return the time of every state, if all are known and none is before another."""
        begins = self._word_begins | self._begins
        last = self.count - 1
        if len(begins) < self.count or last not in self._word_ends:
            return None
        times = [*(begins[slot] for slot in range(self.count)), self._word_ends[last]]
        return None if (np.diff(times) < 0.0).any() else floats(times)

    def references(self) -> tuple[str, ...]:
        """Return the reference, if the mesh has one."""
        if not self._reference:
            return ()
        if len(self._reference) < self.count:
            raise self.record.error(f"references of {len(self._reference)} slots of {self.count}")
        words = (self._reference[slot].decode("utf-8") for slot in range(self.count))
        return (" ".join(word for word in words if word != DELETE),)


def _mesh_lines(lattice: Lattice, number: int, losses: Unsupported) -> list[str]:
    mass = lattice.metadata.get("posterior", 1.0)
    held = isinstance(mass, float | int) and 0.0 < mass < math.inf
    note_losses(lattice, losses, metadata=("posterior",) if held else ())
    slots = list_alternatives(lattice, losses)
    names = _names(lattice)
    labels, probabilities = slots.label.tolist(), slots.probability.tolist()
    lines = [f"name {choose_key(lattice, number)}", f"numaligns {len(slots.bounds) - 1}"]
    lines.append(f"posterior {float(mass) if held else 1.0!r}")
    for slot in range(len(slots.bounds) - 1):
        places = range(slots.bounds[slot], slots.bounds[slot + 1])
        if len({labels[place] for place in places}) < len(places):
            raise FormatError(
                f"two arcs out of state {slot} of segment {lattice.id!r} have one word, and a "
                "slot of a mesh holds a word once"
            )
        words = " ".join([f"{names[labels[place]]} {probabilities[place]!r}" for place in places])
        lines.append(f"align {slot} {words}")
    return lines


def _names(lattice: Lattice) -> dict[int, str]:
    names = {EPSILON: DELETE}
    for label in np.unique(lattice.label).tolist():
        if label != EPSILON:
            word = names[label] = lattice.vocabulary.word(label)
            if word == DELETE or any(blank in word for blank in BLANKS):
                raise FormatError(f"the word {word!r} cannot stand in a mesh")
    return names
