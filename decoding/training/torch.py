"""Unsupported over lattices, forests and lists for PyTorch (the extra ``torch``).

A neural rescorer gives every arc a score; these functions turn the scores into one number, whose
gradient flows back to them. Both directions are computed on the CPU in double precision, exactly,
over all paths (:mod:`decoding.training.risk.expected`); scores may be of any precision and on
any device, and the loss is of theirs.

    loss = lattice_risk(scores, lattice, WER().against(references))
    loss.backward()

What does not depend on scores, mainly the product of the lattice with rows, is worth keeping where
a space is met again: give a :class:`~decoding.training.risk.problem.RiskProblem` for the space.

A batch of n-best lists needs none of that: :func:`mwer_loss` is made of torch's own operations, on
whatever device the scores are.

    errors, mask = list_errors(nbests, evaluators)
    loss = mwer_loss(log_probs, errors, mask)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from decoding.extraction.oracle import oracle
from decoding.extraction.search import DEFAULT_BUDGET
from decoding.training.hope_fear import find_first_best
from decoding.training.risk.expected import estimate, expectation
from decoding.training.risk.problem import Estimation, EstimationOptions, RiskProblem
from fstmetrics import Evaluator
from fstmetrics.contract import nbest_stats, quality, scores_of
from lattices.algorithms import best
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError
from lattices.optional import require
from lattices.spaces import Lattice, NBest, Space
from lattices.spaces.arguments import SPACE

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["lattice_risk", "list_errors", "mwer_loss", "softmax_margin_loss"]


@cache
def _attach_gradient() -> Any:
    """Return the function that is a known number with a known gradient."""
    torch = require("torch", "torch")

    class Slope(torch.autograd.Function):  # type: ignore[misc, name-defined]
        # depends on the scores, so that autograd refuses a second derivative instead of giving 0
        @staticmethod
        def forward(ctx: Any, outer: Any, scores: Any, gradient: Any) -> Any:
            return outer * gradient

        @staticmethod
        def backward(ctx: Any, outer: Any) -> Any:
            raise RuntimeError("a loss over a lattice cannot be differentiated twice")

    class WithGradient(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, scores: Any, value: float, gradient: FloatColumn) -> Any:
            ctx.save_for_backward(scores, scores.new_tensor(gradient))
            return scores.new_tensor(value)

        @staticmethod
        def backward(ctx: Any, outer: Any) -> Any:
            return Slope.apply(outer, *ctx.saved_tensors), None, None

    return WithGradient


def lattice_risk(
    scores: Any,
    space: Space | RiskProblem,
    evaluator: Evaluator | None = None,
    *,
    finals: Any = None,
    **options: Unpack[EstimationOptions],
) -> Any:
    """Return the expected metric of a random sentence, differentiable in the scores.

    In the metric's own direction: an error rate can be minimised as it is, the negative of a
    recognition rate. As :func:`decoding.training.risk.expected.risk`, but for torch.

    Examples
    --------
    >>> import torch                                           # doctest: +SKIP
    >>> from fstmetrics import WER                             # doctest: +SKIP
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1])  # doctest: +SKIP
    >>> scores = torch.zeros(2, requires_grad=True)            # doctest: +SKIP
    >>> loss = lattice_risk(scores, lattice, WER().against(["b"]))  # doctest: +SKIP
    >>> loss.backward()                                        # doctest: +SKIP
    >>> loss.item(), scores.grad.tolist()                      # doctest: +SKIP
    (0.5, [0.25, -0.25])
    """
    given: EstimationOptions = {"beyond": "raise", **options}
    how = Estimation(**given)
    problem = _problem(space, evaluator, how.budget)
    joined, numbers = _slots(problem, scores, finals)
    some = problem.list_substitutes(numbers, how, how.seed)
    found = estimate(problem, numbers, how.temperature, some)
    gradient = np.append(found.arc_gradient, found.final_gradient)
    return _attach_gradient().apply(joined, found.expected, gradient)


def softmax_margin_loss(
    scores: Any,
    space: Space | RiskProblem,
    evaluator: Evaluator | None = None,
    *,
    finals: Any = None,
    cost_scale: float = 1.0,
    towards: Literal["oracle", "hope"] = "oracle",
    budget: int = DEFAULT_BUDGET,
) -> Any:
    """Return the softmax-margin loss of a space (Gimpel & Smith 2010), differentiable in scores.

    With the metric ``q``, higher is better, and the path ``t`` to be moved towards,

        log(sum over paths d of exp(score(d) + cost_scale * (q(t) - q(d)))) - score(t)

    which is a smooth bound from above of how far any path violates the margin that its metric
    asks for. Exact over all paths.

    Examples
    --------
    >>> import torch                                           # doctest: +SKIP
    >>> from fstmetrics import WER                             # doctest: +SKIP
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1])  # doctest: +SKIP
    >>> scores = torch.tensor([-1.0, 0.0], requires_grad=True)  # doctest: +SKIP
    >>> loss = softmax_margin_loss(scores, lattice, WER().against(["b"]))  # doctest: +SKIP
    >>> loss.backward()                                        # doctest: +SKIP
    >>> round(loss.item(), 4), scores.grad.tolist()            # doctest: +SKIP
    (0.6931, [0.5, -0.5])
    """
    if not 0.0 <= cost_scale < np.inf:
        raise OptionError(f"cost_scale is finite and at least 0, not {cost_scale}")
    if towards not in ("oracle", "hope"):
        raise OptionError(f"towards is oracle or hope, not {towards!r}")
    problem = _problem(space, evaluator, budget)
    joined, numbers = _slots(problem, scores, finals)
    sign = quality(problem.evaluator.metric, 1.0)
    graph = problem.exact_graph()
    use, metric = _target(problem, numbers, cost_scale if towards == "hope" else None)
    found = expectation(graph, numbers, tilt=-sign * cost_scale)
    loss = found.log_total + sign * cost_scale * metric - float(use @ numbers)
    return _attach_gradient().apply(joined, loss, found.count - use)


def list_errors(lists: Sequence[NBest], evaluators: Sequence[Evaluator]) -> tuple[Any, Any]:
    """Return the errors of the hypotheses of a batch, and which places have a hypothesis.

    What an error is, the metric says: an error rate as it is, the negative of a metric of which
    more is better. Any metric will do. Rates times the length of the reference
    (``errors * lengths[:, None]``) are numbers of errors, which Prabhavalkar et al. minimise.

    Examples
    --------
    >>> from fstmetrics import WER                             # doctest: +SKIP
    >>> from lattices import from_hypotheses                   # doctest: +SKIP
    >>> some = [("a cat", -1.0), ("a", -2.0)], [("b", 0.0)]    # doctest: +SKIP
    >>> evaluators = [WER().against([text]) for text in "ab"]  # doctest: +SKIP
    >>> errors, mask = list_errors([*map(from_hypotheses, some)], evaluators)  # doctest: +SKIP
    >>> errors.tolist(), mask.tolist()                         # doctest: +SKIP
    ([[1.0, 0.0], [0.0, 0.0]], [[True, True], [True, False]])
    """
    torch = require("torch", "torch")
    if len(lists) != len(evaluators):
        raise OptionError(f"{len(lists)} lists, but evaluators for {len(evaluators)}")
    errors = np.zeros((len(lists), max(map(len, lists), default=0)))
    mask = np.zeros(errors.shape, bool)
    for row, (nbest, evaluator) in enumerate(zip(lists, evaluators, strict=True)):
        scores = scores_of(evaluator.metric, nbest_stats(evaluator, nbest))
        errors[row, : len(nbest)] = -quality(evaluator.metric, 1.0) * scores
        mask[row, : len(nbest)] = True
    return torch.from_numpy(errors), torch.from_numpy(mask)


def mwer_loss(
    log_probs: Any,
    errors: Any,
    mask: Any = None,
    *,
    temperature: float = 1.0,
    subtract_mean: bool = True,
) -> Any:
    """Return the expected number of errors over n-best lists (MWER), a mean over the batch.

    With the probabilities of the ``k`` hypotheses of a list renormalised over the list, and its
    mean number of errors,

        P(i) = exp(log_probs[i] / temperature) / sum over j of exp(log_probs[j] / temperature)
        loss = sum over i of P(i) * (errors[i] - mean of errors)

    The gradient, ``P(i) * (errors[i] - sum over j of P(j) errors[j]) / temperature``, is the same
    with and without the mean, since the ``P(i)`` of a list add up to 1; with it the value says
    how much better the model is than to guess, and its rounding errors are smaller. Cost: O(batch
    x k), on the device of the log-probabilities.

    Examples
    --------
    >>> import torch                                           # doctest: +SKIP
    >>> log_probs = torch.zeros(1, 2, requires_grad=True)      # doctest: +SKIP
    >>> errors = torch.tensor([[1.0, 3.0]])                    # doctest: +SKIP
    >>> loss = mwer_loss(log_probs, errors, subtract_mean=False)  # doctest: +SKIP
    >>> loss.backward()                                        # doctest: +SKIP
    >>> loss.item(), log_probs.grad.tolist()                   # doctest: +SKIP
    (2.0, [[-0.5, 0.5]])
    """
    torch = require("torch", "torch")
    if not 0.0 < temperature < np.inf:
        raise OptionError(f"temperature is finite and above 0, not {temperature}")
    shape = tuple(log_probs.shape)
    if len(shape) != 2 or 0 in shape:
        raise OptionError(f"log_probs of shape {shape}, expected batch x k")
    if not log_probs.is_floating_point():
        raise OptionError(f"log_probs of type {log_probs.dtype}, expected floats")
    errors = torch.as_tensor(errors).to(dtype=log_probs.dtype, device=log_probs.device)
    mask = torch.as_tensor(True if mask is None else mask, device=log_probs.device)
    if mask.dtype != torch.bool:
        raise OptionError(f"a mask of type {mask.dtype}, expected booleans")
    mask = mask.expand(shape) if mask.dim() == 0 else mask
    for name, tensor in (("errors", errors), ("a mask", mask)):
        if tuple(tensor.shape) != shape:
            raise OptionError(f"{name} of shape {tuple(tensor.shape)} for log_probs of {shape}")
    empty = torch.nonzero(~mask.any(dim=1))
    if len(empty):
        raise OptionError(f"list {int(empty[0, 0])} of the batch has no hypothesis")
    for name, tensor in (("log_probs", log_probs), ("errors", errors)):
        wrong = torch.nonzero(mask & ~torch.isfinite(tensor))
        if len(wrong):
            row, place = wrong[0].tolist()
            raise OptionError(f"{name}[{row}, {place}] is {tensor[row, place].item()}")
    # what is masked may be anything, and 0 * nan is no 0
    errors = errors.masked_fill(~mask, 0.0)
    if subtract_mean:
        errors = errors - errors.sum(dim=1, keepdim=True) / mask.sum(dim=1, keepdim=True)
    scores = log_probs.masked_fill(~mask, -np.inf) / temperature
    return (torch.softmax(scores, dim=1) * errors).sum(dim=1).mean()


def _target(
    problem: RiskProblem, score: FloatColumn, scale: float | None
) -> tuple[FloatColumn, float]:
    """Return how often the path to move towards uses each slot, and its metric.

    The path of the best metric if ``scale`` is None, else of the best score plus scaled metric.
    """
    space = problem.rescore(score)
    use = np.zeros(problem.slots)
    if isinstance(space, NBest):
        values = problem.exact_graph().gain
        objective = quality(problem.evaluator.metric, 1.0) * values
        chosen = find_first_best(
            space, floats(objective if scale is None else score + scale * objective)
        )
        use[chosen] = 1.0
        return floats(use), float(values[chosen])
    if scale == 0.0:
        chosen_path = best(space)
    else:
        weight = 0.0 if scale is None else 1.0 / scale
        chosen_path = oracle(space, problem.evaluator, model_weight=weight).hypothesis
    arcs = list(chosen_path.arcs)
    np.add.at(use, arcs, 1.0)
    if isinstance(space, Lattice):
        use[space.num_arcs + (space.dst[arcs[-1]] if arcs else space.start)] = 1.0
    return floats(use), problem.evaluator.score(chosen_path.tokens)


def _problem(space: Space | RiskProblem, evaluator: Evaluator | None, budget: int) -> RiskProblem:
    if isinstance(space, RiskProblem):
        if evaluator is not None and evaluator is not space.evaluator:
            raise OptionError("a problem has its own evaluator")
        return space
    SPACE.check("a loss", "space", space)
    if evaluator is None:
        raise OptionError("an evaluator is needed: metric.against(references)")
    if budget < 1:
        raise OptionError(f"a budget is at least 1, not {budget}")
    return RiskProblem(space, evaluator, budget=budget)


def _slots(problem: RiskProblem, scores: Any, finals: Any) -> tuple[Any, FloatColumn]:
    """Return the scores of all slots, as a tensor and as numbers."""
    torch = require("torch", "torch")
    space = problem.space
    expected = space.num_arcs if isinstance(space, Lattice) else problem.slots
    _check(scores, expected, "scores")
    joined = scores
    if isinstance(space, Lattice):
        if finals is None:
            ending = np.where(space.final > -np.inf, space.final, 0.0)
            finals = scores.new_tensor(ending)
        else:
            _check(finals, space.num_states, "finals")
            finals = finals.to(dtype=scores.dtype, device=scores.device)
            final = torch.as_tensor(space.final > -np.inf, device=scores.device)
            finals = torch.where(final, finals, torch.zeros_like(finals))
        joined = torch.cat((scores, finals))
    elif finals is not None:
        raise OptionError(f"a {type(space).__name__} has no final states")
    numbers = floats(joined.detach().to(device="cpu", dtype=torch.float64).numpy())
    if not np.isfinite(numbers).all():
        raise OptionError(f"score {int(np.flatnonzero(~np.isfinite(numbers))[0])} is not finite")
    return joined, numbers


def _check(tensor: Any, expected: int, name: str) -> None:
    if tuple(tensor.shape) != (expected,):
        raise OptionError(f"{name} of shape {tuple(tensor.shape)}, expected {expected} in a row")
    if not tensor.is_floating_point():
        raise OptionError(f"{name} of type {tensor.dtype}, expected floats")
