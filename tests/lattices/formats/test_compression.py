"""Compressed files and URLs: what is written is read, and damage is a sentence with its place."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import lattices
from lattices import Lattice
from lattices.errors import FormatError, MissingDependencyError, OptionError
from lattices.formats import streams
from lattices.formats.compression import COMPRESSIONS, Compression
from tests.lattices.formats.test_reading import jsonl


def zstd() -> ModuleType:
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    found: ModuleType = pytest.importorskip(name)
    return found


PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: zstd().compress(data),
}
KINDS = pytest.mark.parametrize("kind", COMPRESSIONS, ids=[each.name for each in COMPRESSIONS])


@KINDS
def test_several_members_whatever_the_name(tmp_path: Path, kind: Compression) -> None:
    pack = PACK[kind.name]
    path = tmp_path / "x.jsonl"
    path.write_bytes(pack(jsonl("a", "b")) + pack(jsonl("c")))
    assert [space.id for space in lattices.read(path)] == ["a", "b", "c"]
    path.write_bytes(pack(b"one\ntw") + pack(b"o\n"))
    assert list(streams.number_lines(str(path))) == [(1, "one"), (2, "two")]


@KINDS
def test_what_is_written_is_read(tmp_path: Path, kind: Compression) -> None:
    spaces = [Lattice.from_arcs([(0, 1, "a")], [1], id=str(place)) for place in range(500)]
    plain, path = tmp_path / "x.jsonl", tmp_path / f"x.jsonl{kind.suffix}"
    lattices.write(plain, spaces)
    lattices.write(path, spaces)
    first = path.read_bytes()
    assert first.startswith(kind.magic)
    assert len(first) < plain.stat().st_size / 4
    with streams.open_input(path) as (_, stream):
        assert stream.read() == plain.read_bytes()
    lattices.write(path, spaces)
    assert path.read_bytes() == first

    def fail() -> object:
        yield spaces[0]
        raise RuntimeError

    with pytest.raises(RuntimeError):
        lattices.write(path, fail())
    assert path.read_bytes() == first
    assert sorted(each.name for each in tmp_path.iterdir()) == ["x.jsonl", path.name]


@KINDS
@pytest.mark.parametrize("cut", [1, 4, 12])
def test_a_file_that_is_cut_short_keeps_what_came_before(
    tmp_path: Path, kind: Compression, cut: int
) -> None:
    path = tmp_path / "x.jsonl"
    pack = PACK[kind.name]
    path.write_bytes(pack(jsonl("a")) + pack(jsonl("b"))[:-cut])
    problems: list[FormatError] = []
    found = [space.id for space in lattices.read(path, "jsonl", on_error=problems.append)]
    assert found[:1] == ["a"]
    assert [str(one) for one in problems] == [f"{path}: the {kind.name} file is cut short"]


@KINDS
def test_a_damaged_file(tmp_path: Path, kind: Compression) -> None:
    path = tmp_path / "x.jsonl"
    pack = PACK[kind.name]
    path.write_bytes(pack(jsonl("a")) + b"garbage, more than a header")
    problems: list[FormatError] = []
    assert [each.id for each in lattices.read(path, on_error=problems.append)] == ["a"]
    ((problem, where),) = [(each.problem.split(":")[0], each.path) for each in problems]
    assert (problem, where) == (f"the {kind.name} file is damaged", str(path))
    whole = pack(jsonl(*map(str, range(300))))
    middle = len(whole) // 2
    for place in range(middle, middle + 8):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with pytest.raises(FormatError, match=r"x\.jsonl.*:"):
            list(lattices.read(path))


@KINDS
def test_a_record_that_unfolds_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Compression
) -> None:
    monkeypatch.setattr(streams, "MOST_UNFOLDED", 1 << 18)
    path = tmp_path / "bomb"
    path.write_bytes(PACK[kind.name](b'{"id": "%s"}\n' % (b"a" * (1 << 22))))
    with pytest.raises(FormatError, match=f"one segment of the {kind.name} file has more than 262"):
        list(lattices.read(path, "jsonl"))
    path.write_bytes(PACK[kind.name](jsonl(*map(str, range(5000)))))
    assert len(list(lattices.read(path))) == 5000


@pytest.mark.parametrize(
    ("head", "name"),
    [(b"\x04\x22\x4d\x18", "lz4"), (b"\x1f\x9d", "compress"), (b"LZIP\x01", "lzip"),
     (b"7z\xbc\xaf\x27\x1c", "7-Zip"), (b"\xff\x06\0\0sNaPpY", "snappy")],
)  # fmt: skip
def test_other_compressions_are_named(tmp_path: Path, head: bytes, name: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(head + b"more")
    with pytest.raises(FormatError, match=rf"x\.jsonl: compressed by {name}.*zstd are$"):
        list(lattices.read(path))
    with pytest.raises(OptionError, match=r"compressed as \.lz4 are not written"):
        lattices.write(tmp_path / "x.jsonl.lz4", [], "jsonl")
    assert [each.name for each in tmp_path.iterdir()] == ["x.jsonl"]


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.jsonl.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd")
    for module in ("compression.zstd", "backports.zstd", "fsspec"):
        monkeypatch.setitem(sys.modules, module, None)
    sentence = r"is needed here and cannot be imported .*pip install 'fstmetrics\[{}\]'$"
    with pytest.raises(MissingDependencyError, match=sentence.format("zstd")):
        list(lattices.read(path))
    with pytest.raises(MissingDependencyError, match=sentence.format("zstd")):
        lattices.write(tmp_path / "y.jsonl.zst", [])
    with pytest.raises(MissingDependencyError, match=sentence.format("urls")):
        list(lattices.read("memory://x.jsonl"))
    assert [each.name for each in tmp_path.iterdir()] == ["x.jsonl.zst"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.xz", "a.arrow", "a.parquet", "a.jsonl.gz"])
def test_urls(name: str, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    spaces = [Lattice.from_arcs([(0, 1, "a")], [1], id=str(place)) for place in range(3)]
    url = f"memory://{tmp_path.name}/{name}"
    lattices.write(url, spaces)
    assert [each.id for each in lattices.read(url)] == ["0", "1", "2"]
    assert [each.id for each in lattices.read(f"memory://{tmp_path.name}")] == ["0", "1", "2"]
    system = fsspec.filesystem("memory")
    before = system.cat(url)

    def fail() -> object:
        yield spaces[0]
        raise RuntimeError

    with pytest.raises(RuntimeError):
        lattices.write(url, fail())
    assert system.cat(url) == before
    stamp = streams.stamp_remote(url)
    lattices.write(url, spaces[:1])
    assert streams.stamp_remote(url) != stamp
    system.rm(f"/{tmp_path.name}", recursive=True)


def test_urls_that_cannot_be_read(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(FileNotFoundError, match=r"No such file or directory: 'memory://none'"):
        list(lattices.read("memory://none"))
    with pytest.raises(OptionError, match=r"^nope://a: Protocol not known: nope"):
        list(lattices.read("nope://a"))
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(gzip.compress(jsonl("a"))[:-3])
    with pytest.raises(FormatError, match=rf"^file://{path}: the gzip file is cut short"):
        list(lattices.read(f"file://{path}"))
