"""What ``fstmetrics rescore`` writes for a segment, and what it sums up over all of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from decoding.cli.arguments import tsv_cell
from decoding.cli.output.oracle import Totals, numbers
from decoding.corpus.jobs import RescoreJob, SegmentRescored
from decoding.corpus.outcomes import Done, Failure, Segment
from decoding.plain_json import json_text
from fstmetrics import Metric
from lattices.arrays import FloatColumn
from lattices.errors import OptionError
from lattices.formats.references import References

#: what is summed up before the statistics of the new best and of the best in the file
_COUNTS = ("size", "judged", "unscored")


class RescoredLine(NamedTuple):
    """One segment: what :class:`~.oracle_output.Lines` has, and its features without a weight."""

    text: str
    sums: tuple[float, ...]
    engine: str
    unweighted: tuple[str, ...]


@dataclass(frozen=True)
class RescoreLines:
    """The job of the command: rescore and spell out, so that workers send nothing but text.

    Attributes
    ----------
    job : RescoreJob
    format : {"tsv", "jsonl", "text"}
    """

    job: RescoreJob
    format: str

    @property
    def references(self) -> References | None:
        """Those of the job."""
        return self.job.references

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Those of the job."""
        return self.job.metrics

    def __call__(self, segments: Sequence[Segment]) -> list[RescoredLine]:
        """Return the line of each segment."""
        return [
            RescoredLine(
                self._spelt(segment.id, found), self._sums(found), "model", found.unweighted
            )
            for segment, found in zip(segments, self.job(segments), strict=True)
        ]

    def _spelt(self, id: str, found: SegmentRescored) -> str:
        said = found.hypothesis
        if self.format == "tsv":
            return f"{tsv_cell(id)}\t{said.score!r}\t{tsv_cell(said.text)}\n"
        if self.format == "text":
            if "\n" in said.text or "\r" in said.text:
                raise OptionError(
                    f"{said.text!r} has a line end in it, which text cannot hold; "
                    "use --format jsonl"
                )
            return said.text + "\n"
        fields: dict[str, Any] = {
            "id": id,
            "score": said.score,
            "words": said.tokens,
            "text": said.text,
            "features": dict(said.features),
        }
        if found.stats is not None:
            fields["scores"] = {
                str(metric): metric.score(row)
                for metric, row in zip(self.job.metrics, found.stats, strict=True)
            }
        return json_text(fields) + "\n"

    def _sums(self, found: SegmentRescored) -> tuple[float, ...]:
        nothing = [np.zeros(len(metric.stat_names)) for metric in self.job.metrics]
        return numbers(
            (found.size, found.stats is not None, found.unscored),
            *(found.stats or nothing),
            *(found.one_best_stats or nothing),
        )


@dataclass
class RescoreTotals(Totals):
    """What is summed up over the segments; ``unweighted`` are all features without a weight."""

    text: bool = False
    unweighted: dict[str, None] = field(default_factory=dict)

    def add(self, outcome: Done[Any] | Failure) -> bytes:
        """Count an outcome, and return what is written for it.

        Plain text has no ids: a segment that failed leaves an empty line, so that line i is
        still segment i.
        """
        written = super().add(outcome)
        if isinstance(outcome, Failure):
            return b"\n" if self.text and outcome.position >= 0 else written
        self.unweighted.update(dict.fromkeys(outcome.result.unweighted))
        return written

    def state(self) -> dict[str, Any]:
        """Return what :meth:`restore` needs."""
        return {**super().state(), "unweighted": list(self.unweighted)}

    def start(self, state: Mapping[str, Any] | None) -> None:
        """Start the clock, and go on from what an earlier run has told of itself."""
        super().start(state)
        if state is not None:
            self.unweighted = dict.fromkeys(state["unweighted"])

    def summary(self) -> dict[str, Any]:
        """Return the summary as it is written."""
        import decoding

        assert self.sums is not None
        size, judged, unscored = map(int, self.sums[: len(_COUNTS)])
        widths = [len(metric.stat_names) for metric in self.metrics]
        rows = np.split(np.array(self.sums[len(_COUNTS) :]), np.cumsum([*widths, *widths])[:-1])
        count = len(widths)
        return {
            "segments": self.segments,
            "judged": judged,
            "failed": len(self.failures),
            "seconds": time.perf_counter() - self.started,
            "size": size,
            "version": decoding.__version__,
            "unweighted": list(self.unweighted),
            "unscored": unscored,
            "metrics": {
                str(metric): {
                    "file": _score(metric, before, judged),
                    "rescored": _score(metric, now, judged),
                }
                for metric, now, before in zip(
                    self.metrics, rows[:count], rows[count:], strict=True
                )
            },
        }


def _score(metric: Metric, stats: FloatColumn, judged: int) -> float | None:
    return metric.score(stats) if judged else None
