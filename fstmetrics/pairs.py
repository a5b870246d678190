"""All pairs of two lists under one metric: every candidate against every other sentence.

Minimum-risk decoding asks for them. What is done in Python is done once for each distinct word.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from fstmetrics._native import PairMatches, Pairs, alignment_gains, edit_distances, pair_chrf
from fstmetrics.external.tokenizers import NO_TOKENIZER
from fstmetrics.list_units import ListUnits
from fstmetrics.similarity.affix import check_matrix
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.caching import cached_property
from lattices.spaces import NBest

if TYPE_CHECKING:
    from fstmetrics.alignment.metric import AlignmentMetric
    from fstmetrics.ngram.bleu import BLEU
    from fstmetrics.ngram.chrf import CHRF
    from fstmetrics.ngram.per import PER

#: what sacreBLEU takes off the beginning or the end of a word
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


class JointUnits:
    """Two lists over one numbering of their units, from 1 on."""

    def __init__(
        self, candidates: NBest, evidence: NBest, units: Callable[[NBest], ListUnits]
    ) -> None:
        number: dict[str, int] = {}

        def number_list(one: ListUnits) -> tuple[IntColumn, IntColumn]:
            # units may have become equal, as those in lower case
            place = [number.setdefault(each, len(number) + 1) for each in one.symbols]
            return ints(np.array(place, dtype=np.int32)[one.unit]), ints(one.offset)

        #: units and offsets: sentence ``i`` is ``unit[offset[i]:offset[i + 1]]``
        self.candidates = number_list(units(candidates))
        self.evidence = self.candidates if evidence is candidates else number_list(units(evidence))
        #: unit ``n`` is ``symbols[n - 1]``
        self.symbols = tuple(number)

    @cached_property
    def columns(self) -> Pairs:
        """Both lists for native functions."""
        return Pairs(*self.candidates, *self.evidence)

    @property
    def lengths(self) -> tuple[IntColumn, IntColumn]:
        """How many units the candidates have, and the sentences of evidence."""
        return ints(np.diff(self.candidates[1])), ints(np.diff(self.evidence[1]))


def alignment_units(metric: AlignmentMetric) -> Callable[[NBest], ListUnits]:
    """Return what makes a list of words one of the metric's units."""
    if not metric.characters:
        return ListUnits.of_words
    return lambda nbest: ListUnits.of_words(nbest).characters(metric.spaces)


def bleu_units(metric: BLEU) -> Callable[[NBest], ListUnits]:
    """Return what makes a list of words one of the metric's units."""

    def units(nbest: NBest) -> ListUnits:
        if metric.tokenize != NO_TOKENIZER:
            sentences = [list(metric.units(nbest.tokens(entry))) for entry in range(len(nbest))]
            return ListUnits.of_sentences(sentences)
        found = ListUnits.of_words(nbest)
        if metric.lowercase:
            found = found.map(str.lower)
        return found.characters(metric.spaces) if metric.unit == "char" else found

    return units


def edit_scores(candidates: NBest, evidence: NBest, metric: AlignmentMetric) -> FloatColumn:
    """Return WER, WRR or CER of each candidate against each sentence of evidence.

    The gain ``M - I`` of the best alignment is the reference's length minus the edit distance.
    Cost: O(pairs x length x length / 64).
    """
    joint = JointUnits(candidates, evidence, alignment_units(metric))
    distance = edit_distances(joint.columns)
    length = joint.lengths[1][:, None]
    if metric.error_rate:
        return floats(distance / np.maximum(length, 1))
    return _rates(length - distance, length)


def alignment_scores(candidates: NBest, evidence: NBest, metric: AlignmentMetric) -> FloatColumn:
    """Return any alignment metric of each candidate against each sentence of evidence.

    The maximum over alignments, without the way back to the alignment. Cost: O(order x distinct
    prefixes of candidates x units of evidence), many sentences of evidence at a time.
    """
    joint = JointUnits(candidates, evidence, alignment_units(metric))
    similarities = np.empty((0, 0))
    if metric.similarity is not None and joint.symbols:
        soft = check_matrix(metric.similarity, joint.symbols, joint.symbols)
        similarities = np.eye(len(joint.symbols) + 1)
        similarities[1:, 1:] = np.maximum(similarities[1:, 1:], soft)
    gain = alignment_gains(joint.columns, metric.order, *metric.whole_costs, floats(similarities))
    possible = np.array([metric.possible(length) for length in joint.lengths[1].tolist()])[:, None]
    if metric.error_rate:
        return floats((possible - gain) / np.maximum(possible, 1))
    return _rates(gain, possible)


def _rates(gain: Array, possible: Array) -> FloatColumn:
    return floats(np.where(possible, gain / np.where(possible, possible, 1), 1.0 + gain))


def bleu_scores(candidates: NBest, evidence: NBest, metric: BLEU) -> FloatColumn:
    """Return the sentence BLEU of each candidate against each sentence of evidence.

    Cost: O(n-grams of evidence x candidates), thirty-two candidates or so at a time.
    """
    joint = JointUnits(candidates, evidence, bleu_units(metric))
    matches = PairMatches(joint.columns, metric.order)
    if metric.brevity == "standard":
        return floats(matches.bleu(*metric.scoring))
    own, other = joint.lengths
    totals = np.maximum(own - np.arange(metric.order)[:, None], 0)
    lengths = other + 1 if metric.brevity == "smooth" else np.zeros_like(other)
    by_order = [matches.of_order(order) for order in range(1, metric.order + 1)]
    rows = [metric.scores(floats(np.vstack([row, totals, own, np.full_like(own, length)]).T))
            for row, length in zip(np.stack(by_order, axis=1), lengths, strict=True)]  # fmt: skip
    return floats(np.reshape(rows, (len(evidence), len(candidates))))


def per_scores(candidates: NBest, evidence: NBest, metric: PER) -> FloatColumn:
    """Return PER of each candidate against each sentence of evidence, as :func:`bleu_scores`."""
    joint = JointUnits(candidates, evidence, ListUnits.of_words)
    matches = PairMatches(joint.columns, 1).of_order(1)
    own, other = joint.lengths
    return floats((np.maximum(own, other[:, None]) - matches) / np.maximum(other[:, None], 1))


def chrf_scores(candidates: NBest, evidence: NBest, metric: CHRF) -> FloatColumn:
    """Return chrF of each candidate against each sentence of evidence, as sacreBLEU has it."""
    parts = [
        PairMatches(JointUnits(candidates, evidence, units).columns, order)
        for units, order in chrf_units(metric)
    ]
    return floats(pair_chrf(parts, metric.beta, metric.eps_smoothing))


def chrf_units(metric: CHRF) -> list[tuple[Callable[[NBest], ListUnits], int]]:
    """Return the two ways in which the metric cuts sentences, and the longest n-grams of each."""

    def fold_case(word: str) -> str:
        return word.lower() if metric.lowercase else word

    def characters(nbest: NBest) -> ListUnits:
        words = ListUnits.of_words(nbest).map(fold_case)
        if metric.whitespace:
            return words.characters(spaces=True)
        # a word may have a blank in it, though not one of ASCII's
        return words.map(lambda word: "".join(word.split())).characters(spaces=False)

    def words(nbest: NBest) -> ListUnits:
        pieces = {
            word: [part for each in fold_case(word).split() for part in _split_punctuation(each)]
            for word in ListUnits.of_words(nbest).symbols
        }
        return ListUnits.of_sentences(
            [
                [part for word in nbest.tokens(entry) for part in pieces[word]]
                for entry in range(len(nbest))
            ]
        )

    cuts: list[tuple[Callable[[NBest], ListUnits], int]] = [(characters, metric.char_order)]
    if metric.word_order:
        cuts.append((words, metric.word_order))
    return cuts


def _split_punctuation(word: str) -> list[str]:
    """Return a word with the punctuation at its end, or at its beginning, apart."""
    if len(word) > 1 and word[-1] in _PUNCTUATION:
        return [word[:-1], word[-1]]
    if len(word) > 1 and word[0] in _PUNCTUATION:
        return [word[0], word[1:]]
    return [word]
