"""Commands that run by shards: when they do, and what they leave."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from decoding.cli import sharding
from decoding.cli.main import main
from tests.decoding.cli.commandline import cats


def test_a_folder_of_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = cats(tmp_path / "cats.jsonl", 50)
    assert main(["oracle", str(path), "-o", str(tmp_path / "whole.tsv")]) == 0
    command = ["oracle", str(path), "--shards", "4", "--partitioned", "--workers", "2", "-o"]
    assert main([*command, str(tmp_path / "parts.tsv.gz")]) == 0
    parts = sorted((tmp_path / "parts.tsv.gz").iterdir())
    assert [part.name for part in parts] == [f"part-{n:05}.tsv.gz" for n in range(4)]
    together = b"".join(gzip.decompress(part.read_bytes()) for part in parts)
    assert together == (tmp_path / "whole.tsv").read_bytes()
    capsys.readouterr()
    assert main([*command, str(tmp_path / "parts.tsv.gz")]) == 2
    assert "no empty folder" in capsys.readouterr().err
    assert main([*command, str(tmp_path / "other")]) == 0
    assert {part.suffix for part in (tmp_path / "other").iterdir()} == {".tsv"}


def test_large_inputs_are_sharded_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = cats(tmp_path / "cats.jsonl", 50)
    monkeypatch.setattr(sharding, "SHARDED", 1000)
    assert main(["oracle", str(path), "-o", str(tmp_path / "one"), "-v"]) == 0
    assert "shards" not in capsys.readouterr().err
    command = ["oracle", str(path), "-o", str(tmp_path / "two"), "-v", "--workers", "2"]
    assert main(command) == 0
    assert "50 segments in 16 shards" in capsys.readouterr().err
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    for other in (["--top", "3"], ["--format", "csv"]):
        assert main([*command, *other]) == 0
        assert "shards" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ([], "say which by -o OUT"),
        (["-o", "OUT", "--format", "csv"], "csv is written as a whole"),
        (["-o", "OUT", "--top", "3"], "every result is looked at"),
        (["-", "-o", "OUT"], "standard input cannot be cut"),
        (["-o", "memory://x/y"], "say which by -o OUT"),
    ],
)
def test_what_cannot_be_sharded(
    wrong: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = cats(tmp_path / "cats.jsonl")
    some = [str(tmp_path / "out") if each == "OUT" else each for each in wrong]
    assert main(["oracle", str(path), *some, "--shards", "2"]) == 2
    assert problem in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["cats.jsonl"]
