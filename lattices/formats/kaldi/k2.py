r"""k2's text, as ``k2.to_str`` and ``Fsa.to_str`` write it and ``Fsa.from_str`` reads it.

One FSA a file, one arc a line, and the final state alone on the last::

    src dst label [aux ...] score
    final

Scores are log-scores, higher is better; the score may not be left out. State 0 is the start,
and the final state has the largest number. The first column ascends. Label -1 stands on all
arcs into the final state, and on no others: such an arc is a way of ending in its source, with
a score. What ``print(fsa)`` prints, with ``k2.Fsa:`` at the top and ``properties_str`` at the
end, is read as well; an ``FsaVec`` is not.

**Labels.** All columns between the states and the score are labels. k2 calls the first
``labels`` and the others ``aux_labels``, ``aux_labels2`` and so on; ragged ones stand in brackets,
``[ 3 4 ]``. ``side=`` names the ones that are the words: by default ``aux_labels``, or
``labels`` where there are no others. In the lattices of k2's decoders the labels are tokens and
the aux_labels words. They are looked up in the table ``symbols=FILE``; without it they are an
error, unless ``labels=numbers`` makes words of the digits. 0 is epsilon. Where not all are
numbers, or with ``labels=words``, they are themselves the words, and ``<eps>`` is epsilon.

**Reading.** The only arc from a state to the final one becomes the final score of the state; of
several all stay, as epsilon arcs. An arc with several words becomes a chain, with the score at
its first. Arcs of score ``-inf``, which no path can take, are left out.

**Writing.** An acceptor, whose last state is new: each final score is an arc into it. k2 reads
whole numbers only: ``symbols=FILE`` writes them. Scores have all their digits, though k2 stores
them in single precision. Features, times and metadata have no place here.

The text with ``openfst=True``, where costs are negated and final states have lines of their
own, is the format ``openfst-text``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from lattices.arrays import Array, IntColumn, chain_arcs, floats, ints
from lattices.errors import OptionError
from lattices.formats.base import Format, Record, Unsupported, note_losses, require_kind
from lattices.formats.fields import (
    LABEL_OPTIONS,
    TABLE_OPTION,
    is_whole,
    label_names,
    label_words,
    number_column,
)
from lattices.spaces import Lattice, Space
from lattices.vocabulary import EPSILON, Vocabulary

Row: TypeAlias = "list[bytes]"

_FINAL = b"-1"
_HEADER = re.compile(rb"\s*k2\.Fsa: ?")
_TAIL = b"properties_str"
_VECTOR = re.compile(rb"\s*k2\.FsaVec:")
_SIDE = re.compile(r"labels|aux_labels(|[2-9]|[1-9][0-9])")


class K2(Format):
    """See the module."""

    name = "k2"
    description = "k2 text, one FSA a file; aux_labels are the words"
    kind = "lattice"
    suffixes = (".k2.txt", ".k2")
    options: Mapping[str, str] = {
        **LABEL_OPTIONS,
        "side": "labels, aux_labels (default, if there are), aux_labels2 ...: which are the words",
    }
    write_options: Mapping[str, str] = {
        **TABLE_OPTION,
    }
    single = True
    exact = True

    def sniff(self, head: bytes) -> bool:
        """Tell whether it says so, or an arc has label -1 and none has fewer than 4 columns."""
        if _HEADER.match(head) or _VECTOR.match(head):
            return True
        lines = head.split(b"\n")
        rows = [row for line in lines[:-1] or lines if (row := line.split())]
        if rows and len(rows[-1]) == 1:
            rows = rows[:-1]
        return all(len(row) >= 4 and row[0].isdigit() and row[1].isdigit() for row in rows) and any(
            row[2] == _FINAL for row in rows
        )

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Lattice:
        """Return the lattice, in time linear in the file."""
        side = str(options.get("side", "auto"))
        if side != "auto" and not _SIDE.fullmatch(side):
            raise OptionError(f"side={side!r}, expected labels, aux_labels, aux_labels2 ...")
        arcs = _K2Arcs(record)
        labels, counts = arcs.labels(side)
        words = label_words(labels, options)
        if not words.keys() >= set(labels):
            odd = next(index for index, label in enumerate(labels) if label not in words)
            place = arcs.places[int(np.searchsorted(np.cumsum(counts), odd, side="right"))]
            shown = labels[odd].decode("utf-8")
            raise record.error(f"the label {shown} is not in the symbol table", place)
        numbers = dict(zip(words, vocabulary.add_all(words.values()), strict=True))
        return arcs.lattice(ints([numbers[label] for label in labels]), counts, vocabulary)

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Unsupported, **options: Any
    ) -> None:
        """Write an acceptor: the start as state 0, then the others in order."""
        for lattice in require_kind(Lattice, spaces, losses):
            note_losses(lattice, losses)
            names = label_names(lattice, options.get("symbols"), ("-1", "[", "]"))
            stream.write("".join(_lines(lattice, names)).encode("utf-8"))


FORMAT = K2()


class _K2Arcs:
    """The arcs of a file in columns, checked as k2 checks them."""

    def __init__(self, record: Record) -> None:
        self.record = record
        record.text()  # raises if it is none; bytes are cut at ASCII blanks only, unlike text
        if _VECTOR.match(record.payload):
            raise record.error("an FsaVec; expected one FSA a file")
        header = _HEADER.match(record.payload)
        top = header.end() if header else 0
        lines = record.payload[top:].split(b"\n")
        if header:
            end = (place for place, line in enumerate(lines) if line.startswith(_TAIL))
            lines = lines[: next(end, len(lines))]
        numbered = enumerate(map(bytes.split, lines), start=record.payload.count(b"\n", 0, top))
        rows = [(place, row) for place, row in numbered if row]
        if not rows or len(rows[-1][1]) != 1:
            raise record.error("no final state on the last line", rows[-1][0] if rows else 0)
        if len(rows) == 1:
            raise record.error("the FSA is empty: it has no arcs", rows[0][0])
        self.places = [place for place, _ in rows[:-1]]
        self.rows = [row for _, row in rows[:-1]]
        self.ragged = any(b"[" in row for row in self.rows)
        self._check_widths()
        self.score = self._scores()
        self.src, self.dst, self.final = self._states(rows[-1])

    def _check_widths(self) -> None:
        widths = set(map(len, self.rows))
        if min(widths) < 4:
            odd = next(entry for entry, row in enumerate(self.rows) if len(row) < 4)
            problem = f"{len(self.rows[odd])} columns, expected 4 or more: src dst label score"
            if len(self.rows[odd]) < 3:
                problem += "; final states with lines of their own are format openfst-text"
            raise self.record.error(problem, self.places[odd])
        if len(widths) > 1 and not self.ragged:
            width = len(self.rows[0])
            odd = next(entry for entry, row in enumerate(self.rows) if len(row) != width)
            problem = f"{len(self.rows[odd])} columns, where the first arc has {width}"
            raise self.record.error(problem, self.places[odd])

    def _scores(self) -> Array:
        score, bad = number_column([row[-1] for row in self.rows])
        infinite = np.flatnonzero(score == np.inf)
        bad = bad if bad >= 0 or not len(infinite) else int(infinite[0])
        if bad >= 0:
            shown = self.rows[bad][-1].decode("utf-8")
            raise self.record.error(f"score {shown!r:.40}, expected a number", self.places[bad])
        return score

    def _states(self, last: tuple[int, Row]) -> tuple[Array, Array, int]:
        """Return sources and targets numbered without gaps, and the final state."""
        sources, targets = [row[0] for row in self.rows], [row[1] for row in self.rows]
        for column in (sources, targets, last[1]):
            if not all(map(is_whole, column)):
                odd = next(entry for entry, text in enumerate(column) if not is_whole(text))
                place = last[0] if column is last[1] else self.places[odd]
                shown = column[odd].decode("utf-8")
                raise self.record.error(f"state {shown!r:.40}, expected a number from 0", place)
        named = [0, *map(int, sources), *map(int, targets), int(last[1][0])]
        states, state = np.unique(np.array(named, dtype=np.int64), return_inverse=True)
        count, final = len(self.rows), int(state[-1])
        src, dst = state[1 : count + 1], state[count + 1 : -1]
        if final != len(states) - 1:
            raise self.record.error(
                f"final state {named[-1]}, where there is a state {states[-1]}", last[0]
            )
        falling = np.flatnonzero(np.diff(src) < 0)
        if len(falling):
            problem = "the first column does not ascend"
            raise self.record.error(problem, self.places[falling[0] + 1])
        ending = np.array([row[2] == _FINAL for row in self.rows], bool)
        wrong = np.flatnonzero(ending != (dst == final))
        if len(wrong):
            shown = self.rows[wrong[0]][2].decode("utf-8")
            raise self.record.error(
                f"label {shown!r:.40} on an arc to state {targets[wrong[0]].decode()}, where -1 "
                "stands on all arcs into the final state and on no others",
                self.places[wrong[0]],
            )
        leaving = np.flatnonzero(src == final)
        if len(leaving):
            raise self.record.error("an arc leaves the final state", self.places[leaving[0]])
        return src, dst, final

    def labels(self, side: str) -> tuple[list[bytes], Array]:
        """Return the labels of one side, arc by arc, and how many there are on each arc.

        The -1 of arcs into the final state is none.
        """
        sides = self._read_ragged_sides() if self.ragged else []
        width = len(sides[0]) if sides else len(self.rows[0]) - 3
        chosen = min(width, 2) - 1 if side == "auto" else _column(side)
        if chosen >= width:
            raise self.record.error(f"side={side}, but there are only {width - 1} aux_labels")
        lists = [row[chosen] for row in sides] or [[row[2 + chosen]] for row in self.rows]
        for entry in np.flatnonzero(self.dst == self.final).tolist():
            lists[entry] = [label for label in lists[entry] if label != _FINAL]
        counts = np.array(list(map(len, lists)))
        labels = list(chain.from_iterable(lists))
        if _FINAL in labels:
            odd = int(np.searchsorted(np.cumsum(counts), labels.index(_FINAL), side="right"))
            problem = "label -1 on an arc that does not go to the final state"
            raise self.record.error(problem, self.places[odd])
        return labels, counts

    def _read_ragged_sides(self) -> list[list[Row]]:
        """Return the lists of labels of every arc, all with the same number of lists."""
        pairs = zip(self.places, self.rows, strict=True)
        sides = [self._sides(row, place) for place, row in pairs]
        for place, row in zip(self.places, sides, strict=True):
            if len(row) != len(sides[0]):
                problem = f"{len(row)} labels, where the first arc has {len(sides[0])}"
                raise self.record.error(problem, place)
        return sides

    def _sides(self, row: Row, place: int) -> list[Row]:
        """Return the labels of a line with brackets."""
        sides: list[Row] = []
        inside = False
        for token in row[2:-1]:
            if token == b"[" and not inside:
                sides.append([])
                inside = True
            elif token == b"]" and inside:
                inside = False
            elif inside:
                sides[-1].append(token)
            else:
                sides.append([token])
        if inside:
            raise self.record.error("a bracket is not closed", place)
        return sides

    def lattice(self, label: IntColumn, counts: Array, vocabulary: Vocabulary) -> Lattice:
        """Return the lattice whose arcs have so many of these words each."""
        states = self.final + 1
        ending = self.dst == self.final
        ways = np.bincount(self.src[ending], minlength=states)
        spoken = np.repeat(np.arange(len(counts)), counts)[label != EPSILON]
        silent = np.bincount(spoken, minlength=len(counts)) == 0
        alone = ending & silent & (ways[self.src] == 1)
        final = np.full(states, -np.inf)
        final[self.src[alone]] = self.score[alone]
        kept = ~alone & (self.score > -np.inf)
        if (ending & kept).any():
            final[self.final] = 0.0
        else:
            # nothing leads to the final state any more
            final, states = final[:-1], states - 1

        # an arc of several words is a chain, whose first piece has the score
        pieces = np.maximum(counts[kept], 1)
        src, dst, first = chain_arcs(self.src[kept], self.dst[kept], pieces, states)
        words = np.full(len(first), EPSILON)
        words[np.repeat(counts[kept] > 0, pieces)] = label[np.repeat(kept, counts)]
        return Lattice(
            vocabulary=vocabulary,
            src=src,
            dst=dst,
            label=ints(words),
            score=floats(np.where(first, np.repeat(self.score[kept], pieces), 0.0)),
            final=floats(np.append(final, np.full(np.count_nonzero(~first), -np.inf))),
        )


def _column(side: str) -> int:
    if side == "labels":
        return 0
    return int(side.removeprefix("aux_labels") or 1)


def _lines(lattice: Lattice, names: Mapping[int, str]) -> Iterator[str]:
    order = [lattice.start, *(q for q in range(lattice.num_states) if q != lattice.start)]
    number = {state: place for place, state in enumerate(order)}
    targets = [number[state] for state in lattice.dst.tolist()]
    labels, score = lattice.label.tolist(), lattice.score.tolist()
    final, bounds = lattice.final.tolist(), lattice.out_offset.tolist()
    last = len(order)
    for place, state in enumerate(order):
        for arc in range(bounds[state], bounds[state + 1]):
            yield f"{place} {targets[arc]} {names[labels[arc]]} {score[arc]!r}\n"
        if final[state] > -np.inf:
            yield f"{place} {last} {_FINAL.decode()} {final[state]!r}\n"
    yield f"{last}\n"
