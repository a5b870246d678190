"""Oracles of a corpus: what ``fstmetrics oracle`` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from decoding.corpus.outcomes import Segment
from decoding.corpus.table import SumsLayout, Table, Totals
from decoding.extraction.composition import compose_list
from decoding.extraction.oracle_search import rank_oracles, search_oracles
from decoding.extraction.results import OracleBatch
from decoding.extraction.search import SEARCH, Search
from decoding.tasks.segments import (
    is_unscored,
    make_evaluators,
    references_of,
    score_rows,
    space_size,
)
from fstmetrics import Evaluator, Metric
from fstmetrics.contract import abilities_of, decomposes
from lattices.algorithms import best_words
from lattices.arrays import FloatColumn, ints
from lattices.spaces import Space

if TYPE_CHECKING:
    from lattices.formats.references import References

#: what is counted of a segment
COUNTS = ("results", "exact", "arcs", "decomposing", "unscored", "zeros")
KINDS = ("oracle", "one_best")
COMPOSED = "composed"
#: what the summaries of other commands have
_OTHERS = ("judged", "unweighted")


@dataclass(frozen=True)
class OracleTask:
    """Search every segment under the first metric, and score what is found under all.

    Attributes
    ----------
    metrics : tuple of Metric
    references : References or None
        Those of the segments themselves if None.
    k, model_weight
        As in :func:`decoding.oracle`, :func:`decoding.oracle_kbest` and :func:`decoding.worst`;
        the best alone are found batch by batch.
    worst : bool
        Look for the worst instead.
    search : Search
    compose : bool
        Also find the best that can be put together from the words of a list, see
        :func:`decoding.extraction.composition.compose_list`.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -0.1), (0, 1, "the", -0.9)], finals=[1], references=["the"]
    ... )
    >>> found, = OracleTask((WER(),)).process([Segment(0, "", 0, lattice)])
    >>> found["text"], found["score"], found["one_best"], found["scores"]
    ('the', 0.0, ('a',), {'wer': 0.0})
    """

    metrics: tuple[Metric, ...]
    references: References | None = None
    k: int = 1
    worst: bool = False
    model_weight: float = 0.0
    search: Search = SEARCH
    compose: bool = False

    @property
    def layout(self) -> SumsLayout:
        """What the sums are."""
        return SumsLayout(self.metrics, COUNTS, (*KINDS, COMPOSED) if self.compose else KINDS)

    def process(self, segments: Sequence[Segment]) -> Table:
        """Return the oracles of each segment, and what the model's own best scores."""
        references = references_of(segments, self.references)
        spaces = [segment.space for segment in segments]
        first, *others = (make_evaluators(each, spaces, references) for each in self.metrics)
        found, sizes = self._search(spaces, first)
        if found.beside is not None:
            words, own = found.beside
        else:
            words = [best_words(space) for space in spaces]
            own = np.array(score_rows(first, words))
        count = ints([1] * len(spaces) if sizes is None else sizes)
        segment = np.repeat(np.arange(len(spaces)), count)
        best = np.cumsum(count) - count
        rows = [found.stats]
        for other in others:
            beside = [other[place] for place in segment.tolist()]
            rows.append(np.array(score_rows(beside, found.tokens)))
        composed: list[list[Any]] = []
        if self.compose:
            networks = [compose_list(space) for space in spaces]
            put = search_oracles(networks, first, self.search)
            composed = [[put.stats, *(score_rows(other, put.tokens) for other in others)]]
        ranks = (np.arange(len(segment)) - best[segment] + 1).tolist()
        sums = self.layout.sums(
            len(spaces),
            [
                count,
                np.add.reduceat(np.array(found.exact, dtype=np.int64), best),
                [space_size(space) for space in spaces],
                [decomposes(evaluator) for evaluator in first],
                [is_unscored(space) for space in spaces],
                np.array(found.scores)[best] == 0,
            ],
            [some[best] for some in rows],
            [own, *(score_rows(other, words) for other in others)],
            *composed,
        )
        return Table(
            [each.id for each in segments],
            {
                "rank": ranks,
                **sentence_columns(found, self.metrics, rows),
                "exact": found.exact,
                "bound": lambda: [each.bound for each in found],
                **({COMPOSED: [put.texts[at] for at in segment]} if self.compose else {}),
            },
            sizes=sizes,
            optional=["bound"],
            about={
                "oracles": lambda: [
                    found[at : at + size]
                    for at, size in zip(best.tolist(), count.tolist(), strict=True)
                ],
                "one_best": words,
                "references": references,
                "metadata": lambda: [space.metadata for space in spaces],
                # what a breakdown looks at, in the order of the kinds
                "sentences": lambda: [
                    (found.tokens[at], said) for at, said in zip(best.tolist(), words, strict=True)
                ],
                "best_spaces": lambda: self._best_spaces(spaces, first),
                "engine": [found.engines[at] for at in best.tolist()],
            },
            sums=sums,
        )

    def _search(
        self, spaces: list[Space], evaluators: list[Evaluator]
    ) -> tuple[OracleBatch, list[int] | None]:
        """Return the oracles of all segments, and how many each has; None for one."""
        weight, worst = self.model_weight, self.worst
        # the evaluators are all of one metric
        can = abilities_of(evaluators[0])
        together = can.machine is not None or can.clipped_matches is not None
        if self.k == 1 and not worst and together:
            return search_oracles(
                spaces, evaluators, self.search, model_weight=weight, one_best=True
            ), None
        ranked = [
            rank_oracles(space, each, self.k, self.search, worst=worst, model_weight=weight)
            for space, each in zip(spaces, evaluators, strict=True)
        ]
        return OracleBatch(chain.from_iterable(ranked)), [len(some) for some in ranked]

    def _best_spaces(self, spaces: list[Space], evaluators: list[Evaluator]) -> list[Space]:
        """Return all that is best of each space."""
        from decoding.extraction.best_paths import best_paths  # few ask for it

        limits = {"budget": self.search.budget, "memory": self.search.memory}
        return [
            best_paths(space, each, **limits)
            for space, each in zip(spaces, evaluators, strict=True)
        ]

    def summary(self, totals: Totals) -> dict[str, Any]:
        """Return what there is to tell of a corpus."""
        whole = {name: value for name, value in totals.summary().items() if name not in _OTHERS}
        whole["decomposes"] = whole.pop("decomposing") == whole["segments"]
        whole["arcs_per_second"] = whole["arcs"] / whole["seconds"]
        settings = {"k": self.k, "worst": self.worst, "model_weight": self.model_weight}
        return {**whole, **whole["metrics"][whole["metric"]], **settings}


def sentence_columns(
    found: OracleBatch, metrics: Sequence[Metric], rows: Sequence[FloatColumn]
) -> dict[str, Any]:
    """Return what is written of sentences; ``rows`` are their statistics under each metric."""
    first, names = metrics[0], [str(metric) for metric in metrics]
    return {
        "score": found.scores,
        "words": lambda: found.tokens,
        "text": lambda: found.texts,
        "metric": [names[0]] * len(found),
        "scores": lambda: [
            {
                name: metric.score(row)
                for name, metric, row in zip(names, metrics, of_one, strict=True)
            }
            for of_one in zip(*rows, strict=True)
        ],
        "stats": lambda: [
            dict(zip(first.stat_names, row, strict=True)) for row in found.stats.tolist()
        ],
        "model_score": lambda: [each.hypothesis.score for each in found],
        "features": lambda: [dict(each.hypothesis.features) for each in found],
        "reference": lambda: [each.reference for each in found],
        "alignment": lambda: [
            [[edit.operation, edit.hypothesis, edit.reference] for edit in each.edits]
            for each in found
        ],
    }
