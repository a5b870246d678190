"""What ``fstmetrics oracle`` writes for a segment, and what it sums up over all of them."""

from __future__ import annotations

import operator
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from decoding.commands.arguments import tsv_cell
from decoding.jobs import OracleJob, SegmentOracles
from decoding.outcomes import Done, Failure, Segment
from decoding.plain_json import json_text
from fstmetrics import Metric
from lattices.formats.references import References

#: what is summed up before the statistics of the oracles and of the model's best
_COUNTS = ("results", "exact", "arcs", "unscored")


class Lines(NamedTuple):
    """One segment; a plain tuple, since workers send one for each.

    Attributes
    ----------
    text : str
        The lines to write.
    sums : tuple of float
        Results, those proven, arcs, and whether the model has no scores; then the statistics
        of the oracle under each metric, and those of the model's best.
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
        As in :class:`decoding.jobs.OracleJob`; ``search`` has the rest of its arguments.
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
    counts = (len(result.oracles), proven, result.arcs, result.unscored)
    return numbers(counts, *result.stats[0], *result.one_best_stats)


def _tsv_lines(id: str, result: SegmentOracles, metrics: tuple[Metric, ...]) -> str:
    name = tsv_cell(id)
    return "".join(f"{name}\t{found.score!r}\t{tsv_cell(found.text)}\n" for found in result.oracles)


def _json_lines(id: str, result: SegmentOracles, metrics: tuple[Metric, ...]) -> str:
    first = metrics[0]
    return "".join(
        json_text(
            {
                "id": id,
                "rank": rank,
                "score": found.score,
                "words": found.tokens,
                "text": found.text,
                "metric": str(first),
                "scores": {
                    str(metric): metric.score(row)
                    for metric, row in zip(metrics, stats, strict=True)
                },
                "stats": dict(zip(first.stat_names, found.stats.tolist(), strict=True)),
                "model_score": found.hypothesis.score,
                "features": dict(found.hypothesis.features),
                "reference": found.reference,
                "alignment": [
                    [edit.operation, edit.hypothesis, edit.reference] for edit in found.edits
                ],
                "exact": found.exact,
            }
        )
        + "\n"
        for rank, (found, stats) in enumerate(
            zip(result.oracles, result.stats, strict=True), start=1
        )
    )


@dataclass
class Totals:
    """What is summed up over the segments."""

    metrics: tuple[Metric, ...]
    records: int = 0
    segments: int = 0
    sums: list[float] | None = None
    engines: set[str] = field(default_factory=set)
    failures: list[Failure] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)
    _told: int = 0

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
        """Return what :meth:`restore` needs; failures only if they were not in one before."""
        told, self._told = self._told, len(self.failures)
        return {
            "seconds": time.perf_counter() - self.started,
            "records": self.records,
            "segments": self.segments,
            "sums": self.sums,
            "engines": sorted(self.engines),
            "failures": [
                [each.position, each.path, each.line, each.id, each.reason]
                for each in self.failures[told:]
            ],
        }

    def restore(self, states: Sequence[Mapping[str, Any]]) -> None:
        """Go on from what a run has told of itself, one state after the other."""
        self.failures = [Failure(*each) for state in states for each in state["failures"]]
        self._told = len(self.failures)
        if states:
            last = states[-1]
            self.started -= last["seconds"]
            self.records, self.segments = last["records"], last["segments"]
            self.sums = last["sums"]
            self.engines = set(last["engines"])

    def summary(self) -> dict[str, Any]:
        """Return the summary as it is written."""
        import decoding

        seconds = time.perf_counter() - self.started

        widths = [len(metric.stat_names) for metric in self.metrics]
        assert self.sums is not None
        ends = np.cumsum([len(_COUNTS), *widths, *widths])
        counts, *rows = np.split(np.array(self.sums), ends[:-1])
        results, exact, arcs, unscored = map(int, counts)
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
            "unscored": unscored,
            "metrics": scores,
            "failures": [
                {"id": failure.id, "place": failure.place, "reason": failure.reason}
                for failure in self.failures
            ],
        }
