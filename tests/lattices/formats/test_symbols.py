"""Symbol tables in files."""

from __future__ import annotations

from pathlib import Path

import pytest

from lattices import formats
from lattices.errors import FormatError
from lattices.spaces import Lattice
from tests.lattices.formats.test_openfst_text import parsed, sentences


def test_one_table_for_many_vocabularies(tmp_path: Path) -> None:
    table = tmp_path / "tables" / "words.syms"
    table.parent.mkdir()
    first = Lattice.from_arcs([(0, 1, "b"), (0, 1, "a")], finals=[1], id="one")
    second = Lattice.from_arcs([(0, 1, "c"), (0, 1, "a")], finals=[1], id="two")
    (tmp_path / "all").mkdir()
    formats.write(
        tmp_path / "all", [first, second], "openfst-text", labels="numbers", symbols=str(table)
    )
    assert table.read_text() == "<eps>\t0\nb\t1\na\t2\nc\t3\n"
    assert (tmp_path / "all" / "two.att").read_text() == "0\t1\t3\t0.0\n0\t1\t2\t0.0\n1\t0.0\n"
    found = [sentences(lattice) for lattice in formats.read(tmp_path / "all", symbols=str(table))]
    assert found == [sentences(first), sentences(second)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a 1\nb\n", "2: expected a symbol and its number"),
        ("a 1 2\n", "1: expected a symbol"),
        ("a -1\n", "1: expected a symbol"),
    ],
)
def test_tables_that_are_none(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "words.syms").write_text(text)
    with pytest.raises(FormatError, match=rf"words\.syms:{problem}"):
        parsed("0 1 1 0.5\n1\n", symbols=str(tmp_path / "words.syms"))
