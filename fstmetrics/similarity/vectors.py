"""Word vectors, their files, and the similarity of words that they give.

Files are in word2vec's text and binary formats, GloVe's, or NumPy's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np

from fstmetrics.signature import Signature, option
from lattices.arrays import Array, FloatColumn, IntColumn, ints
from lattices.errors import FormatError, OptionError
from lattices.formats.base import decode_lines
from lattices.formats.streams import open_input
from lattices.optional import require

#: a cosine this close to 1 is 1: what it falls short of is rounding
ROUNDING = 1e-12


class WordVectors:
    """Words and one vector for each; any array will do, a memory-mapped one too.

    Parameters
    ----------
    words : sequence of str
        Of words that come twice, the first counts.
    rows : array, words x dimensions
        Is kept as it is; only the rows that are asked for are copied.
    source : str
        What a signature calls them, usually the file they came from.

    Examples
    --------
    >>> vectors = WordVectors(["cat", "dog"], np.array([[1.0, 0.0], [0.6, 0.8]]))
    >>> vectors.numbers(["dog", "axolotl"]).tolist()
    [1, -1]
    >>> vectors.rows(["dog", "axolotl"]).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """

    def __init__(self, words: Sequence[str], rows: Array, source: str = "memory") -> None:
        if rows.ndim != 2 or len(rows) != len(words):
            raise OptionError(
                f"word vectors of shape {rows.shape} for {len(words)} words: "
                "expected one row for each word"
            )
        self.source = source
        self._table = rows
        self._number: dict[str, int] = {}
        for number, word in enumerate(words):
            self._number.setdefault(word, number)

    @classmethod
    def from_gensim(cls, keyed: Any, source: str = "memory") -> WordVectors:
        """Return gensim's ``KeyedVectors`` as they are, without a copy."""
        return cls(keyed.index_to_key, keyed.vectors, source)

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self._number)

    def __str__(self) -> str:
        """Return the source, which is what a signature shows."""
        return self.source

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return int(self._table.shape[1])

    def numbers(self, words: Sequence[str]) -> IntColumn:
        """Return the row of each word, -1 for words without one."""
        return ints([self._number.get(word, -1) for word in words])

    def rows(self, words: Sequence[str]) -> FloatColumn:
        """Return the vectors of words in double precision, zero for words without one.

        Raises
        ------
        OptionError
            If a vector is not finite.
        """
        numbers = self.numbers(words)
        result = np.zeros((len(words), self.dimensions))
        known = numbers >= 0
        result[known] = self._table[numbers[known]]
        if not np.isfinite(result).all():
            bad = words[int(np.flatnonzero(~np.isfinite(result).all(axis=1))[0])]
            raise OptionError(f"{self.source}: the vector of {bad!r} is not finite")
        return result


def load_vectors(path: str | os.PathLike[str]) -> WordVectors:
    """Return the word vectors of a file; a file that was read before is not read again.

    - ``NAME.npy`` with ``NAME.words`` beside it, one word a line: memory-mapped, so it is
      there at once and shared by all processes. :func:`save_vectors` writes it.
    - word2vec's text format, with its header, or GloVe's, which has none; ``.gz`` too.
    - word2vec's binary format (needs gensim: the extra ``embeddings``).

    gensim's own files are pickles, which run what they hold; load them with gensim and pass
    ``WordVectors.from_gensim``.

    Raises
    ------
    FormatError
        If the file does not hold what it should.
    """
    name = os.fspath(path)
    try:
        stamp = Path(name).stat().st_mtime_ns
    except OSError as problem:
        raise OptionError(f"word vectors: {problem}") from None
    return _load(name, stamp)


@lru_cache(maxsize=4)
def _load(path: str, stamp: int) -> WordVectors:
    return WordVectors(*read_vectors(path), source=path)


def check_vectors(owner: str, vectors: object, gamma: float) -> None:
    """Refuse options that no similarity of vectors can have."""
    if not isinstance(vectors, str | WordVectors):
        raise OptionError(f"{owner}: vectors are a path or WordVectors, not {vectors!r}")
    if vectors == "":
        raise OptionError(f"{owner} needs word vectors: vectors=FILE")
    if isinstance(vectors, str) and (set(vectors) & set(",()") or vectors != vectors.strip()):
        raise OptionError(
            f"{owner}: a path in a signature has no comma, parenthesis or blank around it: "
            f"{vectors!r}"
        )
    if not 0 <= gamma <= 1:
        raise OptionError(f"gamma is in [0, 1], not {gamma}")


def load_given_vectors(vectors: str | WordVectors) -> WordVectors:
    """Return the vectors that an option names."""
    return load_vectors(vectors) if isinstance(vectors, str) else vectors


def prune_cosines(cosine: FloatColumn, gamma: float) -> FloatColumn:
    """Return cosines as similarities: 0 below gamma, which is not negative, 1 but for rounding."""
    similarity = np.where(cosine >= 1.0 - ROUNDING, 1.0, cosine)
    return np.where(similarity >= gamma, similarity, 0.0)


@dataclass(frozen=True, kw_only=True)
class EmbeddingSimilarity(Signature):
    """The cosine of word vectors, zero where it is negative or below ``gamma``.

    A word that has no vector is like itself (1) and like no other word (0).

    Parameters
    ----------
    vectors : str or WordVectors
        A file that :func:`load_vectors` reads, or the vectors themselves.
    gamma : float
        Similarities below it count as none, in [0, 1].

    References
    ----------
    Wang and Merlo. Modifications of machine translation evaluation metrics by using word
    embeddings. HyTra 2016.

    Examples
    --------
    >>> vectors = WordVectors(["cat", "dog", "car"], np.array([[1, 0], [0.6, 0.8], [-1, 0.0]]))
    >>> EmbeddingSimilarity(vectors=vectors, gamma=0.5).matrix(
    ...     ["cat", "axolotl"], ["cat", "dog", "car", "axolotl"])
    array([[1. , 0.6, 0. , 0. ],
           [0. , 0. , 0. , 1. ]])
    """

    name: ClassVar[str] = "embedding"
    vectors: str | WordVectors = field(default="")
    gamma: float = option(0.0)

    def __post_init__(self) -> None:
        """Refuse vectors that are none and a threshold that is no cosine."""
        check_vectors(self.name, self.vectors, self.gamma)

    def require(self) -> None:
        """Load the vectors, or raise what says why they cannot be."""
        load_given_vectors(self.vectors)

    def matrix(self, words: Sequence[str], others: Sequence[str]) -> FloatColumn:
        """Return the similarities of all pairs, by one matrix product."""
        vectors = load_given_vectors(self.vectors)
        cosine = _normalise(vectors.rows(words)) @ _normalise(vectors.rows(others)).T
        same = {word: number for number, word in enumerate(dict.fromkeys((*words, *others)))}
        left = np.array([same[word] for word in words], dtype=np.int64)
        right = np.array([same[word] for word in others], dtype=np.int64)
        return np.where(left[:, None] == right[None, :], 1.0, prune_cosines(cosine, self.gamma))


def _normalise(rows: FloatColumn) -> FloatColumn:
    norm = np.linalg.norm(rows, axis=1, keepdims=True)
    result: FloatColumn = np.divide(rows, norm, out=np.zeros_like(rows), where=norm > 0)
    return result


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
    with open_input(path) as (head, stream):
        if not _is_binary(head):
            return _read_text(path, stream)
    return _read_binary(path)


def save_vectors(path: str | os.PathLike[str], words: Sequence[str], rows: Array) -> None:
    """Write ``NAME.npy`` and ``NAME.words``, which open at once whatever their size."""
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
        (number, line.rstrip(" ")) for number, line in decode_lines(stream, path)
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
