"""Unsupported for torch: double-precision gradchecks, enumeration, and a rescorer that learns."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from decoding.training import torch as losses  # noqa: E402
from decoding.training.hope_fear import hope_fears  # noqa: E402
from decoding.training.risk.batch import RiskBatch  # noqa: E402
from decoding.training.risk.expected import risk  # noqa: E402
from decoding.training.risk.problem import RiskProblem  # noqa: E402
from decoding.training.torch import (  # noqa: E402
    lattice_risk,
    list_errors,
    mbr_loss,
    mwer_loss,
    perceptron_loss,
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
    objective = np.array([quality(metric, evaluator.score(path.tokens)) for path in paths])
    aim = model + scale * objective if towards == "hope" else objective
    among = np.flatnonzero(aim >= aim.max() - 1e-9)
    target = among[np.argmax(model[among])]
    total = np.logaddexp.reduce(model + scale * (objective[target] - objective))
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


def batch_of(spaces, metric=None, **options):
    """A batch of spaces, the metric against a reference that some of them can say."""
    assume(any(len(space.score) for space in spaces))
    metric = metric or WER()
    texts = [[" ".join(best(space).tokens)] for space in spaces]
    return RiskBatch(spaces, [metric.against(some) for some in texts[1:] + texts[:1]], **options)


BATCHES = st.lists(
    st.one_of(
        small_lattices(features=True),
        small_lattices(features=True).map(
            lambda lattice: NBest.from_hypotheses(
                lattice.paths(), feature_names=lattice.feature_names
            )
        ),
        small_forests(features=True),
    ),
    min_size=1, max_size=3,
)  # fmt: skip


def packed_inputs(batch, seed=0):
    """Scores, final scores and weights in general position."""
    rng = np.random.default_rng(seed)
    sizes = {"scores": sum(batch.sizes), "finals": batch.num_finals, "weights": len(batch.names)}
    return {
        name: torch.tensor(rng.normal(size=size), requires_grad=True)
        for name, size in sizes.items()
        if size
    }


LOSSES = {
    "risk": lattice_risk,
    "k-best": lambda *args, **rest: lattice_risk(*args, estimator="kbest", k=2, **rest),
    "softmax-margin": softmax_margin_loss,
    "perceptron": perceptron_loss,
    "perceptron, hope": lambda *args, **rest: perceptron_loss(*args, towards="hope", **rest),
}


@pytest.mark.parametrize("name", LOSSES)
@settings(max_examples=25, deadline=None)
@given(BATCHES, st.integers(0, 3))
def test_batches_pass_gradcheck_in_scores_finals_and_weights(name, spaces, seed):
    batch = batch_of(spaces, workers=2)
    given_inputs = packed_inputs(batch, seed)
    names = list(given_inputs)

    def loss(*tensors):
        rest = dict(zip(names, tensors, strict=True))
        return LOSSES[name](rest.pop("scores"), batch, **rest)

    # slopes of maxima jump where paths tie; small steps from scores in general position do not
    assert torch.autograd.gradcheck(loss, tuple(given_inputs.values()), eps=1e-7, atol=1e-5)


@settings(max_examples=40, deadline=None)
@given(BATCHES, METRICS, st.sampled_from(["risk", "softmax-margin", "perceptron"]))
def test_a_batch_is_its_spaces_one_by_one(spaces, metric, name):
    batch = batch_of(spaces, metric)
    tensors = packed_inputs(batch)
    tensors.pop("weights", None)
    losses_ = LOSSES[name](tensors["scores"], batch, finals=tensors.get("finals"))
    losses_.sum().backward()
    at = end = 0
    for problem, size, value in zip(batch.problems, batch.sizes, losses_.tolist(), strict=True):
        score = tensors["scores"][at : at + size].detach().requires_grad_()
        rest = {}
        if isinstance(problem.space, Lattice):
            states = problem.space.num_states
            rest["finals"] = tensors["finals"][end : end + states].detach().requires_grad_()
            end += states
        one = LOSSES[name](score, problem.space, problem.evaluator, **rest)
        one.backward()
        assert one.item() == value
        assert score.grad.tolist() == tensors["scores"].grad[at : at + size].tolist()
        at += size


@settings(max_examples=30, deadline=None)
@given(st.lists(small_lattices(), min_size=1, max_size=3))
def test_the_perceptron_loss_is_that_of_enumeration(lattices):
    batch = batch_of(lattices)
    scores = packed_inputs(batch)["scores"]
    found = perceptron_loss(scores, batch)
    at = 0
    for problem, size, value in zip(batch.problems, batch.sizes, found.tolist(), strict=True):
        own = scores[at : at + size].detach().numpy()
        at += size
        lattice = problem.space.replaced(score=own)
        paths = list(lattice.paths())
        metric = [problem.evaluator.score(path.tokens) for path in paths]
        target = max(
            path.score for path, each in zip(paths, metric, strict=True) if each == min(metric)
        )
        assert value == pytest.approx(max(path.score for path in paths) - target, abs=1e-9)


def test_samples_are_unbiased_and_bleu_names_its_estimator():
    lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b"), (1, 2, "c"), (1, 2, "d")], finals=[2])
    scores = torch.tensor([0.3, -0.2, 0.1, 0.5], dtype=torch.float64, requires_grad=True)
    evaluator = WER().against(["a c"])
    exact = lattice_risk(scores, lattice, evaluator)
    drawn = torch.stack(
        [
            lattice_risk(scores, lattice, evaluator, estimator="samples", samples=50, seed=seed)
            for seed in range(200)
        ]
    )
    assert drawn.mean().item() == pytest.approx(exact.item(), abs=0.01)
    (slope,) = torch.autograd.grad(exact, scores)
    (estimated,) = torch.autograd.grad(drawn.mean(), scores)
    assert estimated.tolist() == pytest.approx(slope.tolist(), abs=0.01)
    bleu = BLEU(order=2, smooth="add-k").against(["a c"])
    with pytest.raises(OptionError, match="no machine"):
        lattice_risk(scores, [lattice], [bleu])
    # four paths: the four best are all
    by_list = lattice_risk(scores, lattice, bleu, estimator="kbest", k=4)
    judge = risk(lattice.replaced(score=scores.detach().numpy()), bleu, beyond="k-best", k=4)
    assert by_list.item() == pytest.approx(judge.expected)


def test_padded_scores_offsets_and_features():
    lattices = [
        Lattice.from_arcs([(0, 1, "a", 0.0, {"x": 1.0}), (0, 1, "b", 0.0, {"y": 2.0})], finals=[1]),
        Lattice.from_arcs([(0, 1, "a", 0.0, {"y": 1.0})], finals=[1]),
    ]
    evaluators = [WER().against(["a"])] * 2
    padded = torch.tensor([[0.5, -0.5], [1.0, torch.nan]], requires_grad=True)
    mask = torch.tensor([[True, True], [True, False]])
    found = lattice_risk(padded, lattices, evaluators, mask=mask)
    packed = torch.tensor([0.5, -0.5, 1.0], requires_grad=True)
    same = lattice_risk(packed, lattices, evaluators, offsets=torch.tensor([0, 2, 3]))
    assert found.tolist() == same.tolist()
    assert found.dtype == torch.float32
    found.sum().backward()
    assert padded.grad[1].tolist() == [0.0, 0.0]
    weights = torch.tensor([0.5, -0.25], dtype=torch.float64, requires_grad=True)
    alone = lattice_risk(None, lattices, evaluators, weights=weights)
    assert alone.tolist() == pytest.approx(same.tolist())
    alone.sum().backward()
    assert weights.grad.tolist() == pytest.approx(
        risk(lattices[0], evaluators[0], {"x": 0.5, "y": -0.25}).gradient.tolist()
    )
    for wrong, message in (
        ({"offsets": [0, 1, 3]}, "offsets that do not fit the spaces, from number 1 on"),
        ({"offsets": [0, 2]}, "2 offsets up to 2, expected 3 up to 3"),
        ({"mask": mask}, "a mask of shape"),
        ({"weights": weights[:1]}, "weights of shape"),
        ({"workers": 0}, "at least 1 worker"),
        ({"estimator": "beam"}, "estimator is one of exact, kbest, samples"),
    ):
        with pytest.raises(OptionError, match=message):
            lattice_risk(packed, lattices, evaluators, **wrong)
    with pytest.raises(TypeError, match="no option final"):
        lattice_risk(packed, lattices, evaluators, final=packed)
    with pytest.raises(OptionError, match="takes scores, or weights"):
        lattice_risk(None, lattices, evaluators)


@pytest.mark.parametrize("name", LOSSES)
def test_no_loss_is_differentiated_twice(name):
    lattice = Lattice.from_arcs([(0, 1, "a", 0.0, {"x": 1.0}), (0, 1, "b")], finals=[1])
    batch = RiskBatch([lattice] * 2, [WER().against(["a"])] * 2)
    for inputs in (
        {"scores": torch.tensor([0.1, 0.2, 0.3, -0.4], requires_grad=True)},
        {"scores": None, "weights": torch.tensor([0.5], requires_grad=True)},
    ):
        scores, *rest = inputs.values()
        value = LOSSES[name](scores, batch, **({"weights": rest[0]} if rest else {})).sum()
        wanted = rest[0] if rest else scores
        (slope,) = torch.autograd.grad(value, wanted, create_graph=True)
        with pytest.raises(RuntimeError, match="cannot be differentiated twice"):
            slope.sum().backward()


def test_mbr_passes_gradcheck_and_is_the_expected_error():
    rng = np.random.default_rng(0)
    log_probs = torch.tensor(rng.normal(size=(2, 3)), requires_grad=True)
    evidence = torch.tensor(rng.normal(size=(2, 4)), requires_grad=True)
    errors = torch.tensor(rng.random(size=(2, 3, 4)))
    errors[1, 2], errors[0, :, 3] = torch.nan, torch.nan
    mask = torch.tensor([[True] * 3, [True, True, False]])
    known = torch.tensor([[True, True, True, False], [True] * 4])

    def loss(one, other):
        return mbr_loss(one, errors, mask, evidence=other, evidence_mask=known, temperature=0.5)

    assert torch.autograd.gradcheck(loss, (log_probs, evidence))
    total = 0.0
    for row in range(2):
        some = [place for place in range(3) if mask[row, place]]
        judges = [place for place in range(4) if known[row, place]]
        p = np.exp(2.0 * log_probs.detach().numpy()[row, some])
        q = np.exp(evidence.detach().numpy()[row, judges])
        matrix = errors[row].numpy()[np.ix_(some, judges)]
        total += p @ matrix @ q / p.sum() / q.sum() / 2
    assert loss(log_probs, evidence).item() == pytest.approx(total)
    # one sentence of evidence is a reference
    single = errors[:, :2, :1]
    assert mbr_loss(log_probs[:, :2], single).item() == pytest.approx(
        mwer_loss(log_probs[:, :2], single[:, :, 0], subtract_mean=False).item()
    )
    with pytest.raises(OptionError, match="expected batch x k x m"):
        mbr_loss(log_probs, errors[0])
    with pytest.raises(OptionError, match=r"errors\[1, 2, 0\] is nan"):
        mbr_loss(log_probs, errors, evidence_mask=known)


def test_weights_may_be_tensors():
    lattice = Lattice.from_arcs(
        [(0, 1, "a", 0.0, {"x": 1.0}), (0, 1, "b", 0.0, {"y": 2.0})], finals=[1]
    )
    weights = torch.tensor([0.5, 1.0], requires_grad=True)
    assert lattice.reweighted(weights).score.tolist() == [0.5, 2.0]
    evaluator = WER().against(["a"])
    (found,) = hope_fears([lattice], [evaluator], weights)
    (other,) = hope_fears([lattice], [evaluator], {"x": 0.5, "y": 1.0})
    for name in ("hope", "fear", "oracle", "best"):
        one, same = getattr(found, name), getattr(other, name)
        assert (one.text, one.score, one.hypothesis.score) == (
            same.text, same.score, same.hypothesis.score,
        )  # fmt: skip


def confusable(segments, seed):
    """Lattices of five slots with two words each, and which of them was said.

    Of each pair of words, one is right where the word before is its partner: the arcs' own scores
    are noise, and a bag of word pairs tells.
    """
    rng = np.random.default_rng(seed)
    spaces, references = [], []
    for _ in range(segments):
        arcs, said = [], []
        for slot in range(5):
            right = int(rng.integers(4))
            wrong = 4 + int(rng.integers(4))
            said.append(f"w{right}")
            for word in (right, wrong):
                arcs.append((slot, slot + 1, f"w{word}", float(rng.normal())))
        spaces.append(Lattice.from_arcs(arcs, finals=[5]))
        references.append([" ".join(said)])
    return spaces, references


@pytest.mark.parametrize("name", ["risk", "softmax-margin", "perceptron", "k-best"])
def test_a_small_rescorer_beats_its_start_on_held_out_data(name):
    """A plain loop over packed batches; the rescorer is an embedding of words."""
    torch.manual_seed(0)
    embedding = torch.nn.Sequential(torch.nn.Embedding(8, 4), torch.nn.Linear(4, 1)).double()
    optimiser = torch.optim.Adam(embedding.parameters(), lr=0.1)
    train, test = confusable(40, seed=1), confusable(40, seed=2)

    def pack(spaces):
        words = [int(space.vocabulary.word(each)[1:]) for space in spaces for each in space.label]
        own = np.concatenate([space.score for space in spaces])
        return torch.tensor(words), torch.tensor(own)

    def error_rate(spaces, references):
        words, own = pack(spaces)
        scores = (own + embedding(words)[:, 0]).detach().numpy()
        at, rows = 0, []
        for space, texts in zip(spaces, references, strict=True):
            rescored = space.replaced(score=scores[at : at + space.num_arcs])
            at += space.num_arcs
            rows.append(WER().against(texts).stats(best(rescored).tokens))
        return WER().score(sum(rows))

    before = error_rate(*test)
    evaluators = [WER().against(texts) for texts in train[1]]
    for _ in range(15):
        for at in range(0, 40, 10):
            spaces = train[0][at : at + 10]
            words, own = pack(spaces)
            batch = RiskBatch(spaces, evaluators[at : at + 10])
            loss = LOSSES[name](own + embedding(words)[:, 0], batch).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    assert before > 0.3
    assert error_rate(*test) < before - 0.25
