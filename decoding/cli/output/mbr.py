"""What ``fstmetrics mbr`` writes for a segment, and what it sums up over all of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from decoding.cli.arguments import tsv_cell
from decoding.cli.output.oracle import Lines, Totals, numbers
from decoding.corpus.jobs import MBRJob, SegmentConsensus
from decoding.corpus.outcomes import Segment
from decoding.plain_json import json_text
from fstmetrics import Metric
from lattices.formats.references import References

#: what is summed up before the number of oracles under each metric, and the statistics
_COUNTS = ("results", "exact", "arcs", "judged", "unscored")


@dataclass(frozen=True)
class MBRLines:
    """The job of the command: decode and spell out, so that workers send nothing but text.

    Attributes
    ----------
    metrics, references, decision
        As in :class:`decoding.corpus.jobs.MBRJob`; ``decision`` has the rest of its arguments.
    format : {"tsv", "jsonl"}
    """

    metrics: tuple[Metric, ...]
    references: References | None
    format: str
    decision: Mapping[str, Any]

    def __call__(self, segments: Sequence[Segment]) -> list[Lines]:
        """Return the lines of each segment."""
        found = MBRJob(self.metrics, self.references, **self.decision)(segments)
        return [
            Lines(
                self._spelt(segment.id, result),
                _sums(result, self.metrics),
                result.consensus[0].method,
            )
            for segment, result in zip(segments, found, strict=True)
        ]

    def _spelt(self, id: str, result: SegmentConsensus) -> str:
        if self.format == "tsv":
            name = tsv_cell(id)
            return "".join(
                f"{name}\t{found.expected!r}\t{tsv_cell(found.text)}\n"
                for found in result.consensus
            )
        return "".join(
            json_text(_fields(id, result, rank, self.metrics)) + "\n"
            for rank in range(len(result.consensus))
        )


def _fields(
    id: str, result: SegmentConsensus, rank: int, metrics: tuple[Metric, ...]
) -> dict[str, Any]:
    found = result.consensus[rank]
    fields = {
        "id": id,
        "rank": rank + 1,
        "expected": found.expected,
        "words": found.tokens,
        "text": found.text,
        "method": found.method,
        "metric": str(metrics[0]),
        "exact": found.exact,
        "candidates": found.candidates,
        "evidence": found.evidence,
        "model_score": found.hypothesis.score,
        "features": dict(found.hypothesis.features),
    }
    if result.stats is not None:
        fields["scores"] = {
            str(metric): metric.score(row)
            for metric, row in zip(metrics, result.stats[rank], strict=True)
        }
    return fields


def _sums(result: SegmentConsensus, metrics: tuple[Metric, ...]) -> tuple[float, ...]:
    proven = sum(found.exact for found in result.consensus)
    judged = result.stats is not None
    nothing = [np.zeros(len(metric.stat_names)) for metric in metrics]
    oracles = result.oracle_stats or (None,) * len(metrics)
    return numbers(
        (len(result.consensus), proven, result.arcs, judged, result.unscored),
        [float(row is not None) for row in oracles],
        *(nothing if result.stats is None else result.stats[0]),
        *(result.one_best_stats or nothing),
        *(zero if row is None else row for row, zero in zip(oracles, nothing, strict=True)),
    )


@dataclass
class MBRTotals(Totals):
    """What is summed up over the segments."""

    def summary(self) -> dict[str, Any]:
        """Return the summary as it is written."""
        import decoding

        assert self.sums is not None
        seconds = time.perf_counter() - self.started
        results, exact, arcs, judged, unscored = map(int, self.sums[: len(_COUNTS)])
        widths = [len(metric.stat_names) for metric in self.metrics]
        first = len(_COUNTS) + len(widths)
        oracles = self.sums[len(_COUNTS) : first]
        rows = np.split(np.array(self.sums[first:]), np.cumsum([*widths, *widths, *widths])[:-1])
        kinds = [rows[place :: len(widths)] for place in range(len(widths))]
        scores = {
            str(metric): {
                "one_best": metric.score(one_best) if judged else None,
                "mbr": metric.score(chosen) if judged else None,
                # of fewer segments it could not be compared with the others
                "oracle": metric.score(oracle) if judged and found == judged else None,
            }
            for metric, found, (chosen, one_best, oracle) in zip(
                self.metrics, oracles, kinds, strict=True
            )
        }
        return {
            "metric": str(self.metrics[0]),
            "segments": self.segments,
            "judged": judged,
            "failed": len(self.failures),
            "seconds": seconds,
            "arcs": arcs,
            "method": "+".join(sorted(self.engines)),
            "version": decoding.__version__,
            "results": results,
            "exact": exact,
            "unscored": unscored,
            "metrics": scores,
        }
