"""Spaces as lists of sentences, each once: what can be chosen, and what it is judged by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from decoding import _native
from decoding.transforms import joined
from lattices.algorithms import k_best, k_best_paths
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError
from lattices.spaces import Forest, Hypothesis, Lattice, NBest, Space

#: one space, or those of several systems for the same segment
Spaces: TypeAlias = "Space | Sequence[Space]"

#: how many sentences stand for a lattice or a forest where nothing else is said
LIST_SIZE = 100


def as_systems(spaces: Spaces) -> tuple[Space, ...]:
    """Return the spaces of all systems, of one as of several.

    Raises
    ------
    OptionError
        If there is none.
    """
    if isinstance(spaces, Lattice | Forest | NBest):
        return (spaces,)
    systems = tuple(spaces)
    if not systems:
        raise OptionError("there is no space to decode")
    return systems


@dataclass(frozen=True, eq=False)
class Listing:
    """The best sentences of one space.

    Attributes
    ----------
    space : Space
    nbest : NBest
        The sentences; one may come several times only in a list that was given, or of a forest.
    hypothesis : callable
        From an entry of ``nbest`` to the sentence with all that the space knows of it.
    """

    space: Space
    nbest: NBest
    hypothesis: Callable[[int], Hypothesis]

    def log_masses(self, scale: float, summed: bool) -> FloatColumn:
        """Return the log-probability of each entry, up to a common constant.

        ``scale * score``; but an entry of a lattice stands for all paths of its sentence if
        they are ``summed``.
        """
        with np.errstate(over="ignore"):
            if summed and isinstance(self.space, Lattice):
                masses = path_masses(self.space, self.nbest, scale)
            else:
                score = self.nbest.score
                masses = scale * (score - score.max(initial=-np.inf))
        if len(masses) and not np.isfinite(masses.max()):
            raise OptionError(f"scale {scale} is too large for the scores of {self.space.id!r}")
        return masses


def listing(space: Space, k: int | None, distinct: bool = True) -> Listing:
    """Return the ``k`` best sentences of a space, best first; of a list all, if k is None.

    Parameters
    ----------
    space : Lattice, Forest or NBest
        The entries of a list stay as they are, those of the highest score if there are more
        than ``k``.
    k : int, optional
        100 of a lattice or forest by default.
    distinct : bool
        False lists the k best derivations of a forest instead, several of one sentence too.
    """
    if k is not None and k < 1:
        raise OptionError(f"a list has at least 1 sentence, not {k}")
    if isinstance(space, NBest):
        if k is None or len(space) <= k:
            return Listing(space, space, space.__getitem__)
        best = np.argsort(-space.score, kind="stable")[:k]
        return Listing(space, rows(space, best), lambda entry: space[int(best[entry])])
    if isinstance(space, Lattice):
        paths = k_best_paths(space, k or LIST_SIZE, distinct=True)
        bounds = paths.offset
        label, offset, score = _native.path_sentences(space.columns, paths.arcs, bounds)
        nbest = NBest(
            space.vocabulary,
            ints(label),
            ints(offset),
            floats(score),
            id=space.id,
            references=space.references,
        )
        return Listing(
            space,
            nbest,
            lambda entry: space.hypothesis(paths.arcs[bounds[entry] : bounds[entry + 1]].tolist()),
        )
    found = k_best(space, k or LIST_SIZE, distinct=distinct)
    nbest = NBest.from_hypotheses(
        found,
        vocabulary=space.vocabulary,
        feature_names=space.feature_names,
        id=space.id,
        references=space.references,
    )
    return Listing(space, nbest, found.__getitem__)


@dataclass(frozen=True, eq=False)
class Candidates:
    """What can be chosen.

    Attributes
    ----------
    nbest : NBest
        The sentences, each once, with the score of its best entry; in the order of their first.
    entry : int32 column
        For each, its best entry in the lists of all systems, one after the other.
    listings : tuple of Listing
        The lists of the systems.
    """

    nbest: NBest
    entry: IntColumn
    listings: tuple[Listing, ...]

    def hypothesis(self, candidate: int) -> Hypothesis:
        """Return a candidate with all that its space knows of it."""
        entry = int(self.entry[candidate])
        for one in self.listings:
            if entry < len(one.nbest):
                return one.hypothesis(entry)
            entry -= len(one.nbest)
        raise IndexError(f"candidate {candidate}")


def candidates_of(listings: Sequence[Listing]) -> Candidates:
    """Return the sentences of all lists, each once.

    Of equal sentences the one of the highest score counts, the first of equals; of several
    systems, whose scores cannot be compared, that of the first system that has it.

    Raises
    ------
    OptionError
        If there is none.

    Examples
    --------
    >>> some = [Hypothesis(("a",), -2.0), Hypothesis(("b",), -1.0), Hypothesis(("a",), -0.5)]
    >>> found = candidates_of([listing(NBest.from_hypotheses(some), None)])
    >>> [(each.text, each.score) for each in found.nbest], found.hypothesis(0).index
    ([('a', -0.5), ('b', -1.0)], 2)
    """
    nbest = joined([one.nbest for one in listings])
    assert isinstance(nbest, NBest)
    if not len(nbest):
        raise OptionError(f"n-best list {nbest.id!r} is empty: there is nothing to choose from")
    sentence, first = equal_sentences(nbest.label, nbest.offset)
    if len(first) == len(nbest):
        return Candidates(nbest, ints(np.arange(len(nbest))), tuple(listings))
    system = np.repeat(np.arange(len(listings)), [len(one.nbest) for one in listings])
    order = np.lexsort((-nbest.score, system))[::-1]
    best = np.empty(len(first), np.int64)
    # of several that are put into one place the last one stays: the best
    best[sentence[order]] = order
    return Candidates(rows(nbest, best), ints(best), tuple(listings))


def rows(nbest: NBest, entries: Array) -> NBest:
    """Return some entries of a list, in this order, without features and extra data.

    Examples
    --------
    >>> some = [Hypothesis(("a", "cat"), -2.0), Hypothesis((), -1.0), Hypothesis(("b",), -3.0)]
    >>> [each.text for each in rows(NBest.from_hypotheses(some), ints([2, 1, 0]))]
    ['b', '', 'a cat']
    """
    begin, size = nbest.offset[entries], np.diff(nbest.offset)[entries]
    offset = np.concatenate([[0], np.cumsum(size)])
    place = np.arange(offset[-1]) + np.repeat(begin - offset[:-1], size)
    return NBest(
        vocabulary=nbest.vocabulary,
        label=ints(nbest.label[place]),
        offset=ints(offset),
        score=floats(nbest.score[entries]),
        id=nbest.id,
        references=nbest.references,
    )


def equal_sentences(label: IntColumn, offset: IntColumn) -> tuple[IntColumn, IntColumn]:
    """Return which sentence each entry is, and the first entry of each sentence.

    Entry ``i`` is ``label[offset[i]:offset[i + 1]]``; sentences are numbered as they come. Cost:
    O(words).

    Examples
    --------
    >>> sentence, first = equal_sentences(ints([1, 2, 1, 2, 1]), ints([0, 2, 4, 5]))
    >>> sentence.tolist(), first.tolist()
    ([0, 0, 1], [0, 2])
    """
    sentence, first = _native.distinct_sentences(ints(label), ints(offset))
    return ints(sentence), ints(first)


def path_masses(lattice: Lattice, nbest: NBest, scale: float) -> FloatColumn:
    """Return the log of the sum of ``exp(scale * score)`` over all paths of each sentence.

    The sentences stand in a trie, and one pass over the lattice carries, at each state, the
    mass of every prefix that leads there: O(sum over arcs of the prefixes at their source). A
    sentence that the lattice does not have gets ``-inf``.

    Parameters
    ----------
    lattice : Lattice
    nbest : NBest
        Over the vocabulary of the lattice; no sentence twice.
    scale : float

    Examples
    --------
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "a"), (0, 1, "b")], finals=[1])
    >>> nbest = NBest(lattice.vocabulary, [1, 2], [0, 1, 2], [0.0, 0.0])
    >>> np.exp(path_masses(lattice, nbest, 1.0)).round(9).tolist()
    [2.0, 1.0]
    """
    found = _native.path_masses(lattice.columns, nbest.label, nbest.offset, scale)
    return floats(found)
