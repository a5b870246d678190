r"""Forests of cdec as JSON, one a file: what cdec wrote until 2014 (``HypergraphIO::WriteToJSON``).

One object, in which the order counts and keys repeat (here in several lines)::

    {"rules":[1,"[X] ||| haus ||| house",2,"[S] ||| das [X,1] ||| the [1] ||| Glue=1"],
     "features":["lm","Glue"],
     "edges":[{"tail":[],"spans":[1,2,-1,-1],"feats":[0,-0.5],"rule":1}],
     "node":{"in_edges":[0],"cat":"X"},
     "edges":[{"tail":[0],"spans":[0,2,-1,-1],"feats":[0,-1.5,1,1],"rule":2}],
     "node":{"in_edges":[1],"cat":"S"}}

Each ``node`` has the edges ``in_edges``, by their numbers in the whole file; ``tail`` has nodes
that come before, and the root is the last one. A rule is named by its number in ``rules``, or
stands in the edge itself; ``[1]`` or ``[X,1]`` in its target side is the first tail. Features are
named by their numbers in ``features``, or by themselves. The weights of the features are not in
the file: see :mod:`lattices.formats.forests.scores`.

The span of a node is that of its first edge, if all nodes have one; cdec writes arbitrary numbers
for those it does not know. Source sides of rules are not kept: what we write has the tails alone
there, in their order.
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
from lattices.formats.forests.scores import (
    BAR,
    SCORES,
    WEIGHTS,
    collect_written_features,
    feature_table,
    nodes_below_root,
    spell_words,
    target_sides,
    weight_edges,
)
from lattices.formats.json.fields import (
    ENCODER,
    check_types,
    decode,
    number_column,
    pause_collector,
    strings,
)
from lattices.spaces import Forest, Space
from lattices.vocabulary import Vocabulary

OPENING = re.compile(
    rb'\s*\{\s*(?:"(?:rules|features|is_sorted)"\s*:'
    rb'|"edges"\s*:\s*\[\s*(?:\]|\{\s*"(?:tail|spans|feats|rule)"))'
)
#: the tail of that number, from 1; a word that looks so cannot be told from it
_SLOT = re.compile(r"\[(?:[^\[\],\s]+,)?([0-9]+)\]")
_SIMPLE = re.compile(r"[^\[\],|\s]+")
_MOST_DIGITS = 9
_DEFAULT_CATEGORY = "X"


class CdecForest(Format):
    """See the module."""

    name = "cdec-forest"
    description = "forests of cdec as JSON with repeated keys, one a file"
    kind = "forest"
    suffixes = (".json",)
    options: Mapping[str, str] = WEIGHTS
    write_options: Mapping[str, str] = SCORES
    single = True
    exact = True

    def sniff(self, head: bytes) -> bool:
        """Tell whether the first key is one of cdec's."""
        return OPENING.match(head) is not None

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Space:
        """Return the forest, in time linear in the file."""
        with pause_collector():
            fields = decode(record, pairs=True)
            if not isinstance(fields, tuple):
                raise record.error(f"expected one object, not {type(fields).__name__}")
            if not fields:
                raise record.error("an empty forest: the decoder has found no derivation")
            return _forest(fields, vocabulary, options)

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Unsupported, **options: Any
    ) -> None:
        """Write one line, every digit of a number."""
        for forest in require_kind(Forest, spaces, losses):
            stream.write(_line(forest, losses, options).encode("utf-8") + b"\n")


FORMAT = CdecForest()


def _forest(
    fields: tuple[tuple[str, Any], ...], vocabulary: Vocabulary, options: Mapping[str, Any]
) -> Forest:
    rules: dict[int, str] = {}
    names: list[str] = []
    edges: list[dict[str, Any]] = []
    nodes: list[dict[str, Any]] = []
    for key, value in fields:
        if key == "edges":
            check_types(_list(value, key), {tuple}, "an edge")
            edges.extend(map(_drop_repeats, value))
        elif key == "node":
            nodes.append(_drop_repeats(value))
        elif key == "rules":
            rules = _rules(_list(value, key))
        elif key == "features":
            names = strings({key: value}, key)
        elif key != "is_sorted":
            raise SpaceError(f"{key!r:.40}, expected rules, features, edges or node")
    if not nodes:
        raise SpaceError("a forest without nodes")
    order, head = _heads(nodes, len(edges))
    edges = [edges[edge] for edge in order]
    tails = [_list(edge.get("tail") or [], "tail") for edge in edges]
    flat = list(chain.from_iterable(tails))
    check_types(flat, {int}, "a tail")
    if flat and not 0 <= min(flat) <= max(flat) < len(nodes):
        raise SpaceError(f"a tail that is none of {len(nodes)} nodes")
    sides = _sides(edges, list(map(len, tails)), rules, vocabulary)
    categories = _categories(nodes)
    return Forest(
        vocabulary=vocabulary,
        head=head,
        tail=ints(flat),
        tail_offset=ints(np.cumsum([0, *map(len, tails)])),
        symbol=ints(list(chain.from_iterable(sides))),
        symbol_offset=ints(np.cumsum([0, *map(len, sides)])),
        num_nodes=len(nodes),
        root=len(nodes) - 1,
        categories=categories,
        spans=_spans(edges, head, len(nodes)),
        **_weight(edges, names, options),
    )


def _list(value: Any, key: str) -> list[Any]:
    if not isinstance(value, list):
        raise SpaceError(f"{value!r:.40} for {key!r}, expected a list")
    return value


def _drop_repeats(pairs: Any) -> dict[str, Any]:
    if not isinstance(pairs, tuple):
        raise SpaceError(f"{pairs!r:.40}, expected an object")
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise SpaceError("a key twice in an edge or a node")
    return fields


def _rules(flat: list[Any]) -> dict[int, str]:
    numbers, texts = flat[::2], flat[1::2]
    if len(numbers) != len(texts):
        raise SpaceError(f"{len(flat)} entries in 'rules', expected numbers and rules in turn")
    check_types(numbers, {int}, "the number of a rule")
    check_types(texts, {str}, "a rule")
    rules = dict(zip(numbers, texts, strict=True))
    if len(rules) < len(numbers):
        raise SpaceError("two rules have one number")
    return rules


def _heads(nodes: Sequence[dict[str, Any]], count: int) -> tuple[list[int], IntColumn]:
    """Return the edges in the order of the nodes, and the head of each."""
    lists = [_list(node.get("in_edges"), "in_edges") for node in nodes]
    order = list(chain.from_iterable(lists))
    check_types(order, {int}, "the number of an edge")
    if sorted(order) != list(range(count)):
        raise SpaceError(
            f"the lists 'in_edges' of all nodes must have each of the {count} edges once"
        )
    return order, ints(np.repeat(np.arange(len(nodes)), list(map(len, lists))))


def _sides(
    edges: Sequence[dict[str, Any]],
    arities: Sequence[int],
    rules: Mapping[int, str],
    vocabulary: Vocabulary,
) -> list[list[int]]:
    """Return the target side of each edge, as :class:`Forest` wants it."""
    known: dict[tuple[Any, int], list[int]] = {}
    sides = []
    for edge, arity in zip(edges, arities, strict=True):
        rule = edge.get("rule")
        if type(rule) not in (int, str):
            raise SpaceError(f"{rule!r:.40} for the rule of an edge, expected a number or a rule")
        if (rule, arity) not in known:
            text = rules.get(rule) if isinstance(rule, int) else rule
            if text is None:
                raise SpaceError(f"an edge has the rule {rule}, which is not among the rules")
            known[rule, arity] = _side(text, arity, vocabulary)
        sides.append(known[rule, arity])
    return sides


def _side(rule: str, arity: int, vocabulary: Vocabulary) -> list[int]:
    tokens = split_words(rule)
    bars = [place for place, token in enumerate(tokens) if token == BAR]
    if len(bars) < 2:
        raise SpaceError(f"{rule!r:.80}, expected a rule, 'category ||| source ||| target'")
    side = []
    for token in tokens[bars[1] + 1 : bars[2] if len(bars) > 2 else None]:
        slot = _SLOT.fullmatch(token)
        if slot is None:
            side.append(vocabulary.add(token))
            continue
        number = int(slot.group(1)) if len(slot.group(1)) <= _MOST_DIGITS else 0
        if not 1 <= number <= arity:
            raise SpaceError(f"{token!r:.40} in the rule of an edge that has {arity} tails")
        side.append(-number)
    return side


def _categories(nodes: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    if not any("cat" in node for node in nodes):
        return ()
    found = [node.get("cat", _DEFAULT_CATEGORY) for node in nodes]
    check_types(found, {str}, "the category of a node")
    return tuple(found)


def _spans(edges: Sequence[dict[str, Any]], head: IntColumn, nodes: int) -> IntColumn | None:
    """Return the span of the first edge of each node, or None if one has none."""
    made, first = np.unique(head, return_index=True)
    spans = []
    for edge in first.tolist():
        span = _list(edges[edge].get("spans") or [], "spans")[:2]
        check_types(span, {int}, "an end of a span")
        if len(span) < 2 or not 0 <= span[0] <= span[1] < 2**15:
            return None
        spans.append(span)
    return ints(spans) if len(made) == nodes else None


def _weight(
    edges: Sequence[dict[str, Any]], names: list[str], options: Mapping[str, Any]
) -> dict[str, Any]:
    lists = [_list(edge.get("feats") or [], "feats") for edge in edges]
    if any(len(each) % 2 for each in lists):
        raise SpaceError("'feats' must have features and values in turn")
    flat = list(chain.from_iterable(lists))
    keys, values = flat[::2], number_column(flat[1::2], "features")
    check_types(keys, {int, str}, "a feature")
    spelled = dict(enumerate(names)) | {name: name for name in keys if type(name) is str}
    try:
        table, twice = feature_table(
            [spelled[key] for key in keys], values, [len(each) // 2 for each in lists], names
        )
    except KeyError as problem:
        raise SpaceError(f"feature {problem}, expected one of {len(names)}") from None
    if twice >= 0:
        raise SpaceError("a feature twice in one edge")
    return weight_edges(table, names, len(edges), options)


def _line(forest: Forest, losses: Unsupported, options: Mapping[str, Any]) -> str:
    where = f"segment {forest.id!r}"
    note_losses(forest, losses, "features", "categories", "spans")
    nodes = nodes_below_root(forest, losses, where)
    spelled = spell_words(forest, losses, where, _SLOT)
    sides = target_sides(forest, spelled, lambda _, index: f"[{index + 1}]")
    rows, names = collect_written_features(forest, losses, where, options)
    number = {name: place for place, name in enumerate(names)}
    tails = forest.tail.tolist()
    below = [tails[low:high] for low, high in pairwise(forest.tail_offset.tolist())]
    rules: dict[str, int] = {}
    parts = []
    bounds = forest.in_offset.tolist()[: nodes + 1]
    for node, (low, high) in enumerate(pairwise(bounds)):
        span = {} if forest.spans is None else {"spans": [*forest.spans[node].tolist(), -1, -1]}
        edges = []
        for edge in range(low, high):
            source = _source(forest, below[edge])
            rule = f"[{_category(forest, node)}] {BAR} {source}{BAR} {sides[edge]}"
            feats = [part for name, value in rows[edge] for part in (number[name], value)]
            edges.append(
                {"tail": below[edge], **span, "feats": feats}
                | {"rule": rules.setdefault(rule, len(rules) + 1)}
            )
        about = {"in_edges": list(range(low, high))}
        category = {"cat": forest.categories[node]} if forest.categories else {}
        parts.append(f'"edges":{ENCODER.encode(edges)},"node":{ENCODER.encode(about | category)}')
    flat = [part for rule, place in rules.items() for part in (place, rule)]
    head = f'"rules":{ENCODER.encode(flat)},"features":{ENCODER.encode(names)}'
    return "{" + ",".join([head, *parts]) + "}"


def _category(forest: Forest, node: int) -> str:
    """Return the category of a node as it stands in rules; ``cat`` has it in full."""
    found = forest.categories[node] if forest.categories else _DEFAULT_CATEGORY
    return found if _SIMPLE.fullmatch(found) else _DEFAULT_CATEGORY


def _source(forest: Forest, tails: Sequence[int]) -> str:
    return "".join(
        f"[{_category(forest, tail)},{index}] " for index, tail in enumerate(tails, start=1)
    )
