"""Writers of tables: tsv, JSON lines, text, Kaldi and trn, for the results of any task.

A writer returns what is written of each result, by segments, so that workers send no more than
that, and a segment that cannot be written fails alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeAlias

from decoding.corpus.outcomes import Failure
from lattices.errors import FormatError, OptionError
from lattices.formats.base import split_words
from lattices.registry import Registry, name_plugin

if TYPE_CHECKING:
    from decoding.corpus.outcomes import Done, Failures, Segment
    from decoding.corpus.table import SummedTask, Table, Totals
    from fstmetrics import Metric
    from lattices.formats.references import References

#: what is written of each result, a list for each segment of a table
Writer: TypeAlias = "Callable[[Table], list[list[Any]]]"

WRITERS: Registry[Writer] = Registry(
    "decoding.writers",
    "writer",
    own={
        "tsv": "decoding.corpus.writers:TSV",
        "jsonl": "decoding.corpus.writers:json_lines",
        "text": "decoding.corpus.writers:TEXT",
        "kaldi": "decoding.corpus.writers:KALDI",
        "trn": "decoding.corpus.writers:TRN",
        "csv": "decoding.corpus.writers:rows",
        "parquet": "decoding.corpus.writers:rows",
    },
    check=lambda plugin: "" if callable(plugin) else f"it is {plugin!r:.60}, expected a function",
)


def tsv_cell(text: str, format: str = "tsv") -> str:
    """Return a text that may stand in a cell of a line; a tab or line end is an OptionError."""
    if "\t" in text or "\n" in text or "\r" in text:
        raise OptionError(
            f"{text!r} has a tab or a line end in it, which {format} cannot hold; use --format "
            "jsonl"
        )
    return text


def sentence_line(format: str, id: str, score: float, text: str) -> str:
    r"""Return the line of a sentence; what could not be read back is an error.

    Examples
    --------
    >>> [sentence_line(each, "u1", 0.5, "the cat") for each in ("tsv", "text", "kaldi", "trn")]
    ['u1\t0.5\tthe cat\n', 'the cat\n', 'u1 the cat\n', 'the cat (u1)\n']
    """
    words = tsv_cell(text, format)
    if format == "text":
        return words + "\n"
    name = tsv_cell(id, format)
    if format == "tsv":
        return f"{name}\t{score!r}\t{words}\n"
    if split_words(name) != [name]:
        raise OptionError(f"{id!r} is no id that {format} can hold; use --format jsonl")
    if format == "kaldi":
        return f"{name} {words}".rstrip(" ") + "\n"
    line = f"{words} ({name})"
    if not _comes_back(line, name, words):
        raise OptionError(
            f"{line!r} means something else in trn, where ( ) {{ / }} and @ are signs; use "
            "--format jsonl"
        )
    return line + "\n"


def _comes_back(line: str, id: str, text: str) -> bool:
    from lattices.formats.references import nist

    try:
        found = nist.read_trn(nist.TranscriptLines("", [line.strip(" ")]), None).entries
    except FormatError:
        return False
    return found == {id: " ".join(split_words(text))}


def sentence_lines(format: str, table: Table) -> list[list[Any]]:
    """Return each result as a line of ``tsv`` (with a score), ``text``, ``kaldi`` or ``trn``."""
    score = "expected" if "expected" in table.names else "score"
    texts, scores = table.column("text"), table.column(score)
    return [
        [sentence_line(format, id, scores[each], texts[each]) for each in table.of(place)]
        for place, id in enumerate(table.ids)
    ]


def json_lines(table: Table) -> list[list[str]]:
    """Return each result as a line of JSON, with all columns."""
    from decoding.plain_json import json_text

    return [[json_text(fields) + "\n" for fields in of_segment] for of_segment in rows(table)]


def rows(table: Table) -> list[list[dict[str, Any]]]:
    """Return the fields of each result, for tables that are written as a whole."""
    return [table.fields(place) for place in range(len(table))]


TSV, TEXT, KALDI, TRN = (
    partial(sentence_lines, format) for format in ("tsv", "text", "kaldi", "trn")
)


class ResultLines:
    """Collector of results that are lines already, made by ``lines`` of a :class:`WrittenTask`.

    Parameters
    ----------
    totals : Totals
    text : bool
        Whether it is plain text: it has no ids, and an empty line for what has failed keeps line i
        that of segment i. What is wrong with a whole file is no segment.
    """

    def __init__(self, totals: Totals, text: bool = False) -> None:
        self.totals, self._text = totals, text

    @property
    def failures(self) -> Failures:
        """Those that were collected."""
        return self.totals.failures

    def lines(self, outcome: Done[Any] | Failure) -> bytes:
        """Return what is to be written of an outcome."""
        if isinstance(outcome, Failure):
            return b"\n" if self._text and outcome.position >= 0 else b""
        return "".join(outcome.result["lines"]).encode("utf-8")

    def write(self, outcomes: Iterable[Done[Any] | Failure], stream: BinaryIO) -> None:
        """Write the lines of all outcomes, and sum them up."""
        for outcome in outcomes:
            self.totals.add(outcome)
            stream.write(self.lines(outcome))

    def state(self) -> dict[str, Any]:
        """Return the sums."""
        return self.totals.state()

    def merge(self, state: dict[str, Any]) -> None:
        """Add the sums of others."""
        self.totals.merge(state)


class WrittenTask(NamedTuple):
    """A task whose results are written where they are made: workers send what is to be written."""

    task: SummedTask
    #: by the names under which the table that is sent has what they make
    writers: Mapping[str, Writer] = {}
    #: what else is sent of each segment
    kept: Sequence[str] = ()

    @property
    def references(self) -> References | None:
        """Those of the task."""
        return self.task.references

    @property
    def metrics(self) -> tuple[Metric, ...] | None:
        """Those of the task; None if it scores nothing."""
        return self.task.layout.metrics or None

    def process(self, segments: Sequence[Segment]) -> Table:
        """Return a table of what is written."""
        table = self.task.process(segments)
        made = {name: write(table) for name, write in self.writers.items()}
        for name, write in self.writers.items():
            if what := name_plugin(write, ""):
                _check_written(what, made[name], len(table))
        return table.keep(*self.kept, **made)


def _check_written(what: str, made: Any, segments: int) -> None:
    """Refuse what a writer of somebody else's has made if it is no list of lines a segment."""
    if not isinstance(made, list) or len(made) != segments:
        raise OptionError(f"{what} returns {made!r:.80}, expected a list for {segments} segments")
    for some in made:
        if not isinstance(some, list) or not all(isinstance(line, str) for line in some):
            raise OptionError(f"{what} returns {some!r:.80} for a segment, expected a list of str")
