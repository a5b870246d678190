"""Forests in JSON lines (:mod:`lattices.formats.json.lines`), read and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np

from lattices.arrays import ints
from lattices.errors import SpaceError
from lattices.formats.json.fields import (
    check_types,
    feature_objects,
    feature_rows,
    number_column,
    order_of_names,
    strings,
    take_field,
)
from lattices.spaces.base import check_count
from lattices.vocabulary import Vocabulary


def read_forest(fields: dict[str, Any], vocabulary: Vocabulary) -> dict[str, Any]:
    """Return the fields of a forest, but for those that all kinds of segments have."""
    edges = take_field(fields, "edges", list)
    check_types(edges, {dict}, "an edge")
    count, position, described = _nodes(fields, len(edges))
    root = take_field(fields, "root", int, None)
    tails = [edge.get("tails", []) for edge in edges]
    sides = _column(edges, "rhs")
    check_types(tails, {list}, "the tails of an edge")
    check_types(sides, {list}, "the rhs of an edge")
    flat = list(chain.from_iterable(sides))
    check_types(flat, {str, int}, "a part of an rhs")
    slots = [part for part in flat if type(part) is int]
    most = max(map(len, tails), default=0)
    if slots and not 0 <= min(slots) <= max(slots) < most:
        raise SpaceError(f"{_report_odd(slots, most)} in an rhs, expected an index into the tails")
    number = {
        part: -1 - part if type(part) is int else vocabulary.add(part)
        for part in dict.fromkeys(flat)
    }
    names = strings(fields, "feature_names")
    features = feature_rows([edge.get("features") for edge in edges], names)
    return {
        "head": ints(_numbers(_column(edges, "head"), position, count, "head")),
        "tail": ints(_numbers(list(chain.from_iterable(tails)), position, count, "tail")),
        "tail_offset": ints(np.cumsum([0, *map(len, tails)])),
        "symbol": ints([number[part] for part in flat]),
        "offset": ints(np.cumsum([0, *map(len, sides)])),
        "score": number_column([edge.get("score", 0.0) for edge in edges], "scores of edges"),
        "nodes": count,
        "root": None if root is None else _numbers([root], position, count, "root")[0],
        "features": features if names else None,
        "feature_names": tuple(names),
        **described,
    }


def _column(edges: Sequence[dict[str, Any]], key: str) -> list[Any]:
    try:
        return [edge[key] for edge in edges]
    except KeyError:
        raise SpaceError(f"an edge without {key!r}") from None


def _report_odd(numbers: Sequence[int], count: int) -> int:
    return next(number for number in numbers if not 0 <= number < count)


def _nodes(fields: dict[str, Any], edges: int) -> tuple[int, dict[int, int] | None, dict[str, Any]]:
    """Return how many nodes there are, where each id stands (None: it says so), and the rest."""
    nodes = fields.get("nodes")
    if type(nodes) is int:
        check_count(nodes, "nodes", edges, "edges")
        return nodes, None, {"category": None, "span": None}
    if type(nodes) is not list:
        raise SpaceError(f"{nodes!r:.40} for 'nodes', expected a list, or how many there are")
    check_types(nodes, {dict}, "a node")
    ids = [node.get("id", place) for place, node in enumerate(nodes)]
    check_types(ids, {int}, "the id of a node")
    position = {number: place for place, number in enumerate(ids)}
    if len(position) < len(ids):
        raise SpaceError("two nodes have one id")
    described: dict[str, Any] = {}
    for key, name in (("cat", "category"), ("span", "span")):
        found = [node[key] for node in nodes if key in node]
        if found and len(found) < len(nodes):
            raise SpaceError(f"{key!r} of {len(found)} of {len(nodes)} nodes, expected all or none")
        described[name] = found or None
    if described["category"]:
        check_types(described["category"], {str}, "the category of a node")
    if described["span"]:
        described["span"] = _spans(described["span"])
    return len(nodes), None if ids == list(range(len(ids))) else position, described


def _spans(spans: list[Any]) -> Any:
    check_types(spans, {list}, "the span of a node")
    odd = next((span for span in spans if len(span) != 2), None)
    if odd is not None:
        raise SpaceError(f"{odd!r:.40} for the span of a node, expected two numbers")
    ends = list(chain.from_iterable(spans))
    check_types(ends, {int}, "an end of a span")
    if not -(2**31) <= min(ends) <= max(ends) < 2**31:
        raise SpaceError("a span that no source has")
    return ints(np.array(ends).reshape(-1, 2))


def _numbers(found: list[Any], position: dict[int, int] | None, count: int, what: str) -> list[int]:
    """Return the places of nodes that are named by their ids."""
    check_types(found, {int}, f"a {what}")
    if position is not None:
        try:
            return [position[number] for number in found]
        except KeyError as problem:
            raise SpaceError(f"{what} {problem}, but no node has this id") from None
    if found and not 0 <= min(found) <= max(found) < count:
        raise SpaceError(f"{what} {_report_odd(found, count)}, expected one of {count} nodes")
    return found


def write_forest(fields: Mapping[str, Any], words: Sequence[str]) -> dict[str, Any]:
    """Return what forests alone have, as an object of JSON's."""
    nodes: Any = fields["nodes"]
    categories, spans = fields["category"] or (), fields["span"]
    if categories or spans is not None:
        nodes = [{"id": node} for node in range(nodes)]
        for node, category in zip(nodes, categories, strict=bool(categories)):
            node["cat"] = category
        if spans is not None:
            for node, span in zip(nodes, spans.tolist(), strict=True):
                node["span"] = span
    parts = [words[part] if part > 0 else -1 - part for part in fields["symbol"].tolist()]
    tails = fields["tail"].tolist()
    columns = zip(
        fields["head"].tolist(),
        [tails[low:high] for low, high in pairwise(fields["tail_offset"].tolist())],
        [parts[low:high] for low, high in pairwise(fields["offset"].tolist())],
        fields["score"].tolist(),
        strict=True,
    )
    edges: list[dict[str, Any]] = [
        {"head": head, "tails": below, "rhs": side, "score": score}
        for head, below, side, score in columns
    ]
    rows: list[dict[str, float]] = []
    if fields["features"] is not None:
        rows = feature_objects(fields["features"], fields["feature_names"])
        for edge, row in zip(edges, rows, strict=True):
            edge["features"] = row
    names = order_of_names(fields["feature_names"], rows)
    return {**names, "nodes": nodes, "root": fields["root"], "edges": edges}
