"""Lattices and forests of characters, or of other pieces of words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, overload

import numpy as np

from lattices import _native
from lattices.arrays import IntColumn, floats, ints
from lattices.errors import OptionError
from lattices.spaces import Forest, Lattice
from lattices.spaces.arguments import GRAPH, takes
from lattices.spaces.features import make_rows, reorder_rows
from lattices.spaces.lattice import normal_form
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


class CharacterForest(NamedTuple):
    """A forest of characters, and the edges of the forest of words it was made of.

    ``origin[edges]`` is the derivation of words of a derivation of characters.
    """

    forest: Forest
    origin: IntColumn


class _Spelling(NamedTuple):
    """The characters of words: of the one at a place ``letter[offset[w]:offset[w + 1]]``."""

    #: the word ``w`` at each place
    word: IntColumn
    letter: IntColumn
    offset: IntColumn
    #: the character between words, 0 for none
    space: int


def _spelling(
    labels: IntColumn,
    words: Vocabulary,
    pieces: Vocabulary,
    spell: Callable[[str], Sequence[str]],
    between: str,
) -> _Spelling:
    """Return the pieces of a column of words; what is no word, 0 or less, has none."""
    used, place = np.unique(labels, return_inverse=True)
    spelled = []
    for label in used.tolist():
        some = spell(words.word(label)) if label > EPSILON else ()
        if label > EPSILON and not some:
            raise OptionError(f"the word {words.word(label)!r} has no pieces, and would be lost")
        spelled.append(pieces.add_all(some))
    return _Spelling(
        ints(place),
        ints([number for word in spelled for number in word]),
        ints(np.cumsum([0, *map(len, spelled)])),
        pieces.add(between) if between else EPSILON,
    )


@overload
def to_characters(
    space: Lattice, spaces: bool = ..., *, vocabulary: Vocabulary | None = ...
) -> CharacterLattice: ...
@overload
def to_characters(
    space: Forest, spaces: bool = ..., *, vocabulary: Vocabulary | None = ...
) -> CharacterForest: ...
@overload
def to_characters(
    space: Lattice | Forest, spaces: bool = ..., *, vocabulary: Vocabulary | None = ...
) -> CharacterLattice | CharacterForest: ...
@takes(space=GRAPH)
def to_characters(
    space: Lattice | Forest, spaces: bool = True, *, vocabulary: Vocabulary | None = None
) -> CharacterLattice | CharacterForest:
    """Return the lattice or forest of the characters of all sentences.

    There is one path (or derivation) of characters for every one of words, with the same score,
    and its characters (code points) are those of ``" ".join(words)``, or of ``"".join(words)``
    without ``spaces``.

    In a lattice every word becomes a chain of arcs, one for each character, with the word's score
    and features on the first arc. With ``spaces``, a blank stands before every word but a path's
    first: each state is split in two, for paths without and with a word so far. Epsilon arcs stay.
    States that cannot be reached from the start are left out, and so are times, which characters
    do not have. Cost: O(characters of all words).

    In a forest any tail may have the blank before its first word. Features stay behind. Cost:
    O(characters of all target sides x tails of an edge).

    Parameters
    ----------
    space : Lattice or Forest
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
    >>> forest = Forest.from_edges([(0, [], ["an"], -1.0), (1, [0, 0], [0, "or", 1], -2.0)])
    >>> spelt = to_characters(forest)
    >>> [("".join(each.tokens), each.score) for each in spelt.forest.derivations()]
    [('an or an', -4.0)]
    >>> spelt.origin.tolist()
    [0, 0, 1]
    """
    return to_pieces(space, tuple, between=_SPACE if spaces else "", vocabulary=vocabulary)


def to_pieces(
    space: Lattice | Forest,
    spell: Callable[[str], Sequence[str]],
    *,
    between: str = "",
    vocabulary: Vocabulary | None = None,
) -> CharacterLattice | CharacterForest:
    """Return the lattice or forest of the pieces of all words, as :func:`to_characters` does.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "mid-day", -1.0), (1, 2, "sun", -2.0)], finals=[2])
    >>> found = to_pieces(lattice, lambda word: word.split("-"))
    >>> next(found.lattice.paths()).tokens, found.origin.tolist()
    (('mid', 'day', 'sun'), [0, -1, 1])
    """
    pieces = Vocabulary() if vocabulary is None else vocabulary
    labels = space.symbol if isinstance(space, Forest) else space.label
    spelling = _spelling(labels, space.vocabulary, pieces, spell, between)
    if isinstance(space, Forest):
        return _spell_forest(space, pieces, spelling)
    return _spell_lattice(space, pieces, spelling)


def _spell_lattice(
    lattice: Lattice, characters: Vocabulary, spelling: _Spelling
) -> CharacterLattice:
    src, dst, label, origin, state = _native.character_arcs(lattice.columns, *spelling)
    # a place of -1, the last entry, is overwritten
    score = np.where(origin >= 0, lattice.score[origin], 0.0) if len(origin) else np.empty(0)
    final = np.where(state >= 0, lattice.final[state], -np.inf)
    _, order, *index = normal_form(src, dst, label, score, final, len(characters))
    origin = ints(origin[order])
    features, last = make_rows(lattice), make_rows(lattice, "final_features")
    result = Lattice.from_normal_form(
        vocabulary=characters,
        src=ints(src[order]),
        dst=ints(dst[order]),
        label=ints(label[order]),
        score=floats(score[order]),
        final=floats(final),
        start=0,
        features=None if features is None else reorder_rows(features, origin),
        final_features=None if last is None else reorder_rows(last, state),
        feature_names=lattice.feature_names,
        times=None,
        **lattice.about,
        **dict(zip(("in_arc", "in_offset", "out_offset"), map(ints, index), strict=True)),
    )
    return CharacterLattice(result, origin)


def _spell_forest(forest: Forest, characters: Vocabulary, spelling: _Spelling) -> CharacterForest:
    columns, origin = _native.character_edges(forest.columns, *spelling)
    result = Forest(
        vocabulary=characters,
        **columns,
        score=floats(forest.score[origin]),
        **forest.about,
    )
    return CharacterForest(result, origin)
