"""What a search found, judged by the metric."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from decoding._native import WordOracles
from fstmetrics import AlignmentEvaluator, Edit, Evaluator
from fstmetrics.judgement import Judgement
from lattices.arrays import FloatColumn, floats
from lattices.spaces import Hypothesis, Lattice

#: what an oracle of a batch has only when it is asked for
_LATER = frozenset({"hypothesis", "stats", "judgement"})


@dataclass(frozen=True)
class Oracle:
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
        of forests for the k best, too; ``lattice-rows`` where the lattice of a forest was
        searched; ``scorer`` where every sentence of a list was scored.
    judgement : Judgement or None
        What the metric says of the sentence, if it aligns.
    """

    hypothesis: Hypothesis
    score: float
    stats: FloatColumn
    reference: int
    exact: bool
    engine: str
    # a factory leaves no attribute in the class, so that what is missing is asked for
    judgement: Judgement | None = field(default_factory=lambda: None, repr=False)

    if not TYPE_CHECKING:  # the fields are declared above

        def __getattr__(self, name: str) -> Any:
            """Make what is still in the columns of a batch, when it is first asked for."""
            if name not in _LATER or "_in_batch" not in self.__dict__:
                raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
            made = self.__dict__[name] = _make(self, name)
            return made

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled and copied: the fields, without the batch they come from."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

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


def oracle_in_batch(
    found: WordOracles,
    place: int,
    score: float,
    reference: int,
    lattice: Lattice,
    evaluator: AlignmentEvaluator,
) -> Oracle:
    """Return an oracle that makes its sentence, statistics and judgement when they are asked for.

    Until its sentence is asked for, it keeps the lattice.
    """
    result = Oracle.__new__(Oracle)
    fields = {
        "score": score,
        "reference": reference,
        "exact": True,
        "engine": "kernel",
        "_in_batch": (found, place, lattice, evaluator),
    }
    object.__setattr__(result, "__dict__", fields)
    return result


def _make(oracle: Oracle, name: str) -> Any:
    """Make one of the fields that a batch has left in its columns."""
    found, place, lattice, evaluator = oracle.__dict__["_in_batch"]
    if name == "stats":
        return floats(found.stats(place))
    if name == "judgement":
        return evaluator.judgement(oracle.tokens, oracle.reference, oracle.stats, oracle.score)
    if lattice is None:  # another thread has made it meanwhile
        return oracle.__dict__["hypothesis"]
    made = oracle.__dict__["hypothesis"] = lattice.hypothesis(found.arcs(place))
    oracle.__dict__["_in_batch"] = (found, place, None, evaluator)
    return made


def judged(hypothesis: Hypothesis, evaluator: Evaluator, exact: bool, engine: str) -> Oracle:
    """Score a sentence by the metric itself: machines search, scorers report.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> found = judged(Hypothesis(("a", "cat"), -1.0), WER().against(["the cat"]), True, "kernel")
    >>> found.score, [edit.operation for edit in found.edits]
    (0.5, ['substitution', 'match'])
    """
    judge = getattr(evaluator, "judge", None)
    if judge is None:
        stats = evaluator.stats(hypothesis.tokens)
        return Oracle(hypothesis, evaluator.metric.score(stats), stats, -1, exact, engine)
    verdict: Judgement = judge(hypothesis.tokens)
    return Oracle(
        hypothesis, verdict.score, verdict.stats, verdict.reference, exact, engine, verdict
    )
