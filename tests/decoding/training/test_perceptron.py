"""The perceptron: what it moves by, its average, and what it finds."""

from __future__ import annotations

import numpy as np
import pytest

from decoding.training import perceptron
from decoding.training.hope_fear import hope_fear
from decoding.training.margin_updates import Constraint
from decoding.training.perceptron import Perceptron
from fstmetrics import BLEU, GRR, WER
from lattices import Hypothesis, NBest
from lattices.errors import OptionError
from tests.decoding.training.learner_laws import (
    check_interruption,
    check_seeds,
    check_separable,
    noisy,
    separable,
)


@pytest.mark.parametrize("kind", ["list", "lattice", "forest"])
@pytest.mark.parametrize("metric", [GRR(n=2), WER(), BLEU(order=2)])
@pytest.mark.parametrize("towards", ["hope", "oracle"])
@pytest.mark.parametrize("against", ["fear", "best"])
def test_a_separable_corpus_is_solved(kind, metric, towards, against):
    learner = Perceptron(
        epochs=20, rate=0.1, scale=3.0, towards=towards, against=against, averaged=False
    )
    check_separable(learner, kind, metric)


def test_averaged_weights_solve_it_too():
    check_separable(Perceptron(epochs=40, rate=0.1, scale=3.0), "list", BLEU(order=2))


def test_a_move_is_the_difference_of_features():
    learner = Perceptron(start={"a": 0.0}, rate=0.5)
    assert learner.update(Constraint({"a": 2.0, "b": -1.0}, 0.1)) == {"a": 1.0, "b": -0.5}
    assert learner.weights == {"a": 1.0, "b": -0.5}
    assert learner.update(Constraint({"a": 2.0}, 0.0)) == {}
    assert learner.update(Constraint({"a": 2.0}, -0.2)) == {}
    assert learner.average() == pytest.approx({"a": 1.0, "b": -0.5})


@pytest.mark.parametrize("towards", ["hope", "oracle"])
def test_a_pair_moves_from_the_best_to_the_better(towards):
    spaces, references = separable("lattice")
    weights = {"x": -1.0, "y": 1.0, "z": 0.0}
    found = hope_fear(spaces[0], GRR(n=2).against(references[0]), weights, scale=10.0)
    learner = Perceptron(start=weights, towards=towards, against="best", rate=1.0)
    moved = learner.update(found)
    target = getattr(found, towards).hypothesis.features
    assert target != found.best.hypothesis.features
    for name in weights:
        wanted = target.get(name, 0.0) - found.best.hypothesis.features.get(name, 0.0)
        assert moved.get(name, 0.0) == pytest.approx(wanted)


def test_the_average_is_over_updates_not_rounds():
    spaces, references = noisy("list")
    seen = []

    class Watched(Perceptron):
        def update(self, pair, **options):
            moved = super().update(pair, **options)
            seen.append(dict(self.weights))
            return moved

    learner = Watched(epochs=3, averaged=False, settling=0.0).fit(spaces, references, WER())
    assert len(seen) == 3 * len(spaces)
    for name, value in learner.average().items():
        assert value == pytest.approx(np.mean([each[name] for each in seen]), rel=1e-9)


@pytest.mark.parametrize("kind", ["list", "lattice", "forest"])
def test_spaces_of_all_kinds_give_the_same_moves(kind):
    spaces, references = noisy(kind)
    learner = Perceptron(scaled=False, epochs=2).fit(spaces, references, GRR(n=2))
    lists, _ = noisy("list")
    other = Perceptron(scaled=False, epochs=2).fit(lists, references, GRR(n=2))
    assert learner.weights == pytest.approx(other.weights, abs=1e-9)


def test_an_interrupted_fit_goes_on_to_the_same_weights(tmp_path, monkeypatch):
    check_interruption(
        lambda: Perceptron(epochs=3, batch=4, seed=5), perceptron, "find_oracles", (0, 2, 5, 9),
        tmp_path, monkeypatch,
    )  # fmt: skip


def test_seeds():
    check_seeds(lambda seed: Perceptron(seed=seed, epochs=3))


def test_a_second_fit_begins_where_the_first_one_ended():
    spaces, references = noisy("list")
    learner = Perceptron(epochs=2).fit(spaces, references, WER())
    wider = [
        NBest.from_hypotheses([*space, Hypothesis(("new",), 0.0, {"new": 1.0})]) for space in spaces
    ]
    before = dict(learner.weights)
    learner.fit(wider, references, WER())
    assert len(learner.history) == 4
    assert "new" in learner.weights
    assert "new" not in before


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"towards": "fear"}, "towards is one of hope, oracle"),
        ({"against": "hope"}, "against is one of fear, best"),
        ({"settling": 1.0}, "settling is from 0 to below 1"),
        ({"rate": 0.0}, "rate is finite"),
        ({"workers": 0}, "workers is at least 1"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, problem):
    with pytest.raises(OptionError, match=problem):
        Perceptron(**options)
