"""PRO: its sampler, its regression, and what it finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.sparse import csr_array

from decoding.training import pro
from decoding.training.online import Descent, minimise
from decoding.training.pro import PRO, logistic_loss, sample_pairs
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


@given(
    st.lists(st.sampled_from([0.0, 0.1, 0.12, 0.5, 1.0]), max_size=6),
    st.integers(0, 99),
    st.integers(1, 60),
    st.sampled_from([0.0, 0.05, 0.4]),
)
def test_pairs_differ_enough_and_most(qualities, seed, kept, threshold):
    objective = np.array(qualities, dtype=np.float64)
    better, worse = sample_pairs(
        objective, np.random.default_rng(seed), candidates=50, kept=kept, threshold=threshold
    )
    apart = objective[better] - objective[worse] if len(objective) else np.array([])
    assert (apart > 0.0).all()
    assert (apart >= threshold).all()
    assert (np.diff(apart) <= 0.0).all()
    # a naive sampler on the same draws keeps as many, of the same differences
    rng = np.random.default_rng(seed)
    if len(objective) > 1:
        drawn = rng.integers(len(objective), size=(2, 50)).T
        gaps = [abs(objective[one] - objective[other]) for one, other in drawn]
        naive = sorted((gap for gap in gaps if gap >= threshold and gap > 0.0), reverse=True)[:kept]
        assert apart.tolist() == naive
    else:
        assert len(better) == 0


@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=6), st.integers(0, 99))
def test_random_pairs_are_the_first_that_differ_enough(qualities, seed):
    objective = np.array(qualities)
    better, worse = sample_pairs(
        objective, np.random.default_rng(seed), candidates=40, kept=5, threshold=0.1, keep="random"
    )
    drawn = np.random.default_rng(seed).integers(len(objective), size=(2, 40)).T.tolist()
    naive = [
        (one, other) if objective[one] > objective[other] else (other, one)
        for one, other in drawn
        if abs(objective[one] - objective[other]) >= 0.1
    ]
    assert list(zip(better.tolist(), worse.tolist(), strict=True)) == naive[:5]


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 8), st.integers(1, 4), st.sampled_from([1.0, 50.0]))
def test_the_gradient_is_that_of_finite_differences(seed, pairs, width, size):
    rng = np.random.default_rng(seed)
    rows = csr_array(rng.normal(size=(pairs, width)))
    weights = size * rng.normal(size=width)
    value, gradient = logistic_loss(rows, weights)
    margins = rows.toarray() @ weights
    assert value == pytest.approx(np.mean(np.log1p(np.exp(-np.clip(margins, -500, 500)))))
    finite = approx_fprime(weights, lambda x: logistic_loss(rows, x)[0], 1e-6)
    assert gradient == pytest.approx(finite, abs=1e-4)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from([0.01, 0.3]), st.sampled_from([0.0, 0.05, 0.5]))
def test_a_minimum_satisfies_the_conditions_of_optimality(seed, l2, l1):
    rng = np.random.default_rng(seed)
    rows = csr_array(np.vstack((rng.normal(size=(12, 4)), -rng.normal(size=(12, 4)))))

    def loss(x):
        return logistic_loss(rows, x)

    found = minimise(loss, rng.normal(size=4), l2=l2, l1=l1, most_iterations=1000)
    x = found.point
    slope = loss(x)[1] + l2 * x
    assert found.value == pytest.approx(loss(x)[0] + l2 * x @ x / 2 + l1 * np.abs(x).sum())
    moved = x != 0.0
    assert slope[moved] == pytest.approx(-l1 * np.sign(x[moved]), abs=1e-4)
    assert (np.abs(slope[~moved]) <= l1 + 1e-4).all()


@pytest.mark.parametrize("method", ["adagrad", "sgd"])
def test_descent_comes_to_the_minimum_and_can_be_taken_up(method):
    rng = np.random.default_rng(3)
    rows = csr_array(rng.normal(loc=[0.5, 0.0, -0.5], size=(20, 3)))
    best = minimise(lambda x: logistic_loss(rows, x), np.zeros(3), l2=0.05, l1=0.02)
    descent, point, state = Descent(method, 0.5, 0.05, 0.02, {}), np.zeros(3), {}
    for step in range(2000):
        point = descent.step(point, logistic_loss(rows, point)[1])
        if step == 700:
            state, middle = descent.state, point
    assert point == pytest.approx(best.point, abs=1e-2)
    again = Descent(method, 0.5, 0.05, 0.02, state)
    for _ in range(701, 2000):
        middle = again.step(middle, logistic_loss(rows, middle)[1])
    assert middle.tolist() == point.tolist()
    with pytest.raises(OptionError, match="adagrad or sgd"):
        Descent("adam", 1.0, 0.0, 0.0, {})


@pytest.mark.parametrize("kind", ["list", "lattice", "forest"])
@pytest.mark.parametrize("metric", [GRR(n=2), WER(), BLEU(order=2)])
def test_a_separable_corpus_is_solved(kind, metric):
    check_separable(PRO(rounds=4, candidates=100, mix=0.5), kind, metric)


def sizes(learner):
    return [len(kept.nbest) for kept in learner._corpus.kept["pro"][1].values()]


def test_lists_of_lattices_grow():
    spaces, references = noisy("lattice")
    learner = PRO(rounds=3, size=2, mix=1.0, candidates=50).fit(spaces, references, GRR(n=2))
    assert max(sizes(learner)) > 2
    wide = PRO(rounds=3, size=50, candidates=50).fit(spaces, references, GRR(n=2))
    assert sizes(wide) == [6] * len(spaces)


def test_the_mix_is_between_old_and_new():
    spaces, references = noisy("list")
    start = dict.fromkeys("xyz", 0.5)
    whole, half = (
        PRO(start=start, rounds=1, mix=mix).fit(spaces, references, WER()).weights
        for mix in (1.0, 0.5)
    )
    for name in "xyz":
        assert half[name] == pytest.approx((whole[name] + 0.5) / 2.0)


def test_l1_leaves_features_out():
    rng = np.random.default_rng(0)
    spaces, references = noisy("list")
    wider = [
        NBest.from_hypotheses(
            Hypothesis(each.tokens, 0.0, {**each.features, "noise": float(rng.normal())})
            for each in space
        )
        for space in spaces
    ]
    learner = PRO(rounds=1, mix=1.0, l1=0.1).fit(wider, references, WER())
    assert learner.weights["noise"] == 0.0
    assert learner.weights["y"] != 0.0


@pytest.mark.parametrize("kind", ["list", "lattice"])
def test_an_interrupted_fit_goes_on_to_the_same_weights(tmp_path, monkeypatch, kind):
    check_interruption(
        lambda: PRO(rounds=4, size=3, seed=5, candidates=30), pro, "sample_pairs", (0, 20, 40, 55),
        tmp_path, monkeypatch, kind,
    )  # fmt: skip


def test_seeds():
    check_seeds(lambda seed: PRO(seed=seed, rounds=3, candidates=20, kept=5))


def test_segments_without_a_choice_change_nothing():
    one = NBest.from_hypotheses([Hypothesis(("a",), 0.0, {"x": 1.0})])
    learner = PRO(start={"x": 0.5}, rounds=2).fit([one], [["b"]], WER())
    assert learner.weights == {"x": 0.5}
    assert learner.history[-1].details["pairs"] == 0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"mix": 0.0}, "mix is above 0"),
        ({"mix": 1.5}, "mix is above 0"),
        ({"kept": 0}, "kept is at least 1"),
        ({"keep": "best"}, "keep is one of auto, largest, random"),
        ({"rate": 0.0}, "rate is finite"),
        ({"l1": -1.0}, "l1 is a number from 0 up"),
        ({"threshold": float("nan")}, "threshold is a number"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, problem):
    with pytest.raises(OptionError, match=problem):
        PRO(**options)


@pytest.mark.parametrize(
    ("kind", "kept"), [("list", "largest"), ("lattice", "random"), ("forest", "largest")]
)
def test_which_pairs_are_kept_follows_from_the_space(kind, kept):
    spaces, references = separable(kind)
    # so that some sentences are better than others, and worse than the best
    references = [[f"{text} w1 wrong"] for (text,) in references]
    weights = {
        keep: PRO(keep=keep, kept=3, rounds=2, seed=1).fit(spaces, references, GRR(n=1)).weights
        for keep in ("auto", "largest", "random")
    }
    assert weights["auto"] == weights[kept]
    assert weights["largest"] != weights["random"]


def test_bleu_is_judged_in_a_document_unless_it_is_told_otherwise():
    spaces, references = noisy("list")
    for metric, options, expected in (
        (BLEU(order=2), {}, True),
        (BLEU(order=2), {"document": 0.0}, False),
        (BLEU(order=2), {"judge": "bleu:smooth=add-k"}, False),
        (WER(), {}, False),
        (BLEU(order=2), {"judge": "bleu:smooth=add-k", "document": 0.9}, True),
    ):
        judge = PRO(rounds=1, **options).fit(spaces, references, metric).history[0].details["judge"]
        assert judge.endswith("in a document of 9 segments") == expected
