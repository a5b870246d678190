"""Transcripts: the one sentence that a system said about each segment, as lattices of one path."""

from __future__ import annotations

import os

from lattices.errors import FormatError
from lattices.formats.base import decoded_lines
from lattices.formats.reading import available, sniffs
from lattices.formats.references.nist import READERS, Lines, looks_like, second_line
from lattices.formats.streams import display_name, opened
from lattices.spaces import Lattice
from lattices.vocabulary import Vocabulary

#: layouts that the end of a name tells
SUFFIXES = (".ctm", ".trn", ".txt", ".text")


def is_transcript(path: str) -> bool:
    """Tell whether a file has sentences instead of search spaces.

    By the end of its name, ``.ctm``, ``.trn``, ``.txt`` or ``.text``, or because no format of
    spaces knows it.

    Examples
    --------
    >>> is_transcript("system.ctm.gz")
    True
    """
    suffix = os.path.splitext(path.removesuffix(".gz"))[1]
    if not os.path.isfile(path):
        return suffix in SUFFIXES
    with opened(path) as (head, _):
        known = any(sniffs(entry, head) for entry in available())
    return suffix in (".ctm", ".trn") or not known


def read_transcripts(path: str) -> dict[str, Lattice]:
    """Return what was said about each segment, by its id, as a lattice of one path.

    Of several such systems :func:`decoding.mbr` makes one by the votes of their words, which is
    known as ROVER (J. Fiscus, 1997).

    Parameters
    ----------
    path : str
        Of lines ``id words``; of NIST's trn, ``words (id)``; or of its ctm, if the name ends so.

    Raises
    ------
    FormatError
        If there is nothing in it, an id comes twice, or a sentence has alternatives.
    """
    name = display_name(path)
    with opened(path) as (_, stream):
        lines = [(number, text.strip()) for number, text in decoded_lines(stream, name)]
    texts = [text for _, text in lines]
    layout = "ctm" if path.removesuffix(".gz").endswith(".ctm") else ""
    if not layout and looks_like("trn", texts):
        layout = "trn"
    said = _nist(texts, name, layout) if layout else _by_id(lines, name)
    if not said:
        raise FormatError("no segment in it", name)
    vocabulary = Vocabulary()
    return {
        id: Lattice.from_arcs(
            [(place, place + 1, word) for place, word in enumerate(words)],
            finals=[len(words)],
            vocabulary=vocabulary,
            id=id,
        )
        for id, words in said.items()
    }


def _nist(texts: list[str], name: str, layout: str) -> dict[str, list[str]]:
    said = {}
    for id, entry in READERS[layout](Lines(name, texts), None).entries.items():
        if not isinstance(entry, str):
            raise FormatError(f"segment {id!r}: a hypothesis has alternatives", name)
        said[id] = entry.split()
    return said


def _by_id(lines: list[tuple[int, str]], name: str) -> dict[str, list[str]]:
    said: dict[str, list[str]] = {}
    places: dict[str, int] = {}
    for number, text in lines:
        id, *words = text.split() or [""]
        if not id:
            continue
        first = places.setdefault(id, number)
        if first != number:
            raise FormatError(second_line(id, name, first), name, number)
        said[id] = words
    return said
