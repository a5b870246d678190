"""Segments by id."""

from __future__ import annotations

import gzip
import os
import random
from pathlib import Path

import pytest

import lattices
from lattices import Lattice
from lattices.errors import FormatError, OptionError
from lattices.formats import base, lookup
from lattices.formats.json.lines import FORMAT as JSON_LINES

WRITTEN = {
    "jsonl": "x.jsonl",
    "kaldi": "x.ark.txt",
    "kaldi-binary": "x.ark",
    "plf": "x.plf",
    "moses-nbest": "x.nbest",
    "openfst-text": "x.fsts",
}


def some(count: int = 30) -> list[Lattice]:
    draw = random.Random(7)
    names = [f"{'é' if n % 3 else 'u'}{n}" for n in draw.sample(range(100), count)]
    return [
        Lattice.from_arcs([(0, 1, "a", -draw.random()), (0, 1, f"b{n}", -1.0)], finals=[1], id=n)
        for n in names
    ]


@pytest.mark.parametrize("name", ["x.arrow", "x.parquet"])
def test_tables_tell_by_themselves(tmp_path: Path, name: str) -> None:
    pytest.importorskip("pyarrow")
    path, spaces = tmp_path / name, some()
    spaces[5] = spaces[5].replaced(id="")
    lattices.write(path, spaces)
    found = lattices.open(path)
    assert len(found) == len(spaces)
    expected = [each.id or "5" for each in spaces]
    assert list(found) == expected
    for space, id in zip(spaces, expected, strict=True):
        assert (found[id].id, found[id].score.tolist()) == (id, space.score.tolist())
    assert "no such" not in found
    with pytest.raises(KeyError, match="no segment 'no such'"):
        found["no such"]
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("format", ["jsonl", "kaldi-binary", "kaldi"])
def test_an_index_finds_each_segment(tmp_path: Path, format: str) -> None:
    path, spaces = tmp_path / WRITTEN[format], some()
    lattices.write(path, spaces, format=format, lossy=True)
    with pytest.raises(OptionError, match="has no index"):
        lattices.open(path)
    assert len(lattices.open(path, index=True)) == len(spaces)
    found = lattices.open(path)
    assert list(found) == [each.id for each in spaces]
    for space in lattices.read(path):
        assert isinstance(space, Lattice)
        again = found[space.id]
        assert (again.id, again.score.tolist()) == (space.id, space.score.tolist())
    with pytest.raises(KeyError, match="no segment 'no such'"):
        found["no such"]


def test_nothing_else_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, spaces = tmp_path / "x.jsonl", some()
    lattices.write(path, spaces)
    lattices.open(path, index=True)
    parsed: list[int] = []
    real = JSON_LINES.parse

    def watched(record: base.Record, *arguments: object, **more: object) -> object:
        parsed.append(record.number)
        return real(record, *arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(type(JSON_LINES), "parse", staticmethod(watched))
    assert lattices.open(path)[spaces[17].id].id == spaces[17].id
    assert parsed == [17]


def test_segments_of_one_hash_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, spaces = tmp_path / "x.jsonl", some()
    lattices.write(path, spaces)
    real = lookup.digest_ids
    monkeypatch.setattr(lookup, "digest_ids", lambda ids: real([str(len(each)) for each in ids]))
    found = lattices.open(path, index=True)
    assert [found[each.id].id for each in spaces] == [each.id for each in spaces]
    assert "u1234" not in found
    assert "uuu" not in found


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    lattices.write(path, some(3))
    text = path.read_text()
    path.write_text(text + "{broken\n" + text.splitlines(keepends=True)[1])
    with pytest.warns(
        UserWarning, match=r"2 segments are not in the index; the first: .*x.jsonl:4"
    ):
        assert len(lattices.open(path, index=True)) == 3


def test_an_index_is_of_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    lattices.write(path, some(3))
    lattices.open(path, index=True)
    index = tmp_path / ".x.jsonl.index"
    path.write_text(path.read_text() + "\n")
    with pytest.raises(OptionError, match="not the file any more"):
        lattices.open(path)
    for content in (b"", b"nonsense", index.read_bytes()[:100]):
        index.write_bytes(content)
        with pytest.raises(FormatError, match="the index is damaged"):
            lattices.open(path)


def test_what_is_not_read_by_id(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    lattices.write(path, some(3))
    packed = tmp_path / "x.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(OptionError, match="is compressed"):
        lattices.open(packed)
    with pytest.raises(OptionError, match="from plain files"):
        lattices.open(tmp_path)
    with pytest.raises(FileNotFoundError):
        lattices.open(tmp_path / "none")


def test_ids_in_several_files(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    spaces = some()
    lattices.write(tmp_path / "a.arrow", spaces[:10])
    lattices.write(tmp_path / "b.parquet", spaces[10:])
    files = [lattices.open(tmp_path / name) for name in ("a.arrow", "b.parquet")]
    wanted = [spaces[n].id for n in (25, 3, 11, 3)]
    (_, first), (_, second) = lookup.find_all(files, wanted)
    assert [place.number for place in first] == [3]
    assert [place.number for place in second] == [1, 15]
    with pytest.raises(OptionError, match="1 of 2 ids are in none of the files: 'lost'"):
        lookup.find_all(files, ["lost", wanted[0]])
