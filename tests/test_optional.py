"""Packages that are missing: said once, with what to do about it, before any work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import lattices
from tests.decoding.cli.commandline import cats, words

PROGRAM = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == sys.argv[1]:
            raise ImportError("hidden by the test")

sys.meta_path.insert(0, Hidden())

from decoding.corpus import runner
from decoding.cli.main import main

def no_work(*given):
    raise SystemExit("there was work done")

runner._isolated = no_work
sys.exit(main(sys.argv[2:]))
"""


def run(hidden: str, folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, hidden, *argv],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("pyarrow")
    folder = tmp_path_factory.mktemp("extras")
    path = cats(folder / "a.jsonl", 5)
    for suffix in ("parquet", "arrow"):
        lattices.write(folder / f"a.{suffix}", lattices.read(path))
    for name in ("one", "two", "three", "refs"):
        words(folder / name, "the cat", "a hat", "the mat")
    words(folder / "human", "one 1", "two 2", "three 3")
    words(folder / "parses.conllu", "")
    (folder / "vectors.bin").write_bytes(b"1 2\nthe " + bytes(8) + b"\n")
    return folder


@pytest.mark.parametrize(
    ("hidden", "argv", "remedy"),
    [
        ("pyarrow", ["oracle", "a.parquet"], "fstmetrics[arrow]"),
        ("pyarrow", ["oracle", "a.jsonl", "a.arrow", "--workers", "2"], "fstmetrics[arrow]"),
        ("pyarrow", ["info", "a.jsonl", "--input-format", "parquet"], "fstmetrics[arrow]"),
        ("pyarrow", ["convert", "a.jsonl", "-o", "out.parquet"], "fstmetrics[arrow]"),
        ("sacrebleu", ["oracle", "a.jsonl", "--metric", "ter:normalized=true"],
         "fstmetrics[sacrebleu]"),
        ("sacrebleu", ["oracle", "a.jsonl", "--metric", "wer", "ter:no_punct=true"],
         "fstmetrics[sacrebleu]"),
        ("sacrebleu", ["mbr", "a.jsonl", "--refs", "refs", "--metric", "ter:normalized=true"],
         "fstmetrics[sacrebleu]"),
        ("sacrebleu", ["score", "one", "--refs", "refs", "--metric", "bleu:tokenize=13a"],
         "fstmetrics[sacrebleu]"),
        ("sacrebleu", ["train", "a.jsonl", "--metric", "ter:normalized=true", "-o", "out"],
         "fstmetrics[sacrebleu]"),
        ("nltk", ["oracle", "a.jsonl", "--metric", "meteor"], "fstmetrics[stemming]"),
        ("nltk", ["score", "one", "--refs", "refs", "--metric", "maxsim"], "fstmetrics[stemming]"),
        ("matplotlib", ["correlate", "one", "two", "three", "--refs", "refs", "--human", "human",
                        "--plot", "out.png"], "fstmetrics[plot]"),
        ("matplotlib", ["study", "char-bleu", "one", "--refs", "refs", "--plot", "out.png"],
         "fstmetrics[plot]"),
        ("distributed", ["oracle", "a.jsonl", "--dask", "tcp://127.0.0.1:9"], "fstmetrics[dask]"),
        ("pynini", ["oracle", "a.jsonl", "--engine", "openfst"], "pip install pynini"),
        ("spacy", ["oracle", "a.jsonl", "--metric", "bllip:parser=spacy:en_core_web_sm"],
         "pip install spacy"),
        ("conllu", ["oracle", "a.jsonl", "--metric", "bllip:parses=parses.conllu"],
         "fstmetrics[parsing]"),
        ("gensim", ["oracle", "a.jsonl", "--metric", "wer-modif:vectors=vectors.bin"],
         "fstmetrics[embeddings]"),
    ],
)  # fmt: skip
def test_said_once_before_the_work(hidden: str, argv: list[str], remedy: str, folder: Path) -> None:
    before = sorted(os.listdir(folder))
    done = run(hidden, folder, *argv)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("fstmetrics: error: ")
    assert done.stderr.count("\n") == 1
    assert remedy in done.stderr
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize(
    "spec",
    ["bllip:parses=nope.conllu", "wer-modif:vectors=nope.txt", "bleu-modif:vectors=nope.txt"],
)
def test_files_of_metrics_are_looked_for_first(spec: str, folder: Path) -> None:
    done = run("nothing", folder, "oracle", "a.jsonl", "--metric", spec)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "No such file or directory: 'nope." in done.stderr


def test_what_is_not_needed_is_not_missed(folder: Path) -> None:
    """TER needs sacreBLEU for its normalisation alone."""
    lattices.write(
        folder / "plain.jsonl",
        (space.replaced(references=()) for space in lattices.read(folder / "a.jsonl")),
    )
    program = PROGRAM.replace("runner._isolated = no_work", "")
    argv = ["mbr", "plain.jsonl", "-q", "--metric"]
    done = subprocess.run(
        [sys.executable, "-c", program, "sacrebleu", *argv, "ter"],
        capture_output=True, text=True, check=False, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 5
    # and where it is needed in the middle, it ends the run: no segment is at fault
    done = subprocess.run(
        [sys.executable, "-c", program, "sacrebleu", *argv, "ter:normalized=true"],
        capture_output=True, text=True, check=False, cwd=folder,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "segment" not in done.stderr


@pytest.mark.parametrize("flags", [[], ["--workers", "2"]])
@pytest.mark.parametrize(("table", "reason"), [("nope.txt", "No such file"), (".", "Is a dir")])
def test_a_missing_symbol_table_is_to_blame(
    flags: list[str], table: str, reason: str, tmp_path: Path
) -> None:
    space = next(lattices.read(cats(tmp_path / "a.jsonl", 1, refs=False)))
    for name in ("one.fst", "two.fst"):
        lattices.write(tmp_path / name, [space], symbols=str(tmp_path / "words.txt"))
    program = PROGRAM.replace("runner._isolated = no_work", "")
    argv = ["oracle", "one.fst", "two.fst", "--refs", "words.txt", "--option", f"symbols={table}"]
    done = subprocess.run(
        [sys.executable, "-c", program, "nothing", *argv, *flags],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(f"fstmetrics: error: --option symbols={table}: {reason}")
    assert done.stderr.count("\n") == 1
