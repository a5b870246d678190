"""Results as tables."""

from __future__ import annotations

import csv
import dataclasses
import importlib
import inspect
import io
import json
import pkgutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import decoding
import fstmetrics.statistics
from decoding import (
    Done,
    Failure,
    corpus_oracle,
    density_curve,
    frame,
    hope_fear,
    mbr,
    oracle,
    oracle_at,
    oracle_kbest,
)
from decoding.minimum_risk.tuning import TuningPoint, TuningTable
from decoding.training.learner import History, Round
from fstmetrics import BLEU, WER
from fstmetrics.statistics import bootstrap, paired_bootstrap
from lattices import Lattice, OptionError
from lattices.records import PlainRecord
from tests.decoding.cli.commandline import cats, command

LATTICE = Lattice.from_arcs(
    [
        (0, 1, "a", -0.1, {"lm": 1.0}),
        (0, 1, "the", -0.9, {"lm": 2.0}),
        (1, 2, "cat", -0.5, {"lm": 3.0}),
    ],
    finals=[2],
)
EVALUATOR = WER().against(["the cat"])
STATS = np.array([[1.0, 1.0, 0.0, 0.0, 2.0], [2.0, 0.0, 0.0, 0.0, 2.0]])


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (
            oracle(LATTICE, EVALUATOR),
            {"text": "the cat", "score": 0.0, "exact": True, "features": {"lm": 5.0}},
        ),
        (oracle_at(LATTICE, EVALUATOR, [1])[0], {"k": 1, "text": "a cat", "score": 0.5}),
        (density_curve(LATTICE, EVALUATOR, [1])[0], {"density": 1.0, "arcs": 2, "score": 0.5}),
        (mbr(LATTICE, WER()), {"text": "a cat", "method": "edit"}),
        (mbr(LATTICE, WER(), method="pairwise"), {"text": "a cat", "method": "pairwise"}),
        (corpus_oracle([LATTICE], [["the cat"]], WER()), {"score": 0.0, "bound": 0.0}),
        (Failure(3, "f", 7, "s3", "why"), {"position": 3, "id": "s3", "reason": "why"}),
        (Done(3, "f", 7, "s3", oracle(LATTICE, EVALUATOR)), {"id": "s3", "text": "the cat"}),
        (Done(3, "f", 7, "s3", 12), {"id": "s3", "result": 12}),
        (bootstrap(WER(), STATS, samples=10), {"score": 0.25, "samples": 10}),
        (paired_bootstrap(WER(), STATS, STATS, samples=10), {"effect": 0.0, "ties": 10}),
    ],
)
def test_results_are_plain_data(result: Any, expected: dict[str, Any]) -> None:
    found = result.to_dict()
    assert json.loads(json.dumps(found)) == found
    assert {name: found[name] for name in expected} == expected


def test_parts_are_within() -> None:
    found = hope_fear(LATTICE, EVALUATOR).to_dict()
    assert found["oracle"]["text"] == "the cat"
    words = mbr(LATTICE, WER()).to_dict()["confidences"]
    assert [word["word"] for word in words] == ["a", "cat"]
    assert words[0]["confidence"] == pytest.approx(1 / (1 + np.exp(-0.8)))


def test_every_public_result_has_plain_data() -> None:
    """A dataclass that a package exports is a metric, a space, a method, a job, or a record."""
    modules = [
        importlib.import_module(f"fstmetrics.statistics.{each.name}")
        for each in pkgutil.iter_modules(fstmetrics.statistics.__path__)
    ]
    found = [getattr(decoding, name) for name in decoding.__all__] + [
        value
        for module in modules
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]
    without = {
        each.__name__
        for each in found
        if inspect.isclass(each)
        and (dataclasses.is_dataclass(each) or issubclass(each, tuple))
        and not (issubclass(each, PlainRecord) or hasattr(each, "to_dict"))
    }
    # what goes in
    inputs = {
        "Segment",
        "Resampling",
        "Evidence",
        "HumanScores",
        "System",
        "Sentence",
        "Preference",
        "SegmentErrors",
        "Mistakes",
        "TermSpan",
    }
    methods = {
        "EditDistance",
        "ExactRisk",
        "FastConsensus",
        "Linear",
        "Pairwise",
        "Rover",
        "PrefixSearch",
    }
    learners = {"MERT", "MIRA", "PRO", "Perceptron", "Risk", "SoftmaxMargin", "XBLEU"}
    assert without <= inputs | methods | learners | {"InfoTask", "MBRTask", "OracleTask"}


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars"])
def test_frames(kind: str) -> None:
    pytest.importorskip("pyarrow" if kind == "arrow" else kind)
    points = oracle_at(LATTICE, EVALUATOR, [1, 2])
    found = frame(points, kind)
    rows = {
        "arrow": lambda: found.to_pylist(),
        "pandas": lambda: found.to_dict("records"),
        "polars": lambda: found.to_dicts(),
    }[kind]()
    assert [(row["k"], row["text"], row["score"], row["features.lm"]) for row in rows] == [
        (1, "a cat", 0.5, 4.0),
        (2, "the cat", 0.0, 5.0),
    ]
    assert [list(row["words"]) for row in rows] == [["a", "cat"], ["the", "cat"]]


def test_what_is_no_frame() -> None:
    with pytest.raises(OptionError, match="kind 'excel', expected one of pandas, polars, arrow"):
        frame([], "excel")
    pytest.importorskip("pyarrow")
    with pytest.raises(OptionError, match="int is no result"):
        frame([3], "arrow")
    assert frame([], "arrow").num_rows == 0


@pytest.mark.parametrize("name", ["oracle", "mbr"])
def test_commands_write_what_their_lines_have(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, file = command(name), cats(tmp_path / "a.jsonl")
    assert run(file, "--metric", "wer", "-q", "--format", "jsonl") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert run(file, "--metric", "wer", "-q", "--format", "csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["id"] for row in rows] == ["s0", "s1", "s2"]
    for row, line in zip(rows, lines, strict=True):
        assert row["text"] == line["text"]
        assert float(row["scores.wer"]) == line["scores"]["wer"]
        assert json.loads(row["words"]) == line["words"]
        assert json.loads(row["exact"]) == line["exact"]
    parquet = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "out.parquet"
    assert run(file, "--metric", "wer", "-q", "--format", "parquet", "-o", out) == 0
    table = parquet.read_table(out).to_pylist()
    assert [row["scores.wer"] for row in table] == [line["scores"]["wer"] for line in lines]
    assert run(file, "--format", "csv", "-o", tmp_path / "out.csv", "--resume") == 2
    assert "--resume goes on with lines, and --format csv is written" in capsys.readouterr().err


def test_nothing_is_written_of_a_run_that_fails(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("{]\n")
    out = tmp_path / "out.csv"
    assert command("oracle")(tmp_path / "a.jsonl", "--format", "csv", "-o", out) == 2
    assert not out.exists()


def test_reports_as_csv_and_parquet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "hyps, 1").write_text("the cat\na hat\n")
    (tmp_path / "refs").write_text("the cat\nthe hat\n")
    flags = [tmp_path / "hyps, 1", "--refs", tmp_path / "refs", "--metric", "wer"]
    assert command("score")(*flags, "--format", "csv") == 0
    assert list(csv.reader(io.StringIO(capsys.readouterr().out))) == [
        ["system", "segments", "wer"],
        [str(tmp_path / "hyps, 1"), "2", "0.25"],
    ]
    parquet = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "out.parquet"
    assert command("score")(*flags, "--segments", "--format", "parquet", "-o", out) == 0
    assert parquet.read_table(out)["wer"].to_pylist() == [0.0, 0.5]


HOSTILE = "</td><script>alert(1)</script>"


def html_of(found):
    """Return what a notebook shows, which is well formed and has no elements of the data's."""
    html = found._repr_html_()
    root = ElementTree.fromstring(f"<div>{html}</div>")
    assert {one.tag for one in root.iter()} <= {
        "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "span", "p"
    }  # fmt: skip
    return html, "".join(root.itertext())


SPOKEN = Lattice.from_arcs(
    [(0, 1, "the", -0.1), (1, 2, HOSTILE, -0.2), (1, 2, "hat", -0.4), (2, 3, "very", -0.1),
     (3, 4, "", -0.2), (3, 4, "now", -3.0)],
    finals=[4], id=HOSTILE,
)  # fmt: skip


def test_alignments_are_marked_and_coloured():
    judged = WER().against(["the cat down"]).judge(["the", HOSTILE, "very", "down"])
    html, text = html_of(judged)
    assert f"[{HOSTILE}]" in text or f"{{{HOSTILE}}}" in text
    assert "WER 0.6667" in text
    for operation in {edit.operation for edit in judged.edits} - {"match"}:
        assert f"{operation}" in text  # in the legend
    assert html.count("background:") == sum(edit.operation != "match" for edit in judged.edits)
    _, right = html_of(WER().against(["a"]).judge("a"))
    assert "substitution" not in right


def test_results_show_themselves():
    found = oracle(SPOKEN, WER().against([f"the {HOSTILE} very now"]))
    _, text = html_of(found)
    assert "score 0.0000" in text
    assert "exact" in text
    _, text = html_of(mbr(SPOKEN, WER()))
    assert HOSTILE in text
    assert "method" in text


def test_oracles_of_metrics_that_do_not_align_show_their_fields():
    found = oracle(SPOKEN, BLEU().against(["the hat very"]))
    assert not found.edits
    _, text = html_of(found)
    assert found.text in text
    assert "enginelabels" in text


def test_confusion_networks_show_their_bins():
    network = mbr(SPOKEN, WER()).network
    html, text = html_of(network)
    assert HOSTILE in text
    assert html.count("font-weight:bold") == sum(
        any(found.word for found in row) for row in network.bins
    )
    assert "0.550" in text  # the probability of the first of two


def test_lists_of_results_are_tables():
    found = oracle_kbest(SPOKEN, WER().against(["the cat very"]), 2)
    table = frame(found, "html")
    html, text = html_of(table)
    assert html.count("<tr>") == 1 + 2
    assert "[hat]" in text
    assert str(table) == html
    empty, _ = html_of(frame([], "html"))
    assert "<td" not in empty


def test_tables_of_tuning_and_histories():
    points = tuple(TuningPoint(scale, 0.5, 0.7, 10.0, -scale) for scale in map(float, range(30)))
    html, text = html_of(TuningTable(points, "bleu", 0.5, 3))
    assert html.count("<tr>") == 1 + 20
    assert "the best 20 of 30 points" in text
    history = History([Round(1, 0.5, 0.1, {HOSTILE: 1.0}, {"pass": 1})])
    assert f"weight {HOSTILE}" in html_of(history)[1]
