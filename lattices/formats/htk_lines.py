"""The lines of HTK SLF: keys, quoting, and the tables of a file as it stands."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import chain

import numpy as np

from lattices.arrays import FloatColumn, floats
from lattices.errors import FormatError
from lattices.formats.base import Record

#: Scale in the header: the feature, its key on a link, and the scale where none is given.
SCALES: dict[str, tuple[str, bytes, float]] = {
    "acscale": ("acoustic", b"a", 1.0),
    "ngscale": ("ngram", b"n", 1.0),
    "lmscale": ("language", b"l", 1.0),
    "prscale": ("pronunciation", b"r", 1.0),
    "duscale": ("duration", b"ds", 0.0),
    **{f"x{number}scale": (f"x{number}", b"x%d" % number, 0.0) for number in range(1, 10)},
    "wdpenalty": ("words", b"", 0.0),
}
#: Keys of the header that have a meaning here; the others are kept as they are.
HEADER_KEYS = frozenset(
    ("VERSION", "UTTERANCE", "NODES", "LINKS", "base", "start", "end", "dir", "tscale", *SCALES)
)
#: further keys of the same kind, of which Moses writes as many as it has features
_FURTHER = re.compile(r"x[1-9][0-9]+")
NULL = b"!NULL"
#: The comment that makes sentence tags words; other programs, for which they are, pass over it.
KEEP_TAGS = b"# tags=keep"
TAGS = frozenset((b"<s>", b"</s>", b"!SENT_START", b"!SENT_END"))

_HEADER_ALIASES = {"V": "VERSION", "U": "UTTERANCE", "N": "NODES", "L": "LINKS"}
_ALIASES = {
    b"START": b"S",
    b"END": b"E",
    b"WORD": b"W",
    b"time": b"t",
    b"acoustic": b"a",
    b"ngram": b"n",
    b"language": b"l",
}
_FIELD = re.compile(
    rb"""([^\s=]+)=(?:"((?:[^"\\]|\\.)*)"(?!\S)|'((?:[^'\\]|\\.)*)'(?!\S)|((?:[^\s\\]|\\.)*))\s*"""
)
_MOST_DIGITS = 18
_ESCAPE = re.compile(rb"\\(0[0-7]{3}|[0-3][0-7]{2}|.)")
_PLAIN = re.compile(r"[^\x00-\x20\x7f\"'\\][^\x00-\x20\x7f\\]*")
# digits after an escape are escaped as well, for \0075 could be one of four digits
_AWKWARD = re.compile(r"[\x00-\x1f][0-7]*|[\x7f\"'\\]")


def quoted(text: str) -> str:
    r"""Return a value as HTK spells it: quoted and escaped where it must be.

    Examples
    --------
    >>> print(quoted("it's"), quoted("'em"), quoted("new york"), quoted("tab\t"))
    it's "\'em" "new york" "tab\011"
    """
    if _PLAIN.fullmatch(text):
        return text
    return '"' + _AWKWARD.sub(_escaped, text) + '"'


def is_header_key(key: str) -> bool:
    """Tell whether a line that begins with this key is read as a header entry to be kept."""
    taken = key in HEADER_KEYS or key in _HEADER_ALIASES or key in ("I", "J", "SUBLAT")
    return not taken and "=" not in key and key[:1] != "#" and quoted(key) == key


def _escaped(found: re.Match[str]) -> str:
    text = found.group()
    return "\\" + text if text in "\"'\\" else "".join(f"\\{ord(each):03o}" for each in text)


def _unescaped(found: re.Match[bytes]) -> bytes:
    text = found.group(1)
    return bytes([int(text, 8) & 0xFF]) if len(text) > 1 else text


#: what ``-output-word-graph`` of Moses writes, and why it is not read
_WORD_GRAPH_KEYS = [re.compile(rb"\s%s=" % key) for key in (b"a", b"l", b"r", b"w")]
WORD_GRAPH = (
    "a word graph of Moses: it says neither which hypotheses are complete nor how scores are "
    "weighted, and runs numbers together; have Moses write -output-search-graph instead"
)


def _is_word_graph(line: bytes) -> bool:
    # one search after the other: a single pattern would try all combinations of places
    place = 0
    for key in _WORD_GRAPH_KEYS:
        found = key.search(line, place)
        if found is None:
            return False
        place = found.end()
    return True


class Rows:
    """The node or link lines: their fields, and where they stand."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.fields: list[dict[bytes, bytes]] = []
        self.lines: list[int] = []

    def __len__(self) -> int:
        """Return how many lines there are."""
        return len(self.fields)

    def rename(self, names: dict[bytes, bytes]) -> None:
        """Give every key its short name."""
        if self.used() & names.keys():
            self.fields = [
                {names.get(key, key): value for key, value in row.items()} for row in self.fields
            ]

    def used(self) -> set[bytes]:
        """Return the keys that occur."""
        return set(chain.from_iterable(self.fields))

    def numbers(self, key: bytes) -> FloatColumn:
        """Return a column of finite numbers, NaN where there is none."""
        absent = math.nan
        try:
            values = [float(row[key]) if key in row else absent for row in self.fields]
        except ValueError:
            values = []
        column = floats(values)
        grouped = any(b"_" in row.get(key, b"") for row in self.fields)
        if not values or grouped or not np.isfinite(column).all():
            for row, line in zip(self.fields, self.lines, strict=True):
                if key in row and not _is_finite(row[key]):
                    shown = f"{key.decode()}={row[key].decode('utf-8', 'replace')}"
                    raise FormatError(f"{shown}, expected a finite number", self.path, line)
        return column

    def names(self, key: bytes) -> list[int]:
        """Return a column of the numbers that name nodes, which every line must have."""
        texts = [row.get(key, b"") for row in self.fields]
        if not all(map(bytes.isdigit, texts)) or max(map(len, texts), default=0) > _MOST_DIGITS:
            pairs = zip(texts, self.lines, strict=True)
            text, line = next(
                pair for pair in pairs if not pair[0].isdigit() or len(pair[0]) > _MOST_DIGITS
            )
            shown = text.decode("utf-8", "replace") or "nothing"
            raise FormatError(
                f"{shown:.40} for {key.decode()}=, expected the number of a node", self.path, line
            )
        return list(map(int, texts))


def _is_finite(text: bytes) -> bool:
    try:
        # Python's grouping of digits is nobody else's
        return math.isfinite(float(text)) and b"_" not in text
    except ValueError:
        return False


class Tables:
    """The header, the nodes and the links of one file.

    Parameters
    ----------
    record : Record
        The file.
    quotes : bool
        Whether quotes and backslashes are syntax.
    """

    def __init__(self, record: Record, quotes: bool) -> None:
        self.record, self.quotes = record, quotes
        self.header: dict[str, str] = {}
        self.tags_are_words = False
        self.nodes, self.links = Rows(record.path), Rows(record.path)
        for number, line in enumerate(record.payload.split(b"\n"), start=record.line):
            line = line.strip()
            if line[:2] == b"J=":
                self.links.fields.append(self._split(line, number))
                self.links.lines.append(number)
            elif line[:2] == b"I=":
                self.nodes.fields.append(self._split(line, number))
                self.nodes.lines.append(number)
            elif line == KEEP_TAGS:
                self.tags_are_words = True
            elif line and line[:1] != b"#":
                for key, value in self._split(line, number).items():
                    name = self.text(key, number)
                    self.header[_HEADER_ALIASES.get(name, name)] = self.text(value, number)
        self.nodes.rename(_ALIASES)
        self.links.rename(_ALIASES)
        if b"w" in self.links.used():
            raise self.error(WORD_GRAPH, self.links.lines[0])
        self._check_counts()

    def error(self, problem: str, line: int = 0) -> FormatError:
        """Return an error in a line of the file, the first by default."""
        return FormatError(problem, self.record.path, line or self.record.line)

    def text(self, value: bytes, line: int) -> str:
        """Return a value as text."""
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as problem:
            raise self.error(f"invalid UTF-8: {problem.reason}", line) from problem

    def header_number(self, key: str, default: float) -> float:
        """Return a number of the header."""
        text = self.header.get(key)
        if text is None:
            return default
        if not _is_finite(text.encode()):
            raise self.error(f"{key}={text}, expected a finite number")
        return float(text)

    def scales(self) -> dict[str, tuple[str, bytes, float]]:
        """Return the scales with a key on lines, as in ``SCALES``, and those beyond ``x9``."""
        known = {scale: entry for scale, entry in SCALES.items() if entry[1]}
        keys = [self.text(key, 0) for key in self.links.used() | self.nodes.used()]
        further = sorted(filter(_FURTHER.fullmatch, keys), key=lambda key: int(key[1:]))
        return known | {f"{key}scale": (key, key.encode(), 0.0) for key in further}

    def other_keys(self) -> dict[str, str]:
        """Return what the header has beyond the keys with a meaning here."""
        return {
            key: value
            for key, value in self.header.items()
            if key not in HEADER_KEYS and not _FURTHER.fullmatch(key.removesuffix("scale"))
        }

    def _split(self, line: bytes, number: int) -> dict[bytes, bytes]:
        """Return the fields of one line."""
        if self.quotes and (b"\\" in line or b'="' in line or b"='" in line):
            return self._split_quoted(line, number)
        tokens = line.split()
        try:
            fields = dict([token.split(b"=", 1) for token in tokens])
        except ValueError:
            odd = next(place for place, token in enumerate(tokens) if b"=" not in token)
            if tokens[odd][:1] != b"#":
                raise self._not_a_field(tokens[odd], line, number) from None
            # a comment behind the fields
            tokens = tokens[:odd]
            fields = dict([token.split(b"=", 1) for token in tokens])
        if len(fields) < len(tokens):
            counts = Counter(token.split(b"=", 1)[0] for token in tokens)
            raise self._repeated(next(key for key in counts if counts[key] > 1), number)
        return fields

    def _split_quoted(self, line: bytes, number: int) -> dict[bytes, bytes]:
        """Return the fields of a line where blanks inside quotes do not separate."""
        fields: dict[bytes, bytes] = {}
        place = 0
        while place < len(line):
            found = _FIELD.match(line, place)
            if found is None and line[place : place + 1] == b"#":
                break
            if found is None:
                raise self._not_a_field(line[place:].split()[0], line, number)
            key, double, single, bare = found.groups()
            # a lone quotation mark is a word of many tokenizers, not half a quotation
            if bare and bare[:1] == b'"' and len(bare) > 1:
                raise self.error("a quoted string does not end", number)
            if key in fields:
                raise self._repeated(key, number)
            value = next(part for part in (double, single, bare) if part is not None)
            fields[key] = _ESCAPE.sub(_unescaped, value)
            place = found.end()
        return fields

    def _repeated(self, key: bytes, number: int) -> FormatError:
        return self.error(f"{key.decode('utf-8', 'replace'):.40}= twice on one line", number)

    def _not_a_field(self, token: bytes, line: bytes, number: int) -> FormatError:
        if _is_word_graph(line):
            return self.error(WORD_GRAPH, number)
        return self.error(f"expected key=value, not {token.decode('utf-8', 'replace')}", number)

    def _check_counts(self) -> None:
        """Compare with the counts of the header: the one way to see that lines are missing."""
        if "SUBLAT" in self.header or b"L" in self.nodes.used():
            raise self.error("sub-lattices are not read")
        for key, rows in (("NODES", self.nodes), ("LINKS", self.links)):
            # Moses announces nodes, but leaves their lines out
            if key in self.header and (len(rows) or rows is self.links):
                announced = self.header_number(key, 0.0)
                if announced != len(rows):
                    raise self.error(
                        f"{key}={announced:g} announced, {len(rows)} found: cut short or damaged"
                    )
        if not len(self.nodes) and not len(self.links):
            raise self.error("neither nodes (I=) nor links (J=)")
