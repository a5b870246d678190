"""Direct scoring of one sentence against one reference, with the alignment.

This is the definition, in the form of the paper: every operation leaves from every state
``(i, m)``. The automata that search lattices have another, smaller form and other code; the
two are each other's judge.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from lattices.arrays import kernel

Operation = Literal["match", "substitution", "insertion", "deletion"]
OPERATIONS: tuple[Operation, ...] = ("match", "substitution", "insertion", "deletion")
MATCH, SUBSTITUTION, INSERTION, DELETION = range(4)


class Edit(NamedTuple):
    """One step of an alignment.

    Attributes
    ----------
    operation : {"match", "substitution", "insertion", "deletion"}
    hypothesis, reference : str
        The words, empty where there is none on that side.
    weight : float
        1 for a match, the similarity for a soft one, 0 for the rest.
    """

    operation: Operation
    hypothesis: str
    reference: str
    weight: float


@kernel
def align(weight, order, insertion, deletion):  # type: ignore[no-untyped-def]
    """Return the best alignment: its steps as rows ``(operation, hypothesis, reference, run)``.

    ``weight[j, i]`` is what hypothesis word ``j`` is worth as a match of reference word
    ``i``. ``run`` counts the matches in a row that the step ends, so a match is the end of
    a k-gram match for every k up to ``min(run, order)``. Among equally good alignments,
    matches are preferred to substitutions, these to deletions, these to insertions, from
    the end backward. Costs O(J x L x order).
    """
    words, length = weight.shape
    value, source, how = _table(words, length, order)
    _fill(value, source, how, weight, 0, words, insertion, deletion)
    return _traced(value, source, how, words)


@kernel
def _table(words, length, order):  # type: ignore[no-untyped-def]
    """Return a table of values, of the runs they come from, and of the operations.

    A cell has one entry for each run, and a last one for the best of them.
    """
    shape = (words + 1, length + 1, order + 1)
    return np.empty(shape), np.zeros(shape, np.int8), np.zeros(shape, np.int8)


@kernel
def _fill(value, source, how, weight, first, words, insertion, deletion):  # type: ignore[no-untyped-def]
    """Fill the rows ``first..words`` of the table; those before must be filled already."""
    columns, top = value.shape[1], value.shape[2] - 1
    value[first : words + 1] = -np.inf
    value[0, 0, 0] = 0.0
    for j in range(first, words + 1):
        for i in range(columns):
            if j > 0 and i > 0 and weight[j - 1, i - 1] > 0:
                for before in range(top - 1, -1, -1):
                    run = min(before + 1, top - 1)
                    gain = value[j - 1, i - 1, before] + (before + 1) * weight[j - 1, i - 1]
                    if gain > value[j, i, run]:
                        value[j, i, run] = gain
                        source[j, i, run], how[j, i, run] = before, MATCH
            best = value[j, i, 0]
            if j > 0 and i > 0 and value[j - 1, i - 1, top] > best:
                best = value[j - 1, i - 1, top]
                source[j, i, 0], how[j, i, 0] = source[j - 1, i - 1, top], SUBSTITUTION
            if i > 0 and value[j, i - 1, top] - deletion > best:
                best = value[j, i - 1, top] - deletion
                source[j, i, 0], how[j, i, 0] = source[j, i - 1, top], DELETION
            if j > 0 and value[j - 1, i, top] - insertion > best:
                best = value[j - 1, i, top] - insertion
                source[j, i, 0], how[j, i, 0] = source[j - 1, i, top], INSERTION
            value[j, i, 0] = best
            # of equals, the longest run
            highest, longest = value[j, i, top - 1], top - 1
            for run in range(top - 2, -1, -1):
                if value[j, i, run] > highest:
                    highest, longest = value[j, i, run], run
            value[j, i, top], source[j, i, top] = highest, longest


@kernel
def _traced(value, source, how, words):  # type: ignore[no-untyped-def]
    """Return the steps of the best alignment of the first ``words`` words, from the table."""
    columns, top = value.shape[1], value.shape[2] - 1
    steps = np.zeros((words + columns - 1, 4), np.int32)
    j, i, count = words, columns - 1, 0
    m = source[j, i, top]
    while j > 0 or i > 0:
        operation, before = how[j, i, m], source[j, i, m]
        steps[count, 0] = operation
        if operation != DELETION:
            j -= 1
        if operation != INSERTION:
            i -= 1
        steps[count, 1], steps[count, 2] = j, i
        if operation == MATCH:
            steps[count, 3] = before + 1
        m = before
        count += 1
    return steps[:count][::-1]


@kernel
def statistics(steps, weight, order):  # type: ignore[no-untyped-def]
    """Return k-gram matches for k = 1..order, then substitutions, insertions and deletions.

    A soft match counts by its weight; what it falls short of 1 counts as substitution. The
    last entry is left for the number of k-grams that the reference has.
    """
    result = np.zeros(order + 4)
    for step in range(len(steps)):
        operation = steps[step, 0]
        if operation == MATCH:
            worth = weight[steps[step, 1], steps[step, 2]]
            for k in range(min(steps[step, 3], order)):
                result[k] += worth
            result[order] += 1.0 - worth
        else:
            # substitution, insertion and deletion follow each other, as their counts do
            result[order + operation - SUBSTITUTION] += 1.0
    return result


@kernel
def number_statistics(left, right, order, insertion, deletion):  # type: ignore[no-untyped-def]
    """Return :func:`statistics` of words given as numbers: equal ones match, with weight 1."""
    weight = np.empty((len(left), len(right)))
    for j in range(len(left)):
        for i in range(len(right)):
            weight[j, i] = 1.0 if left[j] == right[i] else 0.0
    return statistics(align(weight, order, insertion, deletion), weight, order)


@kernel
def list_statistics(table, unit, offset, order, insertion, deletion):  # type: ignore[no-untyped-def]
    """Return one row of :func:`statistics` for each sentence ``unit[offset[i]:offset[i + 1]]``.

    ``table[u, i]`` is what unit ``u`` is worth as a match of reference word ``i``. Where a
    sentence begins like the one before it, as is the rule in n-best lists, the rows of the
    alignment's table that they have in common are not filled again.
    """
    sentences, length = len(offset) - 1, table.shape[1]
    longest = 0
    for sentence in range(sentences):
        longest = max(longest, offset[sentence + 1] - offset[sentence])
    weight = np.empty((longest, length))
    value, source, how = _table(longest, length, order)
    rows = np.empty((sentences, order + 4))
    for sentence in range(sentences):
        begin, words = offset[sentence], offset[sentence + 1] - offset[sentence]
        common = 0
        if sentence > 0:
            before = offset[sentence - 1]
            most = min(words, begin - before)
            while common < most and unit[begin + common] == unit[before + common]:
                common += 1
        for j in range(common, words):
            weight[j] = table[unit[begin + j]]
        first = common + 1 if sentence > 0 else 0
        _fill(value, source, how, weight, first, words, insertion, deletion)
        rows[sentence] = statistics(_traced(value, source, how, words), weight, order)
    return rows
