"""Sentences in columns, as commands write their results: ``id``, ``score``, ``words``.

Tabs separate the columns, so that ids may have blanks in them. Lines of one id that follow one
another are ranks, of which the first counts: scores may be those of a metric of which less is
better. Where blanks separate, nothing tells the score from a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lattices.errors import FormatError
from lattices.formats.base import BLANKS, split_words
from lattices.formats.references.ids import second_line

_NUMBER = re.compile(r"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|inf|nan)")


class Result(NamedTuple):
    """The sentence of a segment, and the line it stands in."""

    line: int
    text: str


def are_results(lines: Iterable[str]) -> bool:
    r"""Tell whether every line is id, number and words, with tabs between them.

    What takes blanks off the ends of lines takes a tab off those without words.
    """
    widths = set()
    for line in lines:
        if line.strip(BLANKS):
            columns = line.split("\t")
            widths.add(len(columns))
            if len(columns) not in (2, 3) or not columns[0] or not is_number(columns[1]):
                return False
    return 3 in widths


def is_number(text: str) -> bool:
    """Tell whether a text is a number, be it infinite."""
    return _NUMBER.fullmatch(text) is not None


def look_like_scores(texts: Sequence[str], *, whole: bool = False) -> bool:
    """Tell whether all texts begin with a number: a score that would count as a word.

    Digits alone are words of many corpora; they count as scores only with ``whole``.
    """
    first = [next(iter(split_words(text)), "") for text in texts]
    return bool(first) and all(is_number(word) and (whole or not word.isdigit()) for word in first)


def read_results(lines: Sequence[str], path: str) -> dict[str, Result]:
    """Return the first sentence of each id.

    Columns of a line without tabs are separated by blanks.
    """
    found: dict[str, Result] = {}
    last = ""
    for number, line in enumerate(lines, start=1):
        if not line.strip(BLANKS):
            continue
        columns = line.split("\t", 2) if "\t" in line else line.split(None, 2)
        id, score, text = [*columns, "", ""][:3]
        if not id or not is_number(score):
            raise FormatError("expected an id, a score and words", path, number)
        if id in found and id != last:
            raise FormatError(second_line(id, path, found[id].line), path, number)
        found.setdefault(id, Result(number, text.strip(BLANKS)))
        last = id
    return found
