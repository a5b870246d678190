"""N-best lists as Moses, Marian, Joshua and cdec write them, one hypothesis a line.

``id ||| words ||| features ||| score``, with segmentation and alignments behind it at will:
these are kept in ``metadata["extra"]``, one string a hypothesis, and written back. Marian has what
more there is (``WordScores=``, alignments) before the features, and it is kept so, too.

Features come in three spellings, ``Name= 1 2``, ``Name: 1 2`` (old Moses) and ``Name=1``
(cdec, Joshua). Several values of one name become ``Name_0``, ``Name_1`` and so on; values
without a name become ``feature_0``. Consecutive lines of one id are one list.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any, BinaryIO

import numpy as np

from lattices._native import distinct_labels, moses_lines, moses_list
from lattices.arrays import floats, ints
from lattices.errors import FormatError
from lattices.formats.base import (
    BLANKS,
    Format,
    Record,
    Unsupported,
    group_lines,
    join_words,
    note_losses,
    require_kind,
    split_words,
)
from lattices.formats.fields import finite_number
from lattices.formats.streams import HEAD_SIZE
from lattices.spaces import NBest, Space
from lattices.spaces.features import FeatureRows, feature_matrix, make_rows
from lattices.vocabulary import Vocabulary

_BAR = "|||"
_BAR_BYTES = b"|||"
_NUMBERED = re.compile(r"(.+)_(0|[1-9][0-9]*)")
UNNAMED = "feature"


class MosesNBest(Format):
    """See the module."""

    name = "moses-nbest"
    description = "n-best lists of Moses, Joshua and cdec: id ||| words ||| features ||| score"
    kind = "nbest"
    suffixes = (".nbest", ".100best", ".kbest")
    exact = True
    appendable = True

    def sniff(self, head: bytes) -> bool:
        """Tell whether the first line has four fields, or two if it is longer than the head."""
        first, end, _ = head.lstrip().partition(b"\n")
        # the rules in cdec's forests have such fields, too
        is_json = first.startswith(b"{")
        return not is_json and first.count(b"|||") >= (3 if end or len(head) < HEAD_SIZE else 1)

    def records(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Cut where the first field changes; a line without fields spoils the list it is in."""
        return group_lines(stream, path, _first_field)

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> NBest:
        """Return the list, in time linear in its length."""
        record.text()  # raises if it is none; bytes are cut at ASCII blanks only, unlike text
        # native code knows lists of Moses itself; other dialects and errors are found here
        native = moses_list(record.payload)
        if native is not None and (nbest := _native_list(native, vocabulary)) is not None:
            return nbest
        places: list[int] = []
        lines: list[list[bytes]] = []
        for place, line in enumerate(record.payload.split(b"\n")):
            if not line or line.isspace():
                continue
            fields = _as_moses(line.split(_BAR_BYTES))
            if len(fields) < 4:
                raise record.error(f"{len(fields)} fields between |||, expected 4", place)
            places.append(place)
            lines.append(fields)
        words = [fields[1].split() for fields in lines]
        scores = [
            _number_of(record, place, fields[3])
            for place, fields in zip(places, lines, strict=True)
        ]
        matrix, names = _feature_columns(record, places, [fields[2] for fields in lines])
        extra = [
            _BAR_BYTES.join(fields[4:]).strip().decode("utf-8") if len(fields) > 4 else ""
            for fields in lines
        ]
        return NBest(
            vocabulary=vocabulary,
            label=ints(_labels(words, vocabulary)),
            offset=ints(np.cumsum([0, *map(len, words)])),
            score=floats(scores),
            features=matrix if names else None,
            feature_names=tuple(names),
            id=lines[-1][0].strip().decode("utf-8") if lines else "",
            metadata={"extra": extra} if any(extra) else {},
        )

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Unsupported, **options: Any
    ) -> None:
        """Write today's dialect, ``Name= values``, every digit of a number."""
        for nbest in lists_to_write(spaces, losses, _BAR, "features", metadata={"extra"}):
            stream.write(_lines(nbest, losses))


FORMAT = MosesNBest()


def _native_list(found: tuple[Any, ...], vocabulary: Vocabulary) -> NBest | None:
    """Return what native code has read; None if values of features share names."""
    name, word, offset, words, score, value, features, extra = found
    names = list(_features(features.decode("utf-8")))
    if len(names) * len(score) != len(value):
        return None
    matrix = None
    if names:
        matrix = FeatureRows.dense(value.reshape(-1, len(names)))
    return NBest(
        vocabulary=vocabulary,
        label=ints(np.array(vocabulary.add_all(words), np.int32)[word]),
        offset=offset,
        score=score,
        features=matrix,
        feature_names=tuple(names),
        id=name.decode("utf-8"),
        metadata={"extra": extra} if extra else {},
    )


def _as_moses(fields: list[bytes]) -> list[bytes]:
    """Return the fields of a line in the order of Moses; Marian's features are F0, F1, ..."""
    if len(fields) > 4 and fields[-2].lstrip().startswith(b"F0="):
        return [*fields[:2], *fields[-2:], *fields[2:-2]]
    return fields


def _first_field(line: bytes) -> bytes | None:
    head, bar, _ = line.partition(b"|||")
    return head.strip() if bar else None


def _number_of(record: Record, place: int, text: bytes) -> float:
    try:
        return _number(text.decode("utf-8"))
    except ValueError as problem:
        raise record.error(str(problem), place) from problem


def _labels(sentences: list[list[bytes]], vocabulary: Vocabulary) -> list[int]:
    """Return the numbers of all words; each distinct word is looked up once."""
    number = dict.fromkeys(chain.from_iterable(sentences), 0)
    known = vocabulary.add_all(word.decode("utf-8") for word in number)
    number.update(zip(number, known, strict=True))
    return [number[word] for word in chain.from_iterable(sentences)]


def _feature_columns(
    record: Record, places: list[int], texts: list[bytes]
) -> tuple[FeatureRows, list[str]]:
    """Return the features of all hypotheses, and their names."""
    found: list[dict[str, float]] = []
    for place, text in zip(places, texts, strict=True):
        try:
            found.append(_features(text.decode("utf-8")))
        except ValueError as problem:
            raise record.error(str(problem), place) from problem
    names: list[str] = []
    return feature_matrix(found, names), names


def _number(text: str) -> float:
    value = finite_number(text)
    if value is None:
        raise ValueError(f"{text.strip()!r}, expected a finite number")
    return value


def _features(text: str) -> dict[str, float]:
    """Return the features of one hypothesis by name."""
    unnamed: list[float] = []
    values: dict[str, list[float]] = {}
    current = unnamed
    for token in split_words(text):
        if token[-1] in "=:":
            current = values.setdefault(token[:-1], [])
        elif "=" in token:
            name, _, value = token.rpartition("=")
            values.setdefault(name, []).append(_number(value))
        else:
            current.append(_number(token))
    named = {f"{UNNAMED}_{index}": value for index, value in enumerate(unnamed)}
    for name, some in values.items():
        if len(some) == 1:
            named[name] = some[0]
        else:
            named.update((f"{name}_{index}", value) for index, value in enumerate(some))
    return named


def check_id(name: str, previous: str | None, separator: str) -> None:
    """Raise a FormatError for an id that would not come back, alone or after ``previous``."""
    if name != name.strip(BLANKS) or separator in name or "\n" in name or "\r" in name:
        raise FormatError(f"the id {name!r} cannot stand in a field of this format")
    if name == previous:
        raise FormatError(f"two lists in a row have the id {name!r}, and would be read as one")


def lists_to_write(
    spaces: Iterable[Space],
    losses: Unsupported,
    separator: str,
    *held: str,
    metadata: Container[str] = (),
) -> Iterator[NBest]:
    """Iterate over lists, after a look at their ids and at what lines cannot hold of them.

    Arguments are those of :func:`check_id` and of :func:`lattices.formats.base.note_losses`.
    """
    previous = None
    for nbest in require_kind(NBest, spaces, losses):
        check_id(nbest.id, previous, separator)
        previous = nbest.id
        note_losses(nbest, losses, *held, metadata=metadata)
        if not len(nbest):
            losses.add("empty list", f"segment {nbest.id!r}")
        yield nbest


def _groups(names: Iterable[str], losses: Unsupported, where: str) -> dict[str, list[str]]:
    """Return the features by the name they have in the file, those without a name first."""
    written: list[str] = []
    for name in names:
        if split_words(name) == [name] and _BAR not in name:
            written.append(name)
        else:
            losses.add(f"features {name!r}", where)
    numbered: dict[str, list[str]] = {}
    for name in written:
        found = _NUMBERED.fullmatch(name)
        if found:
            numbered.setdefault(found.group(1), []).append(name)
    groups: dict[str, list[str]] = {}
    for stem, members in numbered.items():
        several = len(members) > 1 or stem == UNNAMED
        # a feature of the same name would hide the others
        if several and stem not in written and members == _numbers(stem, len(members)):
            groups[stem] = members
    grouped = {name for members in groups.values() for name in members}
    groups |= {name: [name] for name in written if name not in grouped}
    first = {UNNAMED: groups.pop(UNNAMED)} if UNNAMED in groups else {}
    return first | groups


def _numbers(stem: str, count: int) -> list[str]:
    return [f"{stem}_{index}" for index in range(count)]


def _lines(nbest: NBest, losses: Unsupported) -> bytes:
    where = f"segment {nbest.id!r}"
    groups = _groups(nbest.feature_names, losses, where)
    extra = nbest.metadata.get("extra")
    if extra is not None and not (isinstance(extra, list) and len(extra) == len(nbest)):
        losses.add("metadata 'extra'", where)
        extra = None
    distinct, word = distinct_labels(nbest.label)
    words = [_spell(nbest.vocabulary.word(label), losses, where) for label in distinct.tolist()]
    column = {name: place for place, name in enumerate(nbest.feature_names)}
    return moses_lines(
        nbest.id,
        word,
        nbest.offset,
        words,
        nbest.score,
        _merge_repeated_features(nbest).feature_columns,
        # values without a name come first
        ["" if stem == UNNAMED != first else f"{stem}=" for stem, (first, *_) in groups.items()],
        ints([column[name] for members in groups.values() for name in members]),
        ints(np.cumsum([0, *map(len, groups.values())])),
        [str(each) if each else "" for each in extra or ()],
    )


def _spell(word: str, losses: Unsupported, where: str) -> str:
    text = join_words((word,), losses, where)
    if _BAR in text:
        raise FormatError(f"a word of {where} holds |||, which separates fields here")
    return text


def _merge_repeated_features(nbest: NBest) -> NBest:
    """Return the list with no feature twice in a row."""
    rows = make_rows(nbest)
    if rows is None or (canonical := rows.canonicalize()) is rows:
        return nbest
    return replace(nbest, features=canonical)
