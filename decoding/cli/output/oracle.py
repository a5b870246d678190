"""What ``fstmetrics oracle`` writes for a segment, and what it sums up over all of them."""

from __future__ import annotations

import operator
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from decoding.cli.arguments import tsv_cell
from decoding.corpus.jobs import CandidatesJob, OracleJob, SegmentOracles
from decoding.corpus.outcomes import Done, Failure, Failures, Segment
from decoding.extraction.choice import CorpusChoice
from decoding.extraction.corpus import Candidates, choose, sum_of
from decoding.extraction.results import Oracle
from decoding.plain_json import json_text
from fstmetrics import Metric
from lattices.arrays import FloatColumn
from lattices.formats.references import References

#: what is summed up before the statistics of the oracles and of the model's best
_COUNTS = ("results", "exact", "arcs", "decomposing", "unscored", "zeros")


class Lines(NamedTuple):
    """One segment; a plain tuple, since workers send one for each.

    Attributes
    ----------
    text : str
        The lines to write.
    sums : tuple of float
        Results, those proven, arcs, 1 if the metric decomposes, 1 if the model has no scores, 1 if
        the oracle scores 0; then the statistics of the oracle under each metric, and those of the
        model's best.
    engine : str
        Who searched.
    """

    text: str
    sums: tuple[float, ...]
    engine: str


@dataclass(frozen=True)
class OracleLines:
    """The job of the command: search and spell out, so that workers send nothing but text.

    Attributes
    ----------
    metrics, references, search
        As in :class:`decoding.corpus.jobs.OracleJob`; ``search`` has the rest of its arguments.
    format : {"tsv", "jsonl"}
    """

    metrics: tuple[Metric, ...]
    references: References | None
    format: str
    search: Mapping[str, Any]

    def __call__(self, segments: Sequence[Segment]) -> list[Lines]:
        """Return the lines of each segment."""
        found = OracleJob(self.metrics, self.references, **self.search)(segments)
        spelt = _tsv_lines if self.format == "tsv" else _json_lines
        return [
            Lines(spelt(segment.id, result, self.metrics), _sums(result), result.engine)
            for segment, result in zip(segments, found, strict=True)
        ]


def numbers(*parts: Iterable[float]) -> tuple[float, ...]:
    """Return the numbers of all parts, as workers send them: an array takes longer to pickle.

    Examples
    --------
    >>> numbers((1, True), np.array([0.5, 2.0]))
    (1, True, 0.5, 2.0)
    """
    plain = (part.tolist() if isinstance(part, np.ndarray) else part for part in parts)
    return tuple(chain.from_iterable(plain))


def _sums(result: SegmentOracles) -> tuple[float, ...]:
    proven = sum(found.exact for found in result.oracles)
    zero = result.oracles[0].score == 0
    counts = (len(result.oracles), proven, result.arcs, result.decomposes, result.unscored, zero)
    return numbers(counts, *result.stats[0], *result.one_best_stats)


class KeptSegment(NamedTuple):
    """What is kept of one segment until the corpus oracle is chosen.

    Attributes
    ----------
    texts : tuple of str
        The line to write for each candidate.
    candidates : Candidates
        Without their hypotheses.
    stats : float64 array
        For each candidate, its statistics under all metrics, one after the other.
    arcs : int
    decomposes, unscored : bool
    """

    texts: tuple[str, ...]
    candidates: Candidates
    stats: FloatColumn
    arcs: int
    decomposes: bool
    unscored: bool


@dataclass(frozen=True)
class CorpusLines:
    """The job of the command with ``--corpus``: find and spell out all that may be written.

    Attributes
    ----------
    metrics, references, format
        As in :class:`OracleLines`.
    search
        The rest of the arguments of :class:`decoding.corpus.jobs.CandidatesJob`.
    """

    metrics: tuple[Metric, ...]
    references: References | None
    format: str
    search: Mapping[str, Any]

    def __call__(self, segments: Sequence[Segment]) -> list[KeptSegment]:
        """Return the candidates of each segment."""
        found = CandidatesJob(self.metrics, self.references, **self.search)(segments)
        return [
            KeptSegment(
                tuple(
                    [
                        self._spelt(segment.id, each, row)
                        for each, row in zip(result.oracles, result.stats, strict=True)
                    ]
                ),
                result.candidates._replace(hypotheses=()),
                result.stats,
                result.arcs,
                result.decomposes,
                result.unscored,
            )
            for segment, result in zip(segments, found, strict=True)
        ]

    def _spelt(self, id: str, found: Oracle, row: FloatColumn) -> str:
        if self.format == "tsv":
            return _tsv_line(id, found)
        return json_text(_fields(id, found, _split(row, self.metrics), self.metrics)) + "\n"


def _split(row: FloatColumn, metrics: tuple[Metric, ...]) -> list[FloatColumn]:
    """Return the statistics of each metric."""
    return np.split(row, np.cumsum([len(metric.stat_names) for metric in metrics])[:-1])


def _tsv_line(id: str, found: Oracle) -> str:
    return f"{tsv_cell(id)}\t{found.score!r}\t{tsv_cell(found.text)}\n"


def _tsv_lines(id: str, result: SegmentOracles, metrics: tuple[Metric, ...]) -> str:
    return "".join(_tsv_line(id, found) for found in result.oracles)


def _json_lines(id: str, result: SegmentOracles, metrics: tuple[Metric, ...]) -> str:
    lines = []
    for rank, (found, stats) in enumerate(zip(result.oracles, result.stats, strict=True), start=1):
        name, *fields = _fields(id, found, stats, metrics).items()
        bound = [] if found.bound is None else [("bound", found.bound)]
        proof = [("exact", found.exact), *bound]
        lines.append(json_text(dict([name, ("rank", rank), *fields, *proof])))
    return "".join(line + "\n" for line in lines)


def _fields(
    id: str, found: Oracle, stats: Sequence[FloatColumn], metrics: tuple[Metric, ...]
) -> dict[str, Any]:
    first = metrics[0]
    return {
        "id": id,
        "score": found.score,
        "words": found.tokens,
        "text": found.text,
        "metric": str(first),
        "scores": {
            str(metric): metric.score(row) for metric, row in zip(metrics, stats, strict=True)
        },
        "stats": dict(zip(first.stat_names, found.stats.tolist(), strict=True)),
        "model_score": found.hypothesis.score,
        "features": dict(found.hypothesis.features),
        "reference": found.reference,
        "alignment": [[edit.operation, edit.hypothesis, edit.reference] for edit in found.edits],
    }


@dataclass
class Totals:
    """What is summed up over the segments."""

    metrics: tuple[Metric, ...]
    records: int = 0
    segments: int = 0
    sums: list[float] | None = None
    engines: set[str] = field(default_factory=set)
    failures: Failures = field(default_factory=Failures)
    started: float = field(default_factory=time.perf_counter)

    def decide(self, outcomes: Iterator[Done[Any] | Failure]) -> Iterator[Done[Any] | Failure]:
        """Iterate over what is written and counted; here that is what comes in."""
        return outcomes

    def add(self, outcome: Done[Lines] | Failure) -> bytes:
        """Count an outcome, and return what is written for it."""
        self.records += outcome.position >= 0
        if isinstance(outcome, Failure):
            self.failures.append(outcome)
            return b""
        self.segments += 1
        self.engines.add(outcome.result.engine)
        sums = outcome.result.sums
        self.sums = [*sums] if self.sums is None else list(map(operator.add, self.sums, sums))
        return outcome.result.text.encode("utf-8")

    def state(self) -> dict[str, Any]:
        """Return what :meth:`restore` needs, but for the failures."""
        return {
            "seconds": time.perf_counter() - self.started,
            "records": self.records,
            "segments": self.segments,
            "sums": self.sums,
            "engines": sorted(self.engines),
        }

    def start(self, state: Mapping[str, Any] | None) -> None:
        """Start the clock, and go on from what an earlier run has told of itself."""
        self.started = time.perf_counter()
        if state is not None:
            self.started -= state["seconds"]
            self.records, self.segments = state["records"], state["segments"]
            self.sums = state["sums"]
            self.engines = set(state["engines"])

    def summary(self) -> dict[str, Any]:
        """Return the summary as it is written."""
        import decoding

        seconds = time.perf_counter() - self.started

        widths = [len(metric.stat_names) for metric in self.metrics]
        assert self.sums is not None
        ends = np.cumsum([len(_COUNTS), *widths, *widths])
        counts, *rows = np.split(np.array(self.sums), ends[:-1])
        results, exact, arcs, decomposing, unscored, zeros = map(int, counts)
        both = zip(self.metrics, rows[: len(widths)], rows[len(widths) :], strict=True)
        scores = {
            str(metric): {"oracle": metric.score(oracle), "one_best": metric.score(one_best)}
            for metric, oracle, one_best in both
        }
        return {
            "metric": str(self.metrics[0]),
            "segments": self.segments,
            "failed": len(self.failures),
            **scores[str(self.metrics[0])],
            "seconds": seconds,
            "arcs": arcs,
            "arcs_per_second": arcs / seconds,
            "engine": "+".join(sorted(self.engines)),
            "version": decoding.__version__,
            "results": results,
            "exact": exact,
            "decomposes": decomposing == self.segments,
            "unscored": unscored,
            "zeros": zeros,
            "metrics": scores,
        }


@dataclass
class CorpusTotals(Totals):
    """What is summed up over the segments of a corpus whose oracle is chosen in the end."""

    choice: CorpusChoice | None = None
    sentence_stats: FloatColumn | None = None

    def decide(
        self, outcomes: Iterator[Done[KeptSegment] | Failure]
    ) -> Iterator[Done[Lines] | Failure]:
        """Wait for all segments, choose, and iterate over what was chosen."""
        waiting = list(outcomes)
        kept = [outcome.result for outcome in waiting if isinstance(outcome, Done)]
        places: Iterator[int] = iter(())
        if kept:
            self.choice = choose([segment.candidates for segment in kept], self.metrics[0])
            self.sentence_stats = sum_of(each.stats[each.candidates.sentence] for each in kept)
            places = iter(self.choice.places.tolist())
        for outcome in waiting:
            yield outcome if isinstance(outcome, Failure) else self._chosen(outcome, next(places))

    def _chosen(self, outcome: Done[KeptSegment], place: int) -> Done[Lines]:
        segment = outcome.result
        assert self.choice is not None
        sums = numbers(
            (1, self.choice.exact, segment.arcs, segment.decomposes, segment.unscored, False),
            segment.stats[place],
            segment.stats[segment.candidates.first],
        )
        lines = Lines(segment.texts[place], sums, segment.candidates.engine)
        return Done(outcome.position, outcome.path, outcome.line, outcome.id, lines)

    def summary(self) -> dict[str, Any]:
        """Return the summary as it is written."""
        assert self.choice is not None
        assert self.sentence_stats is not None
        summary = super().summary()
        rows = _split(self.sentence_stats, self.metrics)
        for metric, row in zip(self.metrics, rows, strict=True):
            summary["metrics"][str(metric)]["sentence_oracles"] = metric.score(row)
        summary["metrics"][summary["metric"]]["bound"] = self.choice.bound
        return {
            **summary,
            "sentence_oracles": summary["metrics"][summary["metric"]]["sentence_oracles"],
            "bound": self.choice.bound,
            "gap": self.choice.gap,
            "corpus": True,
        }
