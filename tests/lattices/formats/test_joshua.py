"""Hypergraphs as Joshua dumps them."""

from __future__ import annotations

import io

import pytest

from lattices.errors import FormatError, OptionError
from lattices.formats.base import Unsupported
from lattices.formats.forests.joshua import FORMAT
from lattices.testing import check_format, sample_forests, sentences
from tests.lattices.forests import claims, derived, parsed

DUMP = """\
# target ||| features
2 3
1
the ||| tm_pt_0=-0.100
2
[1] house ||| tm_pt_0=-0.500
[1] home ||| tm_pt_0=-0.700 lm=-2
"""


def test_laws() -> None:
    check_format(FORMAT)


def test_a_dump() -> None:
    forest = parsed(FORMAT, DUMP)
    assert (forest.num_nodes, forest.root) == (2, 1)
    assert derived(forest) == {
        (("the", "house"), 0.0, frozenset({("tm_pt_0", -0.6)})): 1,
        (("the", "home"), 0.0, frozenset({("tm_pt_0", -0.8), ("lm", -2.0)})): 1,
    }
    weighted = parsed(FORMAT, DUMP, weights={"tm_pt_0": 1.0, "lm": 0.5})
    assert sentences(weighted) == {
        ("the", "house"): [pytest.approx(-0.6)],
        ("the", "home"): [pytest.approx(-1.8)],
    }


def test_numbers_with_gaps_and_tags() -> None:
    text = DUMP.replace("\n1\n", "\n3\n").replace("\n2\n", "\n17\n").replace("[1]", "<s> [3]")
    assert set(sentences(parsed(FORMAT, text))) == {("the", "house"), ("the", "home")}
    kept = parsed(FORMAT, text, tags="keep")
    assert set(sentences(kept)) == {("<s>", "the", "house"), ("<s>", "the", "home")}
    with pytest.raises(OptionError, match="tags is one of drop, keep, not 1"):
        parsed(FORMAT, text, tags=1)
    # a number of a node is no count of edges, and no word of digits a node
    assert set(sentences(parsed(FORMAT, "1 2\n5\n7 ||| \n||| x=1\n"))) == {("7",), ()}


def test_several_nodes_below_the_goal() -> None:
    text = "4 4\n1\na ||| f=1\n2\n[1] b ||| f=2\n4\n[1] c |||\n5\nd ||| f=3\n"
    forest = parsed(FORMAT, text)
    assert (forest.num_nodes, forest.num_edges, forest.root) == (5, 7, 4)
    assert derived(forest) == {
        (("a", "b"), 0.0, frozenset({("f", 3.0)})): 1,
        (("a", "c"), 0.0, frozenset({("f", 1.0)})): 1,
        (("d",), 0.0, frozenset({("f", 3.0)})): 1,
    }


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("2 3\n", "", "2: '1', expected the numbers of nodes and of edges"),
        ("2 3", "2", "2: '2', expected the numbers"),
        ("2 3", "3 3", "1: 2 nodes and 3 edges, but 3 and 3 are announced"),
        ("2 3", "2 4", "1: 2 nodes and 3 edges, but 2 and 4 are announced"),
        ("[1] home ||| tm_pt_0=-0.700 lm=-2\n", "", "1: 2 nodes and 2 edges, but"),
        ("\n1\n", "\n", "3: 'the ||| tm_pt_0=-0.100', expected the number of a node"),
        ("\n1\n", "\n-1\n", "3: '-1', expected a node or edge"),
        ("\n2\n", "\n1\n", "5: a second node 1"),
        ("\n2\n", "\n" + "2" * 5000 + "\n", "5: '2+', expected|5: '2+"),
        ("[1] home", "[2] home", "7: a reference to a node that is not among those before"),
        ("[1] home", "[3] home", r"7: \[3\], but there is no such node"),
        ("the |||", "the", "4: 'the tm_pt_0=-0.100', expected a node or edge"),
        ("-0.500", "-inf", "6: 'tm_pt_0=-inf', expected name=value"),
    ],
)
def test_bad_files_say_what_is_wrong(old: str, new: str, expected: str) -> None:
    with pytest.raises(FormatError, match=f"^f:(?:{expected})"):
        parsed(FORMAT, DUMP.replace(old, new, 1))


def test_files_with_nothing_in_them() -> None:
    with pytest.raises(FormatError, match="a forest without nodes"):
        parsed(FORMAT, "# target ||| features\n0 0\n")
    with pytest.raises(FormatError, match="0 nodes and 0 edges, but nothing is announced"):
        parsed(FORMAT, "# target ||| features\n")


def test_it_cannot_be_written() -> None:
    with pytest.raises(FormatError, match="can be read, but not written"):
        FORMAT.write(io.BytesIO(), sample_forests(), Unsupported("joshua-forest"))


def test_sniffing() -> None:
    assert claims(DUMP.encode()) == {"joshua-forest"}
    assert claims(DUMP.replace("\n", "\r\n").encode()) == {"joshua-forest"}
