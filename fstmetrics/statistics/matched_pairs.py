"""NIST's matched-pairs test of word errors (MAPSSWE), over segments between what is right.

The outputs of two systems, aligned to the same references, are cut where both have some words
in a row right: what is wrong on one side of such a stretch is taken to be independent of what is
wrong on the other. The differences between the errors of both systems in these segments are tested
by a normal approximation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from fstmetrics.alignment.metric import Edit, Operation
from fstmetrics.alignment.rates import SCLITE
from fstmetrics.statistics.significance import Comparison, check_alternative
from lattices.arrays import Array, FloatColumn, floats
from lattices.errors import OptionError
from lattices.records import PlainRecord

_EXCHANGED: dict[Operation, Operation] = {"insertion": "deletion", "deletion": "insertion"}
#: words that both have right between two segments, as in NIST's sc_stats
BUFFER = 2


class SegmentErrors(NamedTuple):
    """The errors of both systems between two stretches that both have right."""

    a: int
    b: int


class Mistakes(NamedTuple):
    """The mistakes of many alignments, sentence after sentence, word after word of the references.

    The last place of a sentence is behind its last word.
    """

    #: how many words are inserted before each place
    inserted: Array
    #: whether the word there is wrong
    missed: Array
    #: the places of each sentence
    sizes: Array

    @classmethod
    def of(cls, alignments: Iterable[Sequence[Edit]]) -> Mistakes:
        """Return those of the alignments of some sentences."""
        return cls.join([*chain(*list_mistakes(edits))] for edits in alignments)

    @classmethod
    def join(cls, sentences: Iterable[Sequence[int]]) -> Mistakes:
        """Return those of sentences, each a sequence of what is inserted and missed by turns."""
        rows = list(sentences)
        both = np.array([*chain(*rows)], dtype=np.int64).reshape(-1, 2)
        sizes = np.array([len(row) // 2 for row in rows], dtype=np.int64)
        return cls(both[:, 0], both[:, 1], sizes)


def error_segments(
    a: Sequence[Edit], b: Sequence[Edit], buffer: int = BUFFER
) -> list[SegmentErrors]:
    """Return the errors in each segment of one sentence, from its two alignments.

    A segment ends before ``buffer`` words of the reference that both systems have right, with
    nothing inserted between them, and at the end of the sentence; stretches without an error are
    no segments.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> evaluator = WER().against(["a b c d e f g"])
    >>> texts = "a x c d e y g", "a b c d e"
    >>> one, other = (evaluator.judge(text.split()).edits for text in texts)
    >>> error_segments(one, other)
    [SegmentErrors(a=1, b=0), SegmentErrors(a=1, b=2)]
    """
    found = _cut(Mistakes.of([a]), Mistakes.of([b]), buffer)
    return [SegmentErrors(*each) for each in found.astype(int).tolist()]


def _cut(a: Mistakes, b: Mistakes, buffer: int) -> FloatColumn:
    """Return the errors of both systems in each segment of many sentences, a row each."""
    if not np.array_equal(a.sizes, b.sizes):
        raise OptionError("the systems are aligned to different references; mapsswe takes one")
    place, last = np.arange(a.sizes.sum()), np.cumsum(a.sizes) - 1
    # a run of words that both have right begins behind a wrong word, with one before which
    # something is inserted, and with the sentence
    runs = np.where(a.inserted + b.inserted > 0, place, 0)
    runs[last + 1 - a.sizes] = last + 1 - a.sizes
    runs = np.maximum.accumulate(np.where(a.missed + b.missed > 0, place + 1, runs))
    ends = place + 1 - runs >= buffer
    ends[last] = True
    segment: Array = np.cumsum(ends) - ends
    wrong = [np.bincount(segment, each.inserted + each.missed) for each in (a, b)]
    rows = np.stack(wrong, axis=1)
    return floats(rows[rows.sum(axis=1) > 0])


def prefer_insertions(edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Return an alignment with sclite's weights and sclite's choice among equals.

    From the end backward it prefers an insertion to a deletion, where ours does the opposite: it is
    ours with both sides exchanged.
    """
    said = [edit.hypothesis for edit in edits if edit.operation != "deletion"]
    expected = [edit.reference for edit in edits if edit.operation != "insertion"]
    judgement = SCLITE.against([" ".join(said)]).judge(expected)
    return tuple(
        Edit(_EXCHANGED.get(operation, operation), word, other, weight)
        for operation, other, word, weight in judgement.edits
    )


def list_mistakes(edits: Sequence[Edit]) -> list[tuple[int, int]]:
    """Return of each reference word how many are inserted before it, and whether it is wrong.

    At the end stands what is inserted behind the last.
    """
    found, inserted = [], 0
    for edit in edits:
        if edit.operation == "insertion":
            inserted += 1
        else:
            found.append((inserted, int(edit.operation != "match")))
            inserted = 0
    return [*found, (inserted, 0)]


@dataclass(frozen=True)
class MatchedPairs(PlainRecord):
    """The matched-pairs test of two systems.

    Attributes
    ----------
    segments : int
        How many there are with an error of either.
    mean, deviation : float
        Of the errors of a minus those of b in a segment.
    z : float
        ``mean / (deviation / sqrt(segments))``.
    p_value : float
    alternative : str
        As of :class:`~fstmetrics.statistics.Comparison`.
    wins, losses, ties : int
        In how many segments a has fewer errors than b, more, or as many.
    """

    segments: int
    mean: float
    deviation: float
    z: float
    p_value: float
    alternative: str
    wins: int
    losses: int
    ties: int

    def compare(self, effect: float) -> Comparison:
        """Return the test beside others: ``effect`` is the difference of the scores."""
        counts = self.wins, self.losses, self.ties
        return Comparison(
            effect, self.p_value, "mapsswe", self.alternative, self.segments, None, *counts
        )


def matched_pairs(
    a: Mistakes | Iterable[Sequence[Edit]],
    b: Mistakes | Iterable[Sequence[Edit]],
    *,
    buffer: int = BUFFER,
    alternative: str = "two-sided",
) -> MatchedPairs:
    """Compare the word errors of two systems in matched pairs of segments (MAPSSWE).

    With d_i the errors of a minus those of b in segment i of n, of mean m and standard deviation
    s, ``z = m / (s / sqrt(n))`` is taken to be normal. The same as sctk's ``sc_stats -t
    mapsswe``, given its alignments.

    Cost: linear in the words.

    Parameters
    ----------
    a, b
        Alignments of the system and of the baseline, sentence by sentence, as ``edits`` of a
        judgement has them, or their :class:`Mistakes`.
    buffer
        How many words both have to have right between two segments.
    alternative : {"two-sided", "better", "worse"}
        What is tested for.

    References
    ----------
    Gillick and Cox. Some statistical issues in the comparison of speech recognition algorithms.
    ICASSP 1989.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> evaluator = WER().against(["a b c d e f g"])
    >>> texts = "a x c d e y g", "a b c d e f", "a b c x e f g"
    >>> one, other, third = (evaluator.judge(text.split()).edits for text in texts)
    >>> found = matched_pairs([one, other, one], [other, third, third])
    >>> found.segments, found.mean, round(found.z, 4), round(found.p_value, 4)
    (5, 0.4, 1.0, 0.3173)
    """
    check_alternative(alternative)
    if buffer < 1:
        raise OptionError(f"buffer={buffer}, expected 1 or more words")
    one, other = (each if isinstance(each, Mistakes) else Mistakes.of(each) for each in (a, b))
    errors = _cut(one, other, buffer)
    difference = errors[:, 0] - errors[:, 1]
    count = len(difference)
    mean = float(difference.mean()) if count else 0.0
    deviation = float(difference.std(ddof=1)) if count > 1 else 0.0
    z = mean / (deviation / math.sqrt(count)) if deviation else math.copysign(math.inf, mean)
    if mean == 0.0:
        z = 0.0
    # of a normal distribution: the share below z is erfc(-z / sqrt(2)) / 2
    tail = {"two-sided": abs(z), "better": -z, "worse": z}[alternative]
    p_value = math.erfc(tail / math.sqrt(2)) / (1 if alternative == "two-sided" else 2)
    wins, losses = int((difference < 0).sum()), int((difference > 0).sum())
    return MatchedPairs(
        count, mean, deviation, z, p_value, alternative, wins, losses, count - wins - losses
    )
