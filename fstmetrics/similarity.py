"""How alike two words are: the hook behind soft matching."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from fstmetrics.signature import Signature, option
from lattices.arrays import FloatColumn, column, kernel
from lattices.errors import OptionError


class Similarity(Protocol):
    """Anything that compares words: 1 for the same, 0 for no match, in between for soft ones."""

    def matrix(self, words: Sequence[str], others: Sequence[str]) -> FloatColumn:
        """Return ``len(words)`` x ``len(others)`` similarities, each in [0, 1]."""


@kernel
def _levenshtein(one, first, last, other, begin, end):  # type: ignore[no-untyped-def]
    """Return the edit distance of ``one[first:last]`` and ``other[begin:end]``."""
    row = np.arange(end - begin + 1)
    for index in range(first, last):
        diagonal = row[0]
        row[0] += 1
        for place in range(1, len(row)):
            substituted = diagonal + (one[index] != other[begin + place - 1])
            diagonal = row[place]
            row[place] = min(substituted, row[place] + 1, row[place - 1] + 1)
    return row[-1]


@kernel
def _affix_distance(one, other):  # type: ignore[no-untyped-def]
    """Return the affix distance of two words given as code points."""
    run = np.zeros((len(one) + 1, len(other) + 1), np.int32)
    longest = 0
    for here in range(len(one)):
        for there in range(len(other)):
            if one[here] == other[there]:
                run[here + 1, there + 1] = run[here, there] + 1
                longest = max(longest, run[here + 1, there + 1])
    if longest == 0:
        return 1.0
    fewest = len(one) + len(other)
    # where several common substrings are longest, the one that leaves least to edit counts
    for here in range(longest, len(one) + 1):
        for there in range(longest, len(other) + 1):
            if run[here, there] == longest:
                edits = _levenshtein(one, 0, here - longest, other, 0, there - longest)
                edits += _levenshtein(one, here, len(one), other, there, len(other))
                fewest = min(fewest, edits)
    return min(1.0, fewest / longest)


def affix_distance(word: str, other: str) -> float:
    """Return the affix distance of two words (Libovický & Pecina 2014).

    With S the longest common substring, ``min(1, (L(prefixes) + L(suffixes)) / |S|)``
    where L is the edit distance of what stands before S, and after it; 1 if nothing is
    common. The paper prints ``max`` for ``min``; its own example, below, needs ``min``.
    Where several substrings are longest, the smallest distance is taken, which makes it
    symmetric. Costs O(len(word) * len(other)), more if there are many such substrings.

    Examples
    --------
    >>> affix_distance("vzpomenou", "zapomenout") == 3 / 7
    True
    """
    return float(_affix_distance(_code_points(word), _code_points(other)))


def _code_points(word: str) -> FloatColumn:
    return column(np.frombuffer(word.encode("utf-32-le", "surrogatepass"), np.int32), np.int32)


@dataclass(frozen=True, kw_only=True)
class AffixSimilarity(Signature):
    """One minus the affix distance, where that is at most ``epsilon``; 0 elsewhere.

    Parameters
    ----------
    epsilon : float
        The largest distance that still counts as a match, in [0, 1]. The default is the
        paper's choice for English; languages with richer inflection like more.

    References
    ----------
    Libovický and Pecina. Tolerant BLEU: a submission to the WMT14 metrics task. WMT 2014.

    Examples
    --------
    >>> AffixSimilarity(epsilon=0.5).matrix(["walked"], ["walking", "talked", "walked"])
    array([[0. , 0.8, 1. ]])
    """

    name: ClassVar[str] = "affix"
    epsilon: float = option(0.05)

    def __post_init__(self) -> None:
        """Refuse a threshold that is no distance."""
        if not 0 <= self.epsilon <= 1:
            raise OptionError(f"epsilon is in [0, 1], not {self.epsilon}")

    def matrix(self, words: Sequence[str], others: Sequence[str]) -> FloatColumn:
        """Return the similarities of all pairs."""
        left = [_code_points(word) for word in words]
        right = [_code_points(word) for word in others]
        distance = np.array(
            [[_affix_distance(one, other) for other in right] for one in left], dtype=np.float64
        ).reshape(len(left), len(right))
        return np.where(distance <= self.epsilon, 1.0 - distance, 0.0)


def checked_matrix(
    similarity: Similarity, words: Sequence[str], others: Sequence[str]
) -> FloatColumn:
    """Return the similarities, or say what is wrong with what a plug-in returned."""
    matrix = np.asarray(similarity.matrix(words, others), dtype=np.float64)
    if matrix.shape != (len(words), len(others)):
        raise OptionError(
            f"{similarity} returned a matrix of shape {matrix.shape}, "
            f"expected {(len(words), len(others))}"
        )
    if matrix.size and not (matrix.min() >= 0 and matrix.max() <= 1):
        raise OptionError(f"{similarity} returned a similarity outside [0, 1]")
    return matrix
