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
    "score hyp --ref=refs": "has no option --ref; did you mean --refs",
    "score hyp -r refs": "has no option -r; did you mean --refs?",
    "score hyp --refs refs --metric wer,cer": "between blanks, as --metric wer cer",
    "nbest a.jsonl -n 10": "has no option -n; did you mean -k?",
    "help score": "it is an option: fstmetrics score --help",
    "-v oracle a.jsonl": "options stand behind the command, as: fstmetrics oracle -v",
    "convert a.jsonl out.jsonl": "out.jsonl: No such file or directory; what is written goes to -o",
    "oracle *.slf --refs refs": "*.slf: No such file or directory; the shell found no file that",
    "tune a.jsonl --refs refs --lmwt 7-17": "'7-17' is not a number; a range is 7,8,...,17",
    "find the cat a.jsonl": "stands in quotes, as: fstmetrics find 'the cat' a.jsonl",
    "find a.jsonl": "a phrase comes first, then files; type: fstmetrics find 'half",
    "confusion a.jsonl --format json": "did you mean jsonl?",
    "oracle a.jsonl --metrics wer": "has no option --metrics; did you mean --metric?",
    "oracle empty --refs refs": "empty: the directory holds no files to read",
    "mbr a.jsonl --scale abc": "argument --scale: invalid number value: 'abc'",
    "score hyp --refs refs -o nowhere/x": "nowhere: no such directory",
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
    (tmp_path / "empty").mkdir()
    lattice = str(next(iter(sorted(sample_data().glob("*.slf.gz")))))
    before = sorted(tmp_path.iterdir())
    assert main([lattice if word == "LATTICE" else word for word in line.split()]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("fstmetrics: error: ")
    assert MISTAKES[line] in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert sorted(tmp_path.iterdir()) == before
