"""The codec against OpenFst itself, and against bytes that are not what they say."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.errors import FormatError, OptionError, SpaceError
from lattices.formats.openfst.codec import DecodedFst, FstColumns, decode, decode_symbols, encode

INF = float("inf")
ARC_TYPES = ("standard", "log", "log64")
PER_ARC = ("src", "ilabel", "olabel", "weight", "dst")
HEADER = "<iiQqqq"


@st.composite
def automata(draw: st.DrawFn) -> FstColumns:
    """Draw any automaton: cycles, loops, dead states, arcs in any order, infinite weights."""
    states = draw(st.integers(1, 5))
    numbers = st.integers(0, states - 1)
    weights = st.one_of(st.just(0.0), st.just(INF), st.floats(-100, 100, width=32))
    labels = st.integers(0, 3)
    arcs = draw(st.lists(st.tuples(numbers, labels, labels, weights, numbers), max_size=8))
    columns = list(zip(*arcs, strict=True)) or [(), (), (), (), ()]
    final = draw(st.lists(weights, min_size=states, max_size=states))
    return FstColumns(*columns, final=final, start=draw(numbers))


def assert_same(found: FstColumns, expected: FstColumns) -> None:
    order = np.argsort(expected.src, kind="stable")
    for name in PER_ARC:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name)[order])
    np.testing.assert_array_equal(found.final, expected.final)
    assert found.start == expected.start


def header_place(data: bytes) -> int:
    """Return where the fixed part of the header begins, after the two strings."""
    place = 4
    for _ in range(2):
        place += 4 + struct.unpack_from("<i", data, place)[0]
    return place


def with_header(data: bytes, **changes: int) -> bytes:
    place = header_place(data)
    names = ("version", "flags", "properties", "start", "states", "arcs")
    fields = dict(zip(names, struct.unpack_from(HEADER, data, place), strict=True))
    packed = struct.pack(HEADER, *{**fields, **changes}.values())
    return data[:place] + packed + data[place + len(packed) :]


def small() -> FstColumns:
    return FstColumns([0, 0, 1], [1, 2, 0], [1, 3, 0], [0.5, 1.5, -2.0], [1, 2, 2], [INF, 0.25, 0])


@given(automata(), st.sampled_from(ARC_TYPES))
def test_decoding_undoes_encoding(columns: FstColumns, arc_type: str) -> None:
    found = decode(encode(columns, arc_type))
    assert_same(found, columns)
    assert found.arc_type == arc_type
    assert found.isymbols is None
    assert found.osymbols is None


@given(automata(), st.sampled_from(ARC_TYPES))
def test_openfst_writes_the_same_bytes(columns: FstColumns, arc_type: str) -> None:
    pynini = pytest.importorskip("pynini")
    data = encode(columns, arc_type)
    fst = pynini.Fst.read_from_string(data)
    assert fst.verify()
    assert fst.start() == columns.start
    assert fst.num_states() == columns.num_states
    assert with_header(fst.write_to_string(), properties=0) == with_header(data, properties=0)


@given(automata(), st.sampled_from(ARC_TYPES))
def test_property_bits_are_true(columns: FstColumns, arc_type: str) -> None:
    pynini = pytest.importorskip("pynini")
    data = encode(columns, arc_type)
    (claimed,) = struct.unpack_from("<Q", data, header_place(data) + 8)
    # expanded and mutable only: OpenFst has to find out the rest by itself
    judge = pynini.Fst.read_from_string(with_header(data, properties=3))
    computed = judge.properties(pynini.FST_PROPERTIES, True).value
    assert claimed & ~computed == 0
    decided = ("ACCEPTOR", "EPSILONS", "I_EPSILONS", "O_EPSILONS", "WEIGHTED", "TOP_SORTED")
    for name in decided:
        assert claimed & getattr(pynini, name).value == computed & getattr(pynini, name).value


@given(automata(), st.sampled_from(ARC_TYPES), st.booleans())
def test_const_fsts_are_read(columns: FstColumns, arc_type: str, aligned: bool) -> None:
    pywrapfst = pytest.importorskip("pywrapfst")
    vector = pywrapfst.Fst.read_from_string(encode(columns, arc_type))
    data = pywrapfst.convert(vector, "const").write_to_string()
    if aligned:
        # OpenFst's Python cannot write aligned files, but reads them: it is the judge of these
        body = header_place(data) + struct.calcsize(HEADER)
        state_size, per_arc = (24, 24) if arc_type == "log64" else (20, 16)
        cut = body + state_size * columns.num_states
        assert len(data) == cut + per_arc * columns.num_arcs
        states = data[:body] + bytes(-body % 16) + data[body:cut]
        padded = states + bytes(-len(states) % 16) + data[cut:]
        by_flag, by_version = with_header(padded, flags=4), with_header(padded, version=1)
        again = pywrapfst.Fst.read_from_string(by_flag)
        assert pywrapfst.equal(vector, again, delta=0)
        assert_same(decode(by_version), columns)
        data = by_flag
    assert_same(decode(data), columns)


def test_an_automaton_without_states() -> None:
    nothing = FstColumns([], [], [], [], [], [], start=-1)
    assert decode(encode(nothing)).num_states == 0
    pynini = pytest.importorskip("pynini")
    assert decode(pynini.Fst().write_to_string()).start == -1
    assert pynini.Fst.read_from_string(encode(nothing)).num_states() == 0


@pytest.mark.parametrize("side", ["isymbols", "osymbols"])
def test_symbol_tables_travel(side: str) -> None:
    table = {0: "<eps>", 1: "the", 7: "naïve", 300: "two words"}
    found = decode(encode(small(), **{side: table}))
    assert_same(found, small())
    assert getattr(found, side) == table
    assert getattr(found, ({"isymbols", "osymbols"} - {side}).pop()) is None


def test_openfst_reads_our_symbol_tables_and_we_read_its(tmp_path) -> None:  # type: ignore[no-untyped-def]
    pynini = pytest.importorskip("pynini")
    ours, theirs = {0: "<eps>", 3: "a"}, {0: "ε", 1: "b", 9: "c"}
    fst = pynini.Fst.read_from_string(encode(small(), "log", isymbols=ours, osymbols=theirs))
    assert dict(fst.input_symbols()) == ours
    assert dict(fst.output_symbols()) == theirs
    assert fst.output_symbols().available_key() == 10
    found = decode(fst.write_to_string())
    assert (found.isymbols, found.osymbols) == (ours, theirs)
    fst.output_symbols().write(str(tmp_path / "table.syms"))
    data = (tmp_path / "table.syms").read_bytes()
    assert decode_symbols(data) == theirs
    with pytest.raises(FormatError, match="1 bytes follow"):
        decode_symbols(data + b"x")


def test_states_up_to_the_end_of_the_file() -> None:
    data = encode(small())
    assert_same(decode(with_header(data, states=-1)), small())
    with pytest.raises(FormatError, match="state 2 has more arcs"):
        decode(with_header(data, states=-1)[:-4])


@pytest.mark.parametrize("arc_type", ARC_TYPES)
@pytest.mark.parametrize("table", [None, {0: "<eps>", 1: "word"}])
def test_every_cut_is_an_error(arc_type: str, table: dict[int, str] | None) -> None:
    data = encode(small(), arc_type, osymbols=table)
    for length in range(len(data)):
        with pytest.raises(FormatError, match=r"^cut\.fst: "):
            decode(data[:length], "cut.fst")
    for extra in (1, 4, len(data)):
        with pytest.raises(FormatError, match=f"{extra} bytes follow the last state"):
            decode(data + bytes(extra), "long.fst")


def test_every_cut_of_a_const_fst_is_an_error() -> None:
    pywrapfst = pytest.importorskip("pywrapfst")
    data = pywrapfst.convert(
        pywrapfst.Fst.read_from_string(encode(small(), "log64")), "const"
    ).write_to_string()
    for length in range(len(data)):
        with pytest.raises(FormatError):
            decode(data[:length])
    with pytest.raises(FormatError, match="8 bytes follow the last arc"):
        decode(data + bytes(8))
    place = header_place(data) + struct.calcsize(HEADER) + 12
    with pytest.raises(FormatError, match="share out the arcs"):
        decode(data[:place] + struct.pack("<I", 1) + data[place + 4 :])


@given(st.data())
def test_damaged_bytes_never_escape_as_another_error(data: st.DataObject) -> None:
    whole = encode(small(), osymbols={0: "<eps>", 1: "word"})
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = decode(bytes(damaged))
    except FormatError:
        return
    assert isinstance(found, DecodedFst)
    assert found.num_arcs == 0 or found.dst.max() < found.num_states


@pytest.mark.parametrize("states", [2**62, 10**9, 4, -2])
def test_announced_gigabytes_are_not_believed(states: int) -> None:
    data = encode(small())
    with pytest.raises(FormatError, match=r"states announced|is missing"):
        decode(with_header(data, states=states))
    place = header_place(data) + struct.calcsize(HEADER) + 4
    with pytest.raises(FormatError, match="more arcs than the file holds"):
        decode(data[:place] + struct.pack("<q", states) + data[place + 8 :])


def test_a_const_header_that_announces_gigabytes() -> None:
    data = encode(small()).replace(
        struct.pack("<i", 6) + b"vector", struct.pack("<i", 5) + b"const"
    )
    for changes in ({"states": 2**60}, {"arcs": 2**60}, {"states": -1}, {"arcs": -1}):
        with pytest.raises(FormatError, match="an array would take"):
            decode(with_header(data, **{"states": 0, "arcs": 0, **changes}))


def test_symbol_tables_that_announce_too_much() -> None:
    data = encode(small(), osymbols={0: "<eps>"})
    place = header_place(data) + struct.calcsize(HEADER) + 4 + 9 + 8
    assert struct.unpack_from("<q", data, place) == (1,)
    for size in (2**60, -1):
        with pytest.raises(FormatError, match="symbols announced"):
            decode(data[:place] + struct.pack("<q", size) + data[place + 8 :])


@pytest.mark.parametrize(
    ("arc_type", "message"),
    [
        ("lattice4", "format kaldi-binary"),
        ("compactlattice44", "format kaldi-binary"),
        ("tropicalsparsetuple", "expected one of standard, log, log64$"),
    ],
)
def test_other_arc_types_are_named(arc_type: str, message: str) -> None:
    data = encode(small(), "log")
    renamed = data.replace(
        struct.pack("<i", 3) + b"log", struct.pack("<i", len(arc_type)) + arc_type.encode()
    )
    with pytest.raises(FormatError, match=message):
        decode(renamed)


def test_other_fst_types_and_versions_are_named() -> None:
    data = encode(small())
    with pytest.raises(FormatError, match="FST type 'ngrams', expected vector or const"):
        decode(data.replace(b"vector", b"ngrams"))
    with pytest.raises(FormatError, match="version 9 of vector"):
        decode(with_header(data, version=9))
    with pytest.raises(FormatError, match="magic number"):
        decode(b"no FST at all")
    with pytest.raises(FormatError, match="start state 3"):
        decode(with_header(data, start=3))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weight": [0.0, float("nan"), 0.0]}, "arc 1 has weight nan"),
        ({"weight": [0.0, 0.0, -INF]}, "arc 2 has weight -inf"),
        ({"weight": [1e39, 0.0, 0.0]}, "arc 0 has weight 1e[+]39, which arc type 'standard'"),
        ({"final": [0.0, -INF, 0.0]}, "state 1 has weight -inf"),
        ({"dst": [1, 3, 2]}, "target state 3 of arc 1 is not one of 0..2"),
        ({"src": [0, 0, -1]}, "source state -1 of arc 2"),
        ({"start": 3}, "start state 3"),
        ({"ilabel": [1]}, "1 entries in 'ilabel' for 3 arcs"),
    ],
)
def test_what_cannot_be_encoded(changes: dict[str, object], message: str) -> None:
    fields = {name: getattr(small(), name) for name in (*PER_ARC, "final", "start")}
    with pytest.raises(SpaceError, match=message):
        encode(FstColumns(**{**fields, **changes}))


@pytest.mark.parametrize("bits", [0x7FC00000, 0x7F800001, 0xFF800001])
def test_weights_that_are_no_numbers(bits: int) -> None:
    data = encode(small())
    place = header_place(data) + struct.calcsize(HEADER)
    with pytest.raises(FormatError, match="entry 0 of 'final' is NaN"):
        decode(data[:place] + struct.pack("<I", bits) + data[place + 4 :])


def test_double_precision_where_single_is_too_small() -> None:
    columns = FstColumns([0], [1], [1], [1e39], [1], [INF, 0.1])
    assert decode(encode(columns, "log64")).weight.tolist() == [1e39]
    assert decode(encode(columns, "log64")).final.tolist() == [INF, 0.1]
    with pytest.raises(OptionError, match="arc_type='tropical'"):
        encode(columns, "tropical")
