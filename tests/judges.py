"""Slow and plain definitions, to judge the fast ones by."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Protocol

import numpy as np

from fstmetrics.alignment.metric import AlignmentMetric
from fstmetrics.contract import Machine
from fstmetrics.ngram.linear import Factors
from lattices import Hypothesis, Lattice, Vocabulary
from lattices.arrays import floats, ints
from lattices.intersection import ANY, Automaton, Part


class Costs(Protocol):
    """What a judge must know of WRR or GRR."""

    @property
    def order(self) -> int: ...
    @property
    def insertion(self) -> float: ...
    @property
    def deletion(self) -> float: ...


def gain_by_recursion(hypothesis: Sequence[str], reference: Sequence[str], metric: Costs) -> float:
    """Return the best numerator of equation 6, trying every alignment."""

    @cache
    def rest(j: int, i: int, run: int) -> float:
        options = []
        if j < len(hypothesis) and i < len(reference):
            if hypothesis[j] == reference[i]:
                options.append(min(run + 1, metric.order) + rest(j + 1, i + 1, run + 1))
            options.append(rest(j + 1, i + 1, 0))
        if j < len(hypothesis):
            options.append(rest(j + 1, i, 0) - metric.insertion)
        if i < len(reference):
            options.append(rest(j, i + 1, 0) - metric.deletion)
        return max(options, default=0.0)

    return rest(0, 0, 0)


def score_by_recursion(
    hypothesis: Sequence[str], references: Sequence[Sequence[str]], metric: AlignmentMetric
) -> float:
    """Return the best score over the references, higher is better (1 - WER for WER)."""
    scores = []
    for reference in references:
        possible = sum(max(0, len(reference) - k + 1) for k in range(1, metric.order + 1))
        gain = gain_by_recursion(hypothesis, reference, metric)
        scores.append(gain / possible if possible else 1 + gain)
    return max(scores)


def linear_gain(
    words: Sequence[str],
    references: Sequence[Sequence[str]],
    factors: Factors,
    lowercase: bool = False,
) -> float:
    """Return theta_0 |E| + sum of theta_n over occurrences of n-grams that some reference has."""
    fold = str.lower if lowercase else str
    said, *others = ([fold(each) for each in side] for side in (words, *references))
    total = factors.word * len(said)
    for n, theta in enumerate(factors.ngram, 1):
        known = {tuple(each[at : at + n]) for each in others for at in range(len(each) - n + 1)}
        total += theta * sum(tuple(said[at : at + n]) in known for at in range(len(said) - n + 1))
    return total


def paper_machine(
    reference: Sequence[str], metric: AlignmentMetric, vocabulary: Vocabulary
) -> Machine:
    """Return the machine as Chiang et al. 2008 print it: every operation from every (i, m)."""
    arcs = []
    top = metric.order - 1
    length = len(reference)

    def state(i: int, m: int) -> int:
        return i * metric.order + m

    for m in range(metric.order):
        for i in range(length + 1):
            arcs.append((state(i, m), state(i, 0), ANY, -metric.insertion))
            if i < length:
                word = vocabulary.id(reference[i])
                if word > 0:
                    arcs.append((state(i, m), state(i + 1, min(m + 1, top)), word, m + 1))
                arcs.append((state(i, m), state(i + 1, 0), 0, -metric.deletion))
                arcs.append((state(i, m), state(i + 1, 0), ANY, 0))
    src, dst, label, gain = zip(*arcs, strict=True)
    initial = np.full(state(length, top) + 1, -np.inf)
    initial[0] = 0
    final = np.full(len(initial), -np.inf)
    final[state(length, 0) :] = 0
    automaton = Automaton(
        ints(src), ints(dst), ints(label), floats(gain), floats(initial), floats(final)
    )
    possible = metric.possible(length)
    return Machine((Part(automaton, possible or 1, 0 if possible else 1),))


def model_score(lattice: Lattice, path: Hypothesis) -> float:
    """Return a path's score, summed from its end."""
    state = int(lattice.dst[path.arcs[-1]]) if path.arcs else lattice.start
    total = float(lattice.final[state])
    for arc in reversed(path.arcs):
        total = float(lattice.score[arc]) + total
    return total
