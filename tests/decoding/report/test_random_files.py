"""Pages of random files of all formats, against the value of every path."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from tests.decoding.random_commands.scores import close
from tests.decoding.random_commands.trials import (
    DAMAGE,
    Run,
    Trial,
    draw_inputs,
    draw_judges,
    draw_kinds,
    draw_segments,
)
from tests.decoding.report.pages import details, unpacked

CASES = int(os.environ.get("FSTMETRICS_RANDOM_CASES", "2000")) // 100


@pytest.mark.parametrize("part", range(2))
def test_pages_agree_with_enumeration(part: int, tmp_path: Path) -> None:
    compared = 0
    for case in range(CASES // 2):
        rng = Random(f"page {part} {case}")
        folder = tmp_path / str(case)
        folder.mkdir()
        compared += page_agrees(rng, folder)
    assert compared >= CASES


def page_agrees(rng: Random, folder: Path) -> int:
    """Draw a command, run it, and compare all segments of its page; return how many."""
    kinds = draw_kinds(rng)
    format = draw_inputs(rng, kinds)
    kinds = tuple(kind for kind in kinds if kind in format.kinds) or format.kinds
    judges = draw_judges(rng, kinds == ("nbest",))
    segments, layout = draw_segments(
        rng, format, kinds, features=False, references="yes",
        bleu=any(judge.kind == "bleu" for judge in judges), damage=DAMAGE,
    )  # fmt: skip
    metrics = ["--metric", *(judge.spec for judge in judges)]
    options = ("--samples", "3", *rng.choice(([], ["--scale", "0.5"])), *metrics)
    trial = Trial("report", rng.getrandbits(32), format, segments, options, (), layout)
    run = Run(trial, folder)
    assert run.code == trial.exit_code(), (run.argv, run.said)
    if run.code == 2:
        assert not run.output.exists()
        return 0
    data = unpacked(run.output.read_bytes())
    usable = [segment for _, segment in trial.usable()]
    index = data["index-0"]
    assert index["ids"] == [segment.id for segment in usable]
    assert data["report"]["systems"][0]["failed"] == trial.failed()
    for place, (segment, detail) in enumerate(zip(usable, details(data), strict=True)):
        chosen = {each["kind"]: each for each in detail["sentences"] if each["kind"]}
        words = {
            kind: tuple(edit[1] for edit in each["edits"] if edit[0] != "d")
            for kind, each in chosen.items()
        }
        paths = segment.paths()
        top = max(path.score for path in paths)
        assert any(
            path.words == words["one_best"] and close(path.score, top, 1e-5) for path in paths
        )
        for number, judge in enumerate(judges):
            verdicts = {path.words: judge.verdict(path.words, segment.references) for path in paths}
            best = max(judge.sign * found.score for found in verdicts.values())
            found = index["scores"]["oracle"][number]
            # the page has five digits
            assert close(judge.sign * found[place], best, 2e-5), (run.argv, segment.id, judge.spec)
            for kind in ("one_best", "mbr"):
                own = judge.verdict(words[kind], segment.references).score
                assert close(index["scores"][kind][number][place], own, 2e-5)
    return len(usable)
