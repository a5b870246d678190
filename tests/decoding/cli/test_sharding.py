"""Commands that run by shards: when they do, and what they leave."""

from __future__ import annotations

import gzip
import json
import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import lattices
from decoding.cli import sharding
from decoding.cli.main import INTERRUPTED, main
from decoding.corpus import shards as module
from decoding.corpus.inputs import Inputs, parse
from tests.decoding.cli.commandline import cats, words


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


def spaces(folder: Path) -> Path:
    """Write segments, one of them damaged and one there twice."""
    path = cats(folder / "cats.jsonl", 60)
    lines = path.read_text().splitlines(keepends=True)
    lines[11], lines[50] = "{broken\n", lines[2]
    path.write_text("".join(lines))
    return path


@pytest.mark.parametrize(
    "how",
    [
        ["convert", "--to", "jsonl"],
        ["convert", "--to", "kaldi-binary", "--lossy"],
        ["nbest", "-k", "2", "--to", "jsonl"],
        ["sample", "-n", "3", "--to", "moses-nbest", "--lossy"],
        ["prune", "--beam", "0.5", "--to", "kaldi", "--lossy"],
    ],
)
def test_spaces_by_shards_are_the_same(
    tmp_path: Path, how: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = spaces(tmp_path)
    command = [how[0], str(path), *how[1:], "-o"]
    assert main([*command, str(tmp_path / "whole")]) == 1
    said = capsys.readouterr().err
    assert "58 segments written, 2 failed" in said
    for workers in ("1", "2"):
        parts = ["--shards", "7", "--workers", workers]
        assert main([*command, str(tmp_path / "parts"), *parts]) == 1
        assert capsys.readouterr().err == said
        assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["cats.jsonl", "parts", "whole"]


def test_a_folder_of_parquet_files_is_a_corpus(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    path, target = spaces(tmp_path), tmp_path / "corpus.parquet"
    convert = ["convert", str(path), "-o", str(target), "--shards", "4"]
    assert main(convert) == 2
    assert "--partitioned leaves one a shard" in capsys.readouterr().err
    assert main([*convert, "--partitioned"]) == 1
    assert len(list(target.iterdir())) == 4
    back = [space.id for space in lattices.read(target)]
    assert back == [f"s{n}" for n in range(60) if n not in (11, 50)]


def test_spaces_that_are_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = cats(tmp_path / "cats.jsonl", 60)
    command = ["nbest", str(path), "-k", "2", "--to", "jsonl", "--workers", "1"]
    command += ["-o", str(tmp_path / "out")]
    assert main([*command, "--resume"]) == 2
    assert "begin with --shards" in capsys.readouterr().err
    real, done = module.do_shard, []

    def stopping(*arguments: Any) -> Any:
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(1)
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(module, "do_shard", stopping)
        assert main([*command, "--shards", "6"]) == INTERRUPTED
    assert main([*command[:3], "3", *command[4:], "--resume"]) == 2
    assert "begun with k 2, not 3" in capsys.readouterr().err
    assert main([*command, "--resume"]) == 0
    assert "3 of 6 shards were done" in capsys.readouterr().err
    assert main([*command[:-1], str(tmp_path / "whole")]) == 0
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("kind", ["jsonl", "arrow", "ark"])
@pytest.mark.parametrize("shards", [None, "2"])
def test_only_some_ids(
    tmp_path: Path, kind: str, shards: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    path = cats(tmp_path / "cats.jsonl", 60)
    if kind != "jsonl":
        pytest.importorskip("pyarrow")
        path = path.with_suffix("." + kind)
        warnings.simplefilter("ignore")
        lattices.write(path, lattices.read(tmp_path / "cats.jsonl"), lossy=True)
    words(tmp_path / "ids", "s41", "s3", "", " s42")
    words(tmp_path / "refs", *[f"s{n} the cat {n}" for n in range(60)])
    command = [
        "oracle",
        str(path),
        "--refs",
        str(tmp_path / "refs"),
        "--ids",
        str(tmp_path / "ids"),
    ]
    command += ["--metric", "wer", "-o", str(tmp_path / "out")]
    command += ["--shards", shards] if shards else []
    if kind != "arrow":
        assert main(command) == 2
        assert "has no index" in capsys.readouterr().err
        assert main(["info", str(path), "--index"]) == 0
        assert "60 segments can be found by id" in capsys.readouterr().err
    assert main(command) == 0
    lines = (tmp_path / "out").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines] == ["s3", "s41", "s42"]
    words(tmp_path / "ids", "s41", "s99")
    assert main(command) == 2
    assert "1 of 2 ids are in none of the files: 's99'" in capsys.readouterr().err


def test_a_bad_line_that_is_looked_up_has_its_place(tmp_path: Path) -> None:
    path = cats(tmp_path / "cats.jsonl", 9)
    assert main(["info", str(path), "--index"]) == 0
    shown: list[str] = []
    inputs = Inputs([path])
    inputs.choose(["s4", "s7"], {})
    for chunk in inputs.chunks():
        shown += [each.place for each in parse(chunk, lattices.Vocabulary(), {})]
    assert shown == [f"{path}:5", f"{path}:8"]


class Two(ThreadPoolExecutor):
    """An executor as a user may have it."""

    def __init__(self) -> None:
        super().__init__(2)


def none() -> object:
    return object()


def test_any_executor_from_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = spaces(tmp_path)
    command = ["oracle", str(path), "--metric", "wer", "-o"]
    assert main([*command, str(tmp_path / "whole")]) == 1
    by = ["--executor", f"python:{__name__}:Two"]
    assert main([*command, str(tmp_path / "parts"), "--shards", "5", *by]) == 1
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()
    capsys.readouterr()
    assert main([*command, "x", "--executor", f"python:{__name__}:none"]) == 2
    assert "made object, no executor" in capsys.readouterr().err
    assert main([*command, "x", "--workers", "2", *by]) == 2
    assert "exclude one another" in capsys.readouterr().err


def test_partitions_of_a_dataset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = lattices.to_arrow(lattices.read(cats(tmp_path / "cats.jsonl", 10)))
    split = pa.array(["dev"] * 4 + ["test"] * 6)
    folder = tmp_path / "corpus"
    parquet.write_to_dataset(table.append_column("split", split), folder, partition_cols=["split"])
    (folder / "_SUCCESS").touch()
    assert sorted(each.name for each in folder.iterdir()) == ["_SUCCESS", "split=dev", "split=test"]
    assert [space.id for space in lattices.read(folder)] == [f"s{n}" for n in range(10)]
    assert [space.id for space in lattices.read(folder / "split=dev")] == ["s0", "s1", "s2", "s3"]
    assert main(["oracle", str(folder), "-o", str(tmp_path / "out"), "--shards", "2"]) == 0
    assert len((tmp_path / "out").read_text().splitlines()) == 10
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.put(str(folder), "/partitioned", recursive=True)
    assert len([*lattices.read("memory://partitioned")]) == 10


@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_partitions_say_is_a_field_of_the_segments(
    workers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = lattices.to_arrow(lattices.read(cats(tmp_path / "cats.jsonl", 3)))
    # pyarrow quotes the blank
    table = table.append_column("split", pa.array(["dev", "test a", "dev"]))
    folder, summary = tmp_path / "corpus", tmp_path / "summary.json"
    parquet.write_to_dataset(table, folder, partition_cols=["split"])
    assert main(["convert", str(folder), "-o", str(tmp_path / "all.jsonl")]) == 0
    fields = {each.id: each.metadata for each in lattices.read(tmp_path / "all.jsonl")}
    assert fields == {"s0": {"split": "dev"}, "s1": {"split": "test a"}, "s2": {"split": "dev"}}
    for source in (folder, tmp_path / "all.jsonl", folder / "split=dev"):
        out = ["-o", str(tmp_path / "out.tsv"), "--summary", str(summary), "--workers", workers]
        assert main(["oracle", str(source), "--metric", "wer", "--by", "split", *out]) == 0
        groups = json.loads(summary.read_text())["breakdown"]["oracle"]["groups"]
        found = {each["group"]: each["segments"] for each in groups}
        assert found == ({"dev": 2} if source.name == "split=dev" else {"dev": 2, "test a": 1})
