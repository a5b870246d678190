"""What a search found, scored by the metric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from decoding._native import OracleTable
from fstmetrics import Evaluator
from fstmetrics.alignment.metric import Edit, Judgement
from fstmetrics.contract import abilities_of
from lattices.arrays import FloatColumn, floats
from lattices.records import PlainRecord
from lattices.spaces import Hypothesis
from lattices.spaces.hypothesis import Deferred

#: the engine whose results are rows of a native table
KERNEL = "kernel"


@dataclass(frozen=True, slots=True)
class Oracle(Deferred, PlainRecord):
    """A sentence chosen for its metric.

    Attributes
    ----------
    hypothesis : Hypothesis
        The sentence with its model score, its features and its path.
    score : float
        The metric of the sentence, computed by the metric itself.
    stats : float64 column
        Its statistics; their sum over segments gives the corpus score.
    reference : int
        The reference it was scored against; -1 if the metric does not tell.
    exact : bool
        Whether no sentence of the space is better (or worse, where the worst was asked for).
    engine : str
        Who found it: an engine; ``product`` for the k best and ``rows`` for the worst, and
        of forests for the k best, too; ``labels`` where a metric of clipped matches
        was searched, as BLEU is; ``scorer`` where every sentence of a list was scored.
    bound : float or None
        Of a result that is not proven, what no sentence surpasses in the metric plus the weighted
        model score, if something is known (of the worst, what none falls below).
    judgement : Judgement or None
        What the metric says of the sentence, if it aligns.
    """

    _deferred = frozenset(("stats", "reference", "exact", "engine", "bound", "judgement"))

    hypothesis: Hypothesis
    score: float
    stats: FloatColumn
    reference: int
    exact: bool
    engine: str
    bound: float | None = None
    judgement: Judgement | None = field(default=None, repr=False)

    if not TYPE_CHECKING:  # the fields are declared above

        def _make(self, name: str) -> Any:
            table, place, evaluator = self._later
            if name == "judgement":
                return evaluator.make_judgement(self.tokens, self.reference, self.stats, self.score)
            if name == "stats":
                return floats(table.stats(place))
            if name == "reference":
                return table.reference(place)
            return {"exact": True, "engine": KERNEL, "bound": None}[name]

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The alignment to that reference; empty if the metric has none."""
        return () if self.judgement is None else self.judgement.edits

    @property
    def tokens(self) -> tuple[str, ...]:
        """The words."""
        return self.hypothesis.tokens

    @property
    def text(self) -> str:
        """The words, joined by blanks."""
        return self.hypothesis.text

    def _repr_html_(self) -> str:
        """Return the sentence for a notebook, aligned where the metric aligns."""
        from fstmetrics.alignment.marks import alignment_html

        if not self.edits:
            return PlainRecord._repr_html_(self)
        proof = "exact" if self.exact else "not proven"
        found = f"score {self.score:.4f}, model {self.hypothesis.score:.4f}"
        return alignment_html(self.edits, f"{found}, {proof}, engine {self.engine}")

    def to_dict(self) -> dict[str, Any]:
        """Return the sentence, what the metric says of it, and how it was found."""
        return {
            **self.hypothesis.to_dict(),
            "score": self.score,
            "stats": self.stats.tolist(),
            "reference": self.reference,
            "alignment": [[edit.operation, edit.hypothesis, edit.reference] for edit in self.edits],
            "exact": self.exact,
            "bound": self.bound,
            "engine": self.engine,
        }


class OracleBatch(Sequence[Oracle]):
    """Oracles of several spaces, in columns: rows of a native table, or results one by one."""

    def __init__(
        self,
        found: Iterable[Oracle] | None = None,
        table: OracleTable | None = None,
        evaluators: Sequence[Evaluator] = (),
    ) -> None:
        self._found = None if found is None else list(found)
        self._table, self._evaluators = table, evaluators

    @property
    def _objects(self) -> list[Oracle]:
        if self._found is None and self._table is not None:
            self._found = views_of(self._table, self._evaluators)
        return self._found or []

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._evaluators) if self._found is None else len(self._found)

    @overload
    def __getitem__(self, place: int) -> Oracle: ...
    @overload
    def __getitem__(self, place: slice) -> list[Oracle]: ...
    def __getitem__(self, place: int | slice) -> Oracle | list[Oracle]:
        """Return one, or some."""
        return self._objects[place]

    def __iter__(self) -> Iterator[Oracle]:
        """Iterate over them."""
        return iter(self._objects)

    @property
    def scores(self) -> list[float]:
        """What the metric says of each."""
        if self._table is not None:
            return self._table.scores()
        return [each.score for each in self._objects]

    @property
    def tokens(self) -> list[tuple[str, ...]]:
        """The words of each."""
        return [each.tokens for each in self._objects]

    @property
    def texts(self) -> list[str]:
        """The words of each, joined by blanks."""
        if self._table is not None:
            return self._table.texts()
        return [each.text for each in self._objects]

    @property
    def stats(self) -> FloatColumn:
        """The statistics, a row each; of one metric."""
        if self._table is not None:
            return floats(self._table.stats_rows(False))
        return np.array([each.stats for each in self._objects])

    @property
    def exact(self) -> list[bool]:
        """Which are proven."""
        return [True] * len(self) if self._table else [each.exact for each in self._objects]

    @property
    def engines(self) -> list[str]:
        """Who found each."""
        return [KERNEL] * len(self) if self._table else [each.engine for each in self._objects]

    @property
    def beside(self) -> tuple[list[tuple[str, ...]], FloatColumn] | None:
        """The words of the model's own choices and their statistics, if they were asked for."""
        if self._table is None or not self._table.has_one_best:
            return None
        words = [self._table.one_best(place) for place in range(len(self))]
        return words, floats(self._table.stats_rows(True))


def views_of(table: OracleTable, evaluators: Iterable[Evaluator]) -> list[Oracle]:
    """Return the oracle of each row; what few ask for is read when it is asked for."""
    found = []
    for place, (row, evaluator) in enumerate(zip(table.rows(), evaluators, strict=True)):
        tokens, score, model = row
        hypothesis = Hypothesis.defer((table, place), tokens=tokens, score=model)
        later = table, place, evaluator
        found.append(Oracle.defer(later, hypothesis=hypothesis, score=score))
    return found


def score_hypothesis(
    hypothesis: Hypothesis,
    evaluator: Evaluator,
    exact: bool,
    engine: str,
    bound: float | None = None,
) -> Oracle:
    """Score a sentence by the metric itself: machines search, scorers report."""
    judge = abilities_of(evaluator).judge
    if judge is None:
        stats = evaluator.stats(hypothesis.tokens)
        return Oracle(hypothesis, evaluator.metric.score(stats), stats, -1, exact, engine, bound)
    verdict = judge(evaluator, hypothesis.tokens)
    return Oracle(
        hypothesis, verdict.score, verdict.stats, verdict.reference, exact, engine, bound, verdict
    )
