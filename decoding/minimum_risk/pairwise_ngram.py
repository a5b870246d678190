"""n-gram matches of every candidate with every sentence of evidence: BLEU, PER and chrF.

Clipped matches become plain ones when the second occurrence of an n-gram in a sentence counts as
another n-gram than the first, and so on: then the matches of two sentences are what their sets
have in common. All n-grams of both lists are numbered once, and each number has a row that says
which candidates have it. The matches of a sentence of evidence with all candidates are the sum
of the rows of its n-grams: vectors of small whole numbers, added.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from decoding.minimum_risk.evidence_kernels import hash_place
from decoding.minimum_risk.pairwise_units import JointUnits, Sentences, bleu_units
from fstmetrics import PER, scores_of
from fstmetrics.bleu import BLEU
from fstmetrics.bleu_options import smoothing_number
from fstmetrics.list_units import ListUnits
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints, kernel
from lattices.spaces import NBest

#: candidates that are worked on side by side
_LANES = 128
FLOOR, ADD_K, EXP = map(smoothing_number, ("floor", "add-k", "exp"))
_LOG_2 = math.log(2.0)


class Marks(NamedTuple):
    """The n-grams of sentences by number.

    Attributes
    ----------
    number : int32 column
        Those of order 1 of the first sentence, those of order 2, ..., of the next sentence, ...
    offset : int64 column
        Order ``k + 1`` of sentence ``i`` begins at ``offset[i * order + k]``.
    """

    number: IntColumn
    offset: Array


def marks_of(joint: JointUnits, order: int) -> tuple[Marks, Marks, int]:
    """Return the n-grams of candidates and of evidence, and how many numbers there are.

    Cost: O(units x order).
    """
    same = joint.evidence is joint.candidates
    both = joint.candidates if same else _together(joint.candidates, joint.evidence)
    number, offset, count = _numbered(both.unit, both.offset, len(joint.symbols), order)
    cut = len(joint.candidates) * order
    if same:
        every = Marks(ints(number), offset)
        return every, every, count
    middle = int(offset[cut])
    return (
        Marks(ints(number[:middle]), offset[: cut + 1].copy()),
        Marks(ints(number[middle:]), offset[cut:] - middle),
        count,
    )


def _together(one: Sentences, other: Sentences) -> Sentences:
    return Sentences(
        ints(np.concatenate([one.unit, other.unit])),
        ints(np.concatenate([one.offset, other.offset[1:] + one.offset[-1]])),
    )


def ngram_matches(joint: JointUnits, order: int) -> Array:
    """Return the clipped matches of each order, by evidence, order and candidate.

    Cost: O(n-grams of evidence x candidates), sixteen candidates or more at a time.

    Examples
    --------
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses([Hypothesis(("a", "a", "b")), Hypothesis(("a", "b", "b"))])
    >>> ngram_matches(JointUnits.of(nbest, nbest, ListUnits.of_words), 2).tolist()
    [[[3, 2], [2, 1]], [[2, 3], [1, 2]]]
    """
    candidates, evidence, count = marks_of(joint, order)
    columns, height = len(joint.candidates), len(joint.evidence)
    most = joint.candidates.length.max(initial=0)
    kind = np.uint16 if most < 2**16 else np.uint32
    result = np.empty((height, order, columns), kind)
    for first in range(0, columns, _LANES):
        last = min(first + _LANES, columns)
        some = np.zeros((height, order, last - first), kind)
        has = np.zeros((count, last - first), kind)
        _add_matches(*candidates, first, last, *evidence, order, has, some)
        result[:, :, first:last] = some
    return result


def bleu_scores(candidates: NBest, evidence: NBest, metric: BLEU) -> FloatColumn:
    """Return the sentence BLEU of each candidate against each sentence of evidence.

    Scored by the metric itself, with its smoothing, its mean and its brevity penalty.

    Returns
    -------
    float64 array
        One row a sentence of evidence, one column a candidate.

    Examples
    --------
    >>> from fstmetrics import BLEU
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses([Hypothesis(("a", "cat")), Hypothesis(("a", "hat"))])
    >>> bleu_scores(nbest, nbest, BLEU(order=1)).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    joint, order = JointUnits.of(candidates, evidence, bleu_units(metric)), metric.order
    matches = ngram_matches(joint, order)
    own, other = ints(joint.candidates.length), ints(joint.evidence.length)
    if metric.mean == "arithmetic" or type(metric).scores is not BLEU.scores:
        rows = _bleu_rows(matches, own, other, metric.strict)
        return scores_of(metric, rows).reshape(len(other), len(own))
    weights, smoothing, value, effective_order, _ = metric._scoring
    longest = max(own.max(initial=0), other.max(initial=0))
    with np.errstate(divide="ignore"):
        logs = floats(np.log(np.arange(longest + 1.0)))
        added = floats(np.log(np.arange(longest + 1.0) + value))
    return floats(
        _geometric(
            matches, own, other, floats(weights), smoothing, value, effective_order, logs, added
        )
    )


def per_scores(candidates: NBest, evidence: NBest, metric: PER) -> FloatColumn:
    """Return PER of each candidate against each sentence of evidence, as :func:`bleu_scores`.

    Examples
    --------
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses([Hypothesis(("a", "cat")), Hypothesis(("cat", "a", "hat"))])
    >>> per_scores(nbest, nbest, PER()).round(4).tolist()
    [[0.0, 0.5], [0.3333, 0.0]]
    """
    joint = JointUnits.of(candidates, evidence, ListUnits.of_words)
    matches = ngram_matches(joint, 1)[:, 0].astype(np.int64)
    own, other = joint.candidates.length[None, :], joint.evidence.length[:, None]
    return floats((np.maximum(own, other) - matches) / np.maximum(other, 1.0))


@kernel
def _numbered(unit, offset, units, order):  # type: ignore[no-untyped-def]
    """Return the n-grams of each sentence by number, order by order, each occurrence apart.

    An n-gram is a node of a trie, found from the one a unit shorter by a hash of (node, unit).
    Unit 0 does not occur: it leads from an n-gram to its next occurrence in the sentence.
    """
    sentences = len(offset) - 1
    bounds = np.zeros(sentences * order + 1, np.int64)
    for sentence in range(sentences):
        length = offset[sentence + 1] - offset[sentence]
        for k in range(order):
            place = sentence * order + k
            bounds[place + 1] = bounds[place] + max(0, length - k)
    total = bounds[-1]
    bits = 1
    while (1 << bits) < 2 * (total + 1):
        bits += 1
    shift = np.uint64(64 - bits)
    key = np.zeros(1 << bits, np.int64)
    node = np.zeros(1 << bits, np.int32)
    seen = np.full(total + 1, -1, np.int32)
    latest = np.empty(total + 1, np.int32)
    number = np.empty(total, np.int32)
    nodes = 1
    for sentence in range(sentences):
        end = offset[sentence + 1]
        for begin in range(offset[sentence], end):
            here = np.int64(0)
            for position in range(begin, min(begin + order, end)):
                wanted = here * (units + 1) + unit[position]
                place = hash_place(key, wanted, shift)
                if key[place] == 0:
                    key[place], node[place] = wanted, nodes
                    nodes += 1
                here = np.int64(node[place])
                mark = here
                if seen[here] == sentence:
                    wanted = np.int64(latest[here]) * (units + 1)
                    place = hash_place(key, wanted, shift)
                    if key[place] == 0:
                        key[place], node[place] = wanted, nodes
                        nodes += 1
                    mark = np.int64(node[place])
                seen[here], latest[here] = sentence, mark
                k = position - begin
                number[bounds[sentence * order + k] + begin - offset[sentence]] = mark
    return number, bounds, nodes


@kernel
def _add_matches(number, offset, first, last, other, other_offset, order, has, result):  # type: ignore[no-untyped-def]
    """Add to ``result[evidence, order, candidate - first]``; ``has`` comes in as zeros."""
    lanes = last - first
    for candidate in range(first, last):
        for index in range(offset[candidate * order], offset[(candidate + 1) * order]):
            has[number[index], candidate - first] = 1
    for evidence in range(result.shape[0]):
        for k in range(order):
            place = evidence * order + k
            for index in range(other_offset[place], other_offset[place + 1]):
                mark = other[index]
                for lane in range(lanes):
                    result[evidence, k, lane] += has[mark, lane]


@kernel
def _geometric(matches, own, other, weight, smoothing, value, effective_order, logs, added):  # type: ignore[no-untyped-def]
    """Return BLEU with its geometric mean, as the metric's own kernel does.

    With whole matches all logarithms but those of constants come from two tables: of the whole
    numbers, and of these plus the smoothing value.
    """
    height, order, columns = matches.shape
    scores = np.zeros((height, columns))
    for evidence in range(height):
        for candidate in range(columns):
            matched = False
            for k in range(order):
                matched = matched or matches[evidence, k, candidate] > 0
            if not matched:
                continue
            length = own[candidate]
            mean, weights, halvings = 0.0, 0.0, 0
            for k in range(order):
                found, total = np.int64(matches[evidence, k, candidate]), max(0, length - k)
                precision = -np.inf
                if smoothing == ADD_K and k > 0:
                    precision = added[found] - added[total]
                elif total > 0:
                    if found > 0:
                        precision = logs[found] - logs[total]
                    elif smoothing == FLOOR:
                        precision = math.log(value) - logs[total]
                    elif smoothing == EXP:
                        halvings += 1
                        precision = -halvings * _LOG_2 - logs[total]
                elif effective_order:
                    break
                if weight[k] > 0:
                    weights += weight[k]
                    mean += weight[k] * precision
            if weights == 0.0 or mean == -np.inf:
                continue
            mean /= weights
            if length < other[evidence]:
                mean += 1.0 - other[evidence] / length
            scores[evidence, candidate] = math.exp(mean)
    return scores


@kernel
def _bleu_rows(matches, length, reference_length, strict):  # type: ignore[no-untyped-def]
    """Return the statistics of BLEU of each pair, as the metric has them for one reference."""
    height, order, columns = matches.shape
    rows = np.zeros((height * columns, 2 * order + 2))
    for evidence in range(height):
        for candidate in range(columns):
            row = evidence * columns + candidate
            own, other = length[candidate], reference_length[evidence]
            for k in range(order):
                rows[row, k] = matches[evidence, k, candidate]
                rows[row, order + k] = max(0, own - k)
            rows[row, 2 * order] = min(own, other) if strict else own
            rows[row, 2 * order + 1] = other
    return rows
