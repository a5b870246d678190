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


@pytest.mark.parametrize("table", ["- 0\na 5\n", "a 9\n- 0\nb 2\n", "a 3\n", ""])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("openfst-text", {"labels": "words"}),
        ("openfst-text", {"labels": "numbers"}),
        ("openfst", {}),
        ("kaldi-binary", {}),
        ("k2", {}),
    ],
)
def test_tables_with_holes_and_epsilons_of_their_own(
    tmp_path: Path, table: str, name: str, options: dict[str, str]
) -> None:
    words = tmp_path / "words.syms"
    words.write_text(table)
    lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, ""), (0, 1, "b")], finals=[1], id="u")
    formats.write(tmp_path / "u", [lattice], name, symbols=str(words), **options)
    (found,) = formats.read(tmp_path / "u", name, symbols=str(words))
    assert sentences(found) == sentences(lattice)
    assert set(table.split("\n")) <= {*words.read_text().replace("\t", " ").split("\n"), ""}


def test_words_of_digits_are_not_numbers_of_the_table(tmp_path: Path) -> None:
    words = tmp_path / "words.syms"
    words.write_text("<eps> 0\n7 9\n9 7\n")
    lattice = Lattice.from_arcs([(0, 1, "7")], finals=[1], id="u")
    with pytest.raises(FormatError, match="would be read as numbers of the symbol table"):
        formats.write(tmp_path / "u", [lattice], "openfst-text", symbols=str(words))


@pytest.mark.parametrize("name", ["openfst", "kaldi-binary", "kaldi"])
def test_numbers_that_no_label_has(tmp_path: Path, name: str) -> None:
    words = tmp_path / "words.syms"
    words.write_text(f"<eps> 0\na {2**31 - 1}\n")
    lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1], id="u")
    with pytest.raises(FormatError, match="'b' would have the number 2147483648, and labels"):
        formats.write(tmp_path / "u", [lattice], name, symbols=str(words))
    # the table was not extended for nothing
    assert words.read_text().count("\n") == 2
