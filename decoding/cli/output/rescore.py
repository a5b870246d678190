"""Lines of ``fstmetrics rescore``, and what is summed up over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from decoding.cli.output.lines import JobLines, Lines, sentence_line, sums_of
from decoding.corpus.jobs import RescoreJob, SegmentRescored
from decoding.corpus.outcomes import Segment
from decoding.plain_json import json_text

#: what is counted of a segment
COUNTS = ("size", "unscored")
KINDS = ("rescored", "file")


def conclude(summary: dict[str, Any]) -> dict[str, Any]:
    """Return the summary as it is written."""
    return {name: value for name, value in summary.items() if name not in ("metric", "engine")}


@dataclass(frozen=True)
class RescoreLines(JobLines):
    """The job of the command: rescore and spell out, so that workers send nothing but text.

    Attributes
    ----------
    job : RescoreJob
    format : {"jsonl", "tsv", "text", "kaldi", "trn"}
    """

    job: RescoreJob

    def __call__(self, segments: Sequence[Segment]) -> list[Lines]:
        """Return the line of each segment."""
        return [
            Lines(self._spelt(segment.id, found), self._sums(found), "model", found.unweighted)
            for segment, found in zip(segments, self.job(segments), strict=True)
        ]

    def _spelt(self, id: str, found: SegmentRescored) -> str:
        said = found.hypothesis
        if self.format != "jsonl":
            return sentence_line(self.format, id, said.score, said.text)
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
        counts = (found.size, found.unscored)
        return sums_of(self.job.metrics, counts, found.stats, found.one_best_stats)
