"""N-best directories of ESPnet 2: ``1best_recog``, ``2best_recog`` and so on; read only.

The file to read is ``1best_recog/text`` (``token`` where the model writes no text). The files of
the same name in the other directories beside it have the next hypotheses, and ``score`` in each
directory the scores, as ``tensor(-1.5)`` or a number. A list ends where a directory has nothing for
its id.
Nothing in these files says what they are: give ``format="espnet"``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from lattices.errors import FormatError
from lattices.formats.base import Format, Record, split_words, text_lines
from lattices.formats.fields import finite_number
from lattices.spaces import Hypothesis, NBest
from lattices.vocabulary import Vocabulary

_FIRST = "1best_recog"
_SCORE = re.compile(r"\s*(?:tensor\()?([^(),\s]+)(?:,[^()]*)?\)?\s*")


@dataclass(frozen=True)
class EspnetRecord(Record):
    """The first hypothesis of an utterance, and those of the other directories."""

    others: tuple[bytes, ...] = ()  # the lines of the next hypotheses, without the id
    # the scores of all of them, without the id; empty where there is no file of scores
    scores: tuple[bytes, ...] = ()


class Espnet(Format):
    """See the module."""

    name = "espnet"
    description = "n-best directories of ESPnet 2, read from 1best_recog/text"
    kind = "nbest"
    suffixes = ()
    writable = False

    def sniff(self, head: bytes) -> bool:
        """Tell nothing: a line is an id and words, as in many files."""
        return False

    def records(self, stream: BinaryIO, path: str) -> Iterator[EspnetRecord]:
        """Look up each id in the directories beside this one, which are held as a whole."""
        folder, name = os.path.split(path)
        others: list[dict[bytes, bytes]] = []
        scores: list[dict[bytes, bytes]] = []
        if os.path.basename(folder) == _FIRST:
            scores.append(_table(os.path.join(folder, "score")))
            rank = 2
            above = os.path.dirname(folder)
            while os.path.isdir(os.path.join(above, f"{rank}best_recog")):
                there = os.path.join(above, f"{rank}best_recog")
                others.append(_table(os.path.join(there, name)))
                scores.append(_table(os.path.join(there, "score")))
                rank += 1
        number = 0
        for line, text in text_lines(stream):
            if not text.strip():
                continue
            key = text.split(None, 1)[0]
            found = [table.get(key) for table in others]
            last = found.index(None) if None in found else len(found)
            rest = tuple(each for each in found[:last] if each is not None)
            known = tuple(table.get(key, b"") for table in scores[: last + 1])
            yield EspnetRecord(text, path, line, number, rest, known if any(known) else ())
            number += 1

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> NBest:
        """Return the list of one utterance."""
        text = record.text()
        name, _, words = text.strip().partition(" ")
        lines = [words]
        scores = [0.0]
        if isinstance(record, EspnetRecord):
            lines += [_decode(record, other) for other in record.others]
            scores = [_score(record, each) for each in record.scores] or [0.0] * len(lines)
        if len(scores) != len(lines):
            raise record.error(f"{len(scores)} scores for {len(lines)} hypotheses")
        return NBest.from_hypotheses(
            [
                Hypothesis(tuple(split_words(line)), score)
                for line, score in zip(lines, scores, strict=True)
            ],
            vocabulary=vocabulary,
            id=name,
        )


FORMAT = Espnet()


def _table(path: str) -> dict[bytes, bytes]:
    """Return what stands behind each id; nothing where there is no file."""
    if not os.path.exists(path):
        return {}
    with open(path, "rb") as file:
        rows = [text.strip().partition(b" ") for _, text in text_lines(file) if text.strip()]
    table = {key: rest for key, _, rest in rows}
    if len(table) < len(rows):
        raise FormatError("an id twice", path)
    return table


def _decode(record: Record, line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise record.error("invalid UTF-8 in another directory") from problem


def _score(record: Record, text: bytes) -> float:
    found = _SCORE.fullmatch(_decode(record, text))
    value = finite_number(found.group(1)) if found else None
    if value is None:
        raise record.error(f"score {_decode(record, text)!r}, expected a finite number")
    return value
