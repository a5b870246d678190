"""Lattices of speech decoders in memory: the same as through their files."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import lattices
from lattices import Lattice, OptionError, SpaceError, from_fst, from_k2, from_kaldi
from lattices.formats.openfst.symbols import read_symbols
from tests.lattices.algorithms.comparing import best_score
from tests.lattices.interop import doors
from tests.strategies import small_lattices


def found(lattice: Lattice) -> list[tuple[tuple[str, ...], float]]:
    return sorted((path.tokens, path.score) for path in lattice.paths())


class Tensor:
    """What is asked of a tensor: columns, double precision, a list."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __getitem__(self, place: Any) -> Tensor:
        return Tensor(self.values[place])

    def double(self) -> Tensor:
        return Tensor(self.values.astype(np.float64))

    def tolist(self) -> Any:
        return self.values.tolist()


class Ragged:
    def __init__(self, lists: list[list[int]]) -> None:
        self.lists = lists

    def tolist(self) -> list[list[int]]:
        return self.lists


def fsa(rows: list[tuple[int, int, int, float]], **fields: Any) -> SimpleNamespace:
    """Return what k2 documents of an ``Fsa``."""
    arcs = [(src, dst, label, 0) for src, dst, label, _ in rows]
    return SimpleNamespace(
        arcs=SimpleNamespace(values=lambda: Tensor(arcs)),
        labels=Tensor([row[2] for row in rows]),
        scores=Tensor(np.array([row[3] for row in rows], np.float32)),
        shape=(max(row[1] for row in rows) + 1, None),
        **fields,
    )


ROWS = [(0, 1, 7, -0.5), (0, 1, 8, -1.5), (1, 2, 9, -0.25), (2, 3, -1, -2.0)]


def test_k2() -> None:
    table = {1: "a", 2: "the", 3: "cat", 4: "hat"}
    acceptor = fsa([(0, 1, 1, -0.5), (0, 1, 2, -1.5), (1, 2, 3, -0.25), (2, 3, -1, -2.0)])
    expected = [(("a", "cat"), -2.75), (("the", "cat"), -3.75)]
    lattice = from_k2(acceptor, table, id="one")
    assert (lattice.id, found(lattice)) == ("one", expected)
    # k2's decoders: labels are tokens, aux_labels words, one or more or none on an arc
    transducer = fsa(ROWS, aux_labels=Tensor([1, 2, 3, -1]), aux_labels_sym=table)
    assert found(from_k2(transducer)) == expected
    ragged = fsa(ROWS, aux_labels=Ragged([[1], [2, 4], [3], []]), aux_labels_sym=table)
    assert found(from_k2(ragged)) == [(("a", "cat"), -2.75), (("the", "hat", "cat"), -3.75)]
    numbers = from_k2(transducer, {7: "x", 8: "y", 9: "z"}, side="labels")
    assert found(numbers) == [(("x", "z"), -2.75), (("y", "z"), -3.75)]
    with pytest.raises(SpaceError, match="label 9 is not in the table"):
        from_k2(transducer, {7: "x", 8: "y"}, side="labels")
    with pytest.raises(OptionError, match="symbols"):
        from_k2(acceptor)
    with pytest.raises(SpaceError, match=r"from_k2\(fsas\[0\]\)"):
        from_k2(SimpleNamespace(shape=(2, None, None)), table)
    with pytest.raises(lattices.Error, match=r"k2\.Fsa:2: "):
        from_k2(fsa([(0, 1, 1, 0.0), (1, 1, 1, float("nan")), (1, 2, -1, 0.0)]), table)


@pytest.mark.door
@settings(max_examples=30)
@given(small_lattices(features=False, exact=True))
def test_kaldifst_as_through_files(tmp_path_factory: Any, lattice: Lattice) -> None:
    kaldifst = pytest.importorskip("kaldifst")
    folder = tmp_path_factory.mktemp("kaldi")
    table = str(folder / "words.txt")
    lattices.write(
        folder / "one.ark", [lattice.replaced(id="k")], "kaldi-binary",
        arc_type="lattice4", symbols=table, lossy=True,
    )  # fmt: skip
    data = (folder / "one.ark").read_bytes()
    (folder / "one.fst").write_bytes(data.removeprefix(b"k "))
    fst = kaldifst.Lattice.read(str(folder / "one.fst"))
    symbols = read_symbols(table)
    [read] = lattices.read(folder / "one.ark", symbols=table)
    assert isinstance(read, Lattice)
    ours = from_kaldi(fst, symbols, id="k")
    assert ours.id == "k"
    assert found(ours) == found(read)
    assert ours.feature_names == ("graph", "acoustic")
    scaled = from_kaldi(fst, symbols, lm_scale=2.0)
    assert best_score(scaled) == pytest.approx(2.0 * best_score(lattice))


@pytest.mark.door
def test_kaldifst_in_memory() -> None:
    kaldifst = pytest.importorskip("kaldifst")
    fst = kaldifst.Lattice()
    for _ in range(3):
        fst.add_state()
    fst.start = 0
    for src, word, graph, dst in [(0, 1, 1.0, 1), (0, 2, 1.5, 1), (1, 0, 0.5, 2)]:
        fst.add_arc(src, kaldifst.LatticeArc(5, word, kaldifst.LatticeWeight(graph, 2.0), dst))
    fst.set_final(2, kaldifst.LatticeWeight(0.25, 0.0))
    lattice = from_kaldi(fst, ["<eps>", "a", "b"], acoustic_scale=0.5)
    assert found(lattice) == [(("a",), -3.75), (("b",), -4.25)]
    assert lattice.times is not None
    assert lattice.times.tolist() == [0.0, 0.01, 0.02]
    with pytest.raises(SpaceError, match="label 2 is not in the table"):
        from_kaldi(fst, ["<eps>", "a"])
    with pytest.raises(OptionError, match="symbols"):
        from_kaldi(fst)


@pytest.mark.door
def test_kaldi_decoder(tmp_path: Path) -> None:
    fst = doors.kaldi_decoder_lattice()
    symbols = ["<eps>", "ab", "ba", "a"]
    ours = from_kaldi(fst, symbols, id="k")
    assert ours.feature_names == ("graph", "acoustic")
    fst.write(str(tmp_path / "one.fst"))
    (tmp_path / "one.ark").write_bytes(b"k " + (tmp_path / "one.fst").read_bytes())
    (tmp_path / "words.txt").write_text("".join(f"{w} {n}\n" for n, w in enumerate(symbols)))
    [read] = lattices.read(tmp_path / "one.ark", symbols=str(tmp_path / "words.txt"))
    assert isinstance(read, Lattice)
    assert found(ours) == found(read)
    assert len({words for words, _ in found(ours)}) > 3


@pytest.mark.door
def test_rustfst() -> None:
    fst = doors.rustfst_fst()
    assert found(from_fst(fst)) == [(("a",), -0.75), (("b",), -1.75)]
