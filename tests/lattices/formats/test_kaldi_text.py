"""Kaldi's text archives."""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.errors import FormatError, OptionError
from lattices.formats import read, write
from lattices.formats.base import Unsupported
from lattices.formats.kaldi.text import FORMAT
from lattices.spaces import Lattice
from lattices.testing import check_format
from tests.lattices.algorithms.comparing import read_bytes, structure, words, written
from tests.strategies import small_lattices

COMPACT = b"""utt-1 \n0 1 <s> 5.25,0,
1 2 7 8.5,1099.5,3_1_1
1 2 A 12.5,8342.5,3_4_5
2 3 <eps> 0.5,10,
2 0.5,2,1_1
3
"""
SINGLE = b"""utt-1
0\t1\t0\t<s>\t5.25,0
1\t2\t3\tA\t12.5,8342.5
1\t3\t4\tB
2\t4\t0\t<eps>\t0.5,10
3\t4\t0\t<eps>
4\t0.5,2
"""


def parsed(folder: Path, data: bytes, **options: Any) -> Any:
    """Return the only lattice; the empty line that ends it need not be given."""
    ended = data if data.endswith(b"\n\n") else data + b"\n"
    (found,) = read_bytes(folder, ended, FORMAT, **options)  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("cut", [1, 2, 4, 8, 20])
def test_without_the_empty_line_a_lattice_may_be_incomplete(tmp_path: Path, cut: int) -> None:
    whole = COMPACT + b"\n" + COMPACT.replace(b"utt-1", b"utt-2") + b"\n"
    (tmp_path / "x.ark.txt").write_bytes(whole[:-cut])
    problems: list[FormatError] = []
    found = list(read(tmp_path / "x.ark.txt", FORMAT, on_error=problems.append))
    assert [lattice.id for lattice in found] == ["utt-1"]
    (problem,) = problems
    assert "ends before the empty line" in str(problem)


def test_laws(tmp_path: Path) -> None:
    check_format(FORMAT)
    table = str(tmp_path / "words.txt")
    check_format(FORMAT, options={"symbols": table}, write_options={"symbols": table})
    check_format(FORMAT, write_options={"type": "lattice"})


def test_compact_lattice(tmp_path: Path) -> None:
    lattice = parsed(tmp_path, COMPACT + b"\n")
    assert lattice.id == "utt-1"
    assert words(lattice) == ["<s>", "7", "A", ""]
    assert lattice.score.tolist() == [-5.25, -1108.0, -8355.0, -10.5]
    assert lattice.final.tolist() == [-np.inf, -np.inf, -2.5, 0.0]
    assert lattice.feature_names == ("graph", "acoustic")
    assert lattice.features.toarray().tolist()[1] == [-8.5, -1099.5]
    assert lattice.final_features.toarray().tolist()[2] == [-0.5, -2.0]
    assert lattice.times.tolist() == [0.0, 0.0, 0.03, 0.03]
    assert parsed(tmp_path, COMPACT, frame_shift="0.5").times.tolist() == [0, 0, 1.5, 1.5]


def test_state_level_lattice(tmp_path: Path) -> None:
    lattice = parsed(tmp_path, SINGLE)
    assert words(lattice) == ["<s>", "A", "B", "", ""]
    assert lattice.score.tolist() == [-5.25, -8355.0, 0.0, -10.5, 0.0]
    assert lattice.times.tolist() == [0.0, 0.0, 0.01, 0.01, 0.01]
    assert lattice.final.tolist()[4] == -2.5


def test_labels(tmp_path: Path) -> None:
    table = tmp_path / "words.txt"
    table.write_text("<eps> 0\nthe 1\ncat 2\n")
    numbers = b"k\n0 1 1 0,0,\n1 2 2 0,0,\n2 3 0 0,0,\n3\n"
    with pytest.raises(FormatError, match=r"f:1: the labels are whole numbers, .*labels=numbers"):
        parsed(tmp_path, numbers)
    assert words(parsed(tmp_path, numbers, labels="numbers")) == ["1", "2", ""]
    assert words(parsed(tmp_path, numbers, labels="words")) == ["1", "2", "0"]
    assert words(parsed(tmp_path, b"k\n0 1 0 0,0,\n1\n\n")) == [""]
    assert words(parsed(tmp_path, numbers, symbols=table)) == ["the", "cat", ""]
    mixed = b"k\n0 1 the 0,0,\n1 2 2 0,0,\n2 3 0 0,0,\n3 4 <eps> 0,0,\n4\n"
    assert words(parsed(tmp_path, mixed)) == ["the", "2", "0", ""]
    assert words(parsed(tmp_path, mixed, symbols=table)) == ["the", "2", "0", ""]
    with pytest.raises(FormatError, match="f:1: the label 'the' is no number from 0"):
        parsed(tmp_path, mixed, labels="numbers")
    with pytest.raises(FormatError, match=r"f:2: the label 3 is not in the symbol table"):
        parsed(tmp_path, numbers.replace(b"0 1 1", b"0 1 3"), symbols=table)


def test_words_may_hold_commas(tmp_path: Path) -> None:
    assert words(parsed(tmp_path, b"k\n0 1 , 1,2,\n1 2 a,b,c\n2\n")) == [",", "a,b,c"]


def test_start_and_gaps(tmp_path: Path) -> None:
    lattice = parsed(tmp_path, b"k\n7 9 a 1,0,\n9 20 b\n20 Infinity,Infinity,\n9\n")
    assert structure(lattice)["start"] == 0
    assert [one.text for one in lattice.paths()] == ["a"]
    assert lattice.final.tolist() == [-np.inf, 0.0, -np.inf]


@pytest.mark.parametrize(
    ("lines", "place", "problem"),
    [
        (b"0 1 a 1,2\n1\n", 2, "weight '1,2', expected graph,acoustic,ids"),
        (b"0 1 a 1,2,\n1 2 b 1,2,3,4\n2\n", 3, "weight '1,2,3,4'"),
        (b"0 1 a 1,2\n0 1 a 3,4,5,6\n1\n", 2, "weight '1,2'"),
        (b"0 1 a nan,2,\n1\n", 2, "weight 'nan,2,'"),
        (b"0 1 a 1,Infinity,\n1\n", 2, "with finite costs"),
        (b"1 0,0,\n0 1 a 1_0,2,\n", 3, "weight '1_0,2,'"),
        (b"0 1 a x,2,\n1\n", 2, "weight 'x,2,'"),
        (b"0 1 a 1,2,\n1 Infinity,0,\n", 3, "weight 'Infinity,0,'"),
        (b"0 1 a 1,2,\n1 -Infinity,-Infinity,\n", 3, "weight '-Inf"),
        (b"0 1 a 1,2,3-4\n1\n", 2, "transition-ids '3-4'"),
        (b"0 1 a 1,2,\n1 2 3 a 1,2\n2\n", 3, "a line of a Lattice, where those above"),
        (b"0 1 5 a\n1 2 b 1,2,\n2\n", 3, "a line of a CompactLattice"),
        (b"0 1 x a 1,2\n1\n", 2, "transition-id 'x'"),
        (b"0 1 a 1,2,\n1 2,3\n", 3, "weight '2,3'"),
        (b"0 -1 a 1,2,\n1\n", 2, "state '-1'"),
        (b"0 1 a b c d\n1\n", 2, "6 columns"),
        (b"0 1 a 1,2,\n1 0 a 1,2,3\n1\n", 1, "cycle"),
        (b"0 1 a 1,2,\n", 1, "no state is final"),
        (b"0 1 a 1e308,1e308,\n1\n", 1, "expected a finite number"),
        (b"0 1 a\n0\n1 1e308,1e308,\n", 1, "a final score is infinite or not a number"),
        (b"", 1, "empty"),
        (b"0 1 \xff 1,2,\n1\n", 2, "invalid UTF-8"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, lines: bytes, place: int, problem: str) -> None:
    with pytest.raises(FormatError) as caught:
        parsed(tmp_path, b"key\n" + lines)
    assert str(caught.value).startswith(f"{tmp_path / 'f'}:{place}: ")
    assert problem in str(caught.value)


def test_key_alone(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"f:1: 4 columns, expected a key"):
        parsed(tmp_path, b"0 1 a 1,2,\n1\n")


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(0, 2), st.booleans())
def test_records_are_cut_at_empty_lines(sizes: list[int], above: int, carriage: bool) -> None:
    texts = [b"key%d\n" % n + b"0 1 a 1,2,\n" * size for n, size in enumerate(sizes)]
    data = b"\n" * above + b" \n\n".join([*texts, b""])
    if carriage:
        data = data.replace(b"\n", b"\r\n")
    found = list(FORMAT.records(io.BytesIO(data), "p"))
    lines = data.replace(b"\r", b"").split(b"\n")
    assert [record.payload.replace(b"\r", b"") for record in found] == [
        text + b" \n" for text in texts
    ]
    assert [record.line for record in found] == [
        1 + lines.index(b"key%d" % n) for n in range(len(sizes))
    ]


def test_records_longer_than_a_block() -> None:
    text = b"key\n" + b"0 1 word 1.5,2.5,\n" * 40_000
    found = list(FORMAT.records(io.BytesIO((text + b"\n") * 3), "p"))
    assert [(record.payload == text + b"\n", record.line) for record in found] == [
        (True, 1),
        (True, 40_003),
        (True, 80_005),
    ]


def test_sniffing() -> None:
    assert FORMAT.sniff(COMPACT)
    assert FORMAT.sniff(SINGLE)
    for other in (b"0\t1\ta\t0.5\n1\n", b"a\t1\t-1\thi\n", b"k\n0 1 a 0.5\n1\n", b"", b"k\n"):
        assert not FORMAT.sniff(other)


@given(small_lattices(features=False))
def test_round_trip(lattice: Lattice) -> None:
    with tempfile.TemporaryDirectory() as folder:
        back = parsed(Path(folder), written(FORMAT, lattice))
    # states may close up or move when the first line does not name state 0
    assert back.num_arcs == lattice.num_arcs
    found, known = (
        sorted((path.tokens, path.score) for path in one.paths()) for one in (back, lattice)
    )
    assert found == known


def test_lattices_of_both_types_are_written(tmp_path: Path) -> None:
    lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 2, "", -0.5)], [1], states=3, id="k")
    buffer = io.BytesIO()
    FORMAT.write(buffer, [lattice], Unsupported("kaldi"), type="lattice")
    assert buffer.getvalue() == (
        b"k \n0\t1\t0\ta\t1.0,0.0\n0\t2\t0\t<eps>\t0.5,0.0\n1\t0.0,0.0\n2\tInfinity,Infinity\n\n"
    )
    assert written(FORMAT, lattice) == (
        b"k \n0\t1\ta\t1.0,0.0,\n0\t2\t<eps>\t0.5,0.0,\n1\t0.0,0.0,\n2\tInfinity,Infinity,\n\n"
    )
    with pytest.raises(OptionError, match="type is one of compact, lattice, not 'x'"):
        write(tmp_path / "x", [lattice], FORMAT, type="x")


def test_states_with_huge_numbers(tmp_path: Path) -> None:
    far = parsed(tmp_path, b"k\n5 123456789012345678 a\n123456789012345678\n")
    assert (far.num_states, far.src.tolist(), far.dst.tolist()) == (2, [0], [1])
    with pytest.raises(FormatError, match=r"f:2: state '9+ \.\.\. 9+', expected a number from 0"):
        parsed(tmp_path, b"k\n5 %s a\n5\n" % (b"9" * 5000))


def test_what_cannot_be_written() -> None:
    for word in ("new york", "<eps>", "0", "007"):
        with pytest.raises(FormatError, match="word"):
            written(FORMAT, Lattice.from_arcs([(0, 1, word)], [1]))
    with pytest.raises(FormatError, match="the id 'a b' has a blank"):
        written(FORMAT, Lattice.from_arcs([(0, 1, "a")], [1], id="a b"))


def test_real_lattices(tmp_path: Path) -> None:
    data = Path(os.environ.get("FSTMETRICS_DATA", Path(__file__).parents[4] / "shared" / "data"))
    source = data / "multi30k-deen" / "tiny20.de-en.lat.d10.jsonl"
    if not source.exists():
        pytest.skip("no real data here")
    known: list[Any] = list(read(source))
    buffer = io.BytesIO()
    FORMAT.write(buffer, known, Unsupported("kaldi", allowed=True))
    found = read_bytes(tmp_path, buffer.getvalue(), FORMAT)  # type: ignore[arg-type]
    assert [structure(one) for one in found] == [structure(one) for one in known]
