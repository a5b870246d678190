"""Kaldi's posterior archives, text and binary."""

from __future__ import annotations

import io
import math
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from lattices.errors import FormatError, OptionError
from lattices.formats import FORMATS, LossWarning, parse_record, read, write
from lattices.formats.base import Unsupported
from lattices.formats.confusion.sausages import FORMAT
from lattices.spaces import Lattice
from lattices.testing import check_format, sentences
from lattices.vocabulary import Vocabulary
from tests.lattices.algorithms.comparing import problems, read_bytes, structure, written
from tests.lattices.formats.parsing import parser
from tests.lattices.formats.test_mesh import confusion_networks, files_of_other_formats, networks

SMALL = "utt1 [ 0 1 ] [ 12 0.91 7 6e-2 0 0.03 ] [ 0 0.98 4 0.02 ] \n"


def in_binary(key: str, slots: list[list[tuple[int, float]]]) -> bytes:
    """Return what Kaldi's WriteBasicType makes of a network."""
    data = key.encode() + b" \0B\4" + struct.pack("<i", len(slots))
    for slot in slots:
        data += b"\4" + struct.pack("<i", len(slot))
        for label, probability in slot:
            data += b"\4" + struct.pack("<i", label) + b"\4" + struct.pack("<f", probability)
    return data


BINARY = in_binary("utt1", [[(0, 1.0)], [(12, 0.91), (7, 0.06), (0, 0.03)], [(0, 0.98), (4, 0.02)]])


parsed = parser(FORMAT, Lattice)


def numbered(data: str | bytes, **options: Any) -> Lattice:
    return parsed(data, labels="numbers", **options)


def test_laws(tmp_path: Path) -> None:
    check_format(FORMAT, confusion_networks())
    table = {"symbols": str(tmp_path / "words.txt")}
    check_format(FORMAT, confusion_networks(), options=table, write_options=table)
    binary = {**table, "binary": "true"}
    check_format(FORMAT, confusion_networks(), options=table, write_options=binary)


def test_files_are_told_from_those_of_others(tmp_path: Path) -> None:
    own = written(FORMAT, *confusion_networks())
    for name, data in files_of_other_formats("sausages"):
        assert not FORMAT.sniff(data[:4096]), name
        for each in (own, BINARY):
            assert not FORMATS.get(name).sniff(each[:4096]), name
    for data in (own, SMALL.encode(), BINARY):
        assert FORMAT.sniff(data)
        labels = "words" if data == own else "numbers"
        assert read_bytes(tmp_path, data, None, labels=labels)
    long = f"utt1 [ {'12 0.1 ' * 2000}] \n".encode()
    assert FORMAT.sniff(long[:4096])
    # a vector of integers, Kaldi's alignments, and a matrix
    assert not FORMAT.sniff(b"utt1 \0B\4" + struct.pack("<iii", 2, 17, 18))
    assert not FORMAT.sniff(b"utt1 \0BFM \4" + struct.pack("<i", 2))
    assert not FORMAT.sniff(b"utt1 12 7 [ 4 ]\n")


@pytest.mark.parametrize("data", [SMALL.encode(), BINARY])
def test_a_network(data: bytes, tmp_path: Path) -> None:
    (lattice,) = read_bytes(tmp_path, data, None, labels="numbers")
    assert lattice.id == "utt1"
    assert structure(lattice)["src"] == [0, 1, 1, 1, 2, 2]
    assert structure(lattice)["words"] == ["", "12", "7", "", "", "4"]
    expected = [math.log(p) for p in (1, 0.91, 0.06, 0.03, 0.98, 0.02)]
    assert lattice.score.tolist() == pytest.approx(expected, abs=1e-6)
    assert lattice.final.tolist()[-1] == 0.0
    with pytest.raises(
        FormatError, match=r"the labels are whole numbers, .* symbols=FILE gives one"
    ):
        read_bytes(tmp_path, data, None)
    table = tmp_path / "words.txt"
    table.write_text("<eps> 0\nfour 4\nseven 7\ntwelve 12\n")
    (named,) = read_bytes(tmp_path, data, "sausages", symbols=table)
    assert structure(named)["words"] == ["", "twelve", "seven", "", "", "four"]
    table.write_text("<eps> 0\nfour 4\nseven 7\n")
    with pytest.raises(FormatError, match="the label 12 of 'utt1' is not in the symbol table"):
        read_bytes(tmp_path, data, "sausages", symbols=table)


def test_labels_that_are_words() -> None:
    lattice = parsed("u [ <eps> 0.5 the 0.25 0 0.25 ]\n")
    assert structure(lattice)["words"] == ["", "the", "0"]
    assert structure(parsed("u [ a\u00a0b 1 ]\n"))["words"] == ["a\u00a0b"]
    # Kaldi's pairs may repeat a label
    assert structure(numbered("u [ 3 0.5 3 0.25 ]\n"))["words"] == ["3", "3"]


def test_several_networks_and_lines(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbfa [ x 1 ]\r\n\r\nnothing\nb [ y 1 ] [ ]\nc [ z 1 ]\n"
    spaces, messages = problems(tmp_path, data, "sausages")
    assert [space.id for space in spaces] == ["a", "nothing", "c"]
    assert messages == ["4: slot 1 of 'b': slot 1 has no alternative above 0"]
    assert list(sentences(spaces[1])) == [()]
    mixed = in_binary("x", [[(1, 0.5)]]) + in_binary("y", []) + SMALL.encode()
    found = read_bytes(tmp_path, mixed, None, labels="numbers")
    assert [space.id for space in found] == ["x", "y", "utt1"]


def test_records_are_cut_alike_whatever_the_blocks() -> None:
    text = b"".join(b"k%d [ 1 0.5 2 0.5 ]\n\n" % number for number in range(30000))
    data = text + b"".join(in_binary(f"b{n}", [[(10, 0.5)] * 9] * 9) for n in range(800))
    records = list(FORMAT.records(io.BytesIO(data), "f"))
    assert len(records) == 30800
    assert b"".join(record.payload for record in records) == data.replace(b"]\n\n", b"]\n")
    assert [record.line for record in records[:30000]] == list(range(1, 60001, 2))
    assert {record.line for record in records[30000:]} == {0}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (SMALL[:-1], "f:1: the file ends within a line"),
        ("u 1 2\n", "f:1: '1' where slot 0 should open by ["),
        ("u [ 1 1 ] 2\n", "f:1: '2' where slot 1 should open by ["),
        ("u [ 1 1\n", "f:1: slot 0 is not closed by ]"),
        ("u [ 1 1 2 ]\n", "f:1: slot 0 is no list of pairs"),
        ("u [ 1 1 ] [ 2 x ]\n", "f:1: probability 'x' in slot 1, expected a number"),
        ("u [ 1 nan ]\n", "f:1: probability 'nan' in slot 0, expected a number"),
        ("u [ 1 -0.5 ]\n", "f:1: slot 0 of 'u': probability -0.5, expected a number from 0"),
        ("u [ 1 inf ]\n", "f:1: slot 0 of 'u': probability inf, expected a number from 0"),
        ("u [ 1 1 ] [ 2 0 ]\n", "f:1: slot 1 of 'u': slot 1 has no alternative above 0"),
        (b"\xff [ 1 1 ]\n", "f:1: the key is not UTF-8"),
        (b"u [ \xff 1 ]\n", "f:1: invalid UTF-8"),
        (in_binary("u", [[(-3, 1.0)]]), "f:1: a negative label in slot 0"),
        (in_binary("u", [[(1, math.nan)]]), "slot 0 of 'u': probability nan, expected a number"),
        (in_binary("u", [[(1, 1.0)]])[:-5] + b"\x08____", "a number of slot 0 is not of 4 bytes"),
    ],
)
def test_errors(data: str | bytes, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        numbered(data)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (BINARY[:-1], "the file ends within a network"),
        (BINARY[:12], "the file ends within a network"),
        (BINARY.replace(b"\4\3\0\0\0", b"\4\xff\xff\xff\x7f"), "the file ends within a network"),
        (BINARY.replace(b"\4\3\0\0\0", b"\4\xff\xff\xff\xff"), "no count after byte"),
        (BINARY.replace(b"B\4\3", b"B\x08\3"), "no count after byte"),
    ],
)
def test_damaged_binary_files(data: bytes, message: str) -> None:
    assert data != BINARY
    with pytest.raises(FormatError, match=message):
        list(FORMAT.records(io.BytesIO(data), "f"))


def test_zeros_are_refused_on_request() -> None:
    text = "u [ 1 1 2 0 ]\n"
    assert list(sentences(numbered(text))) == [("1",)]
    with pytest.raises(FormatError, match="slot 0 of 'u': probability 0, which no path can take"):
        numbered(text, zeros="error")


def test_the_most_probable_comes_first() -> None:
    arcs = [(0, 1, "b", -2.0), (0, 1, "c", 0.0), (0, 1, "", -2.0), (0, 1, "b", 0.0)]
    data = written(FORMAT, Lattice.from_arcs(arcs, [1], id="u"))
    half = repr(math.exp(-2.0))
    assert data.decode() == f"u [ c 1.0 b 1.0 b {half} <eps> {half} ] \n"


@given(networks())
def test_round_trip(network: Lattice) -> None:
    (record,) = FORMAT.records(io.BytesIO(written(FORMAT, network)), "f")
    back = parse_record(FORMAT, record, Vocabulary())
    expected, found = sentences(network), sentences(back)
    assert found.keys() == expected.keys()
    for tokens, scores in expected.items():
        assert found[tokens] == pytest.approx(scores, abs=1e-9)


def test_numbers_and_binary_files(tmp_path: Path) -> None:
    table = str(tmp_path / "words.txt")
    text, binary = tmp_path / "t.sau", tmp_path / "b.sau"
    write(text, confusion_networks(), symbols=table)
    write(binary, confusion_networks(), symbols=table, binary=True)
    assert text.read_bytes().startswith(b"first [ ")
    assert binary.read_bytes().startswith(b"first \0B\4\3\0\0\0\4\2\0\0\0\4")
    for one, other in zip(read(text, symbols=table), read(binary, symbols=table), strict=True):
        assert isinstance(one, Lattice)
        assert isinstance(other, Lattice)
        assert structure(one)["words"] == structure(other)["words"]
        assert one.score.tolist() == pytest.approx(other.score.tolist(), abs=1e-6)


def test_what_cannot_be_written(tmp_path: Path) -> None:
    network = confusion_networks()[0]
    with pytest.raises(OptionError, match="binary=true needs symbols=FILE"):
        write(tmp_path / "f.sau", [network], binary="true")
    with pytest.raises(OptionError, match="binary is true or false, not 'maybe'"):
        write(tmp_path / "f.sau", [network], binary="maybe")
    with pytest.raises(FormatError, match=r"the word ']' means something else here"):
        written(FORMAT, Lattice.from_arcs([(0, 1, "]"), (0, 1, "[")], [1]))
    with pytest.raises(FormatError, match="would be read as others; symbols=FILE keeps them"):
        written(FORMAT, Lattice.from_arcs([(0, 1, "07")], [1]))
    small = Lattice.from_arcs([(0, 1, "a", -100.0)], [1])
    assert written(FORMAT, small).startswith(b"0 [ a 3.7")
    with pytest.raises(FormatError, match="score -100, whose exponential sausages cannot hold"):
        write(tmp_path / "f.sau", [small], symbols=str(tmp_path / "w"), binary="true")
    with pytest.raises(FormatError, match="sausages holds confusion networks, which segment ''"):
        written(FORMAT, Lattice.from_arcs([(0, 1, "a"), (0, 2, "b"), (1, 2, "c")], [2]))
    with pytest.warns(LossWarning, match="times"):
        write(tmp_path / "f.sau", [Lattice.from_arcs([], [0], id="t", times=[1.0])], lossy=True)
    with pytest.raises(FormatError, match="sausages cannot hold the scores of ending"):
        FORMAT.write(io.BytesIO(), [Lattice.from_arcs([], {0: 1.0})], Unsupported("sausages"))
