"""All best sentences of a space under a metric, as a space."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np

from decoding.reranking import choose_entries
from fstmetrics import Evaluator
from fstmetrics.contract import EVALUATOR, Machine, compile_for, has_machine, nbest_values
from fstmetrics.product import words_behind
from lattices.algorithms.pruning import max_marginals
from lattices.algorithms.trimming import subset
from lattices.arrays import IntColumn, floats, ints
from lattices.errors import OptionError
from lattices.intersection.automata import alignments
from lattices.intersection.product import (
    MOST_PAIRS,
    Product,
    forest_product,
    forest_row_space,
    lattice_product,
    lattice_row_product,
    states_behind,
)
from lattices.limits import MEMORY, Limits
from lattices.spaces import Forest, Lattice, NBest, Space
from lattices.spaces.arguments import SPACE, check_filled, takes
from lattices.spaces.features import make_rows, reorder_rows

S = TypeVar("S", bound=Space)
G = TypeVar("G", Lattice, Forest)


@takes(space=SPACE, evaluator=EVALUATOR)
def best_paths(
    space: S, evaluator: Evaluator, *, budget: int = MOST_PAIRS, memory: int = MEMORY
) -> S:
    """Return the lattice, forest or list of all that is best under a metric, each path once.

    It has the words, scores and features of the space, so that ``lattices.best`` of it is the
    oracle: of the best sentences the one that the model likes best. The product over alignments
    finds the arcs that best paths take, O(arcs x machine arcs); the product over sentences, of
    these arcs alone, keeps paths apart that are not best.

    Parameters
    ----------
    space : Lattice, Forest or NBest
    evaluator : Evaluator
        ``metric.against(references)``; of a metric that has a machine, but for lists.
    budget, memory : int
        The most pairs of a state and a row, and the most bytes.

    Raises
    ------
    OptionError
        If the metric has no machine, or a list is empty.
    TooLargeError
        If it takes more than ``budget`` or ``memory``.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import best
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -0.5), (0, 1, "one", -1.0), (1, 2, "hat", -1.0), (1, 2, "cat", -0.25),
    ...      (0, 2, "the", -0.5)],
    ...     finals=[2],
    ... )
    >>> found = best_paths(lattice, WER().against(["the cat"]))
    >>> [(path.text, path.score) for path in found.paths()]
    [('a cat', -0.75), ('one cat', -1.25), ('the', -0.5)]
    >>> best(found).text
    'the'
    """
    if isinstance(space, NBest):
        check_filled([space])
        values, rounding = nbest_values(evaluator, space)
        best = np.flatnonzero(values >= values.max() - rounding)
        return cast(S, choose_entries(space, best.tolist()))
    if not has_machine(evaluator):
        raise OptionError(
            f"{evaluator.metric} has no machine, whose product with the space has the best paths; "
            "the k best sentences are found without (oracle_kbest, in the shell -k)"
        )
    prepared, machine = compile_for(space, evaluator)
    part, kept = _keep_best_paths(cast(Any, prepared.space), machine, memory)
    multiply: Any = lattice_row_product if isinstance(part, Lattice) else forest_row_space
    product: Product[Any] = multiply(part, machine, Limits(budget, memory))
    # gains are whole numbers: what loses nothing loses exactly nothing
    losses = max_marginals(product.space)
    is_best = losses.arc_loss == 0.0
    ends = losses.final_loss == 0.0 if isinstance(part, Lattice) else None
    found = subset(product.space, is_best, ends)
    inner = product.origin[is_best]
    origin = prepared.origins(kept[inner])
    features = make_rows(space)
    changes: dict[str, Any] = {
        **words_behind(space, origin),
        "score": floats(np.append(space.score, 0.0)[origin]),
        "features": None if features is None else reorder_rows(features, origin),
        "feature_names": space.feature_names,
    }
    if isinstance(part, Lattice):
        # those of the prepared lattice have what those of the original have
        last, state = make_rows(part, "final_features"), states_behind(found, part, inner)
        ending = found.final > -np.inf
        changes["final"] = np.where(ending, part.final[state], -np.inf)
        if last is not None:
            changes["final_features"] = reorder_rows(last, np.where(ending, state, -1))
    return cast(S, replace(found, **changes))


def _keep_best_paths(space: G, machine: Machine, memory: int) -> tuple[G, IntColumn]:
    """Return the part of a space that best paths take, and more of a forest; and its arcs."""
    if isinstance(space, Lattice):
        product = lattice_product(space, machine, memory=memory)
        losses = max_marginals(product.space)
        taken = product.origin[losses.arc_loss == 0.0]
        ends = np.zeros(space.num_states, np.bool_)
        ends[product.state[losses.final_loss == 0.0]] = True
    elif alignments(machine) is None:
        return space, ints(np.arange(space.num_edges))
    else:
        taken, ends = forest_product(space, machine, slack=0.0, memory=memory).origin, None
    mask = np.zeros(len(space.score), np.bool_)
    mask[taken[taken >= 0]] = True
    return subset(space, mask, ends), ints(np.flatnonzero(mask))
