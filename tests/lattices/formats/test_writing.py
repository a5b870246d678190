"""Writing in any format: whole files, or none."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from lattices.errors import FormatError, OptionError
from lattices.formats import (
    LossWarning,
    read,
    write,
)
from lattices.formats.base import Unsupported
from lattices.spaces import Hypothesis, Lattice, NBest
from lattices.testing import sample_lattices, sample_nbests
from tests.lattices.algorithms.comparing import parts


def test_write_by_suffix_plain_and_gzip(tmp_path: Path) -> None:
    spaces = [*sample_lattices(), *(s.replaced(id="n" + s.id) for s in sample_nbests())]
    for name in ("x.jsonl", "x.jsonl.gz", "y.jsonl.gz"):
        write(tmp_path / name, spaces)
        assert [parts(s) for s in read(tmp_path / name)] == [parts(s) for s in spaces]
    zipped = (tmp_path / "x.jsonl.gz").read_bytes()
    assert gzip.decompress(zipped) == (tmp_path / "x.jsonl").read_bytes()
    assert zipped == (tmp_path / "y.jsonl.gz").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["x.jsonl", "x.jsonl.gz", "y.jsonl.gz"]


def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    write(path, sample_lattices())
    before = path.read_bytes()

    def failing():  # type: ignore[no-untyped-def]
        yield sample_lattices()[0]
        raise RuntimeError("decoder died")

    for target in (path, tmp_path / "new.jsonl.gz"):
        with pytest.raises(RuntimeError, match="decoder died"):
            write(target, failing())
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x.jsonl"]


def test_new_files_have_the_usual_permissions_and_links_stay_links(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    write(tmp_path / "x.jsonl", sample_lattices())
    assert (tmp_path / "x.jsonl").stat().st_mode == plain.stat().st_mode
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "x.jsonl")
    write(tmp_path / "link.jsonl", sample_lattices()[:1])
    assert (tmp_path / "link.jsonl").is_symlink()
    assert len((tmp_path / "x.jsonl").read_bytes().splitlines()) == 1


def test_write_to_standard_output(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    write("-", sample_nbests(), "nbest-tsv")
    assert capsysbinary.readouterr().out.startswith("first\t1\t-0.5\tthe cat's naïve\n".encode())


def test_write_to_a_device() -> None:
    write("/dev/null", sample_lattices(), "jsonl")
    assert not os.path.isfile("/dev/null")


def test_write_one_file_for_each_segment_of_a_directory(tmp_path: Path) -> None:
    write(tmp_path, sample_lattices(), "htk")
    assert sorted(os.listdir(tmp_path)) == ["first.slf", "nothing.slf", "second-1.2.slf"]
    assert [space.id for space in read(tmp_path)] == ["first", "nothing", "second-1.2"]
    with pytest.raises(FormatError, match="one segment a file; write to a directory"):
        write(tmp_path / "two.slf", sample_lattices())
    assert not (tmp_path / "two.slf").exists()
    for name in ("", "../up", ".hidden", "a/b"):
        with pytest.raises(FormatError, match="cannot be a file name"):
            write(tmp_path, [sample_lattices()[0].replaced(id=name)], "htk")


def test_write_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"no format by the suffix of .*x.xyz.*htk, .*jsonl"):
        write(tmp_path / "x.xyz", sample_lattices())
    with pytest.raises(OptionError, match=r"the writer of format jsonl has no option 'indent'"):
        write(tmp_path / "x.jsonl", sample_lattices(), indent=2)
    with pytest.raises(FormatError, match=r"x\.slf: htk holds no NBest"):
        write(tmp_path / "x.slf", sample_nbests())
    with pytest.raises(FormatError, match="nbest-tsv holds no Lattice"):
        write(tmp_path / "x.tsv", sample_lattices())
    with pytest.raises(TypeError, match="Hypothesis is neither"):
        write(tmp_path / "x.jsonl", sample_nbests()[0])  # type: ignore[arg-type]
    assert os.listdir(tmp_path) == []


def rich_nbest() -> NBest:
    return NBest.from_hypotheses(
        [Hypothesis(("new york", "city"), -1.0, {"lm": -2.0})],
        id="a",
        source="die stadt",
        references=["the city"],
        metadata={"hyp": "x"},
    )


def test_losses_are_errors_unless_allowed_and_warned_of_once(tmp_path: Path) -> None:
    spaces = [rich_nbest(), rich_nbest().replaced(id="b")]
    with pytest.raises(FormatError, match=r"x\.tsv: nbest-tsv cannot hold the features of segment"):
        write(tmp_path / "x.tsv", spaces)
    assert os.listdir(tmp_path) == []
    with pytest.warns(LossWarning) as caught:
        write(tmp_path / "x.tsv", spaces, lossy=True)
    (warning,) = caught
    assert str(warning.message) == (
        "nbest-tsv cannot hold, and left out: features (first in segment 'a'); source texts "
        "(first in segment 'a'); references (first in segment 'a'); metadata (first in segment "
        "'a'); words with blanks in them (first in segment 'a')"
    )
    assert warning.filename == __file__
    assert (
        tmp_path / "x.tsv"
    ).read_text() == "a\t1\t-1.0\tnew york city\nb\t1\t-1.0\tnew york city\n"
    (tmp_path / "d").mkdir()
    lattices = [
        Lattice.from_arcs([(0, 1, "a")], [1], id=name, source="x") for name in ("one", "two")
    ]
    with pytest.warns(LossWarning) as caught:
        write(tmp_path / "d", lattices, "htk", lossy=True)
    assert len(caught) == 1


def test_nothing_lost_nothing_said(tmp_path: Path) -> None:
    write(tmp_path / "x.jsonl", [rich_nbest()], lossy=True)
    (back,) = read(tmp_path / "x.jsonl")
    assert parts(back) == parts(rich_nbest())
    assert Unsupported("x").message == ""
