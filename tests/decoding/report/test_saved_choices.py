from __future__ import annotations

import json
from pathlib import Path

import pytest

from decoding.report.saved_choices import read_choices
from lattices.errors import FormatError
from tests.decoding.cli.commandline import cats, command
from tests.decoding.report.pages import unpacked

run = command()


def test_a_page_has_what_the_command_has_written(tmp_path: Path) -> None:
    spaces, written, page = cats(tmp_path / "a.jsonl"), tmp_path / "c.json", tmp_path / "r.html"
    metrics = ["--metric", "wer", "bleu:order=1"]
    assert run("choices", spaces, *metrics, "--format", "json", "-o", written) == 0
    assert run("report", spaces, *metrics, "--choices", written, "-o", page) == 0
    shown = unpacked(page.read_bytes())["report"]["choices"]
    assert shown == read_choices(str(written))
    assert [each["label"] for each in shown["metrics"]] == ["WER", "BLEU"]
    content = json.loads(written.read_text())["choices"]
    assert [score for row in shown["rows"] for score in row["scores"]] == [
        each["score"] for each in content
    ]
    assert (shown["rows"][0]["label"], shown["rows"][0]["own"]) == ("1-best", None)
    assert {*map(str, shown["rows"][1]["intervals"] + shown["rows"][1]["effects"])} == {"None"}
    assert run("report", spaces, *metrics, "-o", page) == 0
    assert unpacked(page.read_bytes())["report"]["choices"] is None


def test_intervals_and_differences_are_those_of_the_command(tmp_path: Path) -> None:
    spaces, written = cats(tmp_path / "a.jsonl"), tmp_path / "c.json"
    asked = ["--metric", "wer", "--intervals", "--differences", "--samples", "20"]
    assert run("choices", spaces, *asked, "--format", "json", "-o", written) == 0
    first, *others = read_choices(str(written))["rows"]
    content = json.loads(written.read_text())["choices"]
    assert first["effects"] == [None]
    for row, each in zip([first, *others], content, strict=True):
        assert row["intervals"] == [[each["low"], each["high"]]]
    for row, each in zip(others, content[1:], strict=True):
        ends = [each["difference_low"], each["difference_high"]]
        effect = {"effect": each["difference"], "interval": ends, "p": each["p_value"]}
        assert row["effects"] == [effect]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"choices": 3, "metrics": []}',
        '{"choices": [{}], "metrics": [{}]}',
        "[" * 99999,
    ],
)
def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"other\.json: expected what 'fstmetrics choices"):
        read_choices(str(path))
    page = tmp_path / "r.html"
    assert run("report", cats(tmp_path / "a.jsonl"), "--choices", path, "-o", page) == 2
    assert not page.exists()
