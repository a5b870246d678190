"""Dependencies from bracketed trees, by head rules."""

from __future__ import annotations

import pytest

from fstmetrics.dependency.trees import head_child, read_trees, tree_parse
from lattices import FormatError


@pytest.mark.parametrize(
    ("label", "children", "head"),
    [
        ("S", "NP VP .", 1),
        ("S", "PP , NP VP .", 3),
        ("VP", "MD VP", 0),
        ("VP", "TO VP", 0),
        ("NP", "DT JJ NN", 2),
        ("NP", "NP PP", 0),
        ("NP", "NNP POS", 1),
        ("NP", "DT CD", 1),
        ("NP", "PRP", 0),
        ("NP", "DT NN NN ,", 2),
        ("NP", "NNS CC NNS", 0),
        ("NP", "NP , NP CC NP", 0),
        ("VP", "VP CC VP", 0),
        ("PP", "IN NP", 0),
        ("ADVP", "RB RB", 1),
        ("SBAR", "IN S", 0),
        ("SBAR", "WHNP S", 0),
        ("QP", "IN CD", 0),
        ("FRAG", "NP PP .", 1),
        ("ROOT", ", S", 1),
        ("X", ", .", 0),
    ],
)
def test_head_rules(label, children, head):
    assert head_child(label, children.split()) == head


def test_trees():
    pytest.importorskip("nltk")
    parse = tree_parse(
        "(ROOT (S (NP-SBJ-1 (DT The) (NN cat)) (VP (VBD sat) (NP (-NONE- *T*-1))"
        " (PP-LOC (IN on) (NP (NP (DT the) (NN mat)) (PRN (-LRB- -LRB-) (NP (JJ red))"
        " (-RRB- -RRB-))))) (. .)))"
    )
    assert parse.words == ("The", "cat", "sat", "on", "the", "mat", "(", "red", ")", ".")
    #                        cat    sat    root    sat    mat   on     red  mat    red   sat
    assert parse.heads == (2, 3, 0, 3, 6, 4, 8, 6, 8, 3)
    assert tree_parse("(S (-NONE- *))").words == ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("(S (NP (PRP I)))\n\n(S (NP\n", r":3: a tree whose brackets do not close"),
        ("\nwords only\n", r":2: no bracketed tree"),
        ("(S a b)\n", r":1: .*the word 'a' has no part of speech"),
        ("(S (X a)) (S (X b))\n", r":1: no bracketed tree"),
        ("(X " * 5000 + "a" + ")" * 5000, r":1: .*nest"),
    ],
)
def test_bad_trees(tmp_path, content, message):
    pytest.importorskip("nltk")
    path = tmp_path / "bad.mrg"
    path.write_text(content)
    with pytest.raises(FormatError, match="bad.mrg" + message):
        list(read_trees(path))
