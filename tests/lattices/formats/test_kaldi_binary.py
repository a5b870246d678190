"""Kaldi's binary archives."""

from __future__ import annotations

import io
import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices._native import distinct_labels
from lattices.arrays import ints
from lattices.errors import FormatError, SpaceError
from lattices.formats.base import Unsupported
from lattices.formats.kaldi.binary import FORMAT, read_fst, read_key
from lattices.formats.kaldi.text import FORMAT as TEXT
from lattices.formats.openfst.codec import ByteReader
from lattices.spaces import Lattice
from lattices.testing import check_format
from tests.lattices.algorithms.comparing import parts, read_bytes, structure, words, written
from tests.strategies import small_lattices

INFINITE = (np.inf, np.inf, ())


def string(text: str) -> bytes:
    return struct.pack("<i", len(text)) + text.encode()


def archive(body: list[Any], arc_type: str = "compactlattice44", **changes: Any) -> bytes:
    """Return an FST written number by number; a state is its final weight and its arcs."""
    fields = {"fst_type": "vector", "version": 2, "start": 0, "states": len(body)} | changes
    compact = arc_type.startswith("compact")
    pair = "<dd" if arc_type in ("compactlattice84", "lattice8") else "<ff"

    def weight(graph: float, acoustic: float, ids: tuple[int, ...] = ()) -> bytes:
        tail = struct.pack(f"<i{len(ids)}i", len(ids), *ids) if compact else b""
        return struct.pack(pair, graph, acoustic) + tail

    data = b"utt-1 " + struct.pack("<i", 2125659606) + string(fields["fst_type"])
    data += string(arc_type) + struct.pack("<iiQ", fields["version"], 0, 3)
    data += struct.pack("<qqq", fields["start"], fields["states"], 0)
    for final, arcs in body:
        data += weight(*final) + struct.pack("<q", len(arcs))
        for ilabel, olabel, cost, target in arcs:
            data += struct.pack("<ii", ilabel, olabel) + weight(*cost) + struct.pack("<i", target)
    return data


COMPACT = archive(
    [
        (INFINITE, [(7, 7, (5.25, 0.0), 1)]),
        (INFINITE, [(8, 8, (8.5, 1099.5, (3, 1, 1)), 2), (0, 0, (12.5, 8342.5, (3, 4, 5)), 2)]),
        ((0.5, 2.0, (1, 1)), []),
    ]
)
SINGLE = archive(
    [
        (INFINITE[:2], [(3, 7, (5.25, 1.0), 1), (4, 8, (0.0, 1.5), 1)]),
        (INFINITE[:2], [(0, 9, (1.0, 0.0), 2)]),
        ((0.5, 2.0), []),
    ],
    "lattice4",
)


ATTACHED = written(FORMAT, Lattice.from_arcs([(0, 1, "word " * 50)], [1], id="utt-1"))
ARC_TYPES = ("compactlattice44", "compactlattice84", "lattice4", "lattice8")


def parsed(folder: Path, data: bytes, **options: Any) -> Any:
    (found,) = read_bytes(folder, data, FORMAT, **options)  # type: ignore[arg-type]
    return found


def numbered(folder: Path, data: bytes, **options: Any) -> Any:
    return parsed(folder, data, labels="numbers", **options)


def test_laws(tmp_path: Path) -> None:
    check_format(FORMAT)
    table = str(tmp_path / "words.txt")
    check_format(FORMAT, options={"symbols": table}, write_options={"symbols": table})
    check_format(FORMAT, write_options={"arc_type": "lattice8"})


def test_compact_lattice(tmp_path: Path) -> None:
    lattice = numbered(tmp_path, COMPACT)
    with pytest.raises(
        FormatError, match=r"the labels are whole numbers, .* symbols=FILE gives one"
    ):
        parsed(tmp_path, COMPACT)
    assert lattice.id == "utt-1"
    assert words(lattice) == ["7", "8", ""]
    assert lattice.src.tolist() == [0, 1, 1]
    assert lattice.dst.tolist() == [1, 2, 2]
    assert lattice.features.toarray().tolist() == [[-5.25, 0.0], [-8.5, -1099.5], [-12.5, -8342.5]]
    assert lattice.score.tolist() == [-5.25, -1108.0, -8355.0]
    assert lattice.final.tolist() == [-np.inf, -np.inf, -2.5]
    assert lattice.times.tolist() == [0.0, 0.0, 0.03]
    scaled = numbered(tmp_path, COMPACT, acoustic_scale="0.1", lm_scale=2)
    assert scaled.score.tolist() == lattice.reweighted({"graph": 2, "acoustic": 0.1}).score.tolist()


def test_state_level_lattice(tmp_path: Path) -> None:
    table = tmp_path / "words.txt"
    table.write_text("<eps> 0\nthe 7\na 8\ncat 9\n")
    lattice = parsed(tmp_path, SINGLE, symbols=table, frame_shift=1)
    assert words(lattice) == ["the", "a", "cat"]
    assert lattice.score.tolist() == [-6.25, -1.5, -1.0]
    assert lattice.times.tolist() == [0.0, 1.0, 1.0]
    table.write_text("<eps> 0\nthe 7\na 8\n")
    with pytest.raises(FormatError, match="the label 9 in 'utt-1' is not in the symbol table"):
        parsed(tmp_path, SINGLE, symbols=table)


def test_double_precision(tmp_path: Path) -> None:
    third = 1 / 3
    compact = archive(
        [(INFINITE, [(7, 7, (third, 1e300, (3, 1)), 1)]), ((third, 0.0, (1,)), [])],
        "compactlattice84",
    )
    single = archive([(INFINITE[:2], [(3, 7, (third, 1e300), 1)]), ((third, 0.0), [])], "lattice8")
    for data, times in ((compact, [0.0, 0.02]), (single, [0.0, 0.01])):
        lattice = numbered(tmp_path, data)
        assert words(lattice) == ["7"]
        assert lattice.features.toarray().tolist() == [[-third, -1e300]]
        assert lattice.final.tolist() == [-np.inf, -third]
        assert lattice.times.tolist() == times
        with pytest.raises(FormatError, match="more arcs than the file holds"):
            numbered(tmp_path, data[:-1])


@given(small_lattices(features=False), st.sampled_from(ARC_TYPES))
def test_every_arc_type_round_trips(lattice: Lattice, arc_type: str) -> None:
    buffer = io.BytesIO()
    FORMAT.write(buffer, [lattice], Unsupported("kaldi-binary"), arc_type=arc_type)
    with tempfile.TemporaryDirectory() as folder:
        back = parsed(Path(folder), buffer.getvalue())
    if "8" in arc_type:
        assert structure(back) == structure(lattice)
    else:
        assert back.score.tolist() == lattice.score.astype(np.float32).tolist()
        assert words(back) == words(lattice)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (archive([((np.nan, 0.0, ()), [])]), "state 0 of 'utt-1' has the final weight nan"),
        (archive([((np.inf, 0.0, ()), [])]), "or both infinite"),
        (
            archive([((0, 0, ()), [(1, 1, (1, 0), 0)])])[:-8] + struct.pack("<ii", -1, 0),
            "more arcs than the file holds",
        ),
        (archive([((0, 0, ()), [(1, 1, (np.inf, 0), 0)])]), "arc 0 of 'utt-1' has the weight inf"),
        (archive([((0, 0, ()), [(1, 1, (0, 0), 5)])]), "leads out of its 1 states"),
        (archive([((0, 0, ()), [(1, 1, (0, 0), -1)])]), "leads out of its 1 states"),
        (archive([((0, 0, ()), [(1, 1, (0, 0), 0)])]), "cycle"),
        (archive([(INFINITE, [(-1, -1, (0, 0), 1)]), ((0, 0), [])]), "label -1 in .* negative"),
        (archive([], start=-1), "'utt-1' is empty"),
        (archive([((0, 0), [])], start=1), "start state 1 of 'utt-1'"),
        (archive([((0, 0), [])], states=1 << 60), "states announced"),
        (archive([((0, 0), [])], states=-1), "-1 states announced"),
        (archive([((0, 0), [])], "compactlattice48"), "of arc type 'compactlattice48', expected"),
        (archive([((0, 0), [])], fst_type="const"), "is a 'const' FST"),
        (ATTACHED[:150], "a symbol table of 'utt-1' is damaged or cut short"),
        (COMPACT[:-1], "more arcs than the file holds"),
        (COMPACT + b"x", "no key before the blank"),
        (COMPACT + b"next \0B", "the magic number would take 4 bytes where 2 are left"),
        (COMPACT + b"next \0Babcd", "no OpenFst binary follows the key 'next'"),
        (
            COMPACT.replace(
                struct.pack("<i3i", 3, 3, 1, 1), struct.pack("<i3i", 2**31 - 1, 3, 1, 1)
            ),
            "more arcs than the file holds",
        ),
    ],
)
def test_errors(tmp_path: Path, data: bytes, problem: str) -> None:
    with pytest.raises(FormatError, match=problem):
        numbered(tmp_path, data)


@given(small_lattices(features=False, exact=True))
def test_round_trip(lattice: Lattice) -> None:
    with tempfile.TemporaryDirectory() as folder:
        back = parsed(Path(folder), written(FORMAT, lattice))
        again = parsed(Path(folder), written(FORMAT, back))
    assert structure(back) == structure(lattice)
    assert parts(again) == parts(back)


@given(small_lattices(features=False, exact=True))
def test_text_and_binary_agree(lattice: Lattice) -> None:
    with tempfile.TemporaryDirectory() as folder:
        binary = parsed(Path(folder), written(FORMAT, lattice), acoustic_scale=0.5)
        (text,) = read_bytes(Path(folder), written(TEXT, lattice), TEXT)  # type: ignore[arg-type]
    found, known = (
        sorted((path.tokens, path.score, path.features.get("graph", 0)) for path in one.paths())
        for one in (binary, text)
    )
    assert found == known


def test_records_across_blocks() -> None:
    arcs = [(1, 1, (0.5, 0.25, tuple(range(50))), 1)] * 2_000
    large = archive([(INFINITE, arcs), ((0, 0), [])])
    found = list(FORMAT.records(io.BytesIO(COMPACT * 3 + large * 2 + SINGLE), "p"))
    assert [record.payload for record in found] == [COMPACT] * 3 + [large] * 2 + [SINGLE]
    assert [record.number for record in found] == list(range(6))


def test_sniffing() -> None:
    assert FORMAT.sniff(COMPACT)
    assert FORMAT.sniff(SINGLE)
    assert all(FORMAT.sniff(archive([((0, 0), [])], name)) for name in ARC_TYPES)
    assert not FORMAT.sniff(COMPACT[6:])
    assert not FORMAT.sniff(archive([((0, 0), [])], "standard"))


@pytest.mark.parametrize("arc_type", ARC_TYPES)
def test_layout_of_what_is_written(tmp_path: Path, arc_type: str) -> None:
    table = tmp_path / "words.txt"
    table.write_text("<eps> 0\nx 6\n")
    lattice = Lattice.from_arcs([(0, 1, "x", -1.5), (0, 1, "y", -2.5)], {1: -0.5}, id="utt-1")
    buffer = io.BytesIO()
    FORMAT.write(buffer, [lattice], None, symbols=table, arc_type=arc_type)  # type: ignore[arg-type]
    first, second = (6, 7) if arc_type.startswith("compact") else (0, 0)
    arcs = [(first, 6, (1.5, 0), 1), (second, 7, (2.5, 0), 1)]
    expected = archive([(INFINITE, arcs), ((0.5, 0), [])], arc_type)
    # all but the property bits
    at = expected.index(struct.pack("<iiQ", 2, 0, 3)) + 8
    assert buffer.getvalue()[:at] == expected[:at]
    assert buffer.getvalue()[at + 8 :] == expected[at + 8 :]


def test_single_precision() -> None:
    with pytest.raises(SpaceError, match="too large for single precision"):
        written(FORMAT, Lattice.from_arcs([(0, 1, "x", -1e300)], [1]))


@given(st.lists(st.integers(-(2**31), 2**31 - 1) | st.integers(0, 9)))
def test_distinct_labels(labels: list[int]) -> None:
    distinct, which = distinct_labels(ints(labels))
    assert distinct.tolist() == list(dict.fromkeys(labels))
    assert distinct[which].tolist() == labels


TABLES = st.dictionaries(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5), st.text(max_size=3))


@given(TABLES.filter(bool), st.none() | st.tuples(st.floats(0, 1), st.binary(max_size=2)))
def test_attached_symbols(table: dict[int, str], damage: tuple[float, bytes] | None) -> None:
    """They are what the reader that takes symbol by symbol finds, or it says what is wrong."""
    data = symbol_bytes(table)
    if damage is not None:
        place = round(damage[0] * len(data))
        data = data[:place] + damage[1] + data[place + len(damage[1]) :]
    fst = COMPACT.replace(struct.pack("<iiQ", 2, 0, 3), struct.pack("<iiQ", 2, 2, 3))
    header = fst.index(struct.pack("<qqq", 0, 3, 0)) + 24
    reader = ByteReader(fst[:header] + data + fst[header:], "f")
    try:
        found = read_fst(reader, read_key(reader, 0))
    except FormatError:
        return
    outcomes: list[Any] = []
    for read in (lambda: found.symbols(reader), reader.symbols):
        reader.place = found.tables[-1]
        try:
            outcomes.append(read())
        except FormatError as problem:
            outcomes.append(str(problem))
    assert outcomes[0] == outcomes[1]
    if damage is None:
        assert outcomes[0] == table


def symbol_bytes(table: dict[int, str]) -> bytes:
    data = struct.pack("<i", 2125658996) + string("words")
    data += struct.pack("<qq", 1, len(table))
    for key, word in table.items():
        coded = word.encode()
        data += struct.pack("<i", len(coded)) + coded + struct.pack("<q", key)
    return data


@pytest.mark.parametrize("shift", ["0.01", "0.5"])
@pytest.mark.parametrize("backward", [False, True])
def test_frames_in_any_order_of_states(tmp_path: Path, shift: str, backward: bool) -> None:
    """The times of states do not depend on how the file numbers them."""
    number = [0, 2, 1] if backward else [0, 1, 2]
    arcs: list[list[Any]] = [[], [], []]
    for src, dst, ids in ((0, 1, (4, 4)), (0, 2, (4, 4, 4)), (1, 2, (5,))):
        arcs[number[src]].append((7, 7, (1.0, 2.0, ids), number[dst]))
    final = [INFINITE] * 3
    final[number[2]] = (0.0, 0.0, ())
    body = list(zip(final, arcs, strict=True))
    lattice = numbered(tmp_path, archive(body), frame_shift=shift)
    assert lattice.times.tolist() == [0.0, 2 * float(shift), 3 * float(shift)]
    assert (lattice.src < lattice.dst).all()
