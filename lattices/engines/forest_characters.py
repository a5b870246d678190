"""Forests of characters, for metrics that count characters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lattices.arrays import IntColumn, floats, ints
from lattices.spaces.forest import Forest
from lattices.vocabulary import Vocabulary

_BLANK = " "
# A node has up to three copies: of its sentences without words, of its sentences with words
# where they begin, and of all its sentences where words stand before them.
_WORDLESS, _FIRST, _LATER = range(3)


class CharacterForest(NamedTuple):
    """A forest of characters, and the edges of the forest of words it was made of.

    ``origin[edges]`` is the derivation of words of a derivation of characters.
    """

    forest: Forest
    origin: IntColumn


def forest_to_characters(
    forest: Forest, spaces: bool = True, *, vocabulary: Vocabulary | None = None
) -> CharacterForest:
    """Return the forest of the characters of all sentences.

    There is one derivation of characters for every derivation of words, with the same score;
    its characters are those of ``" ".join(words)``, or of ``"".join(words)`` without
    ``spaces``. Features stay behind. Cost: O(characters of all target sides x tails of an
    edge), since a blank stands before every word but the first, and any tail may have it.

    Parameters
    ----------
    forest : Forest
    spaces : bool
        Whether the blanks between words are characters too.
    vocabulary : Vocabulary, optional
        The characters' numbers, a fresh vocabulary by default; it grows by the new ones.

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["an"], -1.0), (1, [0, 0], [0, "or", 1], -2.0)])
    >>> found = forest_to_characters(forest)
    >>> [("".join(each.tokens), each.score) for each in found.forest.derivations()]
    [('an or an', -4.0)]
    >>> found.origin.tolist()
    [0, 0, 1]
    """
    characters = Vocabulary() if vocabulary is None else vocabulary
    blank = characters.add(_BLANK) if spaces else 0
    spelling = {
        number: characters.add_all(forest.vocabulary.word(number))
        for number in np.unique(forest.symbol[forest.symbol > 0]).tolist()
    }
    rows = list(_copies(forest, spelling, blank) if spaces else _spelled(forest, spelling))
    number = {copy: place for place, copy in enumerate(sorted({row[0] for row in rows}))}
    # an edge that needs a copy without edges is in no derivation
    rows = [row for row in rows if all(copy in number for copy in row[1])]
    rows.sort(key=lambda row: number[row[0]])
    result = Forest(
        vocabulary=characters,
        head=ints([number[row[0]] for row in rows]),
        tail=ints([number[copy] for row in rows for copy in row[1]]),
        tail_offset=ints(np.cumsum([0, *(len(row[1]) for row in rows)])),
        symbol=ints([symbol for row in rows for symbol in row[2]]),
        symbol_offset=ints(np.cumsum([0, *(len(row[2]) for row in rows)])),
        score=floats(forest.score[[row[3] for row in rows]]),
        num_nodes=len(number),
        root=number[(forest.root, _FIRST)],
        id=forest.id,
        source=forest.source,
        references=forest.references,
        metadata=forest.metadata,
    )
    return CharacterForest(result, ints([row[3] for row in rows]))


#: a copy of a node
_Copy = tuple[int, int]
#: head, tails, target side and the edge of words
_Row = tuple[_Copy, list[_Copy], list[int], int]


def _edges(forest: Forest) -> Iterator[tuple[int, int, list[int], list[int]]]:
    """Iterate over edge, head, tails and target side."""
    tails, tail_offset = forest.tail.tolist(), forest.tail_offset.tolist()
    symbols, symbol_offset = forest.symbol.tolist(), forest.symbol_offset.tolist()
    for edge, head in enumerate(forest.head.tolist()):
        yield (
            edge,
            head,
            tails[tail_offset[edge] : tail_offset[edge + 1]],
            symbols[symbol_offset[edge] : symbol_offset[edge + 1]],
        )


def _spelled(forest: Forest, spelling: dict[int, list[int]]) -> Iterator[_Row]:
    """Spell out the target sides, without blanks."""
    for edge, head, tails, side in _edges(forest):
        letters = [
            letter for symbol in side for letter in (spelling[symbol] if symbol > 0 else [symbol])
        ]
        yield (head, _FIRST), [(tail, _FIRST) for tail in tails], letters, edge


def _copies(forest: Forest, spelling: dict[int, list[int]], blank: int) -> Iterator[_Row]:
    """Spell out the target sides for all copies of their heads.

    The root, which is nobody's tail, has its sentences with and without words in one copy.
    """
    wordless: set[int] = set()
    with_words: set[int] = set()
    for edge, head, tails, side in _edges(forest):
        later = [(tail, _LATER) for tail in tails]
        letters: list[list[int]] = [
            [blank, *spelling[symbol]] if symbol > 0 else [symbol] for symbol in side
        ]
        if head != forest.root:
            yield (head, _LATER), later, _joined(letters), edge
        before = list(later)
        for place, symbol in enumerate(side):
            copies, parts = list(before), list(letters)
            if symbol > 0:
                parts[place] = spelling[symbol]
            else:
                copies[-1 - symbol] = (tails[-1 - symbol], _FIRST)
                before[-1 - symbol] = (tails[-1 - symbol], _WORDLESS)
            if symbol > 0 or tails[-1 - symbol] in with_words:
                with_words.add(head)
                yield (head, _FIRST), copies, _joined(parts), edge
            if symbol > 0 or tails[-1 - symbol] not in wordless:
                break
        else:
            wordless.add(head)
            kind = _FIRST if head == forest.root else _WORDLESS
            yield (head, kind), before, side, edge


def _joined(parts: list[list[int]]) -> list[int]:
    return [symbol for part in parts for symbol in part]
