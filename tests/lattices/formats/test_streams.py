"""Files as streams: gzip by its content, standard input, damage."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from lattices.errors import FormatError
from lattices.formats import (
    read,
    streams,
)
from lattices.formats.openfst.symbols import read_symbols
from tests.lattices.algorithms.comparing import packed
from tests.lattices.formats.test_reading import SLF, jsonl


def test_gzip_is_told_by_content_not_by_name(tmp_path: Path) -> None:
    (tmp_path / "text.gz").write_bytes(jsonl("a"))
    (tmp_path / "zipped.jsonl").write_bytes(packed(jsonl("b")))
    assert [space.id for space in read(tmp_path)] == ["a", "b"]


@pytest.mark.parametrize("cut", [1, 4, 30])
def test_truncated_gzip_keeps_what_came_before(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "x.jsonl.gz"
    # the first line is its own member, so it is complete whatever happens to the second
    path.write_bytes(packed(jsonl("a")) + packed(jsonl("b"))[:-cut])
    problems: list[FormatError] = []
    found = [space.id for space in read(path, "jsonl", on_error=problems.append)]
    assert found == (["a"] if cut == 30 else ["a", "b"])
    assert [str(one) for one in problems] == [f"{path}: the gzip file is cut short"]
    with pytest.raises(FormatError, match="cut short"):
        list(read(path, "jsonl"))


def test_damaged_gzip(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(packed(jsonl("a")) + b"garbage")
    problems: list[FormatError] = []
    assert [space.id for space in read(path, on_error=problems.append)] == ["a"]
    assert [one.problem.split(":")[0] for one in problems] == ["the gzip file is damaged"]
    path.write_bytes(packed(jsonl("a")) + bytes(512))
    assert [space.id for space in read(path)] == ["a"]
    whole = packed(jsonl("a", "b", "c"))
    path.write_bytes(whole[:-8] + bytes(4) + whole[-4:])
    with pytest.raises(FormatError, match=r"x\.gz: the gzip file is damaged"):
        list(read(path))
    path.write_bytes(b"\x1f\x8b")
    with pytest.raises(FormatError, match=r"x\.gz: the gzip file is cut short"):
        list(read(path))


def test_standard_input_delivered_byte_by_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dribble(io.BytesIO):
        def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
            return super().readinto(buffer[:1])

    class Input:
        def __init__(self, data: bytes) -> None:
            self.buffer = io.BufferedReader(Dribble(data))  # type: ignore[arg-type]

    for data in (jsonl("a", "b"), packed(jsonl("a", "b"))):
        monkeypatch.setattr(sys, "stdin", Input(data))
        assert [space.id for space in read("-")] == ["a", "b"]
    monkeypatch.setattr(sys, "stdin", Input(SLF))
    assert [space.id for space in read("-")] == ["0"]
    monkeypatch.setattr(sys, "stdin", Input(b"{}\n"))
    with pytest.raises(FormatError, match="<stdin>:1: no 'arcs'"):
        list(read("-"))


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("jsonl", b'{"id": "x", "more": "%s"}\n'),
        ("kaldi", b"x\n%s\n\n"),
        ("openfst", b"\xd6\xfd\xb2\x7e%s"),
    ],
)
def test_a_record_that_unfolds_to_too_much_is_refused(tmp_path, monkeypatch, name, record) -> None:
    """Whatever a record is in the format: a line, several lines, the whole file."""
    monkeypatch.setattr(streams, "MOST_UNFOLDED", 1 << 18)
    filling = b"0 1 a 1,1,\n" if name == "kaldi" else b"a"
    path = tmp_path / "bomb.gz"
    path.write_bytes(packed(record % (filling * (1 << 19))))
    with pytest.raises(FormatError, match=r"bomb\.gz: one segment .* more than 262,144 bytes"):
        list(read(path, name))


def test_many_records_may_unfold_to_more(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(streams, "MOST_UNFOLDED", 1 << 18)
    path = tmp_path / "good.gz"
    path.write_bytes(packed(jsonl(*map(str, range(5000)))))
    assert len(list(read(path))) == 5000
    words = tmp_path / "words.gz"
    words.write_bytes(packed(b"a b\n" * (1 << 18)))
    assert sum(1 for _ in streams.number_lines(str(words))) == 1 << 18
    words.write_bytes(packed(b"a b" * (1 << 18)))
    with pytest.raises(FormatError, match="one line of the gzip file"):
        list(streams.number_lines(str(words)))
    words.write_bytes(packed(b"a 1\n" * (1 << 18)))
    with pytest.raises(FormatError, match=r"words\.gz: one segment"):
        read_symbols(str(words))
