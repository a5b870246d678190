"""Files as streams: gzip by its content, standard input, damage."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from lattices.errors import FormatError
from lattices.formats import (
    read,
)
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
