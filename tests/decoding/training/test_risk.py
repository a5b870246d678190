"""Risk, variance, entropy and their gradients equal enumeration and finite differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.training.risk.expected import estimate, risk, risks
from decoding.training.risk.problem import RiskProblem
from fstmetrics import BLEU, CER, GRR, WER, WRR, AffixSimilarity, Evaluator
from lattices import Forest, Hypothesis, Lattice, NBest, best, to_lattice
from lattices.errors import OptionError, SpaceError
from tests.strategies import FEATURE_NAMES, examples, sentences, small_forests, small_lattices

METRICS = st.sampled_from(
    [WER(), WRR(), GRR(), GRR(n=2, alpha=2.0), CER(), CER(spaces=False),
     WRR(similarity=AffixSimilarity())]
)  # fmt: skip
TEMPERATURES = st.sampled_from([0.25, 1.0, 3.0])
WEIGHTS = st.fixed_dictionaries(
    {name: st.sampled_from([-1.0, 0.25, 0.5, 2.0]) for name in FEATURE_NAMES}
)
REFERENCES = st.lists(sentences(), min_size=1, max_size=2)
Space = Lattice | Forest | NBest


def as_list(lattice: Lattice) -> NBest:
    return NBest.from_hypotheses(lattice.paths(), feature_names=lattice.feature_names)


SPACES = st.one_of(
    small_lattices(features=True, words=["a", "ab", "c"]),
    small_lattices(features=True).map(as_list),
    small_forests(features=True, words=["a", "ab", "c"]),
)


def members(space: Space) -> list[Hypothesis]:
    if isinstance(space, NBest):
        return list(space)
    return list(space.derivations() if isinstance(space, Forest) else space.paths())


class Enumerated:
    """All derivations of a space: what they use, and what their sentences are worth."""

    def __init__(self, space: Space, evaluator: Evaluator) -> None:
        everything = members(space)
        arcs = getattr(space, "num_arcs", getattr(space, "num_edges", len(everything)))
        states = space.num_states if isinstance(space, Lattice) else 0
        self.use = np.zeros((len(everything), arcs + states))
        for row, each in enumerate(everything):
            if isinstance(space, NBest):
                self.use[row, row] = 1.0
                continue
            for arc, times in Counter(each.arcs).items():
                self.use[row, arc] = times
            if isinstance(space, Lattice):
                self.use[row, arcs + (space.dst[each.arcs[-1]] if each.arcs else space.start)] = 1.0
        self.value = np.array([evaluator.score(each.tokens) for each in everything])
        self.arcs = arcs

    def probability(self, score: Sequence[float], temperature: float) -> np.ndarray:
        total = self.use @ np.asarray(score) / temperature
        mass = np.exp(total - total.max())
        return mass / mass.sum()

    def expected(self, score: Sequence[float], temperature: float) -> float:
        return float(self.probability(score, temperature) @ self.value)

    def entropy(self, score: Sequence[float], temperature: float) -> float:
        share = self.probability(score, temperature)
        share = share[share > 0.0]
        return float(-(share * np.log(share)).sum())


def slot_scores(space: Space) -> np.ndarray:
    if isinstance(space, Lattice):
        return np.append(space.score, np.where(np.isfinite(space.final), space.final, 0.0))
    return space.score


def differences(function, point: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Return the gradient by central differences."""
    found = np.empty(len(point))
    for place in range(len(point)):
        moved = np.zeros(len(point))
        moved[place] = step
        found[place] = (function(point + moved) - function(point - moved)) / (2 * step)
    return found


@settings(max_examples=examples(150), deadline=None)
@given(SPACES, REFERENCES, METRICS, WEIGHTS, TEMPERATURES)
def test_risk_equals_enumeration_and_finite_differences(
    space, references, metric, weights, temperature
):
    evaluator = metric.against(references)
    found = risk(space, evaluator, weights, temperature=temperature)
    weighted = space.reweighted(weights)
    truth, score = Enumerated(weighted, evaluator), slot_scores(weighted)
    near = {"abs": 2e-7, "rel": 1e-7}
    share = truth.probability(score, temperature)
    expected = truth.expected(score, temperature)
    assert found.exact
    assert found.estimator == ("list" if isinstance(space, NBest) else "rows")
    assert found.standard_error == 0.0
    assert found.coverage == 1.0
    assert found.expected == pytest.approx(expected, **near)
    assert found.variance == pytest.approx(share @ (truth.value - expected) ** 2, **near)
    assert found.entropy == pytest.approx(truth.entropy(score, temperature), abs=1e-9)
    by_score = differences(lambda at: truth.expected(at, temperature), score)
    np.testing.assert_allclose(found.arc_gradient, by_score[: truth.arcs], atol=1e-6)
    np.testing.assert_allclose(found.final_gradient, by_score[truth.arcs :], atol=1e-6)
    rows = np.array([weights[name] for name in space.feature_names])

    def in_features(function):
        return lambda at: function(slot_scores(space.reweighted(at)), temperature)

    by_weight = differences(in_features(truth.expected), rows)
    np.testing.assert_allclose(found.gradient, by_weight, atol=1e-5)
    by_weight = differences(in_features(truth.entropy), rows)
    np.testing.assert_allclose(found.entropy_gradient, by_weight, atol=1e-5)


@settings(max_examples=40, deadline=None)
@given(small_lattices(), REFERENCES, TEMPERATURES)
def test_lattice_forest_and_list_of_all_paths_agree(lattice, references, temperature):
    evaluator = GRR().against(references)
    spaces = [lattice, Forest.from_lattice(lattice), as_list(lattice)]
    found = risks(spaces, [evaluator] * 3, temperature=temperature, workers=2)
    for name in ("expected", "variance", "entropy"):
        values = [getattr(each, name) for each in found]
        assert values == pytest.approx([values[0]] * 3, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(small_forests(), REFERENCES, TEMPERATURES)
def test_a_forest_and_its_lattice_have_the_same_risk(forest, references, temperature):
    evaluator = WRR().against(references)
    one, other = (
        risk(space, evaluator, temperature=temperature) for space in (forest, to_lattice(forest))
    )
    for name in ("expected", "variance", "entropy"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(SPACES.filter(lambda space: not isinstance(space, NBest)), REFERENCES, TEMPERATURES,
       st.integers(1, 6))  # fmt: skip
def test_k_best_is_renormalised_over_the_list(space, references, temperature, k):
    evaluator = BLEU(smooth="add-k").against(references)
    found = risk(space, evaluator, temperature=temperature, k=k)
    truth, score = Enumerated(space, evaluator), slot_scores(space)
    share = truth.probability(score, temperature)
    assert found.estimator == "k-best"
    assert found.exact == (len(share) <= k)
    chosen = np.argsort(-share, kind="stable")[:k]
    assert found.coverage == pytest.approx(share[chosen].sum(), abs=1e-9)
    last = np.sort(share)[::-1][: k + 1]
    if found.exact:
        assert found.standard_error == 0.0
        assert found.expected == pytest.approx(share @ truth.value, abs=1e-9)
        by_score = differences(lambda at: truth.expected(at, temperature), score)
        gradient = np.append(found.arc_gradient, found.final_gradient)
        np.testing.assert_allclose(gradient, by_score, atol=1e-6)
    elif last[-2] - last[-1] > 1e-9:  # no tie at the end of the list
        renormalised = share[chosen] / share[chosen].sum()
        assert found.expected == pytest.approx(renormalised @ truth.value[chosen], abs=1e-9)
        assert np.isnan(found.standard_error)


ARCS = [
    (0, 1, "a", -0.2, {"lm": 1.0}), (0, 1, "the", -0.9, {"tm": 1.0}), (1, 2, "hat", -0.1),
    (1, 2, "cat", -0.8, {"lm": -1.0}), (2, 3, "sat"), (2, 3, "", -0.4, {"tm": 2.0}),
]  # fmt: skip
LATTICE = Lattice.from_arcs(ARCS, finals=[3], id="seg")


@pytest.mark.parametrize("space", [LATTICE, Forest.from_lattice(LATTICE)])
def test_samples_are_unbiased_within_their_standard_error(space):
    evaluator = WER().against(["the cat sat"])
    truth = risk(space, evaluator, temperature=0.7)
    runs = [
        risk(space, evaluator, temperature=0.7, budget=1, beyond="sample", samples=500, seed=seed)
        for seed in range(40)
    ]
    assert {each.estimator for each in runs} == {"samples"}
    assert not any(each.exact for each in runs)
    errors = np.array([(each.expected - truth.expected) / each.standard_error for each in runs])
    assert np.abs(errors).max() < 4.0
    # forty standard normal deviates: their spread is about 1, their mean about 0
    assert 0.6 < errors.std() < 1.5
    assert abs(errors.mean()) < 4.0 / np.sqrt(len(errors))
    assert np.mean([each.variance for each in runs]) == pytest.approx(truth.variance, rel=0.03)
    for name in ("arc_gradient", "gradient"):
        some = np.array([getattr(each, name) for each in runs])
        deviation = some.std(axis=0) / np.sqrt(len(runs))
        apart = np.abs(some.mean(axis=0) - getattr(truth, name))
        assert (apart <= 4.0 * deviation + 1e-12).all()
    assert runs[0].entropy == truth.entropy
    assert 0.5 < runs[0].coverage <= 1.0


def test_with_two_samples_the_gradient_is_unbiased_too():
    # where dividing by n in the place of n - 1 would halve it
    truth = risk(LATTICE, WER().against(["the cat sat"]))
    evaluators = [WER().against(["the cat sat"])] * 1500
    runs = risks([LATTICE] * 1500, evaluators, budget=1, beyond="sample", samples=2, seed=3)
    some = np.array([each.arc_gradient for each in runs])
    deviation = some.std(axis=0) / np.sqrt(len(runs))
    assert (np.abs(some.mean(axis=0) - truth.arc_gradient) <= 4.0 * deviation).all()


def test_draws_depend_on_seed_and_place_alone():
    evaluators = [WER().against(["the cat"])] * 6
    options = {"budget": 1, "beyond": "sample", "samples": 50}
    one = risks([LATTICE] * 6, evaluators, seed=5, **options)
    other = risks([LATTICE] * 6, evaluators, seed=5, workers=3, **options)
    assert [each.expected for each in one] == [each.expected for each in other]
    assert len({each.expected for each in one}) > 1
    apart = risks([LATTICE] * 6, evaluators, seed=6, **options)
    assert [each.expected for each in one] != [each.expected for each in apart]


def test_beyond_the_budget_every_answer_is_labelled():
    evaluator = WER().against(["the cat sat"])
    assert risk(LATTICE, evaluator).pairs > 2
    for space in (LATTICE, Forest.from_lattice(LATTICE)):
        found = risk(space, evaluator, budget=2, k=3)
        assert (found.estimator, found.exact, found.pairs) == ("k-best", False, 0)
        assert found.coverage < 1.0
        with pytest.raises(OptionError, match="more than 2 pairs"):
            risk(space, evaluator, budget=2, beyond="raise")
    with pytest.raises(OptionError, match="has no machine"):
        risk(LATTICE, BLEU().against(["the cat"]), beyond="raise")


def test_one_path_has_no_variance_no_entropy_and_no_gradient():
    lattice = Lattice.from_arcs([(0, 1, "a", -3.0, {"lm": 2.0})], finals={1: -1.0})
    for space in (lattice, Forest.from_lattice(lattice), as_list(lattice)):
        found = risk(space, WER().against(["b"]), {"lm": 1.0})
        assert (found.expected, found.variance, found.entropy) == (1.0, 0.0, 0.0)
        assert not found.arc_gradient.any()
        assert not found.gradient.any()
        assert not found.entropy_gradient.any()


def test_temperatures_from_the_best_path_to_all_alike():
    evaluator = GRR().against(["the cat sat"])
    cold = risk(LATTICE, evaluator, temperature=1e-4)
    assert cold.expected == pytest.approx(evaluator.score(best(LATTICE).tokens), abs=1e-12)
    assert cold.entropy == pytest.approx(0.0, abs=1e-12)
    hot = risk(LATTICE, evaluator, temperature=1e12)
    alike = np.mean([evaluator.score(path.tokens) for path in LATTICE.paths()])
    assert hot.expected == pytest.approx(alike, abs=1e-9)
    assert hot.entropy == pytest.approx(np.log(8.0), abs=1e-9)


def test_huge_scores_do_not_overflow():
    raised = LATTICE.replaced(score=LATTICE.score + np.array([1e9] * 6))
    evaluator = WER().against(["the cat sat"])
    for space in (raised, Forest.from_lattice(raised), as_list(raised)):
        found, truth = risk(space, evaluator), risk(LATTICE, evaluator)
        assert found.expected == pytest.approx(truth.expected, abs=1e-5)
        assert found.entropy == pytest.approx(truth.entropy, abs=1e-5)
        assert np.isfinite(found.arc_gradient).all()
    steep = risk(LATTICE.replaced(score=LATTICE.score * 1e250), evaluator)
    assert steep.entropy == 0.0
    assert steep.variance == 0.0
    with pytest.raises(OptionError, match="overflow"):
        risk(LATTICE.replaced(score=LATTICE.score * 1e250), evaluator, temperature=1e-80)


def test_a_space_that_is_ready_answers_under_other_scores():
    evaluator = WER().against(["the cat sat"])
    problem = RiskProblem(LATTICE, evaluator)
    graph = problem.graph
    for weights in ({"lm": 1.0, "tm": -1.0}, {"lm": 0.3, "tm": 0.6}):
        found = estimate(problem, problem.scores(weights), 0.5)
        truth = risk(LATTICE, evaluator, weights, temperature=0.5)
        assert found.expected == truth.expected
        assert found.gradient.tolist() == truth.gradient.tolist()
    assert problem.graph is graph


def test_a_space_without_features_has_no_gradient_in_them():
    lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1])
    for space in (lattice, Forest.from_lattice(lattice), as_list(lattice)):
        found = risk(space, WER().against(["b"]))
        assert found.gradient.shape == (0,)
        assert found.arc_gradient.any()


def test_what_cannot_be_asked_is_refused():
    evaluator = WER().against(["a"])
    for temperature in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(OptionError, match="temperature"):
            risk(LATTICE, evaluator, temperature=temperature)
    for options, message in (
        ({"budget": 0}, "budget"), ({"k": 0}, "k is at least 1"), ({"samples": 1}, "2 samples"),
        ({"beyond": "beam"}, "expected one of k-best, sample, raise"),
    ):  # fmt: skip
        with pytest.raises(OptionError, match=message):
            risk(LATTICE, evaluator, **options)
    with pytest.raises(OptionError, match="2 spaces, but 1 evaluators"):
        risks([LATTICE] * 2, [evaluator])
    with pytest.raises(OptionError, match="worker"):
        risks([LATTICE], [evaluator], workers=0)
    with pytest.raises(OptionError, match="is empty"):
        risk(NBest.from_hypotheses([], id="s"), evaluator)
    with pytest.raises(SpaceError, match="no complete path"):
        risk(Lattice.from_arcs([(1, 2, "a")], finals=[2]), evaluator)
    with pytest.raises(OptionError, match="not finite"):
        risk(LATTICE, evaluator, {"lm": float("nan"), "tm": 0.0})


def test_real_lattices_and_forests(shared_data):
    from itertools import islice

    from lattices import read

    folder = shared_data / "multi30k-deen"
    for file in ("val.de-en.lat.d10.jsonl.gz", "hiero150.de-en.forest.d10.jsonl.gz"):
        spaces = list(islice(read(folder / file), 6))
        for metric in (WER(), GRR()):
            evaluators = [metric.against(space.references) for space in spaces]
            exact = risks(spaces, evaluators, workers=2)
            some = risks(spaces, evaluators, budget=1, beyond="sample", samples=2000, workers=2)
            for one, other in zip(exact, some, strict=True):
                assert one.exact
                assert other.entropy == one.entropy
                assert abs(one.expected - other.expected) <= 4.5 * other.standard_error + 1e-12
