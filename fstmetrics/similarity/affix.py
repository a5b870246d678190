"""Similarity of words: the protocol behind soft matching, and the affix distance."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, Protocol

import numpy as np

from fstmetrics import _native
from fstmetrics.signature import Signature, option
from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError


class Similarity(Protocol):
    """Anything that compares words: 1 for the same, 0 for no match, in between for soft ones."""

    def matrix(self, words: Sequence[str], others: Sequence[str]) -> FloatColumn:
        """Return ``len(words)`` x ``len(others)`` similarities, each in [0, 1]."""


def _pack(words: Sequence[str]) -> tuple[IntColumn, IntColumn]:
    """Return the code points of all words in one column, and where each word begins."""
    starts = list(accumulate(map(len, words), initial=0))
    points = "".join(words).encode("utf-32-le", "surrogatepass")
    return ints(np.frombuffer(points, np.int32)), ints(starts)


def affix_distances(
    words: Sequence[str], others: Sequence[str], *, limit: float = 1.0
) -> FloatColumn:
    """Return the affix distances of all pairs of words, those above ``limit`` as 1.

    One native call; pairs whose letters rule out a distance below 1, or up to
    ``limit``, cost next to nothing.

    Examples
    --------
    >>> affix_distances(["walked"], ["walking", "talked", "walked"])
    array([[0.75, 0.2 , 0.  ]])
    >>> affix_distances(["walked"], ["walking", "talked", "walked"], limit=0.5)
    array([[1. , 0.2, 0. ]])
    """
    return floats(_native.affix_distances(*_pack(words), *_pack(others), limit))


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


@dataclass(frozen=True, kw_only=True)
class Wildcards(Signature):
    """Words that match any word in full, in the hypothesis as well as in the reference.

    What a transcriber could not understand, say ``<unk>``, then costs nothing if one word stands
    in its place, whichever it is; no word there is a deletion as before. In the machine of a
    metric they are arcs that read any word with a match's gain. Words that are to count nowhere,
    as noises, are dropped from both sides instead, by the normaliser ``drop``.

    Parameters
    ----------
    words : str
        Separated by ``|``.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> evaluator = WER(similarity=Wildcards(words="<unk>")).against(["the <unk> sat"])
    >>> [evaluator.score(text) for text in ("the cat sat", "the sat", "<unk> cat sat", "a cat sat")]
    [0.0, 0.3333333333333333, 0.0, 0.3333333333333333]
    """

    name: ClassVar[str] = "wildcards"
    words: str = option("", always=True)

    def __post_init__(self) -> None:
        """Refuse none at all, and what a specification cannot hold."""
        if not all(self.words.split("|")) or re.search(r"[,()\s]", self.words):
            raise OptionError(
                f"the wildcards {self.words!r} are words with | between them, without blanks, "
                "commas or parentheses"
            )

    def matrix(self, words: Sequence[str], others: Sequence[str]) -> FloatColumn:
        """Return 1 for equal words and wherever a wildcard is on either side, 0 elsewhere."""
        wild = frozenset(self.words.split("|"))
        return floats(
            [[each == other or each in wild or other in wild for other in others] for each in words]
        ).reshape(len(words), len(others))


def check_matrix(
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
