"""``fstmetrics study``: BLEU in characters, sweeps, and pictures of curves."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import pytest

from decoding.cli.option_table import values
from decoding.plots import Curve, Panel, line_plots
from fstmetrics import BLEU, GRR, TBLEU, corpus_score
from fstmetrics.statistics import correlate
from fstmetrics.statistics.studies import char_bleu_study
from lattices.errors import OptionError
from tests.decoding.cli.commandline import command, words

REFS = ["the cat sat down", "on the mat it slept", "and slept there today", "all day long"]
OUTPUTS = {
    "good": ["the cat sat down", "on the mat it sleeps", "and slept", "all day long"],
    "fair": ["the cats sat down", "on mat it slept", "and slept there", "all the days long"],
    "poor": ["a hat sat", "on a mat", "slept today", "every day"],
}
HUMAN = {"good": 0.7, "fair": 0.8, "poor": -0.2}


run = command()


@pytest.fixture
def systems(tmp_path: Path) -> list[Path]:
    return [words(tmp_path / f"test.{name}.7.de-en.txt", *OUTPUTS[name]) for name in OUTPUTS]


@pytest.fixture
def refs(tmp_path: Path) -> Path:
    return words(tmp_path / "refs", *REFS)


@pytest.fixture
def human(tmp_path: Path) -> Path:
    return words(tmp_path / "human", *(f"{name} {score}" for name, score in HUMAN.items()))


# BLEU in characters


def judge(**options: object) -> list:
    everything = [line for lines in OUTPUTS.values() for line in lines]
    references = [[line] for line in REFS] * len(OUTPUTS)
    return char_bleu_study(everything, references, **options)  # type: ignore[arg-type]


def test_char_bleu_as_json(systems, refs, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--max-n", 2, "--max-m", 6, "--spaces", "drop", "--share", 0.5, "--format", "json"]
    metric = ["--metric", "bleu:lowercase=true"]
    assert run("study", "char-bleu", *systems, "--refs", refs, *metric, *flags) == 0
    found = json.loads(capsys.readouterr().out)
    expected = judge(base=BLEU(lowercase=True), max_n=2, max_m=6, spaces=False, share=0.5)
    assert found["segments"] == 12
    assert found["characters"].startswith("bleu:order=6,")
    assert "spaces=false" in found["characters"]
    for one, same in zip(found["equivalents"], expected, strict=True):
        assert one["order"] == same.order
        assert one["best_pearson"] == same.best_pearson
        assert one["best_kappa"] == same.best_kappa
        assert one["first_below"] == same.first_below
        assert one["pearson"] == pytest.approx(same.pearson)
        assert one["kappa"] == pytest.approx(same.kappa)
        assert one["below"] == (pytest.approx(same.below) if same.below else None)


def test_char_bleu_as_tables(systems, refs, capsys: pytest.CaptureFixture[str]) -> None:
    expected = judge(max_m=5)
    argv = ["study", "char-bleu", *systems, "--refs", refs, "--max-m", 5]
    assert run(*argv) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        "words",
        "by",
        "Pearson",
        "r",
        "by",
        "kappa",
        "kappa",
        "by",
        "90",
        "%",
    ]
    cells = lines[1].split()
    assert cells[0] == "1"
    assert int(cells[1]) == expected[0].best_pearson
    assert float(cells[2]) == pytest.approx(max(expected[0].pearson), abs=1e-3)
    assert "12 segment scores" in lines[-2]
    assert "--max-m" in lines[-1]
    assert run(*argv, "--format", "tsv") == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["words", "characters", "pearson", "kappa", "below"]
    assert len(rows) == 1 + 4 * 5
    assert rows[1][4] == ""
    assert float(rows[6][4]) == expected[1].below[0]
    assert run(*argv, "--format", "latex") == 0
    assert r"\begin{tabular}" in capsys.readouterr().out


def test_char_bleu_is_of_bleu(systems, refs, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("study", "char-bleu", *systems, "--refs", refs, "--metric", "wer") == 2
    assert "the study is of bleu" in capsys.readouterr().err
    assert run("study", "char-bleu", *systems, "--refs", refs, "--share", "2") == 2
    assert "share=2" in capsys.readouterr().err


# sweeps


def test_sweep_with_people(systems, refs, human, capsys: pytest.CaptureFixture[str]) -> None:
    option = ["--metric", "tbleu:order=1", "--option", "epsilon", "--values", "0,0.25,...,1"]
    flags = ["--human", human, "--samples", 20, "--format", "json"]
    assert run("study", "sweep", *systems, "--refs", refs, *option, *flags) == 0
    found = json.loads(capsys.readouterr().out)
    assert [point["value"] for point in found["points"]] == [0, 0.25, 0.5, 0.75, 1]
    assert list(found["human"].values()) == list(HUMAN.values())
    for point in found["points"]:
        metric = TBLEU(order=1, epsilon=point["value"])
        references = [[line] for line in REFS]
        scores = [corpus_score(metric, lines, references) for lines in OUTPUTS.values()]
        assert point["metric"] == str(metric)
        assert list(point["scores"].values()) == pytest.approx(scores)
        assert point["pearson"] == pytest.approx(correlate(list(HUMAN.values()), scores).value)
        assert point["interval"][0] <= point["interval"][1]


def test_sweep_tables(systems, refs, human, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["study", "sweep", *systems, "--refs", refs, "--metric", "grr", "--option", "n"]
    assert run(*argv, "--values", "1,2") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["n", "good", "fair", "poor"]
    expected = corpus_score(GRR(n=2), OUTPUTS["fair"], [[line] for line in REFS])
    assert lines[2].split()[2] == f"{expected:.4f}"
    assert run(*argv[:-1], "alpha", "--values=-0.9,0") == 0
    assert capsys.readouterr().out.splitlines()[1].split()[0] == "-0.9"
    assert run(*argv, "--values", "1,2", "--format", "tsv", "--human", human) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert rows[0][:5] == ["metric", "option", "value", "system", "score"]
    assert rows[0][5:] == ["human", "pearson", "low", "high"]
    assert len(rows) == 1 + 2 * 3
    assert rows[5][0] == "grr:n=2,alpha=1,beta=0"
    assert float(rows[5][4]) == expected
    assert float(rows[5][5]) == HUMAN["fair"]
    assert run(*argv, "--values", "1", "--format", "latex", "--human", human) == 0
    assert "Pearson" in capsys.readouterr().out


def test_systems_without_scores_are_left_out(
    systems, refs, tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    extra = words(tmp_path / "test.extra.7.de-en.txt", *REFS)
    scores = {**HUMAN, "unknown": 0.3}
    human = words(tmp_path / "more", *(f"{name} {score}" for name, score in scores.items()))
    argv = ["study", "sweep", "--metric", "grr", "--option", "alpha", "--values", "1", "--human"]
    argv += [human, "--format", "json", "--refs", refs, "--"]
    assert run(*argv, *systems, extra) == 0
    printed = capsys.readouterr()
    assert "unknown: no file of this name; left out" in printed.err
    assert "extra.7.de-en.txt: no human score; left out" in printed.err
    assert len(json.loads(printed.out)["points"][0]["scores"]) == 3
    assert run(*argv, *systems[:2]) == 2
    assert "scores of 2 of the systems, expected 3 or more" in capsys.readouterr().err


def test_constant_scores_are_undefined_not_an_error(
    refs, human, tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    same = [words(tmp_path / f"x.{name}.txt", *REFS) for name in OUTPUTS]
    argv = ["study", "sweep", *same, "--refs", refs, "--human", human, "--metric", "grr"]
    assert run(*argv, "--option", "alpha", "--values", "1") == 0
    printed = capsys.readouterr()
    assert "alpha=1: the correlation is undefined: the metric says 1 for all" in printed.err
    assert "undefined" in printed.out
    assert run(*argv, "--option", "alpha", "--values", "1", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["points"][0]["pearson"] is None


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--option", "gamma", "--values", "1"], "grr has no numeric option 'gamma'"),
        (["--option", "n", "--values", "1.5"], "whole number"),
        (["--option", "n", "--values", "0,1,...,2.5"], "do not lead to 2.5"),
        (["--option", "n", "--values", "1", "--plot", "x.gif"], "a picture ends in"),
        (["--option", "n", "--values", "1", "--plot", "-"], "--plot is a file"),
        (["--option", "n", "--values", "1", "--plot", "nowhere/x.svg"], "no such directory"),
        (["--values", "1"], "--option"),
    ],
)
def test_wrong_sweeps(systems, refs, flags, message, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("study", "sweep", *systems, "--refs", refs, "--metric", "grr", *flags) == 2
    assert message in capsys.readouterr().err


def test_people_who_judge_segments_are_refused(
    systems, refs, tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    human = words(tmp_path / "human", "good 1 0.5", "fair 1 0.2", "poor 1 0.1")
    argv = ["study", "sweep", *systems, "--refs", refs, "--human", human, "--metric", "grr"]
    assert run(*argv, "--option", "n", "--values", "1") == 2
    assert "scores of segments, expected one for each system" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["study"], ["study", "sweep"], ["study", "nothing"]])
def test_usage(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*argv) == 2
    assert "usage: fstmetrics study" in capsys.readouterr().err


def test_missing_inputs(refs, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("study", "char-bleu", "--refs", refs) == 2
    assert "no HYPS given" in capsys.readouterr().err


# lists of values


def test_values_in_equal_steps() -> None:
    assert values("0,0.05,...,1") == [step / 20 for step in range(21)]
    assert values("1, 0.5, ..., 0, 7") == [1, 0.5, 0, 7]
    assert values("3") == [3]
    assert values("1,2,...,3") == [1, 2, 3]


@pytest.mark.parametrize(
    "text", ["", "a", "0,...,1", "0,1,...", "...", "0,0,...,1", "0,1,...,0.5", "1,1", "inf", "0,,1",
             "0,1e-9,...,1", "0,1,...,...,3"],
)  # fmt: skip
def test_lists_that_are_none(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        values(text)


# pictures


@pytest.mark.parametrize(("suffix", "head"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_plots(systems, refs, human, tmp_path, suffix: str, head: bytes) -> None:
    pytest.importorskip("matplotlib")
    orders, thresholds = tmp_path / f"orders.{suffix}", tmp_path / f"thresholds.{suffix}"
    out = ["-o", tmp_path / "table"]
    assert run("study", "char-bleu", *systems, "--refs", refs, "--plot", orders, *out) == 0
    option = ["--metric", "grr", "--option", "alpha", "--values", "0,1", "--human", human]
    assert run("study", "sweep", *systems, "--refs", refs, *option, "--plot", thresholds, *out) == 0
    for picture in (orders, thresholds):
        assert picture.read_bytes().startswith(head)
    if suffix == "svg":
        text = orders.read_text(encoding="utf-8")
        assert "kappa over ten grades" in text
        assert "4 words" in text
        assert "Correlation with people" in thresholds.read_text(encoding="utf-8")


def test_the_same_curves_are_the_same_bytes() -> None:
    pytest.importorskip("matplotlib")
    curves = [Curve("_a$b", [1.0, math.nan], mark=1), Curve("", [2.0, 3.0], [1.5, 2.5], [3, 4], 0)]
    panel = Panel("title", "across", "upwards", [0.0, 1.0], curves, 0.5)
    first = line_plots([panel, panel], "svg")
    assert first == line_plots([panel, panel], "svg")
    assert b"a$b" in first
    many = Panel("many", "x", "y", [1.0], [Curve(str(n), [n]) for n in range(12)])
    assert line_plots([many], "png").startswith(b"\x89PNG")
    with pytest.raises(OptionError, match="nothing to plot"):
        line_plots([])


def test_real_outputs(shared_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sweep over three systems of WMT15 agrees with BLEU at 0."""
    folder = shared_data / "wmt15" / "fr-en"
    some = [next(folder.glob(f"*2015.online-{letter}.*")) for letter in "ABE"]
    (reference,) = folder.glob("*-ref.*")
    human = shared_data / "wmt15" / "wmt15.fre-eng.txt"
    argv = ["study", "sweep", *some, "--refs", reference, "--human", human, "--samples", 10]
    argv += ["--metric", "tbleu", "--option", "epsilon", "--values", "0", "--format", "json"]
    assert run(*argv) == 0
    (point,) = json.loads(capsys.readouterr().out)["points"]
    # the files begin with a byte order mark
    lines = [path.read_text(encoding="utf-8-sig").split("\n") for path in (some[0], reference)]
    expected = corpus_score(BLEU(), lines[0][:-1], [[line] for line in lines[1][:-1]])
    assert point["scores"][str(some[0])] == pytest.approx(expected)
    assert point["pearson"] > 0.9
