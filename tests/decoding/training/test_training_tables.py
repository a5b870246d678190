"""The page about training: its log goes on where it was cut, its sentences follow the results."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import training_tables as tables
from benchmarks.training_tables import Result, Run


@pytest.fixture
def trained(monkeypatch, tmp_path):
    """No data: scores that depend on the run alone, and a list of the runs that were made."""
    runs: list[Run] = []

    def train(run):
        runs.append(run)
        drew = run.learner not in ("softmax-margin", "risk")
        bleu = 40.0 + run.seed if not run.learner.startswith("pro") else 39.0 + run.seed / 2
        ratio = 0.9 if run.objective == "BLEU" and run.corpus != "d50" else 1.0
        p = 0.01 if (run.learner, run.corpus, run.objective) == ("mira", "d50", "BLEU") else 0.25
        scores = [bleu, 38.0, 41.0, 40.0, ratio]
        return Result(run, scores, 1.0, drew, tables.made(run).options(), p)

    class Pool:
        def __init__(self, workers):
            assert workers == 1

        def __enter__(self):
            return self

        def __exit__(self, *problem):
            return None

        def submit(self, function, run):
            from concurrent.futures import Future

            future: Future[Result] = Future()
            try:
                future.set_result(function(run))
            except KeyboardInterrupt as problem:
                future.set_exception(problem)
            return future

    pages: list[str] = []
    monkeypatch.setattr(tables, "train", train)
    monkeypatch.setattr(tables, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(tables, "as_completed", iter)
    monkeypatch.setattr(tables, "shipped", lambda corpus: {"a": 1.0, "b": 0.5})
    monkeypatch.setattr(tables, "scores", lambda corpus, weights: [40.2, 38.0, 41.0, 40.0, 0.99])
    monkeypatch.setattr(tables, "write_page", lambda name, text: pages.append(text))

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["tables", *arguments])
        tables.main()
        return pages[-1]

    run.runs, run.log = runs, tmp_path / "log.jsonl"
    return run


def test_seeds_are_for_those_that_draw(trained):
    page = trained("--seeds", "3")
    seeds: dict[Run, set[int]] = {}
    for each in trained.runs:
        seeds.setdefault(replace(each, seed=0), set()).add(each.seed)
    assert set(seeds) == set(tables.runs())
    for each, found in seeds.items():
        draws = each.learner not in ("softmax-margin", "risk")
        assert found == ({0, 1, 2} if draws else {0})
    assert len(trained.runs) == len(set(trained.runs))
    assert "softmax-margin, risk ran once" in page
    # mean and spread
    assert "| mira | 4-GRR | uniform | 3 | 41.00 | 40.00-42.00 |" in page
    assert "| risk | 4-GRR | shipped | 1 | 40.00 |  |" in page


def test_sentences_follow_the_results(trained):
    page = trained("--seeds", "3")
    reached, missed = page.split("on the test segments:")[1].split("Not so:")[:2]
    assert "mira (d50, 4-GRR: 41.00)" in reached
    assert "pro" not in reached
    missed, wavering = missed.split("these had a seed that does not:")
    assert "pro (d50, 4-GRR: 39.50, p = 0.25)" in missed
    assert "By the p-values of the tables, mira (d50, BLEU: 41.00) of these" in missed
    assert wavering.strip().startswith("none")
    here, not_here = page.split("each of the others here:")[1].split("; and not here:")
    assert here.split(", ") == [
        " 100-best from uniform", "100-best from shipped", "d10 from uniform", "d10 from shipped",
        "Hiero d50 from uniform", "Hiero d50 from shipped",
    ]  # fmt: skip
    assert not_here.startswith(" d50 from uniform, d50 from shipped.")
    assert "{" not in page


def test_a_log_is_gone_on_with(trained, monkeypatch):
    whole = trained("--seeds", "2", "--log", str(trained.log))
    lines = trained.log.read_text().splitlines(keepends=True)
    made = len(trained.runs)
    assert len(lines) == made
    # all there: the page alone
    assert trained("--seeds", "2", "--log", str(trained.log)) == whole
    assert len(trained.runs) == made
    # cut within a line
    trained.log.write_text("".join(lines[:40]) + lines[40][:30])
    assert trained("--seeds", "2", "--log", str(trained.log)) == whole
    assert len(trained.runs) == made + made - 40
    assert sorted(trained.log.read_text().splitlines(keepends=True)) == sorted(lines)
    # a line in the middle that is no JSON is an error, not a run less
    trained.log.write_text("".join([*lines[:3], "{\n", *lines[3:]]))
    with pytest.raises(ValueError, match="Expecting"):
        tables.logged(trained.log)


def test_runs_with_other_options_are_made_again(trained, monkeypatch):
    trained("--seeds", "1", "--log", str(trained.log))
    made = len(trained.runs)
    monkeypatch.setitem(tables.OPTIONS, ("mira", "d50"), {"C": 0.5})
    page = trained("--seeds", "1", "--log", str(trained.log))
    again = trained.runs[made:]
    assert again
    assert {(each.learner, each.corpus) for each in again} == {("mira", "d50")}
    assert "mira on d50 with C=0.5" in page
