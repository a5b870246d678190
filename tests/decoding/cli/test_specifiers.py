"""Kaldi's names of tables in the place of files, and its scales."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from decoding.cli.main import main
from lattices import read
from tests.decoding.cli.commandline import words


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    words(tmp_path / "words.txt", "<eps> 0", "a 1", "b 2", "c 3")
    words(tmp_path / "lat.txt", "u1", "0 1 1 1,30,", "0 1 2 3,10,", "1 0,0,", "",
          "u2", "0 1 3 2,10,", "0 1 2 1,40,", "1 0,0,", "")  # fmt: skip
    words(tmp_path / "text", "u1 a", "u2 c")
    return tmp_path


SYMBOLS = ["--option", "symbols=words.txt"]


@pytest.mark.parametrize("name", ["ark:lat.txt", "ark,t:lat.txt", "ark,s,cs:lat.txt", "lat.txt"])
def test_archives(name: str, archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["oracle", name, *SYMBOLS, "--refs", "ark,t:text", "--metric", "wer", "-q"]
    assert main(argv) == 0
    assert capsys.readouterr().out == "u1\t0.0\ta\nu2\t0.0\tc\n"
    assert main([*argv, "-o", "ark,t:-"]) == 0
    assert capsys.readouterr().out == "u1 a\nu2 c\n"


def test_scripts_and_standard_streams(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--write-option", "symbols=words.txt", "--lossy"]
    assert main(["convert", "ark:lat.txt", *SYMBOLS, "-o", "ark:lat.ark", *given]) == 0
    # a key, a blank, and what OpenFst begins with
    assert (archive / "lat.ark").read_bytes()[:7] == b"u1 \xd6\xfd\xb2\x7e"
    words(archive / "lat.scp", "u1 lat.ark:3")
    assert main(["oracle", "scp:lat.scp", *SYMBOLS, "--refs", "text", "--metric", "wer", "-q"]) == 0
    assert capsys.readouterr().out == "u1\t0.0\ta\n"
    argv = [sys.executable, "-m", "fstmetrics", "convert", "ark:-", *SYMBOLS, "-o", "ark,t:-"]
    found = subprocess.run([*argv, *given], input=(archive / "lat.ark").read_bytes(),
                           capture_output=True, check=True)  # fmt: skip
    (archive / "again.txt").write_bytes(found.stdout)
    both = [list(read(archive / name, symbols="words.txt")) for name in ("again.txt", "lat.txt")]
    assert [each.score.tolist() for each in both[0]] == [each.score.tolist() for each in both[1]]


def test_pipes_are_shown_as_shell_lines(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = "ark:touch ran; gunzip -c lat.1.gz |"
    assert main(["oracle", pipe, "--refs", "text", "--metric", "wer"]) == 2
    assert capsys.readouterr().err == (
        f"fstmetrics: error: {pipe!r} names a pipe, which is never run; type: "
        "touch ran; gunzip -c lat.1.gz | fstmetrics oracle - --refs text --metric wer\n"
    )
    out = "ark:| gzip -c > new.gz"
    assert main(["prune", "lat.txt", "--beam", "1", "-o", out]) == 2
    assert capsys.readouterr().err.endswith(
        "type: fstmetrics prune lat.txt --beam 1 -o - | gzip -c > new.gz\n"
    )
    assert main(["prune", "lat.txt", "--beam", "1", "-o", "ark,scp:a.ark,a.scp"]) == 2
    assert "--to kaldi-scp" in capsys.readouterr().err
    assert not (archive / "ran").exists()
    assert not (archive / "new.gz").exists()
    # a file that has such a name is that file
    words(archive / "ark:text", "u1 b")
    assert main(["score", "text", "--refs", "ark:text", "--metric", "wer", "-q"]) in (0, 1)
    assert "100.00" in capsys.readouterr().out


@pytest.mark.parametrize("workers", ["1", "2"])
def test_scales(workers: str, archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["nbest", "lat.txt", "-k", "2", "-o", "o.jsonl", "--workers", workers]
    assert main([*argv, *SYMBOLS, "--acoustic-scale", "0.1", "--word-ins-penalty", "0.5"]) == 0
    scaled = [each.score.round(6).tolist() for each in read("o.jsonl")]
    assert scaled == [[-4.5, -4.5], [-3.5, -5.5]]
    assert main([*argv, *SYMBOLS, "--option", "acoustic_scale=0.1"]) == 0
    assert [each.score.round(6).tolist() for each in read("o.jsonl")] == [
        [score + 0.5 for score in scores] for scores in scaled
    ]
    words(archive / "n.tsv", "u1\t1\t-1.0\ta")
    capsys.readouterr()
    assert main(["nbest", "n.tsv", "-k", "1", "--lm-scale", "2", "-o", "o.jsonl"]) == 2
    told = capsys.readouterr().err
    assert "--lm-scale needs a feature graph or language or ngram or lm; it has none" in told
