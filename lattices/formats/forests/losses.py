"""Losses of forests in files: what they cannot hold, and words that can stand in them."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from lattices.errors import FormatError
from lattices.formats.base import Losses, split_words
from lattices.spaces import Forest

#: what separates the fields of a rule
BAR = "|||"


def note_losses(forest: Forest, losses: Losses, where: str, held: frozenset[str]) -> None:
    """Give to ``losses`` what a file cannot hold; ``held`` is what it can."""
    carried = {
        "categories": bool(forest.categories),
        "spans": forest.spans is not None,
        "source texts": bool(forest.source),
        "references": bool(forest.references),
        "metadata": bool(forest.metadata),
    }
    for what, present in carried.items():
        if present and what not in held:
            losses.add(what, where)


def nodes_below_root(forest: Forest, losses: Losses, where: str) -> int:
    """Return how many nodes to write where the last one has to be the root.

    No derivation uses the nodes behind the root: they are above it, or beside it.
    """
    if forest.root + 1 < forest.num_nodes:
        losses.add("nodes behind the root", where)
    return forest.root + 1


def spelled_words(
    forest: Forest, losses: Losses, where: str, slot: re.Pattern[str]
) -> dict[int, str]:
    """Return how each word is written where blanks separate words, and brackets mark slots.

    Raises
    ------
    FormatError
        For a word that would be read as a slot, or as the end of a field.
    """
    spelled: dict[int, str] = {}
    for label in np.unique(forest.symbol[forest.symbol > 0]).tolist():
        word = forest.vocabulary.word(label)
        parts = split_words(word)
        for part in parts:
            if part == BAR or slot.fullmatch(part):
                raise FormatError(
                    f"the word {word!r} of {where} means something else in this format"
                )
        if parts != [word]:
            losses.add("words with blanks in them", where)
        spelled[label] = " ".join(parts)
    return spelled


def target_sides(
    forest: Forest, spelled: dict[int, str], slot: Callable[[int, int], str]
) -> list[str]:
    """Return the target side of each edge as text; ``slot`` spells a tail, by edge and index."""
    symbols = forest.symbol.tolist()
    return [
        " ".join(
            [
                spelled[symbol] if symbol > 0 else slot(edge, -1 - symbol)
                for symbol in symbols[low:high]
            ]
        )
        for edge, (low, high) in enumerate(pairwise(forest.symbol_offset.tolist()))
    ]
