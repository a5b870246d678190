"""Lines and summary of ``fstmetrics oracle``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from decoding.cli.output.lines import JobLines, Lines, Tally, sentence_line, sums_of
from decoding.cli.running import SENTENCE_ORACLES
from decoding.corpus.jobs import CandidatesJob, CurveJob, OracleJob, SegmentOracles
from decoding.corpus.outcomes import Done, Failure, Segment
from decoding.extraction.results import Oracle
from decoding.plain_json import json_text
from fstmetrics import Metric
from lattices.arrays import FloatColumn
from lattices.errors import OptionError

if TYPE_CHECKING:
    from decoding.cli.tables import Report
    from decoding.extraction.corpus import Candidates
    from decoding.extraction.corpus_selection import CorpusChoice
    from decoding.plots import Panel

#: what is counted of a segment
COUNTS = ("results", "exact", "arcs", "decomposing", "unscored", "zeros")
KINDS = ("oracle", "one_best")
#: what other commands have in their summaries
_OTHERS = ("judged", "unweighted")


@dataclass(frozen=True)
class OracleLines(JobLines):
    """The job of the command: search and spell out, so that workers send nothing but text.

    Attributes
    ----------
    job : OracleJob
    format : {"jsonl", "tsv", "text", "kaldi", "trn"}
    sentences : bool
        Whether to send sentences and references, too.
    """

    job: OracleJob
    sentences: bool = False

    def __call__(self, segments: Sequence[Segment]) -> list[Lines]:
        """Return the lines of each segment."""
        found = self.job(segments)
        return [
            Lines(
                self._spelt(segment.id, result),
                _sums(result, self.metrics),
                result.engine,
                sentences=(result.oracles[0].tokens, result.one_best) if self.sentences else (),
                references=segment.references(self.references) if self.sentences else (),
            )
            for segment, result in zip(segments, found, strict=True)
        ]

    def _spelt(self, id: str, result: SegmentOracles) -> str:
        if self.format == "jsonl":
            return _json_lines(id, result, self.metrics)
        return "".join(
            sentence_line(self.format, id, found.score, found.text) for found in result.oracles
        )


def _sums(result: SegmentOracles, metrics: tuple[Metric, ...]) -> tuple[float, ...]:
    proven = sum(found.exact for found in result.oracles)
    zero = result.oracles[0].score == 0
    counts = (len(result.oracles), proven, result.arcs, result.decomposes, result.unscored, zero)
    return sums_of(metrics, counts, result.stats[0], result.one_best_stats)


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
class CorpusLines(JobLines):
    """The job of the command with ``--corpus``: find and spell out all that may be written.

    Attributes
    ----------
    job : CandidatesJob
    format
        As in :class:`OracleLines`.
    """

    job: CandidatesJob

    def __call__(self, segments: Sequence[Segment]) -> list[KeptSegment]:
        """Return the candidates of each segment."""
        found = self.job(segments)
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
        if self.format != "jsonl":
            return sentence_line(self.format, id, found.score, found.text)
        return json_text(_fields(id, found, _split(row, self.metrics), self.metrics)) + "\n"


def _split(row: FloatColumn, metrics: tuple[Metric, ...]) -> list[FloatColumn]:
    """Return the statistics of each metric."""
    return np.split(row, np.cumsum([len(metric.stat_names) for metric in metrics])[:-1])


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


def conclude(summary: dict[str, Any]) -> dict[str, Any]:
    """Return the summary as it is written."""
    whole = {name: value for name, value in summary.items() if name not in _OTHERS}
    whole["decomposes"] = whole.pop("decomposing") == whole["segments"]
    whole["arcs_per_second"] = whole["arcs"] / whole["seconds"]
    return {**whole, **whole["metrics"][whole["metric"]]}


@dataclass(frozen=True)
class CurveSums:
    """The job of the command with ``--at`` or ``--densities``: nothing but sums of every segment.

    Attributes
    ----------
    job : CurveJob
    """

    job: CurveJob

    def __call__(self, segments: Sequence[Segment]) -> list[Lines]:
        """Return no text, but the sums of each segment."""
        return [
            Lines(
                "",
                sums_of(
                    self.job.metrics,
                    (found.decomposes, found.unscored, found.words, *found.sizes),
                    *found.stats,
                ),
                found.engine,
            )
            for found in self.job(segments)
        ]

    def tally(self) -> Tally:
        """Return what adds them up; a kind of statistics is a point of the curve."""
        points = tuple(map(str, self.job.at or self.job.densities))
        sizes = tuple(f"size at {point}" for point in points)
        return Tally(self.job.metrics, ("decomposing", "unscored", "words", *sizes), points)

    def report(self, summary: dict[str, Any]) -> Report:
        """Return the table: a line for each point, with the corpus scores of its oracles."""
        from decoding.cli.tables import Report, headings

        metrics, points = self.job.metrics, self.job.at or self.job.densities
        labels, notes = headings(metrics)
        rows = self._rows(summary)
        name, size = ("k", "sentences") if self.job.at else ("density", "arcs a word")
        if len(metrics) > 1:
            notes.append(f"oracles under {labels[0]}, scored under every metric")
        if summary["decomposing"] < summary["segments"]:
            notes.append(SENTENCE_ORACLES)
        return Report(
            [name, size, *labels],
            [
                [f"{point:g}", f"{size:.1f}", *(f"{score:.4f}" for score in scores)]
                for point, size, *scores in rows
            ],
            [*notes, f"{summary['segments']} segments, {summary['failed']} failed"],
            tsv_rows=lambda: [
                [name, size.replace(" ", "_"), *map(str, metrics)],
                *([repr(cell) for cell in row] for row in rows),
            ],
            content=lambda: {
                "segments": summary["segments"],
                "failed": summary["failed"],
                "points": [
                    {
                        name: point,
                        size.replace(" ", "_"): mean,
                        "scores": dict(zip(map(str, metrics), scores, strict=True)),
                    }
                    for point, (_, mean, *scores) in zip(points, rows, strict=True)
                ],
            },
            left=(),
        )

    def _rows(self, summary: dict[str, Any]) -> list[list[float]]:
        """Return each point: what was asked for, the mean of what there was, the scores."""
        whole = summary["segments"] if self.job.at else max(1, summary["words"])
        return [
            [
                point,
                summary[f"size at {point}"] / whole,
                *(summary["metrics"][str(metric)][str(point)] for metric in self.job.metrics),
            ]
            for point in self.job.at or self.job.densities
        ]

    def panels(self, summary: dict[str, Any]) -> list[Panel]:
        """Return a picture for each metric: densities are drawn where they were attained."""
        from decoding.cli.tables import headings
        from decoding.plots import BEST_K, oracle_panel

        rows = self._rows(summary)
        return [
            oracle_panel(
                label,
                BEST_K if self.job.at else "arcs a word",
                [(row[0] if self.job.at else row[1], row[2 + place]) for row in rows],
                "" if metric.higher_is_better else " (lower is better)",
            )
            for place, (label, metric) in enumerate(
                zip(headings(self.job.metrics)[0], self.job.metrics, strict=True)
            )
        ]


@dataclass
class CorpusDecision:
    """The corpus oracle, which is chosen when all segments are there.

    Attributes
    ----------
    metrics : tuple of Metric
    decided : tuple of CorpusChoice and float64 column, optional
        What was chosen, and the sum over the sentence oracles, under all metrics one after the
        other; None while there is nothing to choose from.
    """

    metrics: tuple[Metric, ...]
    decided: tuple[CorpusChoice, FloatColumn] | None = None

    def decide(
        self, outcomes: Iterator[Done[KeptSegment] | Failure]
    ) -> Iterator[Done[Lines] | Failure]:
        """Wait for all segments, choose, and iterate over what was chosen."""
        from decoding.extraction.corpus import choose, sum_of

        waiting = list(outcomes)
        kept = [outcome.result for outcome in waiting if isinstance(outcome, Done)]
        places: Iterator[int] = iter(())
        exact = False
        if kept:
            choice = choose([segment.candidates for segment in kept], self.metrics[0])
            self.decided = choice, sum_of(each.stats[each.candidates.sentence] for each in kept)
            places, exact = iter(choice.places.tolist()), choice.exact
        for outcome in waiting:
            if isinstance(outcome, Failure):
                yield outcome
            else:
                yield self._chosen(outcome, next(places), exact)

    def _chosen(self, outcome: Done[KeptSegment], place: int, exact: bool) -> Done[Lines]:
        segment = outcome.result
        both = (segment.stats[place], segment.stats[segment.candidates.first])
        sums = sums_of(
            self.metrics,
            (1, exact, segment.arcs, segment.decomposes, segment.unscored, False),
            *(_split(row, self.metrics) for row in both),
        )
        lines = Lines(segment.texts[place], sums, segment.candidates.engine)
        return Done(outcome.position, outcome.path, outcome.line, outcome.id, lines)

    def conclude(self, summary: dict[str, Any]) -> dict[str, Any]:
        """Return the summary as it is written."""
        if self.decided is None:
            raise OptionError("there is no segment to choose from")
        choice, sentence_stats = self.decided
        whole = conclude(summary)
        rows = _split(sentence_stats, self.metrics)
        for metric, row in zip(self.metrics, rows, strict=True):
            whole["metrics"][str(metric)]["sentence_oracles"] = metric.score(row)
        whole["metrics"][whole["metric"]]["bound"] = choice.bound
        return {
            **whole,
            "sentence_oracles": whole["metrics"][whole["metric"]]["sentence_oracles"],
            "bound": choice.bound,
            "gap": choice.gap,
            "corpus": True,
        }
