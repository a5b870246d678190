"""Lattices, n-best lists and forests as the one lattice that the recursion for edits runs over.

The recursion is exact where no two arcs lead to one state. A list therefore becomes the tree of
its prefixes: equal entries are one leaf, which has the mass of all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from decoding.minimum_risk.evidence import checked_scale
from lattices.algorithms import best_path, forest_to_lattice, k_best_paths, union
from lattices.algorithms.paths import no_complete_path
from lattices.algorithms.trimming import useful_states
from lattices.arrays import FloatColumn, IntColumn, floats, ints, kernel
from lattices.errors import OptionError, SpaceError
from lattices.semirings import LOG
from lattices.spaces import Forest, Hypothesis, Lattice, NBest, Space
from lattices.vocabulary import EPSILON

#: the most states that a forest may take as a lattice
FOREST_STATES = 100_000


@kernel
def _shares(src, in_arc, in_offset, score, final, start, scale):  # type: ignore[no-untyped-def]
    """Return how probable each arc is for those who reach its target, and each end for all.

    The third value is the logarithm of the sum over all complete paths, ``-inf`` without one.
    """
    forward = np.full(len(final), -np.inf)
    forward[start] = 0.0
    share = np.zeros(len(src))
    for state in range(start + 1, len(final)):
        best = -np.inf
        for index in range(in_offset[state], in_offset[state + 1]):
            arc = in_arc[index]
            share[arc] = forward[src[arc]] + scale * score[arc]
            best = max(best, share[arc])
        if best == -np.inf:
            for index in range(in_offset[state], in_offset[state + 1]):
                share[in_arc[index]] = 0.0
            continue
        total = 0.0
        for index in range(in_offset[state], in_offset[state + 1]):
            arc = in_arc[index]
            share[arc] = np.exp(share[arc] - best)
            total += share[arc]
        for index in range(in_offset[state], in_offset[state + 1]):
            share[in_arc[index]] /= total
        forward[state] = best + np.log(total)
    # arcs into states up to the start lie on no path
    for index in range(in_offset[start + 1]):
        share[in_arc[index]] = 0.0
    ending = np.zeros(len(final))
    best = -np.inf
    for state in range(len(final)):
        if final[state] > -np.inf and forward[state] > -np.inf:
            best = max(best, forward[state] + scale * final[state])
    if best == -np.inf:
        return share, ending, best
    total = 0.0
    for state in range(len(final)):
        if final[state] > -np.inf and forward[state] > -np.inf:
            ending[state] = np.exp(forward[state] + scale * final[state] - best)
            total += ending[state]
    return share, ending / total, best + np.log(total)


@kernel
def _spelling(src, dst, label, out_offset, score, final, start, words):  # type: ignore[no-untyped-def]
    """Return the arcs of the best path that spells these words, and whether there is one.

    Among equals, the smaller arcs.
    """
    length = len(words)
    best = np.full((len(final), length + 1), -np.inf)
    best[:, length] = final
    for arc in range(len(src) - 1, -1, -1):
        before, after = best[src[arc]], best[dst[arc]]
        if label[arc] == EPSILON:
            for place in range(length + 1):
                before[place] = max(before[place], score[arc] + after[place])
        else:
            for place in range(length):
                if label[arc] == words[place]:
                    before[place] = max(before[place], score[arc] + after[place + 1])
    path = np.empty(len(final), np.int32)
    count = place = 0
    state = start
    if best[start, 0] == -np.inf:
        return path[:0].copy(), False
    while place < length or best[state, place] != final[state]:
        for arc in range(out_offset[state], out_offset[state + 1]):
            silent = label[arc] == EPSILON
            if not silent and (place == length or label[arc] != words[place]):
                continue
            rest = place if silent else place + 1
            if score[arc] + best[dst[arc], rest] == best[state, place]:
                path[count] = arc
                count += 1
                state, place = dst[arc], rest
                break
    return path[:count].copy(), True


@kernel
def _tree(label, offset, mass, score):  # type: ignore[no-untyped-def]
    """Return the tree of the prefixes of a list's entries.

    Returns
    -------
    src, word : int32 arrays, one entry a state but the first
        The arc into it.
    masses, scores : float64 arrays, one entry a state
        The logarithm of the mass of the entries that end there, and the best of their scores.
    """
    room = len(label) + 1
    src, word = np.empty(room, np.int32), np.empty(room, np.int32)
    child, sibling = np.full(room, -1, np.int32), np.full(room, -1, np.int32)
    masses, scores = np.full(room, -np.inf), np.full(room, -np.inf)
    states = 1
    for entry in range(len(mass)):
        state = 0
        for place in range(offset[entry], offset[entry + 1]):
            found = child[state]
            while found >= 0 and word[found] != label[place]:
                found = sibling[found]
            if found < 0:
                found = states
                states += 1
                src[found], word[found] = state, label[place]
                sibling[found] = child[state]
                child[state] = found
            state = found
        masses[state] = np.logaddexp(masses[state], mass[entry])
        scores[state] = max(scores[state], score[entry])
    return src[1:states].copy(), word[1:states].copy(), masses[:states], scores[:states]


@kernel
def _entry(label, offset, score, words):  # type: ignore[no-untyped-def]
    """Return the entry of the highest score that has these words, the first of equals, or -1."""
    best = -1
    for entry in range(len(score)):
        begin, end = offset[entry], offset[entry + 1]
        if end - begin != len(words) or (best >= 0 and score[entry] <= score[best]):
            continue
        same = True
        for place in range(begin, end):
            if label[place] != words[place - begin]:
                same = False
                break
        if same:
            best = entry
    return best


@dataclass(frozen=True, eq=False)
class EditSpace:
    """What the recursion runs over.

    Attributes
    ----------
    lattice : Lattice
        Its scores, multiplied by ``scale``, are logarithms of masses.
    scale : float
    share : float64 column, one entry an arc
        How probable the arc is for those who reach its target; 0 if nobody comes that way.
    ending : float64 column, one entry a state
        How probable it is to end there.
    mass : float
        The logarithm of the sum of all masses.
    space : Lattice, NBest, Forest or None
        What was given; None if that was several.
    leaf_score : float64 column or None
        Of a list, for every state of its tree: the best score of the entries that end there.
    """

    lattice: Lattice
    scale: float
    share: FloatColumn
    ending: FloatColumn
    mass: float
    space: Space | None
    leaf_score: FloatColumn | None = None

    def best(self, count: int) -> list[IntColumn]:
        """Return the words of the model's best sentences, of several spaces the most probable."""
        lattice = self.lattice
        if self.leaf_score is not None:
            lattice = lattice.replaced(final=self.leaf_score)
        if count == 1:
            return [_spoken(lattice, best_path(lattice))]
        paths = k_best_paths(lattice, count, distinct=True)
        return [
            _spoken(lattice, paths.arcs[begin:end])
            for begin, end in pairwise(paths.offset.tolist())
        ]

    def hypothesis(self, words: IntColumn) -> Hypothesis:
        """Return the sentence with the score and features of its best path.

        Without a path, the score is ``-inf``.
        """
        if isinstance(self.space, NBest):
            nbest = self.space
            entry = _entry(nbest.label, nbest.offset, nbest.score, words)
            if entry >= 0:
                return nbest[entry]
        else:
            lattice = self.lattice
            arcs, found = _spelling(
                lattice.src, lattice.dst, lattice.label, lattice.out_offset, lattice.score,
                lattice.final, lattice.start, words,
            )  # fmt: skip
            if found:
                path = lattice.hypothesis(arcs)
                if self.space is lattice:
                    return path
                # the arcs are those of a lattice that nobody else has seen
                return Hypothesis(path.tokens, path.score, path.features)
        return Hypothesis(self.lattice.vocabulary.decode(words.tolist()), -math.inf)


def _spoken(lattice: Lattice, path: IntColumn) -> IntColumn:
    """Return the labels of a path that are words."""
    label = lattice.label[path]
    return ints(label[label != EPSILON])


def edit_space(space: Space, scale: float) -> EditSpace:
    """Return one space, ready for the recursion.

    Raises
    ------
    SpaceError
        If there is no complete path, or if a forest is too large as a lattice.
    OptionError
        For an empty list, or a scale that is negative or not finite.
    """
    checked_scale(scale)
    if isinstance(space, NBest):
        tree, leaf_score = _prefixes(space, scale)
        return _weighed(tree, 1.0, space, leaf_score)
    if isinstance(space, Forest):
        try:
            lattice = forest_to_lattice(space, FOREST_STATES)
        except SpaceError as problem:
            raise SpaceError(
                f"{problem}; for method edit, its k best sentences can stand for it as a list"
            ) from problem
        return _weighed(lattice, scale, space)
    return _weighed(space, scale, space)


def joined_edit_space(
    spaces: Sequence[Space], scale: float, weights: Sequence[float] | None
) -> EditSpace:
    """Return the union of several spaces, each with its weight as its mass.

    Raises
    ------
    OptionError
        For no space at all, and for weights that are not one for each space, finite, not
        negative and not all zero.
    """
    if not spaces:
        raise OptionError("no space at all, expected at least one")
    weight = np.ones(len(spaces)) if weights is None else np.asarray(weights, dtype=np.float64)
    if weight.shape != (len(spaces),):
        raise OptionError(f"{weight.size} system weights for {len(spaces)} spaces")
    fine = np.isfinite(weight) & (weight >= 0.0)
    if not fine.all():
        raise OptionError(f"a system weight is finite and not negative, not {weight[~fine][0]}")
    if not weight.any():
        raise OptionError("the system weights are all zero")
    if len(spaces) == 1:
        return edit_space(spaces[0], scale)
    parts = []
    for space, part in zip(spaces, (weight / weight.sum()).tolist(), strict=True):
        if part > 0.0:
            found = edit_space(space, scale)
            lattice = found.lattice
            final = LOG.weights(lattice.final, found.scale) + (math.log(part) - found.mass)
            score = LOG.weights(lattice.score, found.scale)
            parts.append(lattice.replaced(score=score, final=final))
    return _weighed(union(parts), 1.0, None)


def _weighed(
    lattice: Lattice, scale: float, space: Space | None, leaf_score: FloatColumn | None = None
) -> EditSpace:
    share, ending, mass = _shares(
        lattice.src, lattice.in_arc, lattice.in_offset, lattice.score, lattice.final,
        lattice.start, scale,
    )  # fmt: skip
    if not math.isfinite(mass):
        if not useful_states(lattice)[lattice.start]:
            raise no_complete_path(lattice)
        raise SpaceError(f"the scores of lattice {lattice.id!r} are too large for scale {scale}")
    return EditSpace(lattice, scale, share, ending, mass, space, leaf_score)


def _prefixes(nbest: NBest, scale: float) -> tuple[Lattice, FloatColumn]:
    """Return the tree of a list, with masses as scores, and the best model score of each leaf."""
    if not len(nbest):
        raise OptionError(f"n-best list {nbest.id!r} is empty")
    mass = LOG.weights(nbest.score, scale)
    src, label, masses, scores = _tree(nbest.label, nbest.offset, floats(mass), nbest.score)
    lattice = Lattice(
        vocabulary=nbest.vocabulary,
        src=ints(src),
        dst=ints(np.arange(1, len(src) + 1)),
        label=ints(label),
        score=floats(np.zeros(len(src))),
        final=floats(masses),
        id=nbest.id,
        source=nbest.source,
        references=nbest.references,
    )
    return lattice, floats(scores)
