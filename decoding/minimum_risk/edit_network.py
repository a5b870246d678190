"""From what the recursion for edits leaves behind to a confusion network."""

from __future__ import annotations

import numpy as np

from decoding.minimum_risk.confusion import ConfusionNetwork, in_order
from lattices.arrays import Array, IntColumn, floats, ints, kernel
from lattices.spaces import Lattice
from lattices.vocabulary import EPSILON

#: posteriors are compared in steps of this, so that equals are equal however they were summed
_STEP = 1e-12


@kernel
def _arranged(words, key, value, empty, rank):  # type: ignore[no-untyped-def]
    """Return the alternatives bin by bin: labels, values, offsets, and the sentence's own.

    The sentence's own words are alternatives even where their posterior is 0.
    """
    bins = len(empty)
    known = np.zeros(bins, np.bool_)
    for entry in range(len(key)):
        place, word = key[entry] >> 32, key[entry] & 0xFFFFFFFF
        if place % 2 == 1 and words[place // 2] == word:
            known[place] = True
    room = len(key) + 2 * bins
    bin_of, label, number = np.empty(room, np.int64), np.empty(room, np.int32), np.zeros((room, 3))
    count = 0
    for place in range(bins):
        if place % 2 == 0 or empty[place, 0] > 0.0:
            bin_of[count], label[count], number[count] = place, EPSILON, empty[place]
            count += 1
        if place % 2 == 1 and not known[place]:
            bin_of[count], label[count] = place, words[place // 2]
            count += 1
    for entry in range(len(key)):
        bin_of[count], label[count] = key[entry] >> 32, key[entry] & 0xFFFFFFFF
        number[count] = value[entry]
        count += 1
    # by the last key first, since every one of the sorts is stable
    order = np.argsort(rank[label[:count]], kind="mergesort")
    order = order[np.argsort(-np.floor(number[order, 0] / _STEP + 0.5), kind="mergesort")]
    offset = np.zeros(bins + 1, np.int32)
    for entry in range(count):
        offset[bin_of[entry] + 1] += 1
    for place in range(bins):
        offset[place + 1] += offset[place]
    free = offset[:-1].copy()
    labels, numbers = np.empty(count, np.int32), np.empty((count, 3))
    chosen = np.empty(bins, np.int32)
    for entry in order:
        place = bin_of[entry]
        labels[free[place]], numbers[free[place]] = label[entry], number[entry]
        if label[entry] == (words[place // 2] if place % 2 == 1 else EPSILON):
            chosen[place] = free[place]
        free[place] += 1
    return labels, numbers, offset, chosen


def network_of(
    lattice: Lattice, words: IntColumn, rank: IntColumn, key: Array, value: Array, empty: Array
) -> ConfusionNetwork:
    """Return the network of what :func:`decoding.minimum_risk.edit_kernel.minimise` found."""
    label, number, offset, chosen = _arranged(words, key, value, empty, rank)
    posterior = number[:, 0]
    begin = end = bin_begin = bin_end = None
    if lattice.times is not None:
        known = posterior > 0.0
        nowhere = np.full((len(number), 2), np.nan)
        times = np.divide(number[:, 1:], posterior[:, None], out=nowhere, where=known[:, None])
        begin, end = floats(times[:, 0]), floats(times[:, 1])
        bin_begin, bin_end = in_order(*np.add.reduceat(number[:, 1:], offset[:-1]).T)
    return ConfusionNetwork(
        vocabulary=lattice.vocabulary,
        label=ints(label),
        # rounding may carry a certainty just above one
        posterior=floats(np.minimum(posterior, 1.0)),
        offset=ints(offset),
        chosen=ints(chosen),
        begin=begin,
        end=end,
        bin_begin=bin_begin,
        bin_end=bin_end,
        id=lattice.id,
        references=lattice.references,
    )
