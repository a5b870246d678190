"""Forests of Travatar: JSON lines, from the top down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from lattices.errors import FormatError, OptionError
from lattices.formats import LossWarning, read, write
from lattices.formats.forests.travatar import FORMAT
from lattices.spaces import Forest
from lattices.testing import check_format, sample_forests, sentences
from tests.lattices.algorithms.comparing import parts
from tests.lattices.forests import (
    again,
    chain,
    claims,
    derived,
    parsed,
    real_forests,
    small_forests,
    written,
)

ONE: dict[str, Any] = {
    "nodes": [
        {"id": 0, "sym": "ROOT", "span": [0, 2], "trg_span": [0, 2], "viterbi": -3.5},
        {"id": 1, "sym": "VP", "span": [0, 2], "frontier": "n"},
        {"id": 2, "sym": None, "span": [1, 2]},
    ],
    "edges": [
        {"id": 0, "head": 0, "tails": [1], "trg": [{"label": -1, "words": [-1, "."]}]},
        {
            "id": 1, "head": 1, "tails": [2, 2], "score": -0.5, "src_str": "x",
            "trg": [{"label": 3, "words": [-2, "und", -1]}, {"words": [-1, -2]}],
            "features": {"lm": -1.5, "p": 2},
        },
        {"id": 2, "head": 2, "trg": [{"words": ["-1", "7"]}, {"words": []}], "score": -1},
    ],
    "words": ["das", "haus"],
}  # fmt: skip


def changed(**changes: Any) -> str:
    return json.dumps({**ONE, **changes})


def edge(**changes: Any) -> str:
    return changed(nodes=ONE["nodes"][2:], edges=[{**ONE["edges"][2], **changes}])


def test_laws() -> None:
    check_format(FORMAT)


def test_a_forest() -> None:
    forest = parsed(FORMAT, json.dumps(ONE))
    assert sentences(forest) == {("-1", "7", "und", "-1", "7", "."): [-2.5]}
    assert forest.hypothesis([2, 1, 0, 0]).features == {"lm": -1.5, "p": 2.0}
    assert (forest.root, forest.source) == (2, "das haus")
    assert forest.categories == ("", "VP", "ROOT")
    assert forest.spans is not None
    assert forest.spans.tolist() == [[1, 2], [0, 2], [0, 2]]
    weighted = parsed(FORMAT, json.dumps(ONE), weights={"lm": 1.0, "p": 1.0})
    assert weighted.score.tolist() == [0.0, 0.5, 0.0]
    assert weighted.feature_names == ("lm", "p")


def test_several_targets() -> None:
    edges = [{**each, "trg": each["trg"] * 2} if not each["id"] else each for each in ONE["edges"]]
    text = changed(edges=edges)
    assert set(sentences(parsed(FORMAT, text, target="1"))) == {(".",)}
    for odd in ("x", -1, None):
        with pytest.raises(OptionError, match="target is a whole number from 0 on, not"):
            parsed(FORMAT, text, target=odd)
    with pytest.raises(FormatError, match="an edge without a target side"):
        parsed(FORMAT, text, target=2)


def test_a_feature_may_be_called_score() -> None:
    forest = parsed(FORMAT, edge(features={"score": 3.0}))
    assert (forest.score.tolist(), forest.feature_names) == ([-1.0], ("score",))
    assert parsed(FORMAT, edge(features={"score": 3.0}), weights={"score": 2.0}).score[0] == 6.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[]", "a line holds one object, not list"),
        ("{}", "no 'nodes' in the object"),
        (changed(nodes=[]), "an empty forest: the decoder has found no derivation"),
        (changed(nodes=[1]), "1 for a node"),
        (changed(nodes=[{"id": 0}, {"id": 0}]), "two nodes have one id"),
        (changed(nodes=[{"id": []}]), r"\[\] for the id of a node"),
        (changed(nodes=[{"id": 0, "sym": 1}]), "1 for the symbol of a node|but no node"),
        (changed(edges=None), "None for 'edges'"),
        (changed(edges=[None]), "None for an edge"),
        (changed(words="das haus"), "'das haus' for 'words'"),
        (changed(words=[1]), "1 for a word of the source"),
        (changed(nodes=ONE["nodes"][1:]), "no node has this id"),
        (edge(head=None), "None for a head"),
        (edge(head=7), "head 7, but no node has this id"),
        (edge(tails=[7], trg=[{"words": [-1]}]), "tail 7, but no node has this id"),
        (edge(tails=[2], trg=[{"words": [-1]}]), "cycle"),
        (edge(tails=1), "1 for the tails of an edge"),
        (edge(trg=None), "an edge without a target side"),
        (edge(trg=[]), "an edge without a target side"),
        (edge(trg=["a"]), "'a' for a target side"),
        (edge(trg=[{"words": "a"}]), "for a target side, expected an object with 'words'"),
        (edge(trg=[{"words": [""]}]), "epsilon"),
        (edge(trg=[{"words": [-1]}]), "-1 in a target side"),
        (edge(trg=[{"words": [0]}]), "0 in a target side, expected -1 for the first tail"),
        (edge(trg=[{"words": [-(2**40)]}]), "-1099511627776 in a target side"),
        (edge(trg=[{"words": [0.5]}]), "0.5 for a part of a target side"),
        (edge(score="1"), "'1' among the scores"),
        (edge(score=float("inf")), "Infinity is no JSON number"),
        (edge(features=[1]), "for features"),
        (changed(nodes=[{"id": 2, "span": [1]}], edges=ONE["edges"][2:]), "not two numbers"),
        (changed(nodes=[{"id": 2, "span": 1}], edges=ONE["edges"][2:]), "1 for the span"),
        (edge() + ",", "not JSON"),
    ],
)  # fmt: skip
def test_bad_lines_say_what_is_wrong(text: str, expected: str) -> None:
    with pytest.raises(FormatError, match=f"^f:1: .*(?:{expected})"):
        parsed(FORMAT, text)


def test_spans_that_are_not_known() -> None:
    for span in ([-1, -1], [2, 1]):
        text = changed(nodes=[{"id": 2, "sym": "X", "span": span}], edges=ONE["edges"][2:])
        assert parsed(FORMAT, text).spans is None
    assert parsed(FORMAT, changed(nodes=[{"id": 2}], edges=ONE["edges"][2:])).categories == ()


def test_what_is_written() -> None:
    edges = [(0, [], ["house"], -0.5, {"lm": 1.0}), (1, [0, 0], [1, "of", 0], 0.0)]
    forest = Forest.from_edges(
        edges, id="x", categories=["N", "S"], spans=[[1, 2], [0, 2]], source="das haus"
    )
    assert json.loads(written(FORMAT, forest)) == {
        "nodes": [
            {"id": 0, "sym": "S", "span": [0, 2]},
            {"id": 1, "sym": "N", "span": [1, 2]},
        ],
        "edges": [
            {"id": 0, "head": 1, "trg": [{"label": -1, "words": ["house"]}],
             "features": {"lm": 1.0}, "score": -0.5},
            {"id": 1, "head": 0, "tails": [1, 1],
             "trg": [{"label": -1, "words": [-2, "of", -1]}]},
        ],
        "words": ["das", "haus"],
        "id": "x",
    }  # fmt: skip
    assert parts(again(FORMAT, forest)) == parts(forest)


@given(small_forests())
def test_forests_come_back(forest: Forest) -> None:
    came, expected = parts(again(FORMAT, forest)), parts(forest)
    used = {name for row in expected["features"] for name in row}
    # the names come as they are met
    assert set(came.pop("names")) >= used
    assert set(expected.pop("names")) >= used
    assert came == expected


@given(small_forests(rich=True))
def test_what_is_lost_is_no_derivation(forest: Forest) -> None:
    came = again(FORMAT, forest, lossy=True)
    assert derived(came) == derived(forest)
    assert came.num_nodes == forest.num_nodes


def test_losses(tmp_path: Path) -> None:
    about: dict[str, Any] = {"source": "a  b", "references": ("r",), "metadata": {"m": 1}}
    forest = Forest.from_edges([(0, [], ["new york", "|||", "[1]"])], id="x", **about)
    with pytest.warns(LossWarning) as caught:
        write(tmp_path / "x.travatar", [forest], FORMAT, lossy=True)
    for lost in ("blanks of source texts", "references", "metadata"):
        assert lost in str(caught[0].message)
    (found,) = read(tmp_path / "x.travatar", FORMAT)
    assert isinstance(found, Forest)
    assert set(sentences(found)) == {("new york", "|||", "[1]")}


def test_several_lines(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(f"{json.dumps(ONE)}\n\n{{}}\n{json.dumps(ONE)}\n")
    problems: list[str] = []
    found = list(read(tmp_path / "x", FORMAT, on_error=lambda one: problems.append(str(one))))
    assert [forest.id for forest in found] == ["0", "2"]
    assert problems == [f"{tmp_path / 'x'}:3: no 'nodes' in the object"]


def test_deep_forests() -> None:
    forest = chain(20_000)
    assert parts(again(FORMAT, forest)) == parts(forest)


def test_sniffing() -> None:
    assert claims(json.dumps(ONE).encode()) == {"travatar"}
    for forest in sample_forests():
        assert claims(written(FORMAT, forest)) == {"travatar"}


@pytest.mark.parametrize("name", ["d10", "0", "small", "perro"])
def test_real_forests_come_back(shared_data: Path, tmp_path: Path, name: str) -> None:
    forests = real_forests(shared_data, name)[:40]
    bare = [forest.replaced(references=(), metadata={}) for forest in forests]
    write(tmp_path / "x.travatar", bare, FORMAT)
    for one, other in zip(read(tmp_path / "x.travatar", FORMAT), bare, strict=True):
        assert isinstance(one, Forest)
        same, expected = parts(one), parts(other)
        # of the names, those that are used
        assert set(same.pop("names")) <= set(expected.pop("names"))
        assert same == expected
