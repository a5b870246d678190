"""MIRA: its step solves its quadratic program, and it finds what can be found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from decoding.training import mira
from decoding.training.hope_fear import hope_fear
from decoding.training.margin_updates import Constraint, margin
from decoding.training.mira import MIRA, multipliers
from fstmetrics import BLEU, GRR, WER
from fstmetrics.matching.ter import TER
from lattices import Hypothesis, NBest
from lattices.errors import OptionError
from tests.decoding.training.learner_laws import (
    check_interruption,
    check_seeds,
    check_separable,
    noisy,
    separable,
)
from tests.strategies import examples

NUMBERS = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.25, 1.0, 3.0])
NAMES = ("lm", "tm", "wp")
CONSTRAINTS = st.lists(
    st.builds(
        Constraint,
        st.dictionaries(st.sampled_from(NAMES), NUMBERS, min_size=1),
        st.sampled_from([-0.5, 0.0, 0.1, 1.0, 4.0]),
    ),
    min_size=1,
    max_size=5,
)


def objective(weights, before, constraints, most):
    slack = max(0.0, *(c.loss - margin(weights, c.difference) for c in constraints))
    return sum((weights[n] - before[n]) ** 2 for n in NAMES) / 2.0 + most * slack


@settings(max_examples=80)
@given(
    CONSTRAINTS,
    st.fixed_dictionaries(dict.fromkeys(NAMES, NUMBERS)),
    st.sampled_from([0.01, 0.5, 9]),
)
def test_a_step_is_the_minimum_of_its_program(constraints, before, most):
    learner = MIRA(start=before, C=most)
    learner.update(constraints)
    found = objective(learner.weights, before, constraints, most)

    # the primal, with the slack as a variable, by a general solver
    rows = [[c.difference.get(n, 0.0) for n in NAMES] for c in constraints]
    here = np.array([before[n] for n in NAMES])
    solved = minimize(
        lambda x: np.sum((x[:3] - here) ** 2) / 2.0 + most * x[3],
        np.append(here, max(0.0, *(c.loss - margin(before, c.difference) for c in constraints))),
        jac=lambda x: np.append(x[:3] - here, most),
        method="SLSQP",
        bounds=[(None, None)] * 3 + [(0.0, None)],
        constraints={
            "type": "ineq",
            "fun": lambda x: np.array(rows) @ x[:3] + x[3] - [c.loss for c in constraints],
            "jac": lambda x: np.hstack((rows, np.ones((len(rows), 1)))),
        },
        options={"ftol": 1e-12, "maxiter": 500},
    )
    best = objective(dict(zip(NAMES, solved.x[:3], strict=True)), before, constraints, most)
    assert found <= best + 1e-6 * max(1.0, best)
    for name, value in zip(NAMES, solved.x, strict=False):
        assert learner.weights[name] == pytest.approx(value, abs=2e-3)


@settings(max_examples=examples(150))
@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 10_000), st.sampled_from([0.05, 1, 50]))
def test_multipliers_are_optimal(count, width, seed, most):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, width)).round(1)
    lacking = rng.normal(size=count).round(1)
    found = multipliers(rows @ rows.T, lacking, most)
    assert (found >= 0.0).all()
    assert found.sum() <= most * (1.0 + 1e-12)
    # the conditions of Karush, Kuhn and Tucker: with the price of the sum, no slope is positive
    # and those in use are level
    slope = lacking - rows @ rows.T @ found
    used = found > 1e-12
    price = max(0.0, slope[used].max(initial=0.0)) if found.sum() >= most * (1 - 1e-9) else 0.0
    assert slope.max() <= price + 1e-6
    assert np.abs(slope[used] - price).max(initial=0.0) <= 1e-6


@pytest.mark.parametrize("most", [1.0, 100.0])
def test_constraints_that_contradict_each_other_share_what_they_lack(most):
    # along one feature: 43 times w should be 0.0017, and -118 times w 0.0003, at a high price
    way = np.array([43.0, -118.0])
    gram, lacking = np.outer(way, way), np.array([1.7e-3, 3.3e-4])
    found = multipliers(gram, lacking, most)
    # the price is paid in full, and both lack the same in the end
    assert found.sum() == pytest.approx(most)
    moved = float(found @ way)
    assert lacking[0] - way[0] * moved == pytest.approx(lacking[1] - way[1] * moved, rel=1e-6)


def test_one_constraint_is_clipped():
    learner = MIRA(start={"a": 0.0, "b": 1.0}, C=0.25)
    assert learner.update(Constraint({"a": 1.0, "b": 1.0}, 1.2)) == pytest.approx(
        {"a": 0.1, "b": 0.1}
    )
    assert learner.update(Constraint({"a": 1.0}, 9.0)) == {"a": 0.25}
    assert learner.update(Constraint({"b": 1.0}, -3.0)) == {}
    assert learner.update([]) == {}
    assert learner.update(Constraint({}, 5.0)) == {}


def test_updates_by_hand_are_averaged():
    learner = MIRA(start={"a": 0.0}, C=1.0)
    seen = []
    for loss in (1.0, 0.5, 3.0, 0.0, 2.5):
        learner.update(Constraint({"a": 1.0}, loss))
        seen.append(learner.weights["a"])
    assert learner.average() == {"a": pytest.approx(np.mean(seen))}


def test_a_pair_is_hope_against_fear_and_best():
    spaces, references = separable("lattice")
    found = hope_fear(spaces[0], GRR(n=2).against(references[0]), {"x": 1.0, "y": 1.0, "z": 0.0})
    learner = MIRA(start={"x": 1.0, "y": 1.0, "z": 0.0}, C=100.0)
    learner.update(found)
    for each in learner.constraints_of(found):
        assert margin(learner.weights, each.difference) >= each.loss - 1e-6
    # an error rate wants the lower score
    error = hope_fear(spaces[0], WER().against(references[0]), {"x": 1.0, "y": 1.0, "z": 0.0})
    (fear, _) = learner.constraints_of(error, higher_is_better=False)
    assert fear.loss == error.fear.score - error.hope.score


@pytest.mark.parametrize("kind", ["list", "lattice", "forest"])
@pytest.mark.parametrize("metric", [GRR(n=2), WER()])
@pytest.mark.parametrize("fears", [1, 3])
def test_a_separable_corpus_is_solved(kind, metric, fears):
    check_separable(MIRA(C=1.0, epochs=8, fears=fears), kind, metric)


@pytest.mark.parametrize("kind", ["list", "lattice", "forest"])
@pytest.mark.parametrize("fears", [1, 3])
def test_bleu_of_sentences_is_smoothed_and_searches(kind, fears):
    learner = MIRA(C=1.0, epochs=8, fears=fears)
    check_separable(learner, kind, BLEU(order=2))
    details = learner.history[-1].details
    assert details["exact"] == 1.0
    assert details["judge"] == str(BLEU(order=2, smooth="add-k"))


def test_a_metric_that_cannot_search_takes_lists():
    assert MIRA(epochs=1).fit(*separable("list"), TER()).history[-1].details["exact"] == 1.0
    with pytest.raises(OptionError, match="no machine"):
        MIRA().fit(*separable("lattice"), TER())
    told = MIRA(judge="grr:n=2", epochs=1).fit(*separable("lattice"), TER()).history[-1].details
    assert told["judge"] == str(GRR(n=2))


def test_beyond_the_budget_is_said():
    learner = MIRA(epochs=1, budget=1).fit(*separable("lattice"), BLEU(order=2))
    assert learner.history[-1].details["exact"] < 1.0


def test_threads_do_not_matter():
    spaces, references = noisy("lattice")
    for fears in (1, 2):
        one, two = (
            MIRA(workers=workers, epochs=2, fears=fears).fit(spaces, references, GRR(n=2))
            for workers in (1, 2)
        )
        assert one.weights == two.weights
    lattices = MIRA(epochs=2).fit(spaces, references, GRR(n=2))
    lists = [NBest.from_hypotheses(space.paths(), id=space.id) for space in spaces]
    same = MIRA(epochs=2, scaled=False).fit(lists, references, GRR(n=2))
    unscaled = MIRA(epochs=2, scaled=False).fit(spaces, references, GRR(n=2))
    assert same.weights == pytest.approx(unscaled.weights, abs=1e-9)
    assert lattices.weights != unscaled.weights


def test_units_of_features_do_not_matter_if_scaled():
    spaces, references = noisy("list")
    wide = [
        NBest.from_hypotheses(
            [
                Hypothesis(each.tokens, 0.0, {**each.features, "x": 1024.0 * each.features["x"]})
                for each in space
            ]
        )
        for space in spaces
    ]
    one = MIRA(start=dict.fromkeys("xyz", 0.5)).fit(spaces, references, WER()).weights
    other = MIRA(start={"x": 0.5 / 1024.0, "y": 0.5, "z": 0.5}).fit(wide, references, WER()).weights
    assert 1024.0 * other.pop("x") == pytest.approx(one.pop("x"), rel=1e-9)
    assert one == pytest.approx(other, rel=1e-9)


def test_an_interrupted_fit_goes_on_to_the_same_weights(tmp_path, monkeypatch):
    check_interruption(
        lambda: MIRA(epochs=3, batch=4, seed=5), mira, "hope_fears", (0, 2, 5, 9), tmp_path,
        monkeypatch,
    )  # fmt: skip


def test_seeds():
    check_seeds(lambda seed: MIRA(seed=seed, epochs=3, C=0.5))


def test_without_averaging_the_last_weights_are_taken():
    spaces, references = noisy("list")
    last = MIRA(averaged=False, epochs=2).fit(spaces, references, WER())
    mean = MIRA(averaged=True, epochs=2).fit(spaces, references, WER())
    assert last.average() == mean.weights
    assert last.weights != mean.weights
    assert mean.average() == mean.weights


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"C": 0.0}, "C is finite"),
        ({"C": float("inf")}, "C is finite"),
        ({"fears": 0}, "fears is at least 1"),
        ({"epochs": 0}, "epochs is at least 1"),
        ({"batch": 0}, "batch is at least 1"),
        ({"scale": float("nan")}, "scale is finite"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, problem):
    with pytest.raises(OptionError, match=problem):
        MIRA(**options)


def test_segments_without_a_choice_change_nothing():
    one = NBest.from_hypotheses([Hypothesis(("a",), 0.0, {"x": 1.0})])
    learner = MIRA(start={"x": 0.5}).fit([one], [["b"]], WER())
    assert learner.weights == {"x": 0.5}
    assert learner.history[-1].details["moves"] == 0


def test_real_lattices(shared_data):
    from itertools import islice

    from lattices import read

    file = shared_data / "multi30k-deen" / "val.de-en.lat.d10.jsonl.gz"
    spaces = list(islice(read(file), 40))
    references = [space.references for space in spaces]
    learner = MIRA(epochs=3).fit(spaces, references, GRR())
    assert learner.history[-1].score > learner.history[0].score - 0.01
    assert all(each.details["exact"] == 1.0 for each in learner.history)


def test_a_learner_may_take_more_memory_than_the_default() -> None:
    assert MIRA(memory=2**40).memory == 2**40
    with pytest.raises(OptionError, match="epochs is at most"):
        MIRA(epochs=2**40)
