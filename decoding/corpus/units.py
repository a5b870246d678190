"""The pieces that the input of a job is cut into, which any process can parse.

A unit is a record that was cut out of its file already; or, where the format allows it, only
the name of a file and which segments or bytes of it: then whoever parses them also reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from decoding.corpus.outcomes import Failure, Segment
from lattices.errors import FormatError
from lattices.formats import FORMATS, parse_range, parse_record, read_records
from lattices.formats.base import BYTE_ORDER_MARK, Record
from lattices.vocabulary import Vocabulary


@dataclass(frozen=True)
class Cut:
    """One segment, cut out of its file but not parsed."""

    position: int
    format: str
    record: Record

    count = 1

    @property
    def path(self) -> str:
        """The file."""
        return self.record.path

    @property
    def bytes(self) -> int:
        """How much there is to parse."""
        return len(self.record.payload)


@dataclass(frozen=True)
class Line:
    """One segment that is one line of a plain file, from byte ``start`` on."""

    position: int
    format: str
    path: str
    start: int
    bytes: int
    line: int
    number: int

    count = 1

    def read(self) -> Record:
        """Return the record, as :func:`lattices.formats.base.text_lines` would have cut it.

        Raises
        ------
        FormatError
            If the file has become shorter.
        """
        with open(self.path, "rb", buffering=0) as stream:
            stream.seek(self.start)
            text = stream.read(self.bytes)
        if len(text) != self.bytes:
            raise FormatError("the file was changed while it was read", self.path, self.line)
        if self.line == 1:
            text = text.removeprefix(BYTE_ORDER_MARK)
        return Record(text.rstrip(b"\r\n"), self.path, self.line, self.number)


@dataclass(frozen=True)
class Range:
    """Some segments of a file that is read by position, from ``start`` up to ``stop``."""

    position: int
    format: str
    path: str
    start: int
    stop: int
    bytes: int

    @property
    def count(self) -> int:
        """How many segments there are."""
        return self.stop - self.start

    def without_first(self, count: int) -> Range:
        """Return what is left without the first few."""
        return replace(self, position=self.position + count, start=self.start + count)


@dataclass(frozen=True)
class WholeFile:
    """A file that holds one segment."""

    position: int
    format: str
    path: str
    bytes: int

    count = 1


Unit: TypeAlias = "Cut | Line | Range | WholeFile | Failure"


def unit_count(unit: Unit) -> int:
    """Return how many outcomes a unit has; what is wrong with a file is one as well."""
    return 1 if isinstance(unit, Failure) else unit.count


def parsed(
    unit: Unit, vocabulary: Vocabulary, options: dict[str, Any]
) -> Iterator[Segment | Failure]:
    """Iterate over the segments of a unit, read and parsed here; each error is a failure."""
    if isinstance(unit, Failure):
        yield unit
    elif isinstance(unit, Range):
        yield from _parsed_range(unit, options)
    else:
        line = 0
        try:
            record = _record(unit)
            line = record.line
            space = parse_record(FORMATS.get(unit.format), record, vocabulary, **options)
        except FormatError as problem:
            place = problem.path or unit.path, problem.line or line
            yield Failure(unit.position, *place, "", problem.problem)
        except OSError as problem:
            yield Failure(unit.position, unit.path, 0, "", _reason(problem, unit.path))
        else:
            yield Segment(unit.position, record.path, line, space)


def _record(unit: Cut | Line | WholeFile) -> Record:
    if isinstance(unit, Cut):
        return unit.record
    return unit.read() if isinstance(unit, Line) else _only_record(unit)


def _only_record(unit: WholeFile) -> Record:
    records = list(read_records(unit.path, unit.format))
    if len(records) > 1:
        raise FormatError(f"{len(records)} segments, where {unit.format} has one a file", unit.path)
    return records[0][1]


def _parsed_range(unit: Range, options: dict[str, Any]) -> Iterator[Segment | Failure]:
    # words are numbered once for each file and process, not for each batch
    try:
        found = parse_range(unit.format, unit.path, unit.start, unit.stop, **options)
    except (FormatError, OSError) as problem:
        for position in range(unit.position, unit.position + unit.count):
            yield Failure(position, unit.path, 0, "", _reason(problem, unit.path))
        return
    for position, each in enumerate(found, start=unit.position):
        if isinstance(each, FormatError):
            yield Failure(position, unit.path, each.line, "", each.problem)
        else:
            yield Segment(position, unit.path, 0, each)


def _reason(problem: FormatError | OSError, path: str) -> str:
    """Return what is wrong; it may be another file than the one that is read."""
    if isinstance(problem, FormatError):
        return problem.problem
    reason = problem.strerror or str(problem)
    return reason if problem.filename in (None, path) else f"{problem.filename}: {reason}"
