"""PAGE XML (PRImA): pages of print and handwriting; read only.

One segment for each ``TextLine``, named by its ``id``. Its texts are the ``TextEquiv`` elements,
ordered by ``index``, with the confidence ``conf``:

- several of the line itself: an n-best list, with the logarithms of ``conf`` as scores where all
  have one;
- of its ``Word`` elements: a lattice. Alternatives without ``conf`` share what the others leave of
  1, at least 0.01 each. Where a word has one text, and its ``Glyph`` elements have several, the
  alternatives are spellings;
- one of the line: a list of one.

Lines come in the order of the file, not of ``ReadingOrder``. Places on the page are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from lattices.formats.base import Format, Record, split_words
from lattices.formats.fields import finite_number
from lattices.formats.pages.lines import (
    LEAST,
    OPTIONS,
    Alternatives,
    Element,
    confidence_of,
    cut_lines_out,
    line_lattice,
    one_line,
    parse_xml,
    share,
    spell,
    xml_cut,
)
from lattices.spaces import Hypothesis, Lattice, NBest
from lattices.vocabulary import Vocabulary

_CUT = xml_cut("PcGts")


class PageXml(Format):
    """See the module."""

    name = "page-xml"
    description = "PAGE XML: lines of pages, with alternatives of lines, words or characters"
    kind = "any"
    suffixes = (".page", ".page.xml")
    options: Mapping[str, str] = OPTIONS
    writable = False

    def sniff(self, head: bytes) -> bool:
        """Tell whether the root is that of PAGE."""
        return _CUT.root.search(head) is not None

    def records(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Cut into lines of text."""
        return cut_lines_out(stream, path, _CUT)

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Lattice | NBest:
        """Return the list or the lattice of a line."""
        line = parse_xml(record)
        name, texts, words = line.attributes.get("id", ""), _texts(line, record), line.all("Word")
        if len(texts) > 1 or not words:
            scored = all(confidence is not None for _, confidence in texts)
            hypotheses = [
                Hypothesis(
                    tuple(split_words(text)), math.log(max(p or 0.0, LEAST)) if scored else 0.0
                )
                for text, p in texts
            ]
            return NBest.from_hypotheses(hypotheses, vocabulary=vocabulary, id=name)
        most = options.get("spellings", 100)
        places = [_alternatives(word, record, most) for word in words]
        return line_lattice(places, vocabulary, id=name)


FORMAT = PageXml()


def _texts(element: Element, record: Record) -> list[tuple[str, float | None]]:
    """Return the texts of an element and their confidences, in the order of ``index``."""
    found = []
    for place, each in enumerate(element.all("TextEquiv")):
        index = finite_number(each.attributes.get("index", str(place)))
        if index is None:
            shown = each.attributes["index"]
            raise record.error(f"{shown!r:.40} for index, expected a whole number", each.line)
        text = next(
            (some[0] for kind in ("Unicode", "PlainText") if (some := each.all(kind))), None
        )
        words = "" if text is None else one_line(text.text())
        found.append((index, place, words, confidence_of(each, "conf", record)))
    return [(text, confidence) for _, _, text, confidence in sorted(found, key=lambda row: row[:2])]


def _alternatives(word: Element, record: Record, spellings: int) -> Alternatives:
    texts = _texts(word, record)
    glyphs = [share(_texts(glyph, record)) for glyph in word.all("Glyph")]
    if len(texts) < 2 and all(glyphs) and any(len(glyph) > 1 for glyph in glyphs):
        return spell(glyphs, spellings)
    return share(texts)
