"""Forests in Arrow and Parquet files: complete, exact, beside other segments, and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lattices
from lattices.errors import FormatError
from lattices.formats import parse_range, write
from lattices.formats.arrow.ipc import FORMAT as ARROW
from lattices.formats.arrow.parquet import FORMAT as PARQUET
from lattices.formats.base import Format
from lattices.spaces import Forest, Lattice, NBest
from lattices.testing import sample_forests, sample_lattices, sample_nbests
from lattices.vocabulary import Vocabulary
from tests.lattices.algorithms.comparing import parts
from tests.lattices.forests import chain

pa = pytest.importorskip("pyarrow")

BOTH = pytest.mark.parametrize("fmt", [ARROW, PARQUET], ids=lambda fmt: fmt.name)
ROW: dict[str, Any] = {
    "id": "x",
    "kind": "forest",
    "label": ["house", "the", ""],
    "offset": [0, 1, 3],
    "score": [-0.5, -1.0],
    "nodes": 2,
    "root": 1,
    "head": [0, 1],
    "tail": [0],
    "tail_offset": [0, 0, 1],
    "slot": [0],
}


def from_row(**changes: Any) -> Forest:
    columns = {name: [value] for name, value in {**ROW, **changes}.items() if value is not None}
    (found,) = lattices.from_arrow(pa.table(columns))
    assert isinstance(found, Forest)
    return found


def test_tables_in_memory() -> None:
    forests = [forest.replaced(id=f"forest-{forest.id}") for forest in sample_forests()]
    table = lattices.to_arrow([*sample_lattices(), *forests, *sample_nbests()[:1]])
    assert table.column("kind").to_pylist() == ["lattice"] * 3 + ["forest"] * 3 + ["nbest"]
    row = table.slice(3, 1).to_pylist()[0]
    assert row["label"][:2] == ["cat's", "naïve"]
    assert (row["nodes"], row["root"], row["src"], row["category"]) == (6, 5, None, None)
    found = list(lattices.from_arrow(table))
    assert [type(space) for space in found] == [Lattice] * 3 + [Forest] * 3 + [NBest]
    for one, other in zip(found[3:6], forests, strict=True):
        assert isinstance(one, Forest)
        assert parts(one) == parts(other)
    assert parts(found[0]) == parts(sample_lattices()[0])


@BOTH
def test_forests_are_read_by_position_into_one_vocabulary(tmp_path: Path, fmt: Format) -> None:
    path = tmp_path / "x"
    write(path, [chain(3), *sample_forests()], fmt)
    words = Vocabulary(["before"])
    (found,) = parse_range(fmt, path, 2, 3, words)
    assert isinstance(found, Forest)
    assert (found.id, list(words)) == ("second-1.2", ["before", "yes"])


def test_rows_of_other_tools() -> None:
    assert [found.text for found in from_row().derivations()] == ["the house"]
    assert [found.text for found in from_row(kind=None, root=None).derivations()] == ["the house"]
    # from the top down, and in any order
    forest = from_row(
        head=[0, 1], tail=[1], tail_offset=[0, 1, 1], root=0, score=[-1, -2],
        label=["the", "", "house"], offset=[0, 2, 3], category=["S", "N"], span=[0, 2, 1, 2],
    )  # fmt: skip
    assert [(found.text, found.score) for found in forest.derivations()] == [("the house", -3.0)]
    assert forest.categories == ("N", "S")
    assert forest.spans is not None
    assert forest.spans.tolist() == [[1, 2], [0, 2]]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"slot": None}, "a null where a row of kind 'forest' needs label, .*nodes, .* and slot"),
        ({"nodes": None}, "a null where a row of kind 'forest' needs"),
        ({"head": None}, "a null where a row of kind 'forest' needs"),
        ({"slot": [0, 1]}, "2 in 'slot', but 1 empty words in 'label'"),
        ({"slot": [-1]}, "-1 in 'slot', expected the index of a tail"),
        ({"slot": [2**31 - 1]}, "each of its 1 tails once"),
        ({"nodes": 0}, "0 nodes for 2 edges"),
        ({"nodes": -1}, "-1 nodes for 2 edges"),
        ({"nodes": 2**31 - 1}, "2147483647 nodes for 2 edges"),
        ({"root": 2}, "root 2, expected one of 2 nodes"),
        ({"root": 0, "tail": [1], "head": [0, 1]}, "cycle"),
        ({"tail": [2]}, "a tail that is not one of 2 nodes"),
        ({"head": [0, -1]}, "a head that is not one of 2 nodes"),
        ({"head": [0]}, "scores for 1 edges"),
        ({"score": [0.0, np.nan]}, "edge 1 has score nan"),
        ({"tail_offset": [0, 1, 0]}, "offsets of tail"),
        ({"tail_offset": []}, "0 offsets of tails for 2 edges"),
        ({"offset": [0, 3, 3]}, "the target side of edge"),
        ({"offset": [0, 3]}, "2 offsets of symbols for 2 edges"),
        ({"category": ["S"]}, "1 categories for 2 nodes"),
        ({"category": ["S", None]}, "a null among words|holds a null"),
        ({"span": [0, 1]}, "2 numbers in 'span', expected two for each node"),
        ({"label": ["house", "the", "b"], "slot": []}, "each of its 1 tails once"),
    ],
)
def test_bad_rows_say_what_is_wrong(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(FormatError, match=expected):
        from_row(**changes)


def test_a_forest_is_no_reference() -> None:
    line = '{"nodes":1,"edges":[{"head":0,"rhs":[]}]}'
    with pytest.raises(FormatError, match="a reference is a forest"):
        from_row(references=[None], reference_lattices=[line])
