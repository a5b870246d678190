"""CharacTER: character edits after shifts of words, over the hypothesis's length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from fstmetrics.matching.edits import distances
from fstmetrics.matching.matching_metric import MatchingMetric
from fstmetrics.references import Tokens
from fstmetrics.signature import option
from lattices.arrays import FloatColumn, floats


def shift(words: Tokens, reference: Tokens) -> Tokens:
    """Return a sentence with phrases moved, as long as that makes the word edit distance smaller.

    A phrase that the reference has at another place is moved to the place where the reference has
    it. Cost for each move: O(|h|^2 |r| / 16) times the pairs of equal words.

    Examples
    --------
    >>> shift(("sat", "the", "cat"), ("the", "cat", "sat"))
    ('the', 'cat', 'sat')
    """
    distance = int(distances([words], [reference])[0, 0])
    while distance:
        moved = list(dict.fromkeys(_moves(words, reference)))
        if not moved:
            break
        found = distances(moved, [reference])[:, 0].tolist()
        # the fewest edits, then the sentence that sorts last
        best, moving = max((-edits, each) for edits, each in zip(found, moved, strict=True))
        if -best >= distance:
            break
        words, distance = moving, -best
    return words


def _moves(words: Tokens, reference: Tokens) -> Iterator[Tokens]:
    """Yield the sentence with each phrase that the reference has elsewhere moved there."""
    for begin, word in enumerate(words):
        for place, other in enumerate(reference):
            if word != other or begin == place:
                continue
            end, more = begin + 1, place + 1
            while end < len(words) and more < len(reference) and words[end] == reference[more]:
                end, more = end + 1, more + 1
            left = words[:begin] + words[end:]
            yield left[:place] + words[begin:end] + left[place:]


def shift_cost(words: Tokens, shifted: Tokens) -> float:
    """Return what shifts cost: the mean length of a word, for each phrase that is now later.

    Examples
    --------
    >>> shift_cost(("sat", "the", "cat"), ("the", "cat", "sat"))
    3.0
    """
    cost, place = 0.0, 0
    while place < len(words):
        length = 1
        if words[place] != shifted[place] and words[place] in shifted[place + 1 :]:
            later = shifted.index(words[place], place + 1)
            while later + length < len(words) and words[place + length] == shifted[later + length]:
                length += 1
            cost += sum(map(len, words[place : place + length])) / length
        place += length
    return cost


@dataclass(frozen=True, kw_only=True)
class CharacTER(MatchingMetric):
    """CharacTER: a translation edit rate in characters; lower is better.

    ``(d + s) / |h|``: phrases of the hypothesis h are moved to where the reference has them, as
    long as fewer words have to be edited then (:func:`shift`); d is the edit distance in
    characters, blanks included, of what comes out, and s the cost of the shifts
    (:func:`shift_cost`). |h| is the length of the hypothesis in characters: normalised by the
    reference's, short sentences would have low rates.

    The paper lets words match that are nearly equal when phrases are looked for; the authors'
    program takes equal words only, and so does this. Its scores are these
    (``tests/golden/test_comparators.py``); the package ``cer`` cuts them at 1.

    An empty hypothesis has rate 1, or 0 if it should be empty. Several references: the lowest
    rate. The score of a corpus is the mean of its segments. No machine: what is shifted depends on
    the whole sentence.

    Parameters
    ----------
    lowercase : bool

    References
    ----------
    Wang, Peter, Rosendahl and Ney. CharacTer: translation edit rate on character level. WMT 2016.

    Examples
    --------
    >>> evaluator = CharacTER().against(
    ...     ["saudi arabia denied this week information published in the american new york times"])
    >>> round(evaluator.score(
    ...     "this week the saudis denied information published in the new york times"), 4)
    0.3662
    """

    name: ClassVar[str] = "character"
    heading: ClassVar[str] = "CharacTER"
    higher_is_better: ClassVar[bool] = False
    stat_names: ClassVar[tuple[str, ...]] = ("rate", "segments")
    lowercase: bool = option(False)

    def row(self, words: Tokens, references: Sequence[Tokens]) -> FloatColumn:
        """Return the lowest rate, and 1 for the segment."""
        return floats([min(self._pair(words, each) for each in references), 1.0])

    def _pair(self, words: Tokens, reference: Tokens) -> float:
        """Return the rate against one reference."""
        if not words:
            return float(bool(reference))
        shifted = shift(words, reference)
        text = " ".join(shifted)
        edits = int(distances([text], [" ".join(reference)])[0, 0])
        return (edits + shift_cost(words, shifted)) / max(len(text), 1)

    def score(self, stats: FloatColumn) -> float:
        """Return the mean of the segments' rates."""
        total, segments = (float(value) for value in stats)
        return total / segments if segments else 0.0
