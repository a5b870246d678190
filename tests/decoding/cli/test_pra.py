"""Alignments in sclite's layout: what sclite 2.10 wrote, and writes where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest

from fstmetrics import CER, WER, Normalised
from fstmetrics.alignment.metric import Edit
from fstmetrics.alignment.pra import pra
from fstmetrics.statistics.systems import sclite_aligner
from tests.decoding.cli.commandline import cats, command, words

score = command("score")
oracle = command("oracle")

#: where Debian has the tools of NIST
SCLITE = shutil.which("sclite", path="/usr/lib/sctk/bin") or shutil.which("sclite")

REFERENCES = (
    "the cat sat on the mat and then it slept for a while (s1-u1)",
    "hello world (s2-u1)",
    "well (s1_u2)",
    "(s1-u3)",
)
HYPOTHESES = (
    "a cat satt on mat and then it it slept for awhile (s1-u1)",
    "hello world (s2-u1)",
    "(s1_u2)",
    "uh (s1-u3)",
)
#: by sclite -i rm -l 40, with | for a blank at the end of a line
WRITTEN = """

\t\tDUMP OF SYSTEM ALIGNMENT STRUCTURE

System name:   hyp.trn

Speakers:|
    0:  s1
    1:  s2

Speaker sentences   0:  s1   #utts: 3
id: (s1-u1)
Scores: (#C #S #D #I) 8 3 2 1
REF:  THE cat SAT  on THE mat and then|
HYP:  A   cat SATT on *** mat and then|
Eval: S       S       D               |

>> REF:  ** it slept for A WHILE |
>> HYP:  IT it slept for * AWHILE|
>> Eval: I               D S     |

id: (s1_u2)
Scores: (#C #S #D #I) 0 0 1 0
REF:  WELL|
HYP:  ****|
Eval: D   |

id: (s1-u3)
Scores: (#C #S #D #I) 0 0 0 1
REF:  **|
HYP:  UH|
Eval: I |

Speaker sentences   1:  s2   #utts: 1
id: (s2-u1)
Scores: (#C #S #D #I) 2 0 0 0
REF:  hello world|
HYP:  hello world|
Eval:            |


"""
#: the segments that sclite -i rm -s wrote for words that differ by case
CASE = """\
id: (s1-u1)
Scores: (#C #S #D #I) 1 2 0 0
Attributes: Case_sensitve|
REF:  The cat sat|
HYP:  the cat sad|
Eval: S       S  |

id: (s1-u2)
Scores: (#C #S #D #I) 1 1 0 0
Attributes: Case_sensitve|
REF:  the end|
HYP:  the End|
Eval:     S  |


"""


def aligned(
    references: tuple[str, ...], hypotheses: tuple[str, ...]
) -> list[tuple[str, list[Edit]]]:
    found = []
    for reference, hypothesis in zip(references, hypotheses, strict=True):
        *said, id = hypothesis.split()
        judge = sclite_aligner(WER()).against([reference.split()[:-1]]).judge
        found.append((id.strip("()"), judge(said).edits))
    return found


def test_what_sclite_wrote() -> None:
    found = pra("hyp.trn", aligned(REFERENCES, HYPOTHESES), width=40)
    assert found == WRITTEN.replace("|", " ")


def test_case_that_tells_words_apart() -> None:
    found = pra(
        "hyp.trn",
        aligned(
            ("The cat sat (s1-u1)", "the end (s1-u2)"), ("the cat sad (s1-u1)", "the End (s1-u2)")
        ),
    )
    assert found.endswith(CASE.replace("|", " "))


def test_case_that_does_not() -> None:
    found = pra("hyp.trn", aligned(("THE ÉTÉ SAT (s1-u1)",), ("THE ROßE SAT (s1-u1)",)))
    assert "REF:  the ÉTÉ  sat \nHYP:  the ROßE sat \n" in found


def test_a_word_wider_than_the_line() -> None:
    found = pra("one", aligned(("abcdefghijklmnop q (s-1)",), ("abcdefghijklmnop r (s-1)",)), 10)
    assert "REF:  abcdefghijklmnop \n" in found
    assert ">> REF:  Q \n" in found


def test_aligners() -> None:
    assert str(sclite_aligner(Normalised(WER(), "lower"))) == str(
        Normalised(sclite_aligner(WER()), "lower")
    )
    assert sclite_aligner(CER()) == CER()
    # two substitutions more would cost as many errors, and match less
    edits = sclite_aligner(WER()).against(["x b c"]).judge("b c y").edits
    assert [each.operation for each in edits] == ["deletion", "match", "match", "insertion"]


def test_score(tmp_path: Path) -> None:
    hyps = words(tmp_path / "hyp.trn", *HYPOTHESES)
    refs = words(tmp_path / "ref.trn", *REFERENCES)
    written = tmp_path / "hyp.pra"
    assert score(hyps, "--refs", refs, "--metric", "wer", "--pra", written, "--format", "json") == 0
    assert written.read_text() == pra(str(hyps), aligned(REFERENCES, HYPOTHESES))
    # any metric that aligns words will do, and one that does not is no reason to write half
    assert score(hyps, "--refs", refs, "--metric", "bleu", "wer", "--pra", written) == 0
    table = tmp_path / "table"
    written.unlink()
    assert score(hyps, "--refs", refs, "--metric", "bleu", "--pra", written, "-o", table) == 2
    assert not written.exists()
    assert not table.exists()


def test_normalised(tmp_path: Path) -> None:
    hyps = words(tmp_path / "hyp.trn", "The Cat, (s-1)")
    refs = words(tmp_path / "ref.trn", "the cat (s-1)")
    written = tmp_path / "hyp.pra"
    options = ["--metric", "wer", "--normalize", "lower+punctuation", "--pra", written]
    assert score(hyps, "--refs", refs, *options) == 0
    assert "Scores: (#C #S #D #I) 2 0 0 0" in written.read_text()


def test_oracle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lattices, written = cats(tmp_path / "cats.jsonl", 2), tmp_path / "cats.pra"
    assert oracle(lattices, "--metric", "wer", "-q", "--pra", written) == 0
    assert not capsys.readouterr().err
    first, second = written.read_text().split("\t\tDUMP OF SYSTEM ALIGNMENT STRUCTURE")[1:]
    assert first.startswith("\n\nSystem name:   oracle\n")
    assert first.count("HYP:  the cat \n") == 2
    assert second.startswith("\n\nSystem name:   1-best\n")
    assert second.count("REF:  THE CAT \nHYP:  A   HAT \nEval: S   S   \n") == 2
    assert oracle(lattices, "--metric", "bleu", "-q", "--pra", written, "-o", tmp_path / "out") == 2
    assert not (tmp_path / "out").exists()
    for other in (["--corpus"], ["--at", "1,2"], ["--resume", "-o", tmp_path / "out"]):
        assert oracle(lattices, "--metric", "wer", "--pra", written, *other) == 2
        assert "--pra" in capsys.readouterr().err


def test_the_file_is_no_input(tmp_path: Path) -> None:
    refs = words(tmp_path / "ref.trn", *REFERENCES)
    assert score(refs, "--refs", refs, "--metric", "wer", "--pra", refs) == 2
    assert refs.read_text().startswith("the cat")


@pytest.mark.skipif(SCLITE is None, reason="needs sclite of NIST's SCTK (Debian: sctk)")
@pytest.mark.parametrize("seed", range(20))
def test_sclite_writes_the_same(seed: int, tmp_path: Path) -> None:
    """Byte for byte for its own alignments; and ours, which may be others, are as good as its."""
    rng = Random(seed)
    known = ["".join(rng.choices("abcde", k=rng.randint(1, 9))) for _ in range(30)]
    references, hypotheses = [], []
    for number in range(12):
        said = rng.choices(known, k=rng.randint(0, 300 if number == 0 else 9))
        heard = [rng.choice(known) if rng.random() < 0.2 else word for word in said]
        heard = [word for word in heard if rng.random() < 0.9]
        speaker = rng.choice(["ab", "c", "d9"])
        references.append(" ".join([*said, f"({speaker}-{number})"]))
        hypotheses.append(" ".join([*heard, f"({speaker}-{number})"]))
    hyps = words(tmp_path / "hyp.trn", *hypotheses)
    refs = words(tmp_path / "ref.trn", *references)
    argv = [str(SCLITE), "-r", refs, "trn", "-h", hyps, "trn", "hyp.trn", "-i", "rm"]
    theirs = subprocess.run(
        [*argv, "-o", "pra", "stdout"], capture_output=True, check=True, text=True
    ).stdout
    # the alignments are read from sclite's own file, and written once more
    assert pra("hyp.trn", parsed_pra(theirs)) == theirs
    ours = tmp_path / "ours.pra"
    assert score(hyps, "--refs", refs, "--metric", "wer", "--pra", ours) == 0
    kept = ("id:", "Scores:", "Speaker")
    assert [line for line in ours.read_text().splitlines() if line.startswith(kept)] == [
        line for line in theirs.splitlines() if line.startswith(kept)
    ]


def parsed_pra(text: str) -> list[tuple[str, list[Edit]]]:
    """Return the ids and alignments of a file."""
    found: list[tuple[str, list[Edit]]] = []
    rows: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, _, rest = line.removeprefix(">> ").partition(":")
        if name == "id":
            found.append((rest.strip(" ()"), []))
        elif name in ("REF", "HYP"):
            rows[name] = rest.split()
        if name == "HYP":
            for reference, hypothesis in zip(rows["REF"], rows["HYP"], strict=True):
                was, heard = (each.strip("*").lower() for each in (reference, hypothesis))
                kind = (
                    "insertion" if not was else "deletion" if not heard
                    else "match" if was == heard else "substitution"
                )  # fmt: skip
                found[-1][1].append(Edit(kind, heard, was, float(kind == "match")))
    return found
