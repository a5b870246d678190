"""Lattices and forests to graphs of networkx, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from lattices.errors import SpaceError, expecting
from lattices.formats.json.fields import feature_objects
from lattices.spaces import Forest, Lattice
from lattices.spaces.arguments import GRAPH, takes
from lattices.spaces.features import FeatureRows, make_rows
from lattices.vocabulary import Vocabulary


@takes(space=GRAPH)
def to_networkx(space: Lattice | Forest) -> Any:
    """Return a lattice or a forest as a ``networkx.MultiDiGraph``.

    A lattice has a node for each state and an edge for each arc:

    ============  ======================================================================
    graph         ``start``, ``id``, ``source``, ``references``, ``feature_names``,
                  ``metadata``
    node          the state's number; ``final`` (the score, on final states only), ``time``
                  and ``features`` (of ending there), where the lattice has them
    edge          the key is the arc's index; ``word`` (``""`` for epsilon), ``score`` and,
                  where the lattice has them, ``features`` as a dictionary
    ============  ======================================================================

    A forest becomes a bipartite graph: its nodes and its edges are both nodes, and edges lead
    from the tails of an edge to it, and from it to its head.

    ============  ======================================================================
    graph         ``root``, ``id``, ``source``, ``references``, ``feature_names``,
                  ``metadata``
    node ``q``    ``bipartite`` 0; ``category`` and ``span``, where the forest has them
    node          ``("edge", e)``, ``bipartite`` 1; ``side``, the target side: words, and for each
                  tail its index; ``score`` and, where the forest has them, ``features``
    edge          from a tail the key is its index among the tails, to the head it is 0
    ============  ======================================================================

    Examples
    --------
    >>> graph = to_networkx(Lattice.from_arcs([(0, 1, "a", -0.5)], finals=[1]))
    >>> list(graph.edges(data=True)), graph.nodes[1]
    ([(0, 1, {'word': 'a', 'score': -0.5})], {'final': 0.0})
    >>> graph = to_networkx(Forest.from_edges([(0, [], ["cat"]), (1, [0], ["the", 0])]))
    >>> list(graph.edges), graph.nodes["edge", 1]["side"]
    ([(0, ('edge', 1), 0), (('edge', 0), 0, 0), (('edge', 1), 1, 0)], ('the', 0))
    """
    import networkx  # slow to load, and most programs never come here

    graph = networkx.MultiDiGraph(
        id=space.id,
        source=space.source,
        references=space.references,
        feature_names=space.feature_names,
        metadata=dict(space.metadata),
    )
    if isinstance(space, Forest):
        _add_forest(graph, space)
    else:
        _add_lattice(graph, space)
    return graph


def _add_lattice(graph: Any, lattice: Lattice) -> None:
    graph.graph["start"] = lattice.start
    nodes: list[dict[str, Any]] = [
        {} if score == -np.inf else {"final": score} for score in lattice.final.tolist()
    ]
    if lattice.times is not None:
        for node, time in zip(nodes, lattice.times.tolist(), strict=True):
            node["time"] = time
    _add_features(nodes, make_rows(lattice, "final_features"), lattice.feature_names)
    graph.add_nodes_from(enumerate(nodes))
    words = lattice.vocabulary.strings
    edges: list[dict[str, Any]] = [
        {"word": words[label], "score": score}
        for label, score in zip(lattice.label.tolist(), lattice.score.tolist(), strict=True)
    ]
    _add_features(edges, make_rows(lattice), lattice.feature_names)
    graph.add_edges_from(
        zip(lattice.src.tolist(), lattice.dst.tolist(), range(len(edges)), edges, strict=True)
    )


def _add_forest(graph: Any, forest: Forest) -> None:
    graph.graph["root"] = forest.root
    nodes: list[dict[str, Any]] = [{"bipartite": 0} for _ in range(forest.num_nodes)]
    for node, category in zip(nodes, forest.categories, strict=False):
        node["category"] = category
    if forest.spans is not None:
        for node, span in zip(nodes, forest.spans.tolist(), strict=True):
            node["span"] = tuple(span)
    graph.add_nodes_from(enumerate(nodes))
    words = forest.vocabulary.strings
    tails, ends = forest.tail.tolist(), forest.tail_offset.tolist()
    symbols, sides = forest.symbol.tolist(), forest.symbol_offset.tolist()
    edges: list[dict[str, Any]] = [
        {
            "bipartite": 1,
            "side": tuple(
                words[symbol] if symbol > 0 else -1 - symbol
                for symbol in symbols[sides[edge] : sides[edge + 1]]
            ),
            "score": score,
        }
        for edge, score in enumerate(forest.score.tolist())
    ]
    _add_features(edges, make_rows(forest), forest.feature_names)
    for edge, (head, attributes) in enumerate(zip(forest.head.tolist(), edges, strict=True)):
        made = ("edge", edge)
        graph.add_node(made, **attributes)
        for slot, tail in enumerate(tails[ends[edge] : ends[edge + 1]]):
            graph.add_edge(tail, made, key=slot)
        graph.add_edge(made, head, key=0)


def _add_features(
    attributes: list[dict[str, Any]], matrix: FeatureRows | None, names: tuple[str, ...]
) -> None:
    if matrix is not None:
        for mapping, row in zip(attributes, feature_objects(matrix, names), strict=True):
            mapping["features"] = row


@expecting("the graph is one of networkx")
def from_networkx(graph: Any, vocabulary: Vocabulary | None = None) -> Lattice | Forest:
    """Return the lattice or the forest of a directed acyclic ``networkx`` graph.

    The attributes are those of :func:`to_networkx`. A graph with the attribute ``root`` is a
    forest, every other a lattice. An edge of a lattice must have a ``word``, a node that is an edge
    of a forest a ``side``; the ``score`` is 0 by default. Nodes may be anything: if they are not
    the integers from 0, they are numbered in the order of the graph. Without the graph attribute
    ``start`` the one node that no edge enters is the start.

    Raises
    ------
    SpaceError
        If the graph is undirected or has cycles; if a lattice has no final node, no single start,
        an edge without a word, or times on some nodes only; if an edge of a forest has no side
        or not one head, or a node has a category or a span and another has none.

    Examples
    --------
    >>> import networkx
    >>> graph = networkx.DiGraph()
    >>> graph.add_edge("here", "there", word="a", score=-0.5)
    >>> graph.add_node("there", final=0.0)
    >>> [path.text for path in from_networkx(graph).paths()]
    ['a']
    """
    if not graph.is_directed():
        raise SpaceError("a lattice is made from a directed graph, and this one is undirected")
    return (_forest if "root" in graph.graph else _lattice)(graph, vocabulary)


def _numbers(nodes: list[Any]) -> dict[Any, int]:
    """Return the number of each node."""
    if set(nodes) == set(range(len(nodes))):
        nodes.sort()
    return {node: index for index, node in enumerate(nodes)}


def _about(graph: Any) -> dict[str, Any]:
    about = graph.graph
    return {
        "feature_names": tuple(about.get("feature_names", ())),
        "id": str(about.get("id", "")),
        "source": str(about.get("source", "")),
        "references": tuple(about.get("references", ())),
        "metadata": dict(about.get("metadata", {})),
    }


def _all_or_none(attributes: list[dict[str, Any]], name: str) -> list[Any]:
    """Return an attribute of all nodes, nothing if none has it."""
    found = [node[name] for node in attributes if name in node]
    if found and len(found) < len(attributes):
        raise SpaceError(
            f"{len(found)} of {len(attributes)} nodes have a {name}, expected all or none"
        )
    return found


def _lattice(graph: Any, vocabulary: Vocabulary | None) -> Lattice:
    number = _numbers(list(graph.nodes))
    rows = [
        (
            number[src],
            number[dst],
            _word_of(src, dst, data),
            data.get("score", 0.0),
            data.get("features"),
        )
        for src, dst, data in graph.edges(data=True)
    ]
    attributes = [graph.nodes[node] for node in number]
    times = _all_or_none(attributes, "time")
    ending = {
        index: node["features"] for index, node in enumerate(attributes) if node.get("features")
    }
    return Lattice.from_arcs(
        rows,
        finals={
            index: node["final"]
            for index, node in enumerate(attributes)
            if node.get("final") is not None
        },
        states=len(number),
        vocabulary=vocabulary,
        final_features=ending or None,
        start=_start_of(graph, number),
        times=times or None,
        **_about(graph),
    )


def _word_of(src: Any, dst: Any, data: dict[str, Any]) -> str:
    word = data.get("word")
    if not isinstance(word, str):
        raise SpaceError(f"the edge {src!r} -> {dst!r} has the word {word!r}, expected a string")
    return word


def _start_of(graph: Any, number: dict[Any, int]) -> int:
    if "start" in graph.graph:
        start = graph.graph["start"]
        if start not in number:
            raise SpaceError(f"the start {start!r} is no node of the graph")
        return number[start]
    first = [node for node, degree in graph.in_degree() if degree == 0]
    if len(first) != 1:
        raise SpaceError(
            f"{len(first)} nodes have no edge into them, and the graph attribute 'start' does "
            "not say which is the start"
        )
    return number[first[0]]


def _forest(graph: Any, vocabulary: Vocabulary | None) -> Forest:
    edges = [node for node, data in graph.nodes(data=True) if data.get("bipartite") == 1]
    made = set(edges)
    number = _numbers([node for node in graph.nodes if node not in made])
    root = graph.graph["root"]
    if root not in number:
        raise SpaceError(f"the root {root!r} is no node of the forest")
    rows = []
    for edge in edges:
        data = graph.nodes[edge]
        heads = list(graph.successors(edge))
        tails = [tail for tail, _, _ in sorted(graph.in_edges(edge, keys=True), key=_slot)]
        if "side" not in data or len(heads) != 1 or not number.keys() >= {*heads, *tails}:
            raise SpaceError(
                f"the edge {edge!r} has {'a' if 'side' in data else 'no'} side and {len(heads)} "
                "heads, expected a side, one head, and nodes around it"
            )
        rows.append(
            (
                number[heads[0]],
                [number[tail] for tail in tails],
                data["side"],
                data.get("score", 0.0),
                data.get("features"),
            )
        )
    attributes = [graph.nodes[node] for node in number]
    return Forest.from_edges(
        rows,
        root=number[root],
        nodes=len(number),
        vocabulary=vocabulary,
        categories=_all_or_none(attributes, "category"),
        spans=_all_or_none(attributes, "span") or None,
        **_about(graph),
    )


def _slot(edge: tuple[Any, Any, int]) -> int:
    return edge[2]
