r"""Forests of Travatar as JSON, one object a line: what ``-forest_out`` writes.

::

    {"nodes": [{"id": 0, "sym": "S", "span": [0, 2]}, {"id": 1, "sym": "N", "span": [1, 2]}],
     "edges": [{"id": 0, "head": 0, "tails": [1], "trg": [{"label": -1, "words": ["the", -1]}],
     "features": {"lm": -1.5}, "score": -0.75}, {"id": 1, "head": 1, "trg": [{"words": ["house"]}],
     "score": -0.5}], "words": ["das", "haus"]}

(in one line). The root is the first node. In the ``words`` of a target side a string is a word,
and ``-1``, ``-2``, ... are the first tail, the second, ...; of several target sides, those of a
multi-target model, ``target`` says which is taken. ``words`` are the source. The score of an edge
is ``score``, or 0 without it; with ``weights`` it is made of the features
(:mod:`lattices.formats.forests.scores`). ``<unk>``, for which Travatar's output has the words of
the source, is a word here. We add an ``id``, which Travatar passes over.

Other keys are not read, nor are edges without a target side, which is what the forests of
parsers have: they translate nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, BinaryIO

import numpy as np

from lattices.arrays import IntColumn, ints
from lattices.errors import SpaceError
from lattices.formats.base import (
    Format,
    Record,
    Unsupported,
    note_losses,
    require_kind,
    split_words,
)
from lattices.formats.forests.scores import WEIGHTS, products
from lattices.formats.json.fields import (
    ENCODER,
    check_types,
    decode,
    feature_objects,
    feature_rows,
    number_column,
    pause_collector,
    take_field,
)
from lattices.options import Option
from lattices.spaces import Forest, Space
from lattices.spaces.features import make_rows
from lattices.vocabulary import Vocabulary

OPENING = re.compile(rb'\s*\{\s*"nodes"\s*:\s*\[\s*\{[^{}]*"sym"\s*:')
_UNKNOWN_SPAN = [-1, -1]


class Travatar(Format):
    """See the module."""

    name = "travatar"
    description = "forests of Travatar (-forest_out), JSON lines"
    kind = "forest"
    suffixes = (".travatar",)
    options: Mapping[str, str] = {
        "target": Option("which target side is taken of each edge, from 0", int, 0, least=0),
        **WEIGHTS,
    }
    exact = True
    appendable = True
    by_line = True

    def sniff(self, head: bytes) -> bool:
        """Tell whether the first line begins with Travatar's nodes."""
        return OPENING.match(head) is not None

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Space:
        """Return the forest of one line, in time linear in its length."""
        which = options.get("target", 0)
        with pause_collector():
            fields = decode(record)
            if not isinstance(fields, dict):
                raise record.error(f"a line holds one object, not {type(fields).__name__}")
            return _forest(fields, vocabulary, which, options)

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Unsupported, **options: Any
    ) -> None:
        """Write one line for each segment, every digit of a number."""
        for forest in require_kind(Forest, spaces, losses):
            stream.write(ENCODER.encode(_fields(forest, losses)).encode("utf-8") + b"\n")


FORMAT = Travatar()


def _forest(
    fields: dict[str, Any], vocabulary: Vocabulary, which: int, options: Mapping[str, Any]
) -> Forest:
    nodes, edges = take_field(fields, "nodes", list), take_field(fields, "edges", list)
    check_types(nodes, {dict}, "a node")
    check_types(edges, {dict}, "an edge")
    if not nodes:
        raise SpaceError("an empty forest: the decoder has found no derivation")
    # from the bottom up, so that the root comes last
    last = len(nodes) - 1
    ids = [node.get("id", place) for place, node in enumerate(nodes)]
    check_types(ids, {int}, "the id of a node")
    position = {number: last - place for place, number in enumerate(ids)}
    if len(position) < len(nodes):
        raise SpaceError("two nodes have one id")
    tails = [edge.get("tails", []) for edge in edges]
    check_types(tails, {list}, "the tails of an edge")
    sides = [_target(edge, which) for edge in edges]
    flat = list(chain.from_iterable(sides))
    check_types(flat, {str, int}, "a part of a target side")
    most = max(map(len, tails), default=0)
    odd = next((part for part in flat if type(part) is int and not -most <= part < 0), None)
    if odd is not None:
        raise SpaceError(f"{odd} in a target side, expected -1 for the first tail, and so on")
    symbols = [part if type(part) is int else vocabulary.add(part) for part in flat]
    names: list[str] = []
    rows = feature_rows([edge.get("features") for edge in edges], names)
    features = rows if names else None
    weights = options.get("weights")
    score = (
        number_column([edge.get("score", 0.0) for edge in edges], "scores of edges")
        if weights is None
        else products(features, names, len(edges), weights)
    )
    words = take_field(fields, "words", list, [])
    check_types(words, {str}, "a word of the source")
    return Forest(
        vocabulary=vocabulary,
        head=ints(_numbers([edge.get("head") for edge in edges], position, "head")),
        tail=ints(_numbers(list(chain.from_iterable(tails)), position, "tail")),
        tail_offset=ints(np.cumsum([0, *map(len, tails)])),
        symbol=ints(symbols),
        symbol_offset=ints(np.cumsum([0, *map(len, sides)])),
        num_nodes=len(nodes),
        root=last,
        categories=_categories(nodes)[::-1],
        spans=_spans(nodes),
        score=score,
        features=features,
        feature_names=tuple(names),
        source=" ".join(words),
        id=take_field(fields, "id", str, ""),
    )


def _target(edge: dict[str, Any], which: int) -> list[Any]:
    targets = edge.get("trg", [])
    if not isinstance(targets, list) or len(targets) <= which:
        raise SpaceError("an edge without a target side ('trg'): is this the forest of a parser?")
    target = targets[which]
    words = target.get("words", []) if isinstance(target, dict) else None
    if not isinstance(words, list):
        raise SpaceError(f"{target!r:.40} for a target side, expected an object with 'words'")
    return words


def _numbers(found: list[Any], position: Mapping[int, int], what: str) -> list[int]:
    check_types(found, {int}, f"a {what}")
    try:
        return [position[number] for number in found]
    except KeyError as problem:
        raise SpaceError(f"{what} {problem}, but no node has this id") from None


def _categories(nodes: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    found: list[Any] = [node.get("sym") for node in nodes]
    if found.count(None) == len(found):
        return ()
    if None in found:
        found = ["" if symbol is None else symbol for symbol in found]
    check_types(found, {str}, "the symbol of a node")
    return tuple(found)


def _spans(nodes: Sequence[dict[str, Any]]) -> IntColumn | None:
    """Return the spans, or None if a node has none."""
    spans = [node.get("span", _UNKNOWN_SPAN) for node in reversed(nodes)]
    check_types(spans, {list}, "the span of a node")
    ends = list(chain.from_iterable(spans))
    check_types(ends, {int}, "an end of a span")
    if any(len(span) != 2 for span in spans):
        raise SpaceError("a span that is not two numbers")
    if not all(0 <= low <= high < 2**31 for low, high in spans):
        return None
    return ints(spans)


def _fields(forest: Forest, losses: Unsupported) -> dict[str, Any]:
    where = f"segment {forest.id!r}"
    note_losses(forest, losses, "features", "categories", "spans", "source texts")
    source = split_words(forest.source)
    if " ".join(source) != forest.source:
        losses.add("blanks of source texts", where)
    # the root first, then the others from the top down
    order = [forest.root, *(n for n in reversed(range(forest.num_nodes)) if n != forest.root)]
    place = {node: number for number, node in enumerate(order)}
    nodes = [
        {
            "id": number,
            "sym": forest.categories[node] if forest.categories else None,
            "span": _UNKNOWN_SPAN if forest.spans is None else forest.spans[node].tolist(),
        }
        for number, node in enumerate(order)
    ]
    words = ["", *forest.vocabulary]
    parts = [words[part] if part > 0 else part for part in forest.symbol.tolist()]
    tails = [place[node] for node in forest.tail.tolist()]
    spans = (pairwise(column.tolist()) for column in (forest.tail_offset, forest.symbol_offset))
    rows: list[dict[str, float]] = [{} for _ in range(forest.num_edges)]
    features = make_rows(forest)
    if features is not None:
        rows = feature_objects(features, forest.feature_names)
    edges = []
    columns = zip(forest.head.tolist(), *spans, forest.score.tolist(), rows, strict=True)
    for number, (head, below, side, score, row) in enumerate(columns):
        edge: dict[str, Any] = {"id": number, "head": place[head]}
        if below[0] < below[1]:
            edge["tails"] = tails[slice(*below)]
        edge["trg"] = [{"label": -1, "words": parts[slice(*side)]}]
        if row:
            edge["features"] = row
        if score:
            edge["score"] = score
        edges.append(edge)
    return {"nodes": nodes, "edges": edges, "words": source, "id": forest.id}
