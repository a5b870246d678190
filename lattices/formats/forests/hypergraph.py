r"""Hypergraphs as text: Moses' ``-output-search-graph-hypergraph``, cdec's target graphs.

One file a sentence, in the format that Kenneth Heafield's ``lazy`` has introduced::

    # target ||| features ||| source-covered
    2 3
    # node 0
    1
    house ||| tm=-0.5 ||| 1
    # node 1
    2
    the [0] ||| lm=-1.25 ||| 2
    a [0] ||| lm=-1.5 ||| 2

The numbers of nodes and of edges; then for each node, from the bottom up, how many edges make it,
and these edges. ``[0]`` is the node 0, which must come before, and the root is the last one. The
first line may be missing, or ``# target ||| features``, and so may the third field; comments
may stand before the count of a node. Features are those of the edge alone. Their weights are
not in the file: see :mod:`lattices.formats.forests.scores`.

Moses has ``<s>`` and ``</s>`` as words; they are left out, unless ``tags=keep``. We write a
comment ``# tags=keep`` where they are words. The tails of an edge come back in the order of its
target side. What is covered is not read, and written as the length of the node's span.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, BinaryIO

from lattices.formats.base import (
    BLANKS,
    Format,
    Record,
    Unsupported,
    note_losses,
    require_kind,
    split_words,
)
from lattices.formats.fields import is_whole
from lattices.formats.forests.edges import NODE, TAGS, EdgeLines, separate
from lattices.formats.forests.scores import (
    BAR,
    SCORES,
    TAG_OPTION,
    WEIGHTS,
    collect_written_features,
    nodes_below_root,
    spell_words,
    target_sides,
)
from lattices.spaces import Forest, Space
from lattices.vocabulary import Vocabulary

HEADER = "# target ||| features ||| source-covered"
_KEEP_TAGS = "# tags=keep"
_OPENING = re.compile(
    # the first line of today; or two numbers, a third, and an edge
    rb"# target \|\|\| features \|\|\| source-covered[ \t]*\r?\n"
    rb"|(?:# target \|\|\| features[ \t]*\r?\n[0-9]+ [0-9]+[ \t]*\r?\n#)"
    rb"|[0-9]+ [0-9]+[ \t]*\r?\n(?:#[^\n]*\n)*[0-9]+[ \t]*\r?\n(?:[^\n]* )?\|\|\|(?: |\r?\n)"
)
_MOST_DIGITS = 9


class HypergraphFormat(Format):
    """See the module."""

    name = "hypergraph"
    description = "hypergraphs as text, one a file (Moses, cdec --show_target_graph, lazy)"
    kind = "forest"
    suffixes = (".hg", ".hypergraph")
    options: Mapping[str, str] = {
        **TAG_OPTION,
        **WEIGHTS,
    }
    write_options: Mapping[str, str] = SCORES
    single = True

    def sniff(self, head: bytes) -> bool:
        """Tell whether it begins with Moses' header, or with counts and an edge."""
        return _OPENING.match(head) is not None

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Space:
        """Return the forest, in time linear in the lines."""
        keep = options.get("tags") == "keep"
        lines = _HypergraphReader(record)
        edges, nodes = lines.edges()
        return edges.forest(
            vocabulary,
            nodes,
            lambda number: number if number < nodes else None,
            keep or lines.tags_are_words,
            options,
        )

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Unsupported, **options: Any
    ) -> None:
        """Write Moses' dialect, every digit of a number."""
        for forest in require_kind(Forest, spaces, losses):
            lines = _lines(forest, losses, options)
            stream.write(("\n".join(lines) + "\n").encode("utf-8"))


FORMAT = HypergraphFormat()


class _HypergraphReader:
    """The lines of a file, one after the other."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.lines = record.text().split("\n")
        self.place = -1
        self.tags_are_words = False

    def numbers(self, count: int, what: str) -> list[int]:
        """Return the numbers of the next line that is no comment."""
        line = self._skip_comments()
        row = split_words(line)
        if not row:
            raise self.record.error(f"the file ends where {what} should be", self.place)
        if len(row) != count or not all(is_whole(each, _MOST_DIGITS) for each in row):
            raise self.record.error(f"{line!r:.80}, expected {what}", self.place)
        return list(map(int, row))

    def _skip_comments(self) -> str:
        """Return the next line that is no comment; an empty one is the end of the file."""
        while self.place + 1 < len(self.lines):
            self.place += 1
            line = self.lines[self.place].strip(BLANKS)
            self.tags_are_words |= line == _KEEP_TAGS
            if line and not line.startswith("#"):
                return line
        return ""

    def edges(self) -> tuple[EdgeLines, int]:
        """Return all edges, and how many nodes there are."""
        nodes, announced = self.numbers(2, "the numbers of nodes and of edges")
        if max(nodes, announced) > len(self.lines):
            # before anything is made of so many
            raise self.record.error(
                f"{nodes} nodes and {announced} edges in a file of {len(self.lines)} lines",
                self.place,
            )
        edges = EdgeLines(self.record)
        for node in range(nodes):
            (count,) = self.numbers(1, f"the number of edges of node {node}")
            first, self.place = self.place + 1, self.place + count
            if self.place >= len(self.lines):
                raise self.record.error(
                    f"the file ends among the {count} edges of node {node}", first - 1
                )
            for place in range(first, self.place + 1):
                edges.add(node, self.lines[place], place)
        rest = self._skip_comments()
        if rest:
            raise self.record.error(f"{rest!r:.80} behind the last of {nodes} nodes", self.place)
        if len(edges) != announced:
            raise self.record.error(f"{len(edges)} edges, but {announced} are announced")
        if not nodes:
            raise self.record.error("an empty forest: the decoder has found no derivation")
        return edges, nodes


def _lines(forest: Forest, losses: Unsupported, options: Mapping[str, Any]) -> list[str]:
    where = f"segment {forest.id!r}"
    note_losses(forest, losses, "features")
    nodes = nodes_below_root(forest, losses, where)
    spelled = spell_words(forest, losses, where, NODE)
    offset, tails = forest.tail_offset.tolist(), forest.tail.tolist()
    sides = target_sides(forest, spelled, lambda edge, index: f"[{tails[offset[edge] + index]}]")
    rows, names = collect_written_features(forest, losses, where, options)
    odd = {name for name in names if not _can_stand(name)}
    for name in sorted(odd):
        losses.add(f"features {name!r}", where)
    bounds = forest.in_offset.tolist()
    lines = [HEADER]
    if not TAGS.isdisjoint(spelled.values()):
        lines.append(_KEEP_TAGS)
    lines.append(f"{nodes} {bounds[nodes]}")
    for node, (low, high) in enumerate(pairwise(bounds[: nodes + 1])):
        covered = 0
        if forest.spans is not None:
            covered = max(0, int(forest.spans[node, 1]) - int(forest.spans[node, 0]))
        lines += [f"# node {node}", str(high - low)]
        for side, row in zip(sides[low:high], rows[low:high], strict=True):
            values = " ".join([f"{name}={value!r}" for name, value in row if name not in odd])
            lines.append(f"{side} {BAR} {values} {BAR} {covered}")
    return lines


def _can_stand(name: str) -> bool:
    """Tell whether a feature of that name would be read as one feature."""
    token = f"{name}=0"
    return split_words(name) == [name] and separate(token) == [token]
