"""hOCR: pages of printed text as HTML, as tesseract and others write them; read only.

One segment for each line (``ocr_line``, ``ocrx_line``, ``ocr_header``, ``ocr_caption``,
``ocr_textfloat``), named by its ``id``: a lattice of its words (``ocrx_word``). The score of a
word is the logarithm of ``x_wconf``, which is a number of 100.

tesseract with ``lstm_choice_mode=2`` writes alternatives of characters, with ``x_confs`` of 100.
Then a word has the spellings that they make, and its score is the product of their shares:
``max(x_confs, 1)`` over the sum of the character's. What is printed counts as much as the
likeliest spelling. An alternative that is a blank cuts the word in two; blanks between words that
are there stay. Frames (``lstm_choice_mode=1``) and places on the page are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from lattices.formats.base import Format, Record
from lattices.formats.pages.lines import (
    LEAST,
    OPTIONS,
    Alternatives,
    Cut,
    Element,
    cut_lines_out,
    line_lattice,
    one_line,
    parse_confidence,
    parse_html,
    spell,
)
from lattices.spaces import Lattice
from lattices.vocabulary import Vocabulary

_KINDS = b"ocr_line|ocrx_line|ocr_header|ocr_caption|ocr_textfloat"
_LINE = re.compile(
    rb"<[a-zA-Z]+\s[^<>]*?class\s*=\s*[\"'](?:[^\"'<>]*\s)?(?:%b)[\s\"'][^<>]*>" % _KINDS
)
_PAGE = re.compile(rb"ocr-system|class\s*=\s*[\"']ocrx?_(?:page|line|carea|par)\b")
_CUT = Cut(_LINE, None, "html", re.compile(rb"<html[\s>]", re.I), re.compile(rb"</html\s*>", re.I))
_VALUE = re.compile(r"(?:^|;)\s*(x_w?confs?)\s+([^\s;]+)")


class Hocr(Format):
    """See the module."""

    name = "hocr"
    description = "hOCR of tesseract and others: lines of pages, with alternatives of characters"
    kind = "lattice"
    suffixes = (".hocr",)
    options: Mapping[str, str] = OPTIONS
    writable = False

    def sniff(self, head: bytes) -> bool:
        """Tell whether it is HTML with classes of hOCR."""
        return head.lstrip().startswith(b"<") and _PAGE.search(head) is not None

    def records(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Cut where the next line begins."""
        return cut_lines_out(stream, path, _CUT)

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Lattice:
        """Return the lattice of a line."""
        line, most = parse_html(record), options.get("spellings", 100)
        words = [each for each in _within(line) if "ocrx_word" in _classes(each)]
        places = [_alternatives(word, record, most) for word in words]
        return line_lattice(places, vocabulary, id=line.attributes.get("id", ""))


FORMAT = Hocr()


def _classes(element: Element) -> list[str]:
    return element.attributes.get("class", "").split()


def _within(element: Element) -> Iterator[Element]:
    for part in element.parts:
        if isinstance(part, Element):
            yield part
            yield from _within(part)


def _confidence(element: Element, name: str, record: Record) -> float | None:
    found = dict(_VALUE.findall(element.attributes.get("title", "")))
    if name not in found:
        return None
    return parse_confidence(found[name], name, record, element.line, 100.0)


def _is_choice(element: Element) -> bool:
    """Tell whether an element of a word has alternatives, and nothing of the word itself."""
    return element.attributes.get("id", "").startswith(("lstm_choices", "symbol", "timestep"))


def _printed(word: Element) -> str:
    """Return the text of a word; characters with boxes of their own stand on lines of their own."""
    inner = [each for each in _within(word) if "x_bboxes" in each.attributes.get("title", "")]
    if inner:
        return "".join(each.text() for each in inner)
    return one_line(word.text(lambda each: not _is_choice(each)))


def _alternatives(word: Element, record: Record, spellings: int) -> Alternatives:
    text, confidence = _printed(word), _confidence(word, "x_wconf", record)
    slots = []
    for each in _within(word):
        if not each.attributes.get("id", "").startswith("lstm_choices"):
            continue
        choices = [
            (choice.text(), max(found, LEAST))
            for choice in _within(each)
            if (found := _confidence(choice, "x_confs", record)) is not None
        ]
        # the blank before the word stands among its characters
        if choices and choices[0][0].strip():
            slots.append(choices)
    if not any(len(slot) > 1 for slot in slots):
        return [(text, 1.0 if confidence is None else max(confidence, LEAST))]
    spelt = spell(slots, spellings)
    best = max(probability for _, probability in spelt)
    return [(text, best), *(each for each in spelt if each[0] != text)]
