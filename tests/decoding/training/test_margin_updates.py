"""Updates by single pairs: each is a step against the gradient of what the learner minimises."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from decoding.plain_json import seal_json
from decoding.training.hope_fear import hope_fear
from decoding.training.learners import LEARNERS
from decoding.training.margin_updates import (
    Constraint,
    PairLearner,
    logistic_pulls,
    margin,
    risk_pulls,
    softmax_margin_pulls,
)
from decoding.training.perceptron import Perceptron
from decoding.training.pro import PRO
from decoding.training.risk.learner import Risk
from decoding.training.softmax_margin import SoftmaxMargin
from fstmetrics import GRR, WER
from lattices.errors import FormatError
from tests.decoding.training.learner_laws import noisy, separable

NUMBERS = st.floats(-3.0, 3.0)
MARGINS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=4)
MAKERS = [PRO, SoftmaxMargin, Risk]


def logistic(margins, losses):
    return sum(
        np.log(1.0 + np.exp(-each))
        for each, loss in zip(margins, losses, strict=True)
        if loss > 0.0
    )


def softmax_margin(margins, losses):
    return np.log(
        1.0 + sum(np.exp(0.7 * loss - each) for each, loss in zip(margins, losses, strict=True))
    )


def expected(margins, losses):
    chances = np.exp(-np.array([*margins, 0.0]) / 0.6)
    return float(chances @ np.array([*losses, 0.0]) / chances.sum())


@settings(max_examples=60)
@given(MARGINS)
def test_pulls_are_slopes(pairs):
    margins, losses = (np.array(column) for column in zip(*pairs, strict=True))
    for pulls, loss in (
        (logistic_pulls(margins, losses), logistic),
        (softmax_margin_pulls(margins, losses, 0.7), softmax_margin),
        (risk_pulls(margins, losses, 0.6), expected),
    ):
        finite = approx_fprime(margins, lambda x, loss=loss: loss(x, losses), 1e-7)
        assert pulls == pytest.approx(-finite, abs=1e-5)


def test_pulls_at_far_margins_are_finite():
    far, losses = np.array([-1e4, 1e4]), np.array([1.0, 1.0])
    assert logistic_pulls(far, losses).tolist() == [1.0, 0.0]
    assert softmax_margin_pulls(far, losses, 100.0).tolist() == [1.0, 0.0]
    assert risk_pulls(far, losses, 1.0).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("make", MAKERS)
def test_a_step_raises_the_margin_of_what_is_better(make):
    made = make(start={"a": 0.5, "b": 0.0}, rate=0.1)
    moved = made.update(Constraint({"a": 2.0, "b": -1.0}, 0.4))
    assert moved["a"] > 0.0 > moved["b"]
    assert moved["a"] == pytest.approx(-2.0 * moved["b"])
    assert made.weights == {"a": 0.5 + moved["a"], "b": moved["b"]}
    assert made.update([]) == {}
    assert made.update(Constraint({}, 1.0)) == {}


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("metric", [GRR(n=2), WER()])
def test_a_loop_of_pairs_solves_a_separable_corpus(make, metric):
    spaces, references = separable("lattice")
    made = make(start=dict.fromkeys("xyz", 0.1), rate=0.5)
    judges = [metric.against(texts) for texts in references]
    for _ in range(15):
        for space, judge in zip(spaces, judges, strict=True):
            found = hope_fear(space, judge, made.weights)
            made.update(found, higher_is_better=metric.higher_is_better)
    perfect = 1.0 if metric.higher_is_better else 0.0
    for space, judge in zip(spaces, judges, strict=True):
        best = hope_fear(space, judge, made.weights).best
        assert best.score == pytest.approx(perfect)


@pytest.mark.parametrize("make", MAKERS)
def test_updates_by_hand_are_averaged_and_pickled(make):
    made, seen = make(start={"a": 0.0}, rate=0.3), []
    for loss in (1.0, 0.5, 3.0):
        made.update(Constraint({"a": 1.0}, loss))
        seen.append(made.weights["a"])
    assert made.average() == {"a": pytest.approx(np.mean(seen))}
    copy = pickle.loads(pickle.dumps(made))
    copy.update(Constraint({"a": 1.0}, 1.0))
    made.update(Constraint({"a": 1.0}, 1.0))
    assert copy.weights == made.weights
    assert copy.average() == made.average()


@pytest.mark.parametrize("make", MAKERS)
def test_after_a_fit_features_have_its_units(make):
    spaces, references = noisy("list")
    made = make(rounds=1).fit(spaces, references, WER())
    rounds = made.average()
    assert rounds == made.history[-1].weights
    units = dict(zip(made._corpus.names, made._corpus.deviations.tolist(), strict=True))
    moved = made.update(Constraint({"x": 1.0, "y": 1.0}, 1.0))
    assert moved["x"] * units["x"] ** 2 == pytest.approx(moved["y"] * units["y"] ** 2)
    assert made.average() == pytest.approx(made.weights)


def test_the_temperature_of_risk_is_that_of_the_fit():
    cold, warm = (Risk(start={"a": 0.0}, temperatures=[each]) for each in (0.5, 2.0))
    pair = Constraint({"a": 1.0}, 1.0)
    assert cold.update(pair)["a"] == pytest.approx(4.0 * warm.update(pair)["a"])


def test_all_that_look_at_one_segment_take_pairs():
    assert {name for name in LEARNERS.names() if issubclass(LEARNERS.get(name), PairLearner)} == {
        name for name in LEARNERS.names() if name not in ("mert", "xbleu")
    }


@pytest.mark.filterwarnings("ignore::decoding.training.learner.TrainingWarning")
@pytest.mark.parametrize("against", ["fear", "best"])
@pytest.mark.parametrize("kind", ["list", "lattice", "forest"])
def test_the_perceptron_moves_away_from_its_rival(against, kind):
    spaces, references = noisy(kind)
    weights = {"x": -1.0, "y": 1.0, "z": 0.3}
    metric = GRR(n=2)
    options = {"against": against, "scaled": False, "averaged": False, "scale": 5.0}
    for space, texts in zip(spaces[:4], references, strict=False):
        found = hope_fear(space, metric.against(texts), weights, scale=5.0)
        by_hand = Perceptron(start=weights, **options)
        moved = by_hand.update(found)
        fitted = Perceptron(start=weights, epochs=1, **options).fit([space], [texts], metric)
        assert fitted.history[0].weights == pytest.approx(by_hand.weights, abs=1e-9)
        rival = getattr(found, against)
        if found.hope.score > rival.score:
            ours, theirs = found.hope.hypothesis.features, rival.hypothesis.features
            difference = {name: ours.get(name, 0.0) - theirs.get(name, 0.0) for name in weights}
            assert margin(moved, difference) > 0.0
        else:
            assert not moved


def test_the_average_begins_after_settling():
    spaces, references = noisy("list")
    seen: list[dict[str, float]] = []

    class Watched(Perceptron):
        def update(self, pair, **options):
            moved = super().update(pair, **options)
            seen.append(dict(self.weights))
            return moved

    for settling, skipped in ((0.0, 0), (0.5, 2), (0.79, 3)):
        seen.clear()
        made = Watched(epochs=4, settling=settling).fit(spaces, references, WER())
        late = seen[skipped * len(spaces) :]
        assert made.average() == made.history[-1].weights
        for name, value in made.average().items():
            assert value == pytest.approx(np.mean([each[name] for each in late]), rel=1e-9)


def test_a_checkpoint_without_an_option_is_refused(tmp_path):
    spaces, references = noisy("list")
    path = tmp_path / "old.json"
    PRO(rounds=1).fit(spaces, references, WER(), checkpoint=path)
    content = json.loads(path.read_text())
    del content["options"]["keep"]
    path.write_bytes(seal_json(content))
    with pytest.raises(FormatError, match=r"another version: no option keep"):
        PRO.load(path)
