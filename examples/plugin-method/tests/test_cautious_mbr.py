"""The method obeys the laws, agrees with its definition, and is at home in the command."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cautious_mbr import CautiousMBR, worst_means

import lattices
from decoding import mbr, mbr_kbest, sample_data
from decoding.cli.main import main
from decoding.testing import check_method
from fstmetrics import BLEU, GRR, WER
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


@pytest.mark.parametrize("share", [1.0, 0.5, 0.01])
@pytest.mark.parametrize("metric", [WER(), GRR(n=2), BLEU(smooth="add-k")])
def test_laws(share: float, metric: WER) -> None:
    check_method(CautiousMBR(share=share, size=20), metric)


def draw_list(chance: random.Random) -> NBest:
    texts = {" ".join(chance.choices("abcd", k=chance.randrange(1, 5))) for _ in range(6)}
    return NBest.from_hypotheses(
        [Hypothesis(tuple(text.split()), chance.gauss(0, 2)) for text in sorted(texts)]
    )


def test_the_whole_share_is_pairwise() -> None:
    chance = random.Random(0)
    for _ in range(50):
        nbest = draw_list(chance)
        ours = mbr_kbest(nbest, WER(), k=3, method=CautiousMBR(share=1.0))
        theirs = mbr_kbest(nbest, WER(), k=3, method="pairwise")
        assert [each.text for each in ours] == [each.text for each in theirs]
        assert [each.expected for each in ours] == pytest.approx([e.expected for e in theirs])


def test_the_definition() -> None:
    """The value at risk is where a linear function of it is highest (Rockafellar and Uryasev)."""
    chance = random.Random(1)
    for _ in range(50):
        nbest, share = draw_list(chance), chance.uniform(0.05, 1.0)
        p = np.exp(nbest.score - nbest.score.max())
        p /= p.sum()
        values = []
        sentences = [entry.tokens for entry in nbest]
        for said in sentences:
            gains = [-WER().against([other]).score(said) for other in sentences]
            tails = [
                v - sum(w * max(0.0, v - g) for w, g in zip(p, gains, strict=True)) / share
                for v in gains
            ]
            values.append(max(tails))
        found = mbr(nbest, WER(), method=CautiousMBR(share=share))
        assert -found.expected == pytest.approx(max(values))


def test_a_score_on_the_border_counts_in_part() -> None:
    assert worst_means(np.array([[1.0], [3.0]]), np.array([0.5, 0.5]), 0.75)[0] == pytest.approx(
        5 / 3
    )


def test_options_are_looked_at() -> None:
    for share in (0.0, 1.5, -1.0):
        with pytest.raises(OptionError, match=f"share={share}, expected a number above 0"):
            CautiousMBR(share=share)


def test_it_is_known_to_the_command(tmp_path: Path, fstmetrics: Callable[..., str]) -> None:
    """It is found by its entry point, with workers, too; and by its module."""
    space = sample_data() / "s035.slf.gz"
    lattice = next(lattices.read(space))
    expected = mbr(lattice, WER(), method=CautiousMBR(share=0.3)).text
    for method in ("cautious:share=0.3", "python:cautious_mbr:CautiousMBR,share=0.3"):
        for more in ([], ["--workers", "2"], ["--resume", "-o", tmp_path / method]):
            asked = ["--metric", "wer", "--method", method, "--format", "text"]
            said = fstmetrics("mbr", space, *asked, *more)
            assert "method cautious" in said
            if "-o" not in more:
                assert said.splitlines()[0] == expected
    assert "cautious" in fstmetrics("doctor")
