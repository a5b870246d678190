"""Lines of ``fstmetrics mbr``, and what is summed up over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from decoding.cli.output.confusion import ctm_lines, words_of
from decoding.cli.output.lines import Lines, sentence_line, sums_of
from decoding.corpus.jobs import MBRJob, SegmentConsensus
from decoding.corpus.outcomes import Segment
from decoding.minimum_risk.confusion import ConfusionNetwork
from decoding.minimum_risk.edit import EditConsensus
from decoding.minimum_risk.results import Consensus
from decoding.plain_json import json_text
from fstmetrics import Metric
from lattices.errors import OptionError
from lattices.formats.references import References
from lattices.vocabulary import EPSILON

if TYPE_CHECKING:
    from fstmetrics.statistics.calibration import Calibration

#: what is counted of a segment
COUNTS = ("results", "exact", "arcs", "unscored", "decomposing")
KINDS = ("mbr", "one_best", "own_oracle")
#: what other commands have in their summaries
_OTHERS = ("engine", "unweighted")


@dataclass(frozen=True)
class MBRLines:
    """The job of the command: decode and spell out, so that workers send nothing but text.

    Attributes
    ----------
    metrics, references, decision
        As in :class:`decoding.corpus.jobs.MBRJob`; ``decision`` has the rest of its arguments.
    format : {"jsonl", "ctm", "tsv", "text", "kaldi", "trn"}
    confidences : bool
        Whether JSON has the words with confidences, times and alternatives.
    channel : str
        Of ctm.
    calibration : Calibration or None
        Of the confidences; its scale is not looked at.
    """

    metrics: tuple[Metric, ...]
    references: References | None
    format: str
    decision: Mapping[str, Any]
    confidences: bool = False
    channel: str = "1"
    calibration: Calibration | None = None

    def __call__(self, segments: Sequence[Segment]) -> list[Lines]:
        """Return the lines of each segment."""
        found = MBRJob(self.metrics, self.references, **self.decision)(segments)
        return [
            Lines(
                self._spelt(segment.id, result),
                _sums(result, self.metrics),
                result.consensus[0].method,
                beside=matrix_line(segment.id, self.metrics[0], result.consensus[0]),
            )
            for segment, result in zip(segments, found, strict=True)
        ]

    def _spelt(self, id: str, result: SegmentConsensus) -> str:
        if self.format == "ctm":
            networks = [_network(found) for found in result.consensus]
            return "".join(ctm_lines(each, self.channel, self.calibration) for each in networks)
        if self.format != "jsonl":
            return "".join(
                sentence_line(self.format, id, found.expected, found.text)
                for found in result.consensus
            )
        return "".join(
            json_text(
                {
                    **_fields(id, result, rank, self.metrics),
                    **({"confidences": self._confidences(found)} if self.confidences else {}),
                }
            )
            + "\n"
            for rank, found in enumerate(result.consensus)
        )

    def _confidences(self, found: Consensus) -> list[dict[str, Any]]:
        """Return the words of a decision with confidences, times and alternatives.

        Each has ``word``, ``confidence``, ``begin`` and ``end`` (null without times), and
        ``alternatives``, the other words of its place, "" for none, with their posteriors.
        """
        network = _network(found)
        spoken = np.flatnonzero(network.label[network.chosen] != EPSILON).tolist()
        bins = network.bins
        return [
            {
                **word._asdict(),
                "alternatives": [
                    [each.word, each.posterior] for each in alternatives if each.word != word.word
                ],
            }
            for word, alternatives in zip(
                words_of(network, self.calibration), [bins[place] for place in spoken], strict=True
            )
        ]


def matrix_line(id: str, metric: Metric, found: Consensus) -> str:
    """Return the line of JSON with the scores of all pairs; nothing if they were not asked for.

    It has ``id``, ``metric``, the texts of ``candidates`` and of ``evidence``, the ``weights`` of
    the evidence, and ``scores``: ``scores[c][e]`` is that of candidate c against evidence e.
    """
    if found.method not in ("pairwise", "aggregate"):
        return ""
    from decoding.minimum_risk.pairwise import PairwiseConsensus

    if not isinstance(found, PairwiseConsensus):
        return ""
    return json_text({"id": id, "metric": str(metric), **found.matrix.to_dict()}) + "\n"


def _network(found: Consensus) -> ConfusionNetwork:
    """Return the network of a decision, or raise OptionError if the method has none."""
    if not isinstance(found, EditConsensus):
        raise OptionError(f"method {found.method} has no confidences; use --method edit")
    return found.network


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


def conclude(summary: dict[str, Any]) -> dict[str, Any]:
    """Return the summary as it is written."""
    whole = {name: value for name, value in summary.items() if name not in _OTHERS}
    whole["decomposes"] = whole.pop("decomposing") == whole["segments"]
    return {**whole, "method": summary["engine"]}


def _sums(result: SegmentConsensus, metrics: tuple[Metric, ...]) -> tuple[float, ...]:
    proven = sum(found.exact for found in result.consensus)
    return sums_of(
        metrics,
        (len(result.consensus), proven, result.arcs, result.unscored, result.decomposes),
        None if result.stats is None else result.stats[0],
        result.one_best_stats,
        result.oracle_stats,
    )
