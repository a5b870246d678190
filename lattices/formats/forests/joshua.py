"""Hypergraphs of Joshua, one a file, read only: what ``HyperGraph.dump`` writes.

::

    # target ||| features
    2 3
    1
    the ||| tm_pt_0=-0.100
    2
    [1] house ||| tm_pt_0=-0.500
    [1] home ||| tm_pt_0=-0.700

The numbers of nodes and of edges; then the number of each node, from 1 on and with gaps, and
the edges that make it. ``[1]`` is the node 1, which must come before. The goal itself has no
rules and is not written, but the nodes below it are those that no edge refers to: if there are
several, a root is added with an edge for each of them.

``<s>`` and ``</s>`` are left out, unless ``tags=keep``. The weights of the features are not in
the file: see :mod:`lattices.formats.forests.scores`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lattices.formats.base import (
    BLANKS,
    Format,
    Record,
    split_words,
)
from lattices.formats.fields import is_whole
from lattices.formats.forests.edges import EdgeLines
from lattices.formats.forests.scores import BAR, TAG_OPTION, WEIGHTS
from lattices.spaces import Space
from lattices.vocabulary import Vocabulary

HEADER = "# target ||| features"
#: Moses' header goes on; its hypergraphs have a comment before each node
_OPENING = re.compile(rb"# target \|\|\| features[ \t]*\r?\n(?![0-9]+ [0-9]+[ \t]*\r?\n#)")
_MOST_DIGITS = 9


class JoshuaForest(Format):
    """See the module."""

    name = "joshua-forest"
    description = "hypergraphs as Joshua dumps them, one a file"
    kind = "forest"
    suffixes = (".hg",)
    options: Mapping[str, str] = {
        **TAG_OPTION,
        **WEIGHTS,
    }
    single = True
    writable = False

    def sniff(self, head: bytes) -> bool:
        """Tell whether it begins with Joshua's header."""
        return _OPENING.match(head) is not None

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Space:
        """Return the forest, in time linear in the lines."""
        keep = options.get("tags") == "keep"
        edges, place_of = _edges(record, record.text().split("\n"))
        below = edges.list_references()
        tops = [number for number in place_of if number not in below]
        nodes = len(place_of)
        if tops != [list(place_of)[-1]]:
            for number in tops:
                edges.add(nodes, f"[{number}] {BAR}", 0)
            nodes += 1
        return edges.forest(vocabulary, nodes, place_of.get, keep, options)


FORMAT = JoshuaForest()


def _edges(record: Record, lines: list[str]) -> tuple[EdgeLines, dict[int, int]]:
    """Return the edges, and which node each number stands for."""
    edges = EdgeLines(record)
    place_of: dict[int, int] = {}
    announced: list[int] | None = None
    for place, line in enumerate(lines):
        row = split_words(line)
        if BAR in row and not (announced is None and line.startswith("#")):
            if not place_of:
                raise record.error(f"{line!r:.80}, expected the number of a node", place)
            edges.add(len(place_of) - 1, line, place)
        elif row and not row[0].startswith("#"):
            expected = (
                "the numbers of nodes and of edges" if announced is None else "a node or edge"
            )
            if len(row) != (2 if announced is None else 1) or not all(
                is_whole(each, _MOST_DIGITS) for each in row
            ):
                raise record.error(f"{line.strip(BLANKS)!r:.80}, expected {expected}", place)
            if announced is None:
                announced = list(map(int, row))
                continue
            if int(row[0]) in place_of:
                raise record.error(f"a second node {row[0]}", place)
            place_of[int(row[0])] = len(place_of)
    if announced != [len(place_of), len(edges)]:
        said = "nothing is" if announced is None else "{} and {} are".format(*announced)
        raise record.error(f"{len(place_of)} nodes and {len(edges)} edges, but {said} announced")
    if not place_of:
        raise record.error("a forest without nodes")
    return edges, place_of
