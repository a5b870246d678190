"""Segments by id: one of a large file, without reading the rest.

Arrow and Parquet files tell which row has an id by their column of ids. Other plain files need an
index, which is a file beside them: for each segment a hash of its id and the bytes where it stands.
It is written on request, as all segments are read for it, and holds for the file as it was then.
"""

from __future__ import annotations

import builtins
import mmap
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast
from zipfile import BadZipFile

import numpy as np

from lattices.arrays import Array
from lattices.errors import FormatError, OptionError
from lattices.formats.arrow.files import ColumnarFormat
from lattices.formats.base import Format, Record
from lattices.formats.ids import SeenIds, digest_ids
from lattices.formats.reading import (
    find_format,
    format_of,
    parse_range,
    parse_record,
    read_records,
)
from lattices.formats.streams import PathLike, is_compressed, is_url, make_hidden_path, open_output
from lattices.options import take_options
from lattices.spaces import Space
from lattices.vocabulary import Vocabulary

#: of indices
VERSION = 1
#: what an index has of each segment: a hash, and where it is
_COLUMNS = ("hashes", "starts", "sizes", "lines", "numbers")


class Place(NamedTuple):
    """Where a segment stands: its number in the file, and for other than tables its bytes."""

    number: int
    start: int = 0
    size: int = 0
    line: int = 0


class Segments(ABC, Mapping[str, Space]):
    """The segments of a file by their ids; each is read when it is asked for.

    Attributes
    ----------
    path : str
    format : Format
    """

    def __init__(self, path: str, format: Format, options: Mapping[str, Any]) -> None:
        self.path, self.format, self._options = path, format, dict(options)
        self._vocabulary = Vocabulary()

    def __getitem__(self, id: str) -> Space:
        """Read one segment."""
        places = self.find([id])
        if id not in places:
            raise KeyError(f"no segment {id!r} in {self.path}")
        return self.read(places[id])

    def __contains__(self, id: object) -> bool:
        """Tell whether there is a segment of that id."""
        return isinstance(id, str) and id in self.find([id])

    @abstractmethod
    def find(self, ids: Sequence[str]) -> dict[str, Place]:
        """Return where segments are, of those of the ids that there are."""

    @abstractmethod
    def read(self, place: Place) -> Space:
        """Read the segment at a place."""


class _Rows(Segments):
    """Rows of a table, found by its column of ids."""

    def _ids(self) -> Iterator[tuple[int, str]]:
        """Iterate over rows and ids; a row without one has its number for it."""
        for row, id in cast(ColumnarFormat, self.format).ids(self.path):
            yield row, id or str(row)

    def find(self, ids: Sequence[str]) -> dict[str, Place]:
        """Return the rows of ids."""
        wanted, found = set(ids), dict[str, Place]()
        for row, id in self._ids():
            if id in wanted:
                found.setdefault(id, Place(row))
        return found

    def read(self, place: Place) -> Space:
        """Read a row."""
        row = place.number
        (space,) = parse_range(self.format, self.path, row, row + 1, self._vocabulary)
        if isinstance(space, FormatError):
            raise space
        return space

    def __len__(self) -> int:
        """Return how many there are."""
        return cast(ColumnarFormat, self.format).count(self.path)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids."""
        for _, id in self._ids():
            yield id


class _Indexed(Segments):
    """Segments of other files, found by an index."""

    def __init__(
        self, path: str, format: Format, options: Mapping[str, Any], index: _Index
    ) -> None:
        super().__init__(path, format, options)
        self._index = index

    def find(self, ids: Sequence[str]) -> dict[str, Place]:
        """Return where ids are."""
        found = {}
        hashes = self._index["hashes"]
        for id in ids:
            wanted = digest_ids([id])
            first, last = (
                int(np.searchsorted(hashes, wanted, side)[0]) for side in ("left", "right")
            )
            for row in range(first, last):
                place = self._place(row)
                # two ids may have one hash
                if last == first + 1 or self.read(place).id == id:
                    found[id] = place
        return found

    def _place(self, row: int) -> Place:
        return Place(
            *(int(self._index[name][row]) for name in ("numbers", "starts", "sizes", "lines"))
        )

    def __getitem__(self, id: str) -> Space:
        """Read one segment."""
        space = super().__getitem__(id)
        if space.id != id:
            raise KeyError(f"no segment {id!r} in {self.path}")
        return space

    def read(self, place: Place) -> Space:
        """Read the bytes of a segment."""
        with builtins.open(self.path, "rb") as stream:
            stream.seek(place.start)
            payload = stream.read(place.size)
        record = Record(payload, self.path, place.line, place.number)
        return parse_record(self.format, record, self._vocabulary, **self._options)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._index["hashes"])

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids, in the order of the file: all of it is read."""
        for row in np.argsort(self._index["numbers"]).tolist():
            yield self.read(self._place(row)).id


_Index = Mapping[str, Array]


def open(
    path: PathLike, format: str | Format | None = None, *, index: bool = False, **options: Any
) -> Segments:
    """Open a file to read some of its segments, by their ids.

    Parameters
    ----------
    path
        A plain file (not compressed, no URL).
    format
        Its format, by default found by its content.
    index : bool
        Whether to write an index beside it, ``.NAME.index``, which later calls use: for formats
        other than Arrow and Parquet. All of the file is read for it, once.
    **options
        Of the format.

    Returns
    -------
    mapping of str to Space
        In the order of the file. A segment takes the time of reading it, and of a look at the ids:
        in Arrow and Parquet files at their column, else into the index (40 bytes a segment).

    Raises
    ------
    OptionError
        If there is no index where one is needed, or an older one than the file.
    FormatError
        If the file is damaged.
    KeyError
        For an id that is not there, when it is asked for.

    Examples
    --------
    >>> import lattices, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "two.jsonl")
    >>> lines = ['{"id": "%s", "finals": {"1": 0}, "arcs": [[0, 1, "hi"]]}\\n' % id for id in "ab"]
    >>> _ = file.write_text("".join(lines))
    >>> lattices.open(file, index=True)["b"]
    <Lattice 'b' of 2 states, 1 arcs>
    >>> list(lattices.open(file))
    ['a', 'b']
    """
    name = os.fspath(path)
    if is_url(name) or not os.path.isfile(name):
        os.stat(name)
        raise OptionError(f"{name}: segments are read by id from plain files")
    found = format_of(name, None if format is None else find_format(format))
    options = take_options(found.options, options, f"format {found.name}")
    if is_compressed(name):
        raise OptionError(
            f"{name} is compressed, and can only be read from its beginning; as Arrow or Parquet "
            "it could be read by id"
        )
    if isinstance(found, ColumnarFormat):
        found.count(name)
        return _Rows(name, found, options)
    if index:
        _write_index(name, found, options)
    return _Indexed(name, found, options, _read_index(name, found))


def _index_path(path: str) -> str:
    return make_hidden_path(os.path.realpath(path), "index")


def _stamp(path: str, format: Format) -> Array:
    found = os.stat(path)
    numbers = [VERSION, found.st_size, found.st_mtime_ns]
    return np.array([*map(str, numbers), format.name])


def _write_index(path: str, format: Format, options: Mapping[str, Any]) -> None:
    stamp, seen, vocabulary = _stamp(path, format), SeenIds(), Vocabulary()
    rows: list[tuple[int, ...]] = []
    ids: list[str] = []
    problems: list[FormatError] = []
    for start, record in _locate_records(path, format):
        try:
            id = parse_record(format, record, vocabulary, **options).id
            if problem := seen.find_objection(id, path, record.line, record.number):
                raise record.error(f"segment {id!r}: {problem}")
        except FormatError as problem:
            problems.append(problem)
            continue
        ids.append(id)
        rows.append((start, len(record.payload), record.line, record.number))
    if problems:
        warnings.warn(
            f"{len(problems)} segments are not in the index; the first: {problems[0]}", stacklevel=3
        )
    hashes = np.array([digest_ids([id])[0] for id in ids], np.uint64)
    order = np.argsort(hashes, kind="stable")
    columns = np.array(rows, np.int64).reshape(len(rows), 4)[order].T
    arrays = dict(zip(_COLUMNS, [hashes[order], *columns], strict=True))
    with open_output(_index_path(path)) as stream:
        np.savez(stream, stamp=stamp, **arrays)


def _locate_records(path: str, format: Format) -> Iterator[tuple[int, Record]]:
    """Iterate over the records of a plain file, with the byte where each begins."""
    at = 0
    with (
        builtins.open(path, "rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as all,
    ):
        for _, record in read_records(path, format):
            start = all.find(record.payload, at)
            if start < 0:
                raise OptionError(f"{path}: segments of format {format.name} cannot be indexed")
            at = start + len(record.payload)
            yield start, record


def _read_index(path: str, format: Format) -> _Index:
    try:
        with (
            builtins.open(_index_path(path), "rb") as stream,
            np.load(stream, allow_pickle=False) as file,
        ):
            found = {name: file[name] for name in ("stamp", *_COLUMNS)}
    except FileNotFoundError:
        raise OptionError(
            f"{path} has no index: lattices.open(path, index=True), or 'fstmetrics info --index', "
            "writes one; Arrow and Parquet files need none"
        ) from None
    except (ValueError, KeyError, OSError, EOFError, BadZipFile) as problem:
        raise FormatError(f"the index is damaged: {problem}", _index_path(path)) from problem
    if found.pop("stamp").tolist() != _stamp(path, format).tolist():
        raise OptionError(
            f"{path} is not the file any more that its index was written for; write it again"
        )
    return found


def find_all(files: Iterable[Segments], ids: Sequence[str]) -> list[tuple[Segments, list[Place]]]:
    """Return the places of ids in several files, each in the first that has it.

    Raises
    ------
    OptionError
        If some are in none of them.
    """
    left = list(dict.fromkeys(ids))
    found = []
    for file in files:
        places = file.find(left)
        left = [id for id in left if id not in places]
        found.append((file, sorted(places.values())))
    if left:
        shown = ", ".join(map(repr, left[:3])) + (" ..." if left[3:] else "")
        raise OptionError(f"{len(left)} of {len(ids)} ids are in none of the files: {shown}")
    return found
