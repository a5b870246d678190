"""Fields of text files in bulk: columns of numbers, and labels by number or by name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lattices.arrays import FloatColumn, floats
from lattices.errors import FormatError, argument
from lattices.formats.openfst.codec import SymbolTable
from lattices.formats.openfst.symbols import (
    BLANK_SET,
    check_symbol,
    explain_missing_table,
    extend_symbols,
    read_symbols,
)
from lattices.options import Option
from lattices.spaces import Lattice
from lattices.vocabulary import EPSILON, EPSILON_NAME

_MOST_DIGITS = 18

#: the options of formats whose labels are numbers of a table, or words: see :func:`label_words`
LABEL_OPTIONS: Mapping[str, str] = {
    "labels": Option("what labels are that are whole numbers", ("auto", "words", "numbers")),
    "symbols": "a file with the symbol table, such as Kaldi's words.txt",
}

SIDE_OPTION: Mapping[str, str] = {
    "side": Option("which labels of a transducer are the words", ("output", "input"))
}
#: the symbol table of writers
TABLE_OPTION: Mapping[str, str] = {
    "symbols": "a file with the symbol table, made or extended: labels become its numbers"
}


def number_column(texts: Sequence[bytes]) -> tuple[FloatColumn, int]:
    """Return the numbers, infinite ones too, and the index of the first that is none, or -1."""
    try:
        values = np.array(list(map(float, texts)), np.float64)
    except ValueError:
        values = np.array(list(map(_number, texts)), np.float64)
    bad = np.isnan(values)
    # `float` also reads digits grouped by underscores, other programs do not
    if b"_" in b"".join(texts):
        bad |= np.array([b"_" in text for text in texts])
    return floats(values), int(np.flatnonzero(bad)[0]) if bad.any() else -1


def finite_number(text: str | bytes) -> float | None:
    """Return a finite number, or None for what C would not read as one.

    Examples
    --------
    >>> finite_number("-1e3"), finite_number("1_000"), finite_number("٣"), finite_number("inf")
    (-1000.0, None, None, None)
    """
    if isinstance(text, bytes):
        text = text.decode("ascii", "replace")
    try:
        value = float(text)
    except ValueError:
        return None
    # Python also reads grouped digits, and those of other scripts
    return value if math.isfinite(value) and text.isascii() and "_" not in text else None


def is_number(text: bytes) -> bool:
    """Tell whether C would read a number, be it infinite or none (``nan``)."""
    try:
        float(text)
    except ValueError:
        return False
    # `float` also reads digits grouped by underscores, other programs do not
    return b"_" not in text


def is_whole(text: str | bytes, digits: int = 18) -> bool:
    """Tell whether a text is a whole number from 0 of no more digits than columns can hold.

    Examples
    --------
    >>> is_whole("12"), is_whole(b"-1"), is_whole("1234", 3), is_whole("")
    (True, False, False, False)
    """
    return text.isdigit() and len(text) <= digits and text.isascii()


def _number(text: bytes) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def label_words(
    labels: Iterable[bytes], options: Mapping[str, Any], *, strict: bool = False
) -> dict[bytes, str]:
    """Return the word of every label, without those that the table does not have.

    Whole numbers are looked up, or spelled with ``labels=numbers``; 0 is epsilon.
    """
    kind = options.get("labels", "auto")
    symbols = read_symbols(options["symbols"]) if "symbols" in options else None
    distinct = dict.fromkeys(labels)
    odd = next((label for label in distinct if not label.isdigit()), None)
    if odd is None and kind == "auto" and symbols is None and any(map(_value, distinct)):
        raise explain_missing_table()
    if kind == "numbers" or (kind == "auto" and odd is None):
        if odd is not None:
            raise FormatError(f"the label {odd.decode()!r:.40} is no number from 0")
        words = {label: _sort_by_number(_value(label), symbols) for label in distinct}
        return {label: word for label, word in words.items() if word is not None}
    epsilon = EPSILON_NAME if symbols is None else symbols.get(EPSILON, EPSILON_NAME)
    silent = {epsilon} if strict else {epsilon, EPSILON_NAME}
    names = {label: label.decode("utf-8") for label in distinct}
    if strict and symbols is not None:
        known = {epsilon, *symbols.values()}
        names = {label: name for label, name in names.items() if name in known}
    return {label: "" if name in silent else name for label, name in names.items()}


def _value(label: bytes) -> bytes:
    """Return the digits of a number without those that count nothing; none are 0."""
    return label.lstrip(b"0")


def _sort_by_number(digits: bytes, symbols: SymbolTable | None) -> str | None:
    if not digits:
        return ""
    if symbols is None:
        return digits.decode("ascii")
    return symbols.get(int(digits)) if len(digits) <= _MOST_DIGITS else None


def label_names(
    lattice: Lattice, table: str | None, reserved: tuple[str, ...] = (), remedy: str = ""
) -> dict[int, str]:
    """Return how each label is written: as itself, or by its number in a table file.

    ``remedy`` says how to have a table, where an option of that name alone does not.
    """
    used = np.unique(lattice.label).tolist()
    words = {label: lattice.vocabulary.word(label) for label in used if label != EPSILON}
    if table is not None:
        numbers = extend_symbols(table, words.values())
        return {EPSILON: str(EPSILON)} | {key: str(numbers[word]) for key, word in words.items()}
    # one look at all of them says that nothing is odd, which is nearly always so
    odd = not BLANK_SET.isdisjoint("".join(words.values()))
    suspects = {EPSILON_NAME, *reserved}.intersection(words.values())
    for word in words.values() if odd or suspects else ():
        check_symbol(word)
        if word in reserved:
            raise FormatError(
                f"the word {word!r} means something else here; "
                f"{argument('write.symbols', 'FILE')} keeps it"
            )
    names = {label: EPSILON_NAME if label == EPSILON else words[label] for label in used}
    digits = all(name.isascii() and name.isdigit() for name in names.values())
    if digits and any(name.startswith("0") for name in names.values()):
        raise FormatError(
            f"the words of segment {lattice.id!r} are whole numbers, and 0 or leading zeros "
            f"would be read as others; {remedy or argument('write.symbols', 'FILE')} keeps them"
        )
    return names | {EPSILON: EPSILON_NAME}
