"""ALTO, versions 1 to 5: pages of printed text as XML; read only.

One segment for each ``TextLine``, named by its ``ID``: a lattice of its ``String`` elements. The
score of a word is the logarithm of its ``WC``. Where it has ``ALTERNATIVE`` texts, they share what
``WC`` leaves of 1, at least 0.01 each; without ``WC`` all have the same. Where its ``Glyph``
elements have ``Variant``, the alternatives are spellings instead, of the characters' ``GC`` and
``VC``. ``HYP``, the hyphen at the end of a line, belongs to the word before it. Places on the page
are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from lattices.formats.base import Format, Record
from lattices.formats.pages.lines import (
    LEAST,
    OPTIONS,
    Alternatives,
    Element,
    confidence_of,
    cut_lines_out,
    line_lattice,
    parse_xml,
    share,
    spell,
    xml_cut,
)
from lattices.spaces import Lattice
from lattices.vocabulary import Vocabulary

_CUT = xml_cut("alto")


class Alto(Format):
    """See the module."""

    name = "alto"
    description = "ALTO XML: lines of pages, with the alternatives of words or characters"
    kind = "lattice"
    suffixes = (".alto", ".alto.xml")
    options: Mapping[str, str] = OPTIONS
    writable = False

    def sniff(self, head: bytes) -> bool:
        """Tell whether the root is that of ALTO."""
        return _CUT.root.search(head) is not None

    def records(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Cut into lines of text."""
        return cut_lines_out(stream, path, _CUT)

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Lattice:
        """Return the lattice of a line."""
        line = parse_xml(record)
        places: list[Alternatives] = []
        for part in line.parts:
            if isinstance(part, Element) and part.name == "String":
                places.append(_alternatives(part, record, options.get("spellings", 100)))
            elif isinstance(part, Element) and part.name == "HYP" and places:
                hyphen = part.attributes.get("CONTENT", "")
                places[-1] = [(text + hyphen, probability) for text, probability in places[-1]]
        return line_lattice(places, vocabulary, id=line.attributes.get("ID", ""))


FORMAT = Alto()


def _alternatives(string: Element, record: Record, spellings: int) -> Alternatives:
    if "CONTENT" not in string.attributes:
        raise record.error("a String without CONTENT", string.line)
    said = string.attributes["CONTENT"], confidence_of(string, "WC", record)
    glyphs = [
        share(
            [
                (each.attributes.get("CONTENT", ""), confidence_of(each, name, record))
                for name, some in (("GC", [glyph]), ("VC", glyph.all("Variant")))
                for each in some
            ]
        )
        for glyph in string.all("Glyph")
    ]
    if any(len(glyph) > 1 for glyph in glyphs):
        return spell(glyphs, spellings)
    others = [(each.text(), None) for each in string.all("ALTERNATIVE")]
    if not others and said[1] is not None:
        return [(said[0], max(said[1], LEAST))]
    return share([said, *others])
