"""Unsupported for torch: double-precision gradchecks, enumeration, and a rescorer that learns."""

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
from decoding.training.torch import (  # noqa: E402
    lattice_risk,
    list_errors,
    mwer_loss,
    softmax_margin_loss,
)
from fstmetrics import BLEU, CER, GRR, TBLEU, WER  # noqa: E402
from fstmetrics.contract import quality  # noqa: E402
from lattices import Forest, Hypothesis, Lattice, NBest, best  # noqa: E402
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
    weighted = RiskProblem(space, evaluator).rescore(
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


LISTS = st.lists(
    st.lists(sentences(max_size=4), min_size=1, max_size=4).map(
        lambda some: NBest.from_hypotheses(Hypothesis(tuple(each), 0.0) for each in some)
    ),
    min_size=1,
    max_size=3,
)


def padded(lists, seed=0):
    """Return log-probabilities in general position, with nonsense where lists have ended."""
    values = np.random.default_rng(seed).normal(size=(len(lists), max(map(len, lists))))
    for row, nbest in zip(values, lists, strict=True):
        row[len(nbest) :] = np.nan
    return torch.tensor(values, requires_grad=True)


@settings(max_examples=100, deadline=None)
@given(LISTS, st.data(), st.sampled_from([WER(), GRR(n=2), BLEU(smooth="add-k"), TBLEU(order=1)]),
       st.sampled_from([0.5, 1.0, 2.0]))  # fmt: skip
def test_mwer_is_the_risk_of_lists(lists, data, metric, temperature):
    """Value and gradient are those of lattice_risk, which is computed without torch."""
    evaluators = [metric.against([data.draw(sentences(max_size=4))]) for _ in lists]
    errors, mask = list_errors(lists, evaluators)
    assert mask.sum(dim=1).tolist() == [len(nbest) for nbest in lists]
    log_probs, other, centred = padded(lists), padded(lists), padded(lists)
    loss = mwer_loss(log_probs, errors, mask, temperature=temperature, subtract_mean=False)
    loss.backward()
    expected = sum(
        -quality(metric, 1.0)
        * lattice_risk(other[row, : len(nbest)], nbest, evaluator, temperature=temperature)
        for row, (nbest, evaluator) in enumerate(zip(lists, evaluators, strict=True))
    ) / len(lists)
    expected.backward()
    assert loss.item() == pytest.approx(expected.item(), abs=1e-12)
    torch.testing.assert_close(log_probs.grad, other.grad)
    # the mean of a list's errors moves the value and not the gradient
    moved = mwer_loss(centred, errors, mask, temperature=temperature)
    moved.backward()
    means = [row[: len(nbest)].mean().item() for row, nbest in zip(errors, lists, strict=True)]
    assert moved.item() == pytest.approx(loss.item() - np.mean(means), abs=1e-12)
    torch.testing.assert_close(centred.grad, log_probs.grad)


@pytest.mark.parametrize("subtract_mean", [True, False])
@pytest.mark.parametrize("temperature", [0.5, 3.0])
def test_mwer_passes_gradcheck(subtract_mean, temperature):
    rng = np.random.default_rng(1)
    log_probs = torch.tensor(rng.normal(size=(3, 4)), requires_grad=True)
    errors = torch.tensor(rng.integers(0, 9, size=(3, 4)))
    mask = torch.tensor([[1, 1, 1, 1], [1, 0, 1, 1], [1, 0, 0, 0]], dtype=torch.bool)

    def loss(scores):
        return mwer_loss(scores, errors, mask, temperature=temperature, subtract_mean=subtract_mean)

    assert torch.autograd.gradcheck(loss, log_probs)
    assert torch.autograd.gradgradcheck(loss, log_probs)
    loss(log_probs).backward()
    assert (log_probs.grad[~mask] == 0).all()
    # a list of one hypothesis has nothing to learn from
    assert log_probs.grad[2].tolist() == [0.0] * 4


def test_mwer_is_of_the_type_of_the_scores():
    for kind in (torch.float32, torch.bfloat16):
        log_probs = torch.zeros(2, 3, dtype=kind, requires_grad=True)
        loss = mwer_loss(log_probs, np.ones((2, 3)))
        assert (loss.dtype, loss.item()) == (kind, 0.0)


@pytest.mark.parametrize(
    ("log_probs", "errors", "mask", "message"),
    [
        (torch.zeros(3), torch.zeros(3), None, r"log_probs of shape \(3,\), expected batch x k"),
        (torch.zeros(2, 0), torch.zeros(2, 0), None, r"log_probs of shape \(2, 0\)"),
        (torch.zeros(1, 2).long(), torch.zeros(1, 2), None, "of type torch.int64, expected floats"),
        (torch.zeros(1, 2), torch.zeros(1, 3), None, r"errors of shape \(1, 3\) for log_probs of"),
        (torch.zeros(1, 2), torch.zeros(1, 2), torch.ones(1, 2), "a mask of type torch.float32"),
        (torch.zeros(1, 2), torch.zeros(1, 2), torch.ones(2, 2) > 0, "a mask of shape"),
        (torch.zeros(1, 2), torch.zeros(1, 2), torch.zeros(1, 2) > 0, "list 0 of the batch has no"),
        (torch.zeros(1, 2) - np.inf, torch.zeros(1, 2), None, r"log_probs\[0, 0\] is -inf"),
        (torch.zeros(1, 2), torch.tensor([[0, np.nan]]), None, r"errors\[0, 1\] is nan"),
    ],
)
def test_mwer_refuses(log_probs, errors, mask, message):
    with pytest.raises(OptionError, match=message):
        mwer_loss(log_probs, errors, mask)


def test_mwer_refuses_temperatures_and_lists():
    with pytest.raises(OptionError, match="temperature is finite and above 0, not 0"):
        mwer_loss(torch.zeros(1, 2), torch.zeros(1, 2), temperature=0.0)
    with pytest.raises(OptionError, match="1 lists, but evaluators for 0"):
        list_errors([NBest.from_hypotheses([Hypothesis(("a",))])], [])


def test_a_rescorer_learns_by_mwer():
    """A bag of words' weights, trained on lists whose model is wrong, picks the best entries."""
    texts = [["a b", "a c"], ["b", "c", "c b"], ["d c", "d b"]]
    lists = [
        NBest.from_hypotheses(Hypothesis(tuple(text.split()), -float(rank)) for rank, text in rows)
        for rows in map(enumerate, texts)
    ]
    evaluators = [WER().against([text]) for text in ("a c", "c", "d c")]
    errors, mask = list_errors(lists, evaluators)
    counts = torch.tensor(
        [[[text.split().count(word) for word in "abcd"] for text in (*rows, "", "")[:3]]
         for rows in texts], dtype=torch.float32,
    )  # fmt: skip
    model = -torch.arange(3.0).expand(3, 3)
    weights = torch.zeros(4, requires_grad=True)
    optimiser = torch.optim.Adam([weights], lr=0.3)
    for _ in range(60):
        optimiser.zero_grad()
        mwer_loss(model + counts @ weights, errors, mask).backward()
        optimiser.step()
    chosen = (model + counts @ weights).masked_fill(~mask, -np.inf).argmax(dim=1)
    assert errors[torch.arange(3), chosen].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("function", [lattice_risk, list_errors, mwer_loss, softmax_margin_loss])
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
