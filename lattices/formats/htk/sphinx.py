"""Word lattices of PocketSphinx and Sphinx-III, in their own text; read only.

Words stand on nodes, and the score of an edge is the acoustic score of the word of the node it
leaves, so here the word is on that edge too: a state is where a word begins, its time the first
frame of the word at 100 frames a second. Scores are natural logarithms, converted from the base
that the file names in ``# -logbase``; a file that names none needs ``logbase=``. **There are no
language scores in these files**, so that the best path is the best by acoustics alone; the SLF
files of PocketSphinx hold posteriors as well (see :mod:`lattices.formats.htk.slf`).

Pronunciation variants ``word(2)`` are the word, unless ``variants=keep``. ``<s>``, ``</s>``,
``<sil>`` and fillers such as ``[NOISE]`` and ``++COUGH++`` are epsilon, unless ``fillers=keep``.
The variety of Sphinx-III whose edges go to frames, not to nodes, is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from lattices.arrays import floats, ints
from lattices.errors import OptionError, argument
from lattices.formats.base import Format, Record, split_words
from lattices.formats.fields import finite_number, is_whole
from lattices.options import Option
from lattices.spaces import Lattice
from lattices.spaces.features import FeatureRows
from lattices.vocabulary import Vocabulary

FRAME_RATE = 100.0

_FIRST_LINE = re.compile(rb"(?:[ \t\r]*(?:#[^\n]*)?\n)*[ \t]*Frames[ \t]+[0-9]+[ \t\r]*\n")
_VARIANT = re.compile(r"(.+)\([0-9]+\)")
_FILLER = re.compile(r"</?s>|<sil>|\[.+\]|\+\+.+\+\+")
_SECTIONS = ("Frames", "Nodes", "Initial", "Final", "BestSegAscr", "Edges", "End")


class Sphinx(Format):
    """See the module."""

    name = "sphinx"
    description = "PocketSphinx and Sphinx-III word lattices, acoustic scores only"
    kind = "lattice"
    suffixes = (".sphinx",)
    options: Mapping[str, str] = {
        "variants": Option("what becomes of the number in word(2)", ("drop", "keep")),
        "fillers": Option("what becomes of <s>, </s>, <sil> and [NOISE]", ("drop", "keep")),
        "logbase": Option("the base of the scores, where the file has no # -logbase", float),
    }
    single = True
    writable = False

    def sniff(self, head: bytes) -> bool:
        """Tell whether the first line that is no comment gives the number of frames."""
        return _FIRST_LINE.match(head) is not None

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Lattice:
        """Return the lattice, in time linear in the file."""
        variants = options.get("variants") == "keep"
        fillers = options.get("fillers") == "keep"
        tables = _Tables(record)
        scale = math.log(tables.base or _base_option(options, record))

        def spoken(word: str) -> str:
            variant = _VARIANT.fullmatch(word)
            plain = variant.group(1) if variant else word
            if not fillers and _FILLER.fullmatch(plain):
                return ""
            return word if variants else plain

        words = [spoken(word) for word in tables.words]
        src, dst = tables.src, tables.dst
        labels = [words[node] for node in src]
        acoustic = [score * scale for score in tables.scores]
        frames, end = list(tables.frames), tables.final
        if words[end]:
            # no edge leaves the last node, so its word needs one
            src, dst = [*src, end], [*dst, len(words)]
            labels.append(words[end])
            acoustic.append(0.0)
            frames.append(tables.length)
            end = len(words)
        final = np.full(len(frames), -np.inf)
        final[end] = 0.0
        return Lattice(
            vocabulary=vocabulary,
            src=ints(src),
            dst=ints(dst),
            label=ints(vocabulary.add_all(labels)),
            score=floats(acoustic),
            final=floats(final),
            start=tables.initial,
            features=FeatureRows.dense(floats(acoustic).reshape(-1, 1)) if acoustic else None,
            feature_names=("acoustic",) if acoustic else (),
            times=floats(np.array(frames, np.float64) / FRAME_RATE),
        )


FORMAT = Sphinx()


def _base_option(options: Mapping[str, Any], record: Record) -> float:
    if "logbase" not in options:
        raise record.error(
            f"no # -logbase in the file; {argument('read.logbase', '')} has to say what it is"
        )
    base: float = options["logbase"]
    if base <= 1.0:
        raise OptionError(f"logbase={base!r}, expected a number above 1")
    return base


class _Tables:
    """What the file says; nodes are numbered by their place."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.base = 0.0
        self.length = 0
        self.words: list[str] = []
        self.frames: list[int] = []
        self.index: dict[str, int] = {}
        self.src: list[int] = []
        self.dst: list[int] = []
        self.scores: list[float] = []
        ends: dict[str, tuple[str, int]] = {}
        seen: dict[str, int] = {}
        section, wanted = "", 0
        for place, line in enumerate(record.text().split("\n")):
            row = split_words(line)
            if not row:
                continue
            if row[0].startswith("#"):
                self._comment(row, place)
            elif row[0] in _SECTIONS:
                section = row[0]
                if section in seen:
                    raise record.error(f"a second {section}", place)
                seen[section] = place
                if section == "Frames":
                    self.length = self._whole(row, 1, place)
                elif section == "Nodes":
                    wanted = self._whole(row, 1, place)
                elif section == "Edges" and "ENDFRAME" in row:
                    raise record.error("edges to frames, expected edges to nodes", place)
                elif section in ("Initial", "Final"):
                    ends[section] = (self._column(row, 1, place), place)
            elif section == "Nodes":
                self._node(row, place)
            elif section == "Edges":
                self._edge(row, place)
            elif section != "BestSegAscr":
                raise record.error(f"{line.strip()[:40]!r} is in no section of a lattice", place)
        missing = [name for name in _SECTIONS if name not in seen and name != "BestSegAscr"]
        if missing:
            raise record.error(f"no {missing[0]}: not a whole lattice")
        if len(self.words) != wanted:
            raise record.error(f"{len(self.words)} nodes, {wanted} announced", seen["Nodes"])
        self.initial = self._find_node(*ends["Initial"])
        self.final = self._find_node(*ends["Final"])

    def _comment(self, row: list[str], place: int) -> None:
        """Read the base of the logarithms where a comment gives it."""
        if row[1:2] == ["-logbase"]:
            base = self._number(row, 2, place)
            if base <= 1.0:
                raise self.record.error(f"-logbase {row[2]}, expected a number above 1", place)
            self.base = base

    def _node(self, row: list[str], place: int) -> None:
        if len(row) < 5:
            raise self.record.error(
                f"{len(row)} columns, expected 5: id word first-frame first-end last-end", place
            )
        if row[0] in self.index:
            raise self.record.error(f"a second node {row[0]}", place)
        self.index[row[0]] = len(self.words)
        self.words.append(row[1])
        self.frames.append(self._whole(row, 2, place))

    def _edge(self, row: list[str], place: int) -> None:
        if len(row) != 3:
            raise self.record.error(f"{len(row)} columns, expected 3: from to score", place)
        self.src.append(self._find_node(row[0], place))
        self.dst.append(self._find_node(row[1], place))
        self.scores.append(self._number(row, 2, place))

    def _find_node(self, name: str, place: int) -> int:
        if name not in self.index:
            raise self.record.error(f"no node {name}", place)
        return self.index[name]

    def _column(self, row: list[str], column: int, place: int) -> str:
        if len(row) <= column:
            raise self.record.error(f"nothing after {row[-1]}", place)
        return row[column]

    def _whole(self, row: list[str], column: int, place: int) -> int:
        text = self._column(row, column, place)
        if not is_whole(text, 9):
            raise self.record.error(f"{text!r}, expected a whole number", place)
        return int(text)

    def _number(self, row: list[str], column: int, place: int) -> float:
        text = self._column(row, column, place)
        value = finite_number(text)
        if value is None:
            raise self.record.error(f"{text!r}, expected a finite number", place)
        return value
