"""k2's text. The golden files were written by k2 1.23.2."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from lattices.errors import FormatError, OptionError
from lattices.formats import FORMATS, LossWarning, parse_record, read, write
from lattices.formats.kaldi.k2 import FORMAT
from lattices.spaces import Lattice
from lattices.testing import check_format, sample_lattices, sample_nbests, sentences
from lattices.vocabulary import Vocabulary
from tests.lattices.algorithms.comparing import read_bytes, structure, written
from tests.lattices.formats.parsing import parser
from tests.lattices.formats.test_mesh import files_of_other_formats
from tests.strategies import small_lattices

TRANSDUCER = "0 1 1 7 0.5\n0 1 2 0 0.1\n1 2 -1 -1 0.25\n2\n"
RAGGED = "0 1 1 [ 7 ] 0.5\n0 1 2 [ ] 0.1\n1 2 -1 [ -1 ] 0.25\n2\n"
PRINTED = """\
k2.Fsa: 0 1 1 7 0.5
0 1 2 0 0.1
1 2 -1 -1 0.25
2
properties_str = "Valid|Nonempty|TopSorted|TopSortedAndAcyclic|ArcSorted|EpsilonFree".
aux_labels: tensor([ 7,  0, -1], dtype=torch.int32)
"""
VECTOR = """\
k2.FsaVec: \nFsaVec[0]: 0 1 1 0.5
1 2 -1 0.25
2
FsaVec[1]: 0 1 1 0.5
1 2 -1 0.25
2
properties_str = "Valid".
"""


parsed = parser(FORMAT, Lattice)


def numbered(text: str, **options: Any) -> Lattice:
    return parsed(text, labels="numbers", **options)


def test_laws(tmp_path: Path) -> None:
    check_format(FORMAT)
    table = {"symbols": str(tmp_path / "words.txt")}
    check_format(FORMAT, options=table, write_options=table)


def test_files_are_told_from_those_of_others(tmp_path: Path) -> None:
    own = written(FORMAT, sample_lattices()[0])
    for name, data in files_of_other_formats("k2"):
        assert not FORMAT.sniff(data[:4096]), name
        # to OpenFst -1 may be a word, and its text has no other mark
        if name != "openfst-text":
            assert not FORMATS.get(name).sniff(own[:4096]), name
    for text in (TRANSDUCER, RAGGED, PRINTED, VECTOR):
        assert FORMAT.sniff(text.encode())
    assert not FORMAT.sniff(b"0 1 12 0.5\n1 2 7 0.5\n2\n")
    (found,) = read_bytes(tmp_path, own, None, "utt.k2.txt")
    assert found.id == "utt"


@pytest.mark.parametrize("text", [TRANSDUCER, RAGGED, PRINTED, "\n \n" + PRINTED])
def test_files_of_k2(text: str) -> None:
    lattice = numbered(text)
    assert sentences(lattice) == {("7",): [0.75], (): [0.35]}
    assert structure(lattice)["final"] == [-float("inf"), 0.25]
    assert sentences(numbered(text, side="labels")) == {("1",): [0.75], ("2",): [0.35]}
    assert sentences(numbered(text, side="aux_labels")) == sentences(lattice)


def test_labels_by_number_and_by_name(tmp_path: Path) -> None:
    with pytest.raises(
        FormatError, match=r"f:1: the labels are whole numbers, .* symbols=FILE gives"
    ):
        parsed(TRANSDUCER)
    assert list(sentences(parsed(TRANSDUCER, labels="words"))) == [("7",), ("0",)]
    table = tmp_path / "words.txt"
    table.write_text("<eps> 0\nseven 7\n")
    lattice = parsed(TRANSDUCER, symbols=table)
    assert list(sentences(lattice)) == [("seven",), ()]
    table.write_text("<eps> 0\neight 8\n")
    with pytest.raises(FormatError, match="f:1: the label 7 is not in the symbol table"):
        parsed(TRANSDUCER, symbols=table)
    named = parsed("0 1 <eps> 0.5\n0 1 a\u00a0b 1\n1 2 -1 0\n2\n")
    assert structure(named)["words"] == ["", "a\u00a0b"]


def test_more_than_one_extra_label() -> None:
    text = "0 1 1 7 8 0.5\n1 2 -1 -1 -1 0\n2\n"
    assert [list(sentences(numbered(text, side=side))) for side in ("labels", "aux_labels2")] == [
        [("1",)],
        [("8",)],
    ]
    assert list(sentences(numbered(text))) == [("7",)]
    with pytest.raises(FormatError, match="side=aux_labels3, but there are only 2 aux_labels"):
        numbered(text, side="aux_labels3")
    with pytest.raises(OptionError, match="side='output', expected labels, aux_labels"):
        numbered(text, side="output")


def test_several_words_on_an_arc() -> None:
    text = "0 1 1 [ 7 8 9 ] 0.5\n0 2 -1 [ 3 4 ] 2\n1 2 -1 [ ] 0.25\n2\n"
    lattice = numbered(text)
    assert sentences(lattice) == {("7", "8", "9"): [0.75], ("3", "4"): [2.0]}
    assert lattice.num_states == 6
    assert sentences(numbered(text, side="labels")) == {("1",): [0.75], (): [2.0]}


def test_ways_of_ending() -> None:
    one = numbered("0 1 -1 0.5\n1\n")
    assert (one.num_states, one.num_arcs, one.final.tolist()) == (1, 0, [0.5])
    several = numbered("0 1 5 1\n0 2 -1 0.5\n0 2 -1 0.75\n1 2 -1 -1\n2\n")
    assert sentences(several) == {(): [0.5, 0.75], ("5",): [0.0]}
    # a word that k2's convention would not have on such an arc is kept all the same
    assert sentences(numbered("0 1 -1 9 0.5\n1\n")) == {("9",): [0.5]}
    assert sentences(numbered("0 1 5 1\n0 1 6 -inf\n1 2 -1 0\n2\n")) == {("5",): [1.0]}


def test_states_without_order_or_gaps() -> None:
    lattice = numbered(
        "0 900000000000 1 0\n5 900000000001 -1 0\n900000000000 5 2 0\n900000000001\n"
    )
    assert sentences(lattice) == {("1", "2"): [0.0]}
    assert lattice.num_states == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1 1\n1 2 -1 0\n2\n", "f:1: 3 columns, expected 4 or more: src dst label score"),
        ("0 1 1 0\n1 0.5\n1\n", "f:2: 2 columns, expected 4 or more: src dst label score; final"),
        ("0 1 1 0\n1 2 -1 -1 0\n2\n", "f:2: 5 columns, where the first arc has 4"),
        ("0 1 1 0\n1 2 -1 0\n", "f:2: no final state on the last line"),
        ("\n1\n", "f:2: the FSA is empty: it has no arcs"),
        ("0 1 1 0\n\n1 2 -1 x\n2\n", "f:3: score 'x', expected a number"),
        ("0 1 1 0\n1 2 -1 1_0\n2\n", "f:2: score '1_0', expected a number"),
        ("0 1 1 0\n1 2 -1 nan\n2\n", "f:2: score 'nan', expected a number"),
        ("0 1 1 0\n1 2 -1 inf\n2\n", "f:2: score 'inf', expected a number"),
        ("0 1 1 0\nx 2 -1 0\n2\n", "f:2: state 'x', expected a number from 0"),
        ("0 1 1 0\n1 -2 -1 0\n2\n", "f:2: state '-2', expected a number from 0"),
        ("0 1 1 0\n1 2 -1 0\nx\n", "f:3: state 'x', expected a number from 0"),
        ("0 3 1 0\n1 2 -1 0\n2\n", "f:3: final state 2, where there is a state 3"),
        ("0 1 1 0\n1 2 -1 0\n0 1 2 0\n2\n", "f:3: the first column does not ascend"),
        ("0 2 1 0\n1 2 -1 0\n2\n", "f:1: label '1' on an arc to state 2, where -1 stands on all"),
        ("0 1 -1 0\n1 2 -1 0\n2\n", "f:1: label '-1' on an arc to state 1, where -1 stands on"),
        ("0 1 1 -1 0\n1 2 -1 -1 0\n2\n", "f:1: label -1 on an arc that does not go to the final"),
        ("0 2 -1 0\n2 1 3 0\n2\n", "f:2: an arc leaves the final state"),
        ("0 1 1 [ 7 0\n1 2 -1 [ ] 0\n2\n", "f:1: a bracket is not closed"),
        ("0 1 1 [ 7 ] 0\n1 2 -1 0\n2\n", "f:2: 1 labels, where the first arc has 2"),
        ("0 1 1 0\n1 0 2 0\n1 2 -1 0\n2\n", "f:1: the lattice has a cycle"),
        ("0 1 1 0\n1 2 -1 -inf\n2\n", "f:1: no state is final"),
        (VECTOR, "f:1: an FsaVec; expected one FSA a file"),
    ],
)
def test_errors_name_the_line(text: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        numbered(text)
    assert message in str(caught.value)


def test_what_is_written() -> None:
    arcs = [(0, 1, "b", -1.0), (0, 1, "", 0.5), (1, 2, "a", -0.1)]
    lattice = Lattice.from_arcs(arcs, {1: -2.0, 2: 0.0}, id="u")
    expected = "0 1 b -1.0\n0 1 <eps> 0.5\n1 2 a -0.1\n1 3 -1 -2.0\n2 3 -1 0.0\n3\n"
    assert written(FORMAT, lattice).decode() == expected
    # k2's start is state 0
    other = Lattice.from_arcs([(0, 2, "x"), (1, 2, "y")], [2], start=1)
    assert written(FORMAT, other).decode() == "0 2 y 0.0\n1 2 x 0.0\n2 3 -1 0.0\n3\n"


@given(small_lattices(features=False))
def test_round_trip(lattice: Lattice) -> None:
    (record,) = FORMAT.records(io.BytesIO(written(FORMAT, lattice)), "f")
    back = parse_record(FORMAT, record, Vocabulary())
    assert sentences(back) == sentences(lattice)


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="the word '-1' means something else here"):
        written(FORMAT, Lattice.from_arcs([(0, 1, "-1")], [1]))
    with pytest.raises(FormatError, match="would be read as others; symbols=FILE keeps them"):
        written(FORMAT, Lattice.from_arcs([(0, 1, "0")], [1]))
    table = str(tmp_path / "words.txt")
    odd = Lattice.from_arcs([(0, 1, "-1"), (0, 1, "0"), (0, 1, "")], [1], id="odd")
    write(tmp_path / "odd.k2.txt", [odd], symbols=table)
    assert (tmp_path / "odd.k2.txt").read_text().splitlines()[0] == "0 1 1 0.0"
    (back,) = read(tmp_path / "odd.k2.txt", symbols=table)
    assert sentences(back) == sentences(odd)
    with pytest.warns(LossWarning, match="times"):
        write(tmp_path / "t.k2.txt", [Lattice.from_arcs([], [0], times=[1.0])], lossy=True)
    with pytest.raises(FormatError, match="k2 holds no NBest"):
        write(tmp_path / "n.k2.txt", sample_nbests()[:1])
    with pytest.raises(FormatError, match="k2 holds one segment a file"):
        write(tmp_path / "n.k2.txt", sample_lattices())


def test_a_long_file_is_told_by_its_suffix(tmp_path: Path) -> None:
    arcs = [(state, state + 1, f"word{state}", -0.5) for state in range(1000)]
    write(tmp_path / "long.k2.txt", [Lattice.from_arcs(arcs, [1000], id="long")])
    (lattice,) = read(tmp_path / "long.k2.txt")
    assert isinstance(lattice, Lattice)
    assert lattice.num_arcs == 1000
