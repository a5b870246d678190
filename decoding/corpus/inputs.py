"""Input of a job: files cut into chunks, and chunks put together to batches for workers.

A chunk is a record that was cut out of its file already; or, where the format allows it, only
the name of a file and which segments or bytes of it: then whoever parses them also reads them.
Cutting needs no understanding of the content.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from io import FileIO
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from decoding.corpus.outcomes import Failure, Segment
from lattices.errors import FormatError, OptionError
from lattices.formats import FORMATS, format_of, parse_range, parse_record, read_records
from lattices.formats.base import BYTE_ORDER_MARK, Format, IndexedFormat, Record
from lattices.formats.reading import space_files
from lattices.formats.streams import PathLike, is_compressed
from lattices.vocabulary import Vocabulary

#: a batch is full at so many bytes, however few segments they are: more take memory, no less time
BATCH_BYTES = 1_000_000
#: segments of the first batches, and of the largest ones
FIRST_RECORDS = 16
MOST_RECORDS = 256
#: seconds that a batch should take: less, and handing batches around is what takes the time;
#: more, and workers wait for the last one, and much is lost if the run is killed
SHORT = 0.1
LONG = 0.5


class BatchSizer:
    """How many segments make a batch, by how long the batches before took.

    What comes out of a run does not depend on it.

    Attributes
    ----------
    records : int
        How many at present.

    Examples
    --------
    >>> pace = BatchSizer()
    >>> before = pace.records
    >>> pace.learn(before, 0.001)
    >>> pace.records == 2 * before
    True
    >>> pace.learn(pace.records, 60.0)
    >>> pace.records == before
    True
    """

    def __init__(self, records: int | None = None) -> None:
        self._fixed = records is not None
        self.records = FIRST_RECORDS if records is None else records

    def learn(self, count: int, seconds: float) -> None:
        """Record the time that a batch of segments took."""
        if self._fixed:
            return
        if seconds > LONG:
            self.records = max(1, min(self.records, count // 2))
        # a batch from before the last change, or one cut short by its bytes, says nothing new
        elif seconds < SHORT and count >= self.records:
            self.records = min(MOST_RECORDS, 2 * self.records)


Batch: TypeAlias = "list[Chunk]"


def batches(chunks: Iterable[Chunk], pace: BatchSizer) -> Iterator[Batch]:
    """Put chunks together, up to as many segments as ``pace`` says and to ``BATCH_BYTES``."""
    batch: Batch = []
    count = size = 0
    for chunk in chunks:
        if batch and count + chunk_count(chunk) > pace.records:
            yield batch
            batch, count, size = [], 0, 0
        batch.append(chunk)
        count += chunk_count(chunk)
        size += 0 if isinstance(chunk, Failure) else chunk.bytes
        if count >= pace.records or size >= BATCH_BYTES:
            yield batch
            batch, count, size = [], 0, 0
    if batch:
        yield batch


def skip_outcomes(all_batches: Iterable[Batch], skipped: int) -> Iterator[Batch]:
    """Iterate over the batches without the chunks of the first ``skipped`` outcomes."""
    for batch in all_batches:
        if not skipped:
            yield batch
            continue
        left: Batch = []
        for chunk in batch:
            count = chunk_count(chunk)
            if skipped >= count:
                skipped -= count
            elif skipped and isinstance(chunk, Range):
                left.append(chunk.skip(skipped))
                skipped = 0
            else:
                left.append(chunk)
        if left:
            yield left
    if skipped:
        raise OptionError(f"{skipped} segments that were done before are not in the input")


class Cut(NamedTuple):
    """One segment, cut out of its file but not parsed."""

    position: int
    format: str
    record: Record

    @property
    def path(self) -> str:
        """The file."""
        return self.record.path

    @property
    def bytes(self) -> int:
        """How much there is to parse."""
        return len(self.record.payload)


class Line(NamedTuple):
    """One segment that is one line of a plain file, from byte ``start`` on."""

    position: int
    format: str
    path: str
    start: int
    bytes: int
    line: int
    number: int

    def read(self) -> Record:
        """Return the record, as :func:`lattices.formats.base.text_lines` would have cut it."""
        with open(self.path, "rb", buffering=0) as stream:
            stream.seek(self.start)
            text = stream.read(self.bytes)
        if len(text) != self.bytes:
            raise FormatError("the file was changed while it was read", self.path, self.line)
        if self.line == 1:
            text = text.removeprefix(BYTE_ORDER_MARK)
        return Record(text.rstrip(b"\r\n"), self.path, self.line, self.number)


class Range(NamedTuple):
    """Some segments of a file that is read by position, from ``start`` up to ``stop``."""

    position: int
    format: str
    path: str
    start: int
    stop: int
    bytes: int

    @property
    def segments(self) -> int:
        """How many segments there are."""
        return self.stop - self.start

    def skip(self, count: int) -> Range:
        """Return the range without its first segments."""
        return self._replace(position=self.position + count, start=self.start + count)


class WholeFile(NamedTuple):
    """A file that holds one segment."""

    position: int
    format: str
    path: str
    bytes: int


Chunk: TypeAlias = "Cut | Line | Range | WholeFile | Failure"


def chunk_count(chunk: Chunk) -> int:
    """Return how many outcomes a chunk has; what is wrong with a file is one as well."""
    return chunk.segments if isinstance(chunk, Range) else 1


def parse(
    chunk: Chunk, vocabulary: Vocabulary, options: dict[str, Any]
) -> Iterator[Segment | Failure]:
    """Iterate over the segments of a chunk, read and parsed here; each error is a failure."""
    if isinstance(chunk, Failure):
        yield chunk
    elif isinstance(chunk, Range):
        yield from _parse_range(chunk, options)
    else:
        line = 0
        try:
            record = _record(chunk)
            line = record.line
            space = parse_record(FORMATS.get(chunk.format), record, vocabulary, **options)
        except FormatError as problem:
            place = problem.path or chunk.path, problem.line or line
            yield Failure(chunk.position, *place, "", problem.problem)
        except OSError as problem:
            yield Failure(chunk.position, chunk.path, 0, "", _reason(problem, chunk.path))
        else:
            yield Segment(chunk.position, record.path, line, space)


def _record(chunk: Cut | Line | WholeFile) -> Record:
    if isinstance(chunk, Cut):
        return chunk.record
    return chunk.read() if isinstance(chunk, Line) else _read_only_record(chunk)


def _read_only_record(chunk: WholeFile) -> Record:
    records = list(read_records(chunk.path, chunk.format))
    if len(records) > 1:
        raise FormatError(
            f"{len(records)} segments, where {chunk.format} has one a file", chunk.path
        )
    return records[0][1]


def _parse_range(chunk: Range, options: dict[str, Any]) -> Iterator[Segment | Failure]:
    # words are numbered once for each file and process, not for each batch
    try:
        found = parse_range(chunk.format, chunk.path, chunk.start, chunk.stop, **options)
    except (FormatError, OSError) as problem:
        for position in range(chunk.position, chunk.position + chunk.segments):
            yield Failure(position, chunk.path, 0, "", _reason(problem, chunk.path))
        return
    for position, each in enumerate(found, start=chunk.position):
        if isinstance(each, FormatError):
            yield Failure(position, chunk.path, each.line, "", each.problem)
        else:
            yield Segment(position, chunk.path, 0, each)


def _reason(problem: FormatError | OSError, path: str) -> str:
    """Return what is wrong; it may be another file than the one that is read."""
    if isinstance(problem, FormatError):
        return problem.problem
    reason = problem.strerror or str(problem)
    return reason if problem.filename in (None, path) else f"{problem.filename}: {reason}"


#: how much of a file is looked through for line ends at a time
LINE_BUFFER = 1 << 20
#: how a line without content may begin
_BLANKS = frozenset(b" \t\n\r\v\f" + BYTE_ORDER_MARK[:1])


class Inputs:
    """The files of a job.

    Attributes
    ----------
    files : list of str
        All the files, in order.
    """

    def __init__(
        self,
        paths: Iterable[PathLike],
        format: str | None = None,
        shared_files: bool = True,
        tell: Callable[[str], None] = warnings.warn,
    ) -> None:
        self._format = None if format is None else FORMATS.get(format)
        self.shared_files = shared_files
        self.files = [file for path in paths for file in space_files(path, self._format, tell)]

    @property
    def bytes(self) -> int | None:
        """The size of all files; None where a pipe is among them."""
        if not all(map(os.path.isfile, self.files)):
            return None
        return sum(map(os.path.getsize, self.files))

    def chunks(
        self,
        on_read: Callable[[int], None] | None = None,
        pace: BatchSizer | None = None,
        elsewhere: bool = False,
    ) -> Iterator[Chunk]:
        """Iterate over the chunks, numbered; a bad file stands where its segments would."""
        pace = pace or BatchSizer()
        position = 0
        for file in self.files:
            damages: list[FormatError] = []
            for chunk in self._file_chunks(file, position, damages, on_read, pace, elsewhere):
                yield from _drain(damages)
                yield chunk
                position += chunk_count(chunk)
            yield from _drain(damages)

    def _file_chunks(
        self,
        file: str,
        position: int,
        damages: list[FormatError],
        on_read: Callable[[int], None] | None,
        pace: BatchSizer,
        elsewhere: bool,
    ) -> Iterator[Cut | Line | Range | WholeFile]:
        if self.shared_files and os.path.isfile(file):
            try:
                format = format_of(file, self._format)
                if isinstance(format, IndexedFormat) and not is_compressed(file):
                    yield from _ranges(format, file, position, on_read, pace)
                    return
                if elsewhere and format.by_line and not is_compressed(file):
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
        # reported when the file is read as one segment
        return False


def _ranges(
    format: IndexedFormat,
    file: str,
    position: int,
    on_read: Callable[[int], None] | None,
    pace: BatchSizer,
) -> Iterator[Range]:
    count = format.count(file)
    if not count:
        raise FormatError(f"empty: no segment of format {format.name}", file)
    size = os.path.getsize(file) // count
    most = max(1, BATCH_BYTES // max(1, size))
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
            chunk = Line(position + number, format.name, file, start, size, line, number)
            # a look at the whole of it only where the first byte leaves a doubt
            if first not in _BLANKS or chunk.read().payload.strip():
                yield chunk
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


def _drain(damages: list[FormatError]) -> Iterator[Failure]:
    for problem in damages:
        yield Failure(-1, problem.path, problem.line, "", problem.problem)
    damages.clear()
