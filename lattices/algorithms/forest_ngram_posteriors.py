"""How probable each n-gram is under a forest: exactly."""

from __future__ import annotations

import numpy as np

from lattices.algorithms.forest_inside_outside import edge_shares
from lattices.algorithms.forest_ngram_contexts import ContextForest, context_forest
from lattices.algorithms.ngram_tables import COUNT, NgramPosteriors
from lattices.arrays import floats, kernel
from lattices.errors import OptionError
from lattices.spaces import Forest


def forest_ngram_posteriors(
    forest: Forest, order: int = 4, scale: float = 1.0, kind: str = "presence"
) -> NgramPosteriors:
    """Return :func:`~lattices.ngram_posteriors` of a forest, all derivations of a sentence summed.

    The forest is unfolded (:func:`~lattices.algorithms.forest_ngram_contexts.context_forest`).
    One pass up and one down give the expected counts. For presence, one more pass up for each
    n-gram carries the probability that an item contains it; only edges above the n-gram's own
    take part. Cost: O(unfolded edges) for counts, times the number of n-grams for presence.

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"]), (0, [], ["b"]), (1, [0, 0], [0, 1])])
    >>> forest_ngram_posteriors(forest, 2)["a"], forest_ngram_posteriors(forest, 2)["a", "b"]
    (0.75, 0.25)
    >>> forest_ngram_posteriors(forest, 2, kind="count")["a"]
    1.0
    """
    return context_forest_posteriors(context_forest(forest, order), scale, kind)


def context_forest_posteriors(
    unfolded: ContextForest, scale: float = 1.0, kind: str = "presence"
) -> NgramPosteriors:
    """Return :func:`forest_ngram_posteriors` of a forest that is unfolded already."""
    forest = unfolded.forest
    with np.errstate(over="ignore", invalid="ignore"):
        share = edge_shares(forest, scale)
    top = share[forest.in_offset[forest.root] : forest.in_offset[forest.root + 1]]
    if not (np.isfinite(share).all() and top.sum() > 0.5):
        raise OptionError(f"scale {scale} makes the scores of {forest.id!r} infinite")
    weight = np.where(unfolded.whole == 1, share[unfolded.edge], 1.0)
    columns = (unfolded.left, unfolded.right, unfolded.head, unfolded.gram, unfolded.gram_offset)
    value = _expected(
        *columns, floats(weight), unfolded.items, unfolded.root, len(unfolded.ngrams.row),
        kind == COUNT,
    )  # fmt: skip
    return NgramPosteriors(forest.vocabulary, unfolded.order, kind, unfolded.ngrams, floats(value))


@kernel
def _product(edge, left, right, value):  # type: ignore[no-untyped-def]
    """Return the product of the values of the tails of an edge."""
    product = 1.0
    if left[edge] >= 0:
        product = value[left[edge]]
    if right[edge] >= 0:
        product *= value[right[edge]]
    return product


@kernel
def _expected(  # type: ignore[no-untyped-def]
    left, right, head, gram, gram_offset, weight, items, root, grams, every
):
    """Return the expected count of each n-gram, or the probability that there is one.

    Weights are probabilities where the head is derived, so no logarithms are needed.
    """
    edges = len(head)
    below = np.zeros(items)
    for edge in range(edges):
        below[head[edge]] += weight[edge] * _product(edge, left, right, below)
    if not every:
        return _presence(left, right, head, gram, gram_offset, weight, below, root, grams)
    value = np.zeros(grams)
    around = np.zeros(items)
    around[root] = 1.0
    for edge in range(edges - 1, -1, -1):
        own = around[head[edge]] * weight[edge]
        if own == 0.0:
            continue
        inner = _product(edge, left, right, below)
        for place in range(gram_offset[edge], gram_offset[edge + 1]):
            value[gram[place]] += own * inner
        if left[edge] >= 0:
            around[left[edge]] += own * (below[right[edge]] if right[edge] >= 0 else 1.0)
        if right[edge] >= 0:
            around[right[edge]] += own * below[left[edge]]
    return value


@kernel
def _presence(left, right, head, gram, gram_offset, weight, below, root, grams):  # type: ignore[no-untyped-def]
    """Return the probability that a sentence has each n-gram."""
    edges, items = len(head), len(below)
    offset = np.zeros(grams + 1, np.int64)
    for place in range(len(gram)):
        offset[gram[place] + 1] += 1
    for number in range(grams):
        offset[number + 1] += offset[number]
    first = offset[:-1].copy()
    owner = np.empty(len(gram), np.int32)
    for edge in range(edges):
        for place in range(gram_offset[edge], gram_offset[edge + 1]):
            owner[first[gram[place]]] = edge
            first[gram[place]] += 1
    value = np.zeros(grams)
    # the probability that an item is derived and has the n-gram, where that is not nothing
    having = np.zeros(items)
    stamp = np.full(items, -1, np.int32)
    for number in range(1, grams):
        next_own, end = offset[number], offset[number + 1]
        if next_own == end:
            continue
        for edge in range(owner[next_own], edges):
            one, other = left[edge], right[edge]
            mass = 0.0
            if next_own < end and owner[next_own] == edge:
                while next_own < end and owner[next_own] == edge:
                    next_own += 1
                mass = _product(edge, left, right, below)
            else:
                has_one = one >= 0 and stamp[one] == number
                has_other = other >= 0 and stamp[other] == number
                if not (has_one or has_other):
                    continue
                if not has_other:
                    mass = having[one] * (below[other] if other >= 0 else 1.0)
                elif not has_one:
                    mass = having[other] * below[one]
                else:
                    mass = having[one] * below[other] + having[other] * (below[one] - having[one])
            made = head[edge]
            if stamp[made] != number:
                stamp[made] = number
                having[made] = 0.0
            having[made] += weight[edge] * mass
        if stamp[root] == number:
            value[number] = min(having[root], 1.0)
    return value
