"""Kaldi's script files."""

from __future__ import annotations

import io
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from lattices import read, write
from lattices.errors import FormatError, OptionError
from lattices.formats import FORMATS, formats
from lattices.formats.base import Unsupported
from lattices.formats.kaldi.binary import FORMAT as BINARY
from lattices.formats.kaldi.scripts import FORMAT
from lattices.formats.kaldi.text import FORMAT as TEXT
from lattices.spaces import Lattice
from lattices.testing import check_format, sentences
from lattices.vocabulary import Vocabulary
from tests.lattices.algorithms.comparing import packed, parts, problems, words, written

ARCHIVE = b"""utt-1 \n0\t1\ta\t1.5,0,\n1\t0,0,\n
other \n0\t1\tb\t2.5,0,\n1\t0,0,\n
"""
#: behind "utt-1 " and "other "
FIRST, SECOND = ARCHIVE.index(b"\n0\t1\ta"), ARCHIVE.index(b"\n0\t1\tb")


def lattice(word: str, name: str = "") -> Lattice:
    return Lattice.from_arcs([(0, 1, word, -0.5)], [1], id=name)


def test_laws(tmp_path: Path) -> None:
    check_format(FORMAT, write_options={"ark": tmp_path / "lat.ark"})
    options = {"ark": str(tmp_path / "lat.txt"), "binary": "false"}
    check_format(FORMAT, write_options=options)
    table = str(tmp_path / "words.txt")
    check_format(FORMAT, options={"symbols": table}, write_options={**options, "symbols": table})


def test_offsets_written_by_hand(tmp_path: Path) -> None:
    (tmp_path / "a.ark").write_bytes(ARCHIVE)
    assert (FIRST, SECOND) == (6, 34)
    place = str(tmp_path / "a.ark")
    script = f"x {place}:34\r\n\ny\t{place}:6 \n".encode()
    found, wrong = problems(tmp_path, script, "kaldi-scp", acoustic_scale=2)
    assert wrong == []
    assert [one.id for one in found] == ["x", "y"]
    assert [words(one) for one in found] == [["b"], ["a"]]
    assert [one.score.tolist() for one in found] == [[-2.5], [-1.5]]
    first, _ = read(tmp_path / "a.ark", "kaldi", acoustic_scale=2)
    assert parts(found[1]) == {**parts(first), "id": "y"}


@pytest.mark.parametrize("binary", [True, False])
def test_places_that_are_written(tmp_path: Path, binary: bool) -> None:
    ark, scp = tmp_path / "lat 1.ark", tmp_path / "lat.scp"
    known = [lattice("a", "Fräulein"), lattice("b"), lattice("c", "z")]
    write(scp, known, ark=ark, binary=binary)
    lines = scp.read_text("utf-8").splitlines()
    keys = ["Fräulein", "1", "z"]
    assert [line.split(" ", 1)[0] for line in lines] == keys
    data = ark.read_bytes()
    for key, line in zip(keys, lines, strict=True):
        file, _, offset = line.removeprefix(f"{key} ").rpartition(":")
        assert file == str(ark)
        start = int(offset)
        assert data[:start].endswith(f"{key} ".encode())
        assert data[start:].startswith(b"\xd6\xfd\xb2\x7e" if binary else b"\n0\t1\t")
    plain = [one.replaced(id=key) for key, one in zip(keys, known, strict=True)]
    assert data == written(BINARY if binary else TEXT, *plain)
    assert [sentences(one) for one in read(scp)] == [sentences(one) for one in known]


def test_records_are_plain_data(tmp_path: Path) -> None:
    scp = tmp_path / "lat.scp"
    known = [lattice("a", "k"), lattice("b", "l")]
    write(scp, known, ark=tmp_path / "lat.ark")
    with scp.open("rb") as stream:
        found = [pickle.loads(pickle.dumps(one)) for one in FORMAT.records(stream, str(scp))]
    (tmp_path / "lat.ark").unlink()
    back = [FORMAT.parse(one, Vocabulary()) for one in found]
    assert [sentences(one) for one in back] == [sentences(one) for one in known]


def test_folders_that_were_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "old" / "lat").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "old")
    write("all.scp", [lattice("a", "k")], ark="lat/one.ark")
    assert Path("all.scp").read_text() == "k lat/one.ark:2\n"
    os.rename(tmp_path / "old", tmp_path / "new")
    monkeypatch.chdir(tmp_path)
    assert [words(one) for one in read("new/all.scp")] == [["a"]]
    # the current directory comes first, as in Kaldi
    (tmp_path / "lat").mkdir()
    (tmp_path / "lat" / "one.ark").write_bytes(written(BINARY, lattice("b", "k")))
    assert [words(one) for one in read("new/all.scp")] == [["b"]]


def test_files_of_one_lattice(tmp_path: Path) -> None:
    text, binary = ARCHIVE[FIRST:SECOND], written(BINARY, lattice("c", "k"))[2:]
    (tmp_path / "t").write_bytes(text)
    (tmp_path / "t.gz").write_bytes(packed(text))
    (tmp_path / "b.gz").write_bytes(packed(binary))
    (tmp_path / "b").write_bytes(binary)
    (tmp_path / "cut.gz").write_bytes(packed(binary)[:-9])
    (tmp_path / "ark").write_bytes(ARCHIVE)
    names = ("t", "t.gz", "b", "b.gz", "cut.gz", "ark", "t.gz:0")
    script = "".join(f"{name} {tmp_path}/{name}\n" for name in names).encode()
    found, wrong = problems(tmp_path, script, "kaldi-scp")
    assert [words(one) for one in found] == [["a"], ["a"], ["c"], ["c"]]
    assert [one.replace(f"{tmp_path}/", "") for one in wrong] == [
        "5: cut.gz: the gzip file is cut short",
        "6: ark: byte 117, expected 214 of a binary lattice, or a newline",
        "7: t.gz:0: a gzip file cannot be read from an offset on",
    ]


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        ("gunzip -c lat.gz |", "'gunzip -c lat.gz |' is a pipe, and commands are not run"),
        ("touch {}/ran|", "is a pipe"),
        ("| touch {}/ran", "is a pipe"),
        ("-", "'-' is standard input"),
        ("{}/a.ark:6[0:3]", "has a range"),
        ("{}/a.ark[0:3]", "has a range"),
        ("{}/missing.ark:6", "missing.ark:6: No such file or directory"),
        ("{}", "not a regular file"),
        ("{}/fifo:6", "not a regular file"),
        ("/dev/zero:6", "/dev/zero: not a regular file"),
        ("{}/a.ark:56", "a.ark:56: the file ends before, after 56 bytes"),
        ("{}/a.ark:999999999999999999", "the file ends before"),
        ("{}/a.ark:99999999999999999999", "No such file"),
        ("{}/empty:0", "the file ends before, after 0 bytes"),
        ("{}/a.ark:0", "byte 117, expected 214"),
        ("{}/a.ark:7", "byte 48, expected 214"),
        # the ends of lines, after which a part of a lattice would be read
        ("{}/a.ark:19", "no key and blank stand before"),
        ("{}/a.ark:5", "no key and blank stand before"),
        ("{}/a.ark:26", "no key and blank stand before"),
        ("{}/b.ark:0", "byte 107, expected 214"),
        ("{}/inside.ark:8", "no key and blank stand before"),
        ("{}/cut.ark:2", "cut.ark:2: the states of 'bad' have more arcs than the file holds"),
        ("{}/bad.ark:2", "bad.ark:2, line 3: weight 'x', expected graph,acoustic,ids"),
        ("{}/cycle.ark:2", "cycle.ark:2: the lattice has a cycle"),
        ("{}/a\0b:6", "is no name of a file"),
        ("", "1 column, expected a key and a file"),
        ("\udcff:6", "invalid UTF-8"),
    ],
)
def test_one_bad_line_loses_no_other(tmp_path: Path, place: str, problem: str) -> None:
    (tmp_path / "a.ark").write_bytes(ARCHIVE)
    (tmp_path / "b.ark").write_bytes(written(BINARY, lattice("c", "k")))
    (tmp_path / "cut.ark").write_bytes(written(BINARY, lattice("c", "k"))[:-4])
    (tmp_path / "inside.ark").write_bytes(b"k ......" + written(BINARY, lattice("c", "k"))[2:])
    (tmp_path / "bad.ark").write_bytes(b"k \n0 1 a 1,2,\n1 x\n\n")
    (tmp_path / "cycle.ark").write_bytes(b"k \n0 1 a\n1 0 b\n1\n\n")
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "fifo")
    bad = place.replace("{}", str(tmp_path))
    good = f"{tmp_path}/a.ark"
    script = f"one {good}:6\nbad {bad}\ntwo {good}:34\n".encode("utf-8", "surrogateescape")
    found, wrong = problems(tmp_path, script, "kaldi-scp")
    assert [one.id for one in found] == ["one", "two"]
    assert len(wrong) == 1
    assert wrong[0].startswith("2: ")
    assert problem in wrong[0]
    assert not (tmp_path / "ran").exists()


def test_symbol_table_errors_name_the_table(tmp_path: Path) -> None:
    (tmp_path / "a.ark").write_bytes(ARCHIVE)
    table = tmp_path / "words.txt"
    table.write_text("<eps> 0 1\n")
    (tmp_path / "a.scp").write_text(f"k {tmp_path}/a.ark:6\n")
    with pytest.raises(FormatError, match=r"words.txt:1: expected a symbol and its number"):
        list(read(tmp_path / "a.scp", symbols=table))


def test_many_entries_of_one_archive(tmp_path: Path) -> None:
    known = [lattice(f"w{n}", f"k{n}") for n in range(500)]
    write(tmp_path / "l.scp", known, ark=tmp_path / "l.ark")
    back: list[Any] = list(read(tmp_path / "l.scp"))
    assert [words(one) for one in back] == [[f"w{n}"] for n in range(500)]


@pytest.mark.parametrize(
    ("ark", "problem"),
    [
        (None, "written with ark=FILE"),
        ("-", "cannot be named"),
        ("| cat", "cannot be named"),
        ("a\nb", "cannot be named"),
        (" a", "cannot be named"),
        ("", "cannot be named"),
        ("a.ark.gz", "gzip"),
        ("/dev/null", "not a regular file"),
    ],
)
def test_archives_that_cannot_be_written(tmp_path: Path, ark: str | None, problem: str) -> None:
    options = {} if ark is None else {"ark": ark}
    with pytest.raises(OptionError, match=problem):
        write(tmp_path / "l.scp", [lattice("a", "k")], **options)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_of_a_failure(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="has a blank"):
        write(tmp_path / "l.scp", [lattice("a", "k"), lattice("a", "k k")], ark=tmp_path / "l.ark")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OptionError, match="binary is true or false, not 'maybe'"):
        write(tmp_path / "l.scp", [], ark=tmp_path / "l.ark", binary="maybe")


def test_sniffing(tmp_path: Path) -> None:
    assert FORMAT.sniff(b"utt-1 lat.1.ark:6\nutt-2\tlat.1.ark:96\r\nutt-3 la")
    assert FORMAT.sniff(b"utt-1 lat.1.ark:6")
    for other in (b"", b"\n", b"a b\n", b"a b:1\nc d\n", b"a b c:1\n", b":1\n", b"0 1 a:1\n"):
        assert not FORMAT.sniff(other)
    assert not any(
        FORMATS.get(info.name).sniff(b"utt-1 lat.1.ark:6\nutt-2 lat.1.ark:96\n")
        for info in formats()
        if info.access and info.name != "kaldi-scp"
    )
    for info in formats():
        if "write" in info.access and info.kind in ("any", "lattice") and info.name != "kaldi-scp":
            buffer = io.BytesIO()
            # a chain of slots, which formats of confusion networks hold as well
            one = [Lattice.from_arcs([(0, 1, "a", -0.5), (0, 1, "b", -1.5)], [1], id="k")]
            FORMATS.get(info.name).write(buffer, one, Unsupported(info.name, allowed=True))
            assert not FORMAT.sniff(buffer.getvalue()[:4096]), info.name
