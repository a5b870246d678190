"""N-best lists in columns: ``id``, ``rank``, ``score``, ``words``, separated by tabs.

Consecutive lines of one id are one list, in the order of the file; the rank must be a whole
number but is not otherwise used, and is written from 1. A line that ends after the score
is the empty hypothesis.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, BinaryIO

import numpy as np

from lattices.arrays import floats, ints
from lattices.formats.base import (
    BLANKS,
    Format,
    Record,
    Unsupported,
    group_lines,
    join_words,
    split_words,
)
from lattices.formats.fields import finite_number
from lattices.formats.lists.moses import lists_to_write
from lattices.spaces import NBest, Space
from lattices.vocabulary import Vocabulary


class NBestTable(Format):
    """See the module."""

    name = "nbest-tsv"
    description = "n-best lists in tab-separated columns: id, rank, score, words"
    kind = "nbest"
    suffixes = (".tsv",)
    exact = True
    appendable = True

    def sniff(self, head: bytes) -> bool:
        """Tell whether the first line is id, whole number, number, and words.

        Id and words are not both numbers: those of a weighted arc of an automaton are.
        """
        columns = head.split(b"\n", 1)[0].rstrip(b"\r").split(b"\t")
        if len(columns) != 4 or not columns[1].isdigit():
            return False
        arc = columns[0].isdigit() and finite_number(columns[3]) is not None
        return finite_number(columns[2]) is not None and not arc

    def records(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Cut where the first column changes."""
        return group_lines(stream, path, lambda line: line.partition(b"\t")[0])

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> NBest:
        """Return the list, in time linear in its length."""
        words: list[list[str]] = []
        scores: list[float] = []
        name = ""
        for place, line in enumerate(record.text().split("\n")):
            if not line.strip(BLANKS):
                continue
            columns = line.split("\t")
            if len(columns) not in (3, 4):
                raise record.error(
                    f"{len(columns)} columns, expected id, rank, score, words", place
                )
            name = columns[0]
            if not columns[1].strip().isdecimal():
                raise record.error(f"rank {columns[1]!r}, expected a whole number", place)
            score = finite_number(columns[2])
            if score is None:
                raise record.error(f"score {columns[2]!r}, expected a finite number", place)
            scores.append(score)
            words.append(split_words(columns[3]) if len(columns) == 4 else [])
        return NBest(
            vocabulary=vocabulary,
            label=ints(vocabulary.add_all(chain.from_iterable(words))),
            offset=ints(np.cumsum([0, *map(len, words)])),
            score=floats(scores),
            id=name,
        )

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Unsupported, **options: Any
    ) -> None:
        """Write one line for each hypothesis, every digit of its score."""
        for nbest in lists_to_write(spaces, losses, "\t"):
            for entry, score in enumerate(nbest.score.tolist()):
                text = join_words(nbest.tokens(entry), losses, f"segment {nbest.id!r}")
                stream.write(f"{nbest.id}\t{entry + 1}\t{score!r}\t{text}\n".encode())


FORMAT = NBestTable()
