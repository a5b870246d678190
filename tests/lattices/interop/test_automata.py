"""Lattices to OpenFst and back, judged by enumerating paths."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.errors import MissingDependencyError, OptionError, SpaceError
from lattices.formats.openfst.codec import FstColumns
from lattices.interop import (
    from_columns,
    from_fst,
    symbol_table,
    to_columns,
    to_fst,
)
from lattices.optional import require, require_pynini
from lattices.spaces import Lattice
from lattices.vocabulary import Vocabulary
from tests.strategies import small_lattices

INF = float("inf")


def assert_same_columns(found: Lattice, expected: Lattice, rtol: float = 0.0) -> None:
    assert found.start == expected.start
    for name in ("src", "dst", "out_offset", "in_arc"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    words = [lattice.vocabulary.word for lattice in (found, expected)]
    assert list(map(words[0], found.label)) == list(map(words[1], expected.label))
    # below 1e-37 single precision has fewer digits
    atol = 1e-37 if rtol else 0.0
    np.testing.assert_allclose(found.score, expected.score, rtol=rtol, atol=atol)
    np.testing.assert_allclose(found.final, expected.final, rtol=rtol, atol=atol)


def dense(matrix) -> np.ndarray:  # type: ignore[no-untyped-def]
    return np.zeros((0, 0)) if matrix is None else matrix.toarray()


@given(small_lattices(), st.sampled_from([("standard", 1e-7), ("log", 1e-7), ("log64", 0.0)]))
def test_fsts_come_back(lattice: Lattice, precision: tuple[str, float]) -> None:
    pytest.importorskip("pynini")
    arc_type, rtol = precision
    fst = to_fst(lattice, arc_type)
    assert fst.arc_type() == arc_type
    assert fst.verify()
    assert_same_columns(from_fst(fst, lattice.vocabulary), lattice, rtol)
    # with symbols attached no vocabulary is needed, and a foreign one is extended
    attached = to_fst(lattice, arc_type, symbols=True)
    assert_same_columns(from_fst(attached), lattice, rtol)
    foreign = Vocabulary(["zebra", "d", "a"])
    assert_same_columns(from_fst(attached, foreign, side="input"), lattice, rtol)
    assert foreign.id("zebra") == 1


@given(small_lattices())
def test_openfst_finds_the_best_score(lattice: Lattice) -> None:
    pynini = pytest.importorskip("pynini")
    best = max(path.score for path in lattice.paths())
    shortest = from_fst(pynini.shortestpath(to_fst(lattice)), lattice.vocabulary)
    (found,) = shortest.paths()
    assert found.score == pytest.approx(best, rel=1e-6, abs=1e-5)
    assert any(
        path.tokens == found.tokens and path.score == pytest.approx(best, rel=1e-6, abs=1e-5)
        for path in lattice.paths()
    )


@given(small_lattices())
def test_openfst_reads_the_same_paths(lattice: Lattice) -> None:
    pytest.importorskip("pynini")
    # pynini's iterator takes dead ends for paths
    fst = to_fst(lattice, symbols=True).connect()
    symbols = fst.output_symbols()
    paths = fst.paths(input_token_type=fst.input_symbols(), output_token_type=symbols)
    found = sorted((text, float(cost)) for _, text, cost in paths.items())
    expected = sorted((path.text, -path.score) for path in lattice.paths())
    assert [text for text, _ in found] == [text for text, _ in expected]
    np.testing.assert_allclose(
        [cost for _, cost in found], [cost for _, cost in expected], rtol=1e-5, atol=1e-5
    )


def test_the_sign_flips_and_zero_stays_zero() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a", -0.5), (0, 1, "b", 0.0)], finals={1: 2.0})
    columns = to_columns(lattice)
    assert columns.weight.tolist() == [0.5, 0.0]
    assert columns.final.tolist() == [INF, -2.0]
    assert not np.signbit(columns.weight[1])
    assert not np.signbit(from_columns(columns, lattice.vocabulary).score[1])


def test_either_side_of_a_transducer() -> None:
    pynini = pytest.importorskip("pynini")
    fst = pynini.cross("ab", "xyz")
    words = Vocabulary(map(chr, range(1, 256)))
    (read,) = from_fst(fst, words, side="input").paths()
    (written,) = from_fst(fst, words, id="7", source="ab", references=["xyz"]).paths()
    assert (read.text, written.text) == ("a b", "x y z")
    kept = from_fst(fst, words, id="7", source="ab", references=["xyz"], metadata={"k": 1})
    assert (kept.id, kept.source, kept.references, kept.metadata) == ("7", "ab", ("xyz",), {"k": 1})
    with pytest.raises(OptionError, match="side='both'"):
        from_fst(fst, words, side="both")


def test_labels_need_words() -> None:
    pytest.importorskip("pynini")
    lattice = Lattice.from_arcs([(0, 1, "a"), (1, 2, "b")], finals=[2])
    with pytest.raises(OptionError, match="no table of output symbols is attached"):
        from_fst(to_fst(lattice))
    with pytest.raises(SpaceError, match=r"arc 1 has word 2, expected 0\.\.1"):
        from_fst(to_fst(lattice), Vocabulary(["a"]))
    columns = to_columns(lattice)
    with pytest.raises(SpaceError, match="label 2 is not in the symbol table"):
        from_columns(columns, symbols={0: "<eps>", 1: "a"})


def test_what_is_no_lattice() -> None:
    pynini = pytest.importorskip("pynini")
    words = Vocabulary(map(chr, range(1, 256)))
    with pytest.raises(SpaceError, match="no start state"):
        from_fst(pynini.Fst(), words)
    with pytest.raises(SpaceError, match="cycle"):
        from_fst(pynini.closure(pynini.accep("ab")), words)


def test_impossible_arcs_are_left_out() -> None:
    columns = FstColumns([0, 0], [1, 2], [1, 2], [INF, 1.0], [1, 1], [INF, 0.0])
    (path,) = from_columns(columns, Vocabulary("ab")).paths()
    assert (path.text, path.score) == ("b", -1.0)


def test_epsilon_has_a_name_of_its_own() -> None:
    words = Vocabulary(["<eps>", "a", "<<eps>>"])
    assert symbol_table(words) == {0: "<<<eps>>>", 1: "<eps>", 2: "a", 3: "<<eps>>"}
    assert symbol_table(words, [0, 2]) == {0: "<<<eps>>>", 2: "a"}
    lattice = Lattice.from_arcs(
        [(0, 1, "<eps>"), (1, 2, ""), (2, 3, "a")], finals=[3], vocabulary=words
    )
    columns = to_columns(lattice)
    found = from_columns(columns, symbols=symbol_table(words))
    assert [path.tokens for path in found.paths()] == [("<eps>", "a")]


def test_scores_too_large_for_single_precision() -> None:
    pytest.importorskip("pynini")
    lattice = Lattice.from_arcs([(0, 1, "a", -1e39)], finals=[1])
    with pytest.raises(SpaceError, match="cannot hold"):
        to_fst(lattice)
    assert from_fst(to_fst(lattice, "log64"), lattice.vocabulary).score.tolist() == [-1e39]


def test_what_to_do_without_pynini(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynini", None)
    lattice = Lattice.from_arcs([(0, 1, "a")], finals=[1])
    with pytest.raises(MissingDependencyError, match="conda install -c conda-forge pynini"):
        to_fst(lattice)
    with pytest.raises(ImportError, match="pip install pynini"):
        require_pynini()
    with pytest.raises(MissingDependencyError, match=r"pip install 'fstmetrics\[torch\]'"):
        require("pynini", "torch")


@given(small_lattices())
def test_without_scores_no_path_costs_anything(lattice: Lattice) -> None:
    pytest.importorskip("pynini")
    found = from_fst(to_fst(lattice, scores=False), lattice.vocabulary)
    assert [path.tokens for path in found.paths()] == [path.tokens for path in lattice.paths()]
    assert not any(path.score for path in found.paths())
