"""chrF of every candidate against every sentence of evidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from decoding.minimum_risk.pairwise_ngram import ngram_matches
from decoding.minimum_risk.pairwise_units import JointUnits
from fstmetrics.list_units import ListUnits
from fstmetrics.sacrebleu_metrics import ChrF
from lattices.arrays import Array, FloatColumn, floats
from lattices.spaces import NBest

#: what sacreBLEU takes off the beginning or the end of a word
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_SMALLEST = 1e-16


class OrderCounts(NamedTuple):
    """The n-grams of one order that candidates have, those of references, and matches.

    Arrays that fit together: one row a reference, one column a candidate.
    """

    candidates: Array
    references: Array
    matches: Array


def chrf_scores(candidates: NBest, evidence: NBest, metric: ChrF) -> FloatColumn:
    """Return chrF of each candidate against each sentence of evidence, as sacreBLEU has it.

    Returns
    -------
    float64 array
        One row a sentence of evidence, one column a candidate.

    Examples
    --------
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses([Hypothesis(("a", "cat")), Hypothesis(("a", "hat"))])
    >>> chrf_scores(nbest, nbest, ChrF(char_order=1)).tolist()
    [[1.0, 0.75], [0.75, 1.0]]
    """
    counts: list[OrderCounts] = []
    for units, order in chrf_units(metric):
        joint = JointUnits.of(candidates, evidence, units)
        matches = ngram_matches(joint, order)
        own, other = joint.candidates.length[None, :], joint.evidence.length[:, None]
        counts.extend(
            OrderCounts(np.maximum(own - k, 0), np.maximum(other - k, 0), matches[:, k])
            for k in range(order)
        )
    return f_scores(counts, metric)


def f_scores(counts: list[OrderCounts], metric: ChrF) -> FloatColumn:
    """Return chrF from the counts of all orders.

    The F-score of mean precision and mean recall over the orders that both sides have; or the
    mean of the F-scores of all orders, with ``eps_smoothing``.
    """
    factor = float(metric.beta) ** 2
    shape = np.broadcast_shapes(*(part.shape for part in counts[0]))
    score, precision, recall, orders = (np.zeros(shape) for _ in range(4))
    for candidates, references, matches in counts:
        both = (candidates > 0) & (references > 0)
        # n-grams of the candidate do not count where the reference has none of that order
        hits = np.where(both, matches / np.maximum(candidates, 1.0), _SMALLEST)
        found = np.where(
            references > 0, matches / np.where(references > 0, references, 1.0), _SMALLEST
        )
        if metric.eps_smoothing:
            score += _f(hits, found, factor, _SMALLEST)
        precision += np.where(both, hits, 0.0)
        recall += np.where(both, found, 0.0)
        orders += both
    if metric.eps_smoothing:
        return floats(score / len(counts))
    effective = np.maximum(orders, 1.0)
    return floats(_f(precision / effective, recall / effective, factor, 0.0))


def _f(precision: Array, recall: Array, factor: float, otherwise: float) -> Array:
    below = factor * precision + recall
    above = (1.0 + factor) * precision * recall
    result: Array = np.where(below > 0.0, above / np.where(below > 0.0, below, 1.0), otherwise)
    return result


def chrf_units(metric: ChrF) -> list[tuple[Callable[[NBest], ListUnits], int]]:
    """Return the two ways in which the metric cuts sentences, and the longest n-grams of each."""

    def folded(word: str) -> str:
        return word.lower() if metric.lowercase else word

    def characters(nbest: NBest) -> ListUnits:
        words = ListUnits.of_words(nbest).mapped(folded)
        if metric.whitespace:
            return words.characters(spaces=True)
        # a word may have a blank in it, though not one of ASCII's
        return words.mapped(lambda word: "".join(word.split())).characters(spaces=False)

    def words(nbest: NBest) -> ListUnits:
        pieces = {
            word: [part for each in folded(word).split() for part in _stripped(each)]
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


def _stripped(word: str) -> list[str]:
    """Return a word with the punctuation at its end, or at its beginning, apart."""
    if len(word) > 1 and word[-1] in _PUNCTUATION:
        return [word[:-1], word[-1]]
    if len(word) > 1 and word[0] in _PUNCTUATION:
        return [word[0], word[1:]]
    return [word]
