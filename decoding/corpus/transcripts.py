"""Transcripts: the one sentence that a system said about each segment, as lattices of one path."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from decoding.minimum_risk.rover import CONFIDENCE
from lattices.errors import FormatError
from lattices.formats.base import decoded_lines
from lattices.formats.reading import available, sniffs
from lattices.formats.references.nist import (
    READERS,
    Lines,
    TimedWord,
    looks_like,
    second_line,
    timed_words,
)
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

    The words of a ctm keep their times and, if all of a segment have one, their confidences, as the
    feature ``confidence``. Of several such systems :func:`decoding.mbr` makes one by the votes of
    their words, which is known as ROVER (J. Fiscus, 1997).

    Parameters
    ----------
    path : str
        Of lines ``id words``; of NIST's trn, ``words (id)``; or of its ctm, if the name ends so.

    Raises
    ------
    FormatError
        If there is nothing in it, an id comes twice, or a sentence has alternatives.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "system.ctm")
    >>> _ = file.write_text("s1 A 0.1 0.2 the 0.9\\ns1 A 0.5 0.25 cat 0.8\\n")
    >>> lattice = read_transcripts(str(file))["s1"]
    >>> [(path.text, lattice.times.tolist()) for path in lattice.paths()]
    [('the cat', [0.1, 0.30000000000000004, 0.5, 0.75])]
    """
    name = display_name(path)
    with opened(path) as (_, stream):
        lines = [(number, text.strip()) for number, text in decoded_lines(stream, name)]
    texts = [text for _, text in lines]
    vocabulary = Vocabulary()
    found: dict[str, Lattice]
    if path.removesuffix(".gz").endswith(".ctm"):
        timed = timed_words(Lines(name, texts))
        found = {id: _timed(words, vocabulary, id) for id, words in timed.items()}
    else:
        said = _trn(texts, name) if looks_like("trn", texts) else _by_id(lines, name)
        found = {id: _untimed(words, vocabulary, id) for id, words in said.items()}
    if not found:
        raise FormatError("no segment in it", name)
    return found


def _untimed(words: Sequence[str], vocabulary: Vocabulary, id: str) -> Lattice:
    return Lattice.from_arcs(
        [(place, place + 1, word) for place, word in enumerate(words)],
        finals=[len(words)],
        vocabulary=vocabulary,
        id=id,
    )


def _timed(words: Sequence[TimedWord], vocabulary: Vocabulary, id: str) -> Lattice:
    """Return the path of the words, with no word where nothing is said between two of them.

    If all words have confidences, these are a feature.
    """
    arcs: list[tuple[Any, ...]] = []
    times: list[float] = []
    sure = all(word.confidence is not None for word in words)
    for word, following in zip_longest(words, words[1:]):
        if not times or times[-1] < word.begin:
            arcs += [(len(times) - 1, len(times), "")] if times else []
            times.append(word.begin)
        # who speaks over the next word ends with its begin
        end = word.end if following is None else min(word.end, following.begin)
        confidence = ({CONFIDENCE: word.confidence},) if sure else ()
        arcs.append((len(times) - 1, len(times), word.word, 0.0, *confidence))
        times.append(end)
    return Lattice.from_arcs(arcs, [len(times) - 1], vocabulary=vocabulary, id=id, times=times)


def _trn(texts: list[str], name: str) -> dict[str, list[str]]:
    said = {}
    for id, entry in READERS["trn"](Lines(name, texts), None).entries.items():
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
