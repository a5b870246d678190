"""Hypergraphs as text: the dialects of Moses, cdec and lazy, and the way back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given

from lattices.errors import FormatError, OptionError
from lattices.formats import LossWarning, read, write
from lattices.formats.forests.hypergraph import FORMAT
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

MOSES = """\
# target ||| features ||| source-covered
4 5
# node 0
1
<s> |||  ||| 0
# node 1
2
[0] in addition  ||| UnknownWordPenalty0=0.000000 WordPenalty0=-2.000000 ||| 1
[0] also ||| WordPenalty0=-1.000000 PP_=~a=b=0.5 ||| 1
# node 2
0
# node 3
2
[1] </s> |||  ||| 2
[2] </s> |||  ||| 2
"""
LAZY = "2 3\n1\nhouse ||| tm=-0.5\n2\nthe [0] ||| lm=-1.25\n[0] [0] |||\n"


def test_laws() -> None:
    check_format(FORMAT)


def test_moses() -> None:
    forest = parsed(FORMAT, MOSES)
    assert (forest.num_nodes, forest.num_edges, forest.root) == (4, 5, 3)
    assert forest.feature_names == ("UnknownWordPenalty0", "WordPenalty0", "PP_=~a=b")
    assert derived(forest) == {
        (("in", "addition"), 0.0, frozenset({("WordPenalty0", -2.0)})): 1,
        (("also",), 0.0, frozenset({("WordPenalty0", -1.0), ("PP_=~a=b", 0.5)})): 1,
    }
    kept = parsed(FORMAT, MOSES, tags="keep")
    assert set(sentences(kept)) == {("<s>", "in", "addition", "</s>"), ("<s>", "also", "</s>")}
    with pytest.raises(OptionError, match="tags is one of drop, keep, not 'no'"):
        parsed(FORMAT, MOSES, tags="no")


@pytest.mark.parametrize("header", ["", "# target ||| features\n", "# a\n\n# b\n"])
def test_without_header_and_third_field(header: str) -> None:
    forest = parsed(FORMAT, header + LAZY)
    assert set(sentences(forest)) == {("the", "house"), ("house", "house")}
    assert forest.tail.tolist() == [0, 0, 0]
    assert parsed(FORMAT, (header + LAZY).replace("\n", "\r\n")).feature_names == ("tm", "lm")


def test_target_graphs_of_cdec_have_their_features_joined() -> None:
    (found,) = parsed(FORMAT, "1 1\n1\nthat dog ||| EgivenF=0.4;FgivenE=-1\n").derivations()
    assert found.features == {"EgivenF": 0.4, "FgivenE": -1.0}
    forest = parsed(FORMAT, "1 1\n1\nthat dog ||| pp_;~,=1 lm=2\n")
    assert forest.feature_names == ("pp_;~,", "lm")


def test_weights(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    file.write_text("# tuned\n\nlm 2\ntm=-1.5\nother 7\n")
    assert sentences(parsed(FORMAT, LAZY)) == {("the", "house"): [0.0], ("house", "house"): [0.0]}
    expected = {("the", "house"): [-1.75], ("house", "house"): [1.5]}
    assert sentences(parsed(FORMAT, LAZY, weights=str(file))) == expected
    assert sentences(parsed(FORMAT, LAZY, weights={"lm": 2.0, "tm": -1.5})) == expected
    with pytest.raises(OptionError, match="no weight for the features tm"):
        parsed(FORMAT, LAZY, weights={"lm": 2.0})
    for text, problem in (
        ("lm", "expected a feature and its weight"),
        ("lm x", "expected a feature and its weight"),
        ("lm nan", "expected a feature and its weight"),
        ("=1", "expected a feature and its weight"),
        ("lm 1 2", "expected a feature and its weight"),
        ("tm 1\nlm=1", "a second weight of 'lm'"),
    ):
        file.write_text(f"lm 1\n{text}\n" if "second" in problem else f"\n{text}\n")
        with pytest.raises(FormatError, match=rf"weights:\d: {problem}"):
            parsed(FORMAT, LAZY, weights=file)
    file.write_bytes(b"\xff 1\n")
    with pytest.raises(FormatError, match="weights:1: invalid UTF-8"):
        parsed(FORMAT, LAZY, weights=file)
    with pytest.raises(OSError, match="nowhere"):
        parsed(FORMAT, LAZY, weights=tmp_path / "nowhere")


def test_weights_take_the_place_of_written_scores() -> None:
    forest = Forest.from_edges([(0, [], ["a"], -7.0, {"lm": 2.0})], id="x")
    data = written(FORMAT, forest)
    assert b"a ||| lm=2.0 score=-7.0 ||| 0\n" in data
    assert parts(parsed(FORMAT, data)) | {"id": "x"} == parts(forest)
    assert parsed(FORMAT, data, weights={"lm": 0.5}).score.tolist() == [1.0]
    assert b"score" not in written(FORMAT, forest, scores="none")
    with pytest.raises(OptionError, match="scores is one of feature, none, not 'x'"):
        written(FORMAT, forest, scores="x")


def test_what_is_written_is_moses_dialect() -> None:
    spans = [[0, 1], [0, 2]]
    edges = [(0, [], ["house"], 0.0, {"lm": -0.5}), (1, [0], ["the", 0], 0.0)]
    forest = Forest.from_edges(edges, id="x", spans=spans)
    assert written(FORMAT, forest, lossy=True).decode() == (
        "# target ||| features ||| source-covered\n2 2\n# node 0\n1\nhouse ||| lm=-0.5 ||| 1\n"
        "# node 1\n1\nthe [0] |||  ||| 2\n"
    )


@given(small_forests())
def test_derivations_come_back(forest: Forest) -> None:
    assert derived(again(FORMAT, forest)) == derived(forest)


@given(small_forests(rich=True))
def test_what_is_lost_is_no_derivation(forest: Forest) -> None:
    assert derived(again(FORMAT, forest, lossy=True)) == derived(forest)


def test_losses(tmp_path: Path) -> None:
    edges = [(0, [], ["new york"], -1.0, {"a b": 1.0, "x=1;y": 2.0, "score": 3.0, "ok": 4.0}),
             (1, [0], [0], 0.0)]  # fmt: skip
    forest = Forest.from_edges(
        edges, root=0, id="x", categories=["A", "B"], spans=[[0, 1], [0, 1]],
        source="s", references=("r",), metadata={"m": 1},
    )  # fmt: skip
    with pytest.warns(LossWarning) as caught:
        write(tmp_path / "x.hg", [forest], FORMAT, lossy=True)
    for lost in (
        "categories", "spans", "source texts", "references", "metadata", "nodes behind the root",
        "words with blanks in them", "features 'a b'", "features 'x=1;y'", "features 'score'",
    ):  # fmt: skip
        assert lost in str(caught[0].message)
    (found,) = read(tmp_path / "x.hg", FORMAT)
    assert isinstance(found, Forest)
    assert derived(found) == {(("new", "york"), -1.0, frozenset({("ok", 4.0)})): 1}


@pytest.mark.parametrize("word", ["[12]", "|||", "a [0]"])
def test_words_that_cannot_be_written(word: str) -> None:
    with pytest.raises(FormatError, match=re.escape(f"the word {word!r} of segment 'x' means")):
        written(FORMAT, Forest.from_edges([(0, [], [word])], id="x"), lossy=True)


def test_tags_that_are_words_come_back() -> None:
    forest = Forest.from_edges([(0, [], ["<s>", "a"])], id="x")
    assert set(sentences(again(FORMAT, forest))) == {("<s>", "a")}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("2 3", "2", "1: '2', expected the numbers of nodes and of edges"),
        ("2 3", "2 x", "1: '2 x', expected the numbers"),
        ("2 3", "-2 3", "1: '-2 3', expected the numbers"),
        ("2 3", "999999999 3", "1: 999999999 nodes and 3 edges in a file of 7 lines"),
        ("2 3", "9999999999999999999 3", "1: '9999999999999999999 3', expected the numbers"),
        ("2 3", "2 4", "1: 3 edges, but 4 are announced"),
        ("2 3", "3 3", "7: the file ends where the number of edges of node 2 should be"),
        ("2 3", "1 3", "4: '2' behind the last of 1 nodes"),
        ("\n1\n", "\n7\n", "2: the file ends among the 7 edges of node 0"),
        ("\n1\n", "\n0\n", "3: 'house ||| tm=-0.5', expected the number of edges of node 1"),
        ("house |||", "house", "3: 'house tm=-0.5', expected an edge"),
        ("tm=-0.5", "tm=-0.5 ||| x", "3: 'x' in the third field"),
        ("tm=-0.5", "tm=-0.5 ||| 1 2", "3: '1 2' in the third field"),
        ("tm=-0.5", "tm", "3: 'tm', expected name=value, a finite number"),
        ("tm=-0.5", "=-0.5", "3: '=-0.5', expected name=value"),
        ("tm=-0.5", "tm=nan", "3: 'tm=nan', expected name=value"),
        ("tm=-0.5", "tm=1e999", "3: 'tm=1e999', expected name=value"),
        ("tm=-0.5", "tm=1_0", "3: 'tm=1_0', expected name=value"),
        ("tm=-0.5", "tm=1 tm=2", "3: a feature twice in one edge"),
        ("the [0]", "the [1]", "5: a reference to a node that is not among those before"),
        ("the [0]", "the [2]", r"5: \[2\], but there is no such node"),
        ("the [0]", "the [" + "9" * 5000 + "]", r"5: \[9{39}, but there is no such node"),
        ("house", "[0]", "3: a reference to a node that is not among those before"),
        ("house", "h\u00ff", "3: invalid UTF-8"),
    ],
)  # fmt: skip
def test_bad_files_say_what_is_wrong(old: str, new: str, expected: str) -> None:
    encoding = "latin-1" if "UTF-8" in expected else "utf-8"
    with pytest.raises(FormatError, match=f"^f:{expected}"):
        parsed(FORMAT, LAZY.replace(old, new, 1).encode(encoding))


def test_files_without_a_derivation() -> None:
    with pytest.raises(FormatError, match="an empty forest"):
        parsed(FORMAT, "0 0\n")
    with pytest.raises(FormatError, match="no derivation of the root"):
        parsed(FORMAT, "2 1\n0\n1\n[0] |||\n")


def test_long_lines_and_deep_forests() -> None:
    word = "x" * 100_000
    assert set(sentences(parsed(FORMAT, LAZY.replace("house", word)))) == {
        ("the", word),
        (word,) * 2,
    }
    forest = chain(20_000)
    assert parts(again(FORMAT, forest)) | {"id": "deep"} == parts(forest)


def test_sniffing() -> None:
    for text in (MOSES, LAZY, "# target ||| features\n2 3\n# node 0\n1\na ||| x=1\n"):
        assert claims(text.encode()) == {"hypergraph"}
    for forest in sample_forests():
        assert claims(written(FORMAT, forest)) == {"hypergraph"}


@pytest.mark.parametrize("name", ["d10", "0", "small", "perro"])
def test_real_forests_come_back(shared_data: Path, tmp_path: Path, name: str) -> None:
    forests = real_forests(shared_data, name)[:40]
    with pytest.warns(LossWarning, match="categories"):
        write(tmp_path, forests, FORMAT, lossy=True)
    found = {forest.id: forest for forest in read(tmp_path, FORMAT)}
    assert len(found) == len(forests)
    for forest in forests:
        came = found[forest.id]
        assert isinstance(came, Forest)
        one, other = parts(came), parts(forest)
        # tails come in the order of the target side, so that slots are counted anew
        for key in ("head", "score", "features", "symbol_offset", "nodes", "root"):
            assert one[key] == other[key]
        assert _filled(came) == _filled(forest)


def _filled(forest: Forest) -> list[str | int]:
    """Return all target sides, with nodes for slots."""
    edge = [e for e, n in enumerate(forest.symbol_offset[1:] - forest.symbol_offset[:-1])
            for _ in range(n)]  # fmt: skip
    return [
        forest.vocabulary.word(symbol)
        if symbol > 0
        else int(forest.tail[forest.tail_offset[owner] - 1 - symbol])
        for owner, symbol in zip(edge, forest.symbol.tolist(), strict=True)
    ]
