"""The corpus oracle: what ``fstmetrics oracle --corpus`` does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from decoding.corpus.outcomes import Done, Failure, Segment
from decoding.corpus.table import Results, SumsLayout, Table, Totals
from decoding.extraction.corpus_oracle import candidates, choose, sum_rows
from decoding.extraction.corpus_selection import CorpusChoice
from decoding.extraction.results import OracleBatch, score_hypothesis
from decoding.extraction.search import SEARCH, Search
from decoding.tasks.oracle import COUNTS, KINDS, OracleTask, sentence_columns
from decoding.tasks.segments import is_unscored, make_evaluators, references_of, space_size
from fstmetrics import Metric
from fstmetrics.contract import decomposes
from lattices.arrays import FloatColumn
from lattices.errors import OptionError
from lattices.formats.references import References
from lattices.spaces.arguments import check_filled


@dataclass(frozen=True)
class CandidatesTask:
    """Find what :func:`decoding.corpus_oracle` chooses from, so that spaces need not be kept.

    The results of a segment are its candidates. Nothing is summed up before
    :class:`CorpusDecision` has chosen.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -0.1), (0, 1, "the", -0.9)], finals=[1], references=["the", "an old"]
    ... )
    >>> found, = CandidatesTask((WER(),)).process([Segment(0, "", 0, lattice)])
    >>> [each["text"] for each in found.fields()], found["decomposes"]
    (['the', 'a'], False)
    """

    metrics: tuple[Metric, ...]
    #: those of the segments themselves if None
    references: References | None = None
    search: Search = SEARCH

    @property
    def layout(self) -> SumsLayout:
        """What the sums are."""
        return SumsLayout(self.metrics, COUNTS, KINDS)

    def process(self, segments: Sequence[Segment]) -> Table:
        """Return the candidates of each segment."""
        references = references_of(segments, self.references)
        spaces = [segment.space for segment in segments]
        first, *others = (make_evaluators(each, spaces, references) for each in self.metrics)
        check_filled(spaces)
        found = candidates(spaces, first, self.search)
        sentences = OracleBatch(
            [
                score_hypothesis(each, evaluator, False, here.engine)
                for here, evaluator in zip(found, first, strict=True)
                for each in here.hypotheses
            ]
        )
        # statistics under all metrics, one after the other
        stats = [
            np.hstack(
                [
                    here.rows,
                    *(
                        np.array([other[place].stats(each.tokens) for each in here.hypotheses])
                        for other in others
                    ),
                ]
            )
            for place, here in enumerate(found)
        ]
        columns = list(_split(np.vstack(stats), self.metrics))
        return Table(
            [segment.id for segment in segments],
            sentence_columns(sentences, self.metrics, columns),
            sizes=[len(here.hypotheses) for here in found],
            about={
                "candidates": [here._replace(hypotheses=()) for here in found],
                "each_stats": stats,
                "arcs": [space_size(space) for space in spaces],
                "decomposes": [decomposes(evaluator) for evaluator in first],
                "unscored": [is_unscored(space) for space in spaces],
                "engine": [here.engine for here in found],
            },
        )

    def summary(self, totals: Totals) -> dict[str, Any]:
        """Return what there is to tell of a corpus that was chosen."""
        return OracleTask(self.metrics, self.references, search=self.search).summary(totals)


#: what :class:`CorpusDecision` needs of each segment
KEPT = ("candidates", "each_stats", "arcs", "decomposes", "unscored")


def _split(row: FloatColumn, metrics: tuple[Metric, ...]) -> list[FloatColumn]:
    """Return the statistics of each metric."""
    ends = np.cumsum([len(metric.stat_names) for metric in metrics])[:-1]
    return np.split(row, ends, axis=-1)


@dataclass
class CorpusDecision:
    """The corpus oracle, which is chosen when all segments are there."""

    task: CandidatesTask
    #: what was chosen, and the sum over the sentence oracles, under all metrics one after the
    #: other; None while there is nothing to choose from
    decided: tuple[CorpusChoice, FloatColumn] | None = None

    def choose(
        self, outcomes: Iterator[Done[Results] | Failure]
    ) -> Iterator[Done[Results] | Failure]:
        """Wait for all segments, choose, and iterate over what was chosen."""
        waiting = list(outcomes)
        kept = [outcome.result for outcome in waiting if isinstance(outcome, Done)]
        places: Iterator[int] = iter(())
        exact = False
        if kept:
            choice = choose([each["candidates"] for each in kept], self.task.metrics[0])
            sentences = sum_rows(each["each_stats"][each["candidates"].sentence] for each in kept)
            self.decided = choice, sentences
            places, exact = iter(choice.places.tolist()), choice.exact
        for outcome in waiting:
            if isinstance(outcome, Failure):
                yield outcome
            else:
                result = self._choose(outcome.result, next(places), exact)
                yield Done(outcome.position, outcome.path, outcome.line, outcome.id, result)

    def _choose(self, found: Results, place: int, exact: bool) -> Results:
        """Return one candidate of a segment, as :class:`OracleTask` has its oracle."""
        counts = (1, exact, found["arcs"], found["decomposes"], found["unscored"], False)
        both = (
            found["each_stats"][place],
            found["each_stats"][found["candidates"].first],
        )
        sums = self.task.layout.sums(
            1, counts, *([[row] for row in _split(rows, self.task.metrics)] for rows in both)
        )
        about = {"engine": [found["engine"]], "lines": [[found["lines"][place]]]}
        return Table([found.id], {}, about=about, sums=sums)[0]

    def summary(self, totals: Totals) -> dict[str, Any]:
        """Return what there is to tell of the corpus."""
        if self.decided is None:
            raise OptionError("there is no segment to choose from")
        choice, sentence_stats = self.decided
        whole = self.task.summary(totals)
        metrics = self.task.metrics
        for metric, row in zip(metrics, _split(sentence_stats, metrics), strict=True):
            whole["metrics"][str(metric)]["sentence_oracles"] = metric.score(row)
        whole["metrics"][whole["metric"]]["bound"] = choice.bound
        return {
            **whole,
            "sentence_oracles": whole["metrics"][whole["metric"]]["sentence_oracles"],
            "bound": choice.bound,
            "gap": choice.gap,
            "corpus": True,
        }
