from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import lattices
from decoding import compare_choices
from decoding.cli.output.choice_table import NAMES
from fstmetrics import BLEU
from tests.decoding.cli.commandline import CAT, cats, command, lattice_line

run = command("choices")
METRICS = ("wer", "bleu:order=1")


def test_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(cats(tmp_path / "a.jsonl"), "--metric", *METRICS) == 0
    printed = capsys.readouterr()
    assert printed.err.endswith("3 segments, 0 failed\n")
    assert printed.out == (
        "choice         of                   under   WER %    BLEU\n"
        "1-best                                     100.00  0.0000\n"
        "oracle         100-best             WER      0.00  1.0000\n"
        "oracle         100-best             BLEU     0.00  1.0000\n"
        "oracle         lattice              WER      0.00  1.0000\n"
        "oracle         lattice              BLEU     0.00  1.0000\n"
        "corpus oracle  100-best             BLEU     0.00  1.0000\n"
        "corpus oracle  lattice              BLEU     0.00  1.0000\n"
        "MBR            100-best             WER    100.00  0.0000\n"
        "MBR            100-best             BLEU   100.00  0.0000\n"
        "MBR            lattice (edit)       WER    100.00  0.0000\n"
        "MBR            lattice (consensus)  BLEU   100.00  0.0000\n"
        "\n"
        "BLEU is bleu:order=1,length=closest,smooth=none,tokenize=none\n"
    )


def test_all_formats_say_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = [cats(tmp_path / "a.jsonl"), "--metric", *METRICS, "--differences", "--samples", "20"]
    shown = {}
    for format in ("tsv", "csv", "json", "latex", "markdown"):
        assert run(*argv, "--format", format) == 0
        shown[format] = capsys.readouterr().out
    rows = list(csv.DictReader(io.StringIO(shown["tsv"]), delimiter="\t"))
    assert rows == list(csv.DictReader(io.StringIO(shown["csv"])))
    content = json.loads(shown["json"])
    assert len(rows) == len(content["choices"]) == 22
    for row, each in zip(rows, content["choices"], strict=True):
        assert row["choice"] == each["choice"]
        assert float(row["score"]) == each["score"]
        if each["choice"] == "one_best":
            assert row["p_value"] == ""
            assert each["p_value"] is None
        else:
            assert float(row["p_value"]) == each["p_value"]
            assert float(row["difference"]) == pytest.approx(each["difference"])
    assert shown["latex"].count(r"\\") == 12
    lines = [line for line in shown["markdown"].splitlines() if line.startswith("|")]
    assert len(lines) == 13
    assert {line.count("|") for line in lines} == {6}


def test_differences_with_their_intervals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What Python says of them, and in files for programs the scores with theirs as well."""
    lines = [lattice_line(f"s{n}", CAT, [["the cat", "a hat"][n % 2]]) for n in range(8)]
    (tmp_path / "a.jsonl").write_text("".join(lines))
    argv = [tmp_path / "a.jsonl", "--metric", "bleu:order=1", "--intervals", "--samples", "50"]
    assert run(*argv, "--differences", "--choose", "oracle") == 0
    first, second, *_ = capsys.readouterr().out.splitlines()[1:]
    spaces = list(lattices.read(tmp_path / "a.jsonl"))
    found = compare_choices(
        spaces, [BLEU(order=1)], [space.references for space in spaces], choose=["oracle"]
    )
    [(estimate,), *_], [(one,), *_] = found.estimates(samples=50), found.differences(samples=50)
    assert first.split("  ")[-1].strip() == str(estimate)
    p = f"(p {one.p_value:.3f})"
    assert second.split("  ")[-1].strip() == f"{one.effect:+.4f} {one.interval} {p}"
    assert run(*argv, "--differences", "--format", "csv") == 0
    row = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))[1]
    assert float(row["difference_low"]) == one.interval.low
    assert float(row["low"]) == found.estimates(samples=50)[1][0].interval.low


@pytest.mark.parametrize("workers", ["1", "2"])
def test_workers_do_not_change_it(
    workers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [lattice_line(f"s{n}", CAT, [["the cat", "a hat"][n % 2]]) for n in range(30)]
    (tmp_path / "a.jsonl").write_text("".join(lines))
    argv = [tmp_path / "a.jsonl", "--metric", "grr", "bleu", "--intervals", "--format", "tsv"]
    assert run(*argv) == 0
    alone = capsys.readouterr().out
    assert run(*argv, "--workers", workers) == 0
    assert capsys.readouterr().out == alone


def test_what_is_not_proven_is_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arcs = [(at, at + 1, word, -0.1) for at in range(12) for word in "ab"]
    (tmp_path / "a.jsonl").write_text(lattice_line("s", arcs, ["a b a a b b b a a b a b"]))
    assert run(tmp_path / "a.jsonl", "--metric", "bleu", "per", "--budget", "2") == 0
    printed = capsys.readouterr()
    assert "*\n" in printed.out or "*  " in printed.out
    assert (
        "* not proven: oracle of lattice under BLEU: 1 of 1 segments; corpus oracle" in printed.out
    )
    assert "no search of whole spaces under PER" in printed.out


def test_ways_to_choose(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = [cats(tmp_path / "a.jsonl"), "--metric", "bleu:order=1", "--format", "json"]
    for choose in ("oracle", "corpus", "mbr"):
        assert run(*argv, "--choose", choose) == 0
        found = json.loads(capsys.readouterr().out)["choices"]
        assert {each["choice"] for each in found} == {"one_best", choose}
    assert set(NAMES) == {"one_best", "oracle", "corpus", "mbr"}


def test_a_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    argv = [cats(tmp_path / "a.jsonl"), "--metric", *METRICS, "-o", tmp_path / "out"]
    for name in ("one.svg", "two.svg"):
        assert run(*argv, "--intervals", "--plot", tmp_path / name) == 0
    one, two = ((tmp_path / name).read_text() for name in ("one.svg", "two.svg"))
    assert one == two
    assert "corpus oracle BLEU lattice" in one


def test_segments_that_fail_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = cats(tmp_path / "a.jsonl")
    path.write_text(path.read_text() + "{broken\n")
    assert run(path, "--metric", "wer", "-o", tmp_path / "out") == 1
    assert f"{path}:4" in capsys.readouterr().err
    assert (tmp_path / "out").exists()


def test_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = cats(tmp_path / "a.jsonl")
    for options, message in (
        (["--nbest", "0"], "argument --nbest"),
        (["--choose", "best"], "argument --choose"),
        (["--plot", "-"], "--plot is a file"),
        (["--plot", "x.gif"], "a picture ends in"),
    ):
        assert run(path, *options, "-o", tmp_path / "out") == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
