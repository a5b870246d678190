r"""PLF, the Python lattice format of Moses, cdec and Joshua: one lattice a line.

A line is a tuple of nodes, a node a tuple of arcs, an arc ``('word', scores..., jump)``, which
goes from its node to the one ``jump`` places on. The goal is not written: it is one past the
last node, and ``()`` is the lattice of the empty sentence. ``*EPS*`` and the empty word are
epsilon. Inside quotes, single or double, ``\'``, ``\"`` and ``\\`` are escapes; any other
backslash stands for itself.

**Scores** have three dialects, which cannot be told apart by looking:

- Joshua: one number. cdec: any number of them, the features ``LatticeCost_0``,
  ``LatticeCost_1`` and so on, or a mapping ``{'name': value}``, or nothing. Both take numbers
  as they are: ``scores=log``, the default.
- Moses: numbers are probabilities, which become natural logarithms, -100 at least, as in
  Moses: ``scores=probability``. Sparse scores ``name=value`` are taken as they are.

The score of an arc is the sum of its ``LatticeCost`` features, that of an arc without any is 0;
other features weigh nothing until ``lattice.reweighted(weights)`` weights them. Where the
numbers of a file are costs, lower better, ``reweighted({"LatticeCost_0": -1.0})`` turns them.

**Segments** are called by their place in the file, from 0, unless the line stands in
``<seg id="name">...</seg>``, which Moses and cdec read too, if the name is a number. A blank
line is an error, for it would move all names after it; at the end of a file it is not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from lattices.algorithms.trimming import trim
from lattices.arrays import floats, ints
from lattices.errors import FormatError, SpaceError
from lattices.formats.base import (
    AssembledFormat,
    Record,
    Unsupported,
    note_losses,
    require_kind,
    text_lines,
)
from lattices.formats.json.fields import feature_objects
from lattices.options import Option
from lattices.spaces import Lattice, Space
from lattices.spaces.features import FeatureRows, feature_matrix, make_rows
from lattices.vocabulary import Vocabulary

EPSILON_WORD = "*EPS*"
#: What Moses takes for the logarithm of a probability that is lower.
LOWEST_LOG = -100.0
QUOTE_ENTITY = {"&quot;": '"'}
_QUOTE = {'"': "&quot;"}
#: The features that numbers without a name are, and how many an arc may have.
DENSE = re.compile(r"LatticeCost_(0|[1-9][0-9]{0,3})")
MOST_DENSE = 10_000

_SPARSE_NAME = re.compile(r"[^\s,(){}'\"=:]+")


def plf_text(lattice: Lattice, losses: Unsupported, probability: bool) -> str:
    """Return one lattice as text, without its name."""
    where = f"segment {lattice.id!r}"
    note_losses(lattice, losses, "features")
    try:
        lattice = trim(lattice).space
    except SpaceError as problem:
        raise FormatError(f"{where} cannot be written: {problem}") from problem
    nodes = _nodes(lattice, losses, where, probability)
    return "(" + "".join(f"({''.join(arcs)})," for arcs in nodes) + ")"


def _parse_tag(name: str, text: str) -> str:
    """Return a lattice in a tag that carries its name."""
    if "\n" in name or "\r" in name:
        raise FormatError(f"the id {name!r} cannot stand in a line")
    from xml.sax.saxutils import escape  # imports urllib, http and ssl

    return f'<seg id="{escape(name, _QUOTE)}">{text}</seg>'


def _nodes(lattice: Lattice, losses: Unsupported, where: str, probability: bool) -> list[list[str]]:
    """Return the arcs of every node but the goal, as text."""
    rows = _rows(make_rows(lattice), lattice.feature_names, lattice.num_arcs)
    words = [_quote(word) for word in _words(lattice, where)]
    goal = lattice.num_states - 1
    finals = lattice.finals.tolist()
    bare = finals == [goal] and goal > 0 and lattice.final[goal] == 0.0 and not _ending(lattice)
    goal += not bare
    nodes: list[list[str]] = [[] for _ in range(goal)]

    def put(source: int, target: int, word: str, score: float, row: dict[str, float]) -> None:
        scores = _scores(score, row, losses, where, probability)
        nodes[source].append(f"({word},{scores},{target - source}),")

    columns = lattice.src.tolist(), lattice.dst.tolist(), words, lattice.score.tolist(), rows
    for source, target, word, score, row in zip(*columns, strict=True):
        put(source, target, word, score, row)
    if not bare:
        last = _rows(
            make_rows(lattice, "final_features"), lattice.feature_names, lattice.num_states
        )
        for state in finals:
            put(state, goal, f"'{EPSILON_WORD}'", float(lattice.final[state]), last[state])
    return nodes


def _ending(lattice: Lattice) -> bool:
    """Tell whether ending has features that are not zero."""
    features = make_rows(lattice, "final_features")
    return features is not None and bool(features.data.any())


def _rows(matrix: FeatureRows | None, names: tuple[str, ...], count: int) -> list[dict[str, float]]:
    """Return the features of every row that are not zero, by name."""
    if matrix is None:
        return [{} for _ in range(count)]
    rows = feature_objects(matrix, names)
    return [{name: value for name, value in row.items() if value} for row in rows]


def _words(lattice: Lattice, where: str) -> list[str]:
    words = [lattice.vocabulary.word(label) or EPSILON_WORD for label in lattice.label.tolist()]
    for label, word in zip(lattice.label.tolist(), words, strict=True):
        if "\n" in word or (label and word == EPSILON_WORD):
            raise FormatError(f"the word {word!r} of {where} would not come back from a line")
    return words


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _scores(
    score: float, row: Mapping[str, float], losses: Unsupported, where: str, probability: bool
) -> str:
    """Return what stands between the word and the jump."""
    found = {int(name.rpartition("_")[2]): row[name] for name in row if DENSE.fullmatch(name)}
    dense = [found.get(place, 0.0) for place in range(1 + max(found, default=-1))] or [0.0]
    if float(sum(dense)) != score:
        if found:
            losses.add("LatticeCost features that do not add up to the scores", where)
        dense = [score]
    others = {name: value for name, value in row.items() if not DENSE.fullmatch(name)}
    if probability:
        parts = [_as_probability(value, where) for value in dense]
        for name, value in others.items():
            if _SPARSE_NAME.fullmatch(name):
                parts.append(f"{name}={value!r}")
            else:
                losses.add(f"features {name!r}", where)
        return ",".join(parts)
    numbers = ",".join(map(repr, dense))
    if not others:
        return numbers
    if any("\n" in name for name in others):
        raise FormatError(f"a feature name of {where} has a line end in it")
    listed = ",".join(f"{_quote(name)}:{value!r}" for name, value in others.items())
    named = ",".join(f"'LatticeCost_{place}':{value!r}" for place, value in enumerate(dense))
    return f"{{{named},{listed}}}"


def _as_probability(score: float, where: str) -> str:
    # lower ones would be read as the lowest, and exp() of high ones overflows
    if not LOWEST_LOG <= score < 700.0:
        raise FormatError(f"the score {score!r} of {where} has no probability that can be written")
    return repr(math.exp(score))


_FIRST_ARC = re.compile(rb"\s*(?:<seg\b[^>\n]*>\s*)?\(\s*\(\s*\(\s*['\"]")
_SEGMENT = re.compile(r"\s*<seg\b([^>]*)>(.*)</seg\s*>\s*", re.DOTALL)
_ID = re.compile(r"""\sid\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_TOKEN = re.compile(
    r"[ \t\r\v\f]*(?:"
    r"(?P<mark>[(),{}:])"
    r"|'(?P<single>[^'\\]*(?:\\.[^'\\]*)*)'"
    r'|"(?P<double>[^"\\]*(?:\\.[^"\\]*)*)"'
    rf"|(?P<number>{_NUMBER})(?=[ \t\r\v\f,)}}]|$)"
    rf"|(?P<sparse>[^\s,(){{}}'\"=:]+={_NUMBER})(?=[ \t\r\v\f,)]|$)"
    r"|(?P<end>$))",
    re.DOTALL,
)
_MOST_DIGITS = 9
_ESCAPE = re.compile(r"\\(['\"\\])")


class PLF(AssembledFormat):
    """See the module."""

    name = "plf"
    description = "PLF word lattices of Moses, cdec and Joshua, one a line"
    kind = "lattice"
    suffixes = (".plf",)
    options: Mapping[str, str] = {
        "scores": Option(
            "numbers as they are (cdec, Joshua), or probabilities (Moses)", ("log", "probability")
        ),
    }
    write_options: Mapping[str, str] = {
        "scores": Option("for cdec and Joshua, or for Moses", ("log", "probability")),
        "ids": Option(
            'whether a line is in <seg id="..."> where the id is not its place',
            ("seg", "none"),
        ),
    }
    exact = True

    def sniff(self, head: bytes) -> bool:
        """Tell whether the file begins with the first arc of a first node."""
        return _FIRST_ARC.match(head) is not None

    def records(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Return every line up to the last that is not blank."""
        blank: list[int] = []
        number = 0
        for line, text in text_lines(stream):
            if not text.strip():
                blank.append(line)
                continue
            for place in blank:
                yield Record(b"", path, place, number)
                number += 1
            blank = []
            yield Record(text, path, line, number)
            number += 1

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Lattice:
        """Return the lattice, in time linear in the line."""
        probability = options.get("scores") == "probability"
        text, name = record.text(), ""
        segment = _SEGMENT.fullmatch(text)
        if segment:
            text = segment.group(2)
            from xml.sax.saxutils import unescape  # imports urllib, http and ssl

            found = _ID.search(segment.group(1))
            name = unescape(found.group(1) or found.group(2) or "", QUOTE_ENTITY) if found else ""
        line = _Line(record, text, segment.start(2) if segment else 0, probability)
        line.read()
        features = None
        names: list[str] = []
        if any(line.features):
            used = {name for row in line.features for name in row}
            names = sorted(filter(DENSE.fullmatch, used), key=_place)
            features = feature_matrix(line.features, names)
        final = np.full(line.nodes + 1, -np.inf)
        final[-1] = 0.0
        return Lattice(
            vocabulary=vocabulary,
            src=ints(line.src),
            dst=ints(line.dst),
            label=ints(vocabulary.add_all(line.words)),
            score=floats([_score(row) for row in line.features]),
            final=floats(final),
            features=features,
            feature_names=tuple(names),
            id=name,
        )

    def encode(self, space: Space, losses: Unsupported, **options: Any) -> tuple[str, bytes, bytes]:
        """Return the id and the line, as it is and in ``<seg>``, without what is on no whole path.

        Ends with scores, and several ends, get epsilon arcs to the goal.
        """
        probability = options.get("scores") == "probability"
        (lattice,) = require_kind(Lattice, [space], losses)
        text = plf_text(lattice, losses, probability)
        shown = (
            _parse_tag(lattice.id, text) if options.get("ids") != "none" and lattice.id else text
        )
        return lattice.id, f"{text}\n".encode(), f"{shown}\n".encode()

    def assemble(
        self, stream: BinaryIO, parts: Iterable[tuple[str, bytes, bytes]], **options: Any
    ) -> None:
        """Write one line each, with the id where that is not the place."""
        for number, (name, text, shown) in enumerate(parts):
            stream.write(text if name == str(number) else shown)


FORMAT = PLF()


def _place(name: str) -> int:
    return int(name.rpartition("_")[2])


def _score(row: Mapping[str, float]) -> float:
    """Return the sum of the dense features, in the order of their numbers."""
    if len(row) == 1:
        ((name, value),) = row.items()
        return value if DENSE.fullmatch(name) else 0.0
    return float(sum(row[name] for name in sorted(filter(DENSE.fullmatch, row), key=_place)))


class _Line:
    """One line, cut into tokens, and the arcs found in it."""

    def __init__(self, record: Record, text: str, shift: int, probability: bool) -> None:
        self.record, self.text, self.shift, self.probability = record, text, shift, probability
        self.start = self.position = 0
        self.kind, self.value = "", ""
        self.nodes = 0
        self.src: list[int] = []
        self.dst: list[int] = []
        self.words: list[str] = []
        self.features: list[dict[str, float]] = []

    def error(self, problem: str) -> FormatError:
        """Return an error at the token that was read last."""
        return self.record.error(f"{problem} (column {self.shift + self.start + 1})")

    def advance(self) -> None:
        """Read the next token."""
        found = _TOKEN.match(self.text, self.position)
        if found is None:
            self.start = self.position
            raise self.error(f"{self.text[self.position :][:20]!r} is no part of a lattice")
        self.kind = found.lastgroup or ""
        self.value = found.group(self.kind)
        self.start, self.position = found.start(self.kind), found.end()

    def starts_with(self, mark: str) -> bool:
        return self.kind == "mark" and self.value == mark

    def expect(self, mark: str) -> None:
        if not self.starts_with(mark):
            came = "the end" if self.kind == "end" else repr(self.value)
            raise self.error(f"{came} where {mark!r} was expected")
        self.advance()

    def items(self, opening: str, closing: str) -> Iterator[None]:
        """Stop at each item of a sequence; the caller reads it and moves on."""
        self.expect(opening)
        while not self.starts_with(closing):
            yield
            if not self.starts_with(closing):
                self.expect(",")
        self.advance()

    def read(self) -> None:
        """Read the whole line."""
        self.advance()
        for _ in self.items("(", ")"):
            for _ in self.items("(", ")"):
                self.arc()
            self.nodes += 1
        if self.kind != "end":
            raise self.error(f"{self.value!r} after the end of the lattice")
        for place, target in enumerate(self.dst):
            if target > self.nodes:
                raise self.record.error(
                    f"arc {place} goes from node {self.src[place]} to {target}, "
                    f"beyond the goal, {self.nodes}"
                )

    def arc(self) -> None:
        """Read one arc."""
        row: dict[str, float] = {}
        numbers: list[str] = []
        word: str | None = None
        opening, last = self.start, ""
        for _ in self.items("(", ")"):
            last = self.kind
            if word is None:
                word = self.string("a word")
            elif self.kind == "number":
                numbers.append(self.value)
                self.advance()
            elif self.kind == "sparse":
                name, _, value = self.value.partition("=")
                self.write_token(row, name, self.number(value))
                self.advance()
            else:
                self.mapping(row)
        following, self.start = self.start, opening  # errors are at the arc from here
        if word is None or last != "number":
            raise self.error("an arc that does not begin with a word and end with a jump")
        *scores, jump = numbers
        if len(scores) > MOST_DENSE:
            raise self.error(f"{len(scores)} scores on one arc, expected {MOST_DENSE} at most")
        if not jump.isdecimal() or len(jump) > _MOST_DIGITS or int(jump) < 1:
            raise self.error(f"jump {jump:.40}, expected a whole number from 1")
        for place, score in enumerate(scores):
            self.write_token(row, f"LatticeCost_{place}", self.write_score(score))
        self.start = following
        self.src.append(self.nodes)
        self.dst.append(self.nodes + int(jump))
        self.words.append("" if word == EPSILON_WORD else word)
        self.features.append(row)

    def string(self, what: str) -> str:
        if self.kind not in ("single", "double"):
            raise self.error(f"{self.value!r} where {what} in quotes was expected")
        value = self.value
        self.advance()
        return _ESCAPE.sub(r"\1", value) if "\\" in value else value

    def mapping(self, row: dict[str, float]) -> None:
        """Read features ``{'name': value, ...}``."""
        for _ in self.items("{", "}"):
            name = self.string("a name")
            self.expect(":")
            if self.kind != "number":
                raise self.error(f"{self.value!r} where a number was expected")
            self.write_token(row, name, self.number(self.value))
            self.advance()

    def write_token(self, row: dict[str, float], name: str, value: float) -> None:
        if name in row:
            raise self.error(f"feature {name!r} twice on one arc")
        row[name] = value

    def number(self, text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            raise self.error(f"{text}, expected a finite number")
        return value

    def write_score(self, text: str) -> float:
        """Return a score in the dialect of the file."""
        value = self.number(text)
        if not self.probability:
            return value
        if value < 0.0:
            raise self.error(f"{text} is no probability; scores=log takes numbers as they are")
        return max(math.log(value), LOWEST_LOG) if value else LOWEST_LOG
