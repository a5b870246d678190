r"""Kaldi's lattices as text archives (``ark,t:``): CompactLattice and Lattice.

A key on a line of its own, one arc or final state a line, and an empty line at the end::

    src dst word graph,acoustic,ids      an arc of a CompactLattice; ids such as 3_1_1, or none
    src dst id word graph,acoustic       an arc of a Lattice; id is a transition-id
    state graph,acoustic,ids             a final state of a CompactLattice
    state graph,acoustic                 a final state of a Lattice

A weight left out is 0. The start is the first state of the first line. Lines tell which of
the two a lattice is: 3 columns, 4 with a comma in the last, or a final weight with two commas
make a CompactLattice; 5 columns, 4 without, or a final weight without two a Lattice.
One with nothing that tells is a CompactLattice. The empty line has to be there at the end of
the file, too: without it, nothing shows that the file is complete.

**Scores.** ``score = -(lm_scale * graph + acoustic_scale * acoustic)``, both scales 1 by
default. The costs, negated, are the features ``graph`` and ``acoustic``, so that
``lattice.reweighted({"graph": lm_scale, "acoustic": acoustic_scale})`` scales them anew. A
final weight of ``Infinity,Infinity`` is a state that is not final; no other may be infinite.

**Times.** The number of transition-ids on an arc is its length in frames of ``frame_shift``
seconds. Where all paths to each state agree the lattice has times, otherwise none. The
transition-ids themselves are dropped.

**Labels.** Where all labels of a lattice are whole numbers they are looked up in the table
``symbols=FILE``, Kaldi's ``words.txt``; without it they are an error, unless ``labels=numbers``
makes words of the digits. 0 is epsilon. Where they are not all numbers (``int2sym.pl -f 3``
makes such files), or with ``labels=words``, they are themselves the words, and ``<eps>`` is
epsilon.

A CompactLattice is written, or with ``type=lattice`` a Lattice, without transition-ids (those
of a Lattice are epsilon): the features ``graph`` and ``acoustic`` if the lattice has both,
otherwise the negated score as graph cost. Costs have all their digits, though Kaldi reads
them in single precision. Kaldi reads numbers only: ``symbols=FILE`` writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from lattices._native import (
    distinct_labels,
    empty_line_ends,
    kaldi_lines,
    kaldi_text,
    plain_kaldi_lines,
)
from lattices.arrays import Array, ints
from lattices.errors import FormatError
from lattices.formats.base import BYTE_ORDER_MARK, Format, Record, Unsupported, require_kind
from lattices.formats.fields import TABLE_OPTION, is_number, is_whole, label_names, label_words
from lattices.formats.kaldi.costs import (
    READ_OPTIONS,
    Costs,
    KaldiArcs,
    choose_key,
    cost_features,
    costs_of,
    lattice_of,
)
from lattices.options import Option
from lattices.spaces import Lattice, Space
from lattices.vocabulary import Vocabulary

_BLOCK = 1 << 18
#: what may be wrong with a line: the codes of native/kaldi_text.hpp, and the last for its states
_UNENDED, _KEY, _EMPTY, _COLUMNS, _MIXED, _WEIGHT, _IDS, _TRANSITION_ID = range(1, 9)
EMPTY_LINE = re.compile(rb"\n[ \t\v\f\r]*\n")


class KaldiText(NamedTuple):
    """What the native reader says of the lines of one lattice."""

    # what is wrong, 0 for nothing, and how many lines below the key
    problem: int
    line: int
    compact: bool  # whether it is a CompactLattice
    start: int
    # one entry an arc; ``label`` is an index into ``labels``
    src: Array
    dst: Array
    frames: Array
    graph: Array
    acoustic: Array
    # one entry a state
    final_graph: Array
    final_acoustic: Array
    label: Array
    labels: list[bytes]  # each once, in the order of the file
    label_line: Array  # the line of the first arc with a label


class KaldiArchive(Format):
    """See the module."""

    name = "kaldi"
    description = "Kaldi lattice archive as text; features graph and acoustic"
    kind = "lattice"
    suffixes = (".ark.txt", ".lat.txt")
    appendable = True
    options: Mapping[str, str] = READ_OPTIONS
    write_options: Mapping[str, str] = {
        **TABLE_OPTION,
        "type": Option("Kaldi's type of lattices", ("compact", "lattice")),
    }

    def sniff(self, head: bytes) -> bool:
        """Tell whether a key and lines with Kaldi's weights stand at the top."""
        lines = head.lstrip().split(b"\n")
        rows: list[list[bytes]] = []
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
            for end in empty_line_ends(rest):
                text = rest[place:end]
                if not text.isspace():
                    yield _record(text, path, line, number)
                    number += 1
                line += text.count(b"\n")
                place = end
            rest = rest[place:]
        if rest and not rest.isspace():
            yield _record(rest, path, line, number)

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Lattice:
        """Return the lattice; linear in the size of the record."""
        record.text()  # raises if it is none; bytes are cut at ASCII blanks only, unlike text
        found = KaldiText(*kaldi_text(record.payload))
        if found.problem:
            raise _error(record, found)
        costs = found.graph, found.acoustic, found.final_graph, found.final_acoustic
        arcs = KaldiArcs(
            src=found.src,
            dst=found.dst,
            frames=found.frames,
            costs=Costs(*costs),
            start=found.start,
        )
        words = label_words(found.labels, options)
        for label, line in zip(found.labels, found.label_line.tolist(), strict=True):
            if label not in words:
                shown = label.decode("utf-8")
                raise record.error(f"the label {shown:.40} is not in the symbol table", line)
        numbers = np.array(vocabulary.add_all(words.values()), np.int32)[found.label]
        name = record.payload.split(None, 1)[0].decode()
        return lattice_of(arcs, ints(numbers), vocabulary, name, options)

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Unsupported, **options: Any
    ) -> None:
        """Write the start state first, then the others in order."""
        compact = options.get("type") != "lattice"
        table = options.get("symbols")
        for number, lattice in enumerate(require_kind(Lattice, spaces, losses)):
            key, text = choose_key(lattice, number), None
            if table is None:
                costs, words = cost_features(lattice, losses), lattice.vocabulary.strings
                text = plain_kaldi_lines(key, lattice.columns, *costs, words, compact)
            stream.write(text or _lines(lattice, key, losses, table, compact))


def _lines(
    lattice: Lattice, key: str, losses: Unsupported, table: str | None, compact: bool
) -> bytes:
    """Return a lattice whose labels are numbers of a table, or in which anything is unusual."""
    costs, names = costs_of(lattice, losses), label_names(lattice, table)
    distinct, name = distinct_labels(lattice.label)
    spelled = [names[label] for label in distinct.tolist()]
    parts = costs.graph, costs.acoustic, costs.final_graph, costs.final_acoustic
    return kaldi_lines(key, lattice.columns, name, spelled, *parts, compact)


FORMAT = KaldiArchive()


def _record(text: bytes, path: str, line: int, number: int) -> Record:
    payload = text.lstrip()
    above = text.count(b"\n", 0, len(text) - len(payload))
    return Record(payload, path, line + above, number)


def _is_weight(text: bytes) -> bool:
    parts = text.split(b",")
    return len(parts) in (2, 3) and all(map(is_number, parts[:2]))


def _error(record: Record, found: KaldiText) -> FormatError:
    """Return what to say of the line that the native reader did not understand."""
    line = found.line
    row = record.payload.split(b"\n", line + 1)[line].split()
    kinds = ("a CompactLattice", "a Lattice")
    if found.problem == _UNENDED:
        # what is missing may be arcs and final states
        return record.error(
            "the file ends before the empty line that ends a lattice", record.payload.count(b"\n")
        )
    if found.problem == _KEY:
        return record.error(f"{len(row)} columns, expected a key alone on its line")
    if found.problem == _EMPTY:
        return record.error("the lattice is empty: no line follows the key")
    if found.problem == _COLUMNS:
        return record.error(f"{len(row)} columns, expected 1 to 5", line)
    if found.problem == _MIXED:
        here, above = kinds if not found.compact else kinds[::-1]
        return record.error(f"a line of {here}, where those above are of {above}", line)
    if found.problem == _WEIGHT:
        form = "graph,acoustic,ids" if found.compact else "graph,acoustic"
        what, text, wanted = "weight", row[-1], f"{form} with finite costs"
    elif found.problem == _IDS:
        ids = row[-1].rpartition(b",")[2]
        what, text, wanted = "transition-ids", ids, "numbers joined by _"
    elif found.problem == _TRANSITION_ID:
        what, text, wanted = "transition-id", row[2], "a number from 0"
    else:
        states = row[: 2 if len(row) > 2 else 1]
        text = next(text for text in states if not is_whole(text))
        what, wanted = "state", "a number from 0"
    return record.error(f"{what} {text.decode('utf-8')!r}, expected {wanted}", line)
