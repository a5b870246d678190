r"""SRILM's n-best lists, read only: one list a file, one hypothesis a line, in three formats.

As nbest-format(5) and SRILM's ``NBest.cc`` have them::

    NBestList1.0                               the first line, then
    (total) w1 w2 ...

    NBestList2.0                               the first line, then
    (total) w1 ( st: t et: t g: n a: n ) w2 ( ... ) ...

    acoustic language words w1 w2 ...          no header, logarithms of base 10

Scores of the first two are bytelogs, logarithms of base 1.0001 divided by 1024; SRILM
(``Prob.h``) multiplies by 1024 / 10000.5 to have natural ones, and so do we. A file without a
header may have lines ``(total) w1 ...`` as well.

**Scores.** A list with totals has them as scores, and as the feature ``total``. A list without has
SRILM's default::

    acoustic + 8 language + 0 words

whose parts are the features ``acoustic``, ``language`` and ``words``, the first two in natural
logarithms. ``lm_scale`` and ``word_weight`` are SRILM's ``-rescore-lmw`` and ``-rescore-wtw``, the
latter of base 10. NBestList2.0 has both: its totals are the scores unless one of the two options is
given. The weights are kept: ``nbest.reweighted(nbest.metadata["weights"])`` is the formula again.
What ``ngram -rescore`` writes has the weight in its language scores: ``lm_scale=1`` fits.

**Words.** The sentence tags and the pause ``-pau-`` are dropped, but counted in ``words`` where
the file counts them; ``tags=keep`` keeps them. In NBestList2.0 phones and states, which SRILM
knows by their times or by a name that ends in ``-`` and a digit, are dropped, as are all times.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from lattices.arrays import Array, floats, ints
from lattices.formats.base import Format, Record
from lattices.formats.fields import number_column
from lattices.options import Option
from lattices.spaces import NBest
from lattices.spaces.features import FeatureRows
from lattices.vocabulary import Vocabulary

#: Natural logarithms in one bytelog.
BYTELOG = 1024.0 / 10000.5
LM_SCALE = 8.0
TAGS = frozenset((b"<s>", b"</s>", b"-pau-"))

_MAGIC = (b"NBestList1.0", b"NBestList2.0")
_TOTAL = re.compile(rb"\(([^()]+)\)")
_STATE = re.compile(rb".*-[0-9]")
_FIELDS = (b"(", b"st:", b"et:", b"g:", b"a:", b")")
_WIDTH = 11
_SCORE = re.compile(rb"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


class SrilmNBest(Format):
    """See the module."""

    name = "srilm-nbest"
    description = "n-best lists of SRILM: NBestList1.0, NBestList2.0, or scores and words"
    kind = "nbest"
    suffixes = (".score", ".nbestlist")
    options: Mapping[str, str] = {
        "lm_scale": Option("the weight of language scores", float, LM_SCALE),
        "tags": Option("what becomes of <s>, </s> and -pau-", ("drop", "keep")),
        "word_weight": Option("the score of a word, of base 10", float, 0.0),
    }
    single = True
    writable = False

    def sniff(self, head: bytes) -> bool:
        """Tell whether there is a header, or all lines begin with two log-scores and a count."""
        if head.startswith(_MAGIC):
            return True
        lines = head.split(b"\n")
        rows = [row for line in lines[:-1] or lines if (row := line.split()[:3])]
        return (
            bool(rows)
            and all(
                len(row) == 3
                # states and ranks, with which lines of other formats begin, are not negative
                and row[0].startswith(b"-")
                and all(map(_SCORE.fullmatch, row[:2]))
                and row[2].isdigit()
                for row in rows
            )
        )

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> NBest:
        """Return the list, in time linear in its length."""
        dropped = frozenset() if options.get("tags") == "keep" else TAGS
        found = _List(record)
        weights = found.weights(options)
        names = list(found.columns)
        matrix = np.column_stack([found.columns[name] for name in names])
        words = [[word for word in row if word not in dropped] for row in found.words]
        texts = (word.decode("utf-8") for word in chain.from_iterable(words))
        return NBest(
            vocabulary=vocabulary,
            label=ints(vocabulary.add_all(texts)),
            offset=ints(np.cumsum([0, *map(len, words)])),
            score=floats(matrix @ [weights[name] for name in names]),
            features=FeatureRows.dense(matrix),
            feature_names=tuple(names),
            metadata={"weights": weights},
        )


FORMAT = SrilmNBest()


class _List:
    """The words of all hypotheses of a file, and their scores by name."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.words: list[list[bytes]] = []
        self.columns: dict[str, Array] = {}
        record.text()  # raises if it is none; bytes are cut at ASCII blanks only, unlike text
        numbered = enumerate(map(bytes.split, record.payload.split(b"\n")))
        rows = [(place, row) for place, row in numbered if row]
        head = rows[0][1][0]
        if head.startswith(_MAGIC):
            rows = rows[1:]
        if not rows:
            raise record.error("no hypothesis follows the header")
        if head.startswith(_MAGIC[1]):
            self._read_detailed(rows)
        elif head.startswith((_MAGIC[0], b"(")):
            self._read_totals(rows)
        else:
            self._read_scores(rows)

    def weights(self, options: Mapping[str, Any]) -> dict[str, float]:
        """Return the weight of each column in the score."""
        asked = {"lm_scale", "word_weight"} & options.keys()
        if "acoustic" not in self.columns and asked:
            raise self.record.error(f"{min(asked)} has no meaning where there are only totals")
        by_total = "total" in self.columns and not asked
        weights = {"total": float(by_total)} if "total" in self.columns else {}
        if "acoustic" in self.columns:
            language = options.get("lm_scale", LM_SCALE)
            words = options.get("word_weight", 0.0) * math.log(10.0)
            for name, weight in (("acoustic", 1.0), ("language", language), ("words", words)):
                weights[name] = 0.0 if by_total else weight
        return weights

    def _numbers(self, texts: list[bytes], places: list[int]) -> Array:
        """Return a column, one entry of which stands on each of the lines at these places."""
        values, bad = number_column(texts)
        infinite = np.flatnonzero(np.isinf(values))
        bad = bad if bad >= 0 or not len(infinite) else int(infinite[0])
        if bad >= 0:
            shown = texts[bad].decode("utf-8")
            raise self.record.error(f"{shown!r:.40}, expected a finite number", places[bad])
        return values

    def _read_totals(self, rows: list[tuple[int, list[bytes]]]) -> None:
        totals = []
        for place, row in rows:
            found = _TOTAL.fullmatch(row[0])
            if found is None:
                shown = row[0].decode("utf-8")
                raise self.record.error(f"{shown!r:.40}, expected (score)", place)
            totals.append(found.group(1))
            self.words.append(row[1:])
        self.columns["total"] = BYTELOG * self._numbers(totals, [place for place, _ in rows])

    def _read_detailed(self, rows: list[tuple[int, list[bytes]]]) -> None:
        self._read_totals(rows)
        sums = np.zeros((2, len(rows)))
        for entry, (place, row) in enumerate(rows):
            words, scores = self._read_words(row[1:], place)
            self.words[entry] = words
            sums[:, entry] = scores.sum(axis=1)
        self.columns["acoustic"], self.columns["language"] = BYTELOG * sums
        self.columns["words"] = np.array(list(map(len, self.words)), np.float64)

    def _read_words(self, fields: list[bytes], place: int) -> tuple[list[bytes], Array]:
        """Return the words of a hypothesis, and their acoustic and language scores."""
        marks = [fields[start::_WIDTH] for start in (1, 2, 4, 6, 8, 10)]
        count, left = divmod(len(fields), _WIDTH)
        if left or any(set(found) - {mark} for found, mark in zip(marks, _FIELDS, strict=True)):
            raise self.record.error("expected each word with ( st: t et: t g: n a: n )", place)
        start, end, language, acoustic = (
            self._numbers(fields[offset::_WIDTH], [place] * count) for offset in (3, 5, 7, 9)
        )
        chosen = []
        until = -1.0
        for word, text in enumerate(fields[::_WIDTH]):
            # phones and states lie within the word before them
            if start[word] > until and not _STATE.fullmatch(text):
                chosen.append(word)
                until = end[word]
        words = fields[::_WIDTH]
        return [words[word] for word in chosen], np.stack((acoustic[chosen], language[chosen]))

    def _read_scores(self, rows: list[tuple[int, list[bytes]]]) -> None:
        places = [place for place, _ in rows]
        short = [place for place, row in rows if len(row) < 3]
        if short:
            raise self.record.error("expected acoustic and language score, and a count", short[0])
        for column, name in enumerate(("acoustic", "language")):
            values = self._numbers([row[column] for _, row in rows], places)
            self.columns[name] = math.log(10.0) * values
        counts = [row[2] for _, row in rows]
        if not all(map(bytes.isdigit, counts)):
            odd = next(entry for entry, text in enumerate(counts) if not text.isdigit())
            shown = counts[odd].decode("utf-8")
            raise self.record.error(f"{shown!r:.40}, expected a number of words", places[odd])
        self.columns["words"] = self._numbers(counts, places)
        self.words = [row[3:] for _, row in rows]
