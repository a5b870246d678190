"""The usual mistakes: one sentence, which names the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from decoding import sample_data
from decoding.cli.main import main
from tests.decoding.cli.commandline import cats, words

#: what is typed, and what the line has to say
MISTAKES = {
    "orcale a.jsonl": "no command 'orcale'; did you mean oracle?",
    "wer hyp refs": "no command 'wer'; did you mean score?",
    "a.jsonl --metric wer": "a.jsonl is a file; a command comes first, as: fstmetrics info a.jsonl",
    "": "no command; 'fstmetrics --help' lists all",
    "oracle a.jsonl --ref refs": "has no option --ref; did you mean --refs",
    "score hyp --refs refs --metrc wer": "has no option --metrc; did you mean --metric?",
    "oracle a.jsonl --metric weer": "no metric named 'weer'; did you mean wer",
    "score hyp --refs refs --format tvs": "did you mean tsv?",
    "study swep": "did you mean sweep?",
    "oracle --refs refs a.jsonl": "type: fstmetrics oracle a.jsonl --refs refs",
    "oracle --metric wer a.jsonl": "type: fstmetrics oracle a.jsonl --metric wer",
    "score hyp": "fstmetrics score needs --refs",
    "score hyp --refs": "argument --refs: expected at least one argument; see: fstmetrics score",
    "score folder --refs refs": "folder is a folder, and a file is wanted",
    "oracle a.jsonl --refs folder": "folder is a folder, and a file is wanted",
    "score LATTICE --refs refs": "one lattice (htk) and no output of a system; 'fstmetrics oracle'",
    "oracle nowhere --refs refs": "nowhere: No such file or directory",
    "compare hyp --refs refs": "a baseline, but no system to compare with it",
    "oracle a.jsonl --metric wer -k 0": "argument -k: 0 is less than 1",
    "oracle ark:cat|": "names a pipe, which is never run; type: cat| fstmetrics oracle -",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_one_sentence(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cats(tmp_path / "a.jsonl", refs=False)
    words(tmp_path / "refs", "the cat", "the cat", "the cat")
    words(tmp_path / "hyp", "the cat", "a cat", "the hat")
    (tmp_path / "folder").mkdir()
    lattice = str(next(iter(sorted(sample_data().glob("*.slf.gz")))))
    before = sorted(tmp_path.iterdir())
    assert main([lattice if word == "LATTICE" else word for word in line.split()]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("fstmetrics: error: ")
    assert MISTAKES[line] in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert sorted(tmp_path.iterdir()) == before
