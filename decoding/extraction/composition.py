"""Composition: the words of all entries of a list, aligned, as a lattice of what they can make."""

from __future__ import annotations

from collections.abc import Sequence

from lattices.errors import OptionError
from lattices.spaces import Lattice, NBest, Space
from lattices.spaces.arguments import check_filled

#: the words of a place, the empty one where there may be none, in the order of their coming
_Bin = dict[str, None]


def compose_list(space: Space) -> Lattice:
    """Return the network of a list: places in a row, with the words that entries have there.

    As in ROVER (Fiscus 1997), each entry in its turn is aligned to the network of those before it
    by the fewest edits, and adds its words; so every entry is a path, and beside them whatever
    can be put together. Its oracle is the best that any combination of the entries can do. Cost:
    O(entries x length of an entry x places).

    Examples
    --------
    >>> from lattices import Hypothesis
    >>> entries = [("a", "cat", "sat"), ("the", "cat"), ("the", "hat", "sat")]
    >>> lattice = compose_list(NBest.from_hypotheses(map(Hypothesis, entries)))
    >>> sorted(path.text for path in lattice.paths())[4:]
    ['the cat', 'the cat sat', 'the hat', 'the hat sat']
    """
    if not isinstance(space, NBest):
        raise OptionError(
            f"{space.kind} {space.id!r}: sentences are put together from the words of n-best lists"
        )
    check_filled([space])
    bins: list[_Bin] = []
    first = True
    for words in dict.fromkeys(space.tokens(entry) for entry in range(len(space))):
        bins = [{word: None} for word in words] if first else _add(bins, words)
        first = False
    return Lattice.from_arcs(
        [(place, place + 1, word) for place, some in enumerate(bins) for word in some],
        finals=[len(bins)],
        vocabulary=space.vocabulary,
        **space.about,
    )


def _add(bins: Sequence[_Bin], words: Sequence[str]) -> list[_Bin]:
    """Return the bins with the words of one more entry."""
    # of the first bins and the first words: the fewest edits
    rows = [list(range(len(words) + 1))]
    for some in bins:
        before = rows[-1]
        row: list[int] = []
        skipped = "" not in some
        for at, above in enumerate(before):
            cost = above + skipped
            if at:
                cost = min(cost, row[-1] + 1, before[at - 1] + (words[at - 1] not in some))
            row.append(cost)
        rows.append(row)
    found: list[_Bin] = []
    place, at = len(bins), len(words)
    while place or at:
        cost = rows[place][at]
        some = bins[place - 1] if place else {}
        if place and at and cost == rows[place - 1][at - 1] + (words[at - 1] not in some):
            place, at = place - 1, at - 1
            found.append({**some, words[at]: None})
        elif place and cost == rows[place - 1][at] + ("" not in some):
            place -= 1
            found.append({**some, "": None})
        else:
            at -= 1
            # a new place, in which those before have nothing
            found.append({"": None, words[at]: None})
    return found[::-1]
