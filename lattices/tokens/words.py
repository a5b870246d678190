"""Words of pieces: lattices and lists of subwords or characters become those of words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import TypeAlias, overload

from lattices.errors import OptionError
from lattices.spaces import Hypothesis, Lattice, NBest
from lattices.tokens.transduction import End, Move, transduce
from lattices.vocabulary import Vocabulary

#: None where a word has ended and the next must begin; True where anything may follow;
#: else the beginning of the word
_Place: TypeAlias = "str | bool | None"
_Moves: TypeAlias = "Callable[[_Place, str], Iterable[Move[_Place]]]"

#: markers of models of subwords; any other is the token between words
_BEGIN = ("▁", "Ġ")
_CONTINUE_BEFORE = "##"
_CONTINUE_BEHIND = "@@"


@overload
def to_words(
    space: Lattice, boundary: str = "▁", *, vocabulary: Vocabulary | None = None
) -> Lattice: ...
@overload
def to_words(
    space: NBest, boundary: str = "▁", *, vocabulary: Vocabulary | None = None
) -> NBest: ...
def to_words(
    space: Lattice | NBest, boundary: str = "▁", *, vocabulary: Vocabulary | None = None
) -> Lattice | NBest:
    """Return the space of words whose pieces are the tokens of a space.

    ============  ======================================================================
    ``boundary``  what it says
    ============  ======================================================================
    ``"▁"``       a piece that begins with it begins a word (SentencePiece)
    ``"Ġ"``       the same, in bytes that are spelt as letters (GPT-2, RoBERTa, Whisper)
    ``"@@"``      a piece that ends in it does not end the word (subword-nmt)
    ``"##"``      a piece that begins with it does not begin a word (WordPiece)
    any other     this token stands between words, and all others are put together:
                  ``" "`` or ``"|"`` for characters
    ============  ======================================================================

    In a lattice there is one path for every path, with the same score and features; a word stands
    on the arc of its last piece, and arcs of the pieces before it are epsilon, so that states
    keep their times. Cost: O(arcs x beginnings of words that meet at a state).

    Parameters
    ----------
    space : Lattice or NBest
        Of pieces.
    boundary : str
        See above.
    vocabulary : Vocabulary, optional
        Grows by the words; a fresh one by default.

    Raises
    ------
    OptionError
        For an empty boundary.

    Examples
    --------
    >>> arcs = [(0, 1, "▁the", -1.0), (1, 2, "▁c", -0.5), (2, 3, "at", -0.5), (2, 3, "▁hat", -2.0)]
    >>> lattice = Lattice.from_arcs(arcs, finals=[3])
    >>> sorted((path.tokens, path.score) for path in to_words(lattice).paths())
    [(('the', 'c', 'hat'), -3.5), (('the', 'cat'), -2.0)]
    """
    if not boundary:
        raise OptionError("an empty boundary, expected what marks or separates words")
    words = Vocabulary() if vocabulary is None else vocabulary
    if isinstance(space, Lattice):
        anywhere: _Place = True
        return transduce(space, anywhere, _moves(boundary), _ending, words).lattice
    return NBest.from_hypotheses(
        [
            Hypothesis(join_pieces(each.tokens, boundary), each.score, each.features)
            for each in space
        ],
        vocabulary=words,
        feature_names=space.feature_names,
        **space.about,
    )


def join_pieces(pieces: Iterable[str], boundary: str = "▁") -> tuple[str, ...]:
    """Return the words of one sentence of pieces."""
    words: list[str] = []
    open_word = False
    for piece in pieces:
        begins, text, ends = _piece(piece, boundary)
        if text is None:
            open_word = False
            continue
        if begins or not open_word:
            words.append("")
        words[-1] += text
        open_word = not ends
    spelt = map(_from_bytes, words) if boundary == "Ġ" else words
    return tuple(word for word in spelt if word)


def _piece(piece: str, boundary: str) -> tuple[bool, str | None, bool]:
    """Return whether a piece begins a word, its text (None: it separates), whether it ends one."""
    if boundary in _BEGIN:
        return piece.startswith(boundary), piece.removeprefix(boundary), False
    if boundary == _CONTINUE_BEFORE:
        return not piece.startswith(boundary), piece.removeprefix(boundary), False
    if boundary == _CONTINUE_BEHIND:
        return False, piece.removesuffix(boundary), not piece.endswith(boundary)
    return False, None if piece == boundary else piece, False


def _moves(boundary: str) -> _Moves:
    """Return the machine that writes a word when it reads its last piece.

    Whether a piece is the last one is known by the next, so both are tried, and what follows
    decides: one run for each sentence comes to an end.
    """
    spell = _from_bytes if boundary == "Ġ" else str

    def moves(place: _Place, piece: str) -> Iterable[Move[_Place]]:
        begins, text, ends = _piece(piece, boundary)
        if text is None:
            return [] if isinstance(place, str) else [(True, (), 0.0)]
        if isinstance(place, str):
            if begins:
                return []
            text = place + text
        elif place is None and not begins:
            return []
        word = spell(text)
        written = (word,) if word else ()
        if ends:
            return [(True, written, 0.0)]
        return [(None, written, 0.0), (text, (), 0.0)]

    return moves


def _ending(place: _Place) -> End | None:
    return None if isinstance(place, str) else ((), 0.0)


@cache
def _map_letters_to_bytes() -> dict[str, int]:
    """Return the byte of each letter in byte-level vocabularies, as GPT-2 has defined them."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = [*map(chr, printable), *(chr(256 + place) for place in range(len(others)))]
    return dict(zip(letters, [*printable, *others], strict=True))


def _from_bytes(word: str) -> str:
    """Return the text of a word whose bytes are spelt as letters."""
    table = _map_letters_to_bytes()
    if not all(letter in table for letter in word):
        return word
    return bytes(table[letter] for letter in word).decode("utf-8", "replace")
