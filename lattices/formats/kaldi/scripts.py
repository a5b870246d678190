r"""Kaldi's script files (``scp:``): where in which archive each lattice stands.

A line is a key, a blank and a place::

    utt-1 lattices/lat.1.ark:6         the lattice behind the first six bytes of the archive
    utt-2 lattices/utt-2.lat           a file that is one lattice, without a key; may be compressed

The key is the id of the segment, whatever the archive calls it. The byte at the offset tells
the archives apart: 214 begins a binary FST (:mod:`lattices.formats.kaldi.binary`), a blank
or a newline a lattice in text (:mod:`lattices.formats.kaldi.text`). A key and a blank must stand
before it, so that an offset into the middle of a lattice is found out.

A relative place is looked up from the current directory, as Kaldi does; if nothing is there,
from the directory of the script file. Only regular files are read. Pipes (``gunzip -c f|``),
standard input and ranges (``f:6[0:3]``) are refused: nothing is ever run. What is wrong with
one line, or with what it points to, is the error of that line alone.

``ark=FILE`` is written beside the script file, binary or, with ``binary=false``, in text; the
script file names it as it was given.
"""

from __future__ import annotations

import io
import mmap
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from lattices.errors import FormatError, OptionError, SpaceError, argument
from lattices.formats.base import (
    AssembledFormat,
    Format,
    Record,
    Unsupported,
    require_kind,
    text_lines,
)
from lattices.formats.compression import compression_of, find_compression
from lattices.formats.fields import TABLE_OPTION
from lattices.formats.kaldi.binary import FORMAT as BINARY
from lattices.formats.kaldi.binary import read_fst
from lattices.formats.kaldi.costs import READ_OPTIONS, choose_key
from lattices.formats.kaldi.text import EMPTY_LINE
from lattices.formats.kaldi.text import FORMAT as TEXT
from lattices.formats.openfst.codec import ByteReader
from lattices.formats.streams import STANDARD, open_input, open_output
from lattices.options import Option
from lattices.spaces import Lattice, Space
from lattices.vocabulary import Vocabulary

_BLANKS = b" \t\n\v\f\r"
_FST_BYTE = 214
_LONGEST_KEY = 4096
_WITH_OFFSET = re.compile(r"(.+):([0-9]{1,18})")
_ENTRY = re.compile(rb"[^ \t\v\f\r]+[ \t]+[^ \t\v\f\r]+:[0-9]+[ \t\r]*")


@dataclass(frozen=True)
class ScpRecord(Record):
    """One line of a script file, and the lattice it points to, as a record of an archive."""

    binary: bool = False
    place: str = ""
    problem: str = ""


class KaldiScp(AssembledFormat):
    """See the module."""

    name = "kaldi-scp"
    description = "Kaldi script file: keys, and places in lattice archives"
    kind = "lattice"
    suffixes = (".scp",)
    separable = False  # each would write the archive anew
    options: Mapping[str, str] = READ_OPTIONS
    write_options: Mapping[str, str] = {
        "ark": "the archive to write, which the script file points to; required",
        "binary": Option("whether the archive is, or in text", bool, True),
        **TABLE_OPTION,
    }

    def sniff(self, head: bytes) -> bool:
        """Tell whether each line is a key and a file with an offset."""
        lines = head.split(b"\n")
        whole = [line for line in (lines[:-1] or lines) if line.strip()]
        return bool(whole) and all(map(_ENTRY.fullmatch, whole))

    def records(self, stream: BinaryIO, path: str) -> Iterator[ScpRecord]:
        """Look up each line; the archive of the last one stays open."""
        archives = _Archives(os.path.dirname(path))
        number = 0
        for line, text in text_lines(stream):
            if not text.strip():
                continue
            place, found = "", _FoundArchive(b"")
            problem = ""
            try:
                key, place = _entry(text)
                found = archives.lattice(key, place)
            except FormatError as caught:
                problem = str(caught)
            yield ScpRecord(found.payload, path, line, number, found.binary, place, problem)
            number += 1

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Lattice:
        """Return the lattice, read as the record of an archive that it is."""
        if not isinstance(record, ScpRecord):
            raise TypeError("a record of a script file is needed, and made by records()")
        if record.problem:
            raise record.error(record.problem)
        inner = Record(record.payload, record.place, 0 if record.binary else 1, record.number)
        try:
            return (BINARY if record.binary else TEXT).parse(inner, vocabulary, **options)
        except SpaceError as problem:
            raise record.error(f"{record.place}: {problem}") from problem
        except FormatError as problem:
            if problem.path != record.place:
                raise
            lines = f", line {problem.line}" if problem.line else ""
            raise record.error(f"{record.place}{lines}: {problem.problem}") from problem

    def encode(self, space: Space, losses: Unsupported, **options: Any) -> tuple[str, bytes]:
        """Return the id, and what stands behind the key in the archive."""
        rest = {"symbols": options["symbols"]} if "symbols" in options else {}
        (lattice,) = require_kind(Lattice, [space], losses)
        _archive_format(options).write(whole := io.BytesIO(), [lattice], losses, **rest)
        return lattice.id, whole.getvalue()[len(f"{choose_key(lattice, 0)} ".encode()) :]

    def assemble(
        self, stream: BinaryIO, parts: Iterable[tuple[str, bytes]], **options: Any
    ) -> None:
        """Write the archive and, for each lattice, a line with the offset behind its key."""
        archive = _archive_name(options)
        with open_output(archive) as ark:
            for number, (name, data) in enumerate(parts):
                key = name or str(number)
                ark.write(f"{key} ".encode())
                stream.write(f"{key} {archive}:{ark.tell()}\n".encode())
                ark.write(data)


FORMAT = KaldiScp()


@dataclass(frozen=True)
class _FoundArchive:
    payload: bytes
    binary: bool = False


class _Archives:
    """Archives that are read at offsets; the last one stays mapped, for the next is mostly it."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._name = ""
        # mapped memory is read like bytes
        self._data = b""

    def lattice(self, key: str, place: str) -> _FoundArchive:
        """Return the lattice at a place, or raise a FormatError that says why there is none."""
        name, offset = _file_and_offset(place)
        try:
            if name != self._name:
                self._data, self._name = _map(self._resolve(name)), name
            data = self._data
            if (compression := find_compression(data[:8])) is not None:
                if offset is not None:
                    raise FormatError(
                        f"a {compression.name} file cannot be read from an offset on", place
                    )
                with open_input(self._resolve(name)) as (_, stream):
                    data = stream.read()
        except OSError as problem:
            raise FormatError(problem.strerror or str(problem), place) from problem
        return _lattice_at(data, offset, key, place)

    def _resolve(self, name: str) -> str:
        beside = os.path.join(self._folder, name)
        return name if os.path.exists(name) or not os.path.exists(beside) else beside


def _map(path: str) -> bytes:
    """Return the content of a regular file, not read before it is looked at."""
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise FormatError("not a regular file", path)
    with open(path, "rb") as file:
        if not found.st_size:
            return b""
        return cast(bytes, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _lattice_at(data: bytes, offset: int | None, key: str, place: str) -> _FoundArchive:
    start = offset or 0
    if start >= len(data):
        raise FormatError(f"the file ends before, after {len(data)} bytes", place)
    first = data[start]
    if first != _FST_BYTE and first not in _BLANKS:
        raise FormatError(
            f"byte {first}, expected {_FST_BYTE} of a binary lattice, or a newline", place
        )
    if start:
        # the key in the archive may be another one: script files are copied with new keys
        before = data[max(0, start - _LONGEST_KEY) : start]
        line = before.rpartition(b"\n")[2]
        alone = first == _FST_BYTE or len(line.split()) == 1
        if not alone or before[-1] not in b" \t" or before[-2:-1].strip() == b"":
            raise FormatError("no key and blank stand before the offset", place)
    if first == _FST_BYTE:
        reader = ByteReader(data, place)
        reader.place = start
        return _FoundArchive(
            f"{key} ".encode() + data[start : read_fst(reader, key).end], binary=True
        )
    end = EMPTY_LINE.search(data, start)
    stop = len(data) if end is None else end.end()
    return _FoundArchive(f"{key} ".encode() + data[start:stop])


def _entry(text: bytes) -> tuple[str, str]:
    """Return the key and the place of a line."""
    parts = text.strip(_BLANKS).split(None, 1)
    if len(parts) != 2:
        raise FormatError("1 column, expected a key and a file")
    try:
        return parts[0].decode("utf-8"), parts[1].decode("utf-8")
    except UnicodeDecodeError as problem:
        raise FormatError(f"invalid UTF-8: {problem.reason}") from problem


def _file_and_offset(place: str) -> tuple[str, int | None]:
    """Return both parts of a place; what Kaldi would run, or cut a part out of, is refused."""
    if place.startswith("|") or place.endswith("|"):
        raise FormatError(f"{place!r} is a pipe, and commands are not run; expected a file")
    if place == STANDARD:
        raise FormatError("'-' is standard input, which has no segments here; expected a file")
    if place.endswith("]"):
        raise FormatError(f"{place!r} has a range, which lattices have not")
    if "\0" in place:
        raise FormatError(f"{place!r} is no name of a file")
    match = _WITH_OFFSET.fullmatch(place)
    return (place, None) if match is None else (match[1], int(match[2]))


def _archive_format(options: Mapping[str, Any]) -> Format:
    return BINARY if options.get("binary", True) else TEXT


def _archive_name(options: Mapping[str, Any]) -> str:
    """Return the archive to write, one that a script file can name and offsets can point into."""
    if "ark" not in options:
        needed = argument("write.ark", "FILE")
        raise OptionError(f"kaldi-scp is written with {needed}, the archive it points to")
    name: str = os.fspath(options["ark"])
    place = f"{name}:0"
    try:
        good = _entry(f"key {place}".encode()) == ("key", place)
        good = good and _file_and_offset(place) == (name, 0) and "\n" not in name
    except (FormatError, UnicodeEncodeError):
        good = False
    if not good or name == STANDARD:
        raise OptionError(f"ark={name!r} cannot be named in a script file")
    if (compression := compression_of(name)) is not None:
        raise OptionError(
            f"ark={name!r}: a {compression.name} file cannot be read from an offset on"
        )
    if os.path.exists(name) and not os.path.isfile(name):
        raise OptionError(f"ark={name!r} is not a regular file")
    return name
