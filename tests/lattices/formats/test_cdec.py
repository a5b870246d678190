"""Forests of cdec: JSON with repeated keys."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from lattices.errors import FormatError, OptionError
from lattices.formats import LossWarning, read, write
from lattices.formats.forests.cdec import FORMAT
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

TINY = """\
{"rules":[1,"[X] ||| [X] a ||| [1] a",2,"[X] ||| [X] A ||| [1] A",3,"[X] ||| [X] b ||| [1] b",\
4,"[X] ||| [X] B' ||| [1] B'",5,"[X] ||| |||"],
"features":["f1","f2"],
"edges":[{"tail":null,"feats":[],"rule":5}],"node":{"in_edges":[0]},
"edges":[{"tail":[0],"feats":[0,-0.2],"rule":1},{"tail":[0],"feats":[0,-0.6],"rule":2}],\
"node":{"in_edges":[1,2]},
"edges":[{"tail":[1],"feats":[0,-0.1],"rule":3},{"tail":[1],"feats":[1,-0.9],"rule":4}],\
"node":{"in_edges":[3,4]}}
"""


def test_laws() -> None:
    check_format(FORMAT)


def test_a_lattice_of_cdec() -> None:
    forest = parsed(FORMAT, TINY)
    assert (forest.num_nodes, forest.root, forest.feature_names) == (3, 2, ("f1", "f2"))
    assert (forest.categories, forest.spans) == ((), None)
    assert derived(forest) == {
        (("a", "b"), 0.0, frozenset({("f1", -0.3)})): 1,
        (("a", "B'"), 0.0, frozenset({("f1", -0.2), ("f2", -0.9)})): 1,
        (("A", "b"), 0.0, frozenset({("f1", -0.7)})): 1,
        (("A", "B'"), 0.0, frozenset({("f1", -0.6), ("f2", -0.9)})): 1,
    }
    found = sentences(parsed(FORMAT, TINY, weights={"f1": 1.0, "f2": 2.0}))
    assert found["A", "B'"] == [pytest.approx(-2.4)]


def one_edge(rule: str = "", node: str = "", tail: str = "[0,0]", **more: str) -> str:
    """Return a forest whose root has one edge, with the node 0 twice below it."""
    extra = "".join(f',"{key}":{value}' for key, value in more.items())
    rule = rule or '"[S] ||| [X,1] [X,2] ||| [2] - [1]"'
    return (
        '{"is_sorted":false,"edges":[{"tail":[],"rule":"[X] ||| x ||| y ||| q=1"}],'
        '"node":{"in_edges":[0],"cat":"NN","node_hash":"00ff00ff00ff00ff"},'
        f'"edges":[{{"tail":{tail}{extra},"rule":{rule}}}],"node":{{"in_edges":[1]{node}}}}}'
    )


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("[S] ||| [X,1] [X,2] ||| [2] - [1]", "y - y"),
        ("[S] ||| [X] [X] ||| [X,1] [NP,2]", "y y"),
        ("[S] ||| a ||| [1] [sic] [ ] [] [2] [a,b] [1 1]", "y [sic] [ ] [] y [a,b] [1 1]"),
        ("[S] ||| ||| [1] \\u00a0 [2] ||| A=1;B=2", "y \u00a0 y"),
        ("[S] ||| a|||b ||| [2] |||| [1]", "y |||| y"),
    ],
)
def test_rules_in_the_edges_themselves(rule: str, words: str) -> None:
    forest = parsed(FORMAT, one_edge(f'"{rule}"'))
    assert [" ".join(found.tokens) for found in forest.derivations()] == [words]
    # cdec's default
    assert forest.categories == ("NN", "X")


def test_features_by_name_and_spans() -> None:
    text = one_edge(feats='["lm",-0.5,"x y",2]', spans="[0,3,-1,-1]")
    forest = parsed(FORMAT, text)
    assert forest.hypothesis([1, 0, 0]).features == {"lm": -0.5, "x y": 2.0}
    # the node below has none
    assert forest.spans is None
    both = text.replace('"tail":[],', '"tail":[],"spans":[2,3,-1,-1],')
    found = parsed(FORMAT, both).spans
    assert found is not None
    assert found.tolist() == [[2, 3], [0, 3]]
    for odd in ("[-1,-1,-1,-1]", "[3,2,0,0]", "[17392,-31012,4,1]", "[]", "null"):
        assert parsed(FORMAT, both.replace("[0,3,-1,-1]", odd)).spans is None


def test_edges_are_numbered_through_the_file() -> None:
    text = TINY.replace('"in_edges":[1,2]', '"in_edges":[4,1]').replace("[3,4]", "[3,2]")
    text = text.replace('[{"tail":[1],"feats":[1,-0.9]', '[{"tail":[0],"feats":[1,-0.9]')
    moved = text.replace(',{"tail":[1],"feats":[1,-0.9]', ',{"tail":[0],"feats":[1,-0.9]').replace(
        '{"tail":[0],"feats":[0,-0.6]', '{"tail":[1],"feats":[0,-0.6]'
    )
    forest = parsed(FORMAT, moved)
    # the order of edges is that of the list
    assert [" ".join(found.tokens) for found in forest.derivations()] == [
        "B' b", "a b", "B' A", "a A",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", "an empty forest: the decoder has found no derivation"),
        ("[]", "expected one object, not list"),
        ('{"rules":[]}', "a forest without nodes"),
        ('{"x":1}', "'x', expected rules, features, edges or node"),
        (TINY.replace('"rules":[1,', '"rules":['), "9 entries in 'rules'"),
        (TINY.replace('[1,"[X]', '["1","[X]'), "'1' for the number of a rule"),
        (TINY.replace('2,"[X]', '1,"[X]'), "two rules have one number"),
        (TINY.replace('"rule":4', '"rule":9'), "the rule 9, which is not among the rules"),
        (TINY.replace(',"rule":4', ""), "None for the rule of an edge"),
        (TINY.replace('"rule":4', '"rule":4.0'), "4.0 for the rule of an edge"),
        (TINY.replace('"rule":4', '"rule":true'), "True for the rule of an edge"),
        (TINY.replace("||| [1] B'", ""), "expected a rule, 'category ||| source ||| target'"),
        (TINY.replace("[1] B'", "[2] B'"), r"'\[2\]' in the rule of an edge that has 1 tails"),
        (TINY.replace("[1] B'", "[0] B'"), r"'\[0\]' in the rule"),
        (TINY.replace("[1] B'", "B'"), "each of its 1 tails once"),
        (TINY.replace("[1] B'", "[1] [1]"), "each of its 1 tails once"),
        (TINY.replace("[1] B'", f"[{'1' * 5000}]"), r"'\[1+ in the rule"),
        (TINY.replace('"tail":[1]', '"tail":[2]'), "cycle"),
        (TINY.replace('"tail":[1]', '"tail":[3]'), "a tail that is none of 3 nodes"),
        (TINY.replace('"tail":[1]', '"tail":[-1]'), "a tail that is none of 3 nodes"),
        (TINY.replace('"tail":[1]', '"tail":[0.5]'), "0.5 for a tail"),
        (TINY.replace('"tail":[1]', '"tail":1'), "1 for 'tail', expected a list"),
        (TINY.replace("[3,4]", "[3]"), "must have each of the 5 edges once"),
        (TINY.replace("[3,4]", "[3,3]"), "must have each of the 5 edges once"),
        (TINY.replace("[3,4]", "[3,5]"), "must have each of the 5 edges once"),
        (TINY.replace("[3,4]", "[3,null]"), "None for the number of an edge"),
        (TINY.replace('"in_edges":[3,4]', ""), "None for 'in_edges', expected a list"),
        (TINY.replace("[0,-0.1]", "[2,-0.1]"), "feature 2, expected one of 2"),
        (TINY.replace("[0,-0.1]", "[-1,-0.1]"), "feature -1, expected one of 2"),
        (TINY.replace("[0,-0.1]", "[0.0,-0.1]"), "0.0 for a feature"),
        (TINY.replace("[0,-0.1]", "[0]"), "features and values in turn"),
        (TINY.replace("[0,-0.1]", '[0,"1"]'), "'1' among the features"),
        (TINY.replace("[0,-0.1]", "[0,1e999]"), "not finite"),
        (TINY.replace("[0,-0.1]", "[0,NaN]"), "NaN is no JSON number"),
        (TINY.replace("[0,-0.1]", "[0,1,0,2]"), "a feature twice in one edge"),
        (TINY.replace("[0,-0.1]", '[0,1,"f1",2]'), "a feature twice in one edge"),
        (TINY.replace('"f2"', '"f1"'), "'features' are not different strings"),
        (TINY.replace('"tail":null', '"tail":null,"tail":[]'), "a key twice in an edge"),
        (TINY.replace('"node":{"in_edges":[0]}', '"node":[]'), r"\[\], expected an object"),
        (TINY.replace('[{"tail":null', '[[],{"tail":null'), r"\[\] for an edge, expected tuple"),
        (one_edge(node=',"cat":1'), "1 for the category of a node"),
        (one_edge(tail="[]"), "in the rule of an edge that has 0 tails"),
        ("[" * 100_000, "too many"),
        (TINY[:300], "not JSON"),
        (TINY.replace("-0.1", "-" + "1" * 5000), "digits|expected a number|large"),
    ],
)  # fmt: skip
def test_bad_files_say_what_is_wrong(text: str, expected: str) -> None:
    with pytest.raises(FormatError, match=rf"^f:\d: .*(?:{expected})"):
        parsed(FORMAT, text)


def test_the_line_of_what_is_no_json() -> None:
    with pytest.raises(FormatError, match=r"^f:3: not JSON: .* column"):
        parsed(FORMAT, TINY.replace('"edges"', "edges", 1))


def test_what_is_written() -> None:
    edges = [(0, [], ["house"], -0.5, {"lm": 1.0}), (1, [0, 0], [1, "of", 0], 0.0)]
    forest = Forest.from_edges(edges, id="x", categories=["N P", "S"], spans=[[1, 2], [0, 2]])
    assert written(FORMAT, forest).decode() == (
        '{"rules":[1,"[X] ||| ||| house",2,"[S] ||| [X,1] [X,2] ||| [2] of [1]"],'
        '"features":["lm","score"],'
        '"edges":[{"tail":[],"spans":[1,2,-1,-1],"feats":[0,1.0,1,-0.5],"rule":1}],'
        '"node":{"in_edges":[0],"cat":"N P"},'
        '"edges":[{"tail":[0,0],"spans":[0,2,-1,-1],"feats":[1,0.0],"rule":2}],'
        '"node":{"in_edges":[1],"cat":"S"}}\n'
    )
    assert parts(again(FORMAT, forest)) | {"id": "x"} == parts(forest)


@given(small_forests())
def test_forests_come_back(forest: Forest) -> None:
    came, expected = parts(again(FORMAT, forest)), parts(forest)
    assert came | {"id": forest.id} == expected


@given(small_forests(rich=True))
def test_what_is_lost_is_no_derivation(forest: Forest) -> None:
    assert derived(again(FORMAT, forest, lossy=True)) == derived(forest)


def test_losses(tmp_path: Path) -> None:
    about: dict[str, Any] = {"source": "s", "references": ("r",), "metadata": {"m": 1}}
    edges = [(0, [], ["new york"], -1.0, {"score": 3.0}), (1, [0], [0], 0.0)]
    forest = Forest.from_edges(edges, root=0, id="x", **about)
    with pytest.raises(FormatError, match="cdec-forest cannot hold the source texts"):
        write(tmp_path / "x.json", [forest], FORMAT)
    with pytest.warns(LossWarning) as caught:
        write(tmp_path / "x.json", [forest], FORMAT, lossy=True)
    for lost in ("source texts", "references", "metadata", "words with blanks in them",
                 "nodes behind the root", "features 'score'"):  # fmt: skip
        assert lost in str(caught[0].message)
    (found,) = read(tmp_path / "x.json", FORMAT)
    assert isinstance(found, Forest)
    assert derived(found) == {(("new", "york"), -1.0, frozenset()): 1}


@pytest.mark.parametrize("word", ["[1]", "[X,12]", "|||"])
def test_words_that_cannot_be_written(word: str) -> None:
    with pytest.raises(FormatError, match=re.escape(f"the word {word!r} of segment 'x' means")):
        written(FORMAT, Forest.from_edges([(0, [], [word])], id="x"), lossy=True)


def test_scores_may_be_left_out() -> None:
    forest = sample_forests()[0]
    assert not again(FORMAT, forest, lossy=False).feature_names
    assert b"score" not in written(FORMAT, forest, scores="none")
    with pytest.raises(OptionError, match="scores is one of feature, none, not 'all'"):
        written(FORMAT, forest, scores="all")


def test_deep_forests() -> None:
    forest = chain(20_000)
    assert parts(again(FORMAT, forest)) | {"id": "deep"} == parts(forest)


def test_sniffing(shared_data: Path) -> None:
    assert claims(TINY.encode()) == {"cdec-forest"}
    assert claims(b'{"edges":[],"node":{"in_edges":[]}}') == {"cdec-forest"}
    for forest in sample_forests():
        assert claims(written(FORMAT, forest)) == {"cdec-forest"}
    for name in ("0", "urdu", "small", "perro"):
        with gzip.open(shared_data / "cdec-forests" / f"{name}.json.gz") as file:
            assert claims(file.read(4096)) == {"cdec-forest"}


def test_a_toy_of_cdec(shared_data: Path) -> None:
    (forest,) = real_forests(shared_data, "perro")
    assert forest.id == "perro"
    assert {" ".join(tokens) for tokens in sentences(forest)} == {
        "that dog ugly",
        "that ugly dog",
        "ugly that dog",
    }
    assert forest.categories[forest.root] == "Goal"
    assert forest.spans is not None
    assert forest.spans[forest.root].tolist() == [0, 3]


@pytest.mark.parametrize(
    ("name", "nodes", "edges"),
    [("0", 350, 1026), ("urdu", 3450, 23_174), ("small", 36, 86), ("perro", 10, 21)],
)
def test_real_forests(shared_data: Path, tmp_path: Path, name: str, nodes: int, edges: int) -> None:
    (forest,) = real_forests(shared_data, name)
    assert (forest.num_nodes, forest.num_edges) == (nodes, edges)
    write(tmp_path / f"{name}.json", [forest], FORMAT)
    (came,) = read(tmp_path / f"{name}.json", FORMAT)
    assert isinstance(came, Forest)
    assert parts(came) == parts(forest)


def test_forests_of_another_decoder(shared_data: Path, tmp_path: Path) -> None:
    forests = real_forests(shared_data, "d10")[:40]
    with pytest.warns(LossWarning, match="source texts"):
        write(tmp_path, forests, FORMAT, lossy=True)
    found = {forest.id: forest for forest in read(tmp_path, FORMAT)}
    for forest in forests:
        came = found[forest.id]
        assert isinstance(came, Forest)
        kept = {"source": "", "references": [], "metadata": {}}
        assert parts(came) == parts(forest) | kept
