"""References in the layouts of NIST's sclite: trn, ctm and stm.

::

    trn   i've { um / uh } seen it (speaker-utterance)
    ctm   file channel begin duration word [confidence ...]
    stm   file channel speaker begin end [<label,...>] i've { um / uh } seen it

Blank lines and those that begin with ``;;`` are left out. Alternations are as below; a ctm
has the rows ``<ALT_BEGIN>``, ``<ALT>`` and ``<ALT_END>`` for them, with ``*`` for times,
and an alternative of no rows is no word.

Rows of a ctm, and segments of an stm, that have one id are joined in the order of their begins.
Segments ``IGNORE_TIME_SEGMENT_IN_SCORING`` are left out; an id that has no others is excluded.

Ids are made as :mod:`lattices.formats.references.ids` says. Unlike sclite, nothing ignores case.

Transcripts that may be said in several ways, as NIST's sclite reads them.

``i've { um / uh / @ } as far`` has three sentences: ``{ a / b }`` is an alternation of one or more
texts, which may hold others, and ``@`` is no word. ``(word)`` may be left out. Braces, slashes
and ``@`` are signs only where they stand alone; a slash outside of braces is a word.

A transcript of one sentence is a string; any other becomes a lattice, whose size is that of the
text however many sentences it has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from lattices.errors import FormatError
from lattices.formats.base import split_words
from lattices.formats.fields import finite_number
from lattices.formats.references.ids import (
    FIELDS,
    IdTemplate,
    ReferenceTable,
    second_line,
    strip_speaker,
)
from lattices.spaces import Lattice


class TranscriptAlternatives(NamedTuple):
    """The sentences of a transcript, as an automaton."""

    # from where, to where, and the word; states are in topological order, from 0
    arcs: tuple[tuple[int, int, str], ...]
    states: int  # how many; the last one is final

    def lattice(self, id: str) -> Lattice:
        """Return the lattice; all of its scores are 0."""
        return Lattice.from_arcs(self.arcs, [self.states - 1], states=self.states, id=id)


Transcript: TypeAlias = "str | TranscriptAlternatives"


class Transcriber:
    """A transcript in the making, from texts or word by word."""

    def __init__(self) -> None:
        self._arcs: list[tuple[int, int, str]] = []
        self._states, self._here = 1, 0
        #: where each alternation that is open began, and where its alternatives ended so far
        self._open: list[tuple[int, list[int]]] = []
        self._branches = False

    def _next(self) -> int:
        self._states += 1
        return self._states - 1

    def word(self, word: str) -> None:
        """Add a word, one that may be left out if it is in parentheses."""
        if len(word) > 2 and word[0] == "(" and word[-1] == ")":
            self._branches = True
            self._arcs.append((self._here, self._states, ""))
            word = word[1:-1]
        self.plain_word(word)

    def plain_word(self, word: str) -> None:
        """Add a word as it is."""
        after = self._next()
        self._arcs.append((self._here, after, word))
        self._here = after

    def begin(self) -> None:
        """Begin an alternation."""
        self._branches = True
        self._open.append((self._here, []))

    def alternative(self) -> None:
        """Begin the next alternative."""
        start, ends = self._open[-1]
        ends.append(self._here)
        self._here = start

    def end(self) -> None:
        """End the innermost alternation."""
        _, ends = self._open.pop()
        after = self._next()
        self._arcs += [(state, after, "") for state in (*ends, self._here)]
        self._here = after

    def add_text(self, text: str) -> None:
        """Add a text, in which all alternations end."""
        depth = len(self._open)
        previous = ""
        for token in split_words(text):
            inside = len(self._open) > depth
            closing = token == "}" or (token == "/" and inside)
            if closing and not inside:
                raise ValueError("a } without its {")
            if closing and previous in ("{", "/"):
                raise ValueError("an alternative with nothing in it; no word is spelt @")
            if token == "{":
                self.begin()
            elif token == "}":
                self.end()
            elif closing:
                self.alternative()
            elif token != "@":
                self.word(token)
            # outside of braces, a slash is a word like any other
            previous = token if inside or token == "{" else ""
        if len(self._open) > depth:
            raise ValueError("a { without its }")

    def result(self) -> Transcript:
        """Return the transcript."""
        if self._branches:
            return TranscriptAlternatives(tuple(self._arcs), self._states)
        return " ".join([word for _, _, word in self._arcs])


_VARIANTS = re.compile(r"(?<!\S)\[([^\[\]]*\|[^\[\]]*)\](?!\S)")
_NO_VARIANTS = re.compile(r"\S*\[[^\]]*\|\S*")


def parse_variants(text: str) -> Transcript:
    """Return a text in which ``[Anne|Ann]`` stands for either, ``[um|]`` for a word or none.

    Brackets without a ``|`` are words, as ``[noise]``.

    Examples
    --------
    >>> alternatives = parse_variants("[Anne|Ann] is [going to|gonna] walk")
    >>> sorted(path.text for path in alternatives.lattice("").paths())[:2]
    ['Ann is going to walk', 'Ann is gonna walk']
    """
    parts: list[str | list[str]] = []
    # texts and variants take turns
    for place, piece in enumerate(_VARIANTS.split(text)):
        if place % 2:
            parts.append(piece.split("|"))
        elif wrong := _NO_VARIANTS.search(piece):
            raise ValueError(f"{wrong[0]!r}: variants stand between blanks, and hold no others")
        else:
            parts.append(piece)
    return join_variants(parts)


def join_variants(parts: Iterable[str | Sequence[str]]) -> Transcript:
    """Return the transcript of texts, and of lists of texts of which any may stand there."""
    transcriber = Transcriber()
    for part in parts:
        variants = [part] if isinstance(part, str) else [*part]
        if not variants or not all(isinstance(each, str) for each in variants):
            raise ValueError(f"{part!r:.60}, expected a text, or a list of texts")
        if len(variants) > 1:
            transcriber.begin()
        for number, variant in enumerate(variants):
            if number:
                transcriber.alternative()
            for word in split_words(variant):
                transcriber.plain_word(word)
        if len(variants) > 1:
            transcriber.end()
    return transcriber.result()


IGNORED = "ignore_time_segment_in_scoring"

#: what a ctm has where there is no confidence
NO_CONFIDENCE = "NA"

_TRN_ID = re.compile(r"\(([^()\s]+)\)$")
_ALTERNATION = ("<ALT_BEGIN>", "<ALT>", "<ALT_END>")


@dataclass(frozen=True)
class TranscriptLines:
    """The lines of one file, for messages to say where."""

    path: str
    lines: Sequence[str]

    def error(self, problem: str, line: int) -> FormatError:
        """Return an error in a line, from 1."""
        return FormatError(problem, self.path, line)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Iterate over the lines that are neither blank nor comments, with their numbers."""
        for number, line in enumerate(self.lines, start=1):
            if line and not line.startswith(";;"):
                yield number, line


def trn_id(line: str) -> str:
    """Return what stands in brackets at the end of a line; empty if nothing does."""
    found = _TRN_ID.search(line)
    return found[1] if found else ""


def looks_like(layout: str, lines: Sequence[str]) -> bool:
    """Tell whether every line fits in a layout, and some times have a decimal point."""
    rows = [line for _, line in TranscriptLines("", lines)]
    if layout == "trn":
        return bool(rows) and all(map(trn_id, rows))
    tokens = [split_words(line) for line in rows]
    if layout == "ctm":
        times = [row[2:4] for row in tokens if row[4:5] != [] and row[4] not in _ALTERNATION]
        fits = all(5 <= len(row) <= 8 for row in tokens)
    else:
        times = [row[3:5] for row in tokens]
        fits = all(len(row) >= 5 for row in tokens)
    return (
        fits
        and all(_seconds(text) is not None for pair in times for text in pair)
        and any("." in text for pair in times for text in pair)
        and (layout == "ctm" or all(float(begin) <= float(end) for begin, end in times))
    )


def _seconds(text: str) -> float | None:
    value = finite_number(text)
    return value if value is not None and value >= 0.0 else None


def read_trn(file: TranscriptLines, template: IdTemplate | None) -> ReferenceTable:
    """Return the references of a trn."""
    table = ReferenceTable()
    places: dict[str, int] = {}
    for number, line in file:
        last = trn_id(line)
        if not last:
            raise file.error("expected 'words (id)'", number)
        name = last
        if template is not None:
            utterance = strip_speaker(name)
            if "utterance" in template.names and not utterance:
                raise file.error(f"no speaker in front of the utterance in {name!r}", number)
            name = template.format({"id": name, "utterance": utterance})
        if name in table:
            raise file.error(second_line(name, file.path, places[name]), number)
        places[name] = number
        transcriber = Transcriber()
        _add(transcriber, line[: -len(f"({last})")], file, number)
        table.entries[name] = transcriber.result()
    return table


def _add(transcriber: Transcriber, text: str, file: TranscriptLines, line: int) -> None:
    try:
        transcriber.add_text(text)
    except ValueError as problem:
        raise file.error(str(problem), line) from None


@dataclass
class _Piece:
    """What is said from some time on: a text, or the alternatives of an alternation.

    One word of a ctm has its duration, and what stands in the column of confidences.
    """

    begin: float
    line: int
    text: str = ""
    alternatives: list[list[str]] = field(default_factory=list)
    duration: float = 0.0
    confidence: str = NO_CONFIDENCE

    def add_to(self, transcriber: Transcriber, file: TranscriptLines) -> None:
        if not self.alternatives:
            _add(transcriber, self.text, file, self.line)
            return
        several = len(self.alternatives) > 1
        if several:
            transcriber.begin()
        for place, words in enumerate(self.alternatives):
            if place:
                transcriber.alternative()
            for word in words:
                transcriber.word(word)
        if several:
            transcriber.end()


def _join(
    file: TranscriptLines, pieces: Mapping[str, list[_Piece]], excluded: dict[str, int]
) -> ReferenceTable:
    table = ReferenceTable()
    for name, some in pieces.items():
        transcriber = Transcriber()
        for piece in sorted(some, key=lambda piece: piece.begin):
            piece.add_to(transcriber, file)
        table.entries[name] = transcriber.result()
    table.excluded = {name: line for name, line in excluded.items() if name not in pieces}
    return table


def _make_default_ids(channels: Mapping[str, set[str]]) -> Callable[[Mapping[str, str | int]], str]:
    """Return what makes ids without a template."""

    def make_id(fields: Mapping[str, str | int]) -> str:
        name, channel = str(fields["file"]), fields["channel"]
        return name if len(channels[name]) == 1 else f"{name}-{channel}"

    return make_id


def _channels(file: TranscriptLines) -> dict[str, set[str]]:
    channels: dict[str, set[str]] = {}
    for _, line in file:
        name, channel, *_ = *split_words(line)[:2], ""
        channels.setdefault(name, set()).add(channel)
    return channels


def _time(text: str, what: str, file: TranscriptLines, line: int) -> float:
    value = _seconds(text)
    if value is None:
        raise file.error(f"{what} {text}, expected seconds", line)
    return value


def read_ctm(file: TranscriptLines, template: IdTemplate | None) -> ReferenceTable:
    """Return the references of a ctm."""
    return _join(file, _ctm_pieces(file, template), {})


def _ctm_pieces(file: TranscriptLines, template: IdTemplate | None) -> dict[str, list[_Piece]]:
    id_of = template.format if template is not None else _make_default_ids(_channels(file))
    pieces: dict[str, list[_Piece]] = {}
    unfinished: dict[str, _Piece] = {}
    for number, line in file:
        row = split_words(line)
        if not 5 <= len(row) <= 8:
            raise file.error(
                f"{len(row)} columns, expected file, channel, begin, duration, word and perhaps "
                "a confidence",
                number,
            )
        name, word = id_of({"file": row[0], "channel": row[1]}), row[4]
        said = pieces.setdefault(name, [])
        block = unfinished.get(name)
        if word == _ALTERNATION[0]:
            if block is not None:
                raise file.error(
                    "<ALT_BEGIN> inside an alternation, which a ctm cannot have", number
                )
            block = _Piece(said[-1].begin if said else 0.0, number, alternatives=[[]])
            unfinished[name] = block
            said.append(block)
        elif word in _ALTERNATION:
            if block is None:
                raise file.error(f"{word} without <ALT_BEGIN>", number)
            if word == "<ALT>":
                block.alternatives.append([])
            else:
                del unfinished[name]
        else:
            begin = _time(row[2], "begin", file, number)
            duration = _time(row[3], "duration", file, number)
            if block is None:
                # a word as it stands: signs of alternations mean nothing in a ctm
                piece = _Piece(begin, number, alternatives=[[word]], duration=duration)
                piece.confidence = row[5] if len(row) > 5 else NO_CONFIDENCE
                said.append(piece)
            else:
                if not any(block.alternatives):
                    block.begin = begin
                block.alternatives[-1].append(word)
    for block in unfinished.values():
        raise file.error("<ALT_BEGIN> without <ALT_END>", block.line)
    return pieces


class TimedWord(NamedTuple):
    """A word of a ctm: when it begins and ends, in seconds, and its confidence, if it has one."""

    word: str
    begin: float
    end: float
    confidence: float | None = None


def read_timed_words(
    file: TranscriptLines, template: IdTemplate | None = None
) -> dict[str, list[TimedWord]]:
    """Return the words of a ctm by the ids of their segments, in the order of their begins."""
    found: dict[str, list[TimedWord]] = {}
    for name, pieces in _ctm_pieces(file, template).items():
        words = found.setdefault(name, [])
        for piece in sorted(pieces, key=lambda piece: piece.begin):
            if len(piece.alternatives) != 1 or len(piece.alternatives[0]) != 1:
                raise file.error(f"segment {name!r}: a hypothesis has alternatives", piece.line)
            ((word,),) = piece.alternatives
            confidence = None
            if piece.confidence != NO_CONFIDENCE:
                confidence = finite_number(piece.confidence)
                if confidence is None or not 0.0 <= confidence <= 1.0:
                    raise file.error(
                        f"a confidence of {piece.confidence}, expected one from 0 to 1", piece.line
                    )
            words.append(TimedWord(word, piece.begin, piece.begin + piece.duration, confidence))
    return found


def read_stm(file: TranscriptLines, template: IdTemplate | None) -> ReferenceTable:
    """Return the references of an stm."""
    id_of = template.format if template is not None else _make_default_ids(_channels(file))
    pieces: dict[str, list[_Piece]] = {}
    excluded: dict[str, int] = {}
    for number, line in file:
        row = split_words(line)
        if len(row) < 5:
            raise file.error(
                f"{len(row)} columns, expected file, channel, speaker, begin, end and words", number
            )
        begin, end = (_time(text, "time", file, number) for text in row[3:5])
        if begin > end:
            raise file.error(f"begins at {row[3]}, but ends at {row[4]}", number)
        fields: dict[str, str | int] = dict(zip(FIELDS["stm"][:5], row[:5], strict=True))
        for unit, parts in (("cs", 100), ("ms", 1000)):
            fields[f"begin_{unit}"] = round(begin * parts)
            fields[f"end_{unit}"] = round(end * parts)
        name, words = id_of(fields), row[5:]
        if words and words[0][0] == "<" and words[0][-1] == ">":
            words = words[1:]
        if IGNORED in (word.lower() for word in words):
            excluded.setdefault(name, number)
        else:
            pieces.setdefault(name, []).append(
                _Piece(begin, number, " ".join(words), duration=end - begin)
            )
    table = _join(file, pieces, excluded)
    table.seconds = {name: sum(each.duration for each in some) for name, some in pieces.items()}
    return table
