"""OpenFst binary files as lattices; the bytes themselves are tested with the codec."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices import formats
from lattices.errors import FormatError, OptionError
from lattices.formats.base import LossWarning
from lattices.formats.openfst.binary import FORMAT
from lattices.formats.openfst.codec import FstColumns, encode
from lattices.interop import from_fst
from lattices.spaces import Lattice
from lattices.testing import check_format
from tests.strategies import small_lattices

INF = float("inf")
WORDS = ("a", "7", "two words", "<eps>", "na\u00efve")
PRECISION = {"standard": 1e-7, "log": 1e-7, "log64": 0.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("binary")


def read_one(path: Path, **options: str) -> Lattice:
    (found,) = formats.read(path, **options)
    assert isinstance(found, Lattice)
    return found


def assert_same(found: Lattice, expected: Lattice, rtol: float) -> None:
    assert found.start == expected.start
    for name in ("src", "dst"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for name in ("score", "final"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=rtol, atol=1e-37 if rtol else 0.0
        )
    words = [lattice.vocabulary.word for lattice in (found, expected)]
    assert list(map(words[0], found.label)) == list(map(words[1], expected.label))


def test_the_laws_of_formats(tmp_path: Path) -> None:
    check_format(FORMAT)
    symbols = {"symbols": str(tmp_path / "words.syms")}
    check_format(FORMAT, options=symbols, write_options={"arc_type": "log64", **symbols})


@given(small_lattices(words=WORDS, features=False), st.sampled_from(sorted(PRECISION)))
def test_lattices_come_back(folder: Path, lattice: Lattice, arc_type: str) -> None:
    formats.write(folder / "seg-1.fst", [lattice], arc_type=arc_type)
    found = read_one(folder / "seg-1.fst")
    assert found.id == "seg-1"
    assert_same(found, lattice, PRECISION[arc_type])
    assert_same(read_one(folder / "seg-1.fst", side="input"), lattice, PRECISION[arc_type])


@given(small_lattices(features=False), st.sampled_from(["standard", "log64"]))
def test_a_table_in_a_file_of_its_own(folder: Path, lattice: Lattice, arc_type: str) -> None:
    symbols = str(folder / "words.syms")
    formats.write(folder / "plain.fst", [lattice], arc_type=arc_type, symbols=symbols)
    assert_same(read_one(folder / "plain.fst", symbols=symbols), lattice, PRECISION[arc_type])


@given(small_lattices(features=False))
def test_openfst_reads_what_we_write(folder: Path, lattice: Lattice) -> None:
    pynini = pytest.importorskip("pynini")
    formats.write(folder / "x.fst", [lattice])
    fst = pynini.Fst.read(str(folder / "x.fst"))
    assert fst.verify()
    (found,) = from_fst(pynini.shortestpath(fst)).paths()
    best = max(path.score for path in lattice.paths())
    assert found.score == pytest.approx(best, rel=1e-6, abs=1e-5)


def test_we_read_what_openfst_writes(tmp_path: Path) -> None:
    pywrapfst = pytest.importorskip("pywrapfst")
    table = pywrapfst.SymbolTable()
    for word in ("eps", "the", "cat"):
        table.add_symbol(word)
    fst = pywrapfst.VectorFst()
    fst.add_states(3)
    fst.set_start(0)
    fst.set_final(2, 0.25)
    fst.add_arc(0, pywrapfst.Arc(1, 2, 0.5, 1))
    fst.add_arc(1, pywrapfst.Arc(2, 0, 1.0, 2))
    fst.set_input_symbols(table)
    fst.set_output_symbols(table)
    fst.write(str(tmp_path / "x.fst"))
    pywrapfst.convert(fst, "const").write(str(tmp_path / "y.fst"))
    for name in ("x", "y"):
        (path,) = read_one(tmp_path / f"{name}.fst").paths()
        assert (path.text, path.score) == ("cat", -1.75)
        (path,) = read_one(tmp_path / f"{name}.fst", side="input").paths()
        assert path.text == "the cat"
    table.write_text(str(tmp_path / "words.txt"))
    table.write(str(tmp_path / "words.bin"))
    fst.set_output_symbols(None)
    fst.write(str(tmp_path / "x.fst"))
    for words in ("words.txt", "words.bin"):
        (path,) = read_one(tmp_path / "x.fst", symbols=str(tmp_path / words)).paths()
        assert path.text == "cat"
    with pytest.raises(FormatError, match="no table of output symbols"):
        read_one(tmp_path / "x.fst")
    (path,) = read_one(tmp_path / "x.fst", labels="numbers").paths()
    assert path.text == "2"


def test_errors_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "x.fst"
    columns = FstColumns([0], [1], [1], [0.5], [1], [INF, 0.0])
    symbols = {0: "<eps>", 1: "a"}
    good = encode(columns, osymbols=symbols)
    for data, problem in (
        (good + good, "bytes follow the last state"),
        (good[:-3], "or is missing"),
        (encode(columns, osymbols={0: "<eps>"}), "label 1 is not in the symbol table"),
        (good.replace(b"standard", b"lattice4"), "format kaldi-binary"),
        (encode(FstColumns([0], [1], [1], [1], [0], [0]), osymbols=symbols), "cycle"),
        (encode(FstColumns([], [], [], [], [], [], start=-1), osymbols=symbols), "no start state"),
    ):
        file.write_bytes(data)
        with pytest.raises(FormatError, match=rf"x\.fst: .*{problem}"):
            read_one(file)
    file.write_bytes(good)
    with pytest.raises(OptionError, match="side is one of output, input, not 'left'"):
        read_one(file, side="left")
    with pytest.raises(OptionError, match="makes no use of symbols"):
        read_one(file, labels="numbers", symbols=str(file))


def test_compressed_files_and_losses(tmp_path: Path) -> None:
    lattice = Lattice.from_arcs([(0, 1, "a", -0.5, {"lm": -1.0})], finals=[1], id="s", source="ein")
    with pytest.raises(FormatError, match="cannot hold the features of segment 's'"):
        formats.write(tmp_path / "x.fst.gz", [lattice])
    with pytest.warns(LossWarning, match="features .*; source texts"):
        formats.write(tmp_path / "x.fst.gz", [lattice], lossy=True)
    assert read_one(tmp_path / "x.fst.gz").id == "x"


def test_sniffing() -> None:
    assert FORMAT.sniff(encode(FstColumns([], [], [], [], [], [0.0])))
    assert not FORMAT.sniff(b"0 1 a\n")
    assert not FORMAT.sniff(b"")
