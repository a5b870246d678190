"""The warning that references and spaces have no word in common."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from decoding import OracleTask, oracles, run
from decoding.cli.main import main
from fstmetrics import BLEU, CER, WER
from fstmetrics.vocabulary_warning import VocabularyWarning
from lattices import Lattice
from tests.decoding.cli.commandline import lattice_line

ARCS: list[Any] = [(0, 1, "a", -0.1, {"lm": -1.0}), (0, 1, "the", -0.9, {"lm": -2.0})]
NOTHING = "no word of the references occurs in what the decoder said"
CASE = "words of the references occur in what the decoder said in another case only"


def corpus(path: Path, *references: str) -> Path:
    path.write_text(
        "".join(lattice_line(f"s{n}", ARCS, [text]) for n, text in enumerate(references))
    )
    return path


@pytest.mark.parametrize(
    ("references", "expected"),
    [
        (["das haus", "", "ein", "eine", "x"], NOTHING),
        (["THE HOUSE", "", "x", "y", "z"], CASE),
        (["x", "y", "A", "z", "the"], None),
        (["x", "y", "the", "z", "A"], None),
        (["", "", "", "", ""], None),
    ],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_in_python_once(
    references: list[str], expected: str | None, workers: int, tmp_path: Path
) -> None:
    path = corpus(tmp_path / "c.jsonl", *references)
    evaluators = [WER().against([text]) for text in references]
    lattice = Lattice.from_arcs(ARCS, finals=[1])
    for call in (
        lambda: list(run(OracleTask((WER(),)), [path], workers=workers, batch_records=1)),
        lambda: oracles([lattice] * 5, evaluators),
    ):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            assert len(call()) == 5
        assert [warning.category for warning in found] == ([VocabularyWarning] if expected else [])
        assert all(str(warning.message).startswith(str(expected)) for warning in found)


def test_only_where_words_are_compared(tmp_path: Path) -> None:
    lattice = Lattice.from_arcs(ARCS, finals=[1])
    oracles([lattice], [CER().against(["THEM"])])
    path = corpus(tmp_path / "c.jsonl", "THE", "A")
    for metrics in ((CER(),), (BLEU(lowercase=True),)):
        assert len(list(run(OracleTask(metrics), [path]))) == 2
    with pytest.warns(VocabularyWarning, match=CASE):
        list(run(OracleTask((CER(), WER())), [path]))


@pytest.mark.parametrize("command", ["score", "compare"])
def test_systems_once_each(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {"right": "the house", "upper": "THE HOUSE", "other": "das haus"}
    for name, text in texts.items():
        (tmp_path / name).write_text(f"{text}\n" * 40)
    files = [str(tmp_path / name) for name in texts]
    argv = [command, *files, "--refs", files[0], "--metric"]
    assert main([*argv, "wer"]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    assert len(told) == 2
    for line, name, problem in zip(told, files[1:], (CASE, NOTHING), strict=True):
        assert line.startswith(f"fstmetrics: warning: {name}: {problem}")
    assert main([*argv, "cer"]) == 0
    assert "warning" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv",
    [
        ["oracle", "--metric", "wer", "-q"],
        ["mbr", "--metric", "wer"],
        ["choices", "--metric", "wer"],
        ["tune-mbr", "--metric", "wer"],
        ["calibrate"],
        ["train", "--learner", "perceptron", "--metric", "wer"],
        ["rescore", "--weights", "WEIGHTS", "--metric", "wer"],
    ],
    ids=lambda argv: argv[0],
)
@pytest.mark.parametrize("workers", ["1", "2"])
def test_in_the_shell_once(
    argv: list[str], workers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = tmp_path / "weights"
    weights.write_text("lm 1\n")
    command, *options = (str(weights) if word == "WEIGHTS" else word for word in argv)
    if command != "train":
        options += ["--workers", workers]
    for text, problem in (("DAS HAUS", NOTHING), ("THE HOUSE", CASE), ("the house", None)):
        path = corpus(tmp_path / "c.jsonl", *[text] * 40)
        assert main([command, str(path), *options]) == 0
        told = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
        assert len(told) == (problem is not None)
        assert all(line.startswith(f"fstmetrics: warning: {problem}") for line in told)
