"""Lines of a page: cut out of XML or HTML, parsed one by one, with their alternatives as lattices.

A line is cut out of the file by its tags and parsed by itself: what is wrong with it concerns no
other line, and declarations of entities, which stand at the head of a file, are never read.

A line is a sequence of places, each with alternatives ``(text, probability)``. A text of several
words is a chain of arcs, an empty one an epsilon arc; the first arc has the logarithm of the
probability.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any, BinaryIO, NamedTuple, TypeAlias
from xml.parsers import expat

from lattices.errors import FormatError
from lattices.formats.base import BYTE_ORDER_MARK, Record, split_words
from lattices.formats.fields import finite_number
from lattices.options import Option
from lattices.spaces import Lattice
from lattices.vocabulary import Vocabulary

#: texts with their probabilities
Alternatives: TypeAlias = "list[tuple[str, float]]"

OPTIONS = {
    "spellings": Option(
        "how many spellings a word has at most, where characters have alternatives", int, 100
    )
}
#: what counts nothing, as 1 of 100, so that no alternative is impossible
LEAST = 0.01
_DEPTH = 100
_ENCODING = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([\w.-]+)[\"']")
#: an element without content
_ALONE = re.compile(rb"<[^<>]*/>")
_BLANKS = re.compile(r"\s+")
#: elements of HTML that have no end
_VOID = frozenset(("area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "wbr"))


@dataclass
class Element:
    """An element; ``parts`` are texts and elements, in order."""

    name: str
    attributes: dict[str, str]
    line: int
    parts: list[str | Element] = field(default_factory=list)

    def all(self, name: str) -> list[Element]:
        """Return the elements of a name that stand directly in this one."""
        return [each for each in self.parts if isinstance(each, Element) and each.name == name]

    def text(self, belongs: Callable[[Element], bool] = lambda _: True) -> str:
        """Return the text of this element and those in it that belong to it."""
        return "".join(
            each if isinstance(each, str) else each.text(belongs) if belongs(each) else ""
            for each in self.parts
        )


class _Tree:
    """The element that tags and texts make, one after the other."""

    def __init__(self, record: Record) -> None:
        self.record, self.root = record, Element("", {}, 0)
        self.open = [self.root]

    def start(self, name: str, attributes: dict[str, str], line: int) -> None:
        if len(self.open) > _DEPTH:
            raise self.record.error(f"more than {_DEPTH} elements in one another", line)
        made = Element(name.rpartition(":")[2], attributes, line)
        self.open[-1].parts.append(made)
        self.open.append(made)

    def end(self) -> None:
        self.open.pop()

    def data(self, text: str) -> None:
        self.open[-1].parts.append(text)

    @property
    def line(self) -> Element:
        """The first element."""
        found = [each for each in self.root.parts if isinstance(each, Element)]
        if not found:
            raise self.record.error("no element")
        return found[0]


def parse_xml(record: Record) -> Element:
    """Return the one element of a record."""
    record.text()  # raises if it is none
    tree, parser = _Tree(record), expat.ParserCreate("utf-8")
    parser.StartElementHandler = lambda name, attributes: tree.start(
        name, attributes, parser.CurrentLineNumber - 1
    )
    parser.EndElementHandler = lambda _: tree.end()
    parser.CharacterDataHandler = tree.data
    try:
        parser.Parse(record.payload, True)
    except expat.ExpatError as problem:
        raise record.error(
            f"not XML: {expat.ErrorString(problem.code)}", problem.lineno - 1
        ) from problem
    return tree.line


class _Html(HTMLParser):
    """What stands up to the end of the first element."""

    def __init__(self, tree: _Tree) -> None:
        super().__init__()
        self.tree = tree

    def handle_data(self, data: str) -> None:
        self.tree.data(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        self.tree.start(tag, known, self.getpos()[0] - 1)
        if tag in _VOID:
            self.tree.end()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.tree.end()

    def handle_endtag(self, tag: str) -> None:
        names = [each.name for each in self.tree.open[1:]]
        while tag in names:
            self.tree.end()
            if names.pop() == tag:
                break
        if not names and len(self.tree.root.parts) and tag not in _VOID:
            self.tree = _Tree(self.tree.record)  # of what follows nothing is wanted


def parse_html(record: Record) -> Element:
    """Return the first element of a record."""
    tree = _Tree(record)
    parser = _Html(tree)
    try:
        parser.feed(record.text())
        parser.close()
    except AssertionError as problem:  # which is how Python's parser refuses declarations
        raise record.error(f"not HTML: {problem}", parser.getpos()[0] - 1) from problem
    if len(tree.open) > 1:
        raise record.error(f"<{tree.line.name}> is not closed", tree.line.line)
    return tree.line


class Cut(NamedTuple):
    """How a file is cut: what a line begins with and ends in, and the element that holds all."""

    begin: re.Pattern[bytes]
    #: None where a line goes on up to the next
    end: re.Pattern[bytes] | None
    #: the element that holds all: its name, its tag, and the one at its end
    name: str
    root: re.Pattern[bytes]
    close: re.Pattern[bytes]


def cut_lines_out(stream: BinaryIO, path: str, cut: Cut) -> Iterator[Record]:
    """Cut a file into lines of text; it is held as a whole."""
    data = _to_utf8(stream.read(), path)
    starts = _outside_comments(data, (match.start() for match in cut.begin.finditer(data)))
    root = cut.root.search(data)
    if data.strip() and root is None:
        raise FormatError(f"no <{cut.name}> in it", path)
    line = place = 0
    for number, (start, following) in enumerate(pairwise([*starts, len(data)])):
        stop = following
        if cut.end is not None:
            closed = _ALONE.match(data, start) or cut.end.search(data, start, following)
            stop = closed.end() if closed else following
        line += data.count(b"\n", place, start)
        place = start
        yield Record(data[start:stop], path, 1 + line, number)
    if root is not None and cut.close.search(data, place) is None:
        raise FormatError(f"the file ends before </{cut.name}>", path)


def _outside_comments(data: bytes, places: Iterable[int]) -> list[int]:
    found, begin, end = [], data.find(b"<!--"), -1
    for place in places:
        while 0 <= begin < place:
            end = data.find(b"-->", begin)
            end = len(data) if end < 0 else end
            begin = data.find(b"<!--", end)
        if place > end:
            found.append(place)
    return found


def _to_utf8(data: bytes, path: str) -> bytes:
    """Return a file as UTF-8, whatever it says that it is."""
    declared = _ENCODING.match(data.lstrip())
    name = declared[1].decode() if declared else "utf-8"
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        name = "utf-16"
    elif data.startswith(BYTE_ORDER_MARK):
        name = "utf-8"
    if name.lower().replace("_", "-") in ("utf-8", "utf8"):
        return data.removeprefix(BYTE_ORDER_MARK)
    try:
        return data.decode(name).encode("utf-8")
    except (LookupError, ValueError) as problem:
        raise FormatError(f"no text in {name!r:.40}: {problem}", path) from problem


def xml_cut(root: str) -> Cut:
    """Return how XML with elements ``TextLine`` is cut, whatever the prefixes of its names are."""
    prefix = r"(?:[\w.-]+:)?"
    return Cut(
        re.compile(rf"<{prefix}TextLine(?=[\s/>])".encode()),
        re.compile(rf"</{prefix}TextLine\s*>".encode()),
        root,
        re.compile(rf"<{prefix}{root}[\s>]".encode()),
        re.compile(rf"</{prefix}{root}\s*>".encode()),
    )


def one_line(text: str) -> str:
    """Return a text with one blank for all that separates its words in the file."""
    return _BLANKS.sub(" ", text).strip()


def confidence_of(element: Element, name: str, record: Record, most: float = 1.0) -> float | None:
    """Return the confidence in an attribute, from 0 to 1; None without."""
    if name not in element.attributes:
        return None
    return parse_confidence(element.attributes[name], name, record, element.line, most)


def parse_confidence(text: str, name: str, record: Record, line: int, most: float) -> float:
    """Return a number from 0 to ``most`` as one from 0 to 1."""
    number = finite_number(text)
    if number is None or not 0.0 <= number <= most:
        raise record.error(f"{text!r:.40} for {name}, expected a number from 0 to {most:g}", line)
    return number / most


def share(texts: Iterable[tuple[str, float | None]]) -> Alternatives:
    """Return confidences as probabilities; texts without one share what the others leave of 1."""
    found = list(texts)
    open_ones = sum(confidence is None for _, confidence in found)
    left = 1.0 - math.fsum(confidence for _, confidence in found if confidence is not None)
    each = left / max(open_ones, 1)
    return [(text, max(each if p is None else p, LEAST)) for text, p in found]


def spell(characters: Sequence[Alternatives], most: int) -> Alternatives:
    """Return the spellings of a word, of as many likely alternatives as make ``most`` or fewer.

    The probability of a spelling is the product of its characters', which add up to 1.
    """
    kept = [[max(slot, key=lambda each: each[1])] for slot in characters]
    others = [
        (probability / best[0][1], -place, -rank, text, probability)
        for place, (slot, best) in enumerate(zip(characters, kept, strict=True))
        for rank, (text, probability) in enumerate(slot)
        if (text, probability) != best[0]
    ]
    others.sort(reverse=True)
    count = 1
    for _, place, _, text, probability in others:
        slot = kept[-place]
        if count // len(slot) * (len(slot) + 1) > most:
            break
        count = count // len(slot) * (len(slot) + 1)
        slot.append((text, probability))
    found: Alternatives = [("", 1.0)]
    for slot in kept:
        total = math.fsum(probability for _, probability in slot)
        found = [(word + text, p * q / total) for word, p in found for text, q in slot]
    return found


def line_lattice(places: Iterable[Alternatives], vocabulary: Vocabulary, **about: Any) -> Lattice:
    """Return the lattice of a line."""
    arcs: list[tuple[int, int, str, float]] = []
    last = 0
    for place in places:
        together: dict[tuple[str, ...], float] = {}
        for text, probability in place:
            words = tuple(split_words(one_line(text)))
            together[words] = together.get(words, 0.0) + probability
        if not any(together):
            continue
        inner, end = last + 1, last + 1 + sum(max(len(words) - 1, 0) for words in together)
        for words, probability in together.items():
            score, state = math.log(probability), last
            for word in words[:-1]:
                arcs.append((state, inner, word, score))
                state, inner, score = inner, inner + 1, 0.0
            arcs.append((state, end, words[-1] if words else "", score))
        last = end
    return Lattice.from_arcs(arcs, [last], vocabulary=vocabulary, **about)
