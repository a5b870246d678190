"""Edges as lines of text: what the hypergraphs of Moses, cdec and Joshua have in common.

An edge is ``words and [nodes] ||| name=value name=value``, with another ``|||`` and how many
words of the source are covered in some dialects. The tails of an edge are in the order of its
target side. Features may have ``;`` between them, as in old files of cdec; a name may have ``=``
in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from lattices.arrays import IntColumn, floats, ints
from lattices.errors import FormatError
from lattices.formats.base import Record, split_words
from lattices.formats.fields import finite_number
from lattices.formats.forests.scores import BAR, feature_table, weight_edges
from lattices.spaces import Forest
from lattices.vocabulary import Vocabulary

#: a reference to a node; a word that looks so cannot be told from one
NODE = re.compile(r"\[[0-9]+\]")
#: what Moses and Joshua put around each sentence
TAGS = frozenset(("<s>", "</s>"))
_MOST_DIGITS = 9


class EdgeLines:
    """The edges of one file, line by line as they come, and then all together."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._heads: list[int] = []
        self._places: list[int] = []
        self._sides: list[list[str]] = []
        self._features: list[list[str]] = []

    def __len__(self) -> int:
        """Return how many edges there are."""
        return len(self._heads)

    def add(self, head: int, line: str, place: int) -> None:
        """Take the line of an edge, which is ``place`` lines below the record's first."""
        tokens = split_words(line)
        try:
            bar = tokens.index(BAR)
        except ValueError:
            raise self._record.error(
                f"{line!r:.80}, expected an edge, 'words ||| name=value ...'", place
            ) from None
        rest = tokens[bar + 1 :]
        if BAR in rest:
            covered = rest[rest.index(BAR) + 1 :]
            rest = rest[: rest.index(BAR)]
            if len(covered) != 1 or not covered[0].isdecimal():
                raise self._record.error(
                    f"{' '.join(covered)!r:.40} in the third field, expected how many words of "
                    "the source are covered",
                    place,
                )
        self._heads.append(head)
        self._places.append(place)
        self._sides.append(tokens[:bar])
        self._features.append(rest)

    def list_references(self) -> set[int]:
        """Return the numbers in all references."""
        tokens = set(chain.from_iterable(self._sides))
        return {int(token[1:-1]) for token in tokens if _is_node(token)}

    def _error(self, edge: int, problem: str) -> FormatError:
        return self._record.error(problem, self._places[edge])

    def forest(
        self,
        vocabulary: Vocabulary,
        nodes: int,
        node: Callable[[int], int | None],
        keep_tags: bool,
        options: Mapping[str, Any],
    ) -> Forest:
        """Return the forest; its root is the last of the nodes."""
        codes = self._codes(vocabulary, node, keep_tags)
        owner = np.repeat(np.arange(len(self)), list(map(len, self._sides)))
        owner, codes = owner[codes != 0], codes[codes != 0]
        is_slot = codes < 0
        tail, above = -1 - codes[is_slot], owner[is_slot]
        late = tail >= np.array(self._heads)[above] if len(above) else np.zeros(0, bool)
        if late.any():
            raise self._error(
                int(above[late][0]), "a reference to a node that is not among those before"
            )
        bounds = _offsets(above, len(self))
        codes = codes.copy()
        codes[is_slot] = -1 - (np.arange(len(tail)) - bounds[above])
        features, names = self._table()
        return Forest(
            vocabulary=vocabulary,
            head=ints(self._heads),
            tail=ints(tail),
            tail_offset=bounds,
            symbol=ints(codes),
            symbol_offset=_offsets(owner, len(self)),
            num_nodes=nodes,
            root=nodes - 1,
            **weight_edges(features, names, len(self), options),
        )

    def _codes(
        self, vocabulary: Vocabulary, node: Callable[[int], int | None], keep_tags: bool
    ) -> IntColumn:
        """Return words as their numbers, references as -1 less the node, and 0 for tags."""
        flat = list(chain.from_iterable(self._sides))
        table: dict[str, int] = {}
        for token in dict.fromkeys(flat):
            if NODE.fullmatch(token):
                found = node(int(token[1:-1])) if _is_node(token) else None
                if found is None:
                    edge = next(edge for edge, side in enumerate(self._sides) if token in side)
                    raise self._error(
                        edge, f"{token:.40}, but there is no such node, or none before this one"
                    )
                table[token] = -1 - found
            elif token in TAGS and not keep_tags:
                table[token] = 0
            else:
                table[token] = vocabulary.add(token)
        return ints([table[token] for token in flat])

    def _table(self) -> tuple[Any, list[str]]:
        """Return the features of all edges as a matrix, and their names."""
        fields = [
            [part for token in tokens for part in separate(token)] if _join(tokens) else tokens
            for tokens in self._features
        ]
        counts = list(map(len, fields))
        split = [token.rpartition("=") for token in chain.from_iterable(fields)]
        values = [finite_number(value) for _, _, value in split]
        bad = [place for place, (name, *_) in enumerate(split) if not name or values[place] is None]
        if bad:
            edge = int(np.searchsorted(np.cumsum(counts), bad[0], side="right"))
            raise self._error(
                edge, f"{''.join(split[bad[0]])!r:.40}, expected name=value, a finite number"
            )
        names: list[str] = []
        column = floats([value for value in values if value is not None])
        matrix, twice = feature_table([name for name, *_ in split], column, counts, names)
        if twice >= 0:
            raise self._error(twice, "a feature twice in one edge")
        return matrix, names


def _is_node(token: str) -> bool:
    return len(token) <= _MOST_DIGITS + 2 and NODE.fullmatch(token) is not None


def _join(tokens: Sequence[str]) -> bool:
    return any(";" in token for token in tokens)


def separate(token: str) -> list[str]:
    """Return the features of a token, which are several if all parts between ``;`` are features."""
    parts = token.split(";")
    several = all(
        name and finite_number(value) is not None
        for name, _, value in (part.rpartition("=") for part in parts)
    )
    return parts if several else [token]


def _offsets(owner: Any, rows: int) -> IntColumn:
    return ints(np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=rows)))))
