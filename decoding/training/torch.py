"""Losses over lattices, forests and lists for PyTorch (the extra ``torch``).

A neural rescorer gives every arc a score; these functions turn the scores into one number a space,
whose gradient flows back to them:

    losses = lattice_risk(scores, lattices, [WER().against(texts) for texts in references])
    losses.mean().backward()

``scores`` is packed: the scores of the arcs of the first lattice (edges of a forest, entries of a
list), then those of the second; or it is padded, with a ``mask``. Instead of scores, or added to
them, there may be ``weights`` of the spaces' features. A single space gives a single number.

Both directions are computed on the CPU in double precision, exactly, over all paths
(:mod:`decoding.training.risk.expected`), in one native call for a batch, on ``workers`` threads.
Scores may be of any precision and on any device; the loss and its gradient are of theirs. Each
call copies the scores to the CPU once, and the gradient back once; scores that are doubles on the
CPU are read in place. Losses cannot be differentiated twice, and say so.

What does not depend on scores, mainly the product of each lattice with rows, is worth keeping where
spaces are met again: give a :class:`~decoding.training.risk.batch.RiskBatch`.

A batch of n-best lists needs none of that: :func:`mwer_loss` and :func:`mbr_loss` are made of
torch's own operations, on whatever device the scores are.

    errors, mask = list_errors(nbests, evaluators)
    loss = mwer_loss(log_probs, errors, mask)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np

from decoding.extraction.search import DEFAULT_BUDGET
from decoding.training.risk.batch import Estimator, RiskBatch, Values
from decoding.training.risk.problem import Beyond, Estimation, RiskProblem
from fstmetrics import Evaluator
from fstmetrics.contract import nbest_stats, quality, scores_of
from lattices.arrays import FloatColumn
from lattices.errors import OptionError
from lattices.optional import require
from lattices.spaces import Forest, Lattice, NBest, Space
from lattices.spaces.arguments import SPACE

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "lattice_risk",
    "list_errors",
    "mbr_loss",
    "mwer_loss",
    "perceptron_loss",
    "softmax_margin_loss",
]


class TensorOptions(TypedDict, total=False):
    """What losses over spaces take beside scores."""

    #: the scores of ending in each state of the lattices, packed; those of the lattices if not
    #: given. Of states that are not final they have no say.
    finals: Any
    #: of the features of all spaces, in the order of their first occurrence
    #: (:attr:`~decoding.training.risk.batch.RiskBatch.names`): ``features @ weights`` is added to
    #: the scores, and the gradient flows to the weights as well. A feature that a space does not
    #: have is 0 there.
    weights: Any
    #: of the shape of padded scores: which of them are there, row by row
    mask: Any
    #: where the scores of each space begin, and their number; they are checked
    offsets: Any
    #: threads. Of a batch that is given, its own count.
    workers: int


@cache
def _attach_gradient() -> Any:
    """Return the function that is known numbers with a known gradient."""
    torch = require("torch", "torch")

    class Slope(torch.autograd.Function):  # type: ignore[misc, name-defined]
        # depends on the scores, so that autograd refuses a second derivative instead of giving 0
        @staticmethod
        def forward(ctx: Any, outer: Any, scores: Any, gradient: Any, place: Any) -> Any:
            return outer @ gradient if place is None else outer[place] * gradient

        @staticmethod
        def backward(ctx: Any, outer: Any) -> Any:
            raise RuntimeError("a loss over a lattice cannot be differentiated twice")

    class WithGradient(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, values: Any, *inputs: Any) -> Any:
            # (scores, gradient, the space of each), and so on; weights have a row for each space
            ctx.parts = len(inputs) // 3
            ctx.save_for_backward(*inputs)
            return values

        @staticmethod
        def backward(ctx: Any, outer: Any) -> Any:
            given = []
            for part in range(ctx.parts):
                scores, gradient, place = ctx.saved_tensors[3 * part : 3 * part + 3]
                needed = ctx.needs_input_grad[1 + 3 * part]
                slope = Slope.apply(outer, scores, gradient, place) if needed else None
                given += [slope, None, None]
            return None, *given

    return WithGradient


class _Inputs:
    """The tensors of a loss, as numbers for a batch of spaces."""

    def __init__(
        self, scores: Any, spaces: Any, evaluators: Any, given: TensorOptions, budget: int
    ) -> None:
        torch = require("torch", "torch")
        unknown = set(given) - set(TensorOptions.__annotations__)
        if unknown:
            raise TypeError(f"a loss has no option {', '.join(sorted(unknown))}")
        self._single = isinstance(spaces, (Lattice, Forest, NBest, RiskProblem))
        self.batch = batch = _batch(spaces, evaluators, given.get("workers", 1), budget)
        options: dict[str, Any] = {**given}
        weights, finals, mask = map(options.get, ("weights", "finals", "mask"))
        if scores is None:
            if weights is None:
                raise OptionError("a loss takes scores, or weights of features")
            scores = weights.new_zeros(sum(batch.sizes))
        if mask is not None:
            if tuple(mask.shape) != tuple(scores.shape) or mask.dtype != torch.bool:
                raise OptionError(
                    f"a mask of shape {tuple(mask.shape)} and type {mask.dtype} for scores of "
                    f"shape {tuple(scores.shape)}, expected booleans of the same shape"
                )
            scores = scores[mask]
        _check(scores, sum(batch.sizes), "scores")
        offsets = given.get("offsets")
        if offsets is not None:
            _check_offsets([int(each) for each in offsets], batch.sizes)
        self._like = scores
        self._inputs = [scores]
        if finals is not None:
            if not batch.num_finals:
                raise OptionError("finals are for lattices: other spaces have no final states")
            _check(finals, batch.num_finals, "finals")
            self._inputs.append(finals)
        numbers = [_numbers(each) for each in self._inputs]
        self.slots = batch.slots(*numbers)
        self._weights = weights
        if weights is not None:
            _check(weights, len(batch.names), "weights")
            self.slots = batch.weighted(self.slots, _numbers(weights))

    def loss(self, found: Values) -> Any:
        """Return the numbers of the spaces, which know their gradient."""
        torch, batch = require("torch", "torch"), self.batch
        parts: list[Any] = []
        gradients = batch.unpack(found.gradient)
        places = batch.space_of_scores, batch.space_of_finals
        for given, gradient, place in zip(self._inputs, gradients, places, strict=False):
            where = torch.as_tensor(place, device=given.device)
            parts += [given, given.new_tensor(gradient), where]
        if self._weights is not None:
            rows = batch.feature_gradients(found.gradient)
            parts += [self._weights, self._weights.new_tensor(rows), None]
        values = self._like.new_tensor(found.value)
        result = _attach_gradient().apply(values, *parts)
        return result[0] if self._single else result


def _numbers(tensor: Any) -> FloatColumn:
    """Return a tensor as numbers, in place where it is of doubles on the CPU."""
    torch = require("torch", "torch")
    found: FloatColumn = tensor.detach().to(device="cpu", dtype=torch.float64).numpy()
    return found


def _batch(spaces: Any, evaluators: Any, workers: int, budget: int) -> RiskBatch:
    if isinstance(spaces, (RiskBatch, RiskProblem)):
        batch = spaces if isinstance(spaces, RiskBatch) else RiskBatch.of([spaces], workers)
        own = [problem.evaluator for problem in batch.problems]
        asked = [evaluators] if isinstance(spaces, RiskProblem) else evaluators
        if evaluators is not None and any(
            one is not other for one, other in zip(asked, own, strict=False)
        ):
            raise OptionError("a problem has its own evaluator")
        return batch
    if evaluators is None:
        raise OptionError("an evaluator is needed: metric.against(references)")
    if budget < 1:
        raise OptionError(f"a budget is at least 1, not {budget}")
    if isinstance(spaces, (Lattice, Forest, NBest)):
        spaces, evaluators = [spaces], [evaluators]
    elif not isinstance(spaces, Sequence):
        SPACE.check("a loss", "space", spaces)
    for space in spaces:
        SPACE.check("a loss", "space", space)
    return RiskBatch(spaces, evaluators, budget=budget, workers=workers)


def _check_offsets(offsets: list[int], sizes: list[int]) -> None:
    expected = np.cumsum([0, *sizes]).tolist()
    if offsets != expected:
        wrong = next(
            (
                place
                for place, (one, other) in enumerate(zip(offsets, expected, strict=False))
                if one != other
            ),
            min(len(offsets), len(expected)),
        )
        raise OptionError(
            f"offsets that do not fit the spaces, from number {wrong} on: {len(offsets)} offsets "
            f"up to {offsets[-1] if offsets else 'none'}, expected {len(expected)} up to "
            f"{expected[-1]}, one score for each arc, edge or entry"
        )


def lattice_risk(
    scores: Any,
    spaces: Space | RiskProblem | Sequence[Space] | RiskBatch,
    evaluators: Evaluator | Sequence[Evaluator] | None = None,
    *,
    estimator: Estimator = "exact",
    temperature: float = 1.0,
    budget: int = DEFAULT_BUDGET,
    beyond: Beyond = "raise",
    k: int = 1000,
    samples: int = 1000,
    seed: int = 0,
    **tensors: Unpack[TensorOptions],
) -> Any:
    """Return the expected metric of a random sentence of each space, differentiable in the scores.

    In the metric's own direction: an error rate can be minimised as it is, the negative of a
    recognition rate. Of a batch one number a space, of a single space one number.

    Parameters
    ----------
    scores : tensor
        Packed, or padded with a ``mask``; None if there are ``weights``.
    spaces, evaluators
        Spaces with the metric against the references of each; or a batch that has both.
    estimator : {"exact", "kbest", "samples"}
        Over all paths, which takes an exact machine and the budget; over the ``k`` best paths, as
        if they were all; or over random ones, unbiased. BLEU has no exact machine over lattices
        and forests: name another estimator for it.
    temperature, budget, beyond, k, samples, seed
        As of :class:`decoding.training.risk.problem.Estimation`; ``beyond`` is for ``exact``.
    **tensors
        As of :class:`TensorOptions`.

    Examples
    --------
    >>> import torch                                           # doctest: +SKIP
    >>> from fstmetrics import WER                             # doctest: +SKIP
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1])  # doctest: +SKIP
    >>> scores = torch.zeros(4, requires_grad=True)            # doctest: +SKIP
    >>> evaluators = [WER().against([word]) for word in "ab"]  # doctest: +SKIP
    >>> losses = lattice_risk(scores, [lattice] * 2, evaluators)  # doctest: +SKIP
    >>> losses.sum().backward()                                # doctest: +SKIP
    >>> losses.tolist(), scores.grad.tolist()                  # doctest: +SKIP
    ([0.5, 0.5], [-0.25, 0.25, 0.25, -0.25])
    """
    how = Estimation(
        temperature=temperature, budget=budget, beyond=beyond, k=k, samples=samples, seed=seed
    )
    inputs = _Inputs(scores, spaces, evaluators, tensors, budget)
    return inputs.loss(inputs.batch.risk(inputs.slots, how, estimator))


def softmax_margin_loss(
    scores: Any,
    spaces: Space | RiskProblem | Sequence[Space] | RiskBatch,
    evaluators: Evaluator | Sequence[Evaluator] | None = None,
    *,
    cost_scale: float = 1.0,
    towards: Literal["oracle", "hope"] = "oracle",
    budget: int = DEFAULT_BUDGET,
    **tensors: Unpack[TensorOptions],
) -> Any:
    """Return the softmax-margin loss of each space (Gimpel & Smith 2010).

    With the metric ``q``, higher is better, and the path ``t`` to be moved towards,

        log(sum over paths d of exp(score(d) + cost_scale * (q(t) - q(d)))) - score(t)

    which is a smooth bound from above of how far any path violates the margin that its metric
    asks for. Exact over all paths. Arguments are as of :func:`lattice_risk`.

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
    _check_margin(cost_scale, towards)
    inputs = _Inputs(scores, spaces, evaluators, tensors, budget)
    return inputs.loss(inputs.batch.softmax_margin(inputs.slots, cost_scale, towards))


def perceptron_loss(
    scores: Any,
    spaces: Space | RiskProblem | Sequence[Space] | RiskBatch,
    evaluators: Evaluator | Sequence[Evaluator] | None = None,
    *,
    cost_scale: float = 1.0,
    towards: Literal["oracle", "hope"] = "oracle",
    budget: int = DEFAULT_BUDGET,
    **tensors: Unpack[TensorOptions],
) -> Any:
    """Return by how much the best path of each space scores higher than its target (Collins 2002).

    The target is the oracle, or hope: the path of the highest score plus ``cost_scale`` times the
    metric. The gradient is how often the one path uses an arc minus how often the other does; where
    two paths tie, one of the subgradients. Any metric that has an oracle will do, BLEU as well.
    Arguments are as of :func:`lattice_risk`.

    Examples
    --------
    >>> import torch                                           # doctest: +SKIP
    >>> from fstmetrics import WER                             # doctest: +SKIP
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1])  # doctest: +SKIP
    >>> scores = torch.tensor([-1.0, 0.5], requires_grad=True)  # doctest: +SKIP
    >>> loss = perceptron_loss(scores, lattice, WER().against(["a"]))  # doctest: +SKIP
    >>> loss.backward()                                        # doctest: +SKIP
    >>> loss.item(), scores.grad.tolist()                      # doctest: +SKIP
    (1.5, [-1.0, 1.0])
    """
    _check_margin(cost_scale, towards)
    inputs = _Inputs(scores, spaces, evaluators, tensors, budget)
    return inputs.loss(inputs.batch.perceptron(inputs.slots, cost_scale, towards))


def _check_margin(cost_scale: float, towards: str) -> None:
    if not 0.0 <= cost_scale < np.inf:
        raise OptionError(f"cost_scale is finite and at least 0, not {cost_scale}")
    if towards not in ("oracle", "hope"):
        raise OptionError(f"towards is oracle or hope, not {towards!r}")


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
    if not 0.0 < temperature < np.inf:
        raise OptionError(f"temperature is finite and above 0, not {temperature}")
    errors, mask = _check_lists(log_probs, errors, mask)
    if subtract_mean:
        errors = errors - errors.sum(dim=1, keepdim=True) / mask.sum(dim=1, keepdim=True)
    return (_shares(log_probs, mask, temperature) * errors).sum(dim=1).mean()


def mbr_loss(
    log_probs: Any,
    errors: Any,
    mask: Any = None,
    *,
    evidence: Any = None,
    evidence_mask: Any = None,
    temperature: float = 1.0,
) -> Any:
    """Return the Bayes risk of n-best lists: errors against other sentences, not references.

    With the probabilities ``P(i)`` of the ``k`` hypotheses, renormalised over the list, and
    those of ``m`` sentences of evidence, such as samples of a teacher,

        loss = sum over i and j of P(i) * Q(j) * errors[i, j]

    a mean over the batch. It is the expected loss that MBR decoding minimises by choosing one
    hypothesis; its gradient moves the model towards what MBR would choose. With one sentence of
    evidence it is :func:`mwer_loss` without the mean. Cost: O(batch x k x m).

    Parameters
    ----------
    log_probs : tensor of batch x k
    errors : tensor of batch x k x m
        Of each hypothesis against each sentence of evidence.
    mask : tensor of batch x k, optional
    evidence : tensor of batch x m, optional
        Log-probabilities of the evidence, also differentiated; by default all are equally likely,
        as samples are.
    evidence_mask : tensor of batch x m, optional
    temperature : float
        What ``log_probs`` are divided by.

    Examples
    --------
    >>> import torch                                           # doctest: +SKIP
    >>> log_probs = torch.zeros(1, 2, requires_grad=True)      # doctest: +SKIP
    >>> errors = torch.tensor([[[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]])  # doctest: +SKIP
    >>> mbr_loss(log_probs, errors).item()                     # doctest: +SKIP
    0.5
    """
    torch = require("torch", "torch")
    errors = torch.as_tensor(errors).to(dtype=log_probs.dtype, device=log_probs.device)
    if errors.dim() != 3 or tuple(errors.shape[:2]) != tuple(log_probs.shape):
        raise OptionError(
            f"errors of shape {tuple(errors.shape)} for log_probs of {tuple(log_probs.shape)}, "
            "expected batch x k x m"
        )
    if evidence is None:
        evidence = log_probs.new_zeros((errors.shape[0], errors.shape[2]))
    known = _check_lists(evidence, torch.zeros_like(evidence), evidence_mask)[1]
    there = (
        known[:, None, :]
        & _check_lists(log_probs, torch.zeros_like(log_probs), mask)[1][:, :, None]
    )
    wrong = torch.nonzero(there & ~torch.isfinite(errors))
    if len(wrong):
        row, one, other = wrong[0].tolist()
        raise OptionError(f"errors[{row}, {one}, {other}] is {errors[row, one, other].item()}")
    against = _shares(evidence, known, 1.0)[:, None, :]
    expected = (errors.masked_fill(~there, 0.0) * against).sum(dim=2)
    return mwer_loss(log_probs, expected, mask, temperature=temperature, subtract_mean=False)


def _shares(log_probs: Any, mask: Any, temperature: float) -> Any:
    """Return the probabilities of the hypotheses of each list, 0 where there is none."""
    torch = require("torch", "torch")
    return torch.softmax(log_probs.masked_fill(~mask, -np.inf) / temperature, dim=1)


def _check_lists(log_probs: Any, errors: Any, mask: Any) -> tuple[Any, Any]:
    """Return errors and mask as tensors like the log-probabilities, or say what is wrong."""
    torch = require("torch", "torch")
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
    return errors.masked_fill(~mask, 0.0), mask


def _check(tensor: Any, expected: int, name: str) -> None:
    if tuple(tensor.shape) != (expected,):
        raise OptionError(f"{name} of shape {tuple(tensor.shape)}, expected {expected} in a row")
    if not tensor.is_floating_point():
        raise OptionError(f"{name} of type {tensor.dtype}, expected floats")
