"""Pictures: well formed, every arc drawn once, layers in order, nothing over anything else."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lattices import Forest, Lattice, OptionError, SpaceError, best, posteriors
from lattices.drawing import Arc, Graph, Node, draw, html_table
from lattices.drawing.graph import READABLE, _Drawing
from lattices.drawing.layout import PASSING, Size, find_turned_arcs, layers, place_nodes
from lattices.drawing.markup import cell, escape_text
from lattices.spaces.pictures import lattice_graph, lattice_path
from tests.strategies import small_forests, small_lattices

HOSTILE = ["</text><script>alert(1)</script>", '"><img src=x>', "a&b", "\x00\x1b[31m", "\ud800",
           "\u202eabc", "x" * 500, "\ufffe", "]]>", "猫" * 40, "--><!--"]  # fmt: skip


def parsed(picture):
    return ElementTree.fromstring(str(picture))


def classed(root, name):
    return [one for one in root.iter() if name in (one.get("class") or "").split()]


def words_of(root):
    """Return what is written on the arcs, whole or cut."""
    texts = [one for arc in classed(root, "arc") for one in arc.iter() if one.tag.endswith("text")]
    return ["".join(text.itertext()).split(" ")[0] for text in texts]


TOY = Lattice.from_arcs(
    [(0, 1, "a", -0.1), (0, 1, "the", -0.2), (1, 2, "cat", -0.5), (0, 2, "", -3.0)],
    finals={2: -0.5},
    id="toy",
)


@given(small_lattices())
@settings(max_examples=60)
def test_every_arc_is_drawn_once(lattice):
    root = parsed(lattice.plot(posteriors=np.linspace(0, 1, lattice.num_arcs)))
    drawn = sorted(int(one.get("data-arc")) for one in classed(root, "arc"))
    assert drawn == list(range(lattice.num_arcs))
    shown = sorted(int(one.get("data-node")) for one in classed(root, "state"))
    assert shown == list(range(lattice.num_states))
    assert len(classed(root, "line")) == lattice.num_arcs + 1  # and the way in


@given(small_forests())
@settings(max_examples=60)
def test_every_edge_is_drawn_once(forest):
    root = parsed(forest.plot())
    drawn = sorted(int(one.get("data-arc")) for one in classed(root, "arc"))
    assert drawn == list(range(forest.num_edges))
    squares = [one for arc in classed(root, "arc") for one in classed(arc, "node")]
    assert len(squares) == forest.num_edges


graphs = st.integers(1, 12).flatmap(
    lambda count: st.tuples(
        st.just(count),
        st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=30),
    )
)


@given(graphs)
def test_layers_respect_the_order(graph):
    count, arcs = graph
    acyclic = [(min(arc), max(arc)) for arc in arcs if arc[0] != arc[1]]
    found = layers(count, acyclic)
    assert all(found[source] < found[target] for source, target in acyclic)
    assert min(found) == 0


@given(graphs)
def test_turned_arcs_leave_no_cycle(graph):
    count, arcs = graph
    turned = find_turned_arcs(count, arcs)
    left = [
        (target, source) if back else (source, target)
        for (source, target), back in zip(arcs, turned, strict=True)
        if source != target
    ]
    found = layers(count, left)
    assert all(found[source] < found[target] for source, target in left)
    assert not any(
        back for (source, target), back in zip(arcs, turned, strict=True) if source == target
    )


@given(graphs)
def test_an_acyclic_graph_is_not_turned(graph):
    count, arcs = graph
    acyclic = [(min(arc), max(arc)) for arc in arcs if arc[0] != arc[1]]
    assert not any(find_turned_arcs(count, acyclic))


@given(graphs)
def test_things_keep_their_distance(graph):
    """Nothing overlaps in a layer, passing points included, and layers follow one another."""
    count, arcs = graph
    acyclic = [(min(arc), max(arc)) for arc in arcs if arc[0] != arc[1]]
    sizes = [Size(5.0 + node, 8.0, 3.0 + node) for node in range(count)]
    depth = layers(count, acyclic)
    found = place_nodes(sizes, depth, [(*arc, 1.0) for arc in acyclic], across=10.0, between=2.0)
    rooms = {node: (depth[node], sizes[node]) for node in range(count)}
    for route in found.routes:
        for step, one in enumerate(route[1:-1], start=1):
            rooms[one] = depth[route[0]] + step, PASSING
    assert len(found.y) == len(rooms)
    for layer in set(depth):
        row = sorted((found.y[one], one) for one, (mine, _) in rooms.items() if mine == layer)
        for (y, one), (other_y, other) in pairwise(row):
            assert other_y - y >= rooms[one][1].below + 2.0 + rooms[other][1].above - 1e-6
    for end, begin in zip(found.right, found.left[1:], strict=False):
        assert begin - end >= 10.0 - 1e-6


def test_crossings_are_taken_out():
    """Two chains whose first order crosses."""
    arcs = [(0, 3), (1, 2), (3, 4), (2, 5)]
    found = place_nodes([Size(1, 1, 1)] * 6, layers(6, arcs), [(*arc, 1.0) for arc in arcs],
                  across=1.0, between=1.0)  # fmt: skip
    upper = [found.y[0] < found.y[1], found.y[3] < found.y[2], found.y[4] < found.y[5]]
    assert len(set(upper)) == 1


@given(small_lattices())
@settings(max_examples=40)
def test_labels_do_not_overlap(lattice):
    drawing = _Drawing(lattice_graph(lattice, {}))
    boxes = []
    for arc in range(lattice.num_arcs):
        x, y = drawing._label_place(arc)
        half = drawing._label_width(arc) / 2
        boxes.append((x - half, x + half, y - 7, y + 7))
    for state in range(lattice.num_states):
        boxes.append((drawing.x[state] - 10, drawing.x[state] + 10,
                      drawing.y[state] - 10, drawing.y[state] + 10))  # fmt: skip
    for number, (left, right, top, bottom) in enumerate(boxes):
        for other_left, other_right, other_top, other_bottom in boxes[:number]:
            assert (right <= other_left or other_right <= left
                    or bottom <= other_top or other_bottom <= top)  # fmt: skip


def test_paths_are_marked():
    root = parsed(TOY.plot(best=best(TOY), oracle="the cat"))
    marks = {
        one.get("data-arc"): [mark.get("class") for mark in classed(one, "mark")]
        for one in classed(root, "arc")
    }
    words = map(TOY.vocabulary.word, TOY.label.tolist())
    by_word = {word: marks[str(arc)] for arc, word in enumerate(words)}
    assert by_word["a"] == ["mark first"]
    assert by_word["the"] == ["mark second"]
    assert by_word["cat"] == ["mark first", "mark second"]
    assert by_word[""] == []
    assert {"1-best", "oracle"} <= {"".join(one.itertext()) for one in classed(root, "muted")}


def test_a_path_of_another_lattice_is_found_by_its_words():
    other = Lattice.from_arcs([(0, 1, "x"), (0, 2, "the"), (1, 3, "y"), (2, 3, "cat")], [3])
    hypothesis = other.hypothesis([1, 3])
    path = lattice_path(TOY, hypothesis)
    assert TOY.hypothesis(path).tokens == ("the", "cat")


@given(small_lattices())
@settings(max_examples=60)
def test_a_sentence_is_found_on_its_best_path(lattice):
    by_words = {}
    for path in lattice.paths():
        by_words[path.tokens] = max(by_words.get(path.tokens, -np.inf), path.score)
    for tokens, score in by_words.items():
        found = lattice.hypothesis(lattice_path(lattice, tokens))
        assert found.tokens == tokens
        assert found.score == pytest.approx(score)


def test_what_is_not_there_cannot_be_marked():
    with pytest.raises(SpaceError, match="'toy' has no path with the words 'no such thing'"):
        TOY.plot(oracle="no such thing")
    with pytest.raises(OptionError, match="int to point out, expected a hypothesis"):
        TOY.plot(best=3)
    with pytest.raises(OptionError, match="posteriors of shape"):
        TOY.plot(posteriors=[0.5])
    forest = Forest.from_edges([(0, [], ["a"]), (0, [], ["b"])], id="f")
    with pytest.raises(SpaceError, match="'a' is no derivation of forest 'f'"):
        forest.plot(best="a")


def test_posteriors_are_widths_and_labels():
    found = posteriors(TOY)
    root = parsed(TOY.plot(posteriors=found))
    widths = [float(one.get("stroke-width")) for one in classed(root, "line")
              if one.get("stroke-width")]  # fmt: skip
    assert np.argsort(widths).tolist() == np.argsort(found.arcs, kind="stable").tolist()
    assert f"{found.arcs[0]:.2f}" in str(TOY.plot(posteriors=found))
    assert "−0.1" in str(TOY.plot(scores=True))


@pytest.mark.parametrize("word", HOSTILE)
def test_hostile_words_stay_words(word):
    # a lone surrogate can be in an id, but in no word
    said = "a" if word == "\ud800" else word
    lattice = Lattice.from_arcs([(0, 1, said)], finals=[1], id=word)
    forest = Forest.from_edges([(0, [], [said])], id=word, categories=[word])
    for picture in (lattice.plot(best=[said]), forest.plot()):
        root = parsed(picture)
        known = {"svg", "style", "g", "title", "path", "rect", "text", "tspan"}
        assert {one.tag.rpartition("}")[2] for one in root.iter()} <= known
        assert not any(name.startswith("on") for one in root.iter() for name in one.attrib)
        str(picture).encode()
    markup = html_table([[cell(word, "insertion")]], [word], caption=word)
    assert "<script" not in markup
    assert "<img" not in markup
    ElementTree.fromstring(markup)


def test_long_words_are_cut_and_whole_in_the_tooltip():
    root = parsed(Lattice.from_arcs([(0, 1, "x" * 500)], finals=[1]).plot())
    assert words_of(root) == ["x" * 27 + "…"]
    notes = ["".join(one.itertext()) for one in root.iter() if one.tag.endswith("title")]
    assert any("x" * 500 in note for note in notes)


def test_notebooks_get_pictures_of_what_is_small():
    assert parsed(TOY._repr_svg_()) is not None
    large = Lattice.from_arcs([(0, 1, f"w{n}") for n in range(READABLE + 1)], finals=[1])
    assert large._repr_svg_() is None
    assert Forest.from_lattice(large)._repr_svg_() is None
    assert Forest.from_lattice(TOY)._repr_svg_().startswith("<svg")


def test_what_is_too_large_is_refused():
    arcs = [(n, n + 1, "a") for n in range(300)] + [(0, 300, "b")] * 100
    with pytest.raises(SpaceError, match="301 states, 400 arcs: too large to be drawn"):
        Lattice.from_arcs(arcs, finals=[300]).plot()


def test_a_state_without_arcs_and_a_lattice_of_nothing():
    root = parsed(Lattice.from_arcs([], finals=[0], states=2).plot(best=""))
    assert len(classed(root, "state")) == 2


def test_cycles_and_loops():
    nodes = [Node("0", initial=True), Node("1"), Node("2", final=True)]
    arcs = [Arc(0, (1,), "a"), Arc(1, (2,), "b"), Arc(2, (0,), "c"), Arc(1, (1,), "d"),
            Arc(1, (1,), "e")]  # fmt: skip
    graph = Graph(nodes, arcs)
    root = parsed(draw(graph))
    assert len(classed(root, "arc")) == len(classed(root, "head")) - 1 == 5
    drawing = _Drawing(graph)
    assert drawing.x[0] < drawing.x[1] < drawing.x[2]
    # loops are above their state, one above the other
    loops = [drawing._label_place(number) for number in (3, 4)]
    assert [x for x, _ in loops] == [drawing.x[1]] * 2
    assert loops[1][1] < loops[0][1] < drawing.y[1]


def test_pictures_are_the_same_each_time_and_saved(tmp_path):
    picture = TOY.plot(best="a cat")
    assert str(picture) == str(TOY.plot(best="a cat"))
    picture.save(tmp_path / "toy.svg")
    assert (tmp_path / "toy.svg").read_text() == str(picture) == picture._repr_svg_()


def test_both_colour_schemes_colour_the_same_things():
    style = re.search("<style>(.*?)</style>", str(TOY.plot()), re.DOTALL).group(1)
    light, dark = style.split("@media (prefers-color-scheme:dark)")
    coloured = re.compile(r"\.lattices-picture ([\w. ]+)\{[^}]*#")
    assert set(coloured.findall(light)) == set(coloured.findall(dark))


def test_escaped_text_has_nothing_that_xml_cannot_hold():
    every = "".join(map(chr, [*range(0x300), 0xD800, 0xDFFF, 0xFFFE, 0xFFFF, 0x10FFFF]))
    assert "".join(ElementTree.fromstring(f"<a>{escape_text(every)}</a>").itertext())
