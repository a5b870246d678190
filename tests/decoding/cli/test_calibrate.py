"""``fstmetrics calibrate``, and what takes its file."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from decoding import sample_data
from fstmetrics.statistics.calibration import read_calibration
from tests.decoding.cli.commandline import cats, command, words

run = command("calibrate")
mbr, confusion = command("mbr"), command("confusion")

#: where Debian has the tools of NIST
SCLITE = shutil.which("sclite", path="/usr/lib/sctk/bin") or shutil.which("sclite")
SPEECH = sorted(sample_data().glob("*.slf.gz"))
REFERENCES = sample_data() / "refs.txt"


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The calibration of the lattices that come with the package, and its summary beside it."""
    path = tmp_path_factory.mktemp("calibration") / "calibration.json"
    summary = path.with_name("summary.json")
    picture = path.with_name("plot.svg")
    options = ["--summary", summary, "--plot", picture, "-q", "--scales", 0.5, 2]
    assert run(*SPEECH, "--refs", REFERENCES, *options, "-o", path) == 0
    return path


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_what_is_written(calibrated: Path) -> None:
    found = read_calibration(calibrated)
    assert found.scale == 2.0
    summary = json.loads(calibrated.with_name("summary.json").read_text())
    assert summary["calibration"] == json.loads(calibrated.read_text())
    assert (summary["segments"], summary["folds"], summary["failed"]) == (19, 2, 0)
    # sclite's sums for the ctm of the same decisions: 259 words, of which 236 are right, NCE 0.456
    before = summary["before"]
    assert (before["words"], before["correct"], round(before["nce"], 3)) == (259, 236, 0.456)
    assert sum(each["words"] for each in before["bins"]) == 259
    picture = calibrated.with_name("plot.svg").read_text()
    assert "share of right words" in picture
    assert "before: NCE 0.456" in picture


@pytest.mark.skipif(SCLITE is None, reason="needs sclite of NIST's SCTK (Debian: sctk)")
def test_sclite_finds_the_same_nce(calibrated: Path, tmp_path: Path) -> None:
    summary = json.loads(calibrated.with_name("summary.json").read_text())
    stm = tmp_path / "refs.stm"
    said = [line.split(maxsplit=1) for line in REFERENCES.read_text().splitlines()]
    stm.write_text("".join(f"{id} 1 {id} 0.0 99.0 {text}\n" for id, text in said))
    for kind, options in (("before", []), ("fitted", ["--calibration", calibrated])):
        ctm = tmp_path / "hyps.ctm"
        assert confusion(*SPEECH, "--format", "ctm", "-q", *options, "-o", ctm) == 0
        argv = [str(SCLITE), "-r", stm, "stm", "-h", ctm, "ctm", "-o", "sum", "stdout"]
        told = subprocess.run(argv, capture_output=True, check=True, text=True).stdout
        (total,) = [line for line in told.splitlines() if "Sum/Avg" in line]
        assert float(total.split("|")[-2]) == pytest.approx(summary[kind]["nce"], abs=6e-4)


def test_confidences_are_mapped(calibrated: Path, tmp_path: Path) -> None:
    """In mbr and in confusion, as JSON and as ctm: the same words, times and alternatives."""
    calibration = read_calibration(calibrated)
    some, out = SPEECH[:4], tmp_path / "out"
    decide = ["--metric", "wer", "--method", "edit", "--no-oracle", "-q", "-o", out]
    json_lines = ["--format", "jsonl", "--confidences"]
    assert mbr(*some, *decide, *json_lines, "--scale", calibration.scale) == 0
    plain = lines(out)
    assert mbr(*some, *decide, *json_lines, "--calibration", calibrated) == 0
    for before, after in zip(plain, lines(out), strict=True):
        assert after["words"] == before["words"]
        confidences = [word.pop("confidence") for word in before["confidences"]]
        mapped = [word.pop("confidence") for word in after["confidences"]]
        assert mapped == pytest.approx(calibration(confidences).tolist())
        assert mapped != pytest.approx(confidences)
        assert after["confidences"] == before["confidences"]
        assert before["confidences"][0]["begin"] is not None
    assert confusion(*some, "--calibration", calibrated, "-q", "-o", out) == 0
    networks = lines(out)
    assert mbr(*some, *decide, *json_lines, "--calibration", calibrated) == 0
    for network, found in zip(networks, lines(out), strict=True):
        without = [{k: v for k, v in word.items() if k != "alternatives"}
                   for word in found["confidences"]]  # fmt: skip
        assert network["words"] == without
    assert confusion(*some, "--calibration", calibrated, "--format", "ctm", "-q", "-o", out) == 0
    ctm = out.read_text()
    assert mbr(*some, *decide, "--format", "ctm", "--calibration", calibrated) == 0
    assert out.read_text() == ctm
    spoken = [word for network in networks for word in network["words"]]
    assert [float(line.split()[5]) for line in ctm.splitlines()] == pytest.approx(
        [word["confidence"] for word in spoken], abs=1e-6
    )


def test_workers_change_nothing(tmp_path: Path) -> None:
    out, other = tmp_path / "one.json", tmp_path / "two.json"
    some = SPEECH[:6]
    assert run(*some, "--refs", REFERENCES, "-o", out, "-q") == 0
    assert run(*some, "--refs", REFERENCES, "-o", other, "-q", "--workers", 2) == 0
    assert out.read_bytes() == other.read_bytes()


def test_lists_and_forests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{n}\t{rank}\t{-rank}.5\t{text}\n" for n in range(12)
            for rank, text in enumerate(["a cat", "a hat", "the hat"])]  # fmt: skip
    lists = tmp_path / "lists.nbest.tsv"
    lists.write_text("id\trank\tscore\twords\n" + "".join(rows))
    refs = words(tmp_path / "refs", *(f"{n} {'a cat' if n % 3 else 'a hat'}" for n in range(12)))
    out = tmp_path / "calibration.json"
    assert run(lists, "--input-format", "csv", "--refs", refs, "-o", out) == 0, capsys.readouterr()
    told = capsys.readouterr().err
    assert "12 segments in 2 parts, 0 failed" in told
    assert "scale and map, held out" in told
    assert read_calibration(out).scale is not None


def test_a_bad_segment_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = cats(tmp_path / "cats.jsonl", 4)
    path.write_text(path.read_text() + '{"id": "bad"}\n')
    out = tmp_path / "calibration.json"
    assert run(path, "-o", out) == 1
    assert "4 segments in 2 parts, 1 failed" in capsys.readouterr().err
    assert read_calibration(out).points


def test_normalised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = cats(tmp_path / "cats.jsonl", 4, refs=False)
    refs = words(tmp_path / "refs", *(f"s{n} A Hat!" for n in range(4)))
    assert run(path, "--refs", refs, "--normalize", "lower+punctuation", "-o", tmp_path / "o") == 0
    told = capsys.readouterr().err
    assert "before (scale 1)              8  100.0 %    -" in told
    assert "all words are right" in told


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--folds", "1"], "two parts or more"),
        (["--folds", "9"], "4 segments in 9 parts"),
        (["--scales", "0"], "leaves nothing"),
        (["--scales", "-2"], "a finite number from 0 on"),
        (["--plot", "-"], "--plot and --summary are files"),
        (["--plot", "a.txt"], "a picture ends in one of"),
        (["--refs", "nobody"], "nobody"),
    ],
)
def test_usage(
    options: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = cats(tmp_path / "cats.jsonl", 4), tmp_path / "calibration.json"
    assert run(path, "-o", out, *options) == 2
    assert problem in capsys.readouterr().err
    assert not out.exists()


def test_no_references(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(cats(tmp_path / "cats.jsonl", 4, refs=False), "-o", tmp_path / "o") == 2
    assert "none of the first 4 segments has references" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["mbr", "--metric", "wer"], "--calibration is for confidences, and none are written"),
        (["mbr", "--format", "jsonl"], "--calibration is for confidences, and none are written"),
        (
            ["mbr", "--metric", "wer", "--format", "jsonl", "--confidences", "--scale", "2"],
            "it and --scale exclude one another",
        ),
        (["confusion", "--scale", "1"], "it and --scale exclude one another"),
        (["confusion", "--format", "mesh"], "--calibration is for confidences"),
        (["confusion", "--format", "sausages"], "--calibration is for confidences"),
    ],
)
def test_who_takes_it(
    argv: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, calibration = cats(tmp_path / "cats.jsonl"), tmp_path / "calibration.json"
    calibration.write_text('{"scale": 1.0, "points": []}\n')
    name, *options = argv
    assert command(name)(path, *options, "--calibration", calibration) == 2
    assert problem in capsys.readouterr().err


def test_a_file_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, calibration = cats(tmp_path / "cats.jsonl"), tmp_path / "calibration.json"
    calibration.write_text('{"scale": 1.0}\n')
    out = tmp_path / "out"
    assert confusion(path, "--calibration", calibration, "-o", out) == 2
    assert f"{calibration}: no calibration" in capsys.readouterr().err
    assert confusion(path, "--calibration", tmp_path / "nobody", "-o", out) == 2
    assert not out.exists()


def test_the_scale_of_the_file_decides(tmp_path: Path) -> None:
    path, calibration = cats(tmp_path / "cats.jsonl"), tmp_path / "calibration.json"
    out = tmp_path / "out"
    argv = [path, "--metric", "wer", "--format", "jsonl", "--confidences", "--method", "edit",
            "--calibration", calibration, "-o", out]  # fmt: skip
    for scale, share in ((1.0, 0.31), (0.0, 0.5)):
        calibration.write_text(f'{{"scale": {scale}, "points": [[0.5, 0.25]]}}\n')
        assert mbr(*argv) == 0
        word = lines(out)[0]["confidences"][0]
        assert word["alternatives"][0][1] == pytest.approx(share, abs=0.01)
        assert word["confidence"] == 0.25
