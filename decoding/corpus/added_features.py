"""One more feature of every hypothesis: from a file of numbers, or from a function of texts.

A function is called once for all segments of a batch, with every distinct text: the hypotheses of
lists, the words of lattices and forests, whose values add up along a path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from decoding.corpus.outcomes import Done, Failure, Segment, with_sources
from fstmetrics.external.function import PythonFunction, count_arguments, numbers_of
from lattices.arrays import FloatColumn, floats
from lattices.errors import FormatError, OptionError
from lattices.formats.base import decode_lines, split_words
from lattices.formats.ids import place
from lattices.formats.streams import open_input
from lattices.registry import PREFIX
from lattices.spaces import Forest, NBest, Space
from lattices.spaces.features import add_feature, feature_column, feature_texts

if TYPE_CHECKING:
    from lattices.formats.references import References


@dataclass(frozen=True)
class FunctionValues:
    """Values that a function gives texts."""

    function: Callable[..., Any]
    name: str

    def columns(self, spaces: Sequence[Space]) -> list[FloatColumn]:
        """Return the values of the entries, arcs or edges of each space."""
        texts = [feature_texts(space) for space in spaces]
        given: list[Any] = [text for some in texts for text in some]
        columns = None
        if count_arguments(self.function) == 2:
            sources = [self._source(space) for space in spaces for _ in feature_texts(space)]
            given = list(zip(given, sources, strict=True))
            columns = [list(column) for column in zip(*dict.fromkeys(given), strict=True)]
        numbers = floats([])
        if given:
            numbers = numbers_of(self.function, given, self.name, "texts", columns)
        ends = np.cumsum([0, *map(len, texts)])
        return [
            feature_column(space, numbers[begin:end])
            for space, begin, end in zip(spaces, ends[:-1], ends[1:], strict=True)
        ]

    def _source(self, space: Space) -> str:
        if not space.source:
            raise OptionError(
                f"{self.name} takes texts and sources, and segment {space.id!r} has no source"
            )
        return space.source


@dataclass(frozen=True, eq=False)
class FileValues:
    """Values of the hypotheses of lists, from a file.

    Either one number a line, for all hypotheses in the order of the input; or lines of an id and
    the numbers of its hypotheses, one or more a line.
    """

    path: str
    #: the number of each line, where there are no ids
    in_order: FloatColumn | None = None
    #: the numbers of a segment, and the first line of them
    by_id: dict[str, tuple[list[float], int]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str) -> FileValues:
        """Read a file."""
        numbers: list[float] = []
        by_id: dict[str, tuple[list[float], int]] = {}
        layout = ""
        with open_input(path) as (_, stream):
            for line, text in decode_lines(stream, path):
                id, tab, rest = text.partition("\t")
                fields = [id, *split_words(rest)] if tab else split_words(text)
                if not layout:
                    layout = "a number" if len(fields) == 1 else "an id and numbers"
                begin = 0 if layout == "a number" else 1
                values = _numbers(fields[begin:])
                if values is None or len(fields) < begin + 1 or (not begin and len(fields) > 1):
                    raise FormatError(f"{text!r:.60}, expected {layout}", path, line)
                if begin:
                    by_id.setdefault(fields[0], ([], line))[0].extend(values)
                else:
                    numbers += values
        if layout == "an id and numbers":
            return cls(path, None, by_id)
        return cls(path, floats(numbers))

    def columns(self, spaces: Sequence[Space]) -> list[FloatColumn]:
        """Return the values of the hypotheses of each list, by its id."""
        return [self._of_id(self.check(space)) for space in spaces]

    def _of_id(self, nbest: NBest) -> FloatColumn:
        if nbest.id not in self.by_id:
            raise OptionError(f"{self.path} has no values for segment {nbest.id!r}")
        values, line = self.by_id[nbest.id]
        if len(values) != len(nbest):
            raise FormatError(
                f"{len(values)} values for segment {nbest.id!r}, which has {len(nbest)} hypotheses",
                self.path,
                line,
            )
        return floats(values)

    def check(self, space: Space) -> NBest:
        """Return the list, or say that a file cannot be for what is none."""
        if not isinstance(space, NBest):
            kind = "forest" if isinstance(space, Forest) else "lattice"
            raise OptionError(
                f"{self.path} has values of hypotheses, and segment {space.id!r} is a {kind}; "
                "python:MODULE:FUNCTION gives its words values"
            )
        return space


def _numbers(fields: Sequence[str]) -> list[float] | None:
    try:
        found = [float(each) for each in fields]
    except ValueError:
        return None
    return found if found and np.isfinite(found).all() else None


def read_values(source: str) -> FunctionValues | FileValues:
    """Return the values of a file, or of ``python:module:function``, which must be there."""
    if source.startswith(PREFIX):
        function = PythonFunction(source)
        function.require()
        return FunctionValues(function, source)
    return FileValues.read(source)


@dataclass(frozen=True)
class AddFeatures:
    """Add features to segments: a transform that takes a whole batch at once."""

    #: name and values of each feature; not of a file in order, see :func:`add_in_order`
    sources: tuple[tuple[str, FunctionValues | FileValues], ...]
    #: the source texts of the segments; those that they have themselves if None
    segment_sources: References | None = None

    def __call__(self, segment: Segment) -> Space:
        """Return the space with the features."""
        return self.together([segment])[0]

    def together(self, segments: Sequence[Segment]) -> list[Space]:
        """Return the spaces with the features."""
        segments = with_sources(segments, self.segment_sources)
        spaces: list[Space] = [segment.space for segment in segments]
        for name, values in self.sources:
            columns = values.columns(spaces)
            spaces = [
                add_feature(space, name, column)
                for space, column in zip(spaces, columns, strict=True)
            ]
        return spaces


def add_in_order(
    outcomes: Iterable[Done[Space] | Failure], sources: Sequence[tuple[str, FileValues]]
) -> Iterator[Done[Space] | Failure]:
    """Add features from files that have one number a line for all hypotheses of a corpus."""
    at, lost = 0, None
    for outcome in outcomes:
        if isinstance(outcome, Failure):
            lost = lost or outcome
            yield outcome
            continue
        if lost is not None:
            raise FormatError(
                f"segment {lost.id!r} failed ({lost.reason}), so that nobody knows which lines are "
                "those of the segments after it; lines 'id value' could be told",
                sources[0][1].path,
            )
        space = outcome.result
        for name, values in sources:
            count, column = len(values.check(space)), values.in_order
            if column is None:
                raise OptionError(f"{values.path} has ids")
            if at + count > len(column):
                raise FormatError(
                    f"the file ends, expected {count} values for the hypotheses of segment "
                    f"{space.id!r} ({place(outcome.path, outcome.line)}) from line {at + 1} on",
                    values.path,
                    len(column),
                )
            space = add_feature(space, name, column[at : at + count])
        at += len(space.score)
        yield Done(outcome.position, outcome.path, outcome.line, outcome.id, space)
    for _, values in sources:
        if lost is None and values.in_order is not None and at < len(values.in_order):
            raise FormatError(
                f"{len(values.in_order)} values, for {at} hypotheses in all", values.path, at + 1
            )
