"""What a search found, scored by the metric."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from decoding._native import OracleTable
from fstmetrics import Edit, Evaluator
from fstmetrics.alignment.metric import Judgement
from fstmetrics.contract import abilities_of
from lattices.arrays import FloatColumn, floats
from lattices.records import Record
from lattices.spaces import Hypothesis
from lattices.spaces.hypothesis import Deferred


@dataclass(frozen=True, slots=True)
class Oracle(Deferred, Record):
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

    @classmethod
    def of_rows(cls, table: OracleTable, evaluators: Iterable[Evaluator]) -> list[Oracle]:
        """Return the oracle of each row; what few ask for is read when it is asked for."""
        found = []
        for place, (row, evaluator) in enumerate(zip(table.rows(), evaluators, strict=True)):
            tokens, score, model = row
            hypothesis = Hypothesis.deferred((table, place), tokens=tokens, score=model)
            later = table, place, evaluator
            found.append(cls.deferred(later, hypothesis=hypothesis, score=score))
        return found

    if not TYPE_CHECKING:  # the fields are declared above

        def _make(self, name: str) -> Any:
            table, place, evaluator = self._later
            if name == "judgement":
                return evaluator.judgement(self.tokens, self.reference, self.stats, self.score)
            if name == "stats":
                return floats(table.stats(place))
            if name == "reference":
                return table.reference(place)
            return {"exact": True, "engine": "kernel", "bound": None}[name]

    @property
    def beside(self) -> tuple[tuple[str, ...], FloatColumn] | None:
        """The words of the model's own choice and their statistics, if they were asked for."""
        if not hasattr(self, "_later"):
            return None
        table, place, _ = self._later
        stats = floats(table.one_best_stats(place))
        return (table.one_best(place), stats) if len(stats) else None

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
            return Record._repr_html_(self)
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


def score_hypothesis(
    hypothesis: Hypothesis,
    evaluator: Evaluator,
    exact: bool,
    engine: str,
    bound: float | None = None,
) -> Oracle:
    """Score a sentence by the metric itself: machines search, scorers report.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> judge = WER().against(["the cat"])
    >>> found = score_hypothesis(Hypothesis(("a", "cat"), -1.0), judge, True, "kernel")
    >>> found.score, [edit.operation for edit in found.edits]
    (0.5, ['substitution', 'match'])
    """
    judge = abilities_of(evaluator).judge
    if judge is None:
        stats = evaluator.stats(hypothesis.tokens)
        return Oracle(hypothesis, evaluator.metric.score(stats), stats, -1, exact, engine, bound)
    verdict = judge(evaluator, hypothesis.tokens)
    return Oracle(
        hypothesis, verdict.score, verdict.stats, verdict.reference, exact, engine, bound, verdict
    )
