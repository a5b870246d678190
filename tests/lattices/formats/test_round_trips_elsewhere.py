"""Real lattices written here, as OpenFst and kaldifst read them, and through the command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lattices import k_best
from lattices.formats import write
from lattices.spaces import Lattice
from tests.lattices.real_spaces import SHARED, bare, bundled, lattices_of


def assert_best(lattice: Lattice, text: str, score: float) -> None:
    """Check the shortest path that a program in single precision found."""
    first, *others = k_best(lattice, 10, distinct=True)
    precision = 1e-6 * max(100.0, abs(first.score))
    assert score == pytest.approx(first.score, abs=precision)
    ties = {first.text} | {path.text for path in others if path.score > first.score - precision}
    assert text in ties


@pytest.fixture(scope="module", params=["speech", "tiny20"])
def some_lattices(request: pytest.FixtureRequest) -> list[Lattice]:
    if request.param == "speech":
        spaces = bundled(6)
    else:
        spaces = SHARED["tiny20"](request.getfixturevalue("shared_data"), 6)
    return [bare(lattice) for lattice in lattices_of(spaces)]


def as_openfst_sees(fst: Any) -> tuple[str, float]:
    """Return the words and the score of the shortest path."""
    pywrapfst = pytest.importorskip("pywrapfst")
    assert fst.verify()
    shortest = pywrapfst.shortestpath(pywrapfst.arcmap(fst, map_type="to_standard"))
    symbols = fst.output_symbols()
    words, state = [], shortest.start()
    score = 0.0
    while shortest.num_arcs(state):
        (arc,) = shortest.arcs(state)
        words += [symbols.find(arc.olabel)] if arc.olabel else []
        score -= float(arc.weight)
        state = arc.nextstate
    return " ".join(words), score - float(shortest.final(state))


@pytest.mark.parametrize("arc_type", ["standard", "log", "log64"])
def test_binary_files_in_openfst(
    some_lattices: list[Lattice], tmp_path: Path, arc_type: str
) -> None:
    pynini = pytest.importorskip("pynini")
    write(tmp_path, some_lattices, "openfst", arc_type=arc_type)
    for lattice in some_lattices:
        fst = pynini.Fst.read(str(tmp_path / f"{lattice.id}.fst"))
        assert fst.arc_type() == arc_type
        assert fst.num_states() == lattice.num_states
        assert_best(lattice, *as_openfst_sees(fst))


@pytest.mark.parametrize("arc_type", ["standard", "log64"])
@pytest.mark.parametrize("acceptor", ["yes", "no"])
def test_text_files_in_openfst(
    some_lattices: list[Lattice], tmp_path: Path, acceptor: str, arc_type: str
) -> None:
    pywrapfst = pytest.importorskip("pywrapfst")
    words = str(tmp_path / "words.txt")
    write(tmp_path, some_lattices, "openfst-text", acceptor=acceptor, symbols=words)
    table = pywrapfst.SymbolTable.read_text(words)
    for lattice in some_lattices:
        compiler = pywrapfst.Compiler(
            arc_type=arc_type,
            isymbols=table,
            osymbols=table,
            keep_isymbols=True,
            keep_osymbols=True,
            acceptor=acceptor == "yes",
            keep_state_numbering=True,
        )
        compiler.write((tmp_path / f"{lattice.id}.att").read_text(encoding="utf-8"))
        fst = compiler.compile()
        assert fst.num_states() == lattice.num_states
        assert_best(lattice, *as_openfst_sees(fst))


def test_binary_archives_in_kaldifst(some_lattices: list[Lattice], tmp_path: Path) -> None:
    kaldifst = pytest.importorskip("kaldifst")
    for lattice in some_lattices:
        path = tmp_path / f"{lattice.id}.ark"
        write(path, [lattice], "kaldi-binary", arc_type="lattice4")
        # it reads single FSTs, not archives: what follows the key is one
        path.write_bytes(path.read_bytes().removeprefix(f"{lattice.id} ".encode()))
        fst = kaldifst.Lattice.read(str(path))
        assert fst.num_states == lattice.num_states
        shortest = kaldifst.shortest_path(fst)
        linear, _, labels, weight = kaldifst.get_linear_symbol_sequence(shortest)
        assert linear
        text = " ".join(fst.output_symbols.find(label) for label in labels)
        assert_best(lattice, text, -(weight.value1 + weight.value2))
