"""Minimum-Bayes-risk decisions over a corpus: what ``fstmetrics mbr`` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from decoding.corpus.outcomes import Segment, with_sources
from decoding.corpus.table import SumsLayout, Table, Totals
from decoding.extraction.oracle_search import oracle
from decoding.tasks.segments import Scored, is_unscored, space_size
from fstmetrics import Evaluator, Metric
from fstmetrics.contract import can_search, decomposes
from lattices.algorithms import best_words
from lattices.arrays import FloatColumn
from lattices.errors import OptionError, TooLargeError
from lattices.spaces import NBest, Space
from lattices.vocabulary import EPSILON

if TYPE_CHECKING:
    from decoding.minimum_risk.method import Consensus, Method, Spaces
    from fstmetrics.statistics.calibration import Calibration
    from lattices.formats.references import References

#: what the summaries of other commands have
_OTHERS = ("engine", "unweighted")
#: what is counted of functions of the user's
CALLS = ("pairs", "cached", "calls", "encoded", "encodings")


@dataclass(frozen=True)
class MBRTask:
    """Decode every segment under the first metric, and score what is chosen under all.

    Attributes
    ----------
    metrics : tuple of Metric
        The first one decides, unless the method has an objective of its own; the others score.
    references : References or None
        Those of the segments themselves if None; where a segment has none nothing is scored.
    method, scale, k, system_weights
        As in :func:`decoding.mbr` and :func:`decoding.mbr_kbest`.
    oracles : bool
        Whether the oracle of each segment is searched for, too.
    evidence : mapping of str to Space, optional
        What to average over for each segment, by its id; the segment itself by default.
    systems : tuple of mappings of str to Space
        What other systems said about each segment, by its id, to be combined with it.
    confidences : bool
        Whether there is a column of the words with confidences, times and alternatives, which
        takes the method ``edit`` or ``rover``.
    calibration : Calibration or None
        Of the confidences; its scale is not looked at.
    sources : References or None
        The source texts of the segments; those that they have themselves if None.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis
    >>> some = [("a cat sat", -0.1), ("the cat sat", -0.3), ("the cat lay", -0.4)]
    >>> nbest = NBest.from_hypotheses(
    ...     [Hypothesis(tuple(text.split()), at) for text, at in some], references=["the cat lay"]
    ... )
    >>> found, = MBRTask((WER(),)).process([Segment(0, "", 0, nbest)])
    >>> found["text"], round(found["expected"], 3), round(found["scores"]["wer"], 3)
    ('the cat sat', 0.227, 0.333)
    """

    metrics: tuple[Metric, ...]
    references: References | None = None
    method: str | Method = "auto"
    scale: float = 1.0
    k: int = 1
    system_weights: Sequence[float] | None = None
    oracles: bool = True
    evidence: Mapping[str, Space] | None = None
    systems: tuple[Mapping[str, Space], ...] = ()
    confidences: bool = False
    calibration: Calibration | None = None
    sources: References | None = None

    @property
    def layout(self) -> SumsLayout:
        """What the sums are."""
        counts = ("results", "exact", "arcs", "unscored", "decomposing", *CALLS)
        return SumsLayout(self.metrics, counts, ("mbr", "one_best", "own_oracle"))

    def process(self, segments: Sequence[Segment]) -> Table:
        """Return what is chosen for each segment."""
        segments = with_sources(segments, self.sources)
        before = count_calls(self.metrics)
        found = self._choose(segments)
        calls = [now - then for now, then in zip(count_calls(self.metrics), before, strict=True)]
        spaces = [segment.space for segment in segments]
        words = [
            some[0].beside or best_words(space) for some, space in zip(found, spaces, strict=True)
        ]
        scored = Scored(segments, self.references, self.metrics)
        sizes = [len(some) for some in found]
        all_of_them = [*chain.from_iterable(found)]
        ranks = [*chain.from_iterable(range(1, size + 1) for size in sizes)]
        oracles = scored.rows_by(self._oracle_stats, spaces) if self.oracles else None
        sums = self.layout.sums(
            len(segments),
            [
                sizes,
                [sum(each.exact for each in some) for some in found],
                [space_size(space) for space in spaces],
                [is_unscored(space) for space in spaces],
                _decomposes(scored, oracles),
                # of the whole batch: nobody knows which segment a call was for
                *([count] + [0] * (len(segments) - 1) for count in calls),
            ],
            stats := scored.rows([some[0].tokens for some in found]),
            scored.rows(words),
            oracles,
        )
        scores = lambda: (  # noqa: E731
            scored.scores(stats) if self.k == 1 else self._scores_of_ranks(scored, found)
        )
        columns: dict[str, Any] = {
            "rank": ranks,
            "expected": [each.expected for each in all_of_them],
            "words": [each.tokens for each in all_of_them],
            "text": lambda: [each.text for each in all_of_them],
            "method": [each.method for each in all_of_them],
            "metric": [str(self.metrics[0])] * len(all_of_them),
            "exact": [each.exact for each in all_of_them],
            "candidates": [each.candidates for each in all_of_them],
            "evidence": [each.evidence for each in all_of_them],
            "model_score": lambda: [each.hypothesis.score for each in all_of_them],
            "features": lambda: [dict(each.hypothesis.features) for each in all_of_them],
            "scores": scores,
        }
        if self.confidences:
            columns["confidences"] = [self._confidences(each) for each in all_of_them]
        return Table(
            [segment.id for segment in segments],
            columns,
            sizes=sizes,
            optional=["scores"],
            about={
                "consensus": found,
                "one_best": words,
                "stats": lambda: [[row[place] for row in stats] for place in range(len(found))],
                "engine": [some[0].method for some in found],
            },
            sums=sums,
        )

    def _choose(self, segments: Sequence[Segment]) -> list[Sequence[Consensus]]:
        """Return what is chosen for each segment, best first."""
        from decoding.minimum_risk.decisions import METHODS, decide_batch
        from decoding.minimum_risk.method import Method

        method = self.method
        if isinstance(method, str) and (method != "auto" or self.k > 1):
            method = METHODS.get("pairwise" if method == "auto" else method)()
        own = isinstance(method, Method) and method.own_objective
        evidence = None
        if self.evidence is not None:
            evidence = [_same_segment(each, self.evidence, "the evidence") for each in segments]
        return decide_batch(
            [self._spaces(segment) for segment in segments],
            None if own else self.metrics[0],
            k=self.k if self.k > 1 else None,
            evidence=evidence,
            scale=self.scale,
            method=method,
            system_weights=self.system_weights,
        )

    def _spaces(self, segment: Segment) -> Spaces:
        others = [_same_segment(segment, table, "another system") for table in self.systems]
        return [segment.space, *others] if others else segment.space

    @staticmethod
    def _oracle_stats(space: Space, evaluator: Evaluator) -> FloatColumn | None:
        """Return the statistics of the oracle; None where it cannot be had."""
        if not isinstance(space, NBest) and not can_search(evaluator):
            return None
        try:
            return oracle(space, evaluator).stats
        except TooLargeError:
            return None  # the decision stands without it, and the summary has no oracle

    def _scores_of_ranks(
        self, scored: Scored, found: Sequence[Sequence[Consensus]]
    ) -> list[dict[str, float] | None]:
        return [
            None if evaluators is None else {
                str(metric): metric.score(evaluator.stats(each.tokens))
                for metric, evaluator in zip(self.metrics, evaluators, strict=True)
            }
            for some, evaluators in zip(found, scored.evaluators, strict=True)
            for each in some
        ]  # fmt: skip

    def _confidences(self, found: Consensus) -> list[dict[str, Any]]:
        """Return the words of a decision with confidences, times and alternatives.

        Each has ``word``, ``confidence``, ``begin`` and ``end`` (null without times), and
        ``alternatives``, the other words of its place, "" for none, with their posteriors.
        """
        from decoding.tasks.confusion import network_of, words_of

        network = network_of(found)
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

    def summary(self, totals: Totals) -> dict[str, Any]:
        """Return what there is to tell of a corpus."""
        summary = totals.summary()
        whole = {name: value for name, value in summary.items() if name not in _OTHERS}
        whole["decomposes"] = whole.pop("decomposing") == whole["segments"]
        calls = {name: whole.pop(name) for name in CALLS}
        asked = {"utility": calls} if calls["pairs"] else {}
        return {**whole, "method": summary["engine"], **asked}


def count_calls(metrics: Sequence[Any]) -> list[int]:
    """Return what utilities among the metrics have counted so far, all together."""
    from fstmetrics import Combination, Normalised, Utility

    total = [0] * len(CALLS)
    for metric in metrics:
        if isinstance(metric, Utility):
            one = [getattr(metric.calls, name) for name in CALLS]
        elif isinstance(metric, Normalised):
            one = count_calls([metric.metric])
        elif isinstance(metric, Combination):
            one = count_calls([part for _, part in metric.terms])
        else:
            continue
        total = [sum(both) for both in zip(total, one, strict=True)]
    return total


def _same_segment(segment: Segment, table: Mapping[str, Space], where: str) -> Space:
    if segment.id not in table:
        raise OptionError(f"there is no segment {segment.id!r} in {where}")
    return table[segment.id]


def _decomposes(
    scored: Scored, oracles: Sequence[Sequence[FloatColumn | None]] | None
) -> list[bool]:
    """Tell of each segment whether all oracles there are are part of the best corpus."""
    return [
        oracles is None
        or evaluators is None
        or all(
            decomposes(evaluator)
            for evaluator, of_metric in zip(evaluators, oracles, strict=True)
            if of_metric[place] is not None
        )
        for place, evaluators in enumerate(scored.evaluators)
    ]


def matrix_lines(table: Table) -> list[list[str]]:
    """Return a line of JSON for each segment, with the scores of all pairs.

    It has ``id``, ``metric``, the texts of ``candidates`` and of ``evidence``, the ``weights`` of
    the evidence, and ``scores``: ``scores[c][e]`` is that of candidate c against evidence e.
    """
    from decoding.minimum_risk.pairwise import PairwiseConsensus
    from decoding.plain_json import json_text

    metrics = table.column("metric")
    lines: list[list[str]] = []
    for place, (id, found) in enumerate(zip(table.ids, table.column("consensus"), strict=True)):
        lines.append([])
        if isinstance(found[0], PairwiseConsensus):
            fields = {
                "id": id, "metric": metrics[table.of(place)[0]], **found[0].matrix.to_dict()
            }  # fmt: skip
            lines[-1].append(json_text(fields) + "\n")
    return lines
