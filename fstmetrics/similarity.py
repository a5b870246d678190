"""How alike two words are: the hook behind soft matching, and the affix distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, Protocol

import numpy as np

from fstmetrics.signature import Signature, option
from lattices.arrays import Array, FloatColumn, IntColumn, column, floats, inlined, ints, kernel
from lattices.errors import OptionError


class Similarity(Protocol):
    """Anything that compares words: 1 for the same, 0 for no match, in between for soft ones."""

    def matrix(self, words: Sequence[str], others: Sequence[str]) -> FloatColumn:
        """Return ``len(words)`` x ``len(others)`` similarities, each in [0, 1]."""


@kernel
def _levenshtein(one, first, last, other, begin, end, row):  # type: ignore[no-untyped-def]
    """Return the edit distance of ``one[first:last]`` and ``other[begin:end]``."""
    width = end - begin
    for place in range(width + 1):
        row[place] = place
    for index in range(first, last):
        diagonal = row[0]
        row[0] += 1
        for place in range(1, width + 1):
            substituted = diagonal + (one[index] != other[begin + place - 1])
            diagonal = row[place]
            row[place] = min(substituted, row[place] + 1, row[place - 1] + 1)
    return row[width]


@kernel
def _affix_distance(one, first, last, other, begin, end, limit, run, row):  # type: ignore[no-untyped-def]
    """Return the affix distance of two words, or 1 if it is larger than ``limit``.

    The words are ``one[first:last]`` and ``other[begin:end]``; ``run`` and ``row`` are
    scratch, longer than the second word.
    """
    length, width = last - first, end - begin
    difference = abs(length - width)
    longest = 0
    run[: width + 1] = 0
    for here in range(length):
        for there in range(width, 0, -1):
            if one[first + here] == other[begin + there - 1]:
                run[there] = run[there - 1] + 1
                longest = max(longest, run[there])
            else:
                run[there] = 0
    if difference >= longest or difference / longest > limit:
        return 1.0
    # where several common substrings are longest, the one that leaves least to edit counts
    fewest = longest
    run[: width + 1] = 0
    for here in range(length):
        for there in range(width, 0, -1):
            if one[first + here] != other[begin + there - 1]:
                run[there] = 0
                continue
            run[there] = run[there - 1] + 1
            before, prefix = here + 1 - longest, there - longest
            after, suffix = length - here - 1, width - there
            if run[there] == longest and abs(before - prefix) + abs(after - suffix) < fewest:
                edits = _levenshtein(one, first, first + before, other, begin, begin + prefix, row)
                edits += _levenshtein(one, last - after, last, other, end - suffix, end, row)
                fewest = min(fewest, edits)
    distance = fewest / longest
    return distance if distance <= limit else 1.0


@kernel
def _letters(points, starts):  # type: ignore[no-untyped-def]
    """Return the set of letters of each word, letters taken modulo 64, as bits."""
    letters = np.zeros(len(starts) - 1, np.uint64)
    for word in range(len(letters)):
        for place in range(starts[word], starts[word + 1]):
            letters[word] |= np.uint64(1) << np.uint64(points[place] & 63)
    return letters


@inlined
def _bits(number):  # type: ignore[no-untyped-def]
    """Return how many bits of a 64-bit number are set."""
    number -= (number >> np.uint64(1)) & np.uint64(0x5555555555555555)
    pairs = number & np.uint64(0x3333333333333333)
    number = pairs + ((number >> np.uint64(2)) & np.uint64(0x3333333333333333))
    number = (number + (number >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((number * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def _affix_distances(one, starts, other, begins, limit):  # type: ignore[no-untyped-def]
    """Return the affix distances of all pairs of two packed lists of words.

    Most pairs are told apart by their sets of letters: with at most ``common`` letters that
    can be matched, the common substring is no longer than that, and the edits are no fewer
    than what is left of the longer word.
    """
    widest = 0
    for right in range(len(begins) - 1):
        widest = max(widest, begins[right + 1] - begins[right])
    run = np.zeros(widest + 1, np.int32)
    row = np.zeros(widest + 1, np.int32)
    distance = np.ones((len(starts) - 1, len(begins) - 1))
    mine, theirs = _letters(one, starts), _letters(other, begins)
    for left in range(len(starts) - 1):
        length = starts[left + 1] - starts[left]
        for right in range(len(begins) - 1):
            width = begins[right + 1] - begins[right]
            common = min(
                length - _bits(mine[left] & ~theirs[right]),
                width - _bits(theirs[right] & ~mine[left]),
            )
            rest = max(length, width) - common
            if rest >= common or rest / common > limit:
                continue
            distance[left, right] = _affix_distance(
                one, starts[left], starts[left + 1], other, begins[right], begins[right + 1],
                limit, run, row,
            )  # fmt: skip
    return distance


def _packed(words: Sequence[str]) -> tuple[Array, IntColumn]:
    """Return the code points of all words in one column, and where each word begins."""
    starts = list(accumulate(map(len, words), initial=0))
    points = "".join(words).encode("utf-32-le", "surrogatepass")
    return column(np.frombuffer(points, np.int32), np.int32), ints(starts)


def affix_distances(
    words: Sequence[str], others: Sequence[str], *, limit: float = 1.0
) -> FloatColumn:
    """Return the affix distances of all pairs of words, those above ``limit`` as 1.

    One call of a compiled kernel; pairs whose letters rule out a distance below 1, or up to
    ``limit``, cost next to nothing.

    Examples
    --------
    >>> affix_distances(["walked"], ["walking", "talked", "walked"])
    array([[0.75, 0.2 , 0.  ]])
    >>> affix_distances(["walked"], ["walking", "talked", "walked"], limit=0.5)
    array([[1. , 0.2, 0. ]])
    """
    return floats(_affix_distances(*_packed(words), *_packed(others), float(limit)))


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
    return float(affix_distances([word], [other])[0, 0])


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
        # what lies above epsilon comes back as distance 1, which is similarity 0
        return 1.0 - affix_distances(words, others, limit=self.epsilon)


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
