"""What kaldifst, an independent reader, makes of archives written here.

It loads single binary FSTs of arc type ``lattice4`` and prints them as text, but neither
compact lattices nor archives of lattices.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from lattices.formats.base import Unsupported
from lattices.formats.kaldi.binary import FORMAT as BINARY
from lattices.formats.kaldi.text import FORMAT as TEXT
from lattices.formats.openfst.symbols import read_symbols
from lattices.spaces import Lattice
from tests.lattices.algorithms.comparing import best_score, parts, read_bytes
from tests.strategies import small_lattices

kaldifst = pytest.importorskip("kaldifst")


def loaded(folder: Path, data: bytes, key: str) -> Any:
    """Return the lattice behind a key, loaded by kaldifst."""
    path = folder / "one.fst"
    path.write_bytes(data.removeprefix(f"{key} ".encode()))
    return kaldifst.Lattice.read(str(path))


def encoded(fmt: Any, lattice: Lattice, **options: Any) -> bytes:
    buffer = io.BytesIO()
    fmt.write(buffer, [lattice], Unsupported(fmt.name), **options)
    return buffer.getvalue()


@settings(max_examples=40)
@given(small_lattices(features=False, exact=True))
def test_shortest_path_of_a_binary_lattice(lattice: Lattice) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = str(folder / "words.txt")
        data = encoded(BINARY, lattice, arc_type="lattice4", symbols=table)
        fst = loaded(folder, data, lattice.id or "0")
        symbols = read_symbols(table)
    assert fst.num_states == lattice.num_states
    linear, ids, labels, weight = kaldifst.get_linear_symbol_sequence(kaldifst.shortest_path(fst))
    assert linear
    assert ids == []
    score = -(weight.value1 + weight.value2)
    assert score == pytest.approx(best_score(lattice))
    best = {path.tokens for path in lattice.paths() if path.score == pytest.approx(score)}
    assert tuple(symbols[label] for label in labels) in best


def test_attached_symbols(tmp_path: Path) -> None:
    lattice = Lattice.from_arcs([(0, 1, "Fräulein", -1.5), (0, 1, "y", -2.5)], {1: -0.5}, id="k")
    fst = loaded(tmp_path, encoded(BINARY, lattice, arc_type="lattice4"), "k")
    _, _, labels, weight = kaldifst.get_linear_symbol_sequence(kaldifst.shortest_path(fst))
    assert [fst.output_symbols.find(label) for label in labels] == ["Fräulein"]
    assert (weight.value1, weight.value2) == (2.0, 0.0)


@settings(max_examples=40)
@given(small_lattices(features=False, exact=True))
def test_text_of_a_lattice(lattice: Lattice) -> None:
    """The text that is written is the one that kaldifst prints, and both are read alike."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = str(folder / "words.txt")
        ours = encoded(TEXT, lattice, type="lattice", symbols=table).decode()
        binary = encoded(BINARY, lattice, arc_type="lattice4", symbols=table)
        key = lattice.id or "0"
        # zeros are left out of what is printed unless they are asked for
        shown = loaded(folder, binary, key).to_str(show_weight_one=True)
        theirs = f"{key} \n{shown}\n"
        one, other = (
            read_bytes(folder, text.encode(), TEXT, symbols=table)[0]  # type: ignore[arg-type]
            for text in (ours, theirs)
        )
    assert rows(ours) == rows(theirs)
    assert parts(one) == parts(other)


def rows(text: str) -> list[list[Any]]:
    """Return the columns below the key, with costs as numbers; states that say nothing left out."""
    found = []
    for line in text.strip("\n").splitlines()[1:]:
        *columns, weight = line.split()
        costs = tuple(map(float, weight.split(","))) if "," in weight else weight
        if costs != (float("inf"), float("inf")):
            found.append([*columns, costs])
    return sorted(found, key=str)
