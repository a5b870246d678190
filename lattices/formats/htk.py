"""HTK Standard Lattice Format (SLF), as HTK, SRILM, Kaldi's converter and PocketSphinx write it.

The score of a link is the header's formula, in natural logarithms::

    acscale a + ngscale n + lmscale l + prscale r + duscale ds + sum of xkscale xk + wdpenalty

where ``wdpenalty`` counts for real words only, scales not given are 1 (0 for ``duscale`` and
``xkscale``), and all of it is converted from the file's ``base``: e if absent, plain
probabilities if 0 or less. The terms stay apart as features (``acoustic``, ``ngram``,
``language``, ``pronunciation``, ``duration``, ``x1`` to ``x9``, ``words``, ``posterior``), and
``metadata["weights"]`` holds the header's scales by those names, so that
``lattice.reweighted(lattice.metadata["weights"])`` is the formula again.

Words stand on links or on nodes; what a link does not say is taken from the node it enters
(``dir=f``) or leaves (``dir=b``). ``!NULL`` is epsilon, and so are the sentence tags unless
``tags=keep``. A word that begins with an apostrophe and does not end in one is no quotation
(``W='em``, PocketSphinx); ``quotes=none`` takes quotes and backslashes as they stand.

PocketSphinx writes acoustic scores and link posteriors but no language scores, so the
header's formula would rank its paths by acoustics alone. ``score=posterior`` sets

    score(link) = log(p(link) / sum of p over the links out of the same node)

The posterior of a node is the sum over the links out of it, so each ratio is the probability of
the link given that the path has come to its node; and as a decoder's distribution over the paths
of a lattice is a product over links, the product of these ratios along a path is the
probability of the path: the decoder's own distribution comes back, up to the digits printed.
A ``p`` below 1e-300, which includes the zeros that stand for less than was printed, counts as
1e-300. ``score=auto`` does this if every link has ``p``, none has a language score, and the
header has no scales.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
from scipy.sparse import csr_array

from lattices.arrays import Array, FloatColumn, floats, ints
from lattices.errors import FormatError
from lattices.formats.base import Format, Losses, Record, choice, whole_file
from lattices.formats.htk_writer import HEADER_KEYS, SCALES, TAGS, write_slf
from lattices.spaces import Lattice, Space
from lattices.vocabulary import EPSILON, Vocabulary

POSTERIOR_FLOOR = 1e-300

_ALIASES = {
    b"START": b"S",
    b"END": b"E",
    b"WORD": b"W",
    b"time": b"t",
    b"acoustic": b"a",
    b"ngram": b"n",
    b"language": b"l",
}
_HEADER_ALIASES = {"V": "VERSION", "U": "UTTERANCE", "N": "NODES", "L": "LINKS"}
_FIRST_LINE = re.compile(
    rb"(?:[ \t\r]*(?:#[^\n]*)?\n)*[ \t]*(?:VERSION|V|UTTERANCE|U|NODES|N|LINKS|L|base|start|end"
    rb"|dir|tscale|lmname|ngname|vocab|hmms|wdpenalty|[a-z]{2}scale|x[1-9]scale)="
)
_FIELD = re.compile(
    rb"""[ \t]*([^\s=]+)=("(?:[^"\\]|\\.)*"(?!\S)|'(?:[^'\\]|\\.)*'(?!\S)|(?:[^\s\\]|\\.)*)"""
)
_ESCAPE = re.compile(rb"\\(0[0-7]{3}|[0-3][0-7]{2}|.)")


class HTK(Format):
    """See the module."""

    name = "htk"
    description = "HTK SLF word lattices (HTK, SRILM, Kaldi's converter, PocketSphinx)"
    kind = "lattice"
    suffixes = (".slf", ".lat", ".htk")
    options = {
        "tags": "drop | keep: what becomes of <s>, </s>, !SENT_START and !SENT_END",
        "score": "auto | header | posterior: where the scores of links come from",
        "quotes": "htk | none: whether quotes and backslashes are syntax",
    }
    single = True

    def sniff(self, head: bytes) -> bool:
        """Tell whether the first line that is no comment sets a key of the header."""
        return _FIRST_LINE.match(head) is not None

    def records(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Return the file as one record."""
        return whole_file(stream, path)

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Space:
        """Return the lattice, in time linear in the file."""
        keep = choice(options, "tags", ("drop", "keep")) == "keep"
        wanted = choice(options, "score", ("auto", "header", "posterior"))
        quotes = choice(options, "quotes", ("htk", "none")) == "htk"
        return _Reader(record, quotes).lattice(vocabulary, keep, wanted)

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Losses, **options: Any
    ) -> None:
        """Write version 1.1, words on links, natural logarithms, every digit of a score."""
        for space in spaces:
            if isinstance(space, Lattice):
                write_slf(stream, space, losses)


FORMAT = HTK()


@dataclass
class _Rows:
    """The node or link lines: their fields, and where they stand."""

    fields: list[dict[bytes, bytes]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.fields)

    def has(self, key: bytes) -> bool:
        return any(key in row for row in self.fields)


class _Reader:
    """The tables of one file, and the lattice made of them."""

    def __init__(self, record: Record, quotes: bool) -> None:
        self.record, self.quotes = record, quotes
        self.header: dict[str, str] = {}
        self.nodes, self.links = _Rows(), _Rows()
        for number, line in enumerate(record.payload.split(b"\n"), start=record.line):
            line = line.strip()
            if line[:2] == b"J=":
                self._add(self.links, line, number)
            elif line[:2] == b"I=":
                self._add(self.nodes, line, number)
            elif line and line[:1] != b"#":
                for key, value in self._split(line, number).items():
                    name = self._text(key, number)
                    self.header[_HEADER_ALIASES.get(name, name)] = self._text(value, number)
        for alias, key in _ALIASES.items():
            if alias + b"=" in record.payload:
                for row in (*self.nodes.fields, *self.links.fields):
                    if alias in row:
                        row[key] = row.pop(alias)
        self._check_counts()

    def _error(self, problem: str, line: int = 0) -> FormatError:
        return FormatError(problem, self.record.path, line or self.record.line)

    def _text(self, value: bytes, line: int) -> str:
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as problem:
            raise self._error(f"invalid UTF-8: {problem.reason}", line) from problem

    def _add(self, rows: _Rows, line: bytes, number: int) -> None:
        rows.fields.append(self._split(line, number))
        rows.lines.append(number)

    def _split(self, line: bytes, number: int) -> dict[bytes, bytes]:
        """Return the fields of one line; blanks inside quotes do not separate."""
        if self.quotes and (b"\\" in line or b'="' in line or b"='" in line):
            return self._split_quoted(line, number)
        pairs = [token.split(b"=", 1) for token in line.split()]
        for pair in pairs:
            if len(pair) != 2:
                raise self._not_a_field(pair[0], line, number)
        # mypy cannot see that every pair has two parts by now
        return dict(pairs)  # type: ignore[arg-type]

    def _not_a_field(self, token: bytes, line: bytes, number: int) -> FormatError:
        shown = token.decode("utf-8", "replace")
        if b"," in line:
            shown += " (lists of scores, as in Moses word graphs, are not read)"
        return self._error(f"expected key=value, not {shown}", number)

    def _split_quoted(self, line: bytes, number: int) -> dict[bytes, bytes]:
        fields: dict[bytes, bytes] = {}
        place = 0
        while place < len(line):
            found = _FIELD.match(line, place)
            if found is None:
                raise self._not_a_field(line[place:].split()[0], line, number)
            key, value = found.groups()
            quote = value[:1]
            if quote in (b'"', b"'") and len(value) > 1:
                if value[-1:] == quote:
                    value = value[1:-1]
                elif quote == b'"':
                    raise self._error("a quoted string does not end", number)
            fields[key] = _ESCAPE.sub(_unescaped, value)
            place = found.end()
            while line[place : place + 1].isspace():
                place += 1
        return fields

    def _check_counts(self) -> None:
        """Compare with the counts of the header: the one way to see that lines are missing."""
        if "SUBLAT" in self.header or any(b"L" in row for row in self.nodes.fields):
            raise self._error("sub-lattices are not read")
        for key, rows in (("NODES", self.nodes), ("LINKS", self.links)):
            # Moses announces nodes, but leaves their lines out
            if key in self.header and (len(rows) or rows is self.links):
                announced = self._header_number(key, 0.0)
                if announced != len(rows):
                    raise self._error(
                        f"{key}={announced:g} announced, {len(rows)} found: cut short or damaged"
                    )
        if not len(self.nodes) and not len(self.links):
            raise self._error("neither nodes (I=) nor links (J=)")

    def _header_number(self, key: str, default: float) -> float:
        text = self.header.get(key)
        if text is None:
            return default
        try:
            value = float(text)
        except ValueError:
            raise self._error(f"{key}={text}, expected a number") from None
        if not math.isfinite(value):
            raise self._error(f"{key}={text}, expected a finite number")
        return value

    def _numbers(self, rows: _Rows, key: bytes) -> FloatColumn | None:
        """Return a column of numbers, NaN where absent, or None if absent everywhere."""
        if not rows.has(key):
            return None
        absent = math.nan
        try:
            values = [float(row[key]) if key in row else absent for row in rows.fields]
        except ValueError:
            for row, line in zip(rows.fields, rows.lines, strict=True):
                try:
                    float(row.get(key, b"0"))
                except ValueError:
                    shown = f"{key.decode()}={row[key].decode('utf-8', 'replace')}"
                    raise self._error(f"{shown}, expected a number", line) from None
            raise
        column = floats(values)
        if not np.isfinite(column).all():
            for index in np.flatnonzero(~np.isfinite(column)).tolist():
                if key in rows.fields[index]:
                    shown = f"{key.decode()}={rows.fields[index][key].decode()}"
                    raise self._error(f"{shown}, expected a finite number", rows.lines[index])
        return column

    def _indexes(self, rows: _Rows, key: bytes) -> list[int]:
        """Return a column of node names, which every line must have."""
        try:
            return [int(row[key]) for row in rows.fields]
        except (KeyError, ValueError):
            for row, line in zip(rows.fields, rows.lines, strict=True):
                text = row.get(key, b"")
                if not text.isdigit():
                    shown = text.decode("utf-8", "replace") or "nothing"
                    raise self._error(
                        f"{shown} for {key.decode()}=, expected the number of a node", line
                    ) from None
            raise

    def lattice(self, vocabulary: Vocabulary, keep_tags: bool, wanted: str) -> Lattice:
        """Return the lattice of the tables."""
        tails, heads = self._indexes(self.links, b"S"), self._indexes(self.links, b"E")
        names = self._indexes(self.nodes, b"I") or sorted({*tails, *heads})
        index = {name: number for number, name in enumerate(names)}
        if len(index) < len(names):
            raise self._error("two nodes have the same number")
        for ends in (tails, heads):
            for place, name in enumerate(ends):
                if name not in index:
                    raise self._error(f"no node {name}", self.links.lines[place])
        src = np.array([index[name] for name in tails], np.int32)
        dst = np.array([index[name] for name in heads], np.int32)
        start = self._boundary("start", index, dst, src)
        end = self._boundary("end", index, src, dst)
        times = self._numbers(self.nodes, b"t")
        if times is not None and np.isnan(times).any():
            times = None

        forward = self.header.get("dir", "f") != "b"
        codes = self._codes(vocabulary, keep_tags)
        if not self.links.has(b"W"):
            # the word of the first node (or the last) is on the way into (or out of) no link
            outer = start if forward else end
            if len(self.nodes) and codes[self.nodes.fields[outer].get(b"W", b"!NULL")]:
                extra = len(index)
                src = np.append(src, np.int32(extra if forward else end))
                dst = np.append(dst, np.int32(start if forward else extra))
                self.links.fields.append({b"p": b"1"} if self.links.has(b"p") else {})
                self.links.lines.append(self.nodes.lines[outer])
                start, end = (extra, end) if forward else (start, extra)
                times = None if times is None else np.append(times, times[outer])
        states = max(len(index), start + 1, end + 1)
        at = dst if forward else src
        words = self._words(at)
        label = ints([codes[word] for word in words])
        is_word = np.array([bool(codes[word]) and word not in TAGS for word in words], bool)
        columns, weights = self._features(at, is_word)
        posterior = columns.get("posterior")
        bare = not ({"ngram", "language"} & columns.keys() or set(SCALES) & self.header.keys())
        complete = posterior is not None and not np.isnan(posterior).any()
        metadata: dict[str, Any] = {
            "header": {key: self.header[key] for key in self.header if key not in HEADER_KEYS}
        }
        if wanted == "posterior" or (wanted == "auto" and complete and bare):
            if posterior is None or not complete:
                raise self._error("score=posterior, but not every link has p=")
            score = _conditional(posterior, src, states)
        else:
            score = sum(
                (weights[name] * np.nan_to_num(columns[name]) for name in columns),
                start=np.zeros(len(src)),
            )
            metadata["weights"] = weights
        final = np.full(states, -np.inf)
        final[end] = 0.0
        return Lattice(
            vocabulary=vocabulary,
            src=ints(src),
            dst=ints(dst),
            label=label,
            score=floats(score),
            final=floats(final),
            start=start,
            features=_dense_rows(columns, len(src)) if columns else None,
            feature_names=tuple(columns),
            times=None if times is None else floats(times * self._header_number("tscale", 1.0)),
            id=self.header.get("UTTERANCE", ""),
            metadata=metadata,
        )

    def _boundary(self, key: str, index: Mapping[int, int], into: Array, out: Array) -> int:
        """Return the start (or end) node: the header's, or the one that no link enters (leaves)."""
        if key in self.header:
            name = self._header_number(key, 0.0)
            if name not in index:
                raise self._error(f"{key}={self.header[key]} is not a node")
            return index[int(name)]
        if len(index) == 1:
            return 0
        # a node without any link is neither: it is simply not connected
        found = np.setdiff1d(out, into)
        if len(found) != 1:
            names = list(index)
            shown = ", ".join(str(names[node]) for node in found[:5].tolist()) or "none"
            raise self._error(f"no {key}= in the header, and not one node could be it ({shown})")
        return int(found[0])

    def _codes(self, vocabulary: Vocabulary, keep_tags: bool) -> dict[bytes, int]:
        """Return the label of every word of the file, read once however often it occurs."""
        codes = {b"!NULL": EPSILON}
        for rows in (self.nodes, self.links):
            for row, line in zip(rows.fields, rows.lines, strict=True):
                word = row.get(b"W")
                if word is not None and word not in codes:
                    dropped = word in TAGS and not keep_tags
                    codes[word] = EPSILON if dropped else vocabulary.add(self._text(word, line))
        return codes

    def _words(self, at: Array) -> list[bytes]:
        """Return the word of every link, its own or its node's."""
        own = [row.get(b"W") for row in self.links.fields]
        if not len(self.nodes):
            return [b"!NULL" if word is None else word for word in own]
        others = [row.get(b"W", b"!NULL") for row in self.nodes.fields]
        return [
            others[node] if word is None else word
            # a state that was added has no node, and its link takes none from it
            for word, node in zip(own, at.tolist(), strict=True)
        ]

    def _features(
        self, at: Array, is_word: Array
    ) -> tuple[dict[str, FloatColumn], dict[str, float]]:
        """Return the terms of the score by name, in natural logarithms, and their weights."""
        base = self._header_number("base", math.e)
        if base == 1.0:
            raise self._error("base=1 is no base of logarithms")
        columns: dict[str, FloatColumn] = {}
        weights: dict[str, float] = {}
        for scale, (name, key, default) in SCALES.items():
            if not key:
                continue
            column = self._numbers(self.links, key)
            on_nodes = None if key in (b"n", b"l") else self._numbers(self.nodes, key)
            if on_nodes is not None:
                taken = on_nodes[at]
                column = taken if column is None else np.where(np.isnan(column), taken, column)
            if column is not None:
                columns[name] = _natural(column, base)
                weights[name] = self._header_number(scale, default)
        penalty = self._header_number("wdpenalty", 0.0)
        if penalty:
            columns["words"] = is_word.astype(np.float64)
            weights["words"] = float(_natural(np.array([penalty]), base)[0])
        posterior = self._numbers(self.links, b"p")
        if posterior is not None:
            columns["posterior"] = posterior
            weights["posterior"] = 0.0
        return columns, weights


def _natural(column: Array, base: float) -> FloatColumn:
    """Return log-scores of any base in natural logarithms; probabilities for a base of 0."""
    if base == math.e:
        return floats(column)
    if base > 0:
        return floats(column * math.log(base))
    with np.errstate(divide="ignore", invalid="ignore"):
        return floats(np.log(column))


def _conditional(posterior: FloatColumn, src: Array, states: int) -> FloatColumn:
    """Return the log-probability of each link given its source node."""
    floored = np.maximum(posterior, POSTERIOR_FLOOR)
    total = np.bincount(src, weights=floored, minlength=states)
    return floats(np.log(floored) - np.log(total[src]))


def _dense_rows(columns: Mapping[str, FloatColumn], rows: int) -> Any:
    """Return a sparse matrix that stores every entry: links have the same few fields."""
    data = np.nan_to_num(np.stack(list(columns.values()), axis=1)).ravel()
    width = len(columns)
    indices = np.tile(np.arange(width, dtype=np.int32), rows)
    return csr_array((data, indices, np.arange(rows + 1, dtype=np.int32) * width), (rows, width))


def _unescaped(found: re.Match[bytes]) -> bytes:
    text = found.group(1)
    return bytes([int(text, 8) & 0xFF]) if len(text) > 1 else text
