"""What an alignment metric says of one sentence against one reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from fstmetrics._native import align, number_statistics, soft_statistics
from fstmetrics.references import Tokens
from fstmetrics.similarity.affix import Similarity, checked_matrix
from lattices.arrays import FloatColumn, IntColumn, floats, ints

if TYPE_CHECKING:
    from fstmetrics.alignment.family import AlignmentMetric

Operation = Literal["match", "substitution", "insertion", "deletion"]
OPERATIONS: tuple[Operation, ...] = ("match", "substitution", "insertion", "deletion")
MATCH, SUBSTITUTION, INSERTION, DELETION = range(4)


class Edit(NamedTuple):
    """One step of an alignment.

    Attributes
    ----------
    operation : {"match", "substitution", "insertion", "deletion"}
    hypothesis, reference : str
        The words, empty where there is none on that side.
    weight : float
        1 for a match, the similarity for a soft one, 0 for the rest.
    """

    operation: Operation
    hypothesis: str
    reference: str
    weight: float


@dataclass(frozen=True, eq=False)
class Judgement:
    """One hypothesis against its best reference.

    Attributes
    ----------
    reference : int
        Which reference it is.
    stats : float64 column
    score : float
    edits : tuple of Edit
        The alignment, in order.
    """

    reference: int
    stats: FloatColumn
    score: float
    _words: Tokens
    _against: ReferenceWords
    _metric: AlignmentMetric

    @cached_property
    def edits(self) -> tuple[Edit, ...]:
        """The alignment, in order; looked for when it is first asked for."""
        words, others = self._words, self._against.words
        weight = self._against.weights(words)
        steps = align(weight, *_costs(self._metric))
        return tuple(
            Edit(
                OPERATIONS[operation],
                words[j] if operation != DELETION else "",
                others[i] if operation != INSERTION else "",
                float(weight[j, i]) if operation == MATCH else 0.0,
            )
            for operation, j, i, _ in steps.tolist()
        )


class ReferenceWords:
    """The words of a reference, numbered once for all sentences that are compared with it.

    Parameters
    ----------
    words : tuple of str
        In the metric's units.
    similarity : Similarity or None
        What different words are worth as matches of each other; nothing, if None.

    Examples
    --------
    >>> ReferenceWords(("the", "cat", "the"), None).weights(["the", "dog"]).tolist()
    [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """

    def __init__(self, words: Tokens, similarity: Similarity | None) -> None:
        self.words = words
        self._similarity = similarity
        self._number = {word: number for number, word in enumerate(dict.fromkeys(words))}
        self._numbers = self._numbers_of(words)

    def __len__(self) -> int:
        """How many words there are."""
        return len(self.words)

    def weights(self, words: Sequence[str]) -> FloatColumn:
        """Return what each of some words is worth as a match of each reference word."""
        weight = (self._numbers_of(words)[:, None] == self._numbers[None, :]).astype(np.float64)
        if self._similarity is not None and weight.size:
            soft = checked_matrix(self._similarity, tuple(words), tuple(self._number))
            weight = np.maximum(weight, soft[:, self._numbers])
        return np.ascontiguousarray(weight)

    def _numbers_of(self, words: Sequence[str]) -> IntColumn:
        number = self._number.get
        return ints([number(word, -1) for word in words])

    def judge(self, words: Tokens, metric: AlignmentMetric, number: int) -> Judgement:
        """Return what the metric says of a sentence; ``number`` is the reference's."""
        costs = _costs(metric)
        if self._similarity is None:
            stats = number_statistics(self._numbers_of(words), self._numbers, *costs)
        else:
            stats = soft_statistics(self.weights(words), *costs)
        stats = floats(stats)
        return Judgement(number, stats, metric.score(stats), words, self, metric)


def _costs(metric: AlignmentMetric) -> tuple[int, float, float]:
    return metric.order, float(metric.insertion), float(metric.deletion)
