"""Lattices, n-best lists and forests as the one lattice that the recursion for edits runs over.

The recursion is exact where no two arcs lead to one state. A list therefore becomes the tree of
its prefixes: equal entries are one leaf, which has the mass of all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from decoding._native import edit_bins, prefix_tree
from decoding.minimum_risk.confusion import ConfusionNetwork, in_order
from decoding.minimum_risk.evidence import checked_scale
from lattices.algorithms import forest_to_lattice, k_best_paths, total, union
from lattices.algorithms.paths import no_complete_path
from lattices.algorithms.trimming import useful_states
from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError, SpaceError
from lattices.semirings import LOG
from lattices.spaces import Forest, Hypothesis, Lattice, NBest, Space
from lattices.vocabulary import EPSILON

#: the most states that a forest may take as a lattice
FOREST_STATES = 100_000

_NO_TIMES = floats([])


class EditSpace(NamedTuple):
    """What the recursion runs over.

    Attributes
    ----------
    lattice : Lattice
        Its scores, multiplied by ``scale``, are logarithms of masses.
    scale : float
    space : Lattice, NBest, Forest or None
        What was given; None if that was several.
    leaf_score : float64 column or None
        Of a list, for every state of its tree: the best score of the entries that end there.
    """

    lattice: Lattice
    scale: float
    space: Space | None
    leaf_score: FloatColumn | None = None

    def beginnings(self, count: int) -> list[IntColumn]:
        """Return the words of the model's best sentences, of several spaces the most probable.

        None at all stands for the words of the lattice's best path.
        """
        lattice = self.lattice
        if self.leaf_score is not None:
            lattice = lattice.replaced(final=self.leaf_score)
        elif count == 1:
            return []
        paths = k_best_paths(lattice, count, distinct=True)
        return [
            _spoken(lattice, paths.arcs[begin:end])
            for begin, end in pairwise(paths.offset.tolist())
        ]

    def checked(self, mass: float) -> None:
        """Raise if the logarithm of the sum of all masses is not finite.

        Raises
        ------
        SpaceError
            If there is no complete path, or scores are too large.
        """
        lattice = self.lattice
        if math.isfinite(mass):
            return
        if not useful_states(lattice)[lattice.start]:
            raise no_complete_path(lattice)
        raise SpaceError(
            f"the scores of lattice {lattice.id!r} are too large for scale {self.scale}"
        )

    def hypothesis(self, words: list[int], path: Sequence[int] | None) -> Hypothesis:
        """Return the sentence with the score and features of its best path.

        Without a path, the score is ``-inf``.
        """
        if isinstance(self.space, NBest):
            nbest = self.space
            begin, size = nbest.offset, len(words)
            same = [
                entry
                for entry in np.flatnonzero(np.diff(begin) == size).tolist()
                if np.array_equal(nbest.label[begin[entry] : begin[entry] + size], words)
            ]
            if same:
                return nbest[max(same, key=lambda entry: float(nbest.score[entry]))]
        elif path is not None:
            found = self.lattice.hypothesis(path)
            if self.space is self.lattice:
                return found
            # the arcs are those of a lattice that nobody else has seen
            return Hypothesis(found.tokens, found.score, found.features)
        return Hypothesis(self.lattice.vocabulary.decode(words), -math.inf)

    def network(self, words: IntColumn) -> ConfusionNetwork:
        """Return the confusion network to which the recursion aligns the space for a sentence."""
        lattice = self.lattice
        times = _NO_TIMES if lattice.times is None else lattice.times
        label, number, offset, chosen = edit_bins(lattice.columns, self.scale, times, words)
        posterior = number[:, 0]
        begin = end = bin_begin = bin_end = None
        if lattice.times is not None:
            known = posterior > 0.0
            nowhere = np.full((len(number), 2), np.nan)
            moments = np.divide(
                number[:, 1:], posterior[:, None], out=nowhere, where=known[:, None]
            )
            begin, end = floats(moments[:, 0]), floats(moments[:, 1])
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
        return EditSpace(tree, 1.0, space, leaf_score)
    if isinstance(space, Forest):
        try:
            lattice = forest_to_lattice(space, FOREST_STATES)
        except SpaceError as problem:
            raise SpaceError(
                f"{problem}; for method edit, its k best sentences can stand for it as a list"
            ) from problem
        return EditSpace(lattice, scale, space)
    return EditSpace(space, scale, space)


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
            mass = total(lattice, LOG, found.scale)
            final = LOG.weights(lattice.final, found.scale) + (math.log(part) - mass)
            score = LOG.weights(lattice.score, found.scale)
            parts.append(lattice.replaced(score=score, final=final))
    return EditSpace(union(parts), 1.0, None)


def _prefixes(nbest: NBest, scale: float) -> tuple[Lattice, FloatColumn]:
    """Return the tree of a list, with masses as scores, and the best model score of each leaf."""
    if not len(nbest):
        raise OptionError(f"n-best list {nbest.id!r} is empty")
    mass = LOG.weights(nbest.score, scale)
    src, label, masses, scores = prefix_tree(nbest.label, nbest.offset, floats(mass), nbest.score)
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
