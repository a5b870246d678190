"""The oracle bench: its spaces are made anew; answers are those of enumeration and of others."""

from __future__ import annotations

import csv
import importlib.util
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import lattices
from decoding import oracle
from fstmetrics import parse_metric

BENCH = Path(__file__).resolve().parents[1] / "benchmarks" / "oracle-bench"


@cache
def module(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(
        f"oracle_bench_{name}", BENCH / f"{name}.py"
    )
    assert specification is not None
    assert specification.loader is not None
    found = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(found)
    return found


@cache
def known() -> dict[tuple[str, str, str], dict[str, str]]:
    return module("check").read(BENCH / "answers.tsv")


@pytest.fixture(scope="module")
def spaces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench") / "spaces"
    command = [sys.executable, "-I", str(BENCH / "make.py"), str(folder), "--most", "1000"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    (folder / "sums.txt").write_text(run.stdout)
    return folder


def check(folder: Path, answers: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(BENCH / "check.py"), str(folder), str(answers)]
    return subprocess.run([*command, "--most", "1500"], capture_output=True, text=True, check=False)


def test_the_spaces_are_the_same_everywhere(spaces: Path) -> None:
    kept = dict(line.split("\t") for line in (BENCH / "sums.tsv").read_text().splitlines())
    made = dict(line.split("\t") for line in (spaces / "sums.txt").read_text().splitlines())
    assert len(made) == 9
    assert made.items() <= kept.items()
    cards = (BENCH / "cards.tsv").read_text().splitlines()
    assert set((spaces / "cards.tsv").read_text().splitlines()) <= set(cards)


def test_the_answers_are_right(spaces: Path) -> None:
    run = check(spaces, BENCH / "answers.tsv")
    assert run.returncode == 0, run.stdout
    for line in run.stdout.splitlines():
        assert line.split("\t")[1].split()[1:] == ["optimal"], line


def sentences(space: lattices.Space) -> Iterator[Any]:
    if isinstance(space, lattices.Lattice):
        return space.paths()
    return space.derivations() if isinstance(space, lattices.Forest) else iter(space)


@pytest.mark.parametrize("name", ["lattices-10", "forests-10", "lists-100"])
def test_by_enumeration(name: str, spaces: Path) -> None:
    checks = module("check")
    for space in lattices.read(spaces / f"{name}.jsonl"):
        every = list(sentences(space))
        reference = str(space.references[0]).split()
        for task, (score, higher) in checks.SCORES.items():
            values = [score(each.tokens, reference) for each in every]
            best = max(values) if higher else min(values)
            assert float(known()[task, name, space.id]["value"]) == pytest.approx(best, abs=1e-9)
        edits = [checks.edits(each.tokens, reference) for each in every]
        assert int(known()["paths", name, space.id]["value"]) == len(every)
        assert int(known()["ties:wer", name, space.id]["value"]) == edits.count(min(edits))
        highest = max(each.score for each in every)
        weights = [math.exp(each.score - highest) for each in every]
        total = sum(weights)

        def risk(words: list[str], every=every, weights=weights, total=total) -> float:
            costs = [checks.edits(words, each.tokens) for each in every]
            return sum(map(float.__mul__, map(float, costs), weights)) / total

        for task in ("risk:edits", "mbr:edits"):
            row = known()[task, name, space.id]
            assert float(row["value"]) == pytest.approx(risk(row["words"].split()), abs=1e-9)
        for (task, file, key), row in known().items():
            segment, _, gram = key.partition(" ")
            if (task, file, segment) != ("posterior", name, space.id):
                continue
            with_it = sum(
                weight
                for each, weight in zip(every, weights, strict=True)
                if f" {gram} " in f" {each.text} "
            )
            assert float(row["value"]) == pytest.approx(with_it / total, abs=1e-9)


@pytest.mark.parametrize(
    ("tool", "file", "task"),
    [
        *(("openfst", f"lattices-{size}", "oracle:wer") for size in (10, 100, 1000)),
        *(("rapidfuzz", "lists-100", task) for task in ("oracle:wer", "oracle:cer")),
        ("k2", "lattices-100", "oracle:wer"),
        ("mbrs", "lists-100", "mbr:edits"),
        ("kaldi", "lattices-100", "oracle:wer"),
        ("cdec", "lists-100", "mbr:edits"),
    ],
)
def test_others_answer_the_same(
    tool: str, file: str, task: str, spaces: Path, tmp_path: Path
) -> None:
    run = module("run")
    if not run.installed(run.adapter(tool).NEEDS):
        pytest.skip(f"there is no {run.adapter(tool).NEEDS}")
    rows, spent = run.adapter(tool).answer(spaces / f"{file}.jsonl", task)
    assert spent > 0
    assert rows
    answers = tmp_path / "answers.tsv"
    lines = [run.COLUMNS, *((task, file, *row) for row in rows)]
    answers.write_text("".join("\t".join(line) + "\n" for line in lines))
    judged = check(spaces, answers)
    assert judged.returncode == 0, judged.stdout
    [counts] = [line for line in judged.stdout.splitlines() if line.startswith(f"{task}\t")]
    # cdec has another loss
    assert f"{len(rows)} optimal" in counts or tool == "cdec"
    for segment, value, _, words in rows:
        assert words
        if value:
            known_value = float(known()[task, file, segment]["value"])
            assert float(value) == pytest.approx(known_value, abs=1e-6)


@pytest.mark.parametrize("file", ["lattices-10", "lattices-100", "forests-10"])
@pytest.mark.parametrize("task", ["oracle:wer", "oracle:wrr", "oracle:cer", "oracle:grr"])
def test_the_other_engine_answers_the_same(file: str, task: str, spaces: Path) -> None:
    pytest.importorskip("pynini")
    metric = parse_metric(module("run").adapter("ours").ORACLES[task])
    for space in lattices.read(spaces / f"{file}.jsonl"):
        found = oracle(space, metric.against(list(space.references)), engine="openfst")
        wanted = float(known()[task, file, space.id]["value"])
        assert found.score == pytest.approx(wanted, abs=1e-9)


def test_tools_stand_beside_each_other(spaces: Path, tmp_path: Path) -> None:
    pytest.importorskip("rapidfuzz")
    few = tmp_path / "spaces"
    few.mkdir()
    (few / "lists-100.jsonl").write_bytes((spaces / "lists-100.jsonl").read_bytes())
    output, table = tmp_path / "answers", tmp_path / "table.tsv"
    asked = ["--tools", "ours", "rapidfuzz", "--tasks", "oracle:wer", "paths"]
    run = [sys.executable, str(BENCH / "run.py"), str(few), "-o", str(output), *asked]
    table.write_text(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
    compare = [sys.executable, str(BENCH / "compare.py"), str(few), str(output), str(table)]
    printed = subprocess.run(compare, capture_output=True, text=True, check=True).stdout
    rows = [line.strip("| ").split(" | ") for line in printed.splitlines()[2:]]
    assert [row[:3] for row in rows] == [
        ["lists-100", "oracle:wer", tool] for tool in ("ours", "rapidfuzz")
    ]
    assert [row[-1] for row in rows] == ["20 optimal", "20 optimal"]


def test_what_is_wrong_is_found(spaces: Path, tmp_path: Path) -> None:
    rows = [row for row in known().values() if row["file"] == "lattices-100"]
    by_task = {row["task"]: row for row in rows if row["id"] == "l100-0"}
    with (spaces / "lattices-100.jsonl").open() as lines:
        space = json.loads(next(lines))
    first: dict[int, Any] = {}
    for arc in space["arcs"]:
        first.setdefault(arc[0], arc)
    state, some = 0, []
    while state in first:
        some.append(first[state][2])
        state = first[state][1]
    changes = {
        "oracle:wer": ({"words": "no such sentence"}, "wrong\tno sentence of the space"),
        "oracle:cer": ({"words": " ".join(some), "value": ""}, "not optimal"),
        "oracle:grr": ({"value": "0.999"}, "wrong\tvalue 0.999, but the sentence has"),
        "paths": ({"value": "12"}, "wrong\t12.0, not"),
    }
    for task, (change, _) in changes.items():
        by_task[task].update(change)
    answers = tmp_path / "answers.tsv"
    with answers.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), delimiter="\t", quoting=csv.QUOTE_NONE)
        writer.writeheader()
        writer.writerows(dict(row) for row in rows)
    known.cache_clear()
    run = check(spaces, answers)
    assert run.returncode == 1
    for task, (_, told) in changes.items():
        assert f"{task}\tlattices-100\tl100-0\t{told}" in run.stdout
    assert "missing" in run.stdout


def test_better_than_the_answer_is_told() -> None:
    judge = module("check").judge
    proven, open_ = {"value": "0.5", "bound": "0.5"}, {"value": "0.5", "bound": "0.7"}
    assert judge(proven, {"value": ""}, 0.6, True)[0] == "wrong"
    assert judge(open_, {"value": ""}, 0.6, True)[0] == "better"
    assert judge(open_, {"value": ""}, 0.8, True)[0] == "wrong"
    assert judge(proven, {"value": ""}, 0.6, False)[0] == "not optimal"
    assert judge(proven, {"value": ""}, None, False)[0] == "wrong"
    assert judge(proven, None, None, False)[0] == "missing"
