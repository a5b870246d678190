"""The k best derivations of a forest, or its k best sentences."""

from __future__ import annotations

from operator import index

from lattices.algorithms.forest_best import unrolled
from lattices.algorithms.forest_columns import search_columns
from lattices.algorithms.forest_derivations import derivations_found, forest_hypotheses
from lattices.algorithms.forest_kbest_search import given_records
from lattices.algorithms.paths import Paths
from lattices.arrays import kernel
from lattices.errors import OptionError
from lattices.spaces import Forest, Hypothesis


@kernel
def _k_best(  # type: ignore[no-untyped-def]
    head, tail, tail_offset, symbol, symbol_offset, in_offset, score, rank, root, k, distinct
):
    """Return the edges of the best derivations, one after the other, and where each begins."""
    first, found, _, record, _, _, below, stack = given_records(
        head, tail, tail_offset, symbol, symbol_offset, in_offset, score, rank, root,
        k, 0, distinct, None,
    )  # fmt: skip
    return unrolled(first, found, record, below, tail_offset, stack)


def k_best_derivations(forest: Forest, k: int, distinct: bool = False) -> Paths:
    """Return the derivations of :func:`forest_k_best`, in columns.

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"], -1.0), (0, [], ["b"], -2.0), (1, [0], [0])])
    >>> k_best_derivations(forest, 5).arcs.tolist()
    [2, 0, 2, 1]
    """
    if index(k) < 1:
        raise OptionError(f"k is {k}, expected at least 1")
    found = _k_best(*search_columns(forest), forest.root, index(k), bool(distinct))
    return derivations_found(forest, *found)


def forest_k_best(forest: Forest, k: int, distinct: bool = False) -> list[Hypothesis]:
    """Return the ``k`` best derivations, best first, or all if there are fewer.

    Ties are broken as in :func:`forest_best`, whose answer is the first of the list.

    Exact for every forest, for sentences too: a node passes over derivations whose words it
    has given before. Take the first derivation of any sentence, and in it a part that a node
    would have passed over: the node has given the same words by a part that comes before it,
    and with that in its place the sentence would have a derivation that comes before its
    first. So the first derivation of every sentence is made of parts that are given.

    No node ever gives more than ``k`` derivations: those of an edge that differ in one tail
    only say different things, and come in the order of that tail's. The cost is O(edges) for
    the best, and O(number of tails * log) for each that a node takes from its heap: one for
    each that it gives, and more only where sentences are passed over.

    Parameters
    ----------
    forest : Forest
    k : int
        At least 1.
    distinct : bool
        Whether to give each sentence once, by its best derivation, instead of every derivation.

    References
    ----------
    L. Huang and D. Chiang, Better k-best Parsing, IWPT 2005.

    Examples
    --------
    >>> forest = Forest.from_edges(
    ...     [(0, [], ["a"], -1.0), (0, [], ["a"], -2.0), (0, [], ["b"], -3.0)]
    ... )
    >>> [(found.text, found.score) for found in forest_k_best(forest, 2)]
    [('a', -1.0), ('a', -2.0)]
    >>> [(found.text, found.score) for found in forest_k_best(forest, 2, distinct=True)]
    [('a', -1.0), ('b', -3.0)]
    """
    return forest_hypotheses(forest, k_best_derivations(forest, k, distinct))
