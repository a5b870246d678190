"""Lines of results, in the formats that commands share, and their tally over a corpus."""

from __future__ import annotations

import operator
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from decoding.cli.arguments import tsv_cell
from decoding.corpus.outcomes import Done, Failure, Failures
from decoding.version import __version__
from fstmetrics import Metric
from fstmetrics.references import Reference
from lattices.arrays import FloatColumn
from lattices.errors import FormatError, OptionError
from lattices.formats.base import split_words

if TYPE_CHECKING:
    from lattices.formats.references import References

#: statistics under each metric; None for one under which there are none, or for all
Rows = Sequence[FloatColumn | None] | None


class Lines(NamedTuple):
    """One segment; a plain tuple, since workers send one for each.

    Attributes
    ----------
    text : str
        The lines to write.
    sums : tuple of float
        See :func:`sums_of`.
    engine : str
        The engine that searched, or the method that decided.
    unweighted : tuple of str
        Features that have no weight.
    sentences : tuple of tuples of str
        What a breakdown looks at: the words of each kind, such as oracle and 1-best.
    references : tuple
        What it compares them with.
    beside : str
        Lines for another file than the results.
    """

    text: str
    sums: tuple[float, ...]
    engine: str
    unweighted: tuple[str, ...] = ()
    sentences: tuple[tuple[str, ...], ...] = ()
    references: tuple[Reference, ...] = ()
    beside: str = ""


@dataclass(frozen=True)
class JobLines:
    """A job whose results are spelled out where they are made, so that workers send only text.

    Attributes
    ----------
    job
        With ``metrics`` and ``references``.
    format : {"jsonl", "tsv", "text", "kaldi", "trn"}
    """

    job: Any
    format: str

    @property
    def references(self) -> References | None:
        """Those of the job."""
        found: References | None = self.job.references
        return found

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Those of the job."""
        found: tuple[Metric, ...] = self.job.metrics
        return found


def sums_of(metrics: Sequence[Metric], counts: Sequence[float], *kinds: Rows) -> tuple[float, ...]:
    """Return what a tally adds up for a segment: its counts, and for each kind its statistics.

    In front of the statistics under a metric stands 1, or 0 where there are none. Plain numbers,
    as workers send them: an array takes longer to pickle.

    Examples
    --------
    >>> from fstmetrics import CER, WER
    >>> sums_of((WER(),), (1, True), [np.arange(5.0)], None)
    (1, True, 1, 0.0, 1.0, 2.0, 3.0, 4.0, 0, 0.0, 0.0, 0.0, 0.0, 0.0)
    """
    sums = [*counts]
    for rows in kinds:
        for place, metric in enumerate(metrics):
            row = None if rows is None else rows[place]
            sums += [0] + [0.0] * len(metric.stat_names) if row is None else [1, *row.tolist()]
    return tuple(sums)


@dataclass
class Tally:
    """What is summed up over the segments of a corpus.

    Attributes
    ----------
    metrics : tuple of Metric
    counts : tuple of str
        The names of what is counted.
    kinds : tuple of str
        Whose statistics are summed up, such as ``oracle`` and ``one_best``.
    records, segments : int
        Segments of the input, and those that have a result.
    sums : list of float
        Of :func:`sums_of`, with these counts and kinds; empty without segments.
    engines, unweighted
        All that lines have.
    failures : Failures
    """

    metrics: tuple[Metric, ...]
    counts: tuple[str, ...]
    kinds: tuple[str, ...]
    records: int = 0
    segments: int = 0
    sums: list[float] = field(default_factory=list)
    engines: set[str] = field(default_factory=set)
    unweighted: dict[str, None] = field(default_factory=dict)
    failures: Failures = field(default_factory=Failures)
    started: float = field(default_factory=time.perf_counter)

    def add(self, outcome: Done[Lines] | Failure) -> bytes:
        """Count an outcome, and return what is written for it."""
        self.records += outcome.position >= 0
        if isinstance(outcome, Failure):
            self.failures.append(outcome)
            return b""
        lines = outcome.result
        self.segments += 1
        self.engines.add(lines.engine)
        self.unweighted.update(dict.fromkeys(lines.unweighted))
        sums = lines.sums
        self.sums = list(map(operator.add, self.sums, sums)) if self.sums else [*sums]
        return lines.text.encode("utf-8")

    def state(self) -> dict[str, Any]:
        """Return what :meth:`start` goes on from, but for the failures."""
        return {
            "seconds": time.perf_counter() - self.started,
            "records": self.records,
            "segments": self.segments,
            "sums": self.sums,
            "engines": sorted(self.engines),
            "unweighted": list(self.unweighted),
        }

    def start(self, state: Mapping[str, Any] | None) -> None:
        """Start the clock, and go on from what an earlier run has told of itself."""
        self.started = time.perf_counter()
        if state is not None:
            self.started -= state["seconds"]
            self.records, self.segments = state["records"], state["segments"]
            self.sums = state["sums"] or []
            self.engines = set(state["engines"])
            self.unweighted = dict.fromkeys(state["unweighted"])

    def summary(self) -> dict[str, Any]:
        """Return the counts, and the score of each kind under each metric.

        ``judged`` is how many segments have statistics of the first kind. A kind that has those of
        fewer segments has no score: it could not be compared with the others.
        """
        widths = [1 + len(metric.stat_names) for metric in self.metrics] * len(self.kinds)
        counts, *rows = np.split(np.array(self.sums), np.cumsum([len(self.counts), *widths])[:-1])
        judged = int(rows[0][0])
        count = len(self.metrics)
        scores: dict[str, dict[str, float | None]] = {str(metric): {} for metric in self.metrics}
        for place, (there, *stats) in enumerate(rows):
            metric, kind = self.metrics[place % count], self.kinds[place // count]
            known = judged and there == judged
            scores[str(metric)][kind] = metric.score(np.array(stats)) if known else None
        return {
            "metric": str(self.metrics[0]),
            "segments": self.segments,
            "judged": judged,
            "failed": len(self.failures),
            "seconds": time.perf_counter() - self.started,
            "engine": "+".join(sorted(self.engines)),
            "version": __version__,
            **dict(zip(self.counts, map(int, counts), strict=True)),
            "unweighted": list(self.unweighted),
            "metrics": scores,
        }


def sentence_line(format: str, id: str, score: float, text: str) -> str:
    r"""Return the line of a sentence; what could not be read back is an error.

    Parameters
    ----------
    format : {"tsv", "text", "kaldi", "trn"}
        See :mod:`lattices.formats.system_outputs`, which reads them.
    id, score, text
        Of the sentence. Words are separated by blanks.

    Raises
    ------
    OptionError
        For tabs or line ends; for an id with blanks in it, where blanks separate; and for words
        that are signs of alternatives in trn.

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
        found = nist.READERS["trn"](nist.Lines("", [line.strip(" ")]), None).entries
    except FormatError:
        return False
    return found == {id: " ".join(split_words(text))}
