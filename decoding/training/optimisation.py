"""Minimisation of smooth losses with regularisers: all at once, or a few terms at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lattices.arrays import FloatColumn
from lattices.errors import OptionError

#: a loss with its gradient
Loss = Callable[[FloatColumn], tuple[float, FloatColumn]]


class Minimum(NamedTuple):
    """Where a search ended.

    Attributes
    ----------
    point : float64 column
    value : float
        The loss with its regularisers.
    evaluations : int
        How often the loss was computed.
    """

    point: FloatColumn
    value: float
    evaluations: int


def minimised(
    loss: Loss,
    start: FloatColumn,
    *,
    l2: float = 0.0,
    l1: float = 0.0,
    most_iterations: int = 100,
) -> Minimum:
    """Return the minimum of ``loss(x) + l2 / 2 * |x| ** 2 + l1 * sum(abs(x))``, by L-BFGS.

    With ``l1`` the variables are split, ``x = p - n`` with ``p, n >= 0``, which makes the
    regulariser linear and is exact: zeros come out as zeros. Always the same for the same
    arguments.

    Examples
    --------
    >>> def bowl(x):
    ...     return float(np.square(x - [2.0, 0.1]).sum() / 2.0), x - [2.0, 0.1]
    >>> minimised(bowl, np.zeros(2), l2=1.0).point.round(6).tolist()
    [1.0, 0.05]
    >>> minimised(bowl, np.zeros(2), l1=0.5).point.round(6).tolist()
    [1.5, 0.0]
    """
    from scipy.optimize import minimize

    options = {"maxiter": most_iterations, "maxcor": 10, "ftol": 1e-9, "gtol": 1e-7}

    def regularised(x: FloatColumn) -> tuple[float, FloatColumn]:
        value, gradient = loss(x)
        return value + 0.5 * l2 * float(x @ x), gradient + l2 * x

    if not l1:
        found = minimize(regularised, start, jac=True, method="L-BFGS-B", options=options)
        return Minimum(np.asarray(found.x), float(found.fun), int(found.nfev))

    size = len(start)

    def split(both: FloatColumn) -> tuple[float, FloatColumn]:
        value, gradient = regularised(both[:size] - both[size:])
        return value + l1 * float(both.sum()), np.concatenate((gradient + l1, l1 - gradient))

    found = minimize(
        split,
        np.concatenate((np.maximum(start, 0.0), np.maximum(-start, 0.0))),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * (2 * size),
        options=options,
    )
    return Minimum(np.asarray(found.x[:size] - found.x[size:]), float(found.fun), int(found.nfev))


class Descent:
    """Steps against gradients, with a rate for each variable if AdaGrad.

    SGD goes ``rate / sqrt(step number)`` times the gradient, AdaGrad ``rate`` over the root of
    the sum of all squared gradients of the variable so far (Duchi et al. 2011). The regularisers
    follow each step as its proximal operator, so that ``l1`` gives zeros.

    Parameters
    ----------
    method : {"adagrad", "sgd"}
    rate, l2, l1 : float
    state : dict
        What :attr:`state` was, to go on; empty to begin.

    Examples
    --------
    >>> descent = Descent("adagrad", 1.0, 0.0, 0.0, {})
    >>> descent.step(np.zeros(2), np.array([4.0, 0.0])).tolist()
    [-1.0, 0.0]
    """

    def __init__(
        self, method: str, rate: float, l2: float, l1: float, state: dict[str, Any]
    ) -> None:
        if method not in ("adagrad", "sgd"):
            raise OptionError(f"a method of descent is adagrad or sgd, not {method!r}")
        self._method, self._rate, self._l2, self._l1 = method, rate, l2, l1
        self._steps: int = state.get("steps", 0)
        squares = state.get("squares")
        self._squares = None if squares is None else np.array(squares, dtype=np.float64)

    @property
    def state(self) -> dict[str, Any]:
        """All that a later step depends on, as JSON."""
        squares = None if self._squares is None else self._squares.tolist()
        return {"steps": self._steps, "squares": squares}

    def step(self, point: FloatColumn, gradient: FloatColumn) -> FloatColumn:
        """Return where a step leads."""
        self._steps += 1
        if self._method == "sgd":
            rates = np.full(len(point), self._rate / np.sqrt(self._steps))
        else:
            before = np.zeros(len(point)) if self._squares is None else self._squares
            self._squares = before + np.square(gradient)
            roots = np.sqrt(self._squares)
            # a variable that was never pulled at is regularised at the full rate
            rates = self._rate / np.where(roots > 0.0, roots, 1.0)
        moved = point - rates * gradient
        moved = np.sign(moved) * np.maximum(0.0, np.abs(moved) - rates * self._l1)
        return np.asarray(moved / (1.0 + rates * self._l2))
