"""Lattices of characters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from lattices.arrays import Array, IntColumn, floats, ints, kernel
from lattices.spaces import Lattice
from lattices.spaces.features import FeatureMatrix
from lattices.vocabulary import EPSILON, Vocabulary

_SPACE = " "


class CharacterLattice(NamedTuple):
    """A lattice of characters, and the arcs of the lattice of words it was made of.

    ``origin[arc]`` is the arc whose word begins here, or whose epsilon this is, and -1
    inside a word: a path of characters is the path ``origin[path][origin[path] >= 0]`` of
    words.
    """

    lattice: Lattice
    origin: IntColumn


@kernel
def _layout(dst, out_offset, length, start, spaces):  # type: ignore[no-untyped-def]
    """Return the new number of each state before any word and after one, and both totals.

    ``length`` is the number of characters of each arc's word, 0 for epsilon. A copy of a
    state that no path reaches is numbered -1. After the number of a copy come those of the
    states inside the words that leave it, so that arcs lead to higher numbers.
    """
    states = len(out_offset) - 1
    number = np.full((states, 2), -1, np.int32)
    number[start, 0] = 0
    new_states = new_arcs = 0
    for state in range(start, states):
        for spoken in range(2):
            if number[state, spoken] < 0:
                continue
            number[state, spoken] = new_states
            new_states += 1
            for arc in range(out_offset[state], out_offset[state + 1]):
                if length[arc] == 0:
                    number[dst[arc], spoken] = 0
                    new_arcs += 1
                else:
                    number[dst[arc], 1 if spaces else 0] = 0
                    characters = length[arc] + (spoken if spaces else 0)
                    new_states += characters - 1
                    new_arcs += characters
    return number, new_states, new_arcs


@kernel
def _append(arcs, filled, source, target, label, origin):  # type: ignore[no-untyped-def]
    """Write one arc and return how many there are."""
    arcs[0, filled] = source
    arcs[1, filled] = target
    arcs[2, filled] = label
    arcs[3, filled] = origin
    return filled + 1


@kernel
def _chains(dst, out_offset, word, letter, letter_offset, number, new_arcs, spaces, space):  # type: ignore[no-untyped-def]
    """Return source, target, label and origin of the arcs of all chains of characters.

    ``word`` is the place of each arc's word in ``letter_offset``, -1 for epsilon, and
    ``space`` the label of the character between words.
    """
    arcs = np.empty((4, new_arcs), np.int32)
    filled = 0
    for state in range(len(out_offset) - 1):
        for spoken in range(2):
            here = number[state, spoken]
            if here < 0:
                continue
            inner = here
            for arc in range(out_offset[state], out_offset[state + 1]):
                source, origin = here, arc
                if word[arc] < 0:
                    target, label = number[dst[arc], spoken], EPSILON
                    place, end = 0, 0
                else:
                    place, end = letter_offset[word[arc]], letter_offset[word[arc] + 1]
                    label = letter[place]
                    place += 1
                    if spaces and spoken == 1:
                        label = space
                        place -= 1
                    target = number[dst[arc], 1 if spaces else 0]
                while place < end:
                    inner += 1
                    filled = _append(arcs, filled, source, inner, label, origin)
                    source, label, origin = inner, letter[place], -1
                    place += 1
                filled = _append(arcs, filled, source, target, label, origin)
    return arcs


def to_characters(
    lattice: Lattice, spaces: bool = True, *, vocabulary: Vocabulary | None = None
) -> CharacterLattice:
    """Return the lattice of the characters of all sentences.

    Every word becomes a chain of arcs, one for each character (code point). The word's
    score and features are on the first arc of its chain; the others have none. With
    ``spaces``, a blank stands before every word but a path's first: each state is split in
    two, for paths without and with a word so far. So there is one path of characters for
    every path of words, with the same score, and the characters are those of
    ``" ".join(words)``, or of ``"".join(words)`` without ``spaces``.

    Epsilon arcs stay. States that cannot be reached from the start are left out, and so
    are times, which characters do not have. Cost: O(characters of all words).

    Parameters
    ----------
    lattice : Lattice
    spaces : bool
        Whether the blanks between words are characters too.
    vocabulary : Vocabulary, optional
        The characters' numbers, a fresh vocabulary by default; it grows by the new ones.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "on", -1.0), (1, 2, "a", -2.0)], finals=[2])
    >>> found = to_characters(lattice)
    >>> next(found.lattice.paths()).tokens
    ('o', 'n', ' ', 'a')
    >>> found.origin.tolist(), found.lattice.score.tolist()
    ([0, -1, 1, -1], [-1.0, 0.0, -2.0, 0.0])
    """
    characters = Vocabulary() if vocabulary is None else vocabulary
    used, place = np.unique(lattice.label, return_inverse=True)
    spelling = [characters.add_all(lattice.vocabulary.word(label)) for label in used.tolist()]
    space = characters.add(_SPACE) if spaces else EPSILON
    letter_offset = ints(np.cumsum([0, *map(len, spelling)]))
    letter = ints([number for word in spelling for number in word])
    word = ints(np.where(lattice.label == EPSILON, -1, place))
    length = ints(np.diff(letter_offset)[place])
    number, new_states, new_arcs = _layout(
        lattice.dst, lattice.out_offset, length, lattice.start, spaces
    )
    arcs = _chains(
        lattice.dst,
        lattice.out_offset,
        word,
        letter,
        letter_offset,
        number,
        new_arcs,
        spaces,
        space,
    )
    # the order of arcs in a lattice, so that `origin` fits the lattice that is made below
    src, dst, label, origin = arcs[:, np.lexsort((arcs[1], arcs[0]))]
    copied = origin >= 0
    state, spoken = np.nonzero(number >= 0)
    copy = number[state, spoken]
    final = np.full(new_states, -np.inf)
    final[copy] = lattice.final[state]
    score = np.zeros(new_arcs)
    score[copied] = lattice.score[origin[copied]]
    result = Lattice(
        vocabulary=characters,
        src=ints(src),
        dst=ints(dst),
        label=ints(label),
        score=floats(score),
        final=floats(final),
        start=int(number[lattice.start, 0]),
        features=_rows(lattice.features, np.flatnonzero(copied), origin[copied], new_arcs),
        final_features=_rows(lattice.final_features, copy, state, new_states),
        feature_names=lattice.feature_names,
        id=lattice.id,
        source=lattice.source,
        references=lattice.references,
        metadata=lattice.metadata,
    )
    return CharacterLattice(result, ints(origin))


def _rows(
    features: FeatureMatrix | None, rows: Array, origin: Array, count: int
) -> FeatureMatrix | None:
    """Return a matrix of ``count`` rows, of which ``rows`` are the rows ``origin`` of the old."""
    if features is None:
        return None
    chosen = csr_array((np.ones(len(rows)), (rows, origin)), shape=(count, features.shape[0]))
    return chosen @ features
