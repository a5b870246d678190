"""Losses for torch: double-precision gradchecks, enumeration, and a rescorer that learns."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from decoding.training import torch as losses  # noqa: E402
from decoding.training.risk.expected import risk  # noqa: E402
from decoding.training.risk.problem import RiskProblem  # noqa: E402
from decoding.training.torch import lattice_risk, softmax_margin_loss  # noqa: E402
from fstmetrics import BLEU, CER, GRR, WER, quality  # noqa: E402
from lattices import Forest, Lattice, NBest, best  # noqa: E402
from lattices.errors import OptionError  # noqa: E402
from tests.strategies import sentences, small_forests, small_lattices  # noqa: E402

METRICS = st.sampled_from([WER(), GRR(), GRR(n=2, alpha=2.0), CER()])
SPACES = st.one_of(
    small_lattices(),
    small_lattices().map(lambda lattice: NBest.from_hypotheses(lattice.paths())),
    small_forests(),
)
REFERENCES = st.lists(sentences(), min_size=1, max_size=2)


def inputs_of(space, seed=0):
    """Return scores in general position, with those of the finals if there are any."""
    rng = np.random.default_rng(seed)
    shapes = [len(space.score)]
    if isinstance(space, Lattice):
        shapes.append(space.num_states)
    return [torch.tensor(rng.normal(size=size), requires_grad=True) for size in shapes]


@settings(max_examples=60, deadline=None)
@given(SPACES, REFERENCES, METRICS, st.sampled_from([0.5, 1.0, 2.0]))
def test_risk_passes_gradcheck(space, references, metric, temperature):
    problem = RiskProblem(space, metric.against(references))

    def loss(scores, finals=None):
        return lattice_risk(scores, problem, finals=finals, temperature=temperature)

    assert torch.autograd.gradcheck(loss, inputs_of(space))


@settings(max_examples=60, deadline=None)
@given(SPACES, REFERENCES, METRICS, st.sampled_from([0.0, 1.0, 5.0]),
       st.sampled_from(["oracle", "hope"]))  # fmt: skip
def test_softmax_margin_passes_gradcheck(space, references, metric, scale, towards):
    problem = RiskProblem(space, metric.against(references))

    def loss(scores, finals=None):
        return softmax_margin_loss(
            scores, problem, finals=finals, cost_scale=scale, towards=towards
        )

    assert torch.autograd.gradcheck(loss, inputs_of(space))


@settings(max_examples=60, deadline=None)
@given(SPACES, REFERENCES, METRICS, st.sampled_from([0.0, 1.0, 5.0]),
       st.sampled_from(["oracle", "hope"]))  # fmt: skip
def test_softmax_margin_equals_enumeration(space, references, metric, scale, towards):
    evaluator = metric.against(references)
    scores, *finals = inputs_of(space)
    loss = softmax_margin_loss(
        scores, space, evaluator, finals=finals[0] if finals else None, cost_scale=scale,
        towards=towards,
    )  # fmt: skip
    weighted = RiskProblem(space, evaluator).scored(
        np.concatenate([each.detach().numpy() for each in (scores, *finals)])
    )
    if isinstance(weighted, NBest):
        paths = list(weighted)
    else:
        paths = list(weighted.derivations() if isinstance(space, Forest) else weighted.paths())
    model = np.array([path.score for path in paths])
    worth = np.array([quality(metric, evaluator.score(path.tokens)) for path in paths])
    aim = model + scale * worth if towards == "hope" else worth
    among = np.flatnonzero(aim >= aim.max() - 1e-9)
    target = among[np.argmax(model[among])]
    total = np.logaddexp.reduce(model + scale * (worth[target] - worth))
    assert loss.item() == pytest.approx(total - model[target], abs=1e-6)
    assert loss.item() >= -1e-6


ARCS = [(0, 1, "a", -0.2), (0, 1, "the", -0.9), (1, 2, "hat"), (1, 2, "cat", -0.8)]
LATTICE = Lattice.from_arcs(ARCS, finals={2: -0.5}, id="seg")
EVALUATOR = WER().against(["the cat"])


def test_risk_is_that_of_the_numbers():
    scores = torch.tensor(LATTICE.score, requires_grad=True)
    loss = lattice_risk(scores, LATTICE, EVALUATOR, temperature=0.7)
    (3.0 * loss).backward()
    truth = risk(LATTICE, EVALUATOR, temperature=0.7)
    assert loss.item() == truth.expected
    np.testing.assert_allclose(scores.grad.numpy(), 3.0 * truth.arc_gradient, rtol=1e-14)


def test_single_precision_stays_single():
    for function in (lattice_risk, softmax_margin_loss):
        scores = torch.tensor(LATTICE.score, dtype=torch.float32, requires_grad=True)
        loss = function(scores, LATTICE, EVALUATOR)
        assert loss.dtype == torch.float32
        loss.backward()
        assert scores.grad.dtype == torch.float32
        assert scores.grad.abs().sum() > 0.0


def test_scores_of_states_that_are_not_final_have_no_say():
    scores = torch.tensor(LATTICE.score)
    finals = torch.tensor([7.0, float("-inf"), -0.5], dtype=torch.float64, requires_grad=True)
    lattice_risk(scores, LATTICE, EVALUATOR, finals=finals).backward()
    assert torch.isfinite(finals.grad).all()
    assert finals.grad.tolist()[:2] == [0.0, 0.0]


def test_beyond_the_budget_an_estimate_has_to_be_asked_for():
    scores = torch.tensor(LATTICE.score, requires_grad=True)
    with pytest.raises(OptionError, match="more than 1 pairs"):
        lattice_risk(scores, LATTICE, EVALUATOR, budget=1)
    with pytest.raises(OptionError, match="more than 1 pairs"):
        softmax_margin_loss(scores, LATTICE, EVALUATOR, budget=1)
    listed = lattice_risk(scores, LATTICE, EVALUATOR, budget=1, beyond="k-best", k=4)
    assert listed.item() == pytest.approx(lattice_risk(scores, LATTICE, EVALUATOR).item())
    drawn = [
        lattice_risk(scores, LATTICE, EVALUATOR, budget=1, beyond="sample", samples=50, seed=seed)
        for seed in (1, 1, 2)
    ]
    assert drawn[0].item() == drawn[1].item() != drawn[2].item()
    drawn[0].backward()
    assert scores.grad.abs().sum() > 0.0
    with pytest.raises(OptionError, match="has no machine"):
        softmax_margin_loss(scores, LATTICE, BLEU().against(["a"]))


def test_what_cannot_be_asked_is_refused():
    scores = torch.zeros(4)
    for call, message in (
        (lambda: lattice_risk(torch.zeros(3), LATTICE, EVALUATOR), "expected 4 in a row"),
        (lambda: lattice_risk(torch.zeros(4, 1), LATTICE, EVALUATOR), "expected 4 in a row"),
        (lambda: lattice_risk(scores.long(), LATTICE, EVALUATOR), "expected floats"),
        (lambda: lattice_risk(scores / 0.0, LATTICE, EVALUATOR), "score 0 is not finite"),
        (lambda: lattice_risk(scores, LATTICE), "an evaluator is needed"),
        (lambda: lattice_risk(scores, LATTICE, EVALUATOR, finals=scores), "finals of shape"),
        (lambda: lattice_risk(scores, LATTICE, EVALUATOR, temperature=0.0), "temperature"),
        (lambda: lattice_risk(scores, RiskProblem(LATTICE, EVALUATOR), WER().against(["a"])),
         "its own evaluator"),
        (lambda: softmax_margin_loss(scores, LATTICE, EVALUATOR, cost_scale=-1.0), "cost_scale"),
        (lambda: softmax_margin_loss(scores, LATTICE, EVALUATOR, towards="fear"), "towards"),
    ):  # fmt: skip
        with pytest.raises(OptionError, match=message):
            call()
    forest = Forest.from_lattice(LATTICE)
    with pytest.raises(OptionError, match="no final states"):
        lattice_risk(torch.zeros(forest.num_edges), forest, EVALUATOR, finals=scores)


def test_it_cannot_be_differentiated_twice():
    scores = torch.tensor(LATTICE.score, requires_grad=True)
    loss = lattice_risk(scores, LATTICE, EVALUATOR)
    (slope,) = torch.autograd.grad(loss, scores, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiated twice"):
        slope.sum().backward()


class Rescorer(torch.nn.Module):
    """A score for each arc from an embedding of its word."""

    def __init__(self, words: int, size: int = 8) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(words, size)
        self.hidden = torch.nn.Linear(size, size)
        self.score = torch.nn.Linear(size, 1)

    def forward(self, lattice: Lattice) -> torch.Tensor:
        labels = torch.tensor(lattice.label, dtype=torch.long)
        return self.score(torch.tanh(self.hidden(self.embedding(labels)))).squeeze(-1)


@pytest.mark.parametrize(
    "function", [lattice_risk, lambda *given: softmax_margin_loss(*given, cost_scale=2.0)]
)
def test_a_neural_rescorer_trains_through_lattices(function):
    right, wrong = ["the", "cat", "sat", "on", "mats"], ["a", "hat", "sits", "off", "bats"]
    vocabulary = None
    spaces, evaluators = [], []
    for begin in range(4):
        chosen = range(begin, min(begin + 3, 5))
        arcs = [
            (place, place + 1, side[word], 0.5 if side is wrong else 0.0)
            for place, word in enumerate(chosen)
            for side in (right, wrong)
        ]
        lattice = Lattice.from_arcs(arcs, finals=[len(chosen)], vocabulary=vocabulary)
        vocabulary = lattice.vocabulary
        spaces.append(lattice)
        evaluators.append(WER().against([[right[word] for word in chosen]]))
    problems = [RiskProblem(*pair) for pair in zip(spaces, evaluators, strict=True)]

    def errors(scores):
        said = (
            best(space.replaced(score=each)).tokens
            for space, each in zip(spaces, scores, strict=True)
        )
        return sum(
            evaluator.score(words) for evaluator, words in zip(evaluators, said, strict=True)
        )

    assert errors([space.score for space in spaces]) == len(spaces)
    torch.manual_seed(0)
    rescorer = Rescorer(len(vocabulary))
    optimiser = torch.optim.Adam(rescorer.parameters(), lr=0.05)
    decoder = [torch.tensor(space.score, dtype=torch.float32) for space in spaces]
    history = []
    for _ in range(60):
        optimiser.zero_grad()
        loss = sum(
            function(first + rescorer(problem.space), problem)
            for first, problem in zip(decoder, problems, strict=True)
        )
        loss.backward()
        optimiser.step()
        history.append(loss.item())
    assert history[-1] < 0.2 * history[0]
    with torch.no_grad():
        scores = [space.score + rescorer(space).double().numpy() for space in spaces]
    assert errors(scores) == 0.0


@pytest.mark.parametrize("function", [lattice_risk, softmax_margin_loss])
def test_the_examples_run(function):
    # they are skipped where doctests are collected, since torch may not be there
    (found,) = doctest.DocTestFinder(recurse=False).find(
        function, function.__name__, globs={**vars(losses)}
    )
    assert found.examples
    for example in found.examples:
        example.options.clear()
    results = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(found)
    assert results.failed == 0
    assert results.attempted == len(found.examples)
