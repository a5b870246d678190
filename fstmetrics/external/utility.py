"""A utility of one's own, scored in batches: a neural metric, or a distance of vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fstmetrics.references import Reference, tokens_of
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError
from lattices.spaces import Lattice, NBest

#: a hypothesis and a reference, as texts
Pair = tuple[str, str]


@dataclass(frozen=True)
class Utility:
    """A metric made of a function that scores many pairs at once.

    For minimum-risk decoding the function is called once a segment, with every distinct pair of
    a candidate and a sentence of evidence: that is how neural utilities want to be called. A
    corpus has the mean of its segments, a segment the score of its best reference.

    Parameters
    ----------
    scores : function
        Given a list of pairs ``(hypothesis, reference)`` of texts, returns one number each.
    name : str
        What it is called in messages and results.
    higher_is_better : bool

    Examples
    --------
    >>> def scores(pairs):
    ...     return [len({*a.split()} & {*b.split()}) for a, b in pairs]
    >>> Utility(scores, "common").against(["the cat", "a cat"]).score("the cat sat")
    2.0
    """

    scores: Callable[[list[Pair]], ArrayLike]
    name: str = "utility"
    higher_is_better: bool = True

    stat_names: ClassVar[tuple[str, ...]] = ("utility", "segments")

    def __str__(self) -> str:
        """Return the name."""
        return self.name

    def scored(self, pairs: Sequence[Pair]) -> FloatColumn:
        """Return the score of each pair; the function is given each of them once.

        Raises
        ------
        OptionError
            If it does not return one finite number for each.
        """
        number = {pair: place for place, pair in enumerate(dict.fromkeys(pairs))}
        found = np.asarray(self.scores(list(number)), dtype=np.float64)
        if found.shape != (len(number),):
            raise OptionError(
                f"{self.name} was given {len(number)} pairs and returned an array of shape "
                f"{found.shape}, expected ({len(number)},)"
            )
        if not np.isfinite(found).all():
            wrong = next(pair for pair, place in number.items() if not np.isfinite(found[place]))
            raise OptionError(f"{self.name} gives {wrong} no finite number")
        return floats(found[[number[pair] for pair in pairs]])

    def pair_scores(self, candidates: NBest, evidence: NBest) -> FloatColumn:
        """Return the score of each candidate (columns) against each sentence of evidence (rows)."""
        said, expected = (
            [" ".join(some.tokens(entry)) for entry in range(len(some))]
            for some in (candidates, evidence)
        )
        pairs = [(one, other) for other in expected for one in said]
        return self.scored(pairs).reshape(len(expected), len(said))

    def stats(
        self, hypothesis: str | Sequence[str], references: Iterable[Reference]
    ) -> FloatColumn:
        """Return the score of a segment, and 1."""
        return self.against(references).stats(hypothesis)

    def score(self, stats: FloatColumn) -> float:
        """Return the mean of the segments."""
        return float(stats[0] / stats[1]) if stats[1] else 0.0

    def against(self, references: Iterable[Reference]) -> UtilityEvaluator:
        """Return an evaluator for one segment."""
        given = tuple(references)
        if not given:
            raise OptionError(f"{self.name} needs a reference")
        if any(isinstance(one, Lattice) for one in given):
            raise OptionError(f"{self.name} compares texts, and a reference has alternatives")
        return UtilityEvaluator(self, given)


@dataclass(frozen=True)
class UtilityEvaluator:
    """A utility with the references of one segment."""

    metric: Utility
    references: tuple[Reference, ...]

    @property
    def _texts(self) -> list[str]:
        return [" ".join(tokens_of(one)) for one in self.references if not isinstance(one, Lattice)]

    def stats(self, hypothesis: str | Sequence[str]) -> FloatColumn:
        """Return the score against the best reference, and 1."""
        said = " ".join(tokens_of(hypothesis))
        found = self.metric.scored([(said, one) for one in self._texts])
        return floats([found.max() if self.metric.higher_is_better else found.min(), 1.0])

    def score(self, hypothesis: str | Sequence[str]) -> float:
        """Return the score against the best reference."""
        return self.metric.score(self.stats(hypothesis))

    def list_stats(self, nbest: NBest) -> FloatColumn:
        """Return one row for each entry, by one call of the function."""
        texts = [" ".join(nbest.tokens(entry)) for entry in range(len(nbest))]
        found = self.metric.scored([(text, one) for text in texts for one in self._texts])
        rows = found.reshape(len(texts), len(self._texts))
        best = rows.max(axis=1) if self.metric.higher_is_better else rows.min(axis=1)
        return floats(np.column_stack([best, np.ones(len(texts))]))
