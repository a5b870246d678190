"""Input of a job: files cut into chunks, and chunks put together to batches for workers.

A chunk is a record that was cut out of its file already; or, where the format allows it, only
the name of a file and which segments or bytes of it: then whoever parses them also reads them.
Cutting needs no understanding of the content.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import chain, islice, pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from decoding.corpus.outcomes import Failure, Segment
from lattices.arrays import Array
from lattices.errors import FormatError, OptionError
from lattices.formats import FORMATS, format_of, parse_range, parse_record, read_records
from lattices.formats.base import BYTE_ORDER_MARK, Format, IndexedFormat, Record
from lattices.formats.reading import space_files
from lattices.formats.streams import PathLike, is_compressed, is_url
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
            elif skipped and isinstance(chunk, Range | Lines):
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


class Lines(NamedTuple):
    """Some lines of a plain file, from byte ``start`` on; those that are not blank are segments."""

    position: int
    format: str
    path: str
    start: int
    bytes: int
    line: int
    number: int
    segments: int
    #: of the segments before the first that is wanted
    skipped: int = 0

    def skip(self, count: int) -> Lines:
        """Return the lines without their first segments."""
        return self._replace(
            position=self.position + count,
            segments=self.segments - count,
            skipped=self.skipped + count,
        )

    def read(self) -> Iterator[Record | FormatError]:
        """Iterate over the records, as :func:`lattices.formats.base.text_lines` would cut them."""
        with open(self.path, "rb", buffering=0) as stream:
            stream.seek(self.start)
            text = stream.read(self.bytes)
        lines = text.split(b"\n")
        changed = len(text) != self.bytes
        found = 0
        for line, content in enumerate(lines[:-1] if changed else lines, start=self.line):
            payload = content.removeprefix(BYTE_ORDER_MARK) if line == 1 else content
            if payload.strip():
                found += 1
                if found > self.skipped:
                    yield Record(payload.rstrip(b"\r"), self.path, line, self.number + found - 1)
        last = self.line + len(lines) - 1
        for number in range(max(found, self.skipped), self.skipped + self.segments):
            # the line of those that are gone is unknown
            line = last if number == found else 0
            yield FormatError("the file was changed while it was read", self.path, line)


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


Chunk: TypeAlias = "Cut | Lines | Range | WholeFile | Failure"


def chunk_count(chunk: Chunk) -> int:
    """Return how many outcomes a chunk has; what is wrong with a file is one as well."""
    return chunk.segments if isinstance(chunk, Range | Lines) else 1


def parse(
    chunk: Chunk, vocabulary: Vocabulary, options: dict[str, Any]
) -> Iterator[Segment | Failure]:
    """Iterate over the segments of a chunk, read and parsed here; each error is a failure."""
    if isinstance(chunk, Failure):
        yield chunk
    elif isinstance(chunk, Range):
        yield from _parse_range(chunk, options)
    else:
        try:
            records: Iterable[Record | FormatError]
            if isinstance(chunk, Lines):
                records = [*chunk.read()]
            else:
                records = [chunk.record if isinstance(chunk, Cut) else _read_only_record(chunk)]
        except (FormatError, OSError) as problem:
            yield from _fail_all(chunk, problem)
            return
        for position, record in enumerate(records, start=chunk.position):
            yield _parse_record(position, chunk, record, vocabulary, options)


def _fail_all(
    chunk: Lines | Range | Cut | WholeFile, problem: FormatError | OSError
) -> Iterator[Failure]:
    place = (chunk.path, 0)
    if isinstance(problem, FormatError):
        place = problem.path or chunk.path, problem.line
    for position in range(chunk.position, chunk.position + chunk_count(chunk)):
        yield Failure(position, *place, "", _reason(problem, chunk.path))


def _parse_record(
    position: int,
    chunk: Lines | Cut | WholeFile,
    record: Record | FormatError,
    vocabulary: Vocabulary,
    options: dict[str, Any],
) -> Segment | Failure:
    line = record.line
    try:
        if isinstance(record, FormatError):
            raise record
        space = parse_record(FORMATS.get(chunk.format), record, vocabulary, **options)
    except FormatError as problem:
        place = problem.path or chunk.path, problem.line or line
        return Failure(position, *place, "", problem.problem)
    except OSError as problem:
        return Failure(position, chunk.path, 0, "", _reason(problem, chunk.path))
    return Segment(position, record.path, line, space)


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
        yield from _fail_all(chunk, problem)
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
#: whether a line that begins with a byte may be blank
_MAYBE_BLANK = np.zeros(256, bool)
_MAYBE_BLANK[[*b" \t\n\r\v\f", BYTE_ORDER_MARK[0]]] = True


class Piece(NamedTuple):
    """A file; or some segments of one that is read by position, or some lines, by their bytes."""

    path: str
    #: the name of the format, of a part
    format: str = ""
    start: int = 0
    stop: int = 0
    #: of a part of a file of lines, what comes before it there
    line: int = 1
    number: int = 0

    @property
    def bytes(self) -> int:
        """About how much there is to read, 0 if nobody knows."""
        return self.share(_size(self.path))

    def share(self, size: int) -> int:
        """Return how much of a file of that size it is."""
        if not self.format:
            return size
        format = FORMATS.get(self.format)
        if not isinstance(format, IndexedFormat):
            return self.stop - self.start
        count = format.count(self.path)
        return size * self.stop // count - size * self.start // count

    @property
    def by_line(self) -> bool:
        """Whether it is a part of a file of lines."""
        return bool(self.format) and FORMATS.get(self.format).by_line


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.isfile(path) else 0


class Inputs:
    """The files of a job, or the share of them that one worker has.

    Attributes
    ----------
    pieces : list of Piece
        In order.
    position : int
        How many segments come before them.
    chosen : bool
        Whether only some segments of the files are wanted.
    """

    def __init__(
        self,
        paths: Iterable[PathLike],
        format: str | None = None,
        shared_files: bool = True,
        tell: Callable[[str], None] = warnings.warn,
    ) -> None:
        chosen = None if format is None else FORMATS.get(format)
        self.shared_files, self.position, self.chosen = shared_files, 0, False
        self._format = format
        self.pieces = [Piece(file) for path in paths for file in space_files(path, chosen, tell)]

    @property
    def files(self) -> list[str]:
        """All the files, in order."""
        return list(dict.fromkeys(piece.path for piece in self.pieces))

    @property
    def bytes(self) -> int | None:
        """The size of all files; None where a pipe is among them."""
        if not all(os.path.isfile(piece.path) for piece in self.pieces):
            return None
        return sum(piece.bytes for piece in self.pieces)

    def choose(self, ids: Sequence[str], options: Mapping[str, Any]) -> None:
        """Keep only the segments with these ids, which are looked up."""
        from lattices.formats import lookup

        files = [lookup.open(file, self._format, **options) for file in self.files]
        self.pieces, self.chosen = [], True
        for file, places in lookup.find_all(files, ids):
            for place in places:
                # a line has a byte of its own, a row its number
                start = place.start if place.size else place.number
                stop = start + (place.size or 1)
                name = file.format.name
                self.pieces.append(
                    Piece(file.path, name, start, stop, place.line or 1, place.number)
                )

    def part(self, pieces: Sequence[Piece], position: int = 0) -> Inputs:
        """Return inputs of the same format with other pieces."""
        made = copy(self)
        made.pieces, made.position = list(pieces), position
        return made

    def chunks(
        self, on_read: Callable[[int], None] | None = None, pace: BatchSizer | None = None
    ) -> Iterator[Chunk]:
        """Iterate over the chunks, numbered; a bad file stands where its segments would."""
        pace = pace or BatchSizer()
        position = self.position
        for piece in self.pieces:
            damages: list[FormatError] = []
            for chunk in self._piece_chunks(piece, position, damages, on_read, pace):
                yield from _drain(damages)
                yield chunk
                position += chunk_count(chunk)
            yield from _drain(damages)

    def _piece_chunks(
        self,
        piece: Piece,
        position: int,
        damages: list[FormatError],
        on_read: Callable[[int], None] | None,
        pace: BatchSizer,
    ) -> Iterator[Cut | Lines | Range | WholeFile]:
        file = piece.path
        chosen = FORMATS.get(self._format) if self._format else None
        if self.shared_files and os.path.isfile(file):
            try:
                format = FORMATS.get(piece.format) if piece.format else format_of(file, chosen)
                if isinstance(format, IndexedFormat) and not is_compressed(file):
                    yield from _ranges(format, piece, position, on_read, pace)
                    return
                if format.by_line and not is_compressed(file):
                    yield from _lines(format, piece, position, on_read, pace)
                    return
            except FormatError as problem:
                damages.append(problem)
                return
            if piece.format:
                with open(file, "rb") as stream:
                    stream.seek(piece.start)
                    payload = stream.read(piece.stop - piece.start)
                line = piece.line if piece.line > 1 else 0
                yield Cut(position, format.name, Record(payload, file, line, piece.number))
                if on_read is not None:
                    on_read(len(payload))
                return
            if format.single and not (format.concatenated and _has_several(format, file)):
                size = os.path.getsize(file)
                yield WholeFile(position, format.name, file, size)
                if on_read is not None:
                    on_read(size)
                return
        records = read_records(file, chosen, on_error=damages.append, on_read=on_read)
        for number, (format, record) in enumerate(records, start=position):
            yield Cut(number, format.name, record)

    def shards(self, count: int) -> list[Inputs]:
        """Return about so many shares of about one size: of files, and of parts of large ones.

        The segments before each of them are not known: see :func:`locate`.
        """
        if not all(os.path.isfile(piece.path) or is_url(piece.path) for piece in self.pieces):
            raise OptionError("only files can be cut into shards, not standard input or pipes")
        sizes = [_size(piece.path) for piece in self.pieces]
        if 0 in sizes:
            # the size of a URL is unknown
            sizes = [1] * len(sizes)
        share = max(1.0, sum(sizes) / count)
        groups: list[list[Piece]] = [[]]
        filled = 0.0
        for piece, size in zip(self.pieces, sizes, strict=True):
            for part in self._parts(piece, size / share):
                more = part.share(size)
                if groups[-1] and filled + more / 2 > share:
                    groups.append([])
                    filled = 0.0
                groups[-1].append(part)
                filled += more
        return [self.part(group) for group in groups]

    def _parts(self, piece: Piece, shares: float) -> list[Piece]:
        """Return a file as a whole or, if it is larger than a share and can be cut, parts of it."""
        count, file = round(shares), piece.path
        if piece.format or count < 2 or not os.path.isfile(file) or is_compressed(file):
            return [piece]
        try:
            format = format_of(file, FORMATS.get(self._format) if self._format else None)
            if isinstance(format, IndexedFormat):
                whole = format.count(file)
                borders = sorted({whole * part // count for part in range(count + 1)})
            elif format.by_line:
                borders = _line_borders(file, count)
            else:
                return [piece]
        except FormatError:
            # whoever reads it says what is wrong with it
            return [piece]
        return [Piece(file, format.name, start, stop) for start, stop in pairwise(borders)] or [
            piece
        ]


def count_lines(piece: Piece) -> tuple[int, int]:
    """Return how many lines a part of a file of lines has, and how many of them are segments."""
    lines = segments = 0
    for starts, _, blank in _line_places(piece):
        lines += len(starts)
        segments += len(starts) - int(np.count_nonzero(blank))
    return lines, segments


def count_segments(inputs: Inputs) -> int:
    """Return how many segments there are, good or bad; nothing is parsed."""
    return sum(chunk_count(chunk) for chunk in inputs.chunks() if not isinstance(chunk, Failure))


def locate(
    shards: Sequence[Inputs],
    positions: bool,
    each: Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]] = map,
) -> list[Inputs]:
    """Return shards that know what comes before them: lines and, where asked for, segments.

    ``each`` is who counts, such as ``map``. The bytes of files of lines are looked through; all
    other files only for the ``positions``.
    """
    parts = [piece for shard in shards for piece in shard.pieces if piece.by_line]
    counted: dict[Piece, tuple[int, int]] = dict(zip(parts, each(count_lines, parts), strict=True))
    others = [
        shard.part([piece for piece in shard.pieces if piece not in counted]) for shard in shards
    ]
    rest = [0] * len(shards)
    if positions:
        rest = list(each(count_segments, others))
    segments_of = Counter[str]()
    for piece, (_, segments) in counted.items():
        segments_of[piece.path] += segments
    located, position = [], 0
    before: dict[str, tuple[int, int]] = {}
    for shard, found in zip(shards, rest, strict=True):
        pieces = []
        for piece in shard.pieces:
            if piece in counted:
                line, number = before[piece.path] if piece.start else (1, 0)
                if segments_of[piece.path]:
                    pieces.append(piece._replace(line=line, number=number))
                elif not piece.start:
                    # whoever reads it says that there is nothing in it
                    pieces.append(Piece(piece.path))
                lines, segments = counted[piece]
                before[piece.path] = line + lines, number + segments
            else:
                pieces.append(piece)
        located.append(shard.part(pieces, position))
        if positions:
            position += found + sum(counted[piece][1] for piece in shard.pieces if piece in counted)
    return located


def _line_borders(file: str, count: int) -> list[int]:
    """Return where about so many parts of one size begin, and the end."""
    size = os.path.getsize(file)
    borders = {0, size}
    with open(file, "rb") as stream:
        for part in range(1, count):
            stream.seek(size * part // count - 1)
            stream.readline()
            borders.add(stream.tell())
    return sorted(borders)


def _has_several(format: Format, file: str) -> bool:
    try:
        return len([*islice(read_records(file, format), 2)]) > 1
    except FormatError:
        # reported when the file is read as one segment
        return False


def _ranges(
    format: IndexedFormat,
    piece: Piece,
    position: int,
    on_read: Callable[[int], None] | None,
    pace: BatchSizer,
) -> Iterator[Range]:
    file, count = piece.path, format.count(piece.path)
    if not count:
        raise FormatError(f"empty: no segment of format {format.name}", file)
    size = os.path.getsize(file) // count
    most = max(1, BATCH_BYTES // max(1, size))
    start, end = (piece.start, piece.stop) if piece.format else (0, count)
    while start < end:
        stop = min(end, start + min(most, pace.records))
        share = size * (stop - start)
        yield Range(position, format.name, file, start, stop, share)
        position += stop - start
        start = stop
        if on_read is not None:
            on_read(share)


def _lines(
    format: Format,
    piece: Piece,
    position: int,
    on_read: Callable[[int], None] | None,
    pace: BatchSizer,
) -> Iterator[Lines]:
    line, number = piece.line, piece.number
    for begin, size, lines, segments in _cut_lines(_line_places(piece), pace):
        if segments:
            yield Lines(position, format.name, piece.path, begin, size, line, number, segments)
        line, number, position = line + lines, number + segments, position + segments
        if on_read is not None:
            on_read(size)
    if not number and not piece.format:
        raise FormatError(f"empty: no segment of format {format.name}", piece.path)


def _cut_lines(
    places: Iterable[tuple[Array, Array, Array]], pace: BatchSizer
) -> Iterator[tuple[int, int, int, int]]:
    """Iterate over batches of lines: the first byte, and how many bytes, lines and segments."""
    left = tuple(np.empty(0, dtype) for dtype in (np.int64, np.int64, bool))
    for found in chain(places, [None]):
        if found is not None:
            left = tuple(map(np.concatenate, zip(left, found, strict=True)))
        starts, stops, blank = left
        at = 0
        while at < len(starts):
            fits = int(np.searchsorted(stops, starts[at] + BATCH_BYTES, side="right"))
            to = max(at + 1, min(fits, at + pace.records))
            if found is not None and to >= len(starts):
                # there may be more
                break
            segments = to - at - int(np.count_nonzero(blank[at:to]))
            yield int(starts[at]), int(stops[to - 1] - starts[at]), to - at, segments
            at = to
        left = starts[at:], stops[at:], blank[at:]


def _line_places(piece: Piece) -> Iterator[tuple[Array, Array, Array]]:
    """Iterate over where lines begin and end, newlines included, and which of them are blank.

    Lines are only passed over, many at a time.
    """
    buffer = bytearray(LINE_BUFFER)
    view = np.frombuffer(buffer, np.uint8)
    read = begun = piece.start
    end = piece.stop if piece.format else _size(piece.path)
    first = 0
    with open(piece.path, "rb", buffering=0) as stream:
        stream.seek(read)
        while read < end and (count := stream.readinto(memoryview(buffer)[: end - read])):
            if begun == read:
                first = buffer[0]
            stops = np.flatnonzero(view[:count] == _NEWLINE) + (read + 1)
            starts = np.concatenate(([begun], stops[:-1])) if len(stops) else stops
            within = np.maximum(starts - read, 0)
            blank = _MAYBE_BLANK[np.where(starts < read, first, view[within])]
            read += count
            if len(stops):
                begun = int(stops[-1])
                first = buffer[begun - (read - count)] if begun < read else 0
                yield starts, stops, _look_closely(piece.path, starts, stops, blank)
    if begun < read:
        ends = np.array([begun]), np.array([read])
        yield *ends, _look_closely(piece.path, *ends, _MAYBE_BLANK[[first]])


_NEWLINE = ord("\n")


def _look_closely(path: str, starts: Array, stops: Array, doubtful: Array) -> Array:
    """Return which lines are blank; their first byte leaves a doubt in some."""
    for place in np.flatnonzero(doubtful).tolist():
        start, size = int(starts[place]), int(stops[place] - starts[place])
        some = Lines(0, "", path, start, size, 2 if start else 1, 0, 1)
        doubtful[place] = not any(isinstance(each, Record) for each in some.read())
    return doubtful


def _drain(damages: list[FormatError]) -> Iterator[Failure]:
    for problem in damages:
        yield Failure(-1, problem.path, problem.line, "", problem.problem)
    damages.clear()
