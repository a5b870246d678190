"""The input of a job, cut into units that any process can parse.

Cutting needs no understanding of the content: whatever a worker can read for itself, this
process only finds the place of.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from io import FileIO
from itertools import islice

from decoding.corpus import batches as sizes
from decoding.corpus.batches import Pace
from decoding.corpus.outcomes import Failure
from decoding.corpus.units import Cut, Line, Range, Unit, WholeFile
from lattices.errors import FormatError
from lattices.formats import FORMATS, format_of, read_records
from lattices.formats.base import BYTE_ORDER_MARK, Format, IndexedFormat
from lattices.formats.streams import PathLike, files_of, is_gzip

#: how much of a file is looked through for line ends at a time
LINE_BUFFER = 1 << 20
#: how a line without content may begin
_BLANKS = frozenset(b" \t\n\r\v\f" + BYTE_ORDER_MARK[:1])


class Inputs:
    """The files of a job.

    Parameters
    ----------
    paths
        Files, directories, or ``-`` for standard input.
    format
        The name of the format; by default it is found for each file.
    shared_files : bool
        Whether those who parse can open the files as this process does. If not, the content
        is sent to them.

    Attributes
    ----------
    files : list of str
        All the files, in order.

    Raises
    ------
    OSError, FormatError
        At once, for a path that does not exist or a directory without files.
    """

    def __init__(
        self, paths: Iterable[PathLike], format: str | None = None, shared_files: bool = True
    ) -> None:
        self._format = None if format is None else FORMATS.get(format)
        self.shared_files = shared_files
        self.files = [file for path in paths for file in files_of(path)]

    @property
    def bytes(self) -> int | None:
        """The size of all files; None where a pipe is among them."""
        if not all(map(os.path.isfile, self.files)):
            return None
        return sum(map(os.path.getsize, self.files))

    def units(
        self,
        on_read: Callable[[int], None] | None = None,
        pace: Pace | None = None,
        elsewhere: bool = False,
    ) -> Iterator[Unit]:
        """Iterate over the units, numbered; a bad file stands where its segments would.

        Parameters
        ----------
        on_read
            Called with the number of bytes of the files that were dealt with since the last
            call.
        pace : Pace, optional
            How many segments of a file that is read by position are one unit.
        elsewhere : bool
            Whether they are parsed by other processes, which can read lines for themselves.
        """
        pace = pace or Pace()
        position = 0
        for file in self.files:
            damages: list[FormatError] = []
            for unit in self._file_units(file, position, damages, on_read, pace, elsewhere):
                yield from _drained(damages)
                yield unit
                position += unit.count
            yield from _drained(damages)

    def _file_units(
        self,
        file: str,
        position: int,
        damages: list[FormatError],
        on_read: Callable[[int], None] | None,
        pace: Pace,
        elsewhere: bool,
    ) -> Iterator[Cut | Line | Range | WholeFile]:
        if self.shared_files and os.path.isfile(file):
            try:
                format = format_of(file, self._format)
                if isinstance(format, IndexedFormat) and not is_gzip(file):
                    yield from _ranges(format, file, position, on_read, pace)
                    return
                if elsewhere and format.by_line and not is_gzip(file):
                    yield from _lines(format, file, position, on_read)
                    return
            except FormatError as problem:
                damages.append(problem)
                return
            if format.single and not (format.concatenated and _has_several(format, file)):
                size = os.path.getsize(file)
                yield WholeFile(position, format.name, file, size)
                if on_read is not None:
                    on_read(size)
                return
        records = read_records(file, self._format, on_error=damages.append, on_read=on_read)
        for number, (format, record) in enumerate(records, start=position):
            yield Cut(number, format.name, record)


def _has_several(format: Format, file: str) -> bool:
    try:
        return len([*islice(read_records(file, format), 2)]) > 1
    except FormatError:
        # told by whoever reads the file as one segment
        return False


def _ranges(
    format: IndexedFormat,
    file: str,
    position: int,
    on_read: Callable[[int], None] | None,
    pace: Pace,
) -> Iterator[Range]:
    count = format.count(file)
    if not count:
        raise FormatError(f"empty: no segment of format {format.name}", file)
    size = os.path.getsize(file) // count
    most = max(1, sizes.BATCH_BYTES // max(1, size))
    start = 0
    while start < count:
        stop = min(count, start + min(most, pace.records))
        share = size * (stop - start)
        yield Range(position + start, format.name, file, start, stop, share)
        start = stop
        if on_read is not None:
            on_read(share)


def _lines(
    format: Format, file: str, position: int, on_read: Callable[[int], None] | None
) -> Iterator[Line]:
    number = 0
    with open(file, "rb", buffering=0) as stream:
        for line, (start, stop, first) in enumerate(_line_places(stream), start=1):
            size = stop - start
            unit = Line(position + number, format.name, file, start, size, line, number)
            # a look at the whole of it only where the first byte leaves a doubt
            if first not in _BLANKS or unit.read().payload.strip():
                yield unit
                number += 1
            if on_read is not None:
                on_read(size)
    if not number:
        raise FormatError(f"empty: no segment of format {format.name}", file)


def _line_places(stream: FileIO) -> Iterator[tuple[int, int, int]]:
    """Iterate over where each line begins and ends, newline included, and its first byte.

    Lines are long, and this process only passes over them: they are not copied.
    """
    buffer = bytearray(LINE_BUFFER)
    start = read = first = 0
    while count := stream.readinto(buffer):
        at = 0
        while at < count:
            if start == read + at:
                first = buffer[at]
            at = buffer.find(b"\n", at, count) + 1
            if not at:
                break
            yield start, read + at, first
            start = read + at
        read += count
    if start < read:
        yield start, read, first


def _drained(damages: list[FormatError]) -> Iterator[Failure]:
    for problem in damages:
        yield Failure(-1, problem.path, problem.line, "", problem.problem)
    damages.clear()
