"""The product of a space with a metric, as a space: what OpenFst's compose is for automata."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, TypeAlias, TypeVar, cast

import numpy as np

from fstmetrics.contract import EVALUATOR, Evaluator, Prepared, compile_for, has_machine
from lattices.arrays import FloatColumn, IntColumn, ints
from lattices.errors import EngineError, OptionError, SpaceError
from lattices.intersection.automata import SearchMachine
from lattices.intersection.engine import TargetSides
from lattices.intersection.product import (
    MOST_PAIRS,
    Product,
    forest_product,
    forest_row_space,
    lattice_product,
    lattice_row_product,
)
from lattices.limits import MEMORY, Limits
from lattices.spaces import Forest, Lattice
from lattices.spaces.arguments import GRAPH, takes
from lattices.spaces.features import FeatureMatrix, make_rows, reorder_rows
from lattices.spaces.forest import order_rows

S = TypeVar("S", Lattice, Forest)
Over: TypeAlias = Literal["alignments", "sentences"]


def intersect(
    space: S,
    evaluator: Evaluator,
    *,
    over: Over = "alignments",
    features: tuple[str, str] = ("gain", "model"),
    budget: int = MOST_PAIRS,
    memory: int = MEMORY,
) -> S:
    """Return the product of a lattice or forest with a metric: a space whose scores are the metric.

    A path (or derivation) of it is one of the space with an alignment of its words to a reference,
    and its score is what the metric gives for that. So of all that say a sentence the best one has
    the sentence's value: its score, of an error rate 1 minus it. ``lattices.best`` of
    the product is an oracle, and pruning, k best sentences (``lattices.k_best`` with
    ``distinct=True``) and drawing are those under the metric.

    Sums over paths (posteriors, samples, expected counts) need each sentence's path once: with
    ``over="sentences"`` the paths are those of the space, each with the value of its sentence.
    Such a product is larger, sometimes by far.

    Parameters
    ----------
    space : Lattice or Forest
    evaluator : Evaluator
        ``metric.against(references)`` of a metric that has a machine.
    over : {"alignments", "sentences"}
    features : (str, str)
        The names of two features that are added to those of the space: what the metric gains on an
        arc, as its score does, and the model's score. With them ``product.reweighted`` mixes the
        two.
    budget, memory : int
        The most pairs of a state and a row of a product over sentences, and the most bytes.

    Returns
    -------
    Lattice or Forest
        Of the words of the space, and with its times. Categories and spans of a forest
        are kept over sentences; over alignments it has nodes within target sides, too.

    Raises
    ------
    OptionError
        If the metric has no machine.
    EngineError
        If a forest is to be intersected over alignments with what is no alignment to a sentence:
        references that are lattices, linear BLEU, sums of metrics; or where the words of an edge
        have become fewer tokens, as characters or by a normaliser.
    TooLargeError
        If the product takes more than ``budget`` or ``memory``.
    SpaceError
        If the space has a feature of one of the names.

    Examples
    --------
    >>> import lattices
    >>> from fstmetrics import GRR, WER, intersect
    >>> lattice = lattices.Lattice.from_arcs(
    ...     [(0, 1, "a", -0.25), (0, 1, "the", -1.0), (1, 2, "hat", -0.25), (1, 2, "cat", -0.5)],
    ...     finals=[2],
    ... )
    >>> product = intersect(lattice, WER().against(["the cat"]))
    >>> product
    <Lattice '' of 9 states, 28 arcs>
    >>> lattices.best(product).text
    'the cat'
    >>> [(each.text, each.score) for each in lattices.k_best(product, 4, distinct=True)]
    [('the cat', 1.0), ('a cat', 0.5), ('the hat', 0.5), ('a hat', 0.0)]

    Hope, which maximises metric + 0.5 * model:

    >>> hope = lattices.best(product.reweighted({"gain": 1.0, "model": 0.5}))
    >>> hope.text, hope.features
    ('the cat', {'gain': 1.0, 'model': -1.5})

    The sum of two metrics:

    >>> both = intersect(product, GRR().against(["a cat"]), features=("grr", "wrr"))
    >>> found = lattices.best(both.reweighted({"grr": 0.5, "wrr": 0.5, "gain": 0.0, "model": 0.0}))
    >>> found.text, found.features
    ('a cat', {'gain': 0.5, 'model': -0.75, 'grr': 1.0, 'wrr': 0.5})

    Each path once, for samples whose odds rise with their score:

    >>> once = intersect(lattice, WER().against(["the cat"]), over="sentences")
    >>> [(path.text, path.score) for path in once.paths()]
    [('a hat', 0.0), ('a cat', 0.5), ('the hat', 0.5), ('the cat', 1.0)]
    >>> rng = np.random.default_rng(1)
    >>> [found.text for found in lattices.sample(once, 3, rng, scale=2.0)]
    ['the cat', 'the cat', 'the cat']
    """
    return intersect_with_origin(
        space, evaluator, over=over, features=features, budget=budget, memory=memory
    )[0]


@takes(space=GRAPH, evaluator=EVALUATOR)
def intersect_with_origin(
    space: S,
    evaluator: Evaluator,
    *,
    over: Over = "alignments",
    features: tuple[str, str] = ("gain", "model"),
    budget: int = MOST_PAIRS,
    memory: int = MEMORY,
) -> tuple[S, IntColumn]:
    """Return what :func:`intersect` does, and the arc or edge of the space behind each of its own.

    It is -1 for those of the machine alone, as deletions; of a forest over alignments, for all but
    the last symbol of a target side. Under a metric over characters, a word's arc stands behind the
    first of its characters.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "the")], finals=[1])
    >>> product, origin = intersect_with_origin(
    ...     lattice, WER().against(["the"]), over="sentences"
    ... )
    >>> origin.tolist(), product.score.tolist()
    ([0, 1], [0.0, 1.0])
    """
    if over not in ("alignments", "sentences"):
        raise OptionError(f"over={over!r}, expected alignments or sentences")
    if not has_machine(evaluator):
        raise OptionError(f"{evaluator.metric} has no machine to make a product with")
    gain, model = features
    names = (*space.feature_names, gain, model)
    if len(set(names)) < len(names):
        raise SpaceError(
            f"two features of the product would have one name, of {', '.join(names)}: "
            "features=(gain, model) has others"
        )
    prepared, machine = compile_for(space, evaluator)
    product = _multiply(prepared, machine, space, over, Limits(budget, memory))
    result, origin = product.space, prepared.origins(product.origin)
    changes: dict[str, Any] = {"score": result.score * machine.unit, "feature_names": names}
    changes["features"] = _stack_features(
        space, "features", origin, changes["score"], np.append(space.score, 0.0)[origin]
    )
    if isinstance(result, Lattice):
        # ends of the prepared lattice have what those of the original have
        ending, ends = prepared.space, result.final > -np.inf
        changes["final"] = result.final * machine.unit
        changes["final_features"] = _stack_features(
            ending,
            "final_features",
            ints(np.where(ends, product.state, -1)),
            np.where(ends, changes["final"], 0.0),
            np.where(ends, ending.final[product.state], 0.0),
        )
    if isinstance(result, Lattice) or over == "sentences":
        changes |= words_behind(space, origin)
    return cast(S, replace(cast(Any, result), **changes)), origin


def _multiply(
    prepared: Prepared[S], machine: SearchMachine, original: S, over: Over, limits: Limits
) -> Product[S]:
    """Return the product of a prepared space with its machine."""
    space = prepared.space
    found: Any
    if over == "sentences":
        multiply = lattice_row_product if isinstance(space, Lattice) else forest_row_space
        found = multiply(cast(Any, space), machine, limits)
    elif isinstance(space, Lattice):
        found = lattice_product(space, machine, memory=limits.memory)
    else:
        words = prepared.words(original)
        if isinstance(words, TargetSides):
            raise EngineError(
                f"forest {space.id!r} has edges with fewer tokens than words, which only "
                "over=sentences can say"
            )
        found = forest_product(space, machine, words, original.vocabulary, memory=limits.memory)
    return cast("Product[S]", found)


def words_behind(space: Lattice | Forest, origin: IntColumn) -> dict[str, Any]:
    """Return what arcs or edges say, as fields: the words of those of a space behind them."""
    if isinstance(space, Lattice):
        label = ints(np.append(space.label, 0)[origin])  # the last where there is none
        return {"vocabulary": space.vocabulary, "label": label}
    symbol, offset = order_rows(space.symbol, space.symbol_offset, origin)
    return {"vocabulary": space.vocabulary, "symbol": symbol, "symbol_offset": offset}


def _stack_features(
    space: Lattice | Forest, name: str, origin: IntColumn, gain: FloatColumn, model: FloatColumn
) -> FeatureMatrix:
    """Return the features behind each arc or state, with two more."""
    from scipy.sparse import csr_array, hstack

    given = make_rows(space, name)
    shape = (len(origin), len(space.feature_names))
    kept = csr_array(shape) if given is None else reorder_rows(given, origin).matrix
    return csr_array(hstack([kept, csr_array(np.column_stack((gain, model)))]))
