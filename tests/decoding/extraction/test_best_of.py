"""The best of k samples: judged by all subsets."""

from __future__ import annotations

import json
import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding import best_of
from decoding.cli.main import main
from fstmetrics import BLEU, WER, Exact
from lattices import Lattice, OptionError, from_hypotheses, write
from tests.decoding.minimum_risk.lists import small_lists


@pytest.mark.parametrize(
    "metric", [WER(), Exact(), BLEU(smooth="add-k")], ids=lambda each: each.name
)
@settings(max_examples=25)
@given(samples=small_lists(max_size=5), text=st.sampled_from(["a", "a b", "b b a"]))
def test_every_subset_counts_once(metric, samples, text):
    evaluator = metric.against([text])
    rows = [evaluator.stats(each.tokens) for each in samples]
    sign = 1 if metric.higher_is_better else -1
    for point in best_of(samples, evaluator, range(1, len(samples) + 3)):
        k = min(point.k, len(samples))
        scores = [
            max(sign * metric.score(rows[entry]) for entry in some)
            for some in combinations(range(len(samples)), k)
        ]
        assert point.samples == len(samples)
        assert sign * point.score == pytest.approx(np.mean(scores), abs=1e-9)
        assert point.deviation == pytest.approx(np.std(scores), abs=1e-6)


@settings(max_examples=25)
@given(samples=small_lists(max_size=5), text=st.sampled_from(["a", "a b", "b b a"]))
def test_decisions_of_every_subset(samples, text):
    """By one utility after the other: what has the lowest expected WER, and how wrong that is."""
    evaluator, words = WER().against([text]), [each.tokens for each in samples]
    for point in best_of(samples, evaluator, range(1, len(words) + 2), utility=WER()):
        scores = []
        for some in combinations(range(len(words)), min(point.k, len(words))):
            risks = [
                round(sum(WER().against([words[e]]).score(words[c]) for e in some), 9) for c in some
            ]
            scores.append(evaluator.score(words[some[risks.index(min(risks))]]))
        assert point.score == pytest.approx(np.mean(scores), abs=1e-9)
        assert point.deviation == pytest.approx(np.std(scores), abs=1e-6)


def test_many_subsets_are_drawn():
    """Of 30 samples, 12 of which are right: the vote of three, in closed form."""
    samples = from_hypotheses(["x"] * 12 + [f"y{n}" for n in range(18)])
    evaluator = Exact().against(["x"])
    (three,) = best_of(samples, evaluator, [3], utility=Exact())
    # two or three that agree, or one that comes first
    ways = [math.comb(12, k) * math.comb(18, 3 - k) / math.comb(30, 3) for k in range(4)]
    assert three.score == pytest.approx(ways[1] + ways[2] + ways[3], abs=0.1)
    (again,) = best_of(samples, evaluator, [3], utility=Exact())
    assert three.score == again.score


def test_the_order_and_the_scores_of_the_list_do_not_matter():
    texts = ["it is 12", "14", "so 14", "no", "15"]
    evaluator = Exact(extract="number").against(["14"])
    found = best_of(from_hypotheses(texts), evaluator, [1, 3])
    other = best_of(from_hypotheses(texts[::-1]), evaluator, [1, 3])
    assert [each.score for each in found] == pytest.approx([0.4, 0.9])
    assert [each.score for each in other] == pytest.approx([0.4, 0.9])


def test_what_has_no_samples_is_refused():
    lattice = Lattice.from_arcs([(0, 1, "a")], [1], id="s")
    with pytest.raises(OptionError, match="lattice 's' has none: draw some first"):
        best_of(lattice, WER().against(["a"]), [1])
    with pytest.raises(OptionError, match="sizes has 0"):
        best_of(from_hypotheses(["a"]), WER().against(["a"]), [0])


def test_in_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lists = [
        from_hypotheses(["1", "2", "2", "3"], id="x", references=["2"]),
        from_hypotheses(["5", "4"], id="y", references=["7"]),
    ]
    file = tmp_path / "samples.jsonl"
    write(file, lists)
    argv = ["oracle", str(file), "--metric", "exact", "wer", "--at", "1,2,4", "--random"]
    assert main([*argv, "--format", "json"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    exact, rate = (list(points[0]["scores"])[place] for place in (0, 1))
    # of two of the four, one in six pairs has no 2
    assert [each["scores"][exact] for each in points] == pytest.approx([1 / 4, 5 / 12, 1 / 2])
    assert [each["scores"][rate] for each in points] == pytest.approx([3 / 4, 7 / 12, 1 / 2])
    assert [each["sentences"] for each in points] == [1.0, 2.0, 3.0]
    assert main(["oracle", str(file), "--random"]) == 2
    assert "--random goes with --at" in capsys.readouterr().err
