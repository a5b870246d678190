"""What must hold for any bytes: nothing but FormatError, and nothing but good spaces.

A target is a format, or ``references`` or ``symbols``, the other files that are read.
"""

from __future__ import annotations

import io
import math
import os
import shutil
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lattices.algorithms import path_count
from lattices.errors import FormatError, SpaceError
from lattices.formats import FORMATS, parse_range, parse_record
from lattices.formats.base import Format, IndexedFormat, Unsupported
from lattices.formats.openfst.symbols import read_symbols
from lattices.formats.references import LAYOUTS, References, read_references
from lattices.formats.streams import HEAD_SIZE
from lattices.spaces import Forest, Lattice, NBest, Space
from lattices.testing import sentences
from lattices.vocabulary import Vocabulary
from tests.lattices.algorithms.comparing import best_score, parts

SYMBOLS = "".join(
    f"{word}\t{number}\n" for number, word in enumerate(["<eps>", "the", "a", "cat", "日", "7"])
)
#: stands for a file with SYMBOLS in it
SYMBOL_FILE = "SYMBOLS"
#: the ids that references are looked up by
IDS = ("a", "utt-1", "0")
#: more paths than this are counted, but not compared one by one
FEW = 200
#: errors of the parser and not of the file, which `parse_record` would hide
BUGS = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError)

_KALDI = (
    {},
    {"labels": "numbers"},
    {"symbols": SYMBOL_FILE, "acoustic_scale": "0.1", "frame_shift": "0.01"},
)
_OPTIONS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "htk": ({}, {"tags": "keep", "quotes": "none"}, {"score": "posterior"}, {"score": "header"}),
    "k2": ({}, {"labels": "numbers"}, {"side": "labels"}, {"symbols": SYMBOL_FILE}),
    "kaldi": _KALDI,
    "kaldi-binary": _KALDI,
    "kaldi-scp": ({}, {"labels": "numbers"}, {"symbols": SYMBOL_FILE}),
    "mesh": ({}, {"zeros": "error"}),
    "moses-graph": ({}, {"source_factors": "2"}),
    "openfst": ({}, {"labels": "numbers", "side": "input"}, {"symbols": SYMBOL_FILE}),
    "openfst-text": (
        {},
        {"labels": "words", "acceptor": "yes"},
        {"labels": "numbers", "side": "input"},
        {"symbols": SYMBOL_FILE},
    ),
    "plf": ({}, {"scores": "probability"}),
    "sausages": ({}, {"labels": "numbers"}, {"zeros": "error"}, {"symbols": SYMBOL_FILE}),
    "sphinx": ({"logbase": "1.0001"}, {"variants": "keep", "fillers": "keep"}),
    "srilm-nbest": ({}, {"tags": "keep", "lm_scale": "1", "word_weight": "-0.5"}),
}
#: options that say what a file looks like, which is not what ours look like
_OF_THE_FILE = ("acceptor", "labels", "quotes", "scores", "side", "symbols")
_WRITE_OPTIONS: Mapping[str, Mapping[str, Any]] = {"openfst": {"arc_type": "log64"}}


class Finding(AssertionError):
    """Something that must not be."""


def target_names() -> tuple[str, ...]:
    """Return what can be fuzzed."""
    return (*FORMATS.names(), "references", "symbols")


class Target:
    """One parser, to be called with bytes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        self._file = self._folder / "data"
        symbols = self._folder / "words.txt"
        symbols.write_text(SYMBOLS, encoding="utf-8")
        self._options = [
            {key: symbols if value == SYMBOL_FILE else value for key, value in options.items()}
            for options in _OPTIONS.get(name, ({},))
        ]

    def close(self) -> None:
        """Remove the files that were needed."""
        shutil.rmtree(self._folder)

    def __call__(self, data: bytes) -> int:
        """Raise Finding, or what the parser should not; return how many spaces the bytes hold."""
        if self.name == "references":
            return self._references(data)
        if self.name == "symbols":
            return self._symbols(data)
        fmt = FORMATS.get(self.name)
        fmt.sniff(data[:HEAD_SIZE])
        found = sum(self._records(fmt, data, options) for options in self._options)
        if isinstance(fmt, IndexedFormat):
            self._by_position(fmt, data)
        return found

    def _records(self, fmt: Format, data: bytes, options: Mapping[str, Any]) -> int:
        found = 0
        for space in _parsed(fmt, data, os.fspath(self._file), options):
            found += 1
            _check_space(space)
            _check_kept_by_jsonl(space)
            if fmt.writable and fmt.name != "kaldi-scp":
                self._check_written(fmt, space, options)
        return found

    def _by_position(self, fmt: IndexedFormat, data: bytes) -> None:
        self._file.unlink(missing_ok=True)
        self._file.write_bytes(data)
        try:
            spaces = parse_range(fmt, self._file, 0, fmt.count(os.fspath(self._file)))
        except FormatError:
            return
        for space in spaces:
            if not isinstance(space, FormatError):
                _check_space(space)

    def _check_written(self, fmt: Format, space: Space, options: Mapping[str, Any]) -> None:
        """Check that what the format can hold comes back."""
        buffer = io.BytesIO()
        try:
            fmt.write(buffer, [space], Unsupported(fmt.name), **_WRITE_OPTIONS.get(fmt.name, {}))
        except (FormatError, SpaceError):
            return
        given = {key: value for key, value in options.items() if key not in _OF_THE_FILE}
        if "labels" in fmt.options:
            # whole numbers alone may be those of a table
            given["labels"] = "words"
        again = list(_parsed(fmt, buffer.getvalue(), "again", given, strict=True))
        if len(again) != 1:
            raise Finding(f"{len(again)} segments of one that was written: {buffer.getvalue()!r}")
        _check_same(space, again[0], buffer.getvalue())

    def _references(self, data: bytes) -> int:
        self._file.write_bytes(data)
        found = 0
        for layout in LAYOUTS:
            for template in (None, "{file}-{begin_cs:06}"):
                if template and layout not in ("auto", "stm"):
                    continue
                try:
                    references = read_references([self._file], format=layout, id_template=template)
                    found += self._looked_up(references)
                except FormatError as problem:
                    _check_message(problem)
        return found

    def _looked_up(self, references: References) -> int:
        found = 0
        for position, name in enumerate(IDS):
            try:
                for each in references.get(name, position):
                    if isinstance(each, Lattice):
                        _check_space(each)
                found += 1
            except FormatError as problem:
                _check_message(problem)
        return found

    def _symbols(self, data: bytes) -> int:
        # a file of the same name, size and time would come from the cache
        self._file.unlink(missing_ok=True)
        self._file = self._folder / f"symbols-{int(self._file.name.partition('-')[2] or 0) + 1}"
        self._file.write_bytes(data)
        try:
            table = read_symbols(self._file)
        except FormatError as problem:
            _check_message(problem)
            return 0
        if not all(isinstance(key, int) and isinstance(word, str) for key, word in table.items()):
            raise Finding(f"a table {table}")
        return len(table)


def _parsed(
    fmt: Format, data: bytes, path: str, options: Mapping[str, Any], strict: bool = False
) -> list[Space]:
    """Return the segments that parse; ``strict`` says that all have to."""
    spaces: list[Space] = []
    try:
        for number, record in enumerate(fmt.records(io.BytesIO(data), path)):
            if record.number != number:
                raise Finding(f"record {number} says {record.number}")
            try:
                spaces.append(parse_record(fmt, record, Vocabulary(), **options))
            except FormatError as problem:
                if strict:
                    raise Finding(f"{data!r} was written, but {problem}") from problem
                _check_message(problem)
                if not problem.path:
                    raise Finding(f"no file in {str(problem)!r}") from problem
    except FormatError as problem:
        if strict:
            raise Finding(f"{data!r} was written, but {problem}") from problem
        _check_message(problem)
    return spaces


def _check_message(problem: FormatError) -> None:
    """Check that an error was made by somebody who knew what is wrong."""
    cause = problem.__cause__
    raised_in = traceback.extract_tb(problem.__traceback__)[-1].name
    if isinstance(cause, BUGS) and raised_in in ("parse_record", "error"):
        raise Finding(f"{cause!r} became {str(problem)!r}") from problem
    if not problem.problem.strip() or problem.line < 0:
        raise Finding(f"an error that says nothing: {str(problem)!r}") from problem
    str(problem).encode("utf-8")


def _check_space(space: Space) -> None:
    """Check what the classes promise, for what was made without their checks too."""
    again = _rebuilt(space)
    for name, column in vars(again).items():
        if isinstance(column, np.ndarray):
            came = getattr(space, name)
            if came.dtype != column.dtype or not np.array_equal(came, column):
                raise Finding(f"{name} is {came}, expected {column}")
    if isinstance(space, Lattice):
        if not (space.src < space.dst).all():
            raise Finding("states that are in no topological order")
        if space.times is not None and not np.isfinite(space.times).all():
            raise Finding(f"times {space.times}")
    if any("\n" in each for each in (space.id,)) or not space.id:
        raise Finding(f"the id {space.id!r}")


def _rebuilt(space: Space) -> Space:
    made = ("in_arc", "in_offset", "out_offset")
    held = space.__getstate__().items()
    return type(space)(**{key: value for key, value in held if key not in made})


def _check_kept_by_jsonl(space: Space) -> None:
    """Check that our own format, which holds everything, holds this."""
    fmt = FORMATS.get("jsonl")
    buffer = io.BytesIO()
    fmt.write(buffer, [space], Unsupported("jsonl"))
    (again,) = _parsed(fmt, buffer.getvalue(), "jsonl", {}, strict=True)
    if parts(again) != parts(space):
        raise Finding(f"jsonl has {parts(again)}, expected {parts(space)}")


def _check_same(came: Space, again: Space, data: bytes) -> None:
    """Check that two spaces have the same sentences with the same scores."""
    size = float(np.abs(came.score).max(initial=1.0)) * (len(came.score) + 1)
    if isinstance(came, Lattice) and isinstance(again, Lattice):
        paths = _path_count(came)
        if paths != _path_count(again):
            raise Finding(f"{paths} paths, {_path_count(again)} in {data!r}")
        pairs = [(best_score(came), best_score(again))]
        if 0 < paths <= FEW:
            one, other = sentences(came), sentences(again)
            if one.keys() != other.keys():
                raise Finding(f"sentences {one}, {other} in {data!r}")
            pairs += [pair for key in one for pair in zip(one[key], other[key], strict=True)]
    elif isinstance(came, Forest) and isinstance(again, Forest):
        counts = path_count(came), path_count(again)
        if counts[0] != counts[1]:
            raise Finding(f"{counts} derivations in {data!r}")
        pairs = []
        if counts[0] <= FEW:
            one, other = sentences(came), sentences(again)
            if one.keys() != other.keys():
                raise Finding(f"sentences {one}, {other} in {data!r}")
            pairs = [pair for key in one for pair in zip(one[key], other[key], strict=True)]
    elif isinstance(came, NBest) and isinstance(again, NBest):
        texts, others = [[each.tokens for each in space] for space in (came, again)]
        if texts != others:
            raise Finding(f"{texts}, but {others} in {data!r}")
        pairs = list(zip(came.score.tolist(), again.score.tolist(), strict=True))
    else:
        raise Finding(f"{came}, but {again} in {data!r}")
    for one, other in pairs:
        if one != other and not math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-6 * size):
            raise Finding(f"score {one}, {other} in {data!r}")


def _path_count(lattice: Lattice) -> int:
    """Return the number of complete paths, by a loop that needs no compiler."""
    ways = (lattice.final > -np.inf).astype(int).tolist()
    for src, dst in zip(lattice.src[::-1].tolist(), lattice.dst[::-1].tolist(), strict=True):
        ways[src] += ways[dst]
    return int(ways[lattice.start])
