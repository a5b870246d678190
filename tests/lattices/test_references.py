"""References: Kaldi's layout, plain files, and telling them apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from lattices.errors import FormatError, OptionError
from lattices.formats.references import References, read_references
from lattices.spaces import Lattice
from tests.lattices.comparing import packed

KALDI = b"u2 the cat\nu1 a dog\nu3\n"
PLAIN = b"the cat\n\na dog\n"


def made(folder: Path, *contents: bytes) -> list[Path]:
    paths = []
    for number, data in enumerate(contents):
        path = folder / f"ref{number}"
        path.write_bytes(data)
        paths.append(path)
    return paths


def all_of(references: References, *ids: str) -> list[tuple[str | Lattice, ...]]:
    return [references.get(name, position) for position, name in enumerate(ids)]


def test_by_id_in_any_order(tmp_path: Path) -> None:
    paths = made(tmp_path, KALDI)
    expected = [("a dog",), ("the cat",), ("",)]
    known = read_references(paths, ["u1", "u2", "u3"])
    lazy = read_references(paths)
    told = read_references(paths, format="kaldi")
    assert (known.layout, lazy.layout, told.layout) == ("kaldi", "auto", "kaldi")
    for references in (known, lazy, told):
        assert all_of(references, "u1", "u2", "u3") == expected
        assert references.layout == "kaldi"
        # a subset of the segments may be wanted
        references.finish(2)
        with pytest.raises(FormatError, match="no reference for 'u4' in 3 lines"):
            references.get("u4", 3)
        assert len(references) == 3


def test_by_position(tmp_path: Path) -> None:
    paths = made(tmp_path, PLAIN)
    known = read_references(paths, ["0", "1", "2"])
    lazy = read_references(paths)
    told = read_references(paths, ["the", "1", "2"], format="plain")
    for references in (known, lazy, told):
        assert all_of(references, "0", "1", "2") == [("the cat",), ("",), ("a dog",)]
        references.finish(3)
        with pytest.raises(FormatError, match=r"3 lines, and no reference for segment 4 \('3'\)"):
            references.get("3", 3)


@pytest.mark.parametrize("segments", [0, 2, 4])
def test_left_over_lines_are_never_silent(tmp_path: Path, segments: int) -> None:
    paths = made(tmp_path, PLAIN)
    lazy = read_references(paths)
    lazy.get("0", 0)
    with pytest.raises(FormatError, match=f"ref0: 3 lines for {segments} segments"):
        lazy.finish(segments)
    ids = [str(number) for number in range(segments)]
    if segments:
        with pytest.raises(FormatError, match=f"3 lines for {segments} segments"):
            read_references(paths, ids)
    with pytest.raises(FormatError, match=f"3 lines for {segments} segments|no reference"):
        read_references(paths, ids, format="plain")


def test_neither_layout_tells_counts_and_first_missing(tmp_path: Path) -> None:
    paths = made(tmp_path, KALDI)
    with pytest.raises(
        FormatError, match=r"3 lines for 2 segments, and no line that begins with 'u9'"
    ):
        read_references(paths, ["u1", "u9"])
    repeated = made(tmp_path, b"u1 a\nu1 b\n")
    with pytest.raises(FormatError, match="lines that begin with 'u1' twice"):
        read_references(repeated, ["u1"])
    with pytest.raises(FormatError, match=r"ref0:2: a second line for the id 'u1'"):
        read_references(repeated, format="kaldi")
    # as many lines as segments, but no ids: plain, whatever the words are
    assert all_of(read_references(repeated, ["u1", "u2"]), "u1", "u2") == [("u1 a",), ("u1 b",)]


def test_several_references(tmp_path: Path) -> None:
    paths = made(tmp_path, KALDI, b"u1 x\nu2 y\nu3 z\n")
    assert all_of(read_references(paths), "u1", "u2") == [("a dog", "x"), ("the cat", "y")]
    paths = made(tmp_path, PLAIN, b"x\ny\nz\n")
    assert all_of(read_references(paths), "0", "1") == [("the cat", "x"), ("", "y")]
    # ids in one file and none in the other: both are plain
    paths = made(tmp_path, KALDI, b"x\ny\nz\n")
    assert read_references(paths, ["u1", "u2", "u3"]).get("u1", 0) == ("u2 the cat", "x")
    with pytest.raises(FormatError, match=r"ref1: 2 lines, but 3 in .*ref0"):
        read_references(made(tmp_path, PLAIN, b"x\ny\n"))
    missing = read_references(made(tmp_path, KALDI, b"u1 x\nu2 y\nu4 z\n"), format="kaldi")
    with pytest.raises(FormatError, match="ref1: no reference for 'u3'"):
        missing.get("u3", 0)


def test_marks_line_ends_gzip_and_blanks(tmp_path: Path) -> None:
    (path,) = made(tmp_path, packed(b"\xef\xbb\xbfu1 \t a\xc2\xa0b  c \r\nu2\td\r\n\r\n"))
    references = read_references([path], ["u1", "u2"])
    assert references.layout == "kaldi"
    assert all_of(references, "u1", "u2") == [("a\u00a0b  c",), ("d",)]


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"ref0:2: invalid UTF-8"):
        read_references(made(tmp_path, b"a\n\xff\n"))
    with pytest.raises(FormatError, match="ref0: the file is empty"):
        read_references(made(tmp_path, b""))
    with pytest.raises(FormatError, match="cut short"):
        read_references(made(tmp_path, packed(b"a b c\n" * 10)[:-5]))
    with pytest.raises(FileNotFoundError):
        read_references([tmp_path / "none"])
    with pytest.raises(OptionError, match="one reference file or more"):
        read_references([])
    with pytest.raises(OptionError, match="one reference file or more"):
        read_references("file")
    with pytest.raises(OptionError, match="expected one of auto, kaldi, plain, trn"):
        read_references(made(tmp_path, PLAIN), format="xml")


def test_ids_are_not_taken_for_words(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_text("utt1 a house\nutt2 a home\n")
    with pytest.raises(FormatError, match=r"no line for 'utt1.noisy', though lines begin with"):
        read_references([file]).get("utt1.noisy", 0)
    assert read_references([file], format="plain").get("x", 0) == ("utt1 a house",)
    by_any = read_references([file])
    by_any.settle(["unheard", "utt2"])
    assert by_any.layout == "kaldi"
    with pytest.raises(FormatError, match="no reference for 'unheard'"):
        by_any.get("unheard", 0)
    plain = tmp_path / "plain"
    plain.write_text("3 men\ntwo men\n")
    assert read_references([plain]).get("seg-1", 1) == ("two men",)
