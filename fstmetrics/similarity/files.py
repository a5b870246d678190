"""Files of word vectors: word2vec's text and binary formats, GloVe's, and NumPy's."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np

from lattices.arrays import Array
from lattices.errors import FormatError
from lattices.formats.base import decoded_lines
from lattices.formats.streams import opened
from lattices.optional import require


def read_vectors(path: str) -> tuple[Sequence[str], Array]:
    """Return the words of a file and their vectors."""
    if path.endswith(".npy"):
        return _read_mapped(path)
    if path.endswith((".kv", ".model")):
        raise FormatError(
            "gensim's own format is a pickle: load it with gensim and pass "
            "WordVectors.from_gensim, or save it by save_word2vec_format",
            path,
        )
    with opened(path) as (head, stream):
        if not _is_binary(head):
            return _read_text(path, stream)
    return _read_binary(path)


def save_vectors(path: str | os.PathLike[str], words: Sequence[str], rows: Array) -> None:
    """Write ``NAME.npy`` and ``NAME.words``, which open at once whatever their size.

    Raises
    ------
    FormatError
        If the name does not end in ``.npy``, or a word cannot stand on a line of its own.
    """
    name = os.fspath(path)
    if not name.endswith(".npy"):
        raise FormatError("expected a name that ends in .npy", name)
    for word in words:
        if not word or "\n" in word or "\r" in word:
            raise FormatError(f"{word!r} cannot be written as a line", name)
    np.save(name, np.ascontiguousarray(rows))
    text = "".join(word + "\n" for word in words)
    _words_file(name).write_text(text, encoding="utf-8", newline="\n")


def _words_file(path: str) -> Path:
    return Path(path).with_suffix(".words")


def _read_mapped(path: str) -> tuple[Sequence[str], Array]:
    try:
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as problem:
        raise FormatError(f"no array: {problem}", path) from problem
    if rows.ndim != 2 or rows.dtype.kind not in "fiu":
        raise FormatError(f"{rows.dtype} of shape {rows.shape}, expected rows of numbers", path)
    listed = _words_file(path)
    try:
        text = listed.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise FormatError(f"the words of {path} cannot be read: {problem}", str(listed)) from None
    words = text.removesuffix("\n").split("\n") if text else []
    if len(words) != len(rows):
        raise FormatError(f"{len(words)} words for {len(rows)} vectors", str(listed))
    return words, rows


def _is_binary(head: bytes) -> bool:
    """Tell whether raw floats follow the header: they are no UTF-8 text, or hold a zero byte."""
    header, _, rest = head.partition(b"\n")
    if _header(header.decode("latin-1").strip()) is None:
        return False
    try:
        # the last character may be cut
        rest[:-3].decode("utf-8")
    except UnicodeDecodeError:
        return True
    return b"\0" in rest


def _read_binary(path: str) -> tuple[Sequence[str], Array]:
    models = require("gensim.models", "embeddings")
    try:
        keyed = models.KeyedVectors.load_word2vec_format(path, binary=True)
    except (ValueError, EOFError) as problem:
        raise FormatError(f"neither text nor word2vec's binary format: {problem}", path) from None
    return keyed.index_to_key, keyed.vectors


def _read_text(path: str, stream: BinaryIO) -> tuple[Sequence[str], Array]:
    lines: Iterator[tuple[int, str]] = (
        (number, line.rstrip(" ")) for number, line in decoded_lines(stream, path)
    )
    number, first = next(lines, (0, ""))
    header = _header(first)
    width = header[1] if header else len(first.split(" ")) - 1
    if width < 1:
        raise FormatError("expected 'words dimensions', or a word and its vector", path, number)
    words: list[str] = []
    rows: list[Array] = []
    if not header:
        lines = chain([(number, first)], lines)
    for number, line in lines:
        # some of GloVe's words have blanks in them
        word, *numbers = line.rsplit(" ", width)
        words.append(word)
        rows.append(_vector(numbers, width, path, number))
    if header and header[0] != len(words):
        raise FormatError(f"{len(words)} vectors, but the header says {header[0]}", path, number)
    return words, np.array(rows, dtype=np.float32).reshape(len(rows), width)


def _header(line: str) -> tuple[int, int] | None:
    fields = line.split(" ")
    if len(fields) == 2 and all(field.isascii() and field.isdigit() for field in fields):
        return int(fields[0]), int(fields[1])
    return None


def _vector(numbers: Sequence[str], width: int, path: str, line: int) -> Array:
    try:
        row = np.array(numbers, dtype=np.float32)
    except ValueError:
        raise FormatError("a vector has something in it that is no number", path, line) from None
    if len(row) != width:
        raise FormatError(f"{len(row)} numbers, expected {width}", path, line)
    if not np.isfinite(row).all():
        raise FormatError("a vector has something in it that is not finite", path, line)
    return row
