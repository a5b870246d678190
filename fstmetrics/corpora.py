"""Corpora that are scored natively: strings in, one row of statistics a segment out."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

import numpy as np

from fstmetrics._native import Corpus
from fstmetrics.references import Reference, Tokens, check_references, split_tokens
from fstmetrics.signature import Signature
from lattices.arrays import Array, FloatColumn, IntColumn, floats
from lattices.errors import OptionError
from lattices.spaces import Lattice, NBest


def count_workers() -> int:
    """Return how many threads there is a processor for; one in a process that works beside others.

    Batches are scored in the workers of a corpus, too, which have the processors among them.
    """
    processes = sys.modules.get("multiprocessing.process")
    if processes is not None and processes.parent_process() is not None:
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def pair_segments(
    hypotheses: Sequence[str | Sequence[str]], references: Sequence[Iterable[Reference]]
) -> list[tuple[str | Sequence[str], Iterable[Reference]]]:
    """Return the segments of a corpus; as many lists of references as hypotheses."""
    if len(hypotheses) != len(references):
        raise OptionError(
            f"{len(hypotheses)} hypotheses, but references for {len(references)} segments"
        )
    return list(zip(hypotheses, references, strict=True))


def best_rows(
    rows: Array, segment: IntColumn, quality: Callable[[FloatColumn], Array], rounding: float = 0.0
) -> FloatColumn:
    """Return the row of each segment's best reference, the first of equals.

    Segment ``s`` has the rows ``segment[s]:segment[s + 1]``; what is no better by more than
    ``rounding`` is equal.
    """
    chosen = segment[:-1].copy()
    if len(rows) == len(chosen):
        return rows
    objective, count = quality(floats(rows)), np.diff(segment)
    for place in range(1, int(count.max())):
        some = np.flatnonzero(count > place)
        other = segment[some] + place
        better = objective[other] - objective[chosen[some]] > rounding
        chosen[some[better]] = other[better]
    return floats(rows[chosen])


def join_tokens(sentence: str | Sequence[str]) -> str:
    """Return a sentence as text."""
    return sentence if isinstance(sentence, str) else " ".join(split_tokens(sentence))


class CorpusMetric(Signature, ABC):
    """A metric of sentences, whose statistics are made natively, a corpus at a time."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def higher_is_better(self) -> bool:
        """Which way is up."""

    @property
    @abstractmethod
    def stat_names(self) -> tuple[str, ...]:
        """What the statistics are, one name a column."""

    @abstractmethod
    def rows(self, corpus: Corpus) -> FloatColumn:
        """Return one row of statistics a segment."""

    @abstractmethod
    def scores(self, rows: FloatColumn) -> FloatColumn:
        """Return the score of each row of statistics."""

    @abstractmethod
    def prepare(self, sentence: str | Sequence[str]) -> str | Tokens:
        """Return a sentence as it is compared."""

    def stats(
        self, hypothesis: str | Sequence[str], references: Iterable[Reference]
    ) -> FloatColumn:
        """Return the statistics of one segment, additive over segments."""
        return self.against(references).stats(hypothesis)

    def score(self, stats: FloatColumn) -> float:
        """Return the score from one row of statistics or a sum of rows."""
        return float(self.scores(floats(np.asarray(stats, dtype=np.float64)[None]))[0])

    def against(self, references: Iterable[Reference]) -> CorpusEvaluator:
        """Return an evaluator for the references of one segment."""
        return CorpusEvaluator(self, check_references(references))

    def corpus_stats(
        self,
        hypotheses: Sequence[str | Sequence[str]],
        references: Sequence[Iterable[Reference]],
    ) -> FloatColumn:
        """Return one row of statistics a segment, in one native call."""
        segments = pair_segments(hypotheses, references)
        expected = [self.prepare_references(of_segment) for _, of_segment in segments]
        return self.rows(Corpus([self.prepare(said) for said, _ in segments], expected))

    def prepare_references(self, references: Iterable[Reference]) -> list[str | Tokens]:
        """Return the references of a segment as they are compared; lattices are refused."""
        found = []
        for reference in check_references(references):
            if isinstance(reference, Lattice):
                raise OptionError(f"{self.name} takes references as sentences, not as a lattice")
            found.append(self.prepare(reference))
        return found


class CorpusEvaluator:
    """Such a metric made ready for the references of one segment."""

    def __init__(self, metric: CorpusMetric, references: tuple[Reference, ...]) -> None:
        self.metric = metric
        self.references = references
        self._prepared = metric.prepare_references(references)

    def stats(self, hypothesis: str | Sequence[str]) -> FloatColumn:
        """Return the statistics of one hypothesis."""
        row: FloatColumn = self._rows([hypothesis])[0]
        return row

    def score(self, hypothesis: str | Sequence[str]) -> float:
        """Return the metric of one hypothesis."""
        return self.metric.score(self.stats(hypothesis))

    def list_stats(self, nbest: NBest) -> FloatColumn:
        """Return one row of statistics for each entry of a list."""
        return self._rows([nbest.tokens(entry) for entry in range(len(nbest))])

    def _rows(self, sentences: Sequence[str | Sequence[str]]) -> FloatColumn:
        said = [self.metric.prepare(each) for each in sentences]
        return self.metric.rows(Corpus(said, [self._prepared] * len(said)))
