"""Forests as JSON lines: complete, exact, and strict about what they hold."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lattices.errors import FormatError
from lattices.formats import LossWarning, read, write
from lattices.formats.json.lines import FORMAT
from lattices.spaces import Forest, Lattice
from lattices.spaces.base import SPARE
from lattices.testing import sample_forests
from tests.lattices.algorithms.comparing import parts
from tests.lattices.forests import (
    again,
    claims,
    parsed,
    real_forests,
    written,
)

ONE: dict[str, Any] = {
    "id": "7",
    "nodes": [{"id": 0, "cat": "X", "span": [1, 2]}, {"id": 1, "cat": "S", "span": [0, 2]}],
    "edges": [
        {"head": 0, "rhs": ["house"], "score": -0.5},
        {"head": 1, "tails": [0], "rhs": ["the", 0], "features": {"lm": -1.2}},
    ],
}


def test_a_forest() -> None:
    forest = parsed(FORMAT, json.dumps({**ONE, "src": "das haus", "refs": ["a house"], "hyp": 1}))
    assert parts(forest) == {
        "id": "7",
        "source": "das haus",
        "references": ["a house"],
        "metadata": {"hyp": 1},
        "names": ("lm",),
        "features": [{}, {"lm": -1.2}],
        "score": [-0.5, 0.0],
        "head": [0, 1],
        "tail": [0],
        "tail_offset": [0, 0, 1],
        "symbols": ["house", "the", -1],
        "symbol_offset": [0, 1, 3],
        "nodes": 2,
        "root": 1,
        "categories": ("X", "S"),
        "spans": [[1, 2], [0, 2]],
    }
    assert json.loads(written(FORMAT, forest)) == {
        "id": "7",
        "src": "das haus",
        "refs": ["a house"],
        "hyp": 1,
        "nodes": ONE["nodes"],
        "root": 1,
        "edges": [
            {"head": 0, "tails": [], "rhs": ["house"], "score": -0.5, "features": {}},
            {"head": 1, "tails": [0], "rhs": ["the", 0], "score": 0.0, "features": {"lm": -1.2}},
        ],
    }


def test_words_and_slots_are_told_by_type() -> None:
    edges = [(0, [], ["0"], 0.0), (1, [0], [0, "0", "-1"], 0.0)]
    forest = again(FORMAT, Forest.from_edges(edges, id="a"))
    assert [found.tokens for found in forest.derivations()] == [("0", "0", "-1")]


def test_nodes_may_be_named_by_any_numbers_and_in_any_order() -> None:
    fields = {
        "nodes": [{"id": 70}, {"id": -3}, {"id": 5}],
        "root": 70,
        "edges": [
            {"head": 70, "tails": [5, -3], "rhs": [1, 0]},
            {"head": 5, "rhs": ["a"]},
            {"head": -3, "rhs": ["b"]},
        ],
    }
    forest = parsed(FORMAT, json.dumps(fields))
    assert [found.text for found in forest.derivations()] == ["b a"]
    assert (
        parsed(
            FORMAT,
            json.dumps(
                {
                    **fields,
                    "nodes": [{}, {}],
                    "root": 0,
                    "edges": [
                        {"head": 0, "tails": [1], "rhs": [0]},
                        {"head": 1, "rhs": ["c"]},
                    ],
                }
            ),
        ).num_nodes
        == 2
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"arcs": []}, "both 'arcs' and 'edges' in one object"),
        ({"nbest": []}, "both 'nbest' and 'edges' in one object"),
        ({"nodes": None}, "None for 'nodes', expected a list, or how many there are"),
        ({"nodes": True}, "True for 'nodes'"),
        ({"nodes": 0}, "0 nodes for 2 edges"),
        ({"nodes": 10**9}, "1000000000 nodes for 2 edges"),
        ({"nodes": [1, 2]}, "1 for a node, expected dict"),
        ({"nodes": [{"id": 0}, {"id": 0}]}, "two nodes have one id"),
        ({"nodes": [{"id": 0}, {"id": "1"}]}, "'1' for the id of a node"),
        ({"nodes": [{"cat": "X"}, {}]}, "'cat' of 1 of 2 nodes, expected all or none"),
        ({"nodes": [{"cat": 1}, {"cat": 1}]}, "1 for the category of a node"),
        ({"nodes": [{"span": [0]}, {"span": [0, 1]}]}, r"\[0\] for the span of a node"),
        ({"nodes": [{"span": [0, 2**31]}, {"span": [0, 1]}]}, "a span that no source has"),
        ({"nodes": [{"span": [0, 0.5]}, {"span": [0, 1]}]}, "0.5 for an end of a span"),
        ({"nodes": 1}, "head 1, expected one of 1 nodes"),
        ({"nodes": [{"id": 0}, {"id": 2}]}, "head 1, but no node has this id"),
        ({"root": 2}, "root 2, expected one of 2 nodes"),
        ({"root": "1"}, "'1' for 'root', expected int"),
        ({"edges": {}}, r"\{\} for 'edges', expected list"),
        ({"edges": [[0, [], "a"]]}, "for an edge, expected dict"),
        ({"edges": []}, "no derivation of the root"),
        ({"edges": [{"rhs": []}]}, "an edge without 'head'"),
        ({"edges": [{"head": 1}]}, "an edge without 'rhs'"),
        ({"edges": [{"head": True, "rhs": []}]}, "True for a head"),
        ({"edges": [{"head": 1, "rhs": "a"}]}, "'a' for the rhs of an edge"),
        ({"edges": [{"head": 1, "rhs": [None]}]}, "None for a part of an rhs"),
        ({"edges": [{"head": 1, "rhs": [True]}]}, "True for a part of an rhs"),
        ({"edges": [{"head": 1, "rhs": [""]}]}, "epsilon"),
        ({"edges": [{"head": 1, "rhs": [0]}]}, "0 in an rhs, expected an index into the tails"),
        ({"edges": [{"head": 1, "tails": [0], "rhs": [-1]}]}, "-1 in an rhs"),
        ({"edges": [{"head": 1, "tails": [0], "rhs": [2**40]}]}, "1099511627776 in an rhs"),
        ({"edges": [{"head": 1, "tails": [0], "rhs": []}]}, "each of its 1 tails once"),
        ({"edges": [{"head": 1, "tails": [0], "rhs": [0, 0]}]}, "each of its 1 tails once"),
        ({"edges": [{"head": 1, "tails": 0, "rhs": []}]}, "0 for the tails of an edge"),
        ({"edges": [{"head": 1, "tails": [2**40], "rhs": [0]}]}, "tail 1099511627776, expected"),
        ({"edges": [{"head": 1, "tails": [1], "rhs": [0]}]}, "cycle"),
        ({"edges": [{"head": 1, "tails": [0], "rhs": [0]}]}, "no derivation"),
        ({"edges": [{"head": 1, "rhs": [], "score": "1"}]}, "'1' among the scores of edges"),
        ({"edges": [{"head": 1, "rhs": [], "score": 1e400}]}, "Infinity is no JSON number"),
        ({"edges": [{"head": 1, "rhs": [], "features": [1]}]}, r"\[1\] for features"),
    ],
)  # fmt: skip
def test_bad_forests_say_what_is_wrong(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(FormatError, match=f"^f:1: .*(?:{expected})"):
        parsed(FORMAT, json.dumps({**ONE, **changes}))


def test_the_most_nodes_are_taken() -> None:
    edge = {"head": SPARE, "rhs": []}
    assert parsed(FORMAT, json.dumps({"nodes": SPARE + 1, "edges": [edge]})).root


def test_metadata_that_would_mean_something_is_a_loss(tmp_path: Path) -> None:
    forest = sample_forests()[1].replaced(metadata={"root": 3, "states": 4})
    with pytest.raises(FormatError, match="cannot hold the metadata 'root'"):
        write(tmp_path / "x.jsonl", [forest], FORMAT)
    with pytest.warns(LossWarning, match="metadata 'root'"):
        write(tmp_path / "x.jsonl", [forest], FORMAT, lossy=True)
    (found,) = read(tmp_path / "x.jsonl", FORMAT)
    assert found.metadata == {"states": 4}
    lattice = Lattice.from_arcs([], [0], id="a", metadata={"edges": 1, "root": 2})
    with pytest.warns(LossWarning, match="metadata 'edges'"):
        write(tmp_path / "x.jsonl", [lattice], FORMAT, lossy=True)
    (one,) = read(tmp_path / "x.jsonl", FORMAT)
    assert one.metadata == {"root": 2}


def test_a_forest_is_no_reference() -> None:
    with pytest.raises(FormatError, match="no 'arcs'"):
        parsed(FORMAT, json.dumps({**ONE, "refs": [ONE]}))


def test_sniffing() -> None:
    assert claims(written(FORMAT, sample_forests()[0])) == {"jsonl"}
    assert claims(json.dumps(ONE).encode()) == {"jsonl"}
    for first in ({"nodes": ONE["nodes"]}, {"nodes": 2}, {"edges": ONE["edges"]}):
        assert claims(json.dumps({**first, **ONE}).encode()) == {"jsonl"}


@pytest.mark.parametrize("name", ["d10", "d50"])
def test_real_forests_score_as_their_decoder_said(shared_data: Path, name: str) -> None:
    lines = (shared_data / "multi30k-deen" / "weights.hiero.de-en").read_text().splitlines()
    weights = {feature: float(value) for feature, value in map(str.split, lines)}
    forests = real_forests(shared_data, name)
    assert len(forests) == 150
    other_words = 0
    for forest in forests:
        # single precision on the decoder's side
        np.testing.assert_allclose(
            forest.reweighted(weights).score, forest.score, rtol=0, atol=5e-6
        )
        score, words = best_derivation(forest)
        assert score == pytest.approx(forest.metadata["hyp_score"], abs=1e-5)
        other_words += words != forest.metadata["hyp"].split()
        assert forest.categories[forest.root] == "GOAL"
        assert forest.spans is not None
        assert forest.spans[forest.root].tolist() == [0, len(forest.source.split())]
    # two sentences of one score, of which the decoder has taken the other
    assert other_words == 1


def best_derivation(forest: Forest) -> tuple[float, list[str]]:
    """Return the best score and its words, from the bottom up in plain Python."""
    vocabulary = ["", *forest.vocabulary]
    best: dict[int, tuple[float, list[str]]] = {}
    for edge, head in enumerate(forest.head.tolist()):
        tails = forest.tail[forest.tail_offset[edge] : forest.tail_offset[edge + 1]].tolist()
        if not all(tail in best for tail in tails):
            continue
        score = float(forest.score[edge]) + sum(best[tail][0] for tail in tails)
        if head in best and best[head][0] >= score:
            continue
        words: list[str] = []
        for part in forest.symbol[forest.symbol_offset[edge] : forest.symbol_offset[edge + 1]]:
            words += [vocabulary[part]] if part > 0 else best[tails[-1 - part]][1]
        best[head] = score, words
    return best[forest.root]


def test_real_lines_come_back(shared_data: Path, tmp_path: Path) -> None:
    forests = real_forests(shared_data, "d10")
    write(tmp_path / "x.jsonl", forests, FORMAT)
    for one, other in zip(read(tmp_path / "x.jsonl", FORMAT), forests, strict=True):
        assert isinstance(one, Forest)
        assert parts(one) == parts(other)
    assert re.match(rb'\{"id":"test_2016', (tmp_path / "x.jsonl").read_bytes())
