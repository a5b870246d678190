"""Lattices and forests to networkx and back, judged by what they are made of."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices import Forest, from_networkx, to_networkx
from lattices.errors import SpaceError
from lattices.spaces import Lattice
from lattices.vocabulary import Vocabulary
from tests.lattices.interop.test_automata import assert_same_columns, dense
from tests.strategies import small_forests, small_lattices


@given(small_lattices(), st.data())
def test_networkx_graphs_come_back(lattice: Lattice, data: st.DataObject) -> None:
    times = None
    if data.draw(st.booleans()):
        times = np.linspace(0.0, 1.1, lattice.num_states)
    whole = Lattice(
        **{
            name: getattr(lattice, name)
            for name in ("vocabulary", "src", "dst", "label", "score", "final", "start", "id")
        },
        features=lattice.features,
        final_features=lattice.final_features,
        feature_names=lattice.feature_names,
        times=times,
        source="die Katze",
        references=("the cat", lattice),
        metadata={"beam": 7},
    )
    graph = to_networkx(whole)
    assert networkx.is_directed_acyclic_graph(graph)
    assert (len(graph), graph.number_of_edges()) == (whole.num_states, whole.num_arcs)
    for vocabulary in (None, Vocabulary(["d", "new"])):
        found = from_networkx(graph, vocabulary)
        assert isinstance(found, Lattice)
        assert_same_columns(found, whole)
        assert found.feature_names == whole.feature_names
        np.testing.assert_array_equal(dense(found.features), dense(whole.features))
        np.testing.assert_array_equal(dense(found.final_features), dense(whole.final_features))
        assert (found.times is None) == (times is None)
        if times is not None:
            np.testing.assert_array_equal(found.times, whole.times)
        for name in ("id", "source", "references", "metadata"):
            assert getattr(found, name) == getattr(whole, name)


def test_the_attributes_of_a_graph() -> None:
    lattice = Lattice.from_arcs(
        [(0, 1, "a", -1.0, {"lm": -2.0}), (0, 1, "", -3.0)],
        finals={1: -0.5},
        final_features={1: {"end": 1.0}},
        id="s1",
    )
    graph = to_networkx(lattice)
    assert list(graph.edges(keys=True, data=True)) == [
        (0, 1, 0, {"word": "a", "score": -1.0, "features": {"lm": -2.0}}),
        (0, 1, 1, {"word": "", "score": -3.0, "features": {}}),
    ]
    assert dict(graph.nodes(data=True)) == {
        0: {"features": {}},
        1: {"final": -0.5, "features": {"end": 1.0}},
    }
    assert graph.graph["start"] == 0
    assert graph.graph["id"] == "s1"
    assert graph.graph["feature_names"] == ("lm", "end")


def test_graphs_made_by_hand() -> None:
    graph = networkx.DiGraph()
    graph.add_edge("b", "c", word="cat")
    graph.add_edge("a", "b", word="the", score=-1.0)
    graph.nodes["c"]["final"] = 0.0
    lattice = from_networkx(graph)
    assert isinstance(lattice, Lattice)
    (path,) = lattice.paths()
    assert (path.text, path.score) == ("the cat", -1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda graph: graph.add_edge(0, 1), "edge 0 -> 1 has the word None"),
        (lambda graph: graph.add_edge(1, 0, word="x"), "start"),
        (lambda graph: graph.add_edge(5, 1, word="x"), "2 nodes have no edge into them"),
        (lambda graph: graph.nodes[1].clear(), "no state is final"),
        (lambda graph: graph.nodes[1].update(time=1.0), "1 of 2 nodes have a time"),
        (lambda graph: graph.graph.update(start=9), "start 9 is no node"),
    ],
)
def test_graphs_that_are_no_lattices(change, message: str) -> None:  # type: ignore[no-untyped-def]
    graph = networkx.MultiDiGraph()
    graph.add_edge(0, 1, word="a")
    graph.nodes[1]["final"] = 0.0
    change(graph)
    with pytest.raises(SpaceError, match=message):
        from_networkx(graph)


def test_undirected_graphs() -> None:
    with pytest.raises(SpaceError, match="undirected"):
        from_networkx(networkx.Graph())


@given(small_forests(), st.booleans())
def test_forests_come_back(forest: Forest, named: bool) -> None:
    if named:
        forest = Forest(
            **{name: getattr(forest, name) for name in (
                "vocabulary", "head", "tail", "tail_offset", "symbol", "symbol_offset", "score",
                "num_nodes", "root", "features", "feature_names", "id",
            )},
            categories=[f"X{node}" for node in range(forest.num_nodes)],
            spans=np.array([(node, node + 2) for node in range(forest.num_nodes)]),
            source="die Katze",
            metadata={"beam": 7},
        )  # fmt: skip
    graph = to_networkx(forest)
    assert networkx.is_directed_acyclic_graph(graph)
    assert networkx.is_bipartite(graph)
    assert len(graph) == forest.num_nodes + forest.num_edges
    assert graph.number_of_edges() == forest.num_edges + len(forest.tail)
    found = from_networkx(graph)
    assert isinstance(found, Forest)
    assert list(found.derivations()) == list(forest.derivations())
    assert (found.categories, found.about) == (forest.categories, forest.about)
    assert np.array_equal(found.spans, forest.spans) if named else found.spans is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda graph: graph.nodes["edge", 1].pop("side"), "has no side and 1 heads"),
        (lambda graph: graph.remove_edge(("edge", 1), 1), "has a side and 0 heads"),
        (lambda graph: graph.graph.update(root=9), "root 9 is no node"),
        (lambda graph: graph.nodes[1].update(span=(0, 1)), "1 of 2 nodes have a span"),
        (lambda graph: graph.nodes["edge", 1].update(side=(0, 1)), "each of its 1 tails once"),
    ],
)
def test_graphs_that_are_no_forests(change, message: str) -> None:  # type: ignore[no-untyped-def]
    graph = to_networkx(Forest.from_edges([(0, [], ["cat"]), (1, [0], ["the", 0])]))
    change(graph)
    with pytest.raises(SpaceError, match=message):
        from_networkx(graph)
