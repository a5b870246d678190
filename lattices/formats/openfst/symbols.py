r"""Symbol tables in files: which number stands for which word.

One symbol a line with its number, ``word<TAB>7``, as ``fstsymbols --help`` describes and as
Kaldi's ``words.txt`` has it; OpenFst's binary tables are read too. The symbol numbered 0 is
epsilon, whatever it is called.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from lattices.arrays import IntColumn, ints
from lattices.errors import FormatError, OptionError, argument
from lattices.formats.openfst.codec import SymbolTable, decode_symbols, is_symbol_table
from lattices.formats.streams import PathLike, open_input, open_output
from lattices.spaces import Lattice
from lattices.vocabulary import EPSILON, EPSILON_NAME

#: labels are 32 bits wide in the files of OpenFst and Kaldi
_LARGEST = 2**31 - 1
BLANK_SET = frozenset(" \t\n\v\f\r")


def read_symbols(path: PathLike) -> SymbolTable:
    """Return the symbols of a table by number; read once for as long as the file is the same.

    Of two symbols with one number, and of two numbers for one symbol, the first counts.
    """
    name = os.fspath(path)
    try:
        found = os.stat(name)
        return _read_symbols(name, found.st_mtime_ns, found.st_size)
    except OSError as problem:
        # said of the option: it is no fault of the lattice that needs the table
        reason = problem.strerror or str(problem)
        raise OptionError(f"{argument('read.symbols', name)}: {reason}") from problem


@lru_cache(maxsize=8)
def _read_symbols(path: str, modified: int, size: int) -> SymbolTable:
    with open_input(path) as (_, stream):
        data = stream.read()
    if is_symbol_table(data):
        return decode_symbols(data, path)
    table: dict[int, str] = {}
    seen: set[bytes] = set()
    for line, text in enumerate(data.split(b"\n"), start=1):
        row = text.split()
        if not row:
            continue
        if len(row) != 2 or not row[1].isdigit():
            raise FormatError("expected a symbol and its number from 0", path, line)
        if row[0] not in seen:
            seen.add(row[0])
            try:
                table.setdefault(int(row[1]), row[0].decode("utf-8"))
            except ValueError as problem:
                raise FormatError(str(problem), path, line) from problem
    return table


def extend_symbols(path: PathLike, words: Iterable[str]) -> dict[str, int]:
    """Return the numbers of ``words`` in a table file, which is made, or extended, if need be.

    Numbers that are in the file stay, so that one table serves any number of vocabularies.
    """
    table = dict(read_symbols(path)) if os.path.exists(path) else {EPSILON: EPSILON_NAME}
    numbers = {symbol: number for number, symbol in table.items()}
    wanted = {}
    following = max(table, default=EPSILON) + 1
    size = len(table)
    for word in words:
        check_symbol(word, table.get(EPSILON, EPSILON_NAME))
        if word not in numbers:
            numbers[word] = following
            table[following] = word
            following += 1
        if numbers[word] > _LARGEST:
            raise FormatError(
                f"the word {word!r} would have the number {numbers[word]}, and labels of lattices "
                f"are at most {_LARGEST}",
                os.fspath(path),
            )
        wanted[word] = numbers[word]
    if len(table) > size or not os.path.exists(path):
        with open_output(path) as stream:
            stream.write("".join(f"{word}\t{key}\n" for key, word in table.items()).encode("utf-8"))
    return wanted


def table_labels(lattice: Lattice, path: PathLike) -> IntColumn:
    """Return the labels of a lattice as numbers of a table file, which is made or extended."""
    used, place = np.unique(lattice.label, return_inverse=True)
    words = {label: lattice.vocabulary.word(label) for label in used.tolist() if label != EPSILON}
    numbers = extend_symbols(path, words.values())
    keys = [numbers[words[label]] if label else EPSILON for label in used.tolist()]
    return ints(np.array(keys, np.int32)[place])


def explain_missing_table(
    what: str = "the labels are whole numbers, and there is no symbol table",
) -> FormatError:
    """Return the error of labels that are numbers where nothing says which words they are.

    To take digits for words, unasked, would make every one of them wrong without a word.
    """
    return FormatError(
        f"{what}: {argument('read.symbols', 'FILE')} gives one, "
        f"{argument('read.labels', 'numbers')} makes words of the digits"
    )


def check_symbol(word: str, epsilon: str = EPSILON_NAME) -> None:
    """Raise a FormatError if a text file of symbols cannot hold this word."""
    if not BLANK_SET.isdisjoint(word):
        hint = "; for characters, take spaces=false" if word == " " else ""
        raise FormatError(
            f"the word {word!r} has a blank in it, which separates columns here{hint}"
        )
    if word == epsilon:
        raise FormatError(f"the word {word!r} is the name of epsilon here")
