"""The learner obeys the laws, does what its formula says, and is at home in the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from spsa import SPSA

import lattices
from decoding.cli.main import main
from decoding.testing import check_learner
from fstmetrics import BLEU, WER
from lattices import Hypothesis, NBest, OptionError


@pytest.fixture
def fstmetrics(capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """The command: runs, must succeed, and returns what it said."""

    def run(*argv: object) -> str:
        code = main([*map(str, argv)])
        out, err = capfd.readouterr()
        assert code == 0, (argv, err)
        return out + err

    return run


@pytest.mark.parametrize("metric", [WER(), BLEU(order=2)])
def test_laws(metric: WER) -> None:
    """Among them: a fit that was stopped and resumed ends as one that was not."""
    check_learner(SPSA(rounds=4), metric)


def draw_corpus(segments: int = 20) -> list[NBest]:
    """Return lists whose right sentence has the highest x - 2y + z."""
    chance = np.random.default_rng(0)
    spaces = []
    for number in range(segments):
        rows = chance.normal(size=(6, 3)).round(3)
        right = int(np.argmax(rows @ [1.0, -2.0, 1.0]))
        entries = []
        for row, values in enumerate(rows.tolist()):
            word = "right" if row == right else f"wrong{row}"
            entries.append(Hypothesis((word,), 0.0, dict(zip("xyz", values, strict=True))))
        spaces.append(NBest.from_hypotheses(entries, id=f"s{number}", references=["right"]))
    return spaces


def test_it_learns() -> None:
    spaces = draw_corpus()
    start = dict.fromkeys("xyz", 1 / 3)
    learner = SPSA(start=start, a=3.0, c=0.3, rounds=200, seed=1)
    learner.fit(spaces, [["right"]] * len(spaces), WER())
    assert learner.began is not None
    assert learner.chosen is not None
    assert learner.chosen.score < learner.began.score / 3


@pytest.mark.parametrize("seed", range(5))
def test_the_first_step_by_hand(seed: int) -> None:
    spaces = draw_corpus()
    start = {"x": 0.5, "y": 0.25, "z": -0.25}
    learner = SPSA(start=start, a=2.0, c=0.5, stability=1.0, rounds=1, seed=seed)
    learner.fit(spaces, [["right"]] * len(spaces), WER())
    direction = np.random.default_rng(seed).choice([-1.0, 1.0], 3)
    now = np.array([*start.values()])

    def errors(weights: np.ndarray) -> float:
        """The error rate of the corpus: one word a segment."""
        wrong = 0
        for space in spaces:
            scores = [float(weights @ [one.features[name] for name in "xyz"]) for one in space]
            wrong += space[int(np.argmax(scores))].text != "right"
        return wrong / len(spaces)

    slope = -(errors(now + 0.5 * direction) - errors(now - 0.5 * direction))
    assert learner.history[0].details["slope"] == pytest.approx(slope)
    expected = now + 2.0 / 2.0**0.602 * slope * direction
    assert [*learner.history[0].weights.values()] == pytest.approx(expected.tolist())


def test_options_are_looked_at() -> None:
    with pytest.raises(OptionError, match="rounds is at least 1, not 0"):
        SPSA(rounds=0)
    with pytest.raises(OptionError, match="c is finite and greater than 0"):
        SPSA(c=0.0)


def test_it_is_known_to_the_command(tmp_path: Path, fstmetrics: Callable[..., str]) -> None:
    """It is found by its entry point and by its module, and goes on from its checkpoint."""
    spaces = tmp_path / "spaces.jsonl"
    lattices.write(spaces, draw_corpus(6))
    said = []
    for number, learner in enumerate(("spsa:rounds=5", "python:spsa:SPSA,rounds=5")):
        out, run = tmp_path / f"w{number}.txt", tmp_path / f"run{number}.json"
        asked = ["train", spaces, "--metric", "wer", "--learner", learner, "--checkpoint", run]
        fstmetrics(*asked, "-o", out)
        assert len(json.loads(run.read_text())["history"]) == 5
        fstmetrics(*asked, "-o", out, "--resume")
        said.append(out.read_text())
    assert said[0] == said[1]
    assert "spsa" in fstmetrics("doctor")
