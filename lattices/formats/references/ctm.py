"""CTM, NIST's time-marked words, written; :func:`lattices.formats.references.nist` reads it.

One line a word: id, channel, begin and duration in seconds, word, confidence.
"""

from __future__ import annotations

from collections.abc import Iterable

from lattices.errors import FormatError
from lattices.formats.base import BLANKS
from lattices.formats.references.nist import NO_CONFIDENCE, TimedWord


def ctm_lines(id: str, words: Iterable[TimedWord], channel: str = "1") -> str:
    """Return the words of a segment as lines of a ctm; none for a segment without words."""
    rows = list(words)
    for text in (id, channel, *(row.word for row in rows)):
        if not text or any(blank in text for blank in BLANKS):
            raise FormatError(f"{text!r} cannot stand in a line of ctm")
    return "".join(
        f"{id} {channel} {begin:.3f} {end - begin:.3f} {word} "
        f"{NO_CONFIDENCE if confidence is None else format(confidence, '.6f')}\n"
        for word, begin, end, confidence in rows
    )
