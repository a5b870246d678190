"""From n-gram statistics to BLEU, for many rows at once."""

from __future__ import annotations

import math

import numpy as np

from lattices.arrays import kernel

#: sacreBLEU's names, and the value each takes by default where it takes one
SMOOTHINGS: dict[str, float | None] = {"none": None, "floor": 0.1, "add-k": 1.0, "exp": None}
_FLOOR, _ADD_K, _EXP = (list(SMOOTHINGS).index(name) for name in ("floor", "add-k", "exp"))


def smoothing_number(name: str) -> int:
    """Return the number by which :func:`bleu_scores` knows a smoothing."""
    return list(SMOOTHINGS).index(name)


@kernel
def bleu_scores(rows, weight, smoothing, value, effective_order, arithmetic):  # type: ignore[no-untyped-def]
    """Return the BLEU of each row of statistics, in [0, 1].

    A row has matches and totals of orders 1..N, the length and the effective reference
    length. As in sacreBLEU, a row without any match has score 0 whatever the smoothing, and
    ``effective_order`` leaves out the orders for which there are no n-grams; the weights of
    the others are then scaled to sum to 1.

    Parameters
    ----------
    rows : float64 array
    weight : float64 column
        One for each order.
    smoothing : int
        As :func:`smoothing_number` has it.
    value : float
        Of ``floor`` and ``add-k``.
    effective_order, arithmetic : bool
    """
    order = len(weight)
    scores = np.zeros(len(rows))
    for row in range(len(rows)):
        matched = False
        for k in range(order):
            matched = matched or rows[row, k] > 0
        if not matched:
            continue
        mean, weights, halvings = 0.0, 0.0, 1.0
        for k in range(order):
            matches, total = rows[row, k], rows[row, order + k]
            if smoothing == _ADD_K and k > 0:
                matches += value
                total += value
            precision = 0.0
            if total > 0:
                if matches > 0:
                    precision = matches / total
                elif smoothing == _FLOOR:
                    precision = value / total
                elif smoothing == _EXP:
                    halvings *= 2.0
                    precision = 1.0 / (halvings * total)
            elif effective_order:
                break
            if weight[k] > 0:
                weights += weight[k]
                if arithmetic:
                    mean += weight[k] * precision
                else:
                    mean += weight[k] * (math.log(precision) if precision > 0 else -np.inf)
        if weights == 0:
            continue
        mean = mean / weights if arithmetic else math.exp(mean / weights)
        length, reference = rows[row, 2 * order], rows[row, 2 * order + 1]
        if length < reference:
            mean *= math.exp(1.0 - reference / length) if length > 0 else 0.0
        scores[row] = mean
    return scores
