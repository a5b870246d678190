"""Transcripts: the one sentence that a system said about each segment, as lattices of one path."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import lattices
from decoding.minimum_risk.rover import CONFIDENCE
from lattices.errors import FormatError
from lattices.formats.base import decode_lines
from lattices.formats.reading import find_claimants, sniffs
from lattices.formats.references import References
from lattices.formats.references.ids import IdTemplate
from lattices.formats.references.nist import TimedWord, TranscriptLines, read_timed_words
from lattices.formats.streams import files_of, is_url, open_input
from lattices.formats.system_outputs import (
    LAYOUTS,
    Output,
    format_of_output,
    has_results,
    read_output,
)
from lattices.spaces import Lattice
from lattices.vocabulary import Vocabulary


def is_transcript(path: str, format: str | None = None) -> bool:
    r"""Tell whether a file has one sentence a segment instead of search spaces, by its content.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "system.tsv")
    >>> _ = file.write_text("s1\t0.5\tthe cat\n")
    >>> is_transcript(str(file))
    True
    """
    if not (os.path.isfile(path) or (is_url(path) and files_of(path) == [path])):
        return False
    with open_input(path) as (head, stream):
        found = format_of_output(head, format)
        if found is None:
            # files of one lattice are no outputs, but spaces
            return format in LAYOUTS or not any(
                sniffs(entry, head) for entry in find_claimants(head)
            )
        return has_results(found, head, stream)


def read_transcripts(
    path: str,
    format: str | None = None,
    references: References | None = None,
    option: str = "read.format",
) -> dict[str, Lattice]:
    """Return what was said about each segment, by its id, as a lattice of one path.

    The words of a ctm keep their times and, if all of a segment have one, their confidences, as the
    feature ``confidence``. Of several such systems :func:`decoding.mbr` makes one by the votes of
    their words, which is known as ROVER (J. Fiscus, 1997).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "system.ctm")
    >>> _ = file.write_text("s1 A 0.1 0.2 the 0.9\\ns1 A 0.5 0.25 cat 0.8\\n")
    >>> lattice = read_transcripts(str(file))["s1"]
    >>> [(path.text, lattice.times.tolist()) for path in lattice.paths()]
    [('the cat', [0.1, 0.30000000000000004, 0.5, 0.75])]
    """
    output = read_output(path, format, references, option=option)
    for id, line, problem in output.failures:
        raise FormatError(f"segment {id!r}: {problem}", output.path, line)
    vocabulary, timed = Vocabulary(), read_timed(path, output)
    return {
        each.id: make_timed_path(timed[each.id], vocabulary, each.id)
        if each.id in timed
        else _make_untimed_path(each.words, vocabulary, each.id)
        for each in output.said
    }


def read_timed(
    path: str, output: Output, id_template: str | None = None
) -> dict[str, list[TimedWord]]:
    """Return the words of an output by segment, with times and confidences, if it is a ctm."""
    if output.layout != "ctm":
        return {}
    template = None if id_template is None else IdTemplate(id_template)
    if template is not None and not template.suits("ctm"):
        template = None
    with open_input(path) as (_, stream):
        lines = [text.strip() for _, text in decode_lines(stream, output.path)]
    return read_timed_words(TranscriptLines(output.path, lines), template)


def sentences_as_spaces(
    paths: Sequence[str],
    folder: str,
    format: str | None = None,
    references: References | None = None,
    option: str = "read.format",
) -> dict[str, str]:
    """Write the sentences of files that have them as lattices of one path."""
    taken = {}
    for place, path in enumerate(paths):
        if is_transcript(path, format):
            spaces = read_transcripts(path, format, references, option).values()
            taken[path] = os.path.join(folder, f"{place}-{os.path.basename(path)}.jsonl")
            lattices.write(taken[path], spaces)
    return taken


def _make_untimed_path(words: Sequence[str], vocabulary: Vocabulary, id: str) -> Lattice:
    return Lattice.from_arcs(
        [(place, place + 1, word) for place, word in enumerate(words)],
        finals=[len(words)],
        vocabulary=vocabulary,
        id=id,
    )


def make_timed_path(words: Sequence[TimedWord], vocabulary: Vocabulary, id: str) -> Lattice:
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
