"""Softmax-margin: the loss equals enumeration, its gradient finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from decoding.training import softmax_margin as softmax_margin_terms
from decoding.training.hope_fear import hope_fear
from decoding.training.learner import TrainingTask
from decoding.training.softmax_margin import SoftmaxMargin
from fstmetrics import BLEU, CER, GRR, WER, WRR, parse_metric
from fstmetrics.contract import quality
from lattices import Hypothesis, Lattice, NBest
from lattices.errors import OptionError
from tests.decoding.training.learner_laws import (
    check_interruption,
    check_seeds,
    check_separable,
    noisy,
    separable,
)
from tests.decoding.training.test_hope_fear import SPACES, WEIGHTS, members, model
from tests.strategies import sentences

METRICS = st.sampled_from([WER(), WRR(), GRR(), GRR(n=2, alpha=2.0), CER()])


def log_sum(values):
    highest = max(values)
    return highest + np.log(sum(np.exp(value - highest) for value in values))


@settings(max_examples=80)
@given(
    st.lists(st.tuples(SPACES, sentences()), min_size=1, max_size=2),
    METRICS,
    WEIGHTS,
    st.sampled_from([0.5, 3.0]),
    st.sampled_from(["hope", "oracle"]),
)
def test_loss_and_gradient_equal_enumeration_and_finite_differences(
    pairs, metric, weights, scale, towards
):
    spaces = [space for space, _ in pairs]
    task = TrainingTask(spaces, [[reference] for _, reference in pairs], metric)
    learner = SoftmaxMargin(scale=scale, towards=towards, start=weights)
    corpus = learner.ready(task)
    here = corpus.vector(weights)
    terms, exact = learner.terms(corpus, here)
    assert exact == 1.0
    value, gradient = terms.loss(here, range(len(spaces)))

    wanted = 0.0
    for space, evaluator in zip(spaces, task.evaluators, strict=True):
        target = getattr(hope_fear(space, evaluator, weights, scale=scale), towards)
        best = quality(metric, target.score)
        wanted += log_sum(
            [
                model(each, weights)
                + scale * (best - quality(metric, evaluator.score(each.tokens)))
                for each in members(space)
            ]
        ) - model(target.hypothesis, weights)
    assert value == pytest.approx(wanted / len(spaces), abs=1e-6)
    assert value >= -1e-9
    finite = approx_fprime(here, lambda x: terms.loss(x, range(len(spaces)))[0], 1e-6)
    assert gradient == pytest.approx(finite, abs=1e-4)


def test_beyond_the_budget_lists_stand_in_and_that_is_said():
    spaces, references = noisy("lattice")
    whole = SoftmaxMargin(rounds=2).fit(spaces, references, GRR(n=2))
    assert [each.details["exact"] for each in whole.history] == [1.0, 1.0]
    # every path is among the 200 best, so nothing else changes
    listed = SoftmaxMargin(rounds=2, budget=1).fit(spaces, references, GRR(n=2))
    assert [each.details["exact"] for each in listed.history] == [0.0, 0.0]
    assert listed.weights == pytest.approx(whole.weights, abs=1e-3)
    fewer = SoftmaxMargin(rounds=2, budget=1, size=2).fit(spaces, references, GRR(n=2))
    assert fewer.weights != pytest.approx(whole.weights, abs=1e-3)


@settings(max_examples=60)
@given(SPACES, sentences(), WEIGHTS)
def test_bleu_searches_the_space_for_its_target(space, reference, weights):
    metric = BLEU(order=2, smooth="add-k")
    task = TrainingTask([space], [[reference]], metric)
    learner = SoftmaxMargin(scale=3.0, start=weights, size=1)
    corpus = learner.ready(task)
    terms, _ = learner.terms(corpus, corpus.vector(weights))
    value, _ = terms.loss(corpus.vector(weights), [0])

    def augmented(each):
        return model(each, weights) - 3.0 * task.evaluators[0].score(each.tokens)

    hope = hope_fear(space, task.evaluators[0], weights, scale=3.0).hope.hypothesis
    every = members(space)
    if isinstance(space, NBest):
        wanted = [log_sum([augmented(each) for each in every])]
    else:
        top = max(model(each, weights) for each in every)
        liked = [each for each in every if model(each, weights) > top - 1e-9]
        wanted = [
            log_sum([augmented(each) for each in {hope.tokens: hope, one.tokens: one}.values()])
            for one in liked
        ]
    assert any(value == pytest.approx(each - augmented(hope), abs=1e-6) for each in wanted)


def test_a_target_that_is_not_among_the_best_counts():
    # without it the loss would fall without end as its score rises
    lattice = Lattice.from_arcs(
        [(0, 1, "a", 0.0, {"x": 1.0}), (0, 1, "b", 0.0, {"y": 1.0})], finals=[1]
    )
    task = TrainingTask([lattice], [["b"]], WER())
    learner = SoftmaxMargin(start={"x": 1.0, "y": 0.0}, size=1, budget=1)
    corpus = learner.ready(task)
    terms, exact = learner.terms(corpus, corpus.vector({"x": 1.0, "y": 0.0}))
    assert exact == 0.0
    value, _ = terms.loss(corpus.vector({"x": 0.0, "y": 1000.0}), [0])
    assert value == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("kind", ["lattice", "forest"])
def test_what_labels_cannot_search_goes_by_lists(kind):
    learner = SoftmaxMargin(rounds=3)
    check_separable(learner, kind, BLEU(order=2, tokenize="intl"))
    assert learner.history[-1].details["exact"] == 0.0


@pytest.mark.parametrize("kind", ["list", "lattice", "forest"])
@pytest.mark.parametrize("metric", [GRR(n=2), WER(), BLEU(order=2)])
@pytest.mark.parametrize("optimiser", ["lbfgs", "adagrad"])
def test_a_separable_corpus_is_solved(kind, metric, optimiser):
    options = {"rounds": 3} if optimiser == "lbfgs" else {"rounds": 10, "epsilon": 0.0, "rate": 0.5}
    check_separable(SoftmaxMargin(optimiser=optimiser, **options), kind, metric)


def test_threads_and_units_of_features_do_not_matter():
    spaces, references = noisy("lattice")
    one, two = (
        SoftmaxMargin(workers=workers, rounds=2).fit(spaces, references, GRR(n=2))
        for workers in (1, 2)
    )
    assert one.weights == two.weights


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
    learner = SoftmaxMargin(rounds=2, l1=0.3, l2=0.0).fit(wider, references, WER())
    assert learner.weights["noise"] == 0.0
    assert learner.weights["y"] != 0.0


def test_lists_keep_what_earlier_weights_liked():
    lattice = Lattice.from_arcs(
        [(0, 1, word, 0.0, {feature: 1.0}) for word, feature in zip("abc", "xyz", strict=True)],
        finals=[1],
    )
    task = TrainingTask([lattice], [["c"]], BLEU(order=1, smooth="add-k"))
    learner = SoftmaxMargin(size=1)
    learner.begin(task)
    corpus = learner.ready(task)
    for liked, there in (("x", {"a", "c"}), ("y", {"a", "b", "c"})):
        learner.terms(corpus, corpus.vector({**dict.fromkeys("xyz", 0.0), liked: 1.0}))
        (listed,) = learner._lists.values()
        assert {each.text for each in listed} == there
    # a learner that is loaded decodes again under all weights so far
    again = SoftmaxMargin(size=1)
    again.state = {"decoded": learner.state["decoded"][:1]}
    again.terms(again.ready(task), corpus.vector({"x": 0.0, "y": 1.0, "z": 0.0}))
    (lists,) = again._lists.values()
    assert [each.text for each in lists] == [each.text for each in listed]


def test_bleu_of_single_sentences_is_smoothed_with_its_penalty():
    spaces, references = separable("lattice")
    fitted = SoftmaxMargin(rounds=1).fit(spaces, references, BLEU())
    judge = parse_metric(fitted.history[-1].details["judge"])
    assert judge == BLEU(smooth="add-k", brevity="smooth")
    for chosen in ("bleu:smooth=exp", "bleu:brevity=none"):
        kept = SoftmaxMargin(rounds=1).fit(spaces, references, parse_metric(chosen))
        assert "brevity=smooth" not in kept.history[-1].details["judge"]


def test_an_interrupted_fit_with_lists_goes_on_to_the_same_weights(tmp_path, monkeypatch):
    check_interruption(
        lambda: SoftmaxMargin(rounds=4, iterations=2, epsilon=0.0, size=2),
        softmax_margin_terms, "expectation", (0, 50, 100, 150),
        tmp_path, monkeypatch, metric=BLEU(order=2),
    )  # fmt: skip


@pytest.mark.parametrize("optimiser", ["lbfgs", "adagrad", "sgd"])
def test_an_interrupted_fit_goes_on_to_the_same_weights(tmp_path, monkeypatch, optimiser):
    check_interruption(
        lambda: SoftmaxMargin(rounds=3, iterations=2, optimiser=optimiser, epsilon=0.0, batch=3),
        softmax_margin_terms, "expectation", (0, 20, 45, 75)[: 4 if optimiser == "lbfgs" else 3],
        tmp_path, monkeypatch,
    )  # fmt: skip


def test_seeds():
    check_seeds(lambda seed: SoftmaxMargin(seed=seed, rounds=3, optimiser="adagrad"))


def test_it_ends_where_nothing_moves():
    spaces, references = separable("list")
    learner = SoftmaxMargin(rounds=50, epsilon=0.01).fit(spaces, references, WER())
    assert 1 < len(learner.history) < 50


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"optimiser": "adam"}, "optimiser is one of lbfgs, adagrad, sgd"),
        ({"towards": "reference"}, "towards is one of hope, oracle"),
        ({"scale": 0.0}, "scale is finite"),
        ({"l2": -1.0}, "l2 is a number from 0 up"),
        ({"rounds": 0}, "rounds is at least 1"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, problem):
    with pytest.raises(OptionError, match=problem):
        SoftmaxMargin(**options)
