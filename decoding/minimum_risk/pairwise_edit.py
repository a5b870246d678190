"""Alignments of every candidate with every sentence of evidence, many side by side.

Edit distances are computed a machine word of the table at a time (Myers 1999, in the form of
Hyyrö 2003), the candidates side by side: one step of all of them is a loop without branches
that the compiler turns into vector instructions. The other metrics of the family fill one table
for all pairs, with a row for each distinct prefix of a candidate and a column for each distinct
prefix of the evidence: sentences of a list begin alike, more often than not.
"""

from __future__ import annotations

import numpy as np

from decoding.minimum_risk.pairwise_units import JointUnits, Sentences, alignment_units
from fstmetrics import AlignmentMetric
from fstmetrics.similarity import checked_matrix
from lattices.arrays import Array, FloatColumn, IntColumn, floats, inlined, ints, kernel
from lattices.spaces import NBest

_WORD = 64
#: sentences that are worked on side by side: what is kept of them fits the nearest cache
_LANES = 128
#: sentences of evidence in one trie
_AT_ONCE = 256


def is_edit_distance(metric: AlignmentMetric) -> bool:
    """Tell whether the best alignment is the one of the edit distance, with hard matches."""
    return metric.similarity is None and (metric.order, metric.insertion, metric.deletion) == (
        1,
        1.0,
        0.0,
    )


def edit_scores(candidates: NBest, evidence: NBest, metric: AlignmentMetric) -> FloatColumn:
    """Return WER, WRR or CER of each candidate against each sentence of evidence.

    The gain ``M - I`` of the best alignment is the reference's length minus the edit distance.
    Cost: O(pairs x length x length / 64).

    Returns
    -------
    float64 array
        One row a sentence of evidence, one column a candidate.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses([Hypothesis(("a", "cat")), Hypothesis(("cat",))])
    >>> edit_scores(nbest, nbest, WER()).tolist()
    [[0.0, 0.5], [1.0, 0.0]]
    """
    joint = JointUnits.of(candidates, evidence, alignment_units(metric))
    distance = edit_distances(joint).astype(np.float64)
    length = joint.evidence.length[:, None].astype(np.float64)
    if metric.error_rate:
        return floats(distance / np.maximum(length, 1.0))
    return _rates(length - distance, length)


def edit_distances(joint: JointUnits) -> Array:
    """Return the edit distance of each sentence of evidence (rows) to each candidate."""
    result = np.empty((len(joint.evidence), len(joint.candidates)), np.int32)
    for first in range(0, len(joint.candidates), _LANES):
        some = joint.candidates.part(first, min(first + _LANES, len(joint.candidates)))
        result[:, first : first + len(some)] = _distances(
            some.unit, some.offset, joint.evidence.unit, joint.evidence.offset, len(joint.symbols)
        )
    return result


def alignment_scores(candidates: NBest, evidence: NBest, metric: AlignmentMetric) -> FloatColumn:
    """Return any alignment metric of each candidate against each sentence of evidence.

    The maximum over alignments, without the way back to the alignment. Cost: O(order x distinct
    prefixes of candidates x distinct prefixes of evidence), at most that of each pair alone.

    Returns
    -------
    float64 array
        One row a sentence of evidence, one column a candidate.

    Examples
    --------
    >>> from fstmetrics import GRR
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses([Hypothesis(("a", "cat")), Hypothesis(("cat",))])
    >>> alignment_scores(nbest, nbest, GRR(n=2)).round(4).tolist()
    [[1.0, 0.3333], [0.0, 1.0]]
    """
    joint = JointUnits.of(candidates, evidence, alignment_units(metric))
    gain = _gains(joint, metric)
    possible = np.array(
        [metric.possible(length) for length in joint.evidence.length.tolist()], dtype=np.float64
    )[:, None]
    if metric.error_rate:
        # with costs 1 and 0 what is not gained of the reference's length is lost
        length = joint.evidence.length[:, None].astype(np.float64)
        return floats((length - gain) / np.maximum(possible, 1.0))
    return _rates(gain, possible)


def _rates(gain: Array, possible: Array) -> FloatColumn:
    return floats(np.where(possible, gain / np.where(possible, possible, 1.0), 1.0 + gain))


def _gains(joint: JointUnits, metric: AlignmentMetric) -> Array:
    """Return the best gain of each pair."""
    worth = np.empty((0, 0))
    if metric.similarity is not None and joint.symbols:
        soft = checked_matrix(metric.similarity, joint.symbols, joint.symbols)
        worth = np.eye(len(joint.symbols) + 1)
        worth[1:, 1:] = np.maximum(worth[1:, 1:], soft)
    candidates = alphabetical(joint.candidates)
    result = np.empty((len(joint.evidence), len(joint.candidates)))
    for first in range(0, len(joint.evidence), _AT_ONCE):
        some = joint.evidence.part(first, min(first + _AT_ONCE, len(joint.evidence)))
        _aligned(
            *joint.candidates, candidates, *some, alphabetical(some), floats(worth),
            metric.order, float(metric.insertion), float(metric.deletion),
            result[first : first + len(some)],
        )  # fmt: skip
    return result


def alphabetical(sentences: Sentences) -> IntColumn:
    """Return the order in which sentences that begin alike stand together.

    Examples
    --------
    >>> alphabetical(Sentences(ints([2, 1, 2, 2]), ints([0, 1, 3, 3, 4]))).tolist()
    [2, 1, 0, 3]
    """
    length = sentences.length
    units = np.zeros((length.max(initial=0), len(length)), np.int32)
    sentence = np.repeat(np.arange(len(length)), length)
    units[np.arange(len(sentences.unit)) - sentences.offset[sentence], sentence] = sentences.unit
    return ints(np.lexsort(units[::-1]) if len(units) else np.arange(len(length)))


@kernel
def _distances(unit, offset, text, text_offset, symbols):  # type: ignore[no-untyped-def]
    """Return the edit distances of texts (rows) to sentences (columns), a word at a time."""
    lanes = len(offset) - 1
    longest = 1
    for lane in range(lanes):
        longest = max(longest, offset[lane + 1] - offset[lane])
    blocks = (longest + _WORD - 1) // _WORD
    one = np.uint64(1)
    full = ~np.uint64(0)
    last = np.uint64(_WORD - 1)
    match = np.zeros((symbols + 1, blocks, lanes), np.uint64)
    valid = np.zeros((blocks, lanes), np.uint64)
    for lane in range(lanes):
        for place in range(offset[lane + 1] - offset[lane]):
            bit = one << np.uint64(place % _WORD)
            match[unit[offset[lane] + place], place // _WORD, lane] |= bit
            valid[place // _WORD, lane] |= bit
    up = np.empty((blocks, lanes), np.uint64)
    down = np.empty((blocks, lanes), np.uint64)
    carried_up = np.empty(lanes, np.uint64)
    carried_down = np.empty(lanes, np.uint64)
    result = np.empty((len(text_offset) - 1, lanes), np.int32)
    for row in range(len(text_offset) - 1):
        up[:] = full
        down[:] = np.uint64(0)
        for index in range(text_offset[row], text_offset[row + 1]):
            equal = match[text[index]]
            if blocks == 1:
                for lane in range(lanes):
                    rises, falls, same = up[0, lane], down[0, lane], equal[0, lane]
                    diagonal = (((same & rises) + rises) ^ rises) | same | falls
                    right = ((falls | ~(diagonal | rises)) << one) | one
                    left = (diagonal & rises) << one
                    up[0, lane] = left | ~(diagonal | right)
                    down[0, lane] = right & diagonal
            else:
                carried_up[:] = one
                carried_down[:] = np.uint64(0)
                for block in range(blocks):
                    for lane in range(lanes):
                        rises, falls = up[block, lane], down[block, lane]
                        same = equal[block, lane] | carried_down[lane]
                        diagonal = (((same & rises) + rises) ^ rises) | same | falls
                        right = falls | ~(diagonal | rises)
                        left = diagonal & rises
                        over_right, over_left = right >> last, left >> last
                        right = (right << one) | carried_up[lane]
                        left = (left << one) | carried_down[lane]
                        carried_up[lane], carried_down[lane] = over_right, over_left
                        up[block, lane] = left | ~(diagonal | right)
                        down[block, lane] = right & diagonal
        # the distance at the end is the length of the text plus all steps down the last column
        for lane in range(lanes):
            result[row, lane] = text_offset[row + 1] - text_offset[row]
        for block in range(blocks):
            for lane in range(lanes):
                result[row, lane] += np.int32(_ones(up[block, lane] & valid[block, lane]))
                result[row, lane] -= np.int32(_ones(down[block, lane] & valid[block, lane]))
    return result


@kernel
def _ones(word):  # type: ignore[no-untyped-def]
    """Return how many bits of a word are set: sums of pairs, of fours, of bytes."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@inlined
def _common(unit, begin, length, other, other_length):  # type: ignore[no-untyped-def]
    """Return how many units two sentences have in common at their beginning."""
    common = 0
    while common < min(length, other_length) and unit[begin + common] == unit[other + common]:
        common += 1
    return common


@kernel
def _aligned(  # type: ignore[no-untyped-def]
    unit, offset, sorted_sentences, reference, reference_offset, sorted_references,
    table, order, insertion, deletion, result,
):  # fmt: skip
    """Fill ``result[reference, sentence]`` with the best gain of each pair.

    ``table`` has what a unit is worth as a match of another; it is empty if only equal units
    match. The references are made a trie. A
    row has an entry for each of its nodes: ``value[depth, node, m]`` is the best gain of
    alignments of the sentence's first ``depth`` units with the node's units that end in ``m``
    matches, or in more for the last ``m``. ``best`` is the best of all ``m``; what is no match
    leaves from there. Rows of a prefix serve all sentences that begin with it.
    """
    parent = np.zeros(len(reference) + 1, np.int32)
    symbol = np.zeros(len(reference) + 1, np.int32)
    end = np.zeros(len(reference_offset) - 1, np.int32)
    nodes, before, before_length = 1, 0, 0
    longest = 0
    for each in range(len(end)):
        longest = max(longest, reference_offset[each + 1] - reference_offset[each])
    spine = np.zeros(longest + 1, np.int32)
    for each in sorted_references:
        begin, length = reference_offset[each], reference_offset[each + 1] - reference_offset[each]
        for depth in range(_common(reference, begin, length, before, before_length), length):
            parent[nodes], symbol[nodes] = spine[depth], reference[begin + depth]
            spine[depth + 1] = nodes
            nodes += 1
        end[each] = spine[length]
        before, before_length = begin, length
    longest = 0
    for each in range(len(offset) - 1):
        longest = max(longest, offset[each + 1] - offset[each])
    value = np.full((longest + 1, nodes, order), -np.inf)
    best = np.empty((longest + 1, nodes))
    best[0, 0], value[0, 0, 0] = 0.0, 0.0
    for node in range(1, nodes):
        best[0, node] = best[0, parent[node]] - deletion
        value[0, node, 0] = best[0, node]
    top, soft = order - 1, len(table) > 0
    before, before_length = 0, 0
    for each in sorted_sentences:
        begin, length = offset[each], offset[each + 1] - offset[each]
        for depth in range(_common(unit, begin, length, before, before_length), length):
            own = unit[begin + depth]
            best[depth + 1, 0] = best[depth, 0] - insertion
            value[depth + 1, 0, 0] = best[depth + 1, 0]
            for node in range(1, nodes):
                above = parent[node]
                gain = max(best[depth, node] - insertion, best[depth, above])
                gain = max(gain, best[depth + 1, above] - deletion)
                value[depth + 1, node, 0] = gain
                if soft:
                    worth = table[own, symbol[node]]
                else:
                    worth = 1.0 if own == symbol[node] else 0.0
                if worth > 0.0:
                    for m in range(1, order):
                        value[depth + 1, node, m] = value[depth, above, m - 1] + m * worth
                    longer = value[depth, above, top] + order * worth
                    value[depth + 1, node, top] = max(value[depth + 1, node, top], longer)
                    for m in range(order):
                        gain = max(gain, value[depth + 1, node, m])
                else:
                    for m in range(1, order):
                        value[depth + 1, node, m] = -np.inf
                best[depth + 1, node] = gain
        for other in range(len(end)):
            result[other, each] = best[length, end[other]]
        before, before_length = begin, length
